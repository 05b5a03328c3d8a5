//! Masking of secrets in explanations.

use crate::report::{ObjectReport, Outcome};
use crate::secrets::{MASK, Secrets, TaintedTexts, is_secret};
use crate::value::{Pointer, Value};

use crate::render::mask_beside;

/// Masks secrets in values and messages.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    /// Whether the object is a Secret before or after the policies.
    is_secret: bool,
    /// Whether secrets may be shown.
    shows_secrets: bool,
    texts: TaintedTexts,
}

impl Redactor {
    /// The redactor for an object: masks values of Secrets, and values derived from them.
    pub(super) fn of(report: &ObjectReport) -> Self {
        let mut redactor = Self { shows_secrets: report.shows_secrets, ..Self::default() };
        if redactor.shows_secrets {
            return redactor;
        }
        let patched = report.rules().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some(after),
            _ => None,
        });
        let states: Vec<_> =
            [&report.before, &report.after].into_iter().chain(patched).filter(|one| is_secret(one)).collect();
        redactor.is_secret = !states.is_empty();
        redactor.texts = report.secrets.texts_with(&states);
        redactor
    }

    /// A text without secret parts.
    pub(super) fn text(&self, text: &str) -> String {
        self.texts.redacted(text).unwrap_or_else(|| text.to_owned())
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
        if self.shows_secrets {
            return value.clone();
        }
        match value {
            Value::String(text) if !text.is_empty() && self.texts.are_in_text(text) => MASK.into(),
            Value::Number(_) => self.texts.redacted_value(value),
            Value::Array(items) => Value::array(items.iter().map(|item| self.value(item)).collect()),
            Value::Object(members) if is_secret(value) => {
                let masked = mask_beside(value, value, &Secrets::default()).after;
                let members = masked.as_object().unwrap_or(members);
                members.iter().map(|(key, member)| (key.clone(), self.value(member))).collect()
            }
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| (self.texts.redacted_key(key), self.value(member)))
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
