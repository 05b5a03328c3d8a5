//! Tainted texts, and their redaction.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::value::{Map, Number, Pointer, Segment, Text, Value};

use super::{KeyMasks, MASK, REDACTED};

/// Shorter texts are redacted only if they are a whole string: they occur in other texts by chance.
const MIN_INSIDE_CHARS: usize = 4;

/// Shorter values are not redacted in keys that were not derived from them.
const MIN_KEY_BYTES: usize = 8;

/// The length of the prefix by which texts are found inside others.
const PREFIX_BYTES: usize = 4;

/// The maximum number of compared bytes for one text; then all of it is redacted.
const MAX_COMPARED_BYTES: usize = 1 << 24;

/// The maximum number of derived texts, and of their bytes; then every text is redacted.
const MAX_DERIVED: usize = 20_000;
const MAX_DERIVED_BYTES: usize = 8 << 20;

/// Longer texts are not searched for in percent-encoded form.
const MAX_URL_BYTES: usize = 1 << 10;

/// Names of common fields, which are never redacted.
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

/// The level of a node in an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Metadata,
    Below,
}

impl Level {
    const fn below(self, key: &str) -> Self {
        match (self, key.as_bytes()) {
            (Self::Root, b"metadata") => Self::Metadata,
            _ => Self::Below,
        }
    }

    /// Whether a field identifies the object.
    fn is_identity(self, key: &str) -> bool {
        match self {
            Self::Root => matches!(key, "apiVersion" | "kind"),
            Self::Metadata => matches!(key, "name" | "namespace"),
            Self::Below => false,
        }
    }

    /// Whether a key is the name of a field.
    fn is_field(self, key: &str) -> bool {
        self != Self::Below || FIELDS.binary_search(&key).is_ok()
    }
}

/// The values of Secrets and the texts derived from them.
#[derive(Clone, Debug, Default)]
pub struct TaintedTexts {
    whole: IndexSet<Text, RandomState>,
    /// Those that are redacted inside other texts, by their first bytes.
    inside: IndexMap<[u8; PREFIX_BYTES], Vec<Text>, RandomState>,
    /// Those that became keys of objects.
    keys: BTreeSet<Text>,
    /// Those that are numbers.
    numbers: BTreeSet<Text>,
    /// The number of derived texts, and of their bytes.
    derived: (usize, usize),
    /// There were too many: every text is tainted.
    is_full: bool,
    key_masks: KeyMasks,
    /// The placeholder; `None` for [`MASK`].
    mask: Option<&'static str>,
}

