//! Rules, compiled.

use std::sync::Arc;

use crate::pattern::Conditions;
use crate::semantics::{DivergenceSet, DivergenceTracker, LegacyMode};
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::variables::{Template, broken_references};

use super::misses::other_namespace;
use super::mutation::Reader;
use super::selection::Selection;
use super::{ContextEntry, Edit, LegacyMutation, MutateExisting, Mutation, Patch, conditions, context};
use crate::policy::error::PolicyError;
use crate::policy::index::IndexKey;
use crate::policy::{Candidate, NotEvaluated, Note, Operation, Why};

/// A mutate rule, as written or generated for pod controllers.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: Text,
    /// The name of the rule it was generated from.
    pub generated_from: Option<Text>,
    /// The place in the policy of the rule as written, or of the one it was generated from.
    pub pointer: Pointer,
    /// The objects it takes.
    pub matching: Selection,
    /// The objects it leaves out of these.
    pub exclude: Option<Selection>,
    /// What must hold besides.
    pub preconditions: Option<Conditions<Template>>,
    /// What it loads before it is evaluated.
    pub context: Vec<Arc<ContextEntry>>,
    /// What it does.
    pub mutation: Mutation,
    /// The whole rule as written or generated, labels and annotations made into texts.
    pub raw: Value,
    /// The divergences that the rule itself reaches, whatever the object.
    pub divergences: DivergenceSet,
    /// The namespace of the policy, if it has one.
    namespace: Option<Text>,
}

/// Why a rule does not take an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The reasons, in Kyverno's words.
    pub reasons: Vec<String>,
    /// The same with the places in the rule, what stands there and what the object has instead.
    pub details: Vec<String>,
}

/// What the rules of one policy share.
pub(super) struct Source<'a> {
    pub(super) namespace: Option<&'a Text>,
    pub(super) pointer: &'a Pointer,
    pub(super) generated_from: Option<&'a Text>,
    pub(super) legacy: LegacyMode,
}

impl Rule {
    /// Compiles a mutate rule; what is wrong is left out and reported.
    pub(super) fn read(
        rule: &Value,
        source: &Source<'_>,
        tracker: &DivergenceTracker,
        errors: &mut Vec<PolicyError>,
        notes: &mut Vec<Note>,
    ) -> Option<Self> {
        let at = source.pointer;
        // The engine of the early syntax knows no references.
        let is_legacy = ["overlay", "patches"].iter().any(|field| rule.path(&["mutate", field]).is_some());
        if !is_legacy {
            let references = broken_references(rule).into_iter();
            errors.extend(
                references.map(|(below, error)| PolicyError::new(at.join(&below), error.to_string())),
            );
        }
        let mutation =
            Reader { rule, at, tracker, legacy: source.legacy, errors: &mut *errors, notes }.read();
        let semantics = tracker.semantics();
        let preconditions =
            conditions::read(rule, &Pointer::ROOT.key("preconditions"), at, semantics, errors);
        context::check(rule.get("context"), &at.key("context"), semantics, errors);
        let block = |name| rule.get(name).filter(|block| !block.is_null());
        Some(Self {
            name: rule.get("name").and_then(Value::as_text).cloned().unwrap_or_default(),
            generated_from: source.generated_from.cloned(),
            pointer: at.clone(),
            matching: Selection::read(block("match").unwrap_or(&Value::Null)),
            exclude: block("exclude").map(Selection::read).filter(|exclude| !exclude.is_empty()),
            preconditions,
            context: context::read(rule, &Pointer::ROOT.key("context"), semantics),
            mutation: mutation?,
            raw: rule.clone(),
            divergences: tracker.reached(),
            namespace: source.namespace.cloned(),
        })
    }

    /// The name of the rule as the policy writes it.
    pub fn source_name(&self) -> &Text {
        self.generated_from.as_ref().unwrap_or(&self.name)
    }

