//! What is learned of secrets while an object is evaluated.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::value::{Map, Text, Value};

use super::seeds::{forms, is_secret, odd_values};
use super::{Known, Secrets, StandIns};

/// The secrets of one evaluation: the values of the Secrets that it came across, and whatever was made of them so far.
/// As long as it came across none, to ask it costs one look at a flag.
#[derive(Debug, Default)]
pub struct TaintTracker {
    is_used: AtomicBool,
    keeps_stand_ins: bool,
    known: Mutex<Known>,
}

impl TaintTracker {
    /// A ledger that also works out what would stand in for each text, if that is wanted.
    pub fn new(keeps_stand_ins: bool) -> Self {
        Self { keeps_stand_ins, ..Self::default() }
    }

    /// Whether no Secret was seen.
    pub fn is_blank(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// Whether it works out what would stand in for texts.
    pub const fn keeps_stand_ins(&self) -> bool {
        self.keeps_stand_ins
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an object if it is a Secret.
    pub fn see(&self, object: &Value) {
        if is_secret(object) {
            self.see_secret(object);
        }
    }

    /// Takes in a Secret, whether or not it says that it is one.
    pub fn see_secret(&self, secret: &Value) {
        let mut known = self.known();
        if known.secrets.iter().any(|other| other.same_storage(secret)) {
            return;
        }
        self.is_used.store(true, Ordering::Relaxed);
        known.secrets.push(secret.clone());
        let Known { texts, stand_ins, .. } = &mut *known;
        forms(secret, &mut |text, stand_in| {
            if self.keeps_stand_ins && !text.is_empty() {
                stand_ins.0.entry(text.clone()).or_insert(Value::String(stand_in));
            }
            texts.add(&text);
        });
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

    /// What the value would be if it were made of what stands in for Secrets; `None` where nobody knows.
    pub fn stand_in(&self, value: &Value) -> Option<Value> {
        let known = self.known();
        known.stand_ins.of(value, &known.texts)
    }

    /// Notes a value that was made of others, among which are secret ones: all of its texts, keys and numbers that do not
    /// stand among the others are secret now. `stand_in` is the same, made of what stands in for the others.
    pub fn note(&self, made: &Value, stand_in: Option<&Value>, given: &[&Value]) {
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
        let mut known = self.known();
        Notes { known: &mut known, parts: &parts, keys: &keys, keeps_stand_ins: self.keeps_stand_ins }
            .take(made, stand_in);
    }

    /// Notes a text that was made of secret ones.
    pub fn note_text(&self, text: &Text, stand_in: Option<Text>) {
        self.note(&Value::String(text.clone()), stand_in.map(Value::String).as_ref(), &[]);
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
                        let stand_in = known.stand_ins.of(after, &known.texts);
                        known.texts.add_made(text, false);
                        if let Some(stand_in) = stand_in.filter(|_| self.keeps_stand_ins) {
                            known.stand_ins.0.entry(text.clone()).or_insert(stand_in);
                        }
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

    /// What was learned.
    pub fn secrets(self) -> Secrets {
        if self.is_blank() {
            return Secrets::default();
        }
        Secrets::of(self.known.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was learned so far.
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
    keeps_stand_ins: bool,
}

impl Notes<'_> {
    fn is_given(&self, text: &str) -> bool {
        self.parts.contains(text) || self.keys.contains(text)
    }

    /// The depth of the recursion is that of the value, which its maker bounds.
    fn take(&mut self, made: &Value, stand_in: Option<&Value>) {
        match made {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if !self.is_given(&number.to_string()) {
                    self.known.texts.add_number(number);
                    self.stands_in(&number.to_string().into(), stand_in);
                }
            }
            Value::String(text) => {
                if !self.is_given(text) {
                    self.known.texts.add_made(text, false);
                    self.stands_in(text, stand_in);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.take(item, stand_in.and_then(|stand_in| stand_in.at(index)));
                }
            }
            Value::Object(members) => {
                let others: Option<&Map> = stand_in.and_then(Value::as_object);
                for (index, (key, member)) in members.iter().enumerate() {
                    let other = others.and_then(|others| others.get_index(index));
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
                        self.stands_in(key, other.map(|(key, _)| Value::String(key.clone())).as_ref());
                    }
                    self.take(member, other.map(|(_, member)| member));
                }
            }
        }
    }

    fn stands_in(&mut self, text: &Text, stand_in: Option<&Value>) {
        let scalar = |value: &&Value| !matches!(value, Value::Array(_) | Value::Object(_));
        if let Some(stand_in) = stand_in.filter(scalar).filter(|_| self.keeps_stand_ins) {
            let StandIns(all) = &mut self.known.stand_ins;
            all.entry(text.clone()).or_insert_with(|| stand_in.clone());
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
        let taint = TaintTracker::new(true);
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
        assert_eq!(
            taint.stand_in(&json(r#"["hunter2","a hunter2",5,"x"]"#)),
            Some(json(r#"["masked1","a masked1",5,"k02"]"#))
        );
    }

    #[test]
    fn values_of_odd_types_are_known() {
        let taint = TaintTracker::new(false);
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
        taint.note(
            &json(r#"{"H2":["-",7,true,"hun"]}"#),
            Some(&json(r#"{"S":["-",8,true,"***"]}"#)),
            &[&given],
        );
        for (value, holds) in
            [("\"H2\"", true), ("\"-\"", false), ("7", true), ("true", false), ("\"hun\"", true)]
        {
            assert_eq!(taint.holds(&json(value)), holds, "{value}");
        }
        assert_eq!(taint.stand_in(&json(r#"{"a":"hun","b":7}"#)), Some(json(r#"{"a":"***","b":8}"#)));
        let secrets = taint.secrets();
        assert_eq!(
            secrets.texts().replaced(&json(r#"{"data":{"H2":"hun","n":7}}"#)),
            json(r#"{"data":{"***":"***","n":"***"}}"#)
        );
    }

    #[test]
    fn what_nothing_stands_in_for_is_told() {
        let taint = taint();
        taint.note_text(&"HUNTER2".into(), None);
        assert_eq!(taint.stand_in(&"HUNTER2".into()), None);
        assert_eq!(taint.stand_in(&"a HUNTER2".into()), None);
        assert_eq!(taint.stand_in(&"b".into()), Some("b".into()));
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
