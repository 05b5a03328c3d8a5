//! Changes that restart what runs.

use crate::value::{GroupVersionKind, Number, Value};

use super::settled::{self, Off};

/// Kinds whose Pods stay as they are when their template changes: it is for Pods to come, or refused.
const WITHOUT_ROLLOUT: [&str; 4] = ["Job", "PodTemplate", "ReplicaSet", "ReplicationController"];

/// Whether an update restarts anything: Pods are replaced, or containers of a Pod start anew.
pub(super) fn restarts(kind: &GroupVersionKind, before: &Value, after: &Value) -> bool {
    match (&*kind.group, &*kind.kind) {
        ("", "Pod") => starts_containers(before, after),
        ("apps", "Deployment" | "DaemonSet" | "StatefulSet") => {
            replaces(kind, before, after) && {
                let (old, new) = (template(before), template(after));
                old != new && {
                    let off = old.map_or(Off::Dropped, Off::of_template);
                    let settled = |template| settled::template(template, off);
                    old.map(settled) != new.map(settled)
                }
            }
        }
        (_, name) if WITHOUT_ROLLOUT.contains(&name) => false,
        // What others make of their template is not known, so any difference counts.
        _ => {
            let has_pods = after.path(&["spec", "template", "spec", "containers"]).is_some();
            has_pods && replaces(kind, before, after) && template(before) != template(after)
        }
    }
}

fn template(object: &Value) -> Option<&Value> {
    object.path(&["spec", "template"])
}

/// Whether a new template reaches Pods that run: there are some, and their controller is not told to wait.
fn replaces(kind: &GroupVersionKind, before: &Value, after: &Value) -> bool {
    let number =
        |object: &Value, path: &[&str]| object.path(path).and_then(Value::as_number).and_then(Number::as_i64);
    let replicas = |object: &Value| number(object, &["spec", "replicas"]).unwrap_or(1);
    // Pods that come or go anyway are not replaced.
    let kept = replicas(before).min(replicas(after));
    let strategy = after.path(&["spec", "updateStrategy"]);
    let is_manual =
        strategy.and_then(|strategy| strategy.get("type")).and_then(Value::as_str) == Some("OnDelete");
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

/// Whether containers of a Pod that may run get another image: they are started anew where they are.
fn starts_containers(before: &Value, after: &Value) -> bool {
    let gates = before.path(&["spec", "schedulingGates"]).and_then(Value::as_array).unwrap_or_default();
    let images = |object: &Value| -> Vec<(Option<Value>, Option<Value>)> {
        let list = |field: &str| {
            object.path(&["spec", field]).and_then(Value::as_array).unwrap_or_default().to_vec()
        };
        let stays =
            |container: &Value| container.get("restartPolicy").and_then(Value::as_str) == Some("Always");
        let beside = list("initContainers").into_iter().filter(stays);
        let all = beside.chain(list("containers"));
        all.map(|container| (container.get("name").cloned(), container.get("image").cloned())).collect()
    };
    let is_elsewhere = |(name, image): &(Option<Value>, Option<Value>),
                        others: &[(Option<Value>, Option<Value>)]| {
        others.iter().any(|(other, theirs)| other == name && theirs != image)
    };
    gates.is_empty() && {
        let new = images(after);
        images(before).iter().any(|old| is_elsewhere(old, &new))
    }
}
