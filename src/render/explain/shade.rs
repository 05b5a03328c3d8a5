//! What of an explanation must not be shown: the values of Secrets.

use crate::report::{ObjectReport, Outcome};
use crate::secrets::{MASK, Texts, is_secret};
use crate::value::{Pointer, Value};

use crate::render::mask;

/// What may be shown of a Secret, as the path goes on behind it.
const HARMLESS: [&str; 5] = [".metadata", ".kind", ".apiVersion", ".type", ".immutable"];

/// Masks what is secret in values, messages and answers.
#[derive(Debug, Default)]
pub(super) struct Shade {
    is_secret: bool,
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
        shade.is_secret = shade.is_own || !report.secrets.is_empty();
        shade.texts = report.secrets.texts_with(&states);
        shade
    }

    /// A text without secret parts.
    pub(super) fn text(&self, text: &str) -> String {
        self.texts.hide(text).unwrap_or_else(|| text.to_owned())
    }

    /// The answer to an expression.
    pub(super) fn answer(&self, expression: &str, value: &Value) -> Value {
        if self.is_secret && reaches_for_secrets(expression) && !matches!(value, Value::Null | Value::Bool(_))
        {
            return MASK.into();
        }
        self.value(value)
    }

    /// What something written became, such as the key of a condition.
    pub(super) fn from(&self, written: Option<&Value>, value: &Value) -> Value {
        match written {
            None if self.is_secret => MASK.into(),
            Some(written) if self.is_secret && written.to_json().contains("{{") => {
                self.answer(&written.to_json(), value)
            }
            _ => self.value(value),
        }
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

/// Whether an expression may yield secret values of a Secret, or something made of them.
fn reaches_for_secrets(expression: &str) -> bool {
    let rest = expression.replace("metadata", "");
    rest.contains("data")
        || rest.contains("Data")
        || rest.contains("last-applied")
        || rest.contains(['@', '*'])
        || expression
            .match_indices("request")
            .any(|(start, found)| !expression[start + found.len()..].starts_with(['.', 'K']))
        || expression
            .match_indices("bject")
            .map(|(start, found)| &expression[start + found.len()..])
            .any(|behind| !HARMLESS.iter().any(|path| behind.starts_with(path)))
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

    #[test]
    fn what_is_made_of_secret_values_is_masked() {
        let shade = shade();
        for expression in [
            "to_upper(base64_decode(request.object.data.a))",
            "to_string(request.object)",
            "request.object.*",
            "request",
            "base64_encode(to_string(@))",
            "request.*",
            "request.oldObject.stringData",
            "request.object.metadata.annotations.\"kubectl.kubernetes.io/last-applied-configuration\"",
        ] {
            assert_eq!(shade.answer(expression, &"x".into()), "***".into(), "{expression}");
        }
        assert_eq!(shade.answer("request.object.metadata.name", &"x".into()), "x".into());
        assert_eq!(shade.answer("request.operation", &"CREATE".into()), "CREATE".into());
    }
}
