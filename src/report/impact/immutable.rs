//! Fields that the API server refuses to change.
//!
//! The table follows the validation of Kubernetes 1.36: `ValidatePodUpdate` and its like in `pkg/apis/*/validation`.

use crate::value::{Change, ChangeKind, GroupVersionKind, Pointer, Segment, Value, changes};

/// Kinds by group and name, the places below which nothing may change, and those below them where it may. `*` stands
/// for any element.
type Row = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const TABLE: &[Row] = &[
    (
        "",
        &["Pod"],
        &["spec"],
        &[
            "spec.containers.*.image",
            "spec.initContainers.*.image",
            "spec.activeDeadlineSeconds",
            "spec.tolerations",
            "spec.schedulingGates",
        ],
    ),
    ("apps", &["Deployment", "DaemonSet", "ReplicaSet"], &["spec.selector"], &[]),
    (
        "apps",
        &["StatefulSet"],
        &["spec"],
        &[
            "spec.replicas",
            "spec.ordinals",
            "spec.template",
            "spec.updateStrategy",
            "spec.revisionHistoryLimit",
            "spec.persistentVolumeClaimRetentionPolicy",
            "spec.minReadySeconds",
        ],
    ),
    ("apps", &["ControllerRevision"], &["data"], &[]),
    (
        "batch",
        &["Job"],
        &[
            "spec.selector",
            "spec.template",
            "spec.completions",
            "spec.completionMode",
            "spec.podFailurePolicy",
            "spec.backoffLimitPerIndex",
            "spec.managedBy",
            "spec.successPolicy",
        ],
        &[],
    ),
    (
        "",
        &["Service"],
        &[
            "spec.clusterIP",
            "spec.clusterIPs.0",
            "spec.ipFamilies.0",
            "spec.healthCheckNodePort",
            "spec.loadBalancerClass",
        ],
        &[],
    ),
    ("", &["PersistentVolumeClaim"], &["spec"], &[]),
    (
        "",
        &["PersistentVolume"],
        &["spec"],
        &[
            "spec.capacity",
            "spec.accessModes",
            "spec.claimRef",
            "spec.persistentVolumeReclaimPolicy",
            "spec.storageClassName",
            "spec.mountOptions",
            "spec.volumeAttributesClassName",
        ],
    ),
    ("", &["Secret"], &["type"], &[]),
    ("rbac.authorization.k8s.io", &["RoleBinding", "ClusterRoleBinding"], &["roleRef"], &[]),
    (
        "storage.k8s.io",
        &["StorageClass"],
        &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
        &[],
    ),
    ("storage.k8s.io", &["VolumeAttachment"], &["spec"], &[]),
    ("storage.k8s.io", &["VolumeAttributesClass"], &["driverName", "parameters"], &[]),
    ("storage.k8s.io", &["CSIDriver"], &["spec.attachRequired", "spec.volumeLifecycleModes"], &[]),
    ("networking.k8s.io", &["IngressClass"], &["spec.controller"], &[]),
    ("networking.k8s.io", &["IPAddress"], &["spec.parentRef"], &[]),
    ("node.k8s.io", &["RuntimeClass"], &["handler"], &[]),
    ("scheduling.k8s.io", &["PriorityClass"], &["value", "preemptionPolicy"], &[]),
    ("discovery.k8s.io", &["EndpointSlice"], &["addressType"], &[]),
    ("certificates.k8s.io", &["CertificateSigningRequest"], &["spec"], &[]),
    ("resource.k8s.io", &["ResourceClaim", "ResourceClaimTemplate"], &["spec"], &[]),
];

/// What an update of a ConfigMap or Secret that says so leaves as it is.
const SEALED: [&str; 3] = ["data", "binaryData", "immutable"];

/// What the template of a Job that waits may be given before its Pods are made.
const SCHEDULING: [&str; 6] = [
    "spec.template.metadata.labels",
    "spec.template.metadata.annotations",
    "spec.template.spec.nodeSelector",
    "spec.template.spec.affinity.nodeAffinity",
    "spec.template.spec.tolerations",
    "spec.template.spec.schedulingGates",
];

