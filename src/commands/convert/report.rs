//! What became of the rules.

use crate::convert::{Conversion, Outcome, Refusal, RuleConversion};
use crate::value::{Pointer, Value};

use super::files::{PolicyFile, ReadPolicy};

/// A converted policy.
pub(super) struct Converted<'f> {
    pub(super) file: &'f PolicyFile,
    pub(super) policy: &'f ReadPolicy,
    pub(super) conversion: Conversion,
    /// Where it was or would be written; `None` for standard output.
    pub(super) target: Option<String>,
}

impl Converted<'_> {
    /// `policies/add-labels.yaml:12:5`.
    pub(super) fn place(&self, pointer: &Pointer) -> String {
        let position = self.policy.document.nearest_position(&self.policy.at.join(pointer));
        format!("{}:{}:{}", self.file.name, position.line, position.column)
    }

    /// The name of the policy, and that of a rule.
    pub(super) fn rule_name(&self, rule: &RuleConversion) -> String {
        format!("{}/{}", self.policy.policy.meta.full_name(), rule.name)
    }

    /// A refusal as one message.
    pub(super) fn refused(&self, rule: &RuleConversion, refusal: &Refusal) -> String {
        format!(
            "{}: rule {} is not converted: {}: {}. {}.",
            self.place(&refusal.at),
            self.rule_name(rule),
            refusal.construct,
            refusal.reason,
            capitalized(&refusal.advice)
        )
    }

    /// The policy in the report for programs.
    fn to_value(&self) -> Value {
        let rules = self.conversion.rules.iter().map(|rule| self.rule_value(rule)).collect();
        let mut members = vec![
            ("file", Value::from(self.file.name.as_str())),
            ("kind", Value::from(self.policy.policy.meta.kind.to_string())),
            ("name", Value::from(self.policy.policy.meta.full_name().to_string())),
        ];
        if let Some(target) = &self.target {
            members.push(("output", Value::from(target.as_str())));
        }
        members.push((
            "documents",
            Value::array(self.conversion.documents.iter().map(|text| Value::from(text.as_str())).collect()),
        ));
        members.push(("rules", Value::array(rules)));
        members.into_iter().collect()
    }

    fn rule_value(&self, rule: &RuleConversion) -> Value {
        let text = |text: &str| Value::from(text);
        let mut members = vec![("name", text(&rule.name)), ("place", text(&self.place(&rule.at)))];
        match &rule.outcome {
            Outcome::Converted(accepted) => {
                members.push(("outcome", text("converted")));
                if !accepted.is_empty() {
                    let names = accepted.iter().map(|difference| text(difference.name())).collect();
                    members.push(("accepted", Value::array(names)));
                }
            }
            Outcome::NotChosen => members.push(("outcome", text("notChosen"))),
            Outcome::Refused(refusal) => {
                members.push(("outcome", text("refused")));
                members.push(("construct", text(&refusal.construct)));
                members.push(("at", text(&self.place(&refusal.at))));
                members.push(("reason", text(&refusal.reason)));
                members.push(("advice", text(&refusal.advice)));
                if let Some(difference) = refusal.difference {
                    members.push(("acceptedBy", text(difference.name())));
                }
            }
        }
        members.into_iter().collect()
    }
}

/// The report for programs.
pub(super) fn json(converted: &[Converted<'_>]) -> String {
    let policies = Value::array(converted.iter().map(Converted::to_value).collect());
    let report: Value = [("policies", policies)].into_iter().collect();
    let mut text = report.to_pretty_json(2);
    text.push('\n');
    text
}

/// `12 rules converted, 1 of them with accepted differences; 2 refused`.
pub(super) fn summary(converted: &[Converted<'_>]) -> String {
    let rules = || converted.iter().flat_map(|one| &one.conversion.rules);
    let exact = rules()
        .filter(|rule| matches!(&rule.outcome, Outcome::Converted(accepted) if accepted.is_empty()))
        .count();
    let accepted = rules()
        .filter(|rule| matches!(&rule.outcome, Outcome::Converted(accepted) if !accepted.is_empty()))
        .count();
    let refused = rules().filter(|rule| matches!(rule.outcome, Outcome::Refused(_))).count();
    let mut parts = vec![format!("{} converted", crate::render::counted(exact + accepted, "rule"))];
    if accepted > 0 {
        parts.push(format!("{accepted} with accepted differences"));
    }
    if refused > 0 {
        parts.push(format!("{refused} not converted"));
    }
    parts.join(", ")
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
