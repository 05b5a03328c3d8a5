//! Pods, and the Pod templates of Jobs.

use crate::value::{Pointer, Text, Value};

use super::{list, pointer, put, reset, text};

/// Immutable annotations.
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const MIRROR: &str = "kubernetes.io/config.mirror";

const TOLERATIONS: &[&str] = &["spec", "tolerations"];
const GATES: &[&str] = &["spec", "schedulingGates"];

/// Taints that every Pod tolerates for a while.
const TOLERATED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// Resets the mutable fields of a Pod; returns refused changes of them.
pub(super) fn changed(old: &Value, new: &mut Value) -> Vec<Pointer> {
    let mut found = annotations(old, new);
    // Admission sets these if missing.
    for field in ["priority", "preemptionPolicy"] {
        if new.path(&["spec", field]).is_none() {
            reset(old, new, &["spec", field]);
        }
    }
    if list(old, TOLERATIONS) != list(new, TOLERATIONS) && !are_kept(old, new) {
        found.push(pointer(TOLERATIONS));
    }
    let gates = list(old, GATES);
    if list(new, GATES).iter().any(|gate| !gates.contains(gate)) {
        found.push(pointer(GATES));
    }
    let deadline = |object: &Value| object.path(&["spec", "activeDeadlineSeconds"]).cloned();
    let is_shorter = match (deadline(old), deadline(new)) {
        (Some(Value::Number(old)), Some(Value::Number(new))) => new.as_f64() <= old.as_f64(),
        (Some(_), None) => false,
        _ => true,
    };
    if !is_shorter {
        found.push(pointer(&["spec", "activeDeadlineSeconds"]));
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        reset(old, new, &["spec", field]);
    }
    for field in ["containers", "initContainers"] {
        reset_elements(old, new, &["spec", field], "image");
    }
    if !gates.is_empty() {
        found.extend(gated(old, new));
    }
    found
}

