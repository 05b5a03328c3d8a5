//! What the engine may ask of the outside.

use jiff::Timestamp;

use crate::value::{GroupVersionKind, Value};

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

/// What a context entry asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// A `ConfigMap`.
    ConfigMap {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// What the API server answers to a GET of this path, which may hold a query.
    Api(&'a str),
    /// What another service answers to a call, or the API server to one that is no GET.
    Call {
        /// The method; empty stands for GET.
        method: &'a str,
        /// The address, or the path at the API server.
        url: &'a str,
    },
    /// The data of a global context entry by its name.
    Global(&'a str),
    /// The expression of a projection, as a text.
    Projection {
        /// The global context entry.
        entry: &'a str,
        /// The projection's own name.
        name: &'a str,
    },
    /// The metadata of an image by its reference: an element of `spec.images` of Kyverno's `Context`.
    Image(&'a str),
}

/// Why a look-up has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// Nobody said what the answer is.
    #[error("nothing is given that answers it")]
    NotGiven,
    /// The answer is known: there is no such object.
    #[error("not found")]
    NotFound,
    /// The question cannot be answered.
    #[error("{0}")]
    Unanswerable(String),
}

/// The outside of an evaluation. One world serves many threads, and equal questions get equal answers
/// for the length of a run.
pub trait World: Sync {
    /// The time that `time_now()` yields.
    fn now(&self) -> Timestamp;

    /// Chance for `random()`: depends on nothing but the key (object and rule) and the number of the
    /// call, so that threads do not matter.
    fn chance(&self, key: &str, call: u64) -> u64;

    /// The labels of a namespace, as an object; `None` where nobody knows the namespace.
    fn namespace_labels(&self, namespace: &str) -> Option<Value>;

    /// Whether objects of this kind live in namespaces.
    fn scope(&self, kind: &GroupVersionKind) -> KindScope;

    /// What a context entry asks for.
    ///
    /// # Errors
    ///
    /// See [`LookupError`]; a world that knows no objects has no answer to anything.
    fn lookup(&self, _lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        Err(LookupError::NotGiven)
    }
}

/// A world that knows nothing: the epoch, no chance, no namespaces, the kinds built into Kubernetes.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmptyWorld;

impl World for EmptyWorld {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn chance(&self, _key: &str, call: u64) -> u64 {
        call
    }

    fn namespace_labels(&self, _namespace: &str) -> Option<Value> {
        None
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        builtin_scope(kind)
    }
}

/// The scope of a kind that Kubernetes itself serves; [`KindScope::Unknown`] for all others.
pub fn builtin_scope(kind: &GroupVersionKind) -> KindScope {
    let cluster: &[&str] = match &*kind.group {
        "" => &["Namespace", "Node", "PersistentVolume", "ComponentStatus"],
        "admissionregistration.k8s.io" => &[
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
        "apiextensions.k8s.io" => &["CustomResourceDefinition"],
        "apiregistration.k8s.io" => &["APIService"],
        "authentication.k8s.io" => &["SelfSubjectReview", "TokenReview"],
        "authorization.k8s.io" => {
            &["SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"]
        }
        "certificates.k8s.io" => &["CertificateSigningRequest", "ClusterTrustBundle"],
        "flowcontrol.apiserver.k8s.io" => &["FlowSchema", "PriorityLevelConfiguration"],
        "internal.apiserver.k8s.io" => &["StorageVersion"],
        "networking.k8s.io" => &["IPAddress", "IngressClass", "ServiceCIDR"],
        "node.k8s.io" => &["RuntimeClass"],
        "policy" | "extensions" => &["PodSecurityPolicy"],
        "rbac.authorization.k8s.io" => &["ClusterRole", "ClusterRoleBinding"],
        "resource.k8s.io" => &["DeviceClass", "DeviceTaintRule", "ResourceSlice"],
        "scheduling.k8s.io" => &["PriorityClass"],
        "storage.k8s.io" => {
            &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"]
        }
        "storagemigration.k8s.io" => &["StorageVersionMigration"],
        "kyverno.io" => &["ClusterPolicy", "ClusterCleanupPolicy", "GlobalContextEntry"],
        "policies.kyverno.io" => &[
            "DeletingPolicy",
            "GeneratingPolicy",
            "ImageValidatingPolicy",
            "MutatingPolicy",
            "ValidatingPolicy",
        ],
        "apps" | "autoscaling" | "batch" | "coordination.k8s.io" | "discovery.k8s.io" | "events.k8s.io" => {
            &[]
        }
        _ => return KindScope::Unknown,
    };
    if cluster.contains(&&*kind.kind) { KindScope::Cluster } else { KindScope::Namespaced }
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
}
