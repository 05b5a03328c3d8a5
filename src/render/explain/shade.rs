//! What of an explanation must not be shown: the values of Secrets.

use crate::report::{ObjectReport, Outcome};
use crate::secrets::{MASK, Texts, is_secret};
use crate::value::{Pointer, Value};

use crate::render::mask;

/// Masks what is secret in values, messages and answers.
#[derive(Debug, Default)]
pub(super) struct Shade {
    /// It is the object itself that is a Secret.
    is_own: bool,
    /// Everything may be shown.
    is_open: bool,
    texts: Texts,
}

impl Shade {
    /// The shade of an object's report: that of its secret values, and of what was made of them.
    pub(super) fn of(report: &ObjectReport) -> Self {
        let mut shade = Self { is_open: report.shows_secrets, ..Self::default() };
        if shade.is_open {
            return shade;
        }
        let patched = report.rules().filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some(after),
            _ => None,
        });
        let states: Vec<_> =
            [&report.before, &report.after].into_iter().chain(patched).filter(|one| is_secret(one)).collect();
        shade.is_own = !states.is_empty();
        shade.texts = report.secrets.texts_with(&states);
        shade
    }

    /// A text without secret parts.
    pub(super) fn text(&self, text: &str) -> String {
        self.texts.hide(text).unwrap_or_else(|| text.to_owned())
    }

    /// What stands somewhere in the object.
    pub(super) fn at(&self, at: &Pointer, value: &Value) -> Value {
        let place = at.to_json_pointer();
        let hidden = ["/data", "/stringData"].iter().any(|field| place.starts_with(field));
        match value {
            // Masked already, in a way that shows what changed.
            Value::String(text) if text.starts_with(MASK) => value.clone(),
            _ if self.is_own && hidden => MASK.into(),
            _ => self.value(value),
        }
    }

    /// A value without secret parts.
    pub(super) fn value(&self, value: &Value) -> Value {
        if self.is_open {
            return value.clone();
        }
        self.shaded(value)
    }

    fn shaded(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                if !text.is_empty() && self.texts.hold(text) {
                    MASK.into()
                } else {
                    value.clone()
                }
            }
            Value::Number(_) => self.texts.replaced_part(value),
            Value::Array(items) => Value::array(items.iter().map(|item| self.shaded(item)).collect()),
            Value::Object(members) if is_secret(value) => {
                let masked = mask(value, value).after;
                let members = masked.as_object().unwrap_or(members);
                members.iter().map(|(key, member)| (key.clone(), self.shaded(member))).collect()
            }
            Value::Object(members) => {
                members.iter().map(|(key, member)| (self.texts.shown_key(key), self.shaded(member))).collect()
            }
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shade() -> Shade {
        let secret =
            r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"a":"cGFzc3dvcmQ="}}"#;
        Shade::of(&ObjectReport::untouched(Value::from_json(secret).unwrap()))
    }

    #[test]
    fn secret_values_are_masked_encoded_and_decoded() {
        let shade = shade();
        assert_eq!(shade.text("is `cGFzc3dvcmQ=`"), "is `***`");
        assert_eq!(shade.value(&"xpasswordx".into()), "***".into());
        assert_eq!(shade.value(&"pass".into()), "pass".into());
        assert_eq!(Shade::default().value(&"password".into()), "password".into());
    }
}
