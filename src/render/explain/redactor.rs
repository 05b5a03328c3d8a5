//! Masking of secrets in explanations.

use crate::render::mask::{StateMasks, mask_beside};
use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::secrets::{MASK, Secrets, is_secret};
use crate::value::{Change, Pointer, Value, changes};

/// Masks secrets in values and messages.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    /// Whether the object is a Secret in one of its states.
    is_secret: bool,
    masks: StateMasks,
}

impl Redactor {
    /// The redactor for an object: masks values of Secrets, and values derived from them.
    pub(super) fn of(report: &ObjectReport) -> Self {
        let is_patched_secret = |rule: &RuleReport| match &rule.outcome {
            Outcome::Patched { after, .. } => is_secret(after),
            _ => false,
        };
        Self {
            is_secret: !report.shows_secrets
                && ([&report.before, &report.after].into_iter().any(is_secret)
                    || report.rules().any(|(_, rule)| is_patched_secret(rule))),
            masks: StateMasks::of(report),
        }
    }

    /// The changes between two states, masked.
    pub(super) fn changes(&self, before: &Value, after: &Value) -> Vec<Change> {
        let masked = self.masks.masked(before, after);
        changes(&masked.before, &masked.after)
    }

    /// A text without secret parts.
    pub(super) fn text(&self, text: &str) -> String {
        self.masks.texts().redacted(text).unwrap_or_else(|| text.to_owned())
    }

    /// A value at a path of the object.
    pub(super) fn at(&self, at: &Pointer, value: &Value) -> Value {
        let path = at.to_json_pointer();
        let is_field_of_secret = ["/data", "/stringData"].iter().any(|field| path.starts_with(field));
        match value {
            // Masked already, so that changes are visible.
            Value::String(text) if text.starts_with(MASK) => value.clone(),
            _ if self.is_secret && is_field_of_secret => MASK.into(),
            _ => self.value(value),
        }
    }

    /// A value without secret parts.
    pub(super) fn value(&self, value: &Value) -> Value {
        if self.masks.shows_secrets() {
            return value.clone();
        }
        match value {
            Value::String(text) if !text.is_empty() && self.masks.texts().are_in_text(text) => MASK.into(),
            Value::Number(_) => self.masks.texts().redacted_value(value),
            Value::Array(items) => Value::array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(members) if is_secret(value) => {
                let masked = mask_beside(value, value, &Secrets::default()).after;
                let members = masked.as_object().unwrap_or(members);
                members.iter().map(|(key, member)| (key.clone(), self.value(member))).collect()
            }
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| (self.masks.texts().redacted_key(key), self.value(member)))
                .collect(),
            Value::Null | Value::Bool(_) | Value::String(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let secret =
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"cGFzc3dvcmQ="}}"#;
        Redactor::of(&ObjectReport::untouched(Value::from_json(secret).unwrap()))
    }

    #[test]
    fn secret_values_are_masked_encoded_and_decoded() {
        let redactor = redactor();
        assert_eq!(redactor.text("is `cGFzc3dvcmQ=`"), "is `***`");
        assert_eq!(redactor.value(&"xpasswordx".into()), "***".into());
        assert_eq!(redactor.value(&"pass".into()), "pass".into());
        assert_eq!(Redactor::default().value(&"password".into()), "password".into());
    }
}
