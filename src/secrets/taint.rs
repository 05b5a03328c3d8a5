//! What an evaluation learns of secrets.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::{Text, Value};

use super::values::{forms, is_secret, odd_values};
use super::{Known, REDACTED, Secrets};

/// The secrets of one evaluation: the values of the Secrets that it came across, and whatever was made of them so far.
/// As long as it came across none, a question about them costs one look at a flag.
#[derive(Debug, Default)]
pub struct TaintTracker {
    is_used: AtomicBool,
    /// Whether the answers come from a recording without the values of Secrets.
    pub(super) is_replay: bool,
    /// Whether a rule came to depend on a redacted value.
    pub(super) reads_redacted: AtomicBool,
    known: Mutex<Known>,
}

impl TaintTracker {
    /// Returns a tracker that knows no Secret. With `is_replay` the answers come from a recording without the values of
    /// Secrets, and the tracker notices which rules need one.
    pub fn new(is_replay: bool) -> Self {
        let taint = Self { is_used: AtomicBool::new(is_replay), is_replay, ..Self::default() };
        if is_replay {
            taint.known().texts.add(&REDACTED.into());
        }
        taint
    }

    /// Whether no Secret was seen.
    pub fn is_blank(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// Whether the answers come from a recording without the values of Secrets.
    pub const fn is_replay(&self) -> bool {
        self.is_replay
    }

    pub(super) fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns an object if it is a Secret.
    pub fn see(&self, object: &Value) {
        if is_secret(object) {
            self.see_secret(object);
        }
    }

    /// Learns a Secret, whether or not it names its kind.
    pub fn see_secret(&self, secret: &Value) {
        let mut known = self.known();
        if known.secrets.iter().any(|other| other.same_storage(secret)) {
            return;
        }
        self.is_used.store(true, Ordering::Relaxed);
        known.secrets.push(secret.clone());
        let texts = &mut known.texts;
        forms(secret, &mut |text| texts.add(&text));
        for odd in odd_values(secret) {
            match odd {
                Value::String(text) => texts.add(text),
                Value::Number(number) => texts.add_number(number),
                _ => {}
            }
        }
    }

    /// Whether a value is secret or holds what is.
    pub fn holds(&self, value: &Value) -> bool {
        !self.is_blank() && self.known().texts.are_in(value)
    }

    /// Whether a text is secret or holds what is.
    pub fn holds_text(&self, text: &str) -> bool {
        !self.is_blank() && self.known().texts.hold(text)
    }

    /// Whether a key of an object is secret or holds what is.
    pub fn hides_key(&self, key: &str) -> bool {
        !self.is_blank() && self.known().texts.hides_key(key)
    }

    /// Whether what is secret in a text would be found in a longer one.
    pub fn finds(&self, text: &str) -> bool {
        self.known().texts.spans(text).is_some_and(|spans| !spans.is_empty())
    }

    /// Notes what a call made of its arguments, where secret ones are among them: all texts, keys and numbers of the result
    /// that are not among the arguments are secret now. This is the hook of all expression languages.
    pub fn note_call(&self, made: &Value, arguments: &[&Value]) {
        if arguments.iter().any(|argument| self.holds(argument)) {
            self.note(made, arguments);
        }
    }

    /// Notes a value that was made of others, among which are secret ones.
    pub fn note(&self, made: &Value, given: &[&Value]) {
        let (mut parts, mut keys) = (BTreeSet::new(), BTreeSet::new());
        let mut open = given.to_vec();
        while let Some(node) = open.pop() {
            match node {
                Value::Null | Value::Bool(_) => {}
                Value::Number(number) => drop(parts.insert(number.to_string().into())),
                Value::String(text) => drop(parts.insert(text.clone())),
                Value::Array(items) => open.extend(items.iter()),
                Value::Object(members) => {
                    keys.extend(members.keys().cloned());
                    open.extend(members.values());
                }
            }
        }
        Notes { known: &mut self.known(), parts: &parts, keys: &keys }.take(made);
    }

    /// Notes a text that was made of secret ones.
    pub fn note_text(&self, text: &str) {
        self.note(&text.into(), &[]);
    }

    /// Notes a text of messages that was made of secret ones.
    pub fn note_message(&self, text: &str) {
        self.known().texts.add_made(&text.into(), false);
    }

    /// Notes that a secret text is the key of an object.
    pub fn note_key(&self, key: &Text) {
        self.known().texts.add_key(key, false);
    }

    /// Notes the texts, keys and numbers of an object that are new in it, if no text they come from holds them: a patch
    /// was read from a text that secrets had been written into.
    pub fn note_new(&self, before: &Value, after: &Value, source: &str) {
        let written = |text: &str| source.contains(text);
        let mut known = self.known();
        let mut open = vec![(Some(before), after)];
        while let Some((before, after)) = open.pop() {
            match after {
                Value::Null | Value::Bool(_) => {}
                Value::String(text) => {
                    if before.and_then(Value::as_str) != Some(text) && !written(text) {
                        known.texts.add_made(text, false);
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
                    let same = |item: &Value| old.iter().take(OLD_ELEMENTS).any(|old| old.same_storage(item));
                    let new = items.iter().enumerate().filter(|(_, item)| !same(item));
                    open.extend(new.map(|(index, item)| (old.get(index), item)));
                }
                Value::Object(members) => {
                    for (key, member) in members.iter() {
                        let old = before.and_then(|before| before.get(key));
                        let in_path = || written(&key.replace('~', "~0").replace('/', "~1"));
                        if old.is_none() && !written(key) && !in_path() {
                            known.texts.add_key(key, false);
                        }
                        open.push((old, member));
                    }
                }
            }
        }
    }

    /// Returns what was learned.
    pub fn secrets(self) -> Secrets {
        if self.is_blank() {
            return Secrets::default();
        }
        Secrets::of(self.known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what was learned so far.
    pub fn secrets_so_far(&self) -> Secrets {
        if self.is_blank() { Secrets::default() } else { Secrets::of(self.known().clone()) }
    }
}

/// So many elements of a list are looked at for one that was moved.
const OLD_ELEMENTS: usize = 100;

impl Secrets {
    fn of(known: Known) -> Self {
        Self { parts: vec![Arc::new(known)], ..Self::default() }
    }
}

/// The notes on one value.
struct Notes<'a> {
    known: &'a mut Known,
    /// The texts and numbers that it was made of.
    parts: &'a BTreeSet<Text>,
    /// The keys in what it was made of.
    keys: &'a BTreeSet<Text>,
}

impl Notes<'_> {
    fn is_given(&self, text: &str) -> bool {
        self.parts.contains(text) || self.keys.contains(text)
    }

    /// The depth of the recursion is that of the value, which its maker bounds.
    fn take(&mut self, made: &Value) {
        match made {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if !self.is_given(&number.to_string()) {
                    self.known.texts.add_number(number);
                }
            }
            Value::String(text) => {
                if !self.is_given(text) {
                    self.known.texts.add_made(text, false);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.take(item)),
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    if self.keys.contains(key) {
                        // It was the name of something before.
                    } else if self.parts.contains(key) {
                        if self.known.texts.knows(key) {
                            self.known.texts.add_key(key, false);
                        }
                    } else {
                        // The names in what a Secret holds are words of everywhere.
                        let is_word = key.len() < 8 && key.bytes().all(|byte| byte.is_ascii_alphabetic());
                        self.known.texts.add_key(key, is_word);
                    }
                    self.take(member);
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
        taint.see(&json(r#"{"kind":"ConfigMap","data":{"p":"open"}}"#));
        assert!(taint.is_blank() && !taint.holds(&"open".into()));
        taint.see(&json(r#"{"kind":"Secret","data":{"p":"aHVudGVyMg==","q":"eA=="}}"#));
        taint
    }

    #[test]
    fn values_are_known_as_they_are_and_decoded() {
        let taint = taint();
        for text in ["aHVudGVyMg==", "is hunter2", "x", "eA=="] {
            assert!(taint.holds(&text.into()), "{text}");
        }
        assert!(!taint.holds(&"ax".into()));
    }

    #[test]
    fn values_of_odd_types_are_known() {
        let taint = TaintTracker::default();
        taint.see(&json(r#"{"kind":"Secret","data":{"a":5,"b":{"c":["d-word",true]},"e":"dGV4dA=="},"stringData":"whole"}"#));
        for (value, holds) in [
            ("5", true),
            ("\"d-word\"", true),
            ("6", false),
            ("true", false),
            ("\"text\"", true),
            ("\"whole\"", true),
        ] {
            assert_eq!(taint.holds(&json(value)), holds, "{value}");
        }
    }

    #[test]
    fn what_is_made_of_them_is_known_and_what_it_is_made_with_is_not() {
        let taint = taint();
        let given = json(r#"["hunter2","-"]"#);
        taint.note(&json(r#"{"H2":["-",7,true,"hun"]}"#), &[&given]);
        for (value, holds) in
            [("\"H2\"", true), ("\"-\"", false), ("7", true), ("true", false), ("\"hun\"", true)]
        {
            assert_eq!(taint.holds(&json(value)), holds, "{value}");
        }
        let secrets = taint.secrets();
        assert_eq!(
            secrets.texts().replaced(&json(r#"{"data":{"H2":"hun","n":7}}"#)),
            json(r#"{"data":{"***":"***","n":"***"}}"#)
        );
    }

    #[test]
    fn what_a_patch_brought_is_known_unless_it_is_written_in_the_rule() {
        let taint = taint();
        let before = json(r#"{"data":{"a":"b"}}"#);
        let after = json(r#"{"data":{"a":"b","hu":"pre-hu","fixed":"yes","n":12}}"#);
        taint.note_new(&before, &after, "path: /data/{{ x }}, value: pre-{{ x }}, fixed yes");
        for (value, holds) in
            [("\"hu\"", true), ("\"pre-hu\"", true), ("12", true), ("\"b\"", false), ("\"yes\"", false)]
        {
            assert_eq!(taint.holds(&json(value)), holds, "{value}");
        }
    }
}
