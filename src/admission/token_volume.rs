//! The volume with the token of the service account, which the admission plugin `ServiceAccount` adds to Pods.

use crate::value::Value;

use super::fields::{field_mut, items, items_mut, set, text_of};

const NAME_PREFIX: &str = "kube-api-access-";
/// The name of the volume. An API server has random characters at the end.
const NAME: &str = "kube-api-access-xxxxx";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const SOURCE: &str = r#"{"sources":[
    {"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
    {"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}},
    {"downwardAPI":{"items":[{"path":"namespace","fieldRef":{"apiVersion":"v1","fieldPath":"metadata.namespace"}}]}}
],"defaultMode":420}"#;

/// Adds the volume to the spec of a Pod, and mounts it in the containers that mount nothing at its path. A volume whose
/// name begins like that of the plugin is used instead.
pub(super) fn add(spec: &mut Value) {
    if spec.get("automountServiceAccountToken") == Some(&Value::Bool(false)) {
        return;
    }
    let written = items(spec, "volumes").iter().map(|volume| text_of(volume, "name"));
    let written = written.into_iter().find(|name| name.starts_with(NAME_PREFIX)).map(str::to_owned);
    let name = written.as_deref().unwrap_or(NAME);
    let mut is_mounted = false;
    for list in ["initContainers", "containers"] {
        for container in items_mut(spec, list) {
            if items(container, "volumeMounts").iter().any(|mount| text_of(mount, "mountPath") == MOUNT_PATH)
            {
                continue;
            }
            let mount = [("name", name.into()), ("readOnly", true.into()), ("mountPath", MOUNT_PATH.into())];
            push(container, "volumeMounts", mount.into_iter().collect());
            is_mounted = true;
        }
    }
    if is_mounted && written.is_none() {
        let source = Value::from_json(SOURCE).unwrap_or(Value::Null);
        push(spec, "volumes", [("name", NAME.into()), ("projected", source)].into_iter().collect());
    }
}

fn push(object: &mut Value, field: &'static str, element: Value) {
    set(object, field, || Value::array(Vec::new()));
    if let Some(list) = field_mut(object, field).and_then(Value::as_array_mut) {
        list.push(element);
    }
}

/// Removes what [`add`] added to the spec of a Pod.
pub(super) fn remove(spec: &mut Value) {
    remove_named(spec, "volumes");
    for list in ["initContainers", "containers"] {
        items_mut(spec, list).iter_mut().for_each(|container| remove_named(container, "volumeMounts"));
    }
}

fn remove_named(object: &mut Value, field: &str) {
    let Some(list) = field_mut(object, field).and_then(Value::as_array_mut) else { return };
    list.retain(|element| text_of(element, "name") != NAME);
    if list.is_empty() {
        object.remove(field);
    }
}
