//! The taint tracker of an evaluation.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::{Text, Value, escaped_token};

use super::values::{forms, is_secret, values_of_other_types};
use super::{Known, REDACTED, Secrets};

/// The values of the Secrets that an evaluation read, and the texts derived from them. Without Secrets each check costs
/// one load of a flag.
#[derive(Debug, Default)]
pub struct TaintTracker {
    is_used: AtomicBool,
    /// Whether responses come from a recording, where values of Secrets are redacted.
    pub(super) is_replay: bool,
    /// Whether the current rule depends on a redacted value.
    pub(super) reads_redacted: AtomicBool,
    known: Mutex<Known>,
}

impl TaintTracker {
    /// A tracker without Secrets. With `is_replay` responses come from a recording, where values of Secrets are redacted,
    /// and the tracker notices which rules need one.
    pub fn new(is_replay: bool) -> Self {
        let taint = Self { is_used: AtomicBool::new(is_replay), is_replay, ..Self::default() };
        if is_replay {
            taint.known().texts.add(&REDACTED.into());
        }
        taint
    }

    /// Whether no Secret was read.
    pub fn is_blank(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// Whether responses come from a recording, where values of Secrets are redacted.
    pub const fn is_replay(&self) -> bool {
        self.is_replay
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns an object if it is a Secret.
    pub fn track(&self, object: &Value) {
        if is_secret(object) {
            self.track_secret(object);
        }
    }

    /// Learns a Secret, which may have no kind.
    pub(super) fn track_secret(&self, secret: &Value) {
        let mut known = self.known();
        if known.secrets.iter().any(|other| other.same_storage(secret)) {
            return;
        }
        self.is_used.store(true, Ordering::Relaxed);
        known.secrets.push(secret.clone());
        let texts = &mut known.texts;
        forms(secret, None, &mut |text| texts.add(&text));
        for value in values_of_other_types(secret) {
            match value {
                Value::String(text) => texts.add(text),
                Value::Number(number) => texts.add_number(number),
                _ => {}
            }
        }
    }

    /// Whether a value is or contains something tainted.
    pub fn is_tainted(&self, value: &Value) -> bool {
        !self.is_blank() && self.known().texts.are_in(value)
    }

    /// Whether a text is or contains something tainted.
    pub fn is_tainted_text(&self, text: &str) -> bool {
        !self.is_blank() && self.known().texts.are_in_text(text)
    }

    /// Whether a key of an object is or contains something tainted.
    pub fn is_tainted_key(&self, key: &str) -> bool {
        !self.is_blank() && self.known().texts.are_in_key(key)
    }

    /// Whether the tainted part of a text would be found in a longer text, too.
    pub fn is_found_inside(&self, text: &str) -> bool {
        self.known().texts.spans(text).is_some_and(|spans| !spans.is_empty())
    }

    /// Notes the result of a call: if an argument is tainted, all texts, keys and numbers of the result that are not in the
    /// arguments are tainted, too. All expression languages call this.
    pub fn note_call(&self, result: &Value, arguments: &[&Value]) {
        if arguments.iter().any(|argument| self.is_tainted(argument)) {
            self.note_derived(result, arguments);
        }
    }

    /// Notes a value that was derived from others, of which some are tainted.
    pub fn note_derived(&self, derived: &Value, sources: &[&Value]) {
        let (mut scalars, mut keys) = (BTreeSet::new(), BTreeSet::new());
        let mut open = sources.to_vec();
        while let Some(node) = open.pop() {
            match node {
                Value::Null | Value::Bool(_) => {}
                Value::Number(number) => drop(scalars.insert(number.to_string().into())),
                Value::String(text) => drop(scalars.insert(text.clone())),
                Value::Array(items) => open.extend(items.iter()),
                Value::Object(members) => {
                    keys.extend(members.keys().cloned());
                    open.extend(members.values());
                }
            }
        }
        Derivation { known: &mut self.known(), scalars: &scalars, keys: &keys }.note(derived);
    }

    /// Notes a text that was derived from tainted ones.
    pub fn note_text(&self, text: &str) {
        self.note_derived(&text.into(), &[]);
    }

    /// Notes a text for messages that was derived from tainted ones.
    pub fn note_message(&self, text: &str) {
        self.known().texts.add_derived(&text.into(), false);
    }

    /// Notes that a tainted text is the key of an object.
    pub fn note_key(&self, key: &Text) {
        self.known().texts.add_key(key, false);
    }

    /// Notes the texts, keys and numbers that a patch added to an object. `source` is the patch as written in the rule;
    /// what it contains is not tainted.
    pub fn note_new(&self, before: &Value, after: &Value, source: &str) {
        // What the object is called is no secret.
        let names = ["name", "namespace"]
            .map(|field| before.path(&["metadata", field]).and_then(Value::as_str).unwrap_or_default());
        let written = |text: &str| source.contains(text) || names.contains(&text);
        let mut known = self.known();
        let mut open = vec![(Some(before), after)];
        while let Some((before, after)) = open.pop() {
            match after {
                Value::Null | Value::Bool(_) => {}
                Value::String(text) => {
                    if before.and_then(Value::as_str) != Some(text) && !written(text) {
                        known.texts.add_derived(text, false);
                    }
                }
                Value::Number(number) => {
                    if before != Some(after) && !written(&number.to_string()) {
                        known.texts.add_number(number);
                    }
                }
                Value::Array(items) => {
                    let old = before.and_then(Value::as_array).unwrap_or_default();
                    // An operation may have moved an element.
                    let same = |item: &Value| {
                        old.iter().take(MAX_COMPARED_ELEMENTS).any(|old| old.same_storage(item))
                    };
                    let new = items.iter().enumerate().filter(|(_, item)| !same(item));
                    open.extend(new.map(|(index, item)| (old.get(index), item)));
                }
                Value::Object(members) => {
                    for (key, member) in members.iter() {
                        let old = before.and_then(|before| before.get(key));
                        let in_path = || written(&escaped_token(key));
                        if old.is_none() && !written(key) && !in_path() {
                            known.texts.add_key(key, false);
                        }
                        open.push((old, member));
                    }
                }
            }
        }
    }

    /// The result.
    pub fn secrets(self) -> Secrets {
        if self.is_blank() {
            return Secrets::default();
        }
        Secrets::of(self.known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current state.
    pub fn secrets_so_far(&self) -> Secrets {
        if self.is_blank() { Secrets::default() } else { Secrets::of(self.known().clone()) }
    }
}

/// The maximum number of elements of a list that are compared with one that may have been moved.
const MAX_COMPARED_ELEMENTS: usize = 100;

impl Secrets {
    fn of(known: Known) -> Self {
        Self { parts: vec![Arc::new(known)], ..Self::default() }
    }
}

/// How a value was derived.
struct Derivation<'a> {
    known: &'a mut Known,
    /// The texts and numbers of its sources.
    scalars: &'a BTreeSet<Text>,
    /// The keys in its sources.
    keys: &'a BTreeSet<Text>,
}

impl Derivation<'_> {
    fn is_source(&self, text: &str) -> bool {
        self.scalars.contains(text) || self.keys.contains(text)
    }

    /// Adds the new texts of the derived value. The depth of the value is limited.
    fn note(&mut self, derived: &Value) {
        match derived {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if !self.is_source(&number.to_string()) {
                    self.known.texts.add_number(number);
                }
            }
            Value::String(text) => {
                if !self.is_source(text) {
                    self.known.texts.add_derived(text, false);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.note(item)),
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    if self.keys.contains(key) {
                        // It was a key before.
                    } else if self.scalars.contains(key) {
                        if self.known.texts.contains(key) {
                            self.known.texts.add_key(key, false);
                        }
                    } else {
                        // Keys in the value of a Secret are often common words.
                        let is_word = key.len() < 8 && key.bytes().all(|byte| byte.is_ascii_alphabetic());
                        self.known.texts.add_key(key, is_word);
                    }
                    self.note(member);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    fn taint() -> TaintTracker {
        let taint = TaintTracker::default();
        taint.track(&json(r#"{"kind":"ConfigMap","data":{"p":"open"}}"#));
        assert!(taint.is_blank() && !taint.is_tainted(&"open".into()));
        taint.track(&json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"eA=="}}"#));
        taint
    }

    #[test]
    fn values_are_tainted_encoded_and_decoded() {
        let taint = taint();
        for text in ["aHVudGVyMg==", "is hunter2", "x", "eA=="] {
            assert!(taint.is_tainted(&text.into()), "{text}");
        }
        assert!(!taint.is_tainted(&"ax".into()));
    }

    #[test]
    fn values_of_other_types_are_tainted() {
        let taint = TaintTracker::default();
        taint.track(&json(r#"{"kind":"Secret","data":{"a":5,"b":{"c":["d-word",true]},"e":"dGV4dA=="},"stringData":"whole"}"#));
        for (value, holds) in [
            ("5", true),
            ("\"d-word\"", true),
            ("6", false),
            ("true", false),
            ("\"text\"", true),
            ("\"whole\"", true),
        ] {
            assert_eq!(taint.is_tainted(&json(value)), holds, "{value}");
        }
    }

    #[test]
    fn derived_texts_are_tainted_and_their_other_sources_are_not() {
        let taint = taint();
        let source = json(r#"["hunter2","-"]"#);
        taint.note_derived(&json(r#"{"H2":["-",7,true,"hun"]}"#), &[&source]);
        for (value, holds) in
            [("\"H2\"", true), ("\"-\"", false), ("7", true), ("true", false), ("\"hun\"", true)]
        {
            assert_eq!(taint.is_tainted(&json(value)), holds, "{value}");
        }
        let secrets = taint.secrets();
        assert_eq!(
            secrets.texts().redacted_object(&json(r#"{"data":{"H2":"hun","n":7}}"#)),
            json(r#"{"data":{"***":"***","n":"***"}}"#)
        );
    }

    #[test]
    fn texts_of_a_patch_are_tainted_unless_they_are_in_the_rule() {
        let taint = taint();
        let before = json(r#"{"data":{"a":"b"}}"#);
        let after = json(r#"{"data":{"a":"b","hu":"pre-hu","fixed":"yes","n":12}}"#);
        taint.note_new(&before, &after, "path: /data/{{ x }}, value: pre-{{ x }}, fixed yes");
        for (value, holds) in
            [("\"hu\"", true), ("\"pre-hu\"", true), ("12", true), ("\"b\"", false), ("\"yes\"", false)]
        {
            assert_eq!(taint.is_tainted(&json(value)), holds, "{value}");
        }
    }
}
