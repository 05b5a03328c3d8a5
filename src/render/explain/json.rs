//! An explanation as JSON.

use crate::render::json::{divergence_members, impact_json, list, number, order_json};
use crate::render::patch::{identity, json_patch};
use crate::report::Outcome;
use crate::value::{Change, ChangeKind, Text, Value};

use super::{Anchor, Condition, Element, ExplainedRule, Explanation, Expression, FailedTest, Variable};

impl Explanation<'_> {
    /// The explanation as JSON: the same as the text, and no value is cut.
    ///
    /// Scripts rely on the names and their meaning.
    pub fn json(&self) -> Value {
        let mut row = Value::from_iter([("origin", self.origin.to_string().into())]);
        if let Some(object) = &self.report.object {
            row.insert("object", identity(object));
        }
        row.insert("changed", self.report.is_changed().into());
        if self.report.unknown.user {
            row.insert("ignored", list(["user"]));
        }
        row.insert("rules", list(self.rules.iter().map(|rule| self.rule_json(rule))));
        let others = self.others.iter().map(|source| {
            let mut row = rule_name(&source.policy, &source.rule);
            row.insert("kinds", list(source.kinds.iter().flatten().cloned()));
            row
        });
        row.insert("otherKinds", list(others));
        let divergences = self.divergences.iter().flat_map(|(policy, divergences)| {
            divergences.iter().map(|divergence| {
                let policy = ("policy", Value::from((*policy).clone()));
                Value::from_iter([policy].into_iter().chain(divergence_members(divergence)))
            })
        });
        row.insert("divergences", list(divergences));
        if !self.report.order.is_empty() {
            row.insert("order", order_json(self.report));
        }
        if let Some(impact) = impact_json(&self.impact) {
            row.insert("impact", impact);
        }
        row
    }

    fn rule_json(&self, rule: &ExplainedRule<'_>) -> Value {
        let mut row = rule_name(rule.policy, rule.rule);
        if let Some(from) = rule.source.and_then(|source| source.generated_from.as_ref()) {
            row.insert("generatedFrom", from.clone().into());
        }
        row.insert("outcome", rule.verdict.word().into());
        if let Some(trigger) = rule.report.and_then(|report| report.trigger.as_ref()) {
            row.insert("trigger", identity(trigger));
        }
        if let Some(Outcome::Triggered { targets, .. }) = rule.report.map(|report| &report.outcome) {
            row.insert("targets", list(targets.iter().map(identity)));
        }
        if !rule.why.is_empty() {
            row.insert("why", rule.why.as_str().into());
        }
        for (name, texts) in [("reasons", &rule.reasons), ("exceptions", &rule.exceptions)] {
            if !texts.is_empty() {
                row.insert(name, list(texts.iter().map(String::as_str)));
            }
        }
        if let Some(Outcome::Error(error)) = rule.report.map(|report| &report.outcome) {
            row.insert("code", error.code.name().into());
            if let Some(hint) = &error.hint {
                row.insert("hint", self.redactor.text(hint).into());
            }
            if let Some(original) = &error.original {
                row.insert("original", self.redactor.text(original).into());
            }
        }
        if let Some(anchor) = &rule.anchor {
            row.insert("anchor", anchor_json(anchor));
        }
        if !rule.changes.is_empty() {
            let masked: Vec<Change> = rule.changes.iter().map(|change| self.masked(change)).collect();
            row.insert("patch", json_patch(&masked));
        }
        row.insert("conditions", list(rule.conditions.iter().map(condition_json)));
        row.insert("variables", variables_json(&rule.variables));
        if !rule.expressions.is_empty() {
            row.insert("expressions", list(rule.expressions.iter().map(expression_json)));
        }
        if !rule.elements.is_empty() {
            row.insert("elements", list(rule.elements.iter().map(element_json)));
        }
        if rule.elements_left_out > 0 {
            row.insert("elementsLeftOut", number(rule.elements_left_out));
        }
        row
    }

    fn masked(&self, change: &Change) -> Change {
        let masked = |value: &Value| self.redactor.at(&change.pointer, value);
        let kind = match &change.kind {
            ChangeKind::Add(value) => ChangeKind::Add(masked(value)),
            ChangeKind::Remove(value) => ChangeKind::Remove(masked(value)),
            ChangeKind::Replace { before, after } => {
                ChangeKind::Replace { before: masked(before), after: masked(after) }
            }
        };
        Change { pointer: change.pointer.clone(), kind }
    }
}

fn rule_name(policy: &Text, rule: &Text) -> Value {
    Value::from_iter([("policy", policy.clone().into()), ("rule", rule.clone().into())])
}

fn condition_json(condition: &Condition) -> Value {
    let mut row = Value::from_iter([
        ("path", condition.path.as_str().into()),
        ("key", condition.key.clone()),
        ("operator", condition.operator.clone().into()),
        ("value", condition.value.clone()),
        ("met", condition.met.into()),
    ]);
    for (name, written) in ["keyWritten", "valueWritten"].into_iter().zip(&condition.written) {
        if let Some(written) = written {
            row.insert(name, written.clone());
        }
    }
    row
}

fn variables_json(variables: &[Variable]) -> Value {
    list(variables.iter().map(|variable| {
        let (name, value) = match &variable.value {
            Ok(value) => ("value", value.clone()),
            Err(error) => ("error", error.as_str().into()),
        };
        Value::from_iter([("expression", variable.expression.clone().into()), (name, value)])
    }))
}

fn expression_json(expression: &Expression) -> Value {
    let mut row = Value::empty_object();
    for (name, text) in [("invocation", &expression.invocation), ("name", &expression.name)] {
        if let Some(text) = text {
            row.insert(name, text.clone().into());
        }
    }
    row.insert("path", expression.path.as_str().into());
    row.insert("expression", expression.expression.as_str().into());
    match &expression.value {
        Ok(value) => row.insert("value", value.clone()),
        Err(error) => row.insert("error", error.as_str().into()),
    }
    if !expression.because.is_empty() {
        row.insert("because", variables_json(&expression.because));
    }
    if let Some(FailedTest { path, expected, found }) = &expression.failed_test {
        let mut failed = Value::from_iter([("path", path.as_str().into())]);
        for (name, value) in [("wanted", expected), ("found", found)] {
            if let Some(value) = value {
                failed.insert(name, value.clone());
            }
        }
        row.insert("failedTest", failed);
    }
    row
}

fn element_json(element: &Element) -> Value {
    let mut row = Value::from_iter([
        ("loop", element.path.as_str().into()),
        ("list", element.list.clone().into()),
        ("indexes", list(element.indexes.iter().map(|index| number(*index)))),
        ("outcome", element.verdict.word().into()),
    ]);
    for (name, text) in [("why", &element.why), ("message", &element.message)] {
        if !text.is_empty() {
            row.insert(name, text.as_str().into());
        }
    }
    if let Some(anchor) = &element.anchor {
        row.insert("anchor", anchor_json(anchor));
    }
    row.insert("conditions", list(element.conditions.iter().map(condition_json)));
    row.insert("variables", variables_json(&element.variables));
    row
}

fn anchor_json(anchor: &Anchor) -> Value {
    let mut row = Value::from_iter([
        ("overlay", anchor.overlay.as_str().into()),
        ("object", anchor.object.as_str().into()),
        ("reason", anchor.reason.as_str().into()),
    ]);
    for (name, value) in [("wanted", &anchor.expected), ("found", &anchor.found)] {
        if let Some(value) = value {
            row.insert(name, value.clone());
        }
    }
    row
}
