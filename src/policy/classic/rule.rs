//! Rules, compiled.

use std::sync::{Arc, OnceLock};

use crate::diagnostics::Code;
use crate::pattern::Conditions;
use crate::semantics::{DivergenceSet, DivergenceTracker, LegacyMode};
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::variables::{SubstitutionError, Template, broken_references};

use super::filter::namespace_of;
use super::findings::Findings;
use super::mutation::Reader;
use super::selection::Selection;
use super::{ContextEntry, Edit, LegacyMutation, MutateExisting, Mutation, Patch, conditions, context};
use crate::policy::fields::{given, text};
use crate::policy::index::IndexKey;
use crate::policy::{Candidate, NotEvaluated, Operation, RulePaths, WebhookConditions, Why};

/// A mutate rule, as written or generated for pod controllers.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: Text,
    /// The name of the rule it was generated from.
    pub generated_from: Option<Text>,
    /// The place in the policy of the rule as written, or of the one it was generated from.
    pub pointer: Pointer,
    /// The objects it selects.
    pub matching: Selection,
    /// The objects it excludes.
    pub exclude: Option<Selection>,
    /// Its `preconditions`.
    pub preconditions: Option<Conditions<Template>>,
    /// Its `context`.
    pub context: Vec<Arc<ContextEntry>>,
    /// Its `mutate`.
    pub mutation: Mutation,
    /// The whole rule as written or generated, labels and annotations made into strings.
    pub raw: Value,
    /// The divergences that the rule itself reaches, whatever the object.
    pub divergences: DivergenceSet,
    /// The namespace of the policy, if it has one.
    namespace: Option<Text>,
    /// The conditions of the policy's webhooks.
    pub(super) webhook_conditions: Option<Arc<WebhookConditions>>,
    /// Filled by [`Rule::paths`].
    pub(super) paths: OnceLock<RulePaths>,
}

/// Why a rule does not select an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The reasons, in the words of Kyverno.
    pub reasons: Vec<String>,
    /// The reasons with the places in the rule and the values that it requires and the object has.
    pub details: Vec<String>,
}

/// Where a rule comes from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The namespace of the policy.
    pub(super) namespace: Option<&'a Text>,
    pub(super) pointer: &'a Pointer,
    pub(super) generated_from: Option<&'a Text>,
    /// The edit of the rule it was generated from, which reached the same divergences.
    pub(super) written: Option<&'a Edit>,
    pub(super) legacy: LegacyMode,
    /// The conditions of the policy's webhooks.
    pub(super) conditions: Option<&'a Arc<WebhookConditions>>,
}

impl Rule {
    /// Compiles a mutate rule without the fields that are wrong.
    pub(super) fn read(
        rule: &Value,
        source: &Source<'_>,
        tracker: &DivergenceTracker,
        findings: &mut Findings,
    ) -> Option<Self> {
        let at = source.pointer;
        // The legacy syntax has no references.
        let is_legacy = ["overlay", "patches"].iter().any(|field| rule.path(&["mutate", field]).is_some());
        if !is_legacy {
            for (below, error) in broken_references(rule) {
                // The place says where it is.
                let message = match &error {
                    SubstitutionError::Reference { reference, cause, .. } => {
                        format!("`{reference}`: {cause}")
                    }
                    other => other.to_string(),
                };
                findings.error(Code::UnknownVariable, at.join(&below), message);
            }
        }
        let Source { legacy, written, .. } = *source;
        let mutation = Reader { rule, at, tracker, legacy, written, findings: &mut *findings }.read();
        let semantics = tracker.semantics();
        let root = Pointer::ROOT;
        let preconditions = conditions::read(rule, &root.key("preconditions"), at, semantics, findings);
        context::check(rule.get("context"), &at.key("context"), findings);
        Some(Self {
            name: text(rule, "name"),
            generated_from: source.generated_from.cloned(),
            pointer: at.clone(),
            matching: Selection::read(given(rule, "match").unwrap_or(&Value::Null)),
            exclude: given(rule, "exclude").map(Selection::read).filter(|exclude| !exclude.is_empty()),
            preconditions,
            context: context::read(rule, &root.key("context"), semantics),
            mutation: mutation?,
            raw: rule.clone(),
            divergences: tracker.reached(),
            namespace: source.namespace.cloned(),
            webhook_conditions: source.conditions.cloned(),
            paths: OnceLock::new(),
        })
    }

    /// The name of the rule as the policy writes it.
    pub fn source_name(&self) -> &Text {
        self.generated_from.as_ref().unwrap_or(&self.name)
    }

