//! Taint tracking of substitutions.

use crate::secrets::TaintTracker;
use crate::value::{Text, Value};

use super::{Query, quoted};

type Secrets<'a> = Option<&'a TaintTracker>;

/// Whether secrets were inserted into a text, over all rounds of replacement.
#[derive(Default)]
pub(super) struct TextTaint {
    is_tainted: bool,
    /// Whether one of them would not be found in the text.
    is_hidden: bool,
    /// Whether the text of the current round, and so its expressions, contain secrets.
    is_round_tainted: bool,
}

impl TextTaint {
    pub(super) const fn begin_round(&mut self) {
        self.is_round_tainted = self.is_tainted;
    }

    /// Notes an expression of the round, which messages may contain.
    pub(super) fn note_query(&self, query: &Query, secrets: Secrets<'_>) {
        if let Some(secrets) = secrets.filter(|_| self.is_round_tainted) {
            secrets.note_message(query.text());
            secrets.note_message(&quoted(query.text()));
        }
    }

    /// Notes the value of an expression of the round.
    pub(super) fn note_value(&self, value: &Value, secrets: Secrets<'_>) {
        if let Some(secrets) = secrets.filter(|_| self.is_round_tainted) {
            secrets.note_derived(value, &[]);
        }
    }

    /// Notes a value that is inserted into the text.
    pub(super) fn insert(&mut self, value: &Value, secrets: Secrets<'_>) {
        let Some(secrets) = secrets.filter(|secrets| secrets.is_tainted(value)) else { return };
        secrets.note_read(value);
        self.is_tainted = true;
        self.is_hidden |= !value.as_str().is_some_and(|text| secrets.is_found_inside(text));
    }

    /// Notes the final text if it contains secrets that would not be found in it.
    pub(super) fn note_text(&self, text: &str, secrets: Secrets<'_>) {
        if let Some(secrets) = secrets.filter(|_| self.is_hidden) {
            secrets.note_text(text);
        }
    }
}

/// Notes a key with replaced variables.
pub(super) fn note_key(key: &Text, secrets: Secrets<'_>) {
    if let Some(secrets) = secrets.filter(|secrets| secrets.is_tainted_text(key)) {
        secrets.note_key(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tracker for which `hunter2` and `x` are secret.
    fn taint() -> TaintTracker {
        let taint = TaintTracker::default();
        taint
            .track(&Value::from_json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"eA=="}}"#).unwrap());
        taint
    }

    #[test]
    fn a_text_is_noted_if_its_secrets_would_not_be_found_in_it() {
        for (value, text, is_noted) in
            [("hunter2", "a hunter2!", false), ("x", "x-x", true), ("open", "an open word", false)]
        {
            let secrets = taint();
            let mut text_taint = TextTaint::default();
            text_taint.begin_round();
            text_taint.insert(&value.into(), Some(&secrets));
            text_taint.note_text(text, Some(&secrets));
            assert_eq!(secrets.is_tainted_text(text), is_noted || value == "hunter2", "{value}");
        }
    }

    #[test]
    fn expressions_are_noted_from_the_second_round_on() {
        let secrets = taint();
        let mut text_taint = TextTaint::default();
        text_taint.begin_round();
        text_taint.insert(&"hunter2".into(), Some(&secrets));
        text_taint.note_value(&"first value".into(), Some(&secrets));
        assert!(!secrets.is_tainted_text("first value"));
        text_taint.begin_round();
        text_taint.note_value(&"second value".into(), Some(&secrets));
        assert!(secrets.is_tainted_text("second value"));
    }
}
