//! Diagnostics about an object.

use std::fmt::Write as _;

use crate::report::{ObjectReport, Outcome, RuleReport, ServerDryRun};
use crate::semantics::DivergenceSet;

use super::Origin;
use super::mask::mask_of;
use super::printable::printable_line;

/// A line for each rule of an object that could not be evaluated, with its hint.
pub fn error_lines(report: &ObjectReport, origin: &Origin) -> String {
    let mut out = String::new();
    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
    let mut shown = None;
    for (policy, rule) in report.rules() {
        let Outcome::Error(error) = &rule.outcome else { continue };
        let shown = shown.get_or_insert_with(|| mask_of(report, &report.before, &report.after));
        let trigger = rule.trigger.as_ref();
        let rule = printable_line(&format!("{origin}: {name}: {}/{}", policy.policy, rule.rule));
        // No line of a message can pass for one of its own.
        let message = shown.message(&error.message).replace('\n', "\n  ");
        let _ = writeln!(out, "error: {rule}: {message}");
        if let Some(trigger) = trigger {
            let _ = writeln!(out, "  triggered by {}", printable_line(&trigger.to_string()));
        }
        if let Some(hint) = &error.hint {
            let _ = writeln!(out, "  hint: {}", shown.message(hint).replace('\n', "\n  "));
        }
    }
    out
}

/// The names of targets that were not found, as a rule has them.
pub fn missing_targets(report: &ObjectReport, rule: &RuleReport) -> Vec<String> {
    let Outcome::Triggered { missing, .. } = &rule.outcome else { return Vec::new() };
    if missing.is_empty() {
        return Vec::new();
    }
    let shown = mask_of(report, &report.before, &report.after);
    missing.iter().map(|target| shown.message(target)).collect()
}

/// A message about an object, redacted.
pub fn shown_message(report: &ObjectReport, text: &str) -> String {
    mask_of(report, &report.before, &report.after).message(text)
}

/// The error of a dry run, if it failed.
pub fn dry_run_line(report: &ObjectReport) -> Option<String> {
    let (what, words) = match report.server_dry_run.as_deref()? {
        ServerDryRun::Accepted { .. } => return None,
        ServerDryRun::Refused(words) => ("the API server refuses it", words),
        ServerDryRun::Failed(words) => ("the API server does not say whether it takes it", words),
    };
    let name = report.object.as_ref().map_or_else(String::new, ToString::to_string);
    let words = mask_of(report, &report.before, &report.after).message(words).replace('\n', "\n  ");
    Some(format!("{}: {what}: {words}", printable_line(&name)))
}

/// A line for each divergence that a run met.
pub fn divergence_notes(divergences: DivergenceSet, semantics: &str) -> String {
    let mut out = String::new();
    for difference in divergences.iter() {
        let _ = writeln!(
            out,
            "note: {difference} {}: documented: {}; kyverno: {} (this run: {semantics})",
            difference.title(),
            difference.documented(),
            difference.kyverno(),
        );
    }
    out
}