    /// Whether the rule selects an object.
    pub fn selects(&self, candidate: &Candidate<'_>) -> bool {
        !is_empty(candidate.object)
            && self.namespace.as_deref().is_none_or(|namespace| namespace == candidate.namespace)
            && self.matching.includes(candidate)
            && self.exclude.as_ref().is_none_or(|exclude| exclude.excludes(candidate).is_none())
    }

    /// Index keys of which one holds for every object that the rule selects; `None` if there are none.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        self.matching.index_keys()
    }

    /// Whether a filter of `exclude` without content removes the rule from the webhook that Kyverno registers.
    pub fn has_no_webhook(&self) -> bool {
        self.exclude.as_ref().is_some_and(Selection::has_blank)
    }

    /// Whether the webhook that Kyverno registers for this rule is for requests like this one.
    pub fn is_in_webhook(&self, candidate: &Candidate<'_>) -> bool {
        self.matching.is_in_webhook(candidate) && !self.has_no_webhook()
    }

    /// Why the rule does not select an object; `None` if it does.
    pub fn mismatch(&self, candidate: &Candidate<'_>) -> Option<Mismatch> {
        let one = |reason: &str, details| Some(Mismatch { reasons: vec![reason.to_owned()], details });
        if is_empty(candidate.object) {
            return one("resource is empty", vec!["the object is empty".to_owned()]);
        }
        if let Some(namespace) = self.namespace.as_deref().filter(|own| *own != candidate.namespace) {
            let details = vec![other_namespace(namespace, candidate)];
            return one("policy and resource namespaces mismatch", details);
        }
        if !self.matching.includes(candidate) {
            let (reasons, details) =
                (self.matching.mismatches(candidate), self.matching.mismatch_details(candidate));
            return Some(Mismatch { reasons, details });
        }
        let exclude = self.exclude.as_ref()?;
        one(exclude.excludes(candidate)?, exclude.exclusions(candidate))
    }

    /// Whether `match` or `exclude` has a property.
    fn any_block(&self, has: impl Fn(&Selection) -> bool) -> bool {
        has(&self.matching) || self.exclude.as_ref().is_some_and(has)
    }

    /// Whether the labels of an object's namespace may decide.
    pub fn uses_namespace_labels(&self) -> bool {
        self.any_block(Selection::uses_namespace_labels)
    }

    /// Whether the labels of their namespace may decide for objects of this kind.
    pub fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.any_block(|block| block.needs_namespace_labels(kind, subresource))
            && self.may_match(kind, subresource)
    }

    /// Whether the rule can select objects of this kind.
    pub fn may_match(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.matching.may_match(kind, subresource)
    }

    /// Whether the labels or annotations of an object may decide.
    pub fn uses_labels(&self) -> bool {
        self.any_block(Selection::uses_labels)
    }

    /// Whether the user who sends the request may decide.
    pub fn uses_user_info(&self) -> bool {
        self.any_block(Selection::uses_user_info)
    }

    /// Its targets, if it is a mutate existing rule.
    pub const fn existing(&self) -> Option<&MutateExisting> {
        if let Mutation::MutateExisting(existing) = &self.mutation { Some(existing) } else { None }
    }

    /// Whether a filter of `match` names this operation.
    pub fn names_operation(&self, operation: Operation) -> bool {
        self.matching.names_operation(operation)
    }

    /// How the rule changes the object, or each of its targets.
    pub const fn edit(&self) -> &Edit {
        match &self.mutation {
            Mutation::Standard(edit) => edit,
            Mutation::MutateExisting(existing) => &existing.body,
        }
    }

    /// Why the rule does not run, if it does not.
    pub const fn not_evaluated(&self) -> Option<Why> {
        match self.edit() {
            Edit::Patch(Patch::Legacy(LegacyMutation::Refused)) => Some(Why::LegacySyntax),
            Edit::Patch(_) | Edit::Foreach(_) => None,
        }
    }

    pub(super) fn as_not_evaluated(&self) -> Option<NotEvaluated> {
        let why = self.not_evaluated()?;
        Some(NotEvaluated { rule: Some(self.name.clone()), pointer: self.pointer.clone(), why })
    }
}

/// Why a policy of one namespace does not select an object of another.
pub fn other_namespace(policy: &str, candidate: &Candidate<'_>) -> String {
    format!("the policy is for namespace `{policy}`, and {}", namespace_of(candidate))
}

fn is_empty(object: &Value) -> bool {
    object.as_object().is_none_or(|members| members.is_empty())
}
