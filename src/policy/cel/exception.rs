//! `PolicyException` of `policies.kyverno.io`.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::cel::{Env, Type};
use crate::diagnostics::Code;
use crate::policy::error::in_document_order;
use crate::policy::fields::{given, list, string, text, texts};
use crate::policy::{Comparisons, Policy, PolicyError, nearest};
use crate::value::{Pointer, Text, Value};

use super::findings::Findings;
use super::{CelPolicyKind, Expression, schema};

/// The kinds of policies from which there are exceptions of the group of CEL policies.
const KINDS: &[&str] = &[
    "DeletingPolicy",
    "GeneratingPolicy",
    "ImageValidatingPolicy",
    "MutatingPolicy",
    "NamespacedDeletingPolicy",
    "NamespacedGeneratingPolicy",
    "NamespacedImageValidatingPolicy",
    "NamespacedMutatingPolicy",
    "NamespacedValidatingPolicy",
    "ValidatingPolicy",
];

/// An exception from CEL policies.
#[derive(Debug)]
pub struct CelException {
    /// `NAMESPACE/NAME`.
    pub name: Text,
    /// Kinds and names of the policies.
    pub refs: Vec<(Text, Text)>,
    /// The variables of its expressions.
    pub env: Env,
    /// What must be true.
    pub conditions: Vec<Expression>,
    /// Images for `exceptions.allowedImages`. With some, or allowed values, nothing is exempt.
    pub images: Vec<Text>,
    /// Values for `exceptions.allowedValues`.
    pub allowed_values: Vec<Text>,
    /// Whether reports have the exempt object as passed, not as skipped.
    pub reports_pass: bool,
    /// When it ends to count.
    pub expires_at: Option<Timestamp>,
}

impl CelException {
    /// Reads an exception strictly. Its conditions are compiled if it names a policy that mutates.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse(document: &Value) -> Result<Self, Vec<PolicyError>> {
        let mut findings = Findings::of(document)?;
        schema::check_exception(document, &mut findings.errors);
        let spec = document.get("spec").unwrap_or(&Value::Null);
        let at = Pointer::ROOT.key("spec");
        let refs: Vec<_> =
            list(spec, "policyRefs").iter().map(|one| (text(one, "kind"), text(one, "name"))).collect();
        if refs.is_empty() && given(spec, "policyRefs").is_some() {
            findings.missing(at.key("policyRefs"), "must specify at least one policy ref");
        }
        let env = CelPolicyKind::MutatingPolicy.env();
        let is_for_mutation = refs.iter().any(|(kind, _)| is_of_mutation(kind));
        let read = |(index, condition): (usize, &Value)| {
            let pointer = at.key("matchConditions").index(index).key("expression");
            let program = findings.compile(&env, &pointer, condition.get("expression")?.as_str()?)?;
            if *program.output() != Type::Bool {
                let message = format!("must evaluate to bool but got {}", program.output());
                findings.error(Code::CelRefused, pointer.clone(), message);
            }
            Some(Expression { name: text(condition, "name"), pointer, program })
        };
        let conditions = list(spec, "matchConditions").iter().enumerate().filter(|_| is_for_mutation);
        let conditions = conditions.filter_map(read).collect();
        let expires_at = given(spec, "expiresAt").and_then(Value::as_str).map(str::parse::<Timestamp>);
        if let Some(Err(_)) = expires_at {
            findings.invalid(at.key("expiresAt"), "expected a time such as `2030-01-31T00:00:00Z`");
        }
        if !findings.errors.is_empty() {
            in_document_order(document, &mut findings.errors);
            return Err(findings.errors);
        }
        let metadata = document.get("metadata").unwrap_or(&Value::Null);
        let (namespace, name) = (string(metadata, "namespace"), string(metadata, "name"));
        Ok(Self {
            name: if namespace.is_empty() { name.into() } else { format!("{namespace}/{name}").into() },
            refs,
            env,
            conditions,
            images: texts(spec.get("images")),
            allowed_values: texts(spec.get("allowedValues")),
            reports_pass: string(spec, "reportResult") == "pass",
            expires_at: expires_at.and_then(Result::ok),
        })
    }

    /// Whether it names a policy that mutates, whether or not it exists.
    pub fn is_for_mutation(&self) -> bool {
        self.refs.iter().any(|(kind, _)| is_of_mutation(kind))
    }

    /// The policies that mutate, that it names and that do not exist, or are of another kind: a line for each, with what
    /// is meant.
    pub fn unmatched_names(&self, policies: &[Policy], comparisons: &mut Comparisons) -> Vec<String> {
        let of_kind = |kind: &str| -> Vec<&str> {
            let of_kind = policies.iter().map(Policy::meta).filter(|meta| meta.kind == kind);
            of_kind.map(|meta| &*meta.name).collect()
        };
        let unmatched =
            self.refs.iter().filter(|(kind, _)| is_of_mutation(kind)).filter_map(|(kind, name)| {
                if !comparisons.allow(policies.len() * 64) {
                    return None;
                }
                let names = of_kind(kind);
                let meant =
                    nearest(name, names.iter().copied()).map(|meant| format!(", did you mean `{meant}`?"));
                (!names.contains(&&**name))
                    .then(|| format!("there is no {kind} `{name}`{}", meant.unwrap_or_default()))
            });
        let mut lines: Vec<String> = unmatched.collect();
        let of_other_kinds = self.refs.iter().filter(|(kind, _)| !KINDS.contains(&&**kind));
        let misplaced = of_other_kinds.filter_map(|(kind, name)| {
            if !comparisons.allow(policies.len()) {
                return None;
            }
            let mut mutating = policies.iter().map(Policy::meta).filter(|meta| is_of_mutation(meta.kind));
            let meant = mutating.find(|meta| meta.name == *name)?.kind;
            Some(format!("it has no effect on a {kind}, did you mean the {meant} `{name}`?"))
        });
        lines.extend(misplaced);
        lines
    }

    /// Whether it exempts nothing, but gives images or values to expressions.
    pub const fn is_partial(&self) -> bool {
        !self.images.is_empty() || !self.allowed_values.is_empty()
    }
}

