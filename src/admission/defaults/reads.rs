//! What the defaults, conversions and admission plugins of a type look at.

use crate::admission::fields::{items, text_of, unset};
use crate::value::Value;

use super::has_latest_tag;

/// The types with defaults or conversions that look at no fields but those named here, and at none of the types below. Others
/// may look at anything. Conversions of single annotations are not named: each looks at the annotation that it changes.
pub(in crate::admission) const READS: [(&str, &[&str]); 28] = [
    ("apps/v1.DaemonSet", &[]),
    ("apps/v1.DaemonSetSpec", &["updateStrategy"]),
    ("apps/v1.Deployment", &[]),
    ("apps/v1.DeploymentSpec", &["strategy"]),
    ("apps/v1.ReplicaSetSpec", &[]),
    ("apps/v1.StatefulSetSpec", &["updateStrategy", "volumeClaimTemplates"]),
    ("batch/v1.CronJobSpec", &[]),
    ("batch/v1.Job", &["metadata", "spec"]),
    ("core/v1.ConfigMapVolumeSource", &[]),
    ("core/v1.Container", &["image"]),
    ("core/v1.DownwardAPIVolumeSource", &[]),
    ("core/v1.EphemeralContainer", &["image"]),
    ("core/v1.HTTPGetAction", &[]),
    ("core/v1.HostPathVolumeSource", &[]),
    ("core/v1.ObjectFieldSelector", &[]),
    ("core/v1.Pod", &["metadata", "spec"]),
    ("core/v1.PodSpec", &["serviceAccount", "serviceAccountName"]),
    ("core/v1.PodTemplateSpec", &[]),
    ("core/v1.Probe", &[]),
    ("core/v1.ProjectedVolumeSource", &[]),
    ("core/v1.ResourceList", &[]),
    ("core/v1.Secret", &["data", "stringData"]),
    ("core/v1.SecretVolumeSource", &[]),
    ("core/v1.Service", &["spec", "status"]),
    ("core/v1.ServiceAccountTokenProjection", &[]),
    ("core/v1.ServicePort", &["port", "targetPort"]),
    ("core/v1.ServiceSpec", &["externalIPs", "sessionAffinity", "sessionAffinityConfig", "type"]),
    // Admission plugins change these.
    ("meta/v1.ObjectMeta", &["finalizers", "ownerReferences"]),
];

/// The fields that defaults and conversions of a type look at; `None` if they may look at anything.
pub(in crate::admission) fn reads(name: &str) -> Option<&'static [&'static str]> {
    READS.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields)
}

/// A value in three states: as written, in its view, and changed by policies.
#[derive(Clone, Copy)]
pub(in crate::admission) struct States<'v> {
    pub(in crate::admission) written: Option<&'v Value>,
    pub(in crate::admission) before: &'v Value,
    pub(in crate::admission) after: &'v Value,
}

/// Whether a change of a field that a type looks at makes no difference to what it sets.
pub(in crate::admission) type Indifference = fn(&str, &States<'_>) -> bool;

/// That of a type; `None` if each change may make a difference.
pub(in crate::admission) fn indifference(name: &str) -> Option<Indifference> {
    Some(match name {
        "batch/v1.Job" => of_job,
        "core/v1.Container" | "core/v1.EphemeralContainer" => of_container,
        "core/v1.Pod" => of_pod,
        "core/v1.Service" => of_service,
        _ => return None,
    })
}

impl<'v> States<'v> {
    fn get(&self, field: &str) -> [Option<&'v Value>; 2] {
        [self.before.get(field), self.after.get(field)]
    }

    fn are_same(&self, path: &[&str]) -> bool {
        self.before.path(path) == self.after.path(path)
    }
}

/// The images are pulled by the same rule.
fn of_container(_: &str, states: &States<'_>) -> bool {
    let [was, is] = [states.before, states.after].map(|container| text_of(container, "image"));
    !was.is_empty() && !is.is_empty() && has_latest_tag(was) == has_latest_tag(is)
}

/// Labels of the template count for nothing where the job has its own.
fn of_job(_: &str, states: &States<'_>) -> bool {
    let has_labels = |job: &Value| {
        job.path(&["metadata", "labels"]).and_then(Value::as_object).is_some_and(|labels| !labels.is_empty())
    };
    let fields = ["parallelism", "backoffLimitPerIndex", "podFailurePolicy"];
    states.written.is_some_and(has_labels)
        && has_labels(states.after)
        && fields.iter().all(|field| states.are_same(&["spec", *field]))
}

/// Nodes' ports and balancers' addresses depend on the type.
fn of_service(field: &str, states: &States<'_>) -> bool {
    field == "spec" && states.are_same(&["spec", "type"])
}

/// The Pod gets requests from its limits, ports of the host, and what its service account, priority and tolerations ask for.
fn of_pod(field: &str, states: &States<'_>) -> bool {
    const LOOKED_AT: [&str; 6] =
        ["hostNetwork", "preemptionPolicy", "priority", "priorityClassName", "resources", "tolerations"];
    if field == "metadata" {
        return states.are_same(&["metadata", "annotations", "kubernetes.io/config.mirror"]);
    }
    let [Some(before), Some(after)] = states.get("spec") else { return false };
    let specs = States { written: None, before, after };
    let has_host_network = before.get("hostNetwork").and_then(Value::as_bool) == Some(true);
    let has_limits = |container: &Value| container.path(&["resources", "limits"]).is_some();
    let has_same_limits = |list: &&str| {
        let [before, after] = [before, after].map(|spec| items(spec, list));
        let mut pairs = before.iter().zip(after);
        pairs.all(|(before, after)| {
            !has_limits(before) && !has_limits(after) || before.get("resources") == after.get("resources")
        })
    };
    !has_host_network
        && unset(before, "resources")
        && LOOKED_AT.iter().all(|field| specs.are_same(&[*field]))
        && ["containers", "initContainers"].iter().all(has_same_limits)
}
