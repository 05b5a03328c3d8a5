//! Classic policies: `ClusterPolicy` and `Policy` of `kyverno.io`.

mod api_call_paths;
mod autogen;
mod conditions;
mod context;
mod exception;
mod exceptions;
mod expressions;
mod field_checks;
mod filter;
mod findings;
mod load;
mod match_checks;

mod mutation;
mod nearest_variable;
mod overlay_labels;
mod paths;

mod rule;
mod schema;
mod selection;
mod strings;
mod subject;
mod variable_checks;
mod warnings;
mod written;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::value::GroupVersionKind;

use super::{
    FailurePolicy, IndexKey, KindKeys, Meta, Part, PolicyFamily, RulePaths, RuleSummary, WebhookConditions,
};

pub use autogen::ANNOTATION as AUTOGEN_ANNOTATION;
pub use context::{ContextEntry, ContextSource};
pub use exception::{Comparisons, PolicyException};
pub use exceptions::PolicyExceptions;
pub(super) use load::parse;

pub use expressions::{each_expression, is_variable_without_text};
pub use mutation::{
    Edit, ForeachEntry, LegacyMutation, LegacyPart, MutateExisting, Mutation, Order, Patch, Target,
};
pub use nearest_variable::nearest_variable;
pub use overlay_labels::labels_as_texts;
pub use rule::{Mismatch, Rule, other_namespace};
pub use selection::Selection;

/// How many rules of a policy may apply to one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyRules {
    /// All of them.
    #[default]
    All,
    /// The first that changes something.
    One,
}

/// A classic policy, compiled.
#[derive(Clone, Debug)]
pub struct ClassicPolicy {
    /// What policies of all families have. A `Policy` without a namespace is in `default`.
    pub meta: Meta,
    /// The mutate rules: those written, in order, then those generated for pod controllers.
    pub rules: Vec<Rule>,
    /// Rules that only Kyverno generates: never run, only noted as a divergence.
    pub controller_only_rules: Vec<Rule>,
    /// How many of the rules may apply to one object.
    pub apply_rules: ApplyRules,
    /// Whether mutate existing rules run when the policy is created or updated, unless they say otherwise.
    pub on_policy_update: bool,
    /// Why no rules are generated from its rules for Pods, if none are.
    pub no_autogen: Option<String>,
    /// What must be true for the API server to call Kyverno for the policy, which has webhooks of its own then.
    pub webhook_conditions: Option<Arc<WebhookConditions>>,
}

impl ClassicPolicy {
    /// Whether the first rule that changes an object is the last.
    pub fn applies_one(&self) -> bool {
        self.apply_rules == ApplyRules::One
    }

    /// Whether a rule changes the object that it selects, by the mutating webhook.
    pub fn has_standard_rules(&self) -> bool {
        self.rules.iter().any(|rule| rule.existing().is_none())
    }

    /// The rules of these parts that change the object that they select. The parts are `rules`, then
    /// `controller_only_rules`.
    pub fn standard_rules(&self, parts: &[usize]) -> impl Iterator<Item = &Rule> {
        parts.iter().filter_map(|part| self.rules.get(*part)).filter(|rule| rule.existing().is_none())
    }

    /// The rules of these parts that only Kyverno generates.
    pub fn controller_only(&self, parts: &[usize]) -> impl Iterator<Item = &Rule> {
        let beyond = parts.iter().filter_map(|part| part.checked_sub(self.rules.len()));
        beyond.filter_map(|part| self.controller_only_rules.get(part))
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().chain(&self.controller_only_rules)
    }

    /// Index keys of which one holds for each object that a report on a rule may be about; `None` for any object.
    fn index_keys<'p>(&'p self, part: usize, rule: &'p Rule) -> Option<Vec<IndexKey<'p>>> {
        // A condition may fail for any object of its kind, in all namespaces.
        if self.webhook_conditions.is_some() {
            return None;
        }
        if let Some(namespace) = &self.meta.namespace {
            return Some(vec![IndexKey::InNamespace(namespace)]);
        }
        // What is not known is reported for every object whose rule uses it.
        if part >= self.rules.len() || rule.uses_user_info() || rule.uses_namespace_labels() {
            return None;
        }
        if rule.existing().is_some() { Some(Vec::new()) } else { rule.index_keys() }
    }
}

impl PolicyFamily for ClassicPolicy {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn rules(&self) -> Vec<RuleSummary<'_>> {
        let rules = self.rules.iter().map(|rule| RuleSummary {
            name: &rule.name,
            source: rule.source_name(),
            is_generated: rule.generated_from.is_some(),
            pointer: Some(&rule.pointer),
            not_evaluated: rule.not_evaluated(),
        });
        rules.collect()
    }

    fn parts(&self) -> Vec<Part<'_>> {
        let parts = self.all_rules().enumerate().map(|(part, rule)| Part {
            kinds: rule.matching.only_kinds().map_or(KindKeys::Any, KindKeys::Kinds),
            keys: self.index_keys(part, rule),
        });
        parts.collect()
    }

    fn paths(&self, part: usize) -> Option<&RulePaths> {
        self.rules.get(part).map(Rule::paths)
    }

    fn may_change(&self, kind: &GroupVersionKind, (parent, subresource): (&GroupVersionKind, &str)) -> bool {
        let is_target = |existing: &MutateExisting| {
            existing.kind_selectors().iter().any(|selector| selector.matches(kind, "", true))
        };
        self.rules
            .iter()
            .any(|rule| rule.may_match(parent, subresource) || rule.existing().is_some_and(is_target))
    }

    fn uses_namespace_labels(&self) -> bool {
        self.all_rules().any(Rule::uses_namespace_labels)
    }

    fn needs_namespace_labels(
        &self,
        parts: &[usize],
        (kind, subresource): (&GroupVersionKind, &str),
        exceptions: &PolicyExceptions,
    ) -> bool {
        let name = self.meta.full_name();
        // Whatever rule they name: each of thousands may name thousands.
        let do_exceptions =
            exceptions.of_policy(&name).any(|one| one.needs_namespace_labels(kind, subresource));
        let mut rules =
            self.all_rules().enumerate().filter(|(part, _)| parts.contains(part)).map(|(_, rule)| rule);
        rules.any(|rule| {
            rule.needs_namespace_labels(kind, subresource)
                || do_exceptions && rule.may_match(kind, subresource)
        })
    }

    fn sees_all_requests(&self) -> Option<FailurePolicy> {
        let is_for_all =
            self.meta.namespace.is_none() && self.webhook_conditions.is_none() && self.has_standard_rules();
        is_for_all.then_some(self.meta.failure_policy)
    }

    fn has_targets(&self) -> bool {
        self.rules.iter().any(|rule| rule.existing().is_some())
    }
}
