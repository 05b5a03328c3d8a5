//! The smallest family of policies, for tests: each sets one label on the objects of one resource.

use crate::resources::plural;
use crate::semantics::Dialect;
use crate::value::{GroupVersionKind, Pointer, Text, Value};

use super::{Candidate, KindKeys, Meta, Part, Policy, PolicyError, PolicyFamily, RuleSummary};

/// Groups and kinds of its documents.
pub(super) const KINDS: &[(&str, &str)] = &[("test.kyv", "FixedLabelPolicy")];

/// A policy that sets one label on the objects of one resource.
#[derive(Clone, Debug)]
pub struct FixedLabelPolicy {
    meta: Meta,
    resource: Text,
    /// The label's value; the key is the name of the policy.
    pub(crate) value: Text,
}

/// Reads a policy: `metadata.name`, `spec.resource` and `spec.value`.
pub(super) fn parse(document: &Value, _dialect: Dialect) -> Result<Policy, Vec<PolicyError>> {
    let text = |parent: &str, name: &str| {
        let found = document.path(&[parent, name]).and_then(Value::as_text).cloned();
        found.ok_or_else(|| vec![PolicyError::new(Pointer::ROOT.key(parent).key(name), "expected a string")])
    };
    let meta = Meta::new("FixedLabelPolicy", text("metadata", "name")?);
    let (resource, value) = (text("spec", "resource")?, text("spec", "value")?);
    Ok(Policy::FixedLabel(FixedLabelPolicy { meta, resource, value }))
}

impl FixedLabelPolicy {
    /// Whether the policy selects an object.
    pub(crate) fn selects(&self, candidate: &Candidate<'_>) -> bool {
        candidate.subresource.is_empty() && *candidate.resource == *self.resource
    }
}

impl PolicyFamily for FixedLabelPolicy {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn rules(&self) -> Vec<RuleSummary<'_>> {
        let name = &self.meta.name;
        vec![RuleSummary { name, source: name, is_generated: false, not_evaluated: None }]
    }

    fn parts(&self) -> Vec<Part<'_>> {
        vec![Part { kinds: KindKeys::Resources(vec![&self.resource]), keys: None }]
    }

    fn may_change(&self, _kind: &GroupVersionKind, (kind, subresource): (&GroupVersionKind, &str)) -> bool {
        subresource.is_empty() && *plural(&kind.group, &kind.kind) == *self.resource
    }
}

#[cfg(test)]
mod tests {
    use crate::policy::{DocumentKind, PolicySet, kind_of, parse};
    use crate::semantics::Semantics;
    use crate::value::Value;

    #[test]
    fn a_family_is_read_and_found_by_resource() {
        let document = r#"{"apiVersion":"test.kyv/v1","kind":"FixedLabelPolicy","metadata":{"name":"team"},
            "spec":{"resource":"configmaps","value":"a"}}"#;
        let document = Value::from_json(document).unwrap();
        assert_eq!(kind_of(&document), DocumentKind::Policy);
        let set = PolicySet::new(vec![parse(&document, Semantics::Documented).unwrap()]);
        let found = |kind, resource| set.of_kind(kind, resource).all().count();
        assert_eq!((found("ConfigMap", "configmaps"), found("Secret", "secrets")), (1, 0));
        assert!(set.policies()[0].as_classic().is_none());
        let faulty = Value::from_json(
            r#"{"apiVersion":"test.kyv/v1","kind":"FixedLabelPolicy","metadata":{"name":"a"}}"#,
        );
        let errors = parse(&faulty.unwrap(), Semantics::Documented).unwrap_err();
        assert_eq!(errors[0].to_string(), "spec.resource: expected a string");
    }
}