    /// Whether the rule takes an object.
    pub fn selects(&self, candidate: &Candidate<'_>) -> bool {
        !is_empty(candidate.object)
            && self.namespace.as_deref().is_none_or(|namespace| namespace == candidate.namespace)
            && self.matching.includes(candidate, None)
            && self.exclude.as_ref().is_none_or(|exclude| exclude.excludes(candidate).is_none())
    }

    /// Index keys of which one holds of every object that the rule takes; `None` where none is known.
    pub(super) fn index_keys(&self) -> Option<Vec<IndexKey<'_>>> {
        self.matching.index_keys()
    }

    /// Whether a filter of `exclude` without content takes back all that the rule makes a cluster send to Kyverno.
    pub fn asks_for_nothing(&self) -> bool {
        self.exclude.as_ref().is_some_and(Selection::has_blank)
    }

    /// Whether the rule by itself makes a cluster send requests such as this one to Kyverno.
    pub fn asks_for(&self, candidate: &Candidate<'_>) -> bool {
        self.matching.asks_for(candidate) && !self.asks_for_nothing()
    }

    /// Why the rule does not take an object; `None` if it does.
    pub fn mismatch(&self, candidate: &Candidate<'_>) -> Option<Mismatch> {
        let one = |reason: &str, details| Some(Mismatch { reasons: vec![reason.to_owned()], details });
        if is_empty(candidate.object) {
            return one("resource is empty", vec!["the object is empty".to_owned()]);
        }
        if let Some(namespace) =
            self.namespace.as_deref().filter(|namespace| *namespace != candidate.namespace)
        {
            return one(
                "policy and resource namespaces mismatch",
                vec![other_namespace(namespace, candidate)],
            );
        }
        let mut reasons = Vec::new();
        if !self.matching.includes(candidate, Some(&mut reasons)) {
            return Some(Mismatch { reasons, details: self.matching.misses(candidate) });
        }
        let exclude = self.exclude.as_ref()?;
        one(exclude.excludes(candidate)?, exclude.hits(candidate))
    }

    /// Whether the rule may ask for the labels of an object's namespace.
    pub fn uses_namespace_labels(&self) -> bool {
        self.matching.uses_namespace_labels()
            || self.exclude.as_ref().is_some_and(Selection::uses_namespace_labels)
    }

    /// Whether the rule may ask for the labels of the namespace of objects of this kind.
    pub fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        let needs = |block: &Selection| block.needs_namespace_labels(kind, subresource);
        (needs(&self.matching) || self.exclude.as_ref().is_some_and(needs))
            && self.may_take(kind, subresource)
    }

    /// Whether the rule can take objects of this kind.
    pub fn may_take(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.matching.may_take(kind, subresource)
    }

    /// Whether the rule selects objects by their labels or annotations.
    pub fn uses_labels(&self) -> bool {
        self.matching.uses_labels() || self.exclude.as_ref().is_some_and(Selection::uses_labels)
    }

    /// Whether the rule may ask who sends the request.
    pub fn uses_user_info(&self) -> bool {
        self.matching.uses_user_info() || self.exclude.as_ref().is_some_and(Selection::uses_user_info)
    }

    /// What the rule does to other objects than the one it takes, if that is its work.
    pub const fn existing(&self) -> Option<&MutateExisting> {
        if let Mutation::MutateExisting(existing) = &self.mutation { Some(existing) } else { None }
    }

    /// Whether some filter of `match` names this operation.
    pub fn names_operation(&self, operation: Operation) -> bool {
        self.matching.names_operation(operation)
    }

    /// How the rule changes the object it takes, or each of its targets.
    pub const fn edit(&self) -> &Edit {
        match &self.mutation {
            Mutation::Standard(edit) => edit,
            Mutation::MutateExisting(existing) => &existing.body,
        }
    }

    /// What of the rule this version does not evaluate; the rule is then not run at all.
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

fn is_empty(object: &Value) -> bool {
    object.as_object().is_none_or(|members| members.is_empty())
}
