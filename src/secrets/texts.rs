//! Texts that must not be shown.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::value::{Map, Number, Pointer, Segment, Text, Value};

use super::{KeyMasks, MASK, REDACTED};

/// A secret text this short is masked only where it is the whole of a string: inside of other text it would
/// hide what is no secret.
const SHORTEST_INSIDE: usize = 4;

/// A value this short hides no key that was not made of it.
const SHORTEST_KEY: usize = 8;

/// The bytes that texts found inside of others begin with.
const START: usize = 4;

/// So many bytes are compared in one text; beyond, all of it is masked.
const COMPARED: usize = 1 << 24;

/// So many texts that were made of secrets are kept, and so many bytes of them; beyond, all texts are masked.
const MOST_MADE: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;

/// So long is a text at most that is looked for in the escapes of addresses, too.
const LONGEST_ADDRESS: usize = 1 << 10;

/// Names that every object has. No mask takes the place of one, whatever the values of Secrets are.
const FIELDS: [&str; 44] = [
    "annotations",
    "apiVersion",
    "args",
    "command",
    "conditions",
    "configMap",
    "containers",
    "data",
    "effect",
    "env",
    "envFrom",
    "finalizers",
    "group",
    "host",
    "image",
    "initContainers",
    "items",
    "key",
    "kind",
    "labels",
    "matchLabels",
    "message",
    "metadata",
    "mode",
    "name",
    "namespace",
    "operator",
    "ownerReferences",
    "path",
    "port",
    "ports",
    "protocol",
    "resources",
    "rules",
    "secret",
    "selector",
    "spec",
    "status",
    "stringData",
    "template",
    "type",
    "user",
    "value",
    "volumes",
];

/// Where a node stands in an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Metadata,
    Below,
}

impl Place {
    const fn below(self, key: &str) -> Self {
        match (self, key.as_bytes()) {
            (Self::Root, b"metadata") => Self::Metadata,
            _ => Self::Below,
        }
    }

    /// Whether what stands under a key says which object it is.
    fn is_identity(self, key: &str) -> bool {
        match self {
            Self::Root => matches!(key, "apiVersion" | "kind"),
            Self::Metadata => matches!(key, "name" | "namespace"),
            Self::Below => false,
        }
    }

    /// Whether a key there is the name of a field.
    fn is_field(self, key: &str) -> bool {
        self != Self::Below || FIELDS.binary_search(&key).is_ok()
    }
}

/// Texts that must not be shown.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    whole: IndexSet<Text, RandomState>,
    /// Those that are looked for inside of other text, by their first bytes.
    inside: IndexMap<[u8; START], Vec<Text>, RandomState>,
    /// Those that became keys of objects.
    keys: BTreeSet<Text>,
    /// Those that were made as numbers.
    numbers: BTreeSet<Text>,
    /// How many of them were made, and how many bytes those have.
    made: (usize, usize),
    /// There were too many: every text is one of them.
    is_full: bool,
    key_masks: KeyMasks,
    /// What is shown in their place; `None` for [`MASK`].
    mask: Option<&'static str>,
}

