//! Why an API server refuses an object, as far as the object alone shows it.

use std::collections::BTreeSet;

use crate::admission::{Admission, KindSchemas, NotAdmitted, missing_required};
use crate::policy::metadata_errors;
use crate::value::{GroupVersionKind, Number, Text, Value};

use super::schema::{choices, is_name, pod_spec};

const MAX_LABEL: usize = 63;

/// The lists of containers of a Pod.
const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Why an API server refuses an object: its place and the reason, in one text. `None` if it may take it.
pub fn refusal(kinds: &KindSchemas, object: &Value) -> Option<String> {
    let kind = GroupVersionKind::of(object)?;
    let decoded = match Admission::new(kinds.clone()).decoded(object, &kind) {
        Ok(decoded) => decoded,
        Err(NotAdmitted::Refused { at, message }) => return Some(format!("{at}: {message}")),
        Err(_) => object.clone(),
    };
    if let Some(at) = missing_required(&decoded, &kind) {
        return Some(format!("{at}: a required field is missing"));
    }
    let template = object.path(&["spec", "template"]);
    for (place, part) in [("", Some(object)), ("spec.template.", template)] {
        if let Some(error) = part.and_then(|part| metadata_errors(part).into_iter().next()) {
            return Some(format!("{place}{}: {}", error.pointer, error.message));
        }
    }
    workload(object, &kind).or_else(|| pod(object.path(pod_spec(&kind)?)?))
}

/// What a workload of the group `apps` is refused for.
fn workload(object: &Value, kind: &GroupVersionKind) -> Option<String> {
    if &*kind.group != "apps" {
        return None;
    }
    let spec = object.get("spec")?;
    if spec.get("replicas").and_then(Value::as_number).and_then(Number::as_i64).is_some_and(i64::is_negative)
    {
        return Some("spec.replicas: it is negative".into());
    }
    let policy =
        spec.path(&["template", "spec", "restartPolicy"]).and_then(Value::as_str).unwrap_or_default();
    if !matches!(policy, "" | "Always") {
        return Some(format!("spec.template.spec.restartPolicy: `{policy}` is not Always"));
    }
    let selected = spec.path(&["selector", "matchLabels"]).and_then(Value::as_object)?;
    let label = |key: &Text| spec.path(&["template", "metadata", "labels", key]);
    let mut others = selected.iter().filter(|(key, value)| label(key) != Some(*value));
    others.next().map(|(key, _)| format!("spec.selector: the template has another label `{key}`"))
}

/// What a Pod or its template is refused for.
fn pod(spec: &Value) -> Option<String> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for list in CONTAINERS {
        for container in spec.get(list).and_then(Value::as_array).unwrap_or_default() {
            let text = |field| container.get(field).and_then(Value::as_str).unwrap_or_default();
            let name = text("name");
            if !is_container_name(name) {
                return Some(format!("{list}: `{name}` is no name of a container"));
            }
            if !names.insert(name) {
                return Some(format!("{list}: two containers have the name `{name}`"));
            }
            if text("image").trim().is_empty() {
                return Some(format!("{list}: the container `{name}` has no image"));
            }
        }
    }
    let mut open = vec![spec];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    if let (Some(values), Value::String(text)) = (choices(key), member)
                        && !text.is_empty()
                        && !values.contains(&&**text)
                    {
                        return Some(format!("{key}: `{text}` is none of {}", values.join(", ")));
                    }
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items.iter()),
            _ => {}
        }
    }
    None
}

/// A label of RFC 1123.
fn is_container_name(name: &str) -> bool {
    name.len() <= MAX_LABEL && is_name(name) && !name.contains(['.', ':'])
}
