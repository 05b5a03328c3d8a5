//! Values of Secrets and texts derived from them, which output must not contain.
//!
//! A [`TaintTracker`] belongs to the evaluation of one object. It learns the values of each Secret that is read, encoded
//! and decoded. The results of functions, variables and patches that use a tainted text are tainted, too. Taint belongs to
//! the text and not to the value, because values are written into texts and parsed again. Booleans and lengths are never
//! tainted.
//!
//! The report has the result, [`Secrets`], with which output is redacted. A recording contains Secrets without their values
//! ([`redact`]); in a replay the tracker notices which rules need one.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod keys;
mod redacted;
mod server_fields;
mod taint;
mod texts;
mod values;

use std::sync::{Arc, Mutex, PoisonError};

use crate::value::Value;

use keys::KeyMasks;

pub use redacted::redact;
pub use server_fields::mask_server_fields;
pub use taint::TaintTracker;
pub use texts::TaintedTexts;
pub use values::{Fields, LAST_APPLIED, fields, is_secret};

/// The placeholder in output.
pub const MASK: &str = "***";

/// The placeholder in recordings. It is neither base64 nor a label, so that no cluster has a Secret with this value.
pub const REDACTED: &str = "<redacted>";

/// The taint of one evaluation.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The Secrets that were read.
    secrets: Vec<Value>,
    texts: TaintedTexts,
}

/// The Secrets that the evaluation of an object read, and the texts derived from their values.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    parts: Vec<Arc<Known>>,
    key_masks: KeyMasks,
    last: LastTexts,
}

/// The texts that were asked for last, with the states of the object.
#[derive(Debug, Default)]
struct LastTexts(Mutex<Option<(Vec<Value>, Arc<TaintedTexts>)>>);

/// A copy may get other Secrets.
impl Clone for LastTexts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Secrets {
    /// Whether no Secret was read.
    pub const fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Adds the Secrets and texts of another evaluation.
    pub fn extend(&mut self, others: &Self) {
        for other in &others.parts {
            if !self.parts.iter().any(|part| Arc::ptr_eq(part, other)) {
                self.parts.push(Arc::clone(other));
            }
        }
        self.last = LastTexts::default();
    }

    /// The tainted texts.
    pub fn texts(&self) -> TaintedTexts {
        let mut parts = self.parts.iter();
        let mut texts = parts.next().map(|part| part.texts.clone()).unwrap_or_default();
        parts.for_each(|part| texts.extend(&part.texts));
        texts.with_key_masks(&self.key_masks)
    }

    /// The tainted texts, with the values of those states of an object that are Secrets.
    pub fn texts_with<'v>(&self, states: impl IntoIterator<Item = &'v Value>) -> Arc<TaintedTexts> {
        let secrets: Vec<&Value> = states.into_iter().filter(|state| is_secret(state)).collect();
        let mut last = self.last.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, texts)) = &*last
            && known.len() == secrets.len()
            && known.iter().zip(&secrets).all(|(known, secret)| known.same_storage(secret))
        {
            return Arc::clone(texts);
        }
        let mut texts = self.texts();
        for (index, secret) in secrets.iter().enumerate() {
            let earlier = index.checked_sub(1).map(|earlier| secrets[earlier]);
            values::forms(secret, earlier, &mut |text| texts.add(&text));
        }
        let texts = Arc::new(texts);
        *last = Some((secrets.into_iter().cloned().collect(), Arc::clone(&texts)));
        texts
    }

    /// A redacted message about a lookup, which may contain these texts of the lookup.
    pub fn redact_message(&self, message: &str, texts: &[&str]) -> String {
        let tainted = self.texts();
        let mut found: Vec<&str> =
            texts.iter().copied().filter(|text| !text.is_empty() && tainted.are_in_text(text)).collect();
        found.sort_by_key(|text| std::cmp::Reverse(text.len()));
        let redacted = found.into_iter().fold(message.to_owned(), |message, text| {
            message.replace(text, &tainted.redacted_message(text).unwrap_or_else(|| MASK.to_owned()))
        });
        tainted.redacted_message(&redacted).unwrap_or(redacted)
    }
}

/// The values of Secrets without an evaluation.
impl<'a> FromIterator<&'a Value> for Secrets {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(secrets: I) -> Self {
        let taint = TaintTracker::default();
        secrets.into_iter().for_each(|secret| taint.track_secret(secret));
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
    fn the_values_of_the_last_applied_annotation_are_tainted() {
        let secret = json(
            r#"{"kind":"Secret","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":
            "{\"kind\":\"Secret\",\"data\":{\"p\":\"b2xkLXZhbHVl\"}}\n"}},"data":{"p":"bmV3"}}"#,
        );
        let secrets: Secrets = [&secret].into_iter().collect();
        assert_eq!(secrets.texts().redacted("was old-value").as_deref(), Some("was ***"));
        assert_eq!(secrets.texts().redacted("b2xkLXZhbHVl").as_deref(), Some("***"));
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
            assert!(secrets.texts().redacted(text).is_some(), "{data}");
        }
    }
}
