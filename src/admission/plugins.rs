//! What the API server changes after decoding and before admission webhooks: fields that only the server sets, and its
//! own admission plugins, those that are on by default.
//!
//! Left out, because they depend on the cluster or on chance: names from `generateName`, priority classes other than those of the system, `LimitRange`, and default classes of storage and
//! ingress.

use std::collections::BTreeSet;

use crate::resources::{KindScope, builtin_scope};
use crate::value::{GroupVersionKind, Text, Value};

use super::fields::{field_mut, items, set, set_number, set_object, set_text, text_of, unset};
use super::token_volume;

/// Fields of the metadata that a client cannot set.
const SYSTEM_FIELDS: [&str; 5] =
    ["creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid"];

/// Applies the plugins to a decoded object; `service_account_token` adds the volume with the token to Pods.
pub(super) fn apply(kind: &GroupVersionKind, object: &mut Value, service_account_token: bool) {
    wipe(kind, object);
    dedup_owners(object);
    match (&*kind.group, &*kind.kind) {
        ("", "Pod") => pod(object, service_account_token),
        ("", "Node") => taint(object),
        ("", "PersistentVolume") => add_finalizer(object, "kubernetes.io/pv-protection"),
        ("", "PersistentVolumeClaim") => add_finalizer(object, "kubernetes.io/pvc-protection"),
        ("storage.k8s.io", "VolumeAttributesClass") => {
            add_finalizer(object, "kubernetes.io/vac-protection");
        }
        _ => {}
    }
}

fn wipe(kind: &GroupVersionKind, object: &mut Value) {
    let is_wiped = |field: &Text| {
        SYSTEM_FIELDS.contains(&field.as_str())
            || field == "namespace" && builtin_scope(kind) == KindScope::Cluster
    };
    let members = object.get("metadata").and_then(Value::as_object);
    if members.is_some_and(|members| members.keys().any(is_wiped))
        && let Some(members) = field_mut(object, "metadata").and_then(Value::as_object_mut)
    {
        members.retain(|field, _| !is_wiped(field));
    }
}

/// Of equal references to owners the first one stays.
fn dedup_owners(object: &mut Value) {
    let Some(owners) = object.path(&["metadata", "ownerReferences"]).and_then(Value::as_array) else {
        return;
    };
    if owners.len() < 2 {
        return;
    }
    let mut seen = BTreeSet::new();
    let first: Vec<Value> = owners.iter().filter(|owner| seen.insert(owner.to_json())).cloned().collect();
    if first.len() < owners.len()
        && let Some(metadata) = field_mut(object, "metadata")
    {
        metadata.insert("ownerReferences", Value::array(first));
    }
}

fn add_finalizer(object: &mut Value, finalizer: &str) {
    set_object(object, "metadata");
    if let Some(metadata) = field_mut(object, "metadata") {
        add(metadata, "finalizers", Value::from(finalizer));
    }
}

/// Appends to a list what it lacks.
fn add(object: &mut Value, field: &'static str, element: Value) {
    if items(object, field).contains(&element) {
        return;
    }
    set(object, field, || Value::array(Vec::new()));
    if let Some(list) = field_mut(object, field).and_then(Value::as_array_mut) {
        list.push(element);
    }
}

/// A new node is not ready.
fn taint(node: &mut Value) {
    const KEY: &str = "node.kubernetes.io/not-ready";
    let Some(spec) = field_mut(node, "spec") else { return };
    let is_tainted = items(spec, "taints")
        .iter()
        .any(|taint| text_of(taint, "key") == KEY && text_of(taint, "effect") == "NoSchedule");
    if !is_tainted {
        let taint = [("key", KEY), ("effect", "NoSchedule")];
        add(spec, "taints", taint.into_iter().map(|(key, text)| (key, Value::from(text))).collect());
    }
}

fn pod(pod: &mut Value, service_account_token: bool) {
    let is_mirror = pod.path(&["metadata", "annotations", "kubernetes.io/config.mirror"]).is_some();
    let Some(spec) = field_mut(pod, "spec") else { return };
    if !is_mirror {
        set_text(spec, "serviceAccountName", "default");
        let account = text_of(spec, "serviceAccountName").to_owned();
        set_text(spec, "serviceAccount", &account);
        if service_account_token {
            token_volume::add(spec);
        }
    }
    let priority = match text_of(spec, "priorityClassName") {
        "" => Some(0),
        "system-cluster-critical" => Some(2_000_000_000),
        "system-node-critical" => Some(2_000_001_000),
        _ => None,
    };
    if let Some(priority) = priority {
        set_number(spec, "priority", priority);
        set_text(spec, "preemptionPolicy", "PreemptLowerPriority");
    }
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        if !items(spec, "tolerations").iter().any(|toleration| tolerates(toleration, taint)) {
            let texts = [("key", taint), ("operator", "Exists"), ("effect", "NoExecute")];
            let mut toleration: Value =
                texts.into_iter().map(|(key, text)| (key, Value::from(text))).collect();
            toleration.insert("tolerationSeconds", Value::from(300));
            add(spec, "tolerations", toleration);
        }
    }
}

/// Whether a toleration is for this taint with the effect `NoExecute`, whatever its operator.
fn tolerates(toleration: &Value, taint: &str) -> bool {
    let is = |field, text| unset(toleration, field) || text_of(toleration, field) == text;
    is("key", taint) && is("effect", "NoExecute")
}
