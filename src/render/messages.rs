//! Diagnostics about an object.

use std::fmt::{self, Write as _};

use crate::diagnostics::Code;
use crate::report::{FilePlace, ObjectReport, Outcome, RulePlace, RuleReport, SkipReason};
use crate::semantics::{Divergence, Semantics};
use crate::value::{Pointer, Text};

use super::Origin;
use super::diff::{dry_run_problem, object_name};
use super::printable::printable_line;
use super::words::thousands;

/// A message about a rule on an object, redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The code of the cause.
    pub code: Code,
    /// The policy, with its namespace.
    pub policy: Text,
    /// The rule.
    pub rule: Text,
    /// What the two are called together.
    pub title: String,
    /// The message. Further lines are indented, so that none looks like a message of its own.
    pub message: String,
    /// The object that triggered a rule with targets.
    pub trigger: Option<String>,
    /// What may help.
    pub hint: Option<String>,
    /// The cause in Kyverno's words, if they are others and to be shown.
    pub original: Option<String>,
    /// The node of the rule that failed.
    pub place: Option<RulePlace>,
}

/// A place in the file of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyPlace {
    /// `FILE:LINE:COLUMN`.
    pub position: String,
    /// The line, and a mark below the place. Empty if it has a value of a Secret.
    pub excerpt: String,
}

/// Finds places in the files of policies.
pub trait RulePlaces: fmt::Debug + Sync {
    /// The place of a rule.
    fn rule(&self, policy: &Text, rule: &Text) -> Option<FilePlace>;

    /// The place of the error of a rule.
    fn error(&self, error: &RuleError) -> Option<FilePlace>;
}

/// The objects of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorObjects<'a> {
    /// How many.
    pub number: usize,
    /// The name of the first.
    pub first: &'a str,
    /// Its file and line.
    pub origin: &'a str,
}

impl ErrorObjects<'_> {
    fn after_rule(&self) -> String {
        format!("× {}, first: {} ({})", thousands(self.number), self.first, self.origin)
    }
}

/// `NAME (ORIGIN)`, or the number of objects and the first.
impl fmt::Display for ErrorObjects<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.number > 1 {
            write!(f, "{} objects, first: ", thousands(self.number))?;
        }
        write!(f, "{} ({})", self.first, self.origin)
    }
}

impl RuleError {
    /// The message about objects. Where the place in the policy is known it comes first, and the objects after it.
    pub fn text(&self, objects: ErrorObjects<'_>, place: Option<&PolicyPlace>) -> RuleErrorText {
        let rule = &self.title;
        let head = match place {
            Some(place) => format!("{}: {rule}", place.position),
            None if objects.number == 1 => format!("{}: {}: {rule}", objects.origin, objects.first),
            None => format!("{rule} {}", objects.after_rule()),
        };
        let head = format!("{}: {}", printable_line(&head), self.message);
        let mut tail = String::new();
        if place.is_some() {
            let _ = write!(tail, "\n  on {}", printable_line(&objects.to_string()));
        }
        if let Some(trigger) = &self.trigger {
            let _ = write!(tail, "\n  triggered by {trigger}");
        }
        if let Some(hint) = &self.hint {
            let _ = write!(tail, "\n  hint: {hint}");
        }
        if let Some(original) = &self.original {
            let _ = write!(tail, "\n  Kyverno: {original}");
        }
        let excerpt = place.map(|place| place.excerpt.clone()).unwrap_or_default();
        RuleErrorText { head, excerpt, tail }
    }
}

/// A message about a rule. The alternate form, `{:#}`, is without the line of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleErrorText {
    head: String,
    excerpt: String,
    tail: String,
}

impl fmt::Display for RuleErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.head)?;
        if !f.alternate() && !self.excerpt.is_empty() {
            write!(f, "\n{}", self.excerpt)?;
        }
        f.write_str(&self.tail)
    }
}

/// The rules that could not be evaluated on an object.
pub fn rule_errors(report: &ObjectReport) -> Vec<RuleError> {
    let mut errors = Vec::new();
    for (policy, rule) in report.rules() {
        let Outcome::Error(error) = &rule.outcome else { continue };
        let indented = |text: &str| report.shown_text(text).replace('\n', "\n  ");
        errors.push(RuleError {
            code: error.code,
            policy: policy.policy.clone(),
            rule: rule.rule.clone(),
            title: rule.title(&policy.policy),
            message: indented(&error.message),
            trigger: rule.trigger.as_ref().map(|trigger| printable_line(&trigger.to_string())),
            hint: error.hint.as_ref().map(|hint| indented(hint)),
            original: error.original.as_ref().map(|original| indented(original)),
            place: error.place.as_deref().cloned(),
        });
    }
    errors
}

/// What a run warns of about the rules on an object: failures that the failure policy ignores, changes that a cluster
/// does not store, and policies for another version of the object.
pub fn rule_warnings(report: &ObjectReport) -> Vec<RuleError> {
    let mut warnings = Vec::new();
    for (policy, rule) in report.rules() {
        let mut warn = |code, message: String, place: Option<RulePlace>| {
            let warning = RuleError {
                code,
                policy: policy.policy.clone(),
                rule: rule.rule.clone(),
                title: rule.title(&policy.policy),
                message: report.shown_text(&message),
                trigger: None,
                hint: None,
                original: None,
                place,
            };
            // A policy may run again.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        };
        for error in &rule.ignored {
            let message = format!("{error}; ignored because of `failurePolicy: Ignore`");
            warn(Code::IgnoredFailure, message, error.place.as_deref().cloned());
        }
        for warning in &rule.warnings {
            warn(warning.code, warning.to_string(), warning.place.as_deref().cloned());
        }
        if let Outcome::Skipped(reason @ SkipReason::OtherVersion(_)) = &rule.outcome {
            let place = RulePlace::node(Pointer::ROOT.key("spec").key("matchConstraints"));
            warn(Code::ConvertedFirst, format!("not evaluated: {reason}"), Some(place));
        }
    }
    warnings
}

/// A line for each rule that could not be evaluated on an object, with its hint.
pub fn error_lines(
    report: &ObjectReport,
    origin: &Origin,
    place: impl Fn(&RuleError) -> Option<PolicyPlace>,
) -> String {
    let (name, origin) = (object_name(report), origin.to_string());
    let objects = ErrorObjects { number: 1, first: &name, origin: &origin };
    let errors = rule_errors(report).into_iter();
    errors
        .map(|error| RuleError { original: None, ..error })
        .map(|error| {
            let text = error.text(objects, place(&error).as_ref());
            format!("error[{}]: {text}\n", error.code)
        })
        .collect()
}

/// The targets of a rule that were not found.
pub fn missing_targets(report: &ObjectReport, rule: &RuleReport) -> Vec<String> {
    let Outcome::Triggered { missing, .. } = &rule.outcome else { return Vec::new() };
    missing.iter().map(|target| report.shown_text(target)).collect()
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