/// Resets the node selection of a gated Pod, which may be narrowed; returns refused changes.
fn gated(old: &Value, new: &mut Value) -> Vec<Pointer> {
    const AFFINITY: &[&str] = &["spec", "affinity", "nodeAffinity"];
    let mut found = Vec::new();
    let selector = |object: &Value| {
        object.path(&["spec", "nodeSelector"]).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (was, is) = (selector(old), selector(new));
    if was.iter().any(|(key, value)| is.get(key) != Some(value)) {
        found.push(pointer(&["spec", "nodeSelector"]));
    }
    reset(old, new, &["spec", "nodeSelector"]);
    if old.path(AFFINITY) == new.path(AFFINITY) {
        return found;
    }
    let terms = [AFFINITY, &["requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]].concat();
    let (was, is) = (list(old, &terms), list(new, &terms));
    let only_more = was.len() == is.len() && was.iter().zip(is).all(|(was, is)| has_all(was, is));
    if !was.is_empty() && !only_more {
        found.push(pointer(AFFINITY));
    }
    let has_others =
        ["podAffinity", "podAntiAffinity"].iter().any(|kind| new.path(&["spec", "affinity", kind]).is_some());
    if old.path(&["spec", "affinity"]).is_none() && !has_others {
        put(new, &["spec", "affinity"], None);
    } else {
        reset(old, new, AFFINITY);
    }
    found
}

/// Whether a node selector term starts with all of its old requirements.
fn has_all(was: &Value, is: &Value) -> bool {
    let fields = [["matchExpressions"], ["matchFields"]];
    let [was_empty, is_empty] = [was, is].map(|term| fields.iter().all(|field| list(term, field).is_empty()));
    (!was_empty || is_empty) && fields.iter().all(|field| list(is, field).starts_with(list(was, field)))
}

/// Whether all old tolerations remain, apart from `tolerationSeconds`.
fn are_kept(old: &Value, new: &Value) -> bool {
    let timeless = |mut toleration: Value| {
        toleration.remove("tolerationSeconds");
        toleration
    };
    let mut tolerations = list(new, TOLERATIONS).to_vec();
    for key in TOLERATED {
        let covers = |toleration: &Value| {
            let text = |field: &str| toleration.get(field).and_then(Value::as_str).unwrap_or_default();
            matches!(text("effect"), "" | "NoExecute") && (text("key").is_empty() || text("key") == key)
        };
        if !tolerations.iter().any(covers) {
            let default = [("key", key), ("operator", "Exists"), ("effect", "NoExecute")];
            let default = default.into_iter().map(|(field, text)| (Text::from(field), Value::from(text)));
            tolerations.push(default.collect());
        }
    }
    let tolerations: Vec<Value> = tolerations.into_iter().map(timeless).collect();
    list(old, TOLERATIONS).iter().all(|toleration| tolerations.contains(&timeless(toleration.clone())))
}

fn annotations(old: &Value, new: &Value) -> Vec<Pointer> {
    let annotations = |object: &Value| {
        object.path(&["metadata", "annotations"]).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let (was, is) = (annotations(old), annotations(new));
    let keys = was.keys().chain(is.keys().filter(|key| !was.contains_key(key)));
    let is_field = |key: &&Text| key.starts_with(APP_ARMOR) || &***key == MIRROR;
    let at = pointer(&["metadata", "annotations"]);
    keys.filter(is_field).filter(|key| was.get(key) != is.get(key)).map(|key| at.key(key.clone())).collect()
}

/// Resets the mutable fields of a Job: scheduling and resources of its Pods while it is suspended.
pub(super) fn job(old: &Value, new: &mut Value) -> Vec<Pointer> {
    const POD: &[&str] = &["spec", "template", "spec"];
    let is_indexed = text(new, &["spec", "completionMode"]) == Some("Indexed");
    let completions = new.path(&["spec", "completions"]);
    if is_indexed && (completions.is_none() || completions == new.path(&["spec", "parallelism"])) {
        reset(old, new, &["spec", "completions"]);
    }
    if old.path(&["spec", "suspend"]) != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let found = changed_job_labels(old, new);
    let at = |rest: &[&'static str]| -> Vec<&'static str> { POD.iter().chain(rest).copied().collect() };
    reset(old, new, &["spec", "template", "metadata"]);
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        reset(old, new, &at(&[field]));
    }
    let (was, is) = (old.path(&at(&["affinity"])), new.path(&at(&["affinity"])));
    let other = |affinity: &Value| {
        let mut affinity = affinity.clone();
        affinity.remove("nodeAffinity");
        affinity
    };
    let none = Value::empty_object();
    if was.map_or_else(|| none.clone(), other) == is.map_or_else(|| none.clone(), other) {
        reset(old, new, &at(&["affinity"]));
    }
    for field in ["containers", "initContainers"] {
        reset_elements(old, new, &at(&[field]), "resources");
    }
    found
}

/// Changed labels of the template by which a Job identifies its Pods.
fn changed_job_labels(old: &Value, new: &Value) -> Vec<Pointer> {
    const JOB_LABELS: [&str; 4] =
        ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];
    let label = |job: &Value, key: &str| job.path(&["spec", "template", "metadata", "labels", key]).cloned();
    let is_lost = |key: &&str| label(old, key).is_some() && label(old, key) != label(new, key);
    let at = pointer(&["spec", "template", "metadata", "labels"]);
    JOB_LABELS.into_iter().filter(is_lost).map(|key| at.key(key)).collect()
}

/// Resets a field of each element of a list, if none was added or removed.
fn reset_elements(old: &Value, new: &mut Value, place: &[&str], field: &str) {
    let was = list(old, place);
    let mut items = list(new, place).to_vec();
    if was.len() == items.len() {
        was.iter().zip(&mut items).for_each(|(was, is)| reset(was, is, &[field]));
        put(new, place, (!items.is_empty()).then(|| Value::array(items)));
    }
}
