//! Which documents are policies.

use crate::pattern::nearest;
use crate::value::{GroupVersionKind, Text, Value};

/// What a document is to a program that runs mutate policies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// A `ClusterPolicy` or `Policy` of `kyverno.io`.
    Classic,
    /// A kind whose rules will be run one day, and are not yet.
    Planned(Text),
    /// A policy kind that mutates nothing, or a companion of one.
    OtherPolicy(Text),
    /// A kind of a group of policies that does not exist, and what was probably meant.
    Misspelt {
        /// The kind as written.
        kind: Text,
        /// The kind there is.
        nearest: &'static str,
    },
    /// No policy.
    NotAPolicy,
}

const PLANNED: &[(&str, &str)] = &[
    ("policies.kyverno.io", "MutatingPolicy"),
    ("policies.kyverno.io", "NamespacedMutatingPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
];

const OTHERS: &[(&str, &str)] = &[
    ("kyverno.io", "CleanupPolicy"),
    ("kyverno.io", "ClusterCleanupPolicy"),
    ("kyverno.io", "PolicyException"),
    ("policies.kyverno.io", "ValidatingPolicy"),
    ("policies.kyverno.io", "NamespacedValidatingPolicy"),
    ("policies.kyverno.io", "ImageValidatingPolicy"),
    ("policies.kyverno.io", "NamespacedImageValidatingPolicy"),
    ("policies.kyverno.io", "GeneratingPolicy"),
    ("policies.kyverno.io", "NamespacedGeneratingPolicy"),
    ("policies.kyverno.io", "DeletingPolicy"),
    ("policies.kyverno.io", "NamespacedDeletingPolicy"),
    ("policies.kyverno.io", "PolicyException"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
];

/// Tells policies from other documents, by group and kind.
///
/// A version that is not served does not make a policy something else: [`super::parse`] names it.
pub fn kind_of(document: &Value) -> DocumentKind {
    let Some(kind) = GroupVersionKind::of(document) else { return DocumentKind::NotAPolicy };
    let is = |known: &(&str, &str)| known.0 == &*kind.group && known.1 == &*kind.kind;
    if &*kind.group == "kyverno.io" && matches!(&*kind.kind, "ClusterPolicy" | "Policy") {
        DocumentKind::Classic
    } else if PLANNED.iter().any(is) {
        DocumentKind::Planned(kind.kind)
    } else if OTHERS.iter().any(is) {
        DocumentKind::OtherPolicy(kind.kind)
    } else {
        match misspelt(&kind) {
            Some(nearest) => DocumentKind::Misspelt { kind: kind.kind, nearest },
            None => DocumentKind::NotAPolicy,
        }
    }
}

/// The policy kind of the group that a kind is near to.
fn misspelt(kind: &GroupVersionKind) -> Option<&'static str> {
    let classic = [("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy")];
    let known = classic.iter().chain(PLANNED).chain(OTHERS);
    let of_group = known.filter(|known| known.0 == &*kind.group && known.0.ends_with("kyverno.io"));
    nearest(&kind.kind, of_group.map(|known| known.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_known_by_group_and_kind() {
        let kind = |api_version: &str, kind: &str| {
            kind_of(&Value::from_iter([
                ("apiVersion", Value::from(api_version)),
                ("kind", Value::from(kind)),
            ]))
        };
        assert_eq!(kind("kyverno.io/v1", "ClusterPolicy"), DocumentKind::Classic);
        assert_eq!(kind("kyverno.io/v2beta1", "Policy"), DocumentKind::Classic);
        assert_eq!(
            kind("kyverno.io/v1", "ClusterPolicies"),
            DocumentKind::Misspelt { kind: "ClusterPolicies".into(), nearest: "ClusterPolicy" }
        );
        assert_eq!(kind("kyverno.io/v2", "UpdateRequest"), DocumentKind::NotAPolicy);
        assert_eq!(kind("policy/v1", "Policy"), DocumentKind::NotAPolicy);
        assert_eq!(
            kind("policies.kyverno.io/v1", "MutatingPolicy"),
            DocumentKind::Planned("MutatingPolicy".into())
        );
        assert_eq!(
            kind("kyverno.io/v2", "PolicyException"),
            DocumentKind::OtherPolicy("PolicyException".into())
        );
        assert_eq!(kind("v1", "Pod"), DocumentKind::NotAPolicy);
        assert_eq!(kind_of(&Value::Null), DocumentKind::NotAPolicy);
    }
}
