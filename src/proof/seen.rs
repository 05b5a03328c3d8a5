//! What happened when a set of policies was evaluated: rule by rule, and which conditions held.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Bound;

use crate::report::{ElementOutcome, Outcome, RuleReport, SkipReason, Trace};
use crate::value::{PathSet, Value};

use super::stored::{self, ChangedTarget};

/// What happened in an evaluation.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) signature: String,
    pub(super) reasons: Vec<String>,
    pub(super) conditions: BTreeMap<String, bool>,
    pub(super) is_matched: bool,
    pub(super) ignores_failure: bool,
}

impl Seen {
    pub(super) fn target(&mut self, target: &ChangedTarget) {
        self.is_matched = true;
        let paths = PathSet::differences(&target.before, &target.after);
        let _ = writeln!(self.signature, "target {}:{paths}", stored::identity(&target.before));
    }

    pub(super) fn rule(&mut self, policy: &str, rule: &RuleReport) {
        let title = rule.title(policy);
        let is_passed_over = matches!(
            rule.outcome,
            Outcome::Skipped(
                SkipReason::NotSelected(_) | SkipReason::MatchCondition(_) | SkipReason::OtherVersion(_)
            )
        );
        self.is_matched |= !is_passed_over;
        self.ignores_failure |= matches!(rule.outcome, Outcome::Skipped(SkipReason::FailureIgnored(_)));
        self.signature.push_str(&title);
        self.signature.push(':');
        match &rule.outcome {
            Outcome::Patched { before, after } => {
                self.signature.push_str(&PathSet::differences(before, after).to_string());
            }
            Outcome::Skipped(reason) => {
                self.signature.push_str(&kind_of(reason));
                self.reasons.push(format!("{title}: {reason}"));
            }
            Outcome::Error(error) => {
                let place = error.place.as_ref().map(|place| place.pointer.to_string());
                let _ = write!(self.signature, "{:?} {}", error.code, place.unwrap_or_default());
            }
            other => {
                if matches!(other, Outcome::NoChange) {
                    self.reasons.push(format!("{title} applies and changes nothing"));
                }
                self.signature.push_str(other.word());
            }
        }
        if let Some(trace) = &rule.trace {
            self.trace(&title, trace);
        }
        self.signature.push('\n');
    }

    fn trace(&mut self, title: &str, trace: &Trace) {
        let mut note = |at: String, met: bool| {
            // Of the elements of a loop each value counts.
            self.conditions.insert(format!("{title} {at}={met}"), met);
        };
        for condition in &trace.conditions {
            let place = if condition.iteration.is_some() { "foreach " } else { "" };
            note(format!("{place}{}", condition.pointer), condition.met);
        }
        for expression in &trace.expressions {
            if let (Ok(Value::Bool(met)), Some(name)) = (&expression.value, &expression.name) {
                note(name.to_string(), *met);
            }
            for (part, _) in &expression.because {
                self.signature.push_str(part);
            }
        }
        for iteration in trace.iterations.iter().take(4) {
            self.signature.push_str(match iteration.outcome {
                ElementOutcome::Failed => "f",
                ElementOutcome::Changed => "c",
                ElementOutcome::NoChange => "n",
                ElementOutcome::Skipped { .. } => "s",
            });
        }
        let later = self.conditions.range::<str, _>((Bound::Included(title), Bound::Unbounded));
        for (key, _) in later.take_while(|(key, _)| key.starts_with(title)) {
            self.signature.push_str(key);
            self.signature.push(',');
        }
    }
}

/// A reason without the values of the object.
fn kind_of(reason: &SkipReason) -> String {
    match reason {
        SkipReason::NotSelected(reasons) => format!("not selected {}", reasons.join(";")),
        SkipReason::MatchCondition(name) => format!("condition {name}"),
        SkipReason::Anchor { overlay, .. } => format!("anchor {overlay}"),
        SkipReason::NoElements { missing } => format!("no elements {}", missing.join(",")),
        other => format!("{other:?}").split(['(', '{']).next().unwrap_or_default().to_owned(),
    }
}
