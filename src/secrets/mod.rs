//! Secrets: which texts are their values, and which were made of those.
//!
//! A [`TaintTracker`] goes along with the evaluation of one object. It learns each Secret that the evaluation comes across,
//! and knows its values from then on, as they are and decoded. Where a text is made of others (by a function of an
//! expression, a variable in a string, a patch that is read from text), the tracker is asked whether a secret was among
//! them, and is given the result: that is secret, too. Secrets are recognized by their text and not by a mark on the value,
//! because a value is written into text and parsed again on its way. Truth values are no secrets; neither are lengths.
//!
//! What was learned is a part of the report ([`Secrets`]), which masks it. A recording keeps Secrets without their values
//! ([`redact`]); in a replay the tracker notices the rules that need one.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod further;
mod keys;
mod redacted;
mod taint;
mod texts;
mod values;

use std::sync::Arc;

use crate::value::Value;

use keys::KeyMasks;

pub use further::{MASK_OF_SERVER, mask_further};
pub use redacted::redact;
pub use taint::TaintTracker;
pub use texts::Texts;
pub use values::{Fields, LAST_APPLIED, fields, is_secret};

/// What is shown in the place of a secret.
pub const MASK: &str = "***";

/// What a recording holds in the place of a value of a Secret. It is neither base64 nor a label, so no cluster holds a
/// Secret with this value.
pub const REDACTED: &str = "<redacted>";

/// What one evaluation knows.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The Secrets that it came across.
    secrets: Vec<Value>,
    texts: Texts,
}

/// The Secrets that the evaluation of an object came across, and what was made of their values.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    parts: Vec<Arc<Known>>,
    key_masks: KeyMasks,
}

impl Secrets {
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds others.
    pub fn extend(&mut self, others: &Self) {
        for other in &others.parts {
            if !self.parts.iter().any(|part| Arc::ptr_eq(part, other)) {
                self.parts.push(Arc::clone(other));
            }
        }
    }

    /// The Secrets that were seen.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.parts.iter().flat_map(|part| &part.secrets)
    }

    /// The texts that must not be shown.
    pub fn texts(&self) -> Texts {
        let mut parts = self.parts.iter();
        let mut texts = parts.next().map(|part| part.texts.clone()).unwrap_or_default();
        parts.for_each(|part| texts.extend(&part.texts));
        texts.with_key_masks(&self.key_masks)
    }

    /// The texts that must not be shown where two states of an object are, the values of which are added if it is a
    /// Secret.
    pub fn texts_with(&self, states: &[&Value]) -> Texts {
        let mut texts = self.texts();
        for state in states.iter().filter(|state| is_secret(state)) {
            values::forms(state, &mut |text| texts.add(&text));
        }
        texts
    }

    /// Returns a message about a lookup by these texts, with the secrets in it masked.
    pub fn hide_in(&self, message: &str, texts: &[&str]) -> String {
        let known = self.texts();
        let mut hidden: Vec<&str> =
            texts.iter().copied().filter(|text| !text.is_empty() && known.hold(text)).collect();
        hidden.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let shown = hidden.into_iter().fold(message.to_owned(), |shown, text| {
            shown.replace(text, &known.hide_inside(text).unwrap_or_else(|| MASK.to_owned()))
        });
        known.hide_inside(&shown).unwrap_or(shown)
    }
}

/// Secrets without an evaluation.
impl<'a> FromIterator<&'a Value> for Secrets {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(secrets: I) -> Self {
        let taint = TaintTracker::default();
        secrets.into_iter().for_each(|secret| taint.see_secret(secret));
        taint.secrets()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn what_was_applied_last_is_known_too() {
        let secret = json(
            r#"{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
            "{\"kind\":\"Secret\",\"data\":{\"p\":\"b2xkLXZhbHVl\"}}\n"}},"data":{"p":"bmV3"}}"#,
        );
        let secrets: Secrets = [&secret].into_iter().collect();
        assert_eq!(secrets.texts().hide("was old-value").as_deref(), Some("was ***"));
        assert_eq!(secrets.texts().hide("b2xkLXZhbHVl").as_deref(), Some("***"));
    }

    #[test]
    fn padding_and_the_alphabet_of_base64_do_not_matter() {
        for (data, text) in [
            ("aHVudGVyMj8/", "hunter2??"),
            ("aHVudGVyMj8_", "hunter2??"),
            ("aHVudGVyMj8/Pw", "hunter2???"),
            ("aHVudGVyMj8/Pw==", "hunter2???"),
        ] {
            let secret = json(&format!(r#"{{"kind":"Secret","stringData":{{"p":"{data}"}}}}"#));
            let secrets: Secrets = [&secret].into_iter().collect();
            assert!(secrets.texts().hide(text).is_some(), "{data}");
        }
    }
}