/// The places of an object that changed and may not.
pub(super) fn changed(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<Pointer> {
    let is_here = |(group, kinds, ..): &&Row| *kind.group == **group && kinds.contains(&&*kind.kind);
    let row = TABLE.iter().find(is_here);
    let core = kind.group.is_empty();
    let is_sealed = core
        && matches!(&*kind.kind, "ConfigMap" | "Secret")
        && before.get("immutable") == Some(&Value::Bool(true));
    if row.is_none() && !is_sealed {
        return Vec::new();
    }
    let (locked, open) = row.map_or((&[][..], &[][..]), |(.., locked, open)| (*locked, *open));
    let is_locked = |change: &Change| {
        let at = change.pointer.segments();
        let is_in = |places: &[&str]| places.iter().any(|place| is_below(at, place));
        let holds = |places: &[&str]| places.iter().any(|place| is_above(at, place));
        let is_meant = is_sealed && is_in(&SEALED) || (is_in(locked) || holds(locked)) && !is_in(open);
        is_meant && !is_nothing(change) && !is_spared(kind, before, after, change)
    };
    let mut found: Vec<Pointer> = changes(before, after)
        .into_iter()
        .filter(|change| is_locked(change))
        .map(|change| change.pointer)
        .collect();
    if core && *kind.kind == *"Pod" {
        found.extend(of_pod(before, after));
    }
    found
}

/// What the table cannot say: fields that may change under some condition.
fn is_spared(kind: &GroupVersionKind, before: &Value, after: &Value, change: &Change) -> bool {
    let at = change.pointer.segments();
    let is_in = |places: &[&str]| places.iter().any(|place| is_below(at, place));
    let was_set = |path: &[&str]| before.path(path).is_some_and(|value| !is_empty(value));
    match &*kind.kind {
        "Pod" => {
            was_set(&["spec", "schedulingGates"])
                && is_in(&["spec.nodeSelector", "spec.affinity.nodeAffinity"])
        }
        "Job" => {
            let is_indexed =
                before.path(&["spec", "completionMode"]).and_then(Value::as_str) == Some("Indexed");
            let waits = before.path(&["spec", "suspend"]) == Some(&Value::Bool(true));
            is_indexed && is_in(&["spec.completions"]) || waits && is_in(&SCHEDULING)
        }
        "Service" => {
            let is_external = |object: &Value| {
                object.path(&["spec", "type"]).and_then(Value::as_str) == Some("ExternalName")
            };
            // What is left out stays; what was not set yet can be given.
            !matches!(change.kind, ChangeKind::Replace { .. }) || is_external(before) || is_external(after)
        }
        "PersistentVolumeClaim" => {
            // A claim is bound once it has a volume.
            let is_bound = was_set(&["spec", "volumeName"]);
            is_bound && is_in(&["spec.resources.requests", "spec.volumeAttributesClassName"])
                || !is_bound && is_in(&["spec.volumeName"])
        }
        "PersistentVolume" => is_in(&["spec.nodeAffinity"]) && !was_set(&["spec", "nodeAffinity"]),
        _ => false,
    }
}

/// What a Pod's fields that may change must not become.
fn of_pod(before: &Value, after: &Value) -> Vec<Pointer> {
    let list = |object: &Value, field: &str| -> Vec<Value> {
        object.path(&["spec", field]).and_then(Value::as_array).unwrap_or_default().to_vec()
    };
    let timeless = |mut toleration: Value| {
        toleration.remove("tolerationSeconds");
        toleration
    };
    let tolerations: Vec<Value> = list(after, "tolerations").into_iter().map(timeless).collect();
    let are_kept =
        list(before, "tolerations").into_iter().all(|toleration| tolerations.contains(&timeless(toleration)));
    let gates = list(before, "schedulingGates");
    let are_old = list(after, "schedulingGates").iter().all(|gate| gates.contains(gate));
    let deadline = |object: &Value| object.path(&["spec", "activeDeadlineSeconds"]).cloned();
    let is_shorter = match (deadline(before), deadline(after)) {
        (Some(Value::Number(old)), Some(Value::Number(new))) => new.as_f64() <= old.as_f64(),
        (Some(_), None) => false,
        _ => true,
    };
    let spec = Pointer::ROOT.key("spec");
    let parts =
        [("tolerations", are_kept), ("schedulingGates", are_old), ("activeDeadlineSeconds", is_shorter)];
    parts.into_iter().filter(|(_, may)| !may).map(|(field, _)| spec.key(field)).collect()
}

/// Whether the API server sees no difference: what is empty is as good as absent.
fn is_nothing(change: &Change) -> bool {
    match &change.kind {
        ChangeKind::Add(value) | ChangeKind::Remove(value) => is_empty(value),
        ChangeKind::Replace { before, after } => is_empty(before) && is_empty(after),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// Whether a place is this one or below it.
fn is_below(at: &[Segment], place: &str) -> bool {
    let mut segments = at.iter();
    place.split('.').all(|part| segments.next().is_some_and(|segment| is_called(segment, part)))
}

/// Whether a place is above this one.
fn is_above(at: &[Segment], place: &str) -> bool {
    let mut parts = place.split('.');
    at.iter().all(|segment| parts.next().is_some_and(|part| is_called(segment, part)))
}

fn is_called(segment: &Segment, part: &str) -> bool {
    part == "*"
        || match segment {
            Segment::Key(key) => **key == *part,
            Segment::Index(index) => part.parse() == Ok(*index),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(api_version: &str, kind: &str, before: &str, after: &str) -> Vec<String> {
        let object = |spec: &str| Value::from_json(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
        let kind = GroupVersionKind::new(api_version, kind);
        changed(&kind, &object(before), &object(after)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pod_takes_images_tolerations_and_shorter_deadlines() {
        let before = r#"{"containers":[{"name":"a","image":"i:1"}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#;
        for (after, expected) in [
            (
                r#"{"containers":[{"name":"a","image":"i:2"}],"tolerations":[{"key":"x"},{"key":"y"}],"activeDeadlineSeconds":8}"#,
                &[][..],
            ),
            (
                r#"{"containers":[{"name":"a","image":"i:1"}],"tolerations":[{"key":"y"}],"activeDeadlineSeconds":10}"#,
                &["spec.tolerations", "spec.activeDeadlineSeconds"],
            ),
            (
                r#"{"containers":[{"name":"a","image":"i:1"},{"name":"b"}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#,
                &["spec.containers[1]"],
            ),
            (
                r#"{"containers":[{"name":"a","image":"i:1","env":[]}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#,
                &[],
            ),
        ] {
            assert_eq!(found("v1", "Pod", before, after), expected, "{after}");
        }
    }

    #[test]
    fn conditions_decide_where_the_table_cannot() {
        for (api_version, kind, before, after, expected) in [
            (
                "v1",
                "Service",
                r#"{"clusterIP":"10.0.0.1"}"#,
                r#"{"clusterIP":"10.0.0.2"}"#,
                &["spec.clusterIP"][..],
            ),
            ("v1", "Service", r#"{"clusterIP":"10.0.0.1"}"#, "{}", &[]),
            ("batch/v1", "Job", r#"{"completions":1}"#, r#"{"completions":2}"#, &["spec.completions"]),
            (
                "batch/v1",
                "Job",
                r#"{"completionMode":"Indexed","completions":1}"#,
                r#"{"completionMode":"Indexed","completions":2}"#,
                &[],
            ),
            ("batch/v1", "Job", r#"{"parallelism":1}"#, r#"{"parallelism":2}"#, &[]),
            (
                "apps/v1",
                "StatefulSet",
                r#"{"serviceName":"a","replicas":1}"#,
                r#"{"serviceName":"b","replicas":2}"#,
                &["spec.serviceName"],
            ),
            ("example.com/v1", "Pod", r#"{"a":1}"#, r#"{"a":2}"#, &[]),
        ] {
            assert_eq!(found(api_version, kind, before, after), expected, "{kind} {after}");
        }
    }
}
