//! What the defaults and conversions of a type look at.

/// The types with defaults or conversions that look at no fields but those named here, and at none of the types below. Others
/// may look at anything. Conversions of single annotations are not named: each looks at the annotation that it changes.
pub(in crate::admission) const READS: [(&str, &[&str]); 23] = [
    ("apps/v1.DaemonSet", &[]),
    ("apps/v1.DaemonSetSpec", &["updateStrategy"]),
    ("apps/v1.Deployment", &[]),
    ("apps/v1.DeploymentSpec", &["strategy"]),
    ("apps/v1.ReplicaSetSpec", &[]),
    ("apps/v1.StatefulSetSpec", &["updateStrategy", "volumeClaimTemplates"]),
    ("batch/v1.CronJobSpec", &[]),
    ("core/v1.ConfigMapVolumeSource", &[]),
    ("core/v1.Container", &["image"]),
    ("core/v1.DownwardAPIVolumeSource", &[]),
    ("core/v1.EphemeralContainer", &["image"]),
    ("core/v1.HTTPGetAction", &[]),
    ("core/v1.HostPathVolumeSource", &[]),
    ("core/v1.ObjectFieldSelector", &[]),
    ("core/v1.PodSpec", &["serviceAccount", "serviceAccountName"]),
    ("core/v1.PodTemplateSpec", &[]),
    ("core/v1.Probe", &[]),
    ("core/v1.ProjectedVolumeSource", &[]),
    ("core/v1.ResourceList", &[]),
    ("core/v1.Secret", &["data", "stringData"]),
    ("core/v1.SecretVolumeSource", &[]),
    ("core/v1.ServiceAccountTokenProjection", &[]),
    // Admission plugins change these.
    ("meta/v1.ObjectMeta", &["finalizers", "ownerReferences"]),
];

/// The fields that defaults and conversions of a type look at; `None` if they may look at anything.
pub(in crate::admission) fn reads(name: &str) -> Option<&'static [&'static str]> {
    READS.iter().find(|(known, _)| *known == name).map(|(_, fields)| *fields)
}