fn is_of_mutation(kind: &str) -> bool {
    [CelPolicyKind::MutatingPolicy, CelPolicyKind::NamespacedMutatingPolicy]
        .iter()
        .any(|one| one.name() == kind)
}

/// The exceptions of a run, found by policy.
#[derive(Clone, Debug, Default)]
pub struct CelExceptions {
    exceptions: Vec<Arc<CelException>>,
    by_policy: BTreeMap<(Text, Text), Vec<usize>>,
}

impl CelExceptions {
    /// Sorts exceptions by name, and indexes them.
    pub fn new(mut exceptions: Vec<CelException>) -> Self {
        exceptions.sort_by(|a, b| a.name.cmp(&b.name));
        let mut by_policy: BTreeMap<(Text, Text), Vec<usize>> = BTreeMap::new();
        for (index, exception) in exceptions.iter().enumerate() {
            for policy in &exception.refs {
                let places = by_policy.entry(policy.clone()).or_default();
                // An exception may name a policy several times.
                if places.last() != Some(&index) {
                    places.push(index);
                }
            }
        }
        Self { exceptions: exceptions.into_iter().map(Arc::new).collect(), by_policy }
    }

    /// The exceptions, sorted by name.
    pub fn all(&self) -> impl Iterator<Item = &CelException> {
        self.exceptions.iter().map(|exception| &**exception)
    }

    /// The exceptions from a policy, by its kind and its name without the namespace.
    pub fn of(&self, kind: CelPolicyKind, policy: &Text) -> impl Iterator<Item = &CelException> {
        let places = self.by_policy.get(&(Text::from(kind.name()), policy.clone()));
        places
            .into_iter()
            .flatten()
            .filter_map(|index| self.exceptions.get(*index).map(|exception| &**exception))
    }
}
