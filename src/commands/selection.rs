//! A selection of rules and objects by patterns for their names.

use std::collections::BTreeSet;

use crate::pattern;
use crate::policy::names_rule;
use crate::render::RuleSources;
use crate::report::{ObjectReport, Outcome, PolicyReport, Totals};
use crate::value::{ObjectRef, Text};

use super::evaluate::Evaluated;

/// The rules and objects that are shown; all where there are no patterns.
#[derive(Debug)]
pub(super) struct Selection {
    /// Patterns `POLICY/RULE`, or `POLICY` for all its rules.
    pub(super) rules: Vec<String>,
    /// Patterns `KIND/NAMESPACE/NAME`, `KIND/NAME`, or `NAME` for any kind.
    pub(super) objects: Vec<String>,
    /// The policies and names of the rules that are shown.
    shown: BTreeSet<(Text, Text)>,
}

impl Selection {
    pub(super) const fn new(rules: Vec<String>, objects: Vec<String>) -> Self {
        Self { rules, objects, shown: BTreeSet::new() }
    }

    pub(super) fn set_rules(&mut self, sources: &RuleSources) {
        let shown = sources.iter().filter(|source| source.shown);
        self.shown = shown.map(|source| (source.policy.clone(), source.rule.clone())).collect();
    }

    /// Whether a rule is shown, by one of its names.
    pub(super) fn has_rule(&self, policy: &str, names: &[&Text]) -> bool {
        self.rules.is_empty()
            || self.rules.iter().any(|pattern| names.iter().any(|name| names_rule(pattern, policy, name)))
    }

    /// The patterns that fit no rule.
    pub(super) fn unknown_rules<'a>(&'a self, sources: &'a RuleSources) -> impl Iterator<Item = &'a String> {
        self.rules.iter().filter(|pattern| {
            !sources.iter().any(|source| {
                let rules = [Some(&source.rule), source.generated_from.as_ref()];
                rules.into_iter().flatten().any(|rule| names_rule(pattern, &source.policy, rule))
            })
        })
    }

    /// Removes the objects, policies and rules that are not shown, so that they are not counted and their errors do not
    /// decide the exit code.
    pub(super) fn narrow(&self, evaluated: &mut Evaluated) {
        if !self.objects.is_empty() {
            evaluated.objects.retain(|object| self.has_object(object.report.object.as_ref()));
            evaluated.without_kind = 0;
        }
        if !self.rules.is_empty() {
            evaluated.objects.iter_mut().for_each(|object| self.narrow_report(&mut object.report));
        }
    }

    fn narrow_report(&self, report: &mut ObjectReport) {
        let policies: BTreeSet<&Text> = self.shown.iter().map(|(policy, _)| policy).collect();
        let is_shown = |policy: &Text, rule: &Text| self.shown.contains(&(policy.clone(), rule.clone()));
        report.policies.retain(|policy| policies.contains(&policy.policy));
        let mut is_changed = false;
        for PolicyReport { policy, rules, .. } in &mut report.policies {
            // A failed rule discards what the others of its policy did.
            rules.retain(|rule| is_shown(policy, &rule.rule) || matches!(rule.outcome, Outcome::Error(_)));
            is_changed |= rules.iter().any(|rule| matches!(rule.outcome, Outcome::Patched { .. }))
                && !rules.iter().any(|rule| matches!(rule.outcome, Outcome::Error(_)));
        }
        if !is_changed {
            report.after = report.before.clone();
        }
        report.view.differences.retain(|difference| is_shown(&difference.policy, &difference.rule));
        report.order.retain(|order| order.policies.iter().any(|policy| policies.contains(policy)));
    }

    /// The error for patterns that fit no object.
    pub(super) fn unmatched(&self, tally: &Totals) -> Option<String> {
        (!self.objects.is_empty() && tally.objects == 0)
            .then(|| format!("--object {}: no object has this name", self.objects.join(", ")))
    }

    fn has_object(&self, object: Option<&ObjectRef>) -> bool {
        object.is_some_and(|object| {
            let is_kind =
                |kind: &str| pattern::matches(&kind.to_lowercase(), &object.kind.kind.to_lowercase());
            let is_name = |name: &str| pattern::matches(name, &object.name);
            let namespace = object.namespace.as_deref().unwrap_or_default();
            self.objects.iter().any(|pattern| match pattern.split('/').collect::<Vec<_>>()[..] {
                [kind, in_namespace, name] => {
                    is_kind(kind) && pattern::matches(in_namespace, namespace) && is_name(name)
                }
                [kind, name] => is_kind(kind) && is_name(name),
                _ => is_name(pattern),
            })
        })
    }
}
