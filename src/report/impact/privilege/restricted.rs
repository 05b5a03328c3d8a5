//! The level `restricted` of the Pod Security Standards, for each container.

use crate::value::{Pointer, Value};

use super::{list, text};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// The paths by which containers violate the level.
pub(super) fn violations(pod: &Value, at: &Pointer) -> Vec<Pointer> {
    let none = Value::Null;
    let own = pod.get("securityContext").unwrap_or(&none);
    let is_windows = text(pod, &["os", "name"]) == Some("windows");
    let mut violations = Vec::new();
    for field in CONTAINERS {
        for (index, container) in list(pod, &[field]).iter().enumerate() {
            let context = container.get("securityContext").unwrap_or(&none);
            let place = at.key(field).index(index).key("securityContext");
            let mut note = |is_met: bool, field: &str| {
                if !is_met {
                    violations.push(place.key(field));
                }
            };
            // A container overrides its Pod; null is unset.
            let either = |field: &str| {
                let set = |context: &Value| context.get(field).filter(|value| !value.is_null()).cloned();
                set(context).or_else(|| set(own)).unwrap_or_default()
            };
            note(either("runAsNonRoot") == Value::Bool(true), "runAsNonRoot");
            if is_windows {
                continue;
            }
            note(
                context.get("allowPrivilegeEscalation") == Some(&Value::Bool(false)),
                "allowPrivilegeEscalation",
            );
            let profile = either("seccompProfile");
            let profile = profile.get("type").and_then(Value::as_str);
            note(matches!(profile, Some("RuntimeDefault" | "Localhost")), "seccompProfile");
            let dropped = list(context, &["capabilities", "drop"]);
            note(dropped.contains(&Value::from("ALL")), "capabilities");
        }
    }
    violations
}
