//! JSON patches in text form, with blanks.

use crate::value::{Pointer, Segment, Text, Value};

use crate::patch::{JsonPatch, PatchError};

/// The text of a JSON patch with blanks, read once for all that is written into them.
///
/// A text means whatever it means with the blanks filled, so that it has to be read again each time. But a word inside
/// of a string cannot change what the text around it means: it is written into the string that was read.
#[derive(Clone, Debug)]
pub struct OpenPatch {
    /// The operations, with marks in the blanks.
    operations: Value,
    strings: Vec<OpenString>,
    blanks: usize,
}

/// A string with blanks.
#[derive(Clone, Debug)]
struct OpenString {
    at: Pointer,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Blank(usize),
}

/// What stands in blanks while the text is read, a number and [`MARK_END`] behind it. Its first letter stands in it
/// once, so that no text before it begins another one.
const MARK: &str = "kyvblan";
const MARK_END: char = 'q';

/// What keeps its meaning only in quotes, and in blocks of text.
const PROBE: &str = "k: [v] #k";

/// Longer texts, and those with more blanks, are read each time.
const MOST_BYTES: usize = 64 << 10;
const MOST_BLANKS: usize = 32;

/// A longer word may pass a limit.
const LONGEST_WORD: usize = 256;

impl OpenPatch {
    /// Reads a text, given what stands before, between and behind its blanks; `None` where it is no list, or where
    /// words in the blanks may mean more than themselves.
    pub fn read(texts: &[&str]) -> Option<Self> {
        let blanks = texts.len().checked_sub(1).filter(|blanks| (1..=MOST_BLANKS).contains(blanks))?;
        // A tag decides what a string is.
        let is_odd = |text: &&str| text.contains(MARK) || text.contains('!');
        if texts.iter().map(|text| text.len()).sum::<usize>() > MOST_BYTES || texts.iter().any(is_odd) {
            return None;
        }
        let marks: Vec<String> = (0..blanks).map(mark).collect();
        let operations = read(texts, &marks)?;
        operations.as_array()?;
        let strings = open_strings(&operations)?;
        let open = Self { operations, strings, blanks };
        let mut found: Vec<usize> = open.strings.iter().flat_map(|string| string.blanks()).collect();
        found.sort_unstable();
        if !found.into_iter().eq(0..blanks) {
            return None;
        }
        // Without quotes a string has to begin as nothing but a string does.
        let is_safe = |string: &OpenString| {
            matches!(string.parts.first(), Some(Part::Text(text)) if text.starts_with('/'))
                || string.blanks().all(|blank| open.is_quoted(blank, texts, &marks))
        };
        open.strings.iter().all(is_safe).then_some(open)
    }

    /// Whether what would mean something without quotes is text in a blank.
    fn is_quoted(&self, blank: usize, texts: &[&str], marks: &[String]) -> bool {
        let mut words = marks.to_vec();
        if let Some(word) = words.get_mut(blank) {
            PROBE.clone_into(word);
        }
        read(texts, &words).is_some_and(|read| read == self.written(&words))
    }

    /// The patch with these words in its blanks; `None` where only reading the whole text tells what it is.
    pub fn filled(&self, words: &[Text]) -> Option<Result<JsonPatch, PatchError>> {
        (words.len() == self.blanks && words.iter().all(|word| is_word(word)))
            .then(|| JsonPatch::from_value(&self.written(words)))
    }

    fn written(&self, words: &[impl AsRef<str>]) -> Value {
        let mut operations = self.operations.clone();
        for string in &self.strings {
            if let Some(node) = string.node(&mut operations) {
                *node = string.written(words).into();
            }
        }
        operations
    }
}

impl OpenString {
    fn blanks(&self) -> impl Iterator<Item = usize> {
        self.parts.iter().filter_map(|part| if let Part::Blank(index) = part { Some(*index) } else { None })
    }

    /// Where it stands.
    fn node<'v>(&self, operations: &'v mut Value) -> Option<&'v mut Value> {
        self.at.segments().iter().try_fold(operations, |node, segment| match segment {
            Segment::Key(key) => node.as_object_mut()?.get_mut(key),
            Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
        })
    }

    fn written(&self, words: &[impl AsRef<str>]) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Blank(index) => words.get(*index).map(AsRef::as_ref).unwrap_or_default(),
        });
        texts.collect()
    }
}

fn mark(blank: usize) -> String {
    format!("{MARK}{blank}{MARK_END}")
}

/// The text with these words in its blanks, as [`JsonPatch::parse`] reads it.
fn read(texts: &[&str], words: &[String]) -> Option<Value> {
    let words = words.iter().map(String::as_str).chain([""]);
    let text: String = texts.iter().zip(words).flat_map(|(text, word)| [*text, word]).collect();
    JsonPatch::read_text(&text).ok()
}

/// The strings of a value that hold marks; `None` where one stands in a key.
fn open_strings(operations: &Value) -> Option<Vec<OpenString>> {
    let mut strings = Vec::new();
    let mut open = vec![(Pointer::ROOT, operations)];
    while let Some((at, node)) = open.pop() {
        match node {
            Value::String(text) if text.contains(MARK) => {
                strings.push(OpenString { at, parts: parts(text)? });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
            }
            Value::Object(members) => {
                if members.keys().any(|key| key.contains(MARK)) {
                    return None;
                }
                open.extend(members.iter().map(|(key, member)| (at.key(key.clone()), member)));
            }
        }
    }
    Some(strings)
}

