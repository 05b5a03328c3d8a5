//! Changes that restart Pods or containers.

use crate::value::{GroupVersionKind, Number, Value};

use super::defaulting::{self, GatedFields};
use super::{list, text};

/// Kinds whose running Pods keep their template when it changes.
const WITHOUT_ROLLOUT: [&str; 4] = ["Job", "PodTemplate", "ReplicaSet", "ReplicationController"];

/// Whether an update replaces Pods or restarts containers of a Pod.
pub(super) fn restarts(kind: &GroupVersionKind, before: &Value, after: &Value) -> bool {
    match (&*kind.group, &*kind.kind) {
        ("", "Pod") => starts_containers(before, after),
        ("apps", "Deployment" | "DaemonSet" | "StatefulSet") => {
            replaces(kind, before, after) && {
                let (old, new) = (template(before), template(after));
                old != new && {
                    let gated = old.map_or(GatedFields::Dropped, GatedFields::of_template);
                    let normalized = |template| defaulting::template(template, gated);
                    old.map(normalized) != new.map(normalized)
                }
            }
        }
        (_, name) if WITHOUT_ROLLOUT.contains(&name) => false,
        // For other controllers, any change of the template counts.
        _ => {
            let has_pods = after.path(&["spec", "template", "spec", "containers"]).is_some();
            has_pods && replaces(kind, before, after) && template(before) != template(after)
        }
    }
}

fn template(object: &Value) -> Option<&Value> {
    object.path(&["spec", "template"])
}

/// Whether a new template replaces running Pods: there are some, and the controller is not paused.
fn replaces(kind: &GroupVersionKind, before: &Value, after: &Value) -> bool {
    let number =
        |object: &Value, path: &[&str]| object.path(path).and_then(Value::as_number).and_then(Number::as_i64);
    let replicas = |object: &Value| number(object, &["spec", "replicas"]).unwrap_or(1);
    // Added or removed Pods are not replaced.
    let kept = replicas(before).min(replicas(after));
    let is_manual = text(after, &["spec", "updateStrategy", "type"]) == Some("OnDelete");
    let first = match &*kind.kind {
        "StatefulSet" => {
            number(after, &["spec", "updateStrategy", "rollingUpdate", "partition"]).unwrap_or(0)
        }
        _ => 0,
    };
    let is_paused = after.path(&["spec", "paused"]) == Some(&Value::Bool(true));
    let has_replicas = *kind.kind == *"DaemonSet" || kept > first;
    has_replicas && !is_manual && !is_paused
}

/// Whether running containers of a Pod get another image, which restarts them in place.
fn starts_containers(before: &Value, after: &Value) -> bool {
    let images = |object| -> Vec<(Option<&Value>, Option<&Value>)> {
        let is_sidecar = |container: &&Value| text(container, &["restartPolicy"]) == Some("Always");
        let sidecars = list(object, &["spec", "initContainers"]).iter().filter(is_sidecar);
        let containers = sidecars.chain(list(object, &["spec", "containers"]));
        containers.map(|container| (container.get("name"), container.get("image"))).collect()
    };
    let (old, new) = (images(before), images(after));
    list(before, &["spec", "schedulingGates"]).is_empty()
        && old.iter().any(|(name, image)| new.iter().any(|(other, new)| other == name && new != image))
}
