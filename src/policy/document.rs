//! Which documents are policies, and which family reads them.

use crate::diagnostics::Code;
use crate::pattern::nearest;
use crate::semantics::Dialect;
use crate::value::{GroupVersionKind, Pointer, Text, Value};

use super::error::in_document_order;
use super::{Policy, PolicyError, cel, classic};

/// The bytes of a policy as JSON: the limit of API servers for the body of a request, which no option changes.
const MAX_BYTES: usize = 3 * 1024 * 1024;

/// The documents of a family.
struct Documents {
    /// Groups and kinds.
    kinds: &'static [(&'static str, &'static str)],
    parse: fn(&Value, Dialect) -> Result<Policy, Vec<PolicyError>>,
}

const CLASSIC: Documents = Documents {
    kinds: &[("kyverno.io", "ClusterPolicy"), ("kyverno.io", "Policy")],
    parse: |document, dialect| classic::parse(document, dialect).map(Policy::Classic),
};

/// Every family.
const FAMILIES: &[Documents] = &[
    CLASSIC,
    Documents { kinds: cel::KINDS, parse: cel::parse },
    #[cfg(test)]
    Documents { kinds: super::fixed_label::KINDS, parse: super::fixed_label::parse },
];

/// What kind of policy a document is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// A policy of a family that is evaluated: [`parse`] reads it.
    Policy,
    /// A `MutatingAdmissionPolicyBinding`: [`super::Binding::parse`] reads it.
    Binding,
    /// A policy kind that mutates nothing, or a companion of one.
    OtherPolicy(Text),
    /// An unknown kind in a group of policies.
    Misspelt {
        /// The kind as written.
        kind: Text,
        /// The known kind that was probably meant.
        nearest: &'static str,
    },
    /// No policy.
    NotAPolicy,
}

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

/// The kind of policy by group and kind. [`parse`] reports an unknown version.
pub fn kind_of(document: &Value) -> DocumentKind {
    let Some(kind) = GroupVersionKind::of(document) else { return DocumentKind::NotAPolicy };
    let is = |known: &(&str, &str)| is_kind(known, &kind);
    if family_of(&kind).is_some() {
        DocumentKind::Policy
    } else if is(&cel::BINDING) {
        DocumentKind::Binding
    } else if OTHERS.iter().any(is) {
        DocumentKind::OtherPolicy(kind.kind)
    } else {
        match misspelt(&kind) {
            Some(nearest) => DocumentKind::Misspelt { kind: kind.kind, nearest },
            None => DocumentKind::NotAPolicy,
        }
    }
}

/// Reads a policy strictly and compiles it. A document of no family is read as a classic policy, whose errors say what is
/// wrong.
///
/// # Errors
///
/// That it is larger than any API server takes; else everything that is wrong with it, in the order of the document: unknown and ill-typed fields, and what
/// the API server or Kyverno refuses when a policy is installed, unless these semantics accept it.
pub fn parse(document: &Value, dialect: impl Into<Dialect>) -> Result<Policy, Vec<PolicyError>> {
    if document.weight() > MAX_BYTES {
        let message = "the policy is larger than 3 MiB, which no API server takes";
        return Err(vec![PolicyError::new(Code::InputLimit, Pointer::ROOT, message)]);
    }
    let kind = GroupVersionKind::of(document);
    let family = kind.as_ref().and_then(family_of).unwrap_or(&CLASSIC);
    (family.parse)(document, dialect.into()).map_err(|mut errors| {
        in_document_order(document, &mut errors);
        errors
    })
}

fn family_of(kind: &GroupVersionKind) -> Option<&'static Documents> {
    FAMILIES.iter().find(|family| family.kinds.iter().any(|known| is_kind(known, kind)))
}

fn is_kind((group, name): &(&str, &str), kind: &GroupVersionKind) -> bool {
    *group == &*kind.group && *name == &*kind.kind
}

/// The policy kind of the group that a kind is near to.
fn misspelt(kind: &GroupVersionKind) -> Option<&'static str> {
    let evaluated = FAMILIES.iter().flat_map(|family| family.kinds);
    let known = evaluated.chain([&cel::BINDING]).chain(OTHERS);
    let of_group = known.filter(|known| known.0 == &*kind.group);
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
        assert_eq!(kind("kyverno.io/v1", "ClusterPolicy"), DocumentKind::Policy);
        assert_eq!(kind("kyverno.io/v2beta1", "Policy"), DocumentKind::Policy);
        assert_eq!(
            kind("kyverno.io/v1", "ClusterPolicies"),
            DocumentKind::Misspelt { kind: "ClusterPolicies".into(), nearest: "ClusterPolicy" }
        );
        assert_eq!(kind("kyverno.io/v2", "UpdateRequest"), DocumentKind::NotAPolicy);
        assert_eq!(kind("policy/v1", "Policy"), DocumentKind::NotAPolicy);
        assert_eq!(kind("policies.kyverno.io/v1", "MutatingPolicy"), DocumentKind::Policy);
        assert_eq!(
            kind("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding"),
            DocumentKind::Binding
        );
        assert_eq!(
            kind("kyverno.io/v2", "PolicyException"),
            DocumentKind::OtherPolicy("PolicyException".into())
        );
        assert_eq!(kind("v1", "Pod"), DocumentKind::NotAPolicy);
        assert_eq!(kind_of(&Value::Null), DocumentKind::NotAPolicy);
    }
}