impl Texts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && !self.is_full
    }

    /// Whether a text is one of them.
    pub(super) fn knows(&self, text: &str) -> bool {
        self.is_full || self.whole.contains(text)
    }

    /// Whether a key is one of them, and not by chance.
    fn is_key(&self, key: &str) -> bool {
        self.keys.contains(key) || key.len() >= SHORTEST_KEY && self.whole.contains(key)
    }

    /// The same texts with these masks in keys.
    pub(super) fn with_key_masks(mut self, masks: &KeyMasks) -> Self {
        self.key_masks = masks.clone();
        self
    }

    /// The same texts, redacted for a recording.
    pub(super) fn redacting(self) -> Self {
        Self { mask: Some(REDACTED), key_masks: KeyMasks::default(), ..self }
    }

    fn mask(&self) -> &'static str {
        self.mask.unwrap_or(MASK)
    }

    /// Whether a key somewhere in an object is one of them or holds one.
    pub(super) fn hides_key(&self, key: &str) -> bool {
        self.hides_key_at(key, Place::Below)
    }

    /// Adds a value of a Secret.
    pub(super) fn add(&mut self, text: &Text) {
        if !text.is_empty() && self.whole.insert(text.clone()) {
            self.add_inside(text);
        }
    }

    /// Adds what was made of one. A word is looked for as the whole of a text alone.
    pub(super) fn add_made(&mut self, text: &Text, is_word: bool) {
        if self.is_full || text.trim().is_empty() || !self.whole.insert(text.clone()) {
            return;
        }
        self.made = (self.made.0 + 1, self.made.1 + text.len());
        if self.made.0 > MOST_MADE || self.made.1 > MOST_BYTES {
            self.is_full = true;
        } else if !is_word {
            self.add_inside(text);
        }
    }

    pub(super) fn add_key(&mut self, key: &Text, is_word: bool) {
        self.add_made(key, is_word);
        if !self.is_full {
            self.keys.insert(key.clone());
        }
    }

    pub(super) fn add_number(&mut self, number: &Number) {
        let text = Text::from(number.to_string());
        self.add_made(&text, false);
        if !self.is_full {
            self.numbers.insert(text);
        }
    }

    fn add_inside(&mut self, text: &Text) {
        if text.chars().nth(SHORTEST_INSIDE - 1).is_none() {
            return;
        }
        // Messages quote texts as Go or JSON do, or as a part of an address.
        let mut forms = vec![text.clone()];
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            forms.push(Value::String(text.clone()).to_json().trim_matches('"').into());
        }
        if text.len() <= LONGEST_ADDRESS && text.bytes().any(|byte| !is_plain_in_addresses(byte)) {
            forms.push(in_addresses(text).into());
        }
        for form in forms {
            if let Some(start) = form.as_bytes().first_chunk::<START>().copied() {
                self.inside.entry(start).or_default().push(form);
            }
        }
    }

    /// Takes in the texts of another.
    pub(super) fn extend(&mut self, other: &Self) {
        for (start, texts) in &other.inside {
            let new = texts.iter().filter(|text| !self.whole.contains(*text)).cloned();
            self.inside.entry(*start).or_default().extend(new);
        }
        self.whole.extend(other.whole.iter().cloned());
        self.keys.extend(other.keys.iter().cloned());
        self.numbers.extend(other.numbers.iter().cloned());
        self.made = (self.made.0 + other.made.0, self.made.1 + other.made.1);
        self.is_full |= other.is_full;
    }

    /// The places in a text where one of them stands, from left to right; `None` where there is too much to compare.
    pub(super) fn spans(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.inside.is_empty() {
            return Some(found);
        }
        let mut compared = 0;
        for (start, window) in bytes.windows(START).enumerate() {
            let Some(candidates) = <[u8; START]>::try_from(window).ok().and_then(|key| self.inside.get(&key))
            else {
                continue;
            };
            let mut end = start;
            for candidate in candidates {
                let candidate = candidate.as_bytes();
                compared += START;
                let Some(there) = bytes.get(start..start + candidate.len()) else { continue };
                if there == candidate {
                    compared += candidate.len();
                    end = end.max(start + candidate.len());
                }
                if compared > COMPARED {
                    return None;
                }
            }
            if end > start {
                match found.last_mut() {
                    Some(last) if start < last.end => last.end = last.end.max(end),
                    _ => found.push(start..end),
                }
            }
        }
        Some(found)
    }

    /// Whether a text is one of them or holds one.
    pub fn hold(&self, text: &str) -> bool {
        self.knows(text) || self.spans(text).is_none_or(|spans| !spans.is_empty())
    }

    /// Whether a number is one of them.
    pub(super) fn knows_number(&self, number: &Number) -> bool {
        if self.whole.is_empty() {
            return self.is_full;
        }
        let text = number.to_string();
        self.is_full
            || self.numbers.contains(&*text)
            || text.len() >= SHORTEST_INSIDE && self.whole.contains(&*text)
    }

    /// A value without them; `None` where it holds none.
    pub fn hide(&self, text: &str) -> Option<String> {
        if self.knows(text) && !text.is_empty() {
            Some(self.mask().to_owned())
        } else {
            self.hide_inside(text)
        }
    }

    /// A message without them; `None` where it holds none.
    pub fn hide_inside(&self, text: &str) -> Option<String> {
        if self.is_full && !text.is_empty() {
            return Some(self.mask().to_owned());
        }
        let Some(spans) = self.spans(text) else { return Some(self.mask().to_owned()) };
        self.with(text, &spans, |_| self.mask().into())
    }

    /// A text with others in the place of parts.
    fn with(&self, text: &str, spans: &[Range<usize>], other: impl Fn(&str) -> Text) -> Option<String> {
        if spans.is_empty() {
            return None;
        }
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for span in spans {
            out.push_str(text.get(at..span.start)?);
            out.push_str(&other(text.get(span.clone())?));
            at = span.end;
        }
        out.push_str(text.get(at..)?);
        Some(out)
    }

    /// An object without them. What it is called and the names of its fields stay.
    pub fn replaced(&self, object: &Value) -> Value {
        if self.is_empty() {
            return object.clone();
        }
        self.replaced_at(object, Place::Root)
    }

    /// A key somewhere in an object, without them.
    pub fn shown_key(&self, key: &Text) -> Text {
        self.hidden_key(key, Place::Below).unwrap_or_else(|| key.clone())
    }

    /// A place in an object, without them.
    pub fn shown_place(&self, place: &Pointer) -> Pointer {
        let mut at = Place::Root;
        let segment = |segment: &Segment| {
            let key = match segment {
                Segment::Key(key) => key,
                Segment::Index(_) => {
                    at = Place::Below;
                    return segment.clone();
                }
            };
            let shown = self.hidden_key(key, at);
            at = at.below(key);
            Segment::Key(shown.unwrap_or_else(|| key.clone()))
        };
        place.segments().iter().map(segment).collect()
    }

    /// A value without them that is no object of its own.
    pub fn replaced_part(&self, value: &Value) -> Value {
        if self.is_empty() {
            return value.clone();
        }
        self.replaced_at(value, Place::Below)
    }

    fn replaced_at(&self, value: &Value, place: Place) -> Value {
        match value {
            Value::String(text) => self.hide(text).map_or_else(|| value.clone(), Value::from),
            Value::Array(items) => {
                Value::array(items.iter().map(|item| self.replaced_at(item, Place::Below)).collect())
            }
            Value::Object(members) => {
                let mut shown = Map::default();
                for (name, member) in members.iter() {
                    let kept = place.is_identity(name) && member.as_str().is_some();
                    let member =
                        if kept { member.clone() } else { self.replaced_at(member, place.below(name)) };
                    let mut name = self.hidden_key(name, place).unwrap_or_else(|| name.clone());
                    // A key may be written as a mask is.
                    while shown.contains_key(&name) {
                        name = format!("{name}*").into();
                    }
                    shown.insert(name, member);
                }
                Value::object(shown)
            }
            Value::Number(number) if self.knows_number(number) => self.mask().into(),
            Value::Number(_) | Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// A key without them; `None` where it holds none. Names of fields are words without a break in them.
    fn hidden_key(&self, key: &Text, place: Place) -> Option<Text> {
        if !self.hides_key_at(key, place) {
            return None;
        }
        let is_whole = self.is_full || self.is_key(key);
        let parts = if is_whole { None } else { self.spans(key) };
        let shown =
            parts.and_then(|spans| self.with(key, &spans, |part| self.key_masks.mask(part, self.mask())));
        Some(shown.map_or_else(|| self.key_masks.mask(key, self.mask()), Text::from))
    }

    fn hides_key_at(&self, key: &str, place: Place) -> bool {
        !place.is_field(key)
            && (self.is_full
                || self.is_key(key)
                || !key.bytes().all(|byte| byte.is_ascii_alphabetic())
                    && self.spans(key).is_none_or(|spans| !spans.is_empty()))
    }

    /// Whether a string, a number or a key in a value is one of them or holds one.
    pub(super) fn are_in(&self, value: &Value) -> bool {
        let mut open = vec![value];
        while let Some(node) = open.pop() {
            let holds = match node {
                Value::Null | Value::Bool(_) => false,
                Value::Number(number) => self.knows_number(number),
                Value::String(text) => !text.is_empty() && self.hold(text),
                Value::Array(items) => {
                    open.extend(items.iter());
                    false
                }
                Value::Object(members) => {
                    open.extend(members.values());
                    members
                        .keys()
                        .any(|key| self.whole.contains(key) && FIELDS.binary_search(&&**key).is_err())
                }
            };
            if holds {
                return true;
            }
        }
        false
    }

    /// The texts to look for line by line, as far as they are wanted.
    pub fn lines(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let mut lines = Self::default();
        let all = self.inside.values().flatten().flat_map(|text| text.lines()).map(str::trim);
        all.filter(|line| is_wanted(line)).for_each(|line| lines.add(&line.into()));
        lines
    }
}

fn is_plain_in_addresses(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn in_addresses(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if is_plain_in_addresses(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(all: &[&str]) -> Texts {
        let mut texts = Texts::default();
        all.iter().for_each(|text| texts.add(&(*text).into()));
        texts
    }

    #[test]
    fn the_names_of_fields_are_in_order() {
        assert!(FIELDS.is_sorted());
    }

    #[test]
    fn what_stands_inside_of_others_is_hidden_and_short_texts_are_not() {
        let secret = texts(&["hunter2", "ter2-x", "abc", "a\"b\nc", "p/q r"]);
        for (text, shown) in [
            ("hunter2", Some("***")),
            ("is hunter2!", Some("is ***!")),
            ("hunter2hunter2", Some("******")),
            ("hunter2-x", Some("***")),
            ("abc", Some("***")),
            ("xabcx", None),
            (r#"parsing "a\"b\nc": no"#, Some(r#"parsing "***": no"#)),
            ("/api/p%2Fq%20r/x", Some("/api/***/x")),
            ("hunter", None),
        ] {
            assert_eq!(secret.hide(text).as_deref(), shown, "{text}");
        }
    }

    #[test]
    fn common_words_leave_objects_readable() {
        let mut secret = texts(&["name", "ConfigMap", "app", "true", "metadata", "5", "shop", "hunter2x"]);
        secret.add_key(&"made".into(), true);
        let object = Value::from_json(
            r#"{"kind":"ConfigMap","metadata":{"name":"app","namespace":"shop","labels":
            {"name":"x","app":"true","hostname":"b","hunter2x":"y","a/hunter2x":"z","made":"w"}},
            "data":{"metadata":"app","n":5,"on":true}}"#,
        );
        let shown = secret.replaced(&object.unwrap());
        let expected = Value::from_json(
            r#"{"kind":"ConfigMap","metadata":{"name":"app","namespace":"shop","labels":
            {"name":"x","app":"***","hostname":"b","***":"y","a/***":"z","*** (2)":"w"}},
            "data":{"metadata":"***","n":5,"on":true}}"#,
        );
        assert_eq!(shown, expected.unwrap());
    }

    #[test]
    fn a_text_that_takes_too_long_is_hidden_as_a_whole() {
        let long = "a".repeat(1 << 14);
        let secret = texts(&[&long]);
        assert_eq!(secret.hide_inside(&"a".repeat(1 << 16)).as_deref(), Some("***"));
    }

    #[test]
    fn too_many_texts_are_all() {
        let mut texts = Texts::default();
        for number in 0..=MOST_MADE {
            texts.add_made(&number.to_string().into(), false);
        }
        assert_eq!(texts.hide("anything").as_deref(), Some("***"));
    }
}
