//! The smallest family of policies, for tests: each sets one label on the objects of one resource.

use crate::decode::Decoder;
use crate::diagnostics::Code;
use crate::resources::plural;
use crate::semantics::Dialect;
use crate::value::{GroupVersionKind, Pointer, Text, Value};

use super::{Candidate, KindKeys, Meta, Part, Policy, PolicyError, PolicyFamily, RulePaths, RuleSummary};

/// Groups and kinds of its documents.
pub(super) const KINDS: &[(&str, &str)] = &[("test.kyv", "FixedLabelPolicy")];

/// A policy that sets one label on the objects of one resource.
#[derive(Clone, Debug)]
pub struct FixedLabelPolicy {
    meta: Meta,
    resource: Text,
    /// The label's value; the key is the name of the policy.
    pub(crate) value: Text,
    paths: Box<RulePaths>,
}

/// Reads a policy: `metadata.name`, `spec.resource` and `spec.value`.
pub(super) fn parse(document: &Value, _dialect: Dialect) -> Result<Policy, Vec<PolicyError>> {
    let mut decoder = Decoder::default();
    let unknown = |name: &str| format!("unknown field `{name}`");
    decoder.fields(document, &Pointer::ROOT, &["apiVersion", "kind", "metadata", "spec"], unknown);
    if document.get("apiVersion") != Some(&"test.kyv/v1".into()) {
        decoder.error(&Pointer::ROOT.key("apiVersion"), "expected `test.kyv/v1`");
    }
    let [metadata, spec] = ["metadata", "spec"].map(|name| {
        let member = decoder.member(document, &Pointer::ROOT, name);
        member.unwrap_or((Pointer::ROOT.key(name), &Value::Null))
    });
    if !spec.1.is_null() {
        decoder.fields(spec.1, &spec.0, &["resource", "value"], unknown);
    }
    let name = decoder.required_text(metadata.1, &metadata.0, "name").cloned().unwrap_or_default();
    let resource = decoder.required_text(spec.1, &spec.0, "resource").cloned().unwrap_or_default();
    let value = decoder.required_text(spec.1, &spec.0, "value").cloned().unwrap_or_default();
    let mut paths = Box::<RulePaths>::default();
    paths.writes.insert_keys(&["metadata", "labels", &name]);
    let meta = Meta::new("FixedLabelPolicy", name);
    let policy = decoder.finish(FixedLabelPolicy { meta, resource, value, paths }).map(Policy::FixedLabel);
    policy.map_err(|errors| {
        errors
            .into_iter()
            .map(|error| PolicyError::new(Code::InvalidField, error.pointer, error.message))
            .collect()
    })
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
        vec![RuleSummary { name, source: name, is_generated: false, pointer: None, not_evaluated: None }]
    }

    fn parts(&self) -> Vec<Part<'_>> {
        vec![Part { kinds: KindKeys::Resources(vec![&self.resource]), keys: None }]
    }

    fn paths(&self, _part: usize) -> Option<&RulePaths> {
        Some(&self.paths)
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
        let faulty = r#"{"apiVersion":"test.kyv/v2","kind":"FixedLabelPolicy","metadata":{"name":"a"},
            "spec":{"resource":"pods","label":"x"}}"#;
        let errors = parse(&Value::from_json(faulty).unwrap(), Semantics::Documented).unwrap_err();
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let expected = [
            "apiVersion: expected `test.kyv/v1`",
            "spec: value is missing",
            "spec.label: unknown field `label`",
        ];
        assert_eq!(errors, expected);
    }
}
