//! What suites reach of the policies that they name.

use std::collections::BTreeMap;

use crate::patch::split_anchor;
use crate::policy::Policy;
use crate::report::{FilePlace, ObjectReport, Outcome, RuleCoverage};
use crate::value::{Pointer, Text, Value};

use super::parts;
use super::run::SuiteRun;

/// What suites reach, rule by rule. A policy of two files is two policies.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<Key, RuleCoverage>);

/// File, line, and the number of the rule in its policy.
type Key = (Text, usize, Text, usize);

impl Coverage {
    /// What the runs of a suite reach. `place` is the place of a rule as it is written, or of something in it.
    pub fn of(
        policies: &[Policy],
        runs: &[SuiteRun],
        place: impl Fn(&Policy, &Text, Option<&Pointer>) -> Option<FilePlace>,
    ) -> Self {
        let mut coverage = Self::default();
        let reports = || runs.iter().flat_map(|run| &run.reports);
        let targets = || runs.iter().flat_map(|run| &run.targets).map(|target| &target.report);
        for policy in policies {
            let name = policy.full_name();
            for (index, rule) in policy.rules().into_iter().enumerate() {
                if rule.not_evaluated.is_some() {
                    continue;
                }
                let Some(at) = place(policy, rule.name, None) else { continue };
                let line = |pointer: &Pointer| {
                    place(policy, rule.name, Some(pointer)).map_or(at.line, |place| place.line)
                };
                let parts = parts::parts(policy, index, reports().chain(targets()), line);
                let count = |wanted: bool| {
                    reports()
                        .chain(targets())
                        .filter(|report| has(report, (&name, rule.name), wanted))
                        .count()
                };
                let key = (at.file.clone(), at.line, name.clone(), index);
                let covered = RuleCoverage {
                    policy: name.clone(),
                    rule: rule.name.clone(),
                    place: at,
                    has_conditions: has_conditions(policy, index),
                    changed: count(true),
                    unchanged: count(false),
                    parts,
                };
                coverage.0.insert(key, covered);
            }
        }
        coverage
    }

    /// Adds what another suite reaches.
    pub fn add(&mut self, other: Self) {
        for (key, more) in other.0 {
            let Some(known) = self.0.get_mut(&key) else {
                self.0.insert(key, more);
                continue;
            };
            known.changed += more.changed;
            known.unchanged += more.unchanged;
            for (known, more) in known.parts.iter_mut().zip(more.parts) {
                known.held += more.held;
                known.failed += more.failed;
            }
        }
    }

    /// The rules by file and line.
    pub fn rules(&self) -> impl Iterator<Item = &RuleCoverage> {
        self.0.values()
    }
}

/// Whether a rule changed an object, or left it as it was.
fn has(report: &ObjectReport, (policy, rule): (&Text, &Text), is_changed: bool) -> bool {
    let rules = report.policies.iter().filter(|one| one.policy == *policy).flat_map(|one| &one.rules);
    let mut outcomes = rules.filter(|one| one.rule == *rule).map(|one| &one.outcome);
    outcomes.any(|outcome| match outcome {
        Outcome::Patched { .. } => is_changed,
        Outcome::Triggered { targets, .. } => is_changed && !targets.is_empty(),
        Outcome::NoChange | Outcome::Skipped(_) => !is_changed,
        Outcome::Error(_) => false,
    })
}

/// Whether a rule has conditions beside `match` and `exclude`.
fn has_conditions(policy: &Policy, rule: usize) -> bool {
    match policy {
        Policy::Classic(policy) => policy.rules.get(rule).is_some_and(|rule| has_conditions_below(&rule.raw)),
        Policy::Cel(policy) => {
            policy.variants.get(rule).is_some_and(|variant| !variant.conditions.is_empty())
        }
        #[cfg(test)]
        Policy::FixedLabel(_) => false,
    }
}

/// Whether a rule has preconditions, also those of loops and targets, or condition anchors.
fn has_conditions_below(rule: &Value) -> bool {
    let mut open = vec![rule];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                if members.keys().any(|key| {
                    &**key == "preconditions" || split_anchor(key).is_some_and(|(_, is_test)| is_test)
                }) {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items.iter()),
            _ => {}
        }
    }
    false
}
