//! Counts over many objects.

use indexmap::IndexMap;

use crate::value::Text;

use super::{ObjectReport, Outcome, SkipReason, Trials};

/// How many objects met which fate, in all and by rule.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Objects that were evaluated.
    pub objects: usize,
    /// Objects that became others.
    pub changed: usize,
    /// Objects with a rule that could not be evaluated.
    pub errors: usize,
    /// What an API server said of changed objects.
    pub trials: Trials,
    /// Objects by policy, rule, kind and namespace, in the order first met.
    pub rows: IndexMap<TallyKey, TallyRow>,
}

/// What a row of a [`Tally`] counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TallyKey {
    /// The policy.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// The objects' kind.
    pub kind: Text,
    /// The objects' namespace; empty for none.
    pub namespace: Text,
}

/// Outcomes of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TallyRow {
    /// Objects the rule patched.
    pub patched: usize,
    /// Objects the rule patched in vain, because another rule of its policy failed.
    pub dropped: usize,
    /// Objects the rule matched without changing them.
    pub no_change: usize,
    /// Objects the rule matched and then skipped.
    pub skipped: usize,
    /// Objects the rule failed on.
    pub errors: usize,
}

impl Tally {
    /// Counts one object.
    pub fn add(&mut self, report: &ObjectReport) {
        let Some(object) = &report.object else { return };
        self.objects += 1;
        self.changed += usize::from(report.is_changed());
        self.errors += usize::from(report.has_error());
        report.trial.iter().for_each(|trial| self.trials.add(trial));
        let matched = |outcome: &Outcome| {
            !matches!(
                outcome,
                Outcome::Triggered { .. }
                    | Outcome::Skipped(SkipReason::NotSelected(_) | SkipReason::ApplyOne)
            )
        };
        // With a trace a report also names rules that were not asked.
        for (policy, rule) in report.rules().filter(|(_, rule)| matched(&rule.outcome)) {
            let key = TallyKey {
                policy: policy.policy.clone(),
                rule: rule.rule.clone(),
                kind: object.kind.kind.clone(),
                namespace: object.namespace.clone().unwrap_or_default(),
            };
            let row = self.rows.entry(key).or_default();
            match rule.outcome {
                Outcome::Patched { .. } if policy.has_error() => row.dropped += 1,
                Outcome::Patched { .. } => row.patched += 1,
                Outcome::NoChange => row.no_change += 1,
                Outcome::Skipped(_) | Outcome::Triggered { .. } => row.skipped += 1,
                Outcome::Error(_) => row.errors += 1,
            }
        }
    }
}
