//! The level `restricted` of the Pod Security Standards, for each container.

use crate::value::{Pointer, Value};

use super::{NULL, list, text};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The paths by which containers violate the level.
pub(super) fn violations<'v>(pod: &'v Value, at: &'v Pointer) -> impl Iterator<Item = Pointer> + 'v {
    let own = pod.get("securityContext").unwrap_or(&NULL);
    let is_windows = text(pod, &["os", "name"]) == Some("windows");
    let containers = CONTAINERS.iter().flat_map(move |field| {
        list(pod, &[field]).iter().enumerate().map(move |(index, container)| (*field, index, container))
    });
    containers.flat_map(move |(field, index, container)| {
        let context = container.get("securityContext").unwrap_or(&NULL);
        let fields = violated(context, own, is_windows);
        fields.map(move |violated| at.key(field).index(index).key("securityContext").key(violated))
    })
}

/// The fields by which the security context of a container violates the level; `own` is that of its Pod.
fn violated(context: &Value, own: &Value, is_windows: bool) -> impl Iterator<Item = &'static str> {
    // A container overrides its Pod; null is unset.
    let either = |field: &str| {
        let set = |context: &Value| context.get(field).filter(|value| !value.is_null()).cloned();
        set(context).or_else(|| set(own)).unwrap_or_default()
    };
    let profile = either("seccompProfile");
    let profile = profile.get("type").and_then(Value::as_str);
    let dropped = list(context, &["capabilities", "drop"]);
    let is_met = [
        ("runAsNonRoot", either("runAsNonRoot") == Value::Bool(true)),
        (
            "allowPrivilegeEscalation",
            is_windows || context.get("allowPrivilegeEscalation") == Some(&Value::Bool(false)),
        ),
        ("seccompProfile", is_windows || matches!(profile, Some("RuntimeDefault" | "Localhost"))),
        ("capabilities", is_windows || dropped.contains(&Value::from("ALL"))),
    ];
    is_met.into_iter().filter(|(_, is_met)| !is_met).map(|(field, _)| field)
}