impl TaintedTexts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && !self.is_full
    }

    /// Whether a text is one of them.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.is_full || self.whole.contains(text)
    }

    /// Whether a key is one of them, and probably not by chance.
    fn contains_key(&self, key: &str) -> bool {
        self.keys.contains(key) || key.len() >= MIN_KEY_BYTES && self.whole.contains(key)
    }

    /// The same with these placeholders of keys.
    pub(super) fn with_key_masks(mut self, masks: &KeyMasks) -> Self {
        self.key_masks = masks.clone();
        self
    }

    /// The same with the placeholder of recordings.
    pub(super) fn for_recordings(self) -> Self {
        Self { mask: Some(REDACTED), key_masks: KeyMasks::default(), ..self }
    }

    fn mask(&self) -> &'static str {
        self.mask.unwrap_or(MASK)
    }

    /// Whether they are or occur in a key below the metadata of an object.
    pub(super) fn are_in_key(&self, key: &str) -> bool {
        self.are_in_key_at(key, Level::Below)
    }

    /// Adds a value of a Secret.
    pub(super) fn add(&mut self, text: &Text) {
        if !text.is_empty() && self.whole.insert(text.clone()) {
            self.add_inside(text);
        }
    }

    /// Adds a derived text. A word is redacted only as a whole string.
    pub(super) fn add_derived(&mut self, text: &Text, is_word: bool) {
        if self.is_full || text.trim().is_empty() || !self.whole.insert(text.clone()) {
            return;
        }
        self.derived = (self.derived.0 + 1, self.derived.1 + text.len());
        if self.derived.0 > MAX_DERIVED || self.derived.1 > MAX_DERIVED_BYTES {
            self.is_full = true;
        } else if !is_word {
            self.add_inside(text);
        }
    }

    pub(super) fn add_key(&mut self, key: &Text, is_word: bool) {
        self.add_derived(key, is_word);
        if !self.is_full {
            self.keys.insert(key.clone());
        }
    }

    pub(super) fn add_number(&mut self, number: &Number) {
        let text = Text::from(number.to_string());
        self.add_derived(&text, false);
        if !self.is_full {
            self.numbers.insert(text);
        }
    }

    fn add_inside(&mut self, text: &Text) {
        if text.chars().nth(MIN_INSIDE_CHARS - 1).is_none() {
            return;
        }
        // Messages quote texts like Go or JSON, or contain them in URLs.
        let mut forms = vec![text.clone()];
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            forms.push(Value::String(text.clone()).to_json().trim_matches('"').into());
        }
        if text.len() <= MAX_URL_BYTES && text.bytes().any(|byte| !is_unreserved(byte)) {
            forms.push(percent_encoded(text).into());
        }
        for form in forms {
            if let Some(prefix) = form.as_bytes().first_chunk::<PREFIX_BYTES>().copied() {
                self.inside.entry(prefix).or_default().push(form);
            }
        }
    }

    /// Adds all texts of another.
    pub(super) fn extend(&mut self, other: &Self) {
        for (prefix, texts) in &other.inside {
            let new = texts.iter().filter(|text| !self.whole.contains(*text)).cloned();
            self.inside.entry(*prefix).or_default().extend(new);
        }
        self.whole.extend(other.whole.iter().cloned());
        self.keys.extend(other.keys.iter().cloned());
        self.numbers.extend(other.numbers.iter().cloned());
        self.derived = (self.derived.0 + other.derived.0, self.derived.1 + other.derived.1);
        self.is_full |= other.is_full;
    }

    /// The ranges of a text that are redacted, in order; `None` if there is too much to compare.
    pub(super) fn spans(&self, text: &str) -> Option<Vec<Range<usize>>> {
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        if self.inside.is_empty() {
            return Some(found);
        }
        let mut compared = 0;
        for (start, window) in bytes.windows(PREFIX_BYTES).enumerate() {
            let prefix = <[u8; PREFIX_BYTES]>::try_from(window).ok();
            let Some(candidates) = prefix.and_then(|prefix| self.inside.get(&prefix)) else { continue };
            let mut end = start;
            for candidate in candidates {
                let candidate = candidate.as_bytes();
                compared += PREFIX_BYTES;
                let Some(found) = bytes.get(start..start + candidate.len()) else { continue };
                if found == candidate {
                    compared += candidate.len();
                    end = end.max(start + candidate.len());
                }
                if compared > MAX_COMPARED_BYTES {
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

    /// Whether a text is one of them or contains one.
    pub fn are_in_text(&self, text: &str) -> bool {
        self.contains(text) || self.spans(text).is_none_or(|spans| !spans.is_empty())
    }

    /// Whether a number is one of them.
    fn contains_number(&self, number: &Number) -> bool {
        if self.whole.is_empty() {
            return self.is_full;
        }
        let text = number.to_string();
        self.is_full
            || self.numbers.contains(&*text)
            || text.len() >= MIN_INSIDE_CHARS && self.whole.contains(&*text)
    }

    /// A redacted string; `None` if nothing is redacted.
    pub fn redacted(&self, text: &str) -> Option<String> {
        if self.contains(text) && !text.is_empty() {
            Some(self.mask().to_owned())
        } else {
            self.redacted_message(text)
        }
    }

    /// A redacted message; `None` if nothing is redacted.
    pub fn redacted_message(&self, text: &str) -> Option<String> {
        if self.is_full && !text.is_empty() {
            return Some(self.mask().to_owned());
        }
        let Some(spans) = self.spans(text) else { return Some(self.mask().to_owned()) };
        replaced(text, &spans, |_| self.mask().into())
    }

    /// A redacted object. Its identity and the names of fields are not redacted.
    pub fn redacted_object(&self, object: &Value) -> Value {
        if self.is_empty() { object.clone() } else { self.redacted_at(object, Level::Root) }
    }

    /// A redacted key below the metadata of an object.
    pub fn redacted_key(&self, key: &Text) -> Text {
        self.redacted_key_at(key, Level::Below).unwrap_or_else(|| key.clone())
    }

    /// A redacted pointer into an object.
    pub fn redacted_pointer(&self, pointer: &Pointer) -> Pointer {
        let mut level = Level::Root;
        let segment = |segment: &Segment| {
            let Segment::Key(key) = segment else {
                level = Level::Below;
                return segment.clone();
            };
            let redacted = self.redacted_key_at(key, level);
            level = level.below(key);
            Segment::Key(redacted.unwrap_or_else(|| key.clone()))
        };
        pointer.segments().iter().map(segment).collect()
    }

    /// A redacted value below the metadata of an object.
    pub fn redacted_value(&self, value: &Value) -> Value {
        if self.is_empty() { value.clone() } else { self.redacted_at(value, Level::Below) }
    }

    fn redacted_at(&self, value: &Value, level: Level) -> Value {
        match value {
            Value::String(text) => self.redacted(text).map_or_else(|| value.clone(), Value::from),
            Value::Array(items) => {
                Value::array(items.iter().map(|item| self.redacted_at(item, Level::Below)).collect())
            }
            Value::Object(members) => {
                let mut redacted = Map::default();
                for (name, member) in members.iter() {
                    let is_identity = level.is_identity(name) && member.as_str().is_some();
                    let member = if is_identity {
                        member.clone()
                    } else {
                        self.redacted_at(member, level.below(name))
                    };
                    let mut name = self.redacted_key_at(name, level).unwrap_or_else(|| name.clone());
                    // A key may be equal to a placeholder.
                    while redacted.contains_key(&name) {
                        name = format!("{name}*").into();
                    }
                    redacted.insert(name, member);
                }
                Value::object(redacted)
            }
            Value::Number(number) if self.contains_number(number) => self.mask().into(),
            Value::Number(_) | Value::Null | Value::Bool(_) => value.clone(),
        }
    }

    /// A redacted key; `None` if nothing is redacted.
    fn redacted_key_at(&self, key: &Text, level: Level) -> Option<Text> {
        if !self.are_in_key_at(key, level) {
            return None;
        }
        let is_whole = self.is_full || self.contains_key(key);
        let spans = if is_whole { None } else { self.spans(key) };
        let mask = |part: &str| self.key_masks.mask(part, self.mask());
        let redacted = spans.and_then(|spans| replaced(key, &spans, mask));
        Some(redacted.map_or_else(|| mask(key), Text::from))
    }

    /// Whether they are or occur in a key. Inside a word they are not looked for: it is probably a field name.
    fn are_in_key_at(&self, key: &str, level: Level) -> bool {
        !level.is_field(key)
            && (self.is_full
                || self.contains_key(key)
                || !key.bytes().all(|byte| byte.is_ascii_alphabetic())
                    && self.spans(key).is_none_or(|spans| !spans.is_empty()))
    }

    /// Whether they are or occur in a string, number or key of a value.
    pub(super) fn are_in(&self, value: &Value) -> bool {
        let mut open = vec![value];
        while let Some(node) = open.pop() {
            let is_tainted = match node {
                Value::Null | Value::Bool(_) => false,
                Value::Number(number) => self.contains_number(number),
                Value::String(text) => !text.is_empty() && self.are_in_text(text),
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
            if is_tainted {
                return true;
            }
        }
        false
    }

    /// The lines of these texts that pass a filter.
    pub fn lines(&self, filter: impl Fn(&str) -> bool) -> Self {
        let mut lines = Self::default();
        let all = self.inside.values().flatten().flat_map(|text| text.lines()).map(str::trim);
        all.filter(|line| filter(line)).for_each(|line| lines.add(&line.into()));
        lines
    }
}

/// A text with some ranges replaced; `None` if there are none.
fn replaced(text: &str, spans: &[Range<usize>], replacement: impl Fn(&str) -> Text) -> Option<String> {
    if spans.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        out.push_str(text.get(at..span.start)?);
        out.push_str(&replacement(text.get(span.clone())?));
        at = span.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Whether a byte is never percent-encoded (RFC 3986).
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn percent_encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if is_unreserved(byte) {
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

    fn texts(all: &[&str]) -> TaintedTexts {
        let mut texts = TaintedTexts::default();
        all.iter().for_each(|text| texts.add(&(*text).into()));
        texts
    }

    #[test]
    fn field_names_are_sorted() {
        assert!(FIELDS.is_sorted());
    }

    #[test]
    fn texts_are_redacted_inside_others_unless_they_are_short() {
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
            assert_eq!(secret.redacted(text).as_deref(), shown, "{text}");
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
        let shown = secret.redacted_object(&object.unwrap());
        let expected = Value::from_json(
            r#"{"kind":"ConfigMap","metadata":{"name":"app","namespace":"shop","labels":
            {"name":"x","app":"***","hostname":"b","***":"y","a/***":"z","*** (2)":"w"}},
            "data":{"metadata":"***","n":5,"on":true}}"#,
        );
        assert_eq!(shown, expected.unwrap());
    }

    #[test]
    fn a_text_with_too_much_to_compare_is_redacted_wholly() {
        let long = "a".repeat(1 << 14);
        let secret = texts(&[&long]);
        assert_eq!(secret.redacted_message(&"a".repeat(1 << 16)).as_deref(), Some("***"));
    }

    #[test]
    fn with_too_many_texts_everything_is_redacted() {
        let mut texts = TaintedTexts::default();
        for number in 0..=MAX_DERIVED {
            texts.add_derived(&number.to_string().into(), false);
        }
        assert_eq!(texts.redacted("anything").as_deref(), Some("***"));
    }
}
