//! A selection of rules and objects by patterns for their names.

use std::collections::BTreeSet;

use crate::pattern;
use crate::policy::names_rule;
use crate::render::RuleSources;
use crate::report::Totals;
use crate::value::{ObjectRef, Text};

use super::evaluate::Evaluated;

/// The rules and objects that are shown; all where there are no patterns.
#[derive(Debug)]
pub(super) struct Selection {
    /// Patterns `POLICY/RULE`, or `POLICY` for all its rules.
    pub(super) rules: Vec<String>,
    /// Patterns `KIND/NAME`, or `NAME` for any kind.
    pub(super) objects: Vec<String>,
    /// The policies with rules that are shown.
    policies: BTreeSet<Text>,
}

impl Selection {
    pub(super) const fn new(rules: Vec<String>, objects: Vec<String>) -> Self {
        Self { rules, objects, policies: BTreeSet::new() }
    }

    pub(super) fn set_policies(&mut self, sources: &RuleSources) {
        let shown = sources.iter().filter(|source| source.shown);
        self.policies = shown.map(|source| source.policy.clone()).collect();
    }

    pub(super) const fn is_everything(&self) -> bool {
        self.rules.is_empty() && self.objects.is_empty()
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

    /// Removes the objects and policies that are not shown, so that their errors do not decide the exit code.
    pub(super) fn narrow(&self, evaluated: &mut Evaluated) {
        if !self.objects.is_empty() {
            evaluated.objects.retain(|object| self.has_object(object.report.object.as_ref()));
            evaluated.without_kind = 0;
        }
        if !self.rules.is_empty() {
            for object in &mut evaluated.objects {
                object.report.policies.retain(|policy| self.policies.contains(&policy.policy));
            }
        }
    }

    /// The error for patterns that fit no object.
    pub(super) fn unmatched(&self, tally: &Totals) -> Option<String> {
        (!self.objects.is_empty() && tally.objects == 0)
            .then(|| format!("--object {}: no object has this name", self.objects.join(", ")))
    }

    fn has_object(&self, object: Option<&ObjectRef>) -> bool {
        object.is_some_and(|object| {
            self.objects.iter().any(|pattern| match pattern.split_once('/') {
                Some((kind, name)) => {
                    pattern::matches(&kind.to_lowercase(), &object.kind.kind.to_lowercase())
                        && pattern::matches(name, &object.name)
                }
                None => pattern::matches(pattern, &object.name),
            })
        })
    }
}
