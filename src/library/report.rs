//! What the policies did to one object.

use crate::report::{self, ObjectReport};
use crate::yaml::Document;

/// The result of all policies for one object.
#[derive(Debug)]
pub struct Report {
    document: Document,
    report: ObjectReport,
}

impl Report {
    pub(super) const fn new(document: Document, report: ObjectReport) -> Self {
        Self { document, report }
    }

    /// Whether the object changed.
    pub fn is_changed(&self) -> bool {
        self.report.is_changed()
    }

    /// Whether some rule could not be evaluated. A cluster refuses the request then, if the policy says so.
    pub fn has_errors(&self) -> bool {
        self.report.has_error()
    }

    /// The manifest after all policies. Comments, order and layout of what no rule changed stay as they are; without any
    /// change this is the manifest byte for byte.
    pub fn manifest(&self) -> String {
        if self.is_changed() {
            self.document.edited(&self.report.after).text
        } else {
            self.document.text().to_owned()
        }
    }

    /// The object after all policies, as JSON on one line.
    pub fn json(&self) -> String {
        self.report.after.to_json()
    }

    /// The rules that match the object, in the order they ran.
    pub fn rules(&self) -> impl Iterator<Item = RuleReport<'_>> {
        self.report.rules().map(|(policy, rule)| RuleReport { object: &self.report, policy, rule })
    }

    /// The numbers of the divergences between Kyverno's documentation and its controllers that decided something here,
    /// such as `KYV-D16`, in ascending order.
    pub fn divergences(&self) -> Vec<String> {
        self.report.divergences().iter().map(|divergence| divergence.to_string()).collect()
    }

    /// Which inputs rules needed and did not have; they were evaluated as if they were empty.
    pub fn missing_inputs(&self) -> Vec<String> {
        let missing = &self.report.unknown;
        let namespace = missing.namespace.as_ref().map(|name| format!("the labels of namespace {name}"));
        let user = missing.user.then(|| "the user of the request".to_owned());
        let exceptions = missing.undecided.iter().map(ToString::to_string);
        let priority = missing.priority_class.as_ref().map(|name| format!("the PriorityClass {name}"));
        namespace.into_iter().chain(user).chain(exceptions).chain(priority).collect()
    }
}

/// The result of one rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleReport<'a> {
    object: &'a ObjectReport,
    policy: &'a report::PolicyReport,
    rule: &'a report::RuleReport,
}

impl<'a> RuleReport<'a> {
    /// The policy, as `NAMESPACE/NAME` for a namespaced one.
    pub fn policy(&self) -> &'a str {
        &self.policy.policy
    }

    /// The rule. One that was generated for Pod controllers has its generated name.
    pub fn rule(&self) -> &'a str {
        &self.rule.rule
    }

    /// The outcome.
    pub fn outcome(&self) -> Outcome {
        match &self.rule.outcome {
            report::Outcome::Patched { .. } => Outcome::Patched,
            report::Outcome::NoChange => Outcome::NoChange,
            report::Outcome::Triggered { .. } => Outcome::Triggered,
            report::Outcome::Skipped(reason) => Outcome::Skipped(self.object.shown_text(&reason.to_string())),
            report::Outcome::Error(error) => Outcome::Error(self.object.shown_text(&error.message)),
        }
    }

    /// The paths of the fields that the rule changed, as JSON pointers (RFC 6901), in the order of the object.
    pub fn changed_paths(&self) -> Vec<String> {
        self.rule
            .changes()
            .iter()
            .map(|change| self.object.shown_place(&change.pointer).to_json_pointer())
            .collect()
    }
}

/// The outcome of one rule. Values of Secrets are redacted in the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The rule changed the object.
    Patched,
    /// The rule applies and changes nothing.
    NoChange,
    /// The rule is a mutate existing rule: it would change other objects.
    Triggered,
    /// The rule does not apply, with the reason.
    Skipped(String),
    /// The rule could not be evaluated, with the error, in Kyverno's words if possible.
    Error(String),
}
