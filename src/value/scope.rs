//! Which kinds of Kubernetes itself and of Kyverno live in namespaces.

use super::GroupVersionKind;

/// Whether objects of a kind live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindScope {
    /// They do.
    Namespaced,
    /// They belong to the cluster.
    Cluster,
    /// Nobody said; such kinds are taken for namespaced.
    Unknown,
}

/// The groups whose kinds are all known, each with those that live in no namespace.
const GROUPS: &[(&str, &[&str])] = &[
    ("", &["ComponentStatus", "Namespace", "Node", "PersistentVolume"]),
    (
        "admissionregistration.k8s.io",
        &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io", &["APIService"]),
    ("apps", &[]),
    ("authentication.k8s.io", &["SelfSubjectReview", "TokenReview"]),
    ("authorization.k8s.io", &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]),
    ("autoscaling", &[]),
    ("batch", &[]),
    ("certificates.k8s.io", &["CertificateSigningRequest", "ClusterTrustBundle"]),
    ("coordination.k8s.io", &[]),
    ("discovery.k8s.io", &[]),
    ("events.k8s.io", &[]),
    ("extensions", &["PodSecurityPolicy"]),
    ("flowcontrol.apiserver.k8s.io", &["FlowSchema", "PriorityLevelConfiguration"]),
    ("internal.apiserver.k8s.io", &["StorageVersion"]),
    ("kyverno.io", &["ClusterCleanupPolicy", "ClusterPolicy", "GlobalContextEntry"]),
    ("networking.k8s.io", &["IPAddress", "IngressClass", "ServiceCIDR"]),
    ("node.k8s.io", &["RuntimeClass"]),
    (
        "policies.kyverno.io",
        &[
            "DeletingPolicy",
            "GeneratingPolicy",
            "ImageValidatingPolicy",
            "MutatingPolicy",
            "ValidatingPolicy",
        ],
    ),
    ("policy", &["PodSecurityPolicy"]),
    ("rbac.authorization.k8s.io", &["ClusterRole", "ClusterRoleBinding"]),
    ("resource.k8s.io", &["DeviceClass", "DeviceTaintRule", "ResourceSlice"]),
    ("scheduling.k8s.io", &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"],
    ),
    ("storagemigration.k8s.io", &["StorageVersionMigration"]),
];

/// The scope of a kind that Kubernetes itself or Kyverno serves; [`KindScope::Unknown`] for all others.
pub fn builtin_scope(kind: &GroupVersionKind) -> KindScope {
    match GROUPS.iter().find(|(group, _)| *group == &*kind.group) {
        Some((_, cluster)) if cluster.contains(&&*kind.kind) => KindScope::Cluster,
        Some(_) => KindScope::Namespaced,
        None => KindScope::Unknown,
    }
}

/// The groups in which a kind of this name lives in no namespace.
///
/// In other groups kinds of the same name may well live in one, so that a bare name decides nothing: whoever
/// has a group, or a pattern of one, compares it with these.
pub fn groups_of_cluster_kind(kind: &str) -> impl Iterator<Item = &'static str> {
    GROUPS.iter().filter(move |(_, cluster)| cluster.contains(&kind)).map(|(group, _)| *group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_of_built_in_kinds_are_known() {
        for (api_version, kind, scope) in [
            ("v1", "Pod", KindScope::Namespaced),
            ("v1", "Namespace", KindScope::Cluster),
            ("rbac.authorization.k8s.io/v1", "Role", KindScope::Namespaced),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", KindScope::Cluster),
            ("example.com/v1", "Widget", KindScope::Unknown),
        ] {
            assert_eq!(builtin_scope(&GroupVersionKind::new(api_version, kind)), scope, "{kind}");
        }
    }

    #[test]
    fn groups_tell_kinds_of_one_name_apart() {
        assert_eq!(groups_of_cluster_kind("PodSecurityPolicy").collect::<Vec<_>>(), ["extensions", "policy"]);
        assert_eq!(groups_of_cluster_kind("Node").collect::<Vec<_>>(), [""]);
        assert_eq!(groups_of_cluster_kind("Pod").count(), 0);
    }
}
