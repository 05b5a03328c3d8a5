//! Diagnostics about an object.

use std::fmt::Write as _;

use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::semantics::DivergenceSet;

use super::Origin;
use super::diff::{dry_run_problem, object_name};
use super::mask::mask_of;
use super::printable::printable_line;

/// A line for each rule that could not be evaluated on an object, with its hint.
pub fn error_lines(report: &ObjectReport, origin: &Origin) -> String {
    let mut out = String::new();
    let name = object_name(report);
    let mut masked = None;
    for (policy, rule) in report.rules() {
        let Outcome::Error(error) = &rule.outcome else { continue };
        let masked = masked.get_or_insert_with(|| mask_of(report, &report.before, &report.after));
        let trigger = rule.trigger.as_ref();
        let rule = printable_line(&format!("{origin}: {name}: {}/{}", policy.policy, rule.rule));
        // Further lines are indented, so that none looks like a message of its own.
        let message = masked.message(&error.message).replace('\n', "\n  ");
        let _ = writeln!(out, "error: {rule}: {message}");
        if let Some(trigger) = trigger {
            let _ = writeln!(out, "  triggered by {}", printable_line(&trigger.to_string()));
        }
        if let Some(hint) = &error.hint {
            let _ = writeln!(out, "  hint: {}", masked.message(hint).replace('\n', "\n  "));
        }
    }
    out
}

/// The targets of a rule that were not found.
pub fn missing_targets(report: &ObjectReport, rule: &RuleReport) -> Vec<String> {
    let Outcome::Triggered { missing, .. } = &rule.outcome else { return Vec::new() };
    if missing.is_empty() {
        return Vec::new();
    }
    let masked = mask_of(report, &report.before, &report.after);
    missing.iter().map(|target| masked.message(target)).collect()
}

/// A message about an object, redacted.
pub fn shown_message(report: &ObjectReport, text: &str) -> String {
    mask_of(report, &report.before, &report.after).message(text)
}

/// The error of a dry run, if it failed.
pub fn dry_run_line(report: &ObjectReport) -> Option<String> {
    let (problem, message) = dry_run_problem(report)?;
    let message = message.replace('\n', "\n  ");
    Some(format!("{}: the API server {problem}: {message}", object_name(report)))
}

/// A line for each divergence that a run reached.
pub fn divergence_notes(divergences: DivergenceSet, semantics: &str) -> String {
    let mut out = String::new();
    for divergence in divergences.iter() {
        let _ = writeln!(
            out,
            "note: {divergence} {}: documented: {}; kyverno: {} (this run: {semantics})",
            divergence.title(),
            divergence.documented(),
            divergence.kyverno(),
        );
    }
    out
}