/// The parts of a string with marks.
fn parts(text: &str) -> Option<Vec<Part>> {
    let mut pieces = text.split(MARK);
    let mut parts = Vec::from_iter(pieces.next().filter(|text| !text.is_empty()).map(text_part));
    for piece in pieces {
        let (number, rest) = piece.split_once(MARK_END)?;
        parts.push(Part::Blank(number.parse().ok()?));
        parts.extend(Some(rest).filter(|text| !text.is_empty()).map(text_part));
    }
    Some(parts)
}

fn text_part(text: &str) -> Part {
    Part::Text(text.to_owned())
}

/// Whether a text inside of a string means nothing but itself, neither to JSON nor to YAML.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    (1..=LONGEST_WORD).contains(&text.len())
        && text.bytes().all(is_plain)
        // At the beginning of a line these end a document.
        && !text.starts_with("---")
        && !text.starts_with("...")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text whose blanks are written `{}`.
    fn texts(text: &str) -> Vec<&str> {
        text.split("{}").collect()
    }

    #[test]
    fn what_is_filled_is_what_would_be_read() {
        let words = [
            "0",
            "7",
            "-1",
            "1.5",
            "1e3",
            "0x1f",
            "010",
            ".5",
            ".inf",
            ".nan",
            "true",
            "yes",
            "no",
            "null",
            "~",
            "ue",
            "a",
            "A-b_c.d/e",
            "-",
            "--",
            ".",
            "..",
            "/",
            "2001-01-01",
            "=",
            "<<",
            "kyvblan0q",
            "12:30",
            "a b",
            "",
            "---",
            "...",
            "--- a",
            "a: b",
            "#a",
            "a #b",
            "{",
            "[",
            "\"",
            "'",
            "\\",
            "\\n",
            "\n",
            "ä",
            "&a",
            "*a",
            "!a",
        ];
        let mut filled = 0;
        for (text, is_open) in [
            ("- op: add\n  path: /spec/ports/{}/appProtocol\n  value: http\n", true),
            ("- op: add\n  path: /a/{}/b~1{}\n  value: {name: X, value: \"localhost,.svc,.{}\"}\n", true),
            ("- op: add\n  path: \"/{}\"\n  value: 'v{}'\n", true),
            ("- {op: replace, path: /a/{}, value: \"{}\"}\n", true),
            ("- op: \"{}\"\n  path: /a\n", true),
            ("- op: add\n  path: /a\n  value: |\n    x {}\n    {}\n", true),
            ("- op: add\n  path: /a\n  value: \"x\n    {}\"\n", true),
            ("- op: add\n  path: /a\n  value: /x\n    {}\n", true),
            (r#"[{"op":"add","path":"/a/{}","value":{"k":"{}"}}]"#, true),
            // Without quotes a word may be anything.
            ("- op: add\n  path: /a\n  value: {}\n", false),
            ("- op: add\n  path: /a\n  value: tr{}\n", false),
            ("- op: add\n  path: /a\n  value: 1{}\n", false),
            ("- op: add\n  path: {}\n  value: 1\n", false),
            (r#"[{"op":"add","path":"/a","value":{}}]"#, false),
            ("[{op: add, path: \"/a\", value: \"{}\"}]", false),
            // Tags, keys, comments, anchors and escapes.
            ("- op: add\n  path: /a\n  value: !!int \"{}\"\n", false),
            ("- op: add\n  path: /a\n  value: {\"{}\": 1}\n", false),
            ("- op: add\n  path: /a # {}\n  value: 1\n", false),
            ("- op: add\n  path: /a\n  value: &{} 1\n", false),
            ("- op: add\n  path: &a \"/{}\"\n  value: *a\n", false),
            ("- op: add\n  path: /a\n  value: \"\\x{}\"\n", false),
            ("- op: add\n  path: \"/{}\"\n  path: /b\n  value: 1\n", false),
            ("{}\n- op: remove\n  path: /a\n", false),
            ("kyvblan: {}", false),
            ("a: \"{}\"", false),
            ("- op: remove\n  path: /a\n", false),
        ] {
            let texts = texts(text);
            let open = OpenPatch::read(&texts);
            assert_eq!(open.is_some(), is_open, "{text}");
            let Some(open) = open else { continue };
            for (one, other) in words.iter().flat_map(|one| words.iter().map(move |other| (one, other))) {
                let given: Vec<Text> =
                    [*one, other].into_iter().cycle().take(open.blanks).map(Text::from).collect();
                let Some(patch) = open.filled(&given) else { continue };
                filled += 1;
                let strings: Vec<String> = given.iter().map(ToString::to_string).collect();
                let whole = texts.iter().zip(strings.iter().map(String::as_str).chain([""]));
                let whole: String = whole.flat_map(|(text, word)| [*text, word]).collect();
                assert_eq!(patch, JsonPatch::parse(&whole), "{whole}");
            }
        }
        assert!(filled > 1000, "{filled}");
    }

    #[test]
    fn what_is_no_word_is_not_filled_in() {
        let open = OpenPatch::read(&texts("- op: remove\n  path: /a/{}\n")).unwrap();
        let fills = |word: &str| open.filled(&[word.into()]).is_some();
        assert!(fills("a.b-c_d/e0") && fills(&"a".repeat(LONGEST_WORD)));
        for word in
            ["", " ", "a b", "a:b", "#", "---", "...x", "ä", "\n", "{{a}}", &"a".repeat(LONGEST_WORD + 1)]
        {
            assert!(!fills(word), "{word:?}");
        }
        assert!(open.filled(&[]).is_none() && open.filled(&["a".into(), "b".into()]).is_none());
    }
}
