//! What became of the rules.

use crate::convert::{Conversion, Difference, Options, Outcome, Refusal, RuleConversion, convert};
use crate::policy::{Policy, Rule};
use crate::render::printable_json;
use crate::value::{Pointer, Value};

use super::checked::{Checked, Verdict};
use super::files::{PolicyFile, ReadPolicy};
use super::text::{number, pair_json};

/// A converted policy.
pub(super) struct Converted<'f> {
    pub(super) file: &'f PolicyFile,
    pub(super) policy: &'f ReadPolicy,
    pub(super) conversion: Conversion,
    /// The differences that make the new policies shorter if they are accepted, with the lines that are left.
    pub(super) shorter: Vec<(Difference, usize)>,
    /// What the proof of the new policies says; `None` without a proof.
    pub(super) checked: Option<Checked>,
    /// Where it was or would be written; `None` for standard output.
    pub(super) target: Option<String>,
}

impl Converted<'_> {
    /// How many lines the new policies have.
    pub(super) fn lines(&self) -> usize {
        lines(&self.conversion)
    }

    /// The documents that are written: none if they are not proven to do the same.
    pub(super) fn documents(&self) -> &[String] {
        if self.is_proven() { &self.conversion.documents } else { &[] }
    }

    /// Whether the new policies may be written.
    fn is_proven(&self) -> bool {
        self.checked.as_ref().is_none_or(|checked| checked.verdict == Verdict::Equal)
    }

    /// `policies/add-labels.yaml:12:5`.
    pub(super) fn place(&self, pointer: &Pointer) -> String {
        let position = self.policy.document.nearest_position(&self.policy.at.join(pointer));
        format!("{}:{}:{}", self.file.name, position.line, position.column)
    }

    /// The old policy with the converted rules alone: the others stay as they are.
    pub(super) fn old(&self) -> Policy {
        let is_converted = |rule: &Rule| {
            self.conversion
                .rules
                .iter()
                .any(|one| one.at == rule.pointer && matches!(one.outcome, Outcome::Converted(_)))
        };
        let mut policy = self.policy.policy.clone();
        policy.rules.retain(is_converted);
        policy.controller_only_rules.retain(is_converted);
        Policy::Classic(policy)
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
            Value::array(self.documents().iter().map(|text| Value::from(text.as_str())).collect()),
        ));
        members.push(("rules", Value::array(rules)));
        if !self.shorter.is_empty() {
            let shorter = self.shorter.iter().map(|(difference, lines)| {
                let members = [("accept", Value::from(difference.name())), ("lines", number(*lines))];
                members.into_iter().collect()
            });
            members.push(("shorter", Value::array(shorter.collect())));
        }
        members.extend(self.checked.as_ref().map(|checked| ("proof", pair_json(checked))));
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

/// How many lines new policies have.
fn lines(conversion: &Conversion) -> usize {
    conversion.documents.iter().map(|document| document.lines().count()).sum()
}

/// The differences that are not accepted and would save a tenth of the lines.
pub(super) fn shorter(
    policy: &ReadPolicy,
    conversion: &Conversion,
    options: &Options,
) -> Vec<(Difference, usize)> {
    let count = lines(conversion);
    let candidates = [Difference::Order, Difference::ReplicationController];
    let candidates = candidates.into_iter().filter(|difference| !options.accepts.contains(difference));
    let with = |difference: Difference| {
        let mut options = options.clone();
        options.accepts.push(difference);
        let other = convert(&policy.value, &policy.policy, &policy.comments, &options);
        (difference, lines(&other))
    };
    candidates.map(with).filter(|(_, lines)| *lines > 0 && lines * 10 <= count * 9).collect()
}

/// The report for programs.
pub(super) fn json(converted: &[Converted<'_>]) -> String {
    let policies = Value::array(converted.iter().map(Converted::to_value).collect());
    let report: Value = [("version", Value::from(1)), ("policies", policies)].into_iter().collect();
    let mut text = printable_json(report.to_pretty_json(2));
    text.push('\n');
    text
}

/// `12 rules converted, 1 of them with accepted differences; 2 refused`.
pub(super) fn summary(converted: &[Converted<'_>]) -> String {
    let all = || converted.iter().flat_map(|one| &one.conversion.rules);
    let rules = || converted.iter().filter(|one| one.is_proven()).flat_map(|one| &one.conversion.rules);
    let exact = rules()
        .filter(|rule| matches!(&rule.outcome, Outcome::Converted(accepted) if accepted.is_empty()))
        .count();
    let accepted = rules()
        .filter(|rule| matches!(&rule.outcome, Outcome::Converted(accepted) if !accepted.is_empty()))
        .count();
    let refused = all().filter(|rule| matches!(rule.outcome, Outcome::Refused(_))).count();
    let mut parts = vec![format!("{} converted", crate::render::counted(exact + accepted, "rule"))];
    if accepted > 0 {
        parts.push(format!("{accepted} with accepted differences"));
    }
    if refused > 0 {
        parts.push(format!("{refused} not converted"));
    }
    let unproven = converted.iter().filter(|one| !one.is_proven()).count();
    if unproven > 0 {
        let policies = if unproven == 1 { "1 policy".to_owned() } else { format!("{unproven} policies") };
        parts.push(format!("{policies} not written"));
    }
    parts.join(", ")
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
