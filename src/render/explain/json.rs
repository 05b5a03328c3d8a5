//! An explanation as JSON.

use crate::render::impact_json;
use crate::render::patch::{identity, json_patch};
use crate::report::Outcome;
use crate::value::{Change, ChangeKind, Text, Value};

use super::{Anchor, Condition, Element, Explained, Explanation, Variable};

impl Explanation<'_> {
    /// The explanation as data: the same as on the screen, and no value is cut.
    ///
    /// Names are not changed or given a new meaning: scripts rely on them.
    pub fn json(&self) -> Value {
        let mut row: Value = [("origin", Value::from(self.origin.to_string()))].into_iter().collect();
        if let Some(object) = &self.report.object {
            row.insert("object", identity(object));
        }
        row.insert("changed", self.report.is_changed().into());
        if self.report.unknown.user {
            row.insert("leftAside", Value::array(vec!["user".into()]));
        }
        row.insert("rules", Value::array(self.rules.iter().map(|rule| self.rule_json(rule)).collect()));
        let others = self.others.iter().map(|source| {
            let mut row = named(&source.policy, &source.rule);
            row.insert("kinds", texts(source.kinds.iter().flatten()));
            row
        });
        row.insert("otherKinds", Value::array(others.collect()));
        let divergences = self.divergences.iter().flat_map(|(policy, divergences)| {
            divergences.iter().map(|difference| -> Value {
                [
                    ("policy", Value::String((*policy).clone())),
                    ("id", difference.to_string().into()),
                    ("title", difference.title().into()),
                    ("documented", difference.documented().into()),
                    ("kyverno", difference.kyverno().into()),
                ]
                .into_iter()
                .collect()
            })
        });
        row.insert("differences", Value::array(divergences.collect()));
        if let Some(impact) = impact_json(&self.impact) {
            row.insert("impact", impact);
        }
        row
    }

    fn rule_json(&self, rule: &Explained<'_>) -> Value {
        let mut row = named(rule.policy, rule.rule);
        if let Some(from) = rule.source.and_then(|source| source.generated_from.as_ref()) {
            row.insert("generatedFrom", Value::String(from.clone()));
        }
        row.insert("outcome", rule.verdict.word().into());
        if let Some(trigger) = rule.report.and_then(|report| report.trigger.as_ref()) {
            row.insert("trigger", identity(trigger));
        }
        if let Some(Outcome::Triggered { targets, .. }) = rule.report.map(|report| &report.outcome) {
            row.insert("targets", Value::array(targets.iter().map(identity).collect()));
        }
        if !rule.why.is_empty() {
            row.insert("why", rule.why.as_str().into());
        }
        if !rule.reasons.is_empty() {
            row.insert(
                "reasons",
                Value::array(rule.reasons.iter().map(|text| text.as_str().into()).collect()),
            );
        }
        if !rule.exceptions.is_empty() {
            row.insert(
                "exceptions",
                Value::array(rule.exceptions.iter().map(|text| text.as_str().into()).collect()),
            );
        }
        if let Some(Outcome::Error(error)) = rule.report.map(|report| &report.outcome)
            && let Some(hint) = &error.hint
        {
            row.insert("hint", self.redactor.text(hint).into());
        }
        if let Some(anchor) = &rule.anchor {
            row.insert("anchor", anchor_json(anchor));
        }
        if !rule.changes.is_empty() {
            let masked: Vec<Change> = rule.changes.iter().map(|change| self.masked(change)).collect();
            row.insert("patch", json_patch(&masked));
        }
        row.insert("conditions", Value::array(rule.conditions.iter().map(condition_json).collect()));
        row.insert("variables", variables_json(&rule.variables));
        if !rule.elements.is_empty() {
            row.insert("elements", Value::array(rule.elements.iter().map(turn_json).collect()));
        }
        if rule.elements_left_out > 0 {
            row.insert("elementsLeftOut", i64::try_from(rule.elements_left_out).unwrap_or(i64::MAX).into());
        }
        row
    }

    fn masked(&self, change: &Change) -> Change {
        let shown = |value: &Value| self.redactor.at(&change.pointer, value);
        let kind = match &change.kind {
            ChangeKind::Add(value) => ChangeKind::Add(shown(value)),
            ChangeKind::Remove(value) => ChangeKind::Remove(shown(value)),
            ChangeKind::Replace { before, after } => {
                ChangeKind::Replace { before: shown(before), after: shown(after) }
            }
        };
        Change { pointer: change.pointer.clone(), kind }
    }
}

fn named(policy: &Text, rule: &Text) -> Value {
    [("policy", Value::String(policy.clone())), ("rule", Value::String(rule.clone()))].into_iter().collect()
}

fn texts<'t>(texts: impl Iterator<Item = &'t Text>) -> Value {
    Value::array(texts.cloned().map(Value::String).collect())
}

fn condition_json(condition: &Condition) -> Value {
    let mut row: Value = [
        ("path", Value::from(condition.path.as_str())),
        ("key", condition.key.clone()),
        ("operator", Value::String(condition.operator.clone())),
        ("value", condition.value.clone()),
        ("met", condition.met.into()),
    ]
    .into_iter()
    .collect();
    for (name, written) in ["keyWritten", "valueWritten"].into_iter().zip(&condition.written) {
        if let Some(written) = written {
            row.insert(name, written.clone());
        }
    }
    row
}

fn variables_json(variables: &[Variable]) -> Value {
    let variables = variables.iter().map(|variable| -> Value {
        let (name, value) = match &variable.value {
            Ok(value) => ("value", value.clone()),
            Err(error) => ("error", error.as_str().into()),
        };
        [("expression", Value::String(variable.expression.clone())), (name, value)].into_iter().collect()
    });
    Value::array(variables.collect())
}

fn turn_json(element: &Element) -> Value {
    let index = |index: &usize| Value::from(i64::try_from(*index).unwrap_or(i64::MAX));
    let mut row: Value = [
        ("loop", Value::from(element.place.as_str())),
        ("list", Value::String(element.list.clone())),
        ("indexes", Value::array(element.indexes.iter().map(index).collect())),
        ("outcome", element.verdict.word().into()),
    ]
    .into_iter()
    .collect();
    for (name, text) in [("why", &element.why), ("message", &element.message)] {
        if !text.is_empty() {
            row.insert(name, text.as_str().into());
        }
    }
    if let Some(anchor) = &element.anchor {
        row.insert("anchor", anchor_json(anchor));
    }
    row.insert("conditions", Value::array(element.conditions.iter().map(condition_json).collect()));
    row.insert("variables", variables_json(&element.variables));
    row
}

fn anchor_json(anchor: &Anchor) -> Value {
    let mut row: Value = [
        ("overlay", Value::from(anchor.overlay.as_str())),
        ("object", anchor.object.as_str().into()),
        ("reason", anchor.reason.as_str().into()),
    ]
    .into_iter()
    .collect();
    for (name, value) in [("wanted", &anchor.wanted), ("found", &anchor.found)] {
        if let Some(value) = value {
            row.insert(name, value.clone());
        }
    }
    row
}
