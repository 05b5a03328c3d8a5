//! Diagnostics about an object.

use std::fmt::Write as _;

use crate::diagnostics::Code;
use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::semantics::{Divergence, Semantics};
use crate::value::Text;

use super::Origin;
use super::diff::{dry_run_problem, object_name};
use super::mask::mask_of;
use super::printable::printable_line;

/// A message about a rule on an object, redacted.
#[derive(Clone, Debug)]
pub struct RuleError {
    /// The code of the cause.
    pub code: Code,
    /// The policy, with its namespace.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// The message. Further lines are indented, so that none looks like a message of its own.
    pub message: String,
    /// The object that triggered a rule with targets.
    pub trigger: Option<String>,
    /// What may help.
    pub hint: Option<String>,
}

impl RuleError {
    /// The text about one object: its name and origin, the rule, the message, the trigger and the hint.
    pub fn on(&self, object: &str, origin: &str) -> String {
        let rule = printable_line(&format!("{origin}: {object}: {}/{}", self.policy, self.rule));
        self.text(&rule)
    }

    /// The text about several objects, described by `objects`.
    pub fn with_objects(&self, objects: &str) -> String {
        self.text(&printable_line(&format!("{}/{} {objects}", self.policy, self.rule)))
    }

    fn text(&self, head: &str) -> String {
        let mut out = format!("{head}: {}", self.message);
        if let Some(trigger) = &self.trigger {
            let _ = write!(out, "\n  triggered by {trigger}");
        }
        if let Some(hint) = &self.hint {
            let _ = write!(out, "\n  hint: {hint}");
        }
        out
    }
}

/// The rules that could not be evaluated on an object.
pub fn rule_errors(report: &ObjectReport) -> Vec<RuleError> {
    let mut masked = None;
    let mut errors = Vec::new();
    for (policy, rule) in report.rules() {
        let Outcome::Error(error) = &rule.outcome else { continue };
        let masked = masked.get_or_insert_with(|| mask_of(report, &report.before, &report.after));
        let indented = |text: &str| masked.message(text).replace('\n', "\n  ");
        errors.push(RuleError {
            code: error.code,
            policy: policy.policy.clone(),
            rule: rule.rule.clone(),
            message: indented(&error.message),
            trigger: rule.trigger.as_ref().map(|trigger| printable_line(&trigger.to_string())),
            hint: error.hint.as_ref().map(|hint| indented(hint)),
        });
    }
    errors
}

/// A line for each rule that could not be evaluated on an object, with its hint.
pub fn error_lines(report: &ObjectReport, origin: &Origin) -> String {
    let (name, origin) = (object_name(report), origin.to_string());
    rule_errors(report)
        .iter()
        .map(|error| format!("error[{}]: {}\n", error.code, error.on(&name, &origin)))
        .collect()
}

/// A message without the lines of input files that it shows: `12 | text` and the mark below.
pub fn without_excerpts(message: &str) -> String {
    let is_excerpt = |line: &&str| {
        let number = line.trim_start().split_once('|').map(|(number, _)| number.trim_end());
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    message.lines().filter(|line| !is_excerpt(line)).collect::<Vec<_>>().join("\n")
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

/// What the two sides of a divergence do, and which of them a run follows.
pub fn divergence_text(divergence: Divergence, semantics: Semantics) -> String {
    let (title, documented, kyverno) = (divergence.title(), divergence.documented(), divergence.kyverno());
    format!("{title}: documented: {documented}; kyverno: {kyverno} (this run: {semantics})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_files_are_left_out() {
        let message = "a.yaml:12:3: mapping values are not allowed\n12 | password: x: y\n   |            ^\n  hint: a | b";
        assert_eq!(without_excerpts(message), "a.yaml:12:3: mapping values are not allowed\n  hint: a | b");
    }
}
