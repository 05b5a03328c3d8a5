//! JSON patches in text form, with placeholders for variables.

use crate::patch::PatchError;
use crate::value::{Pointer, Segment, Text, Value};

use super::operation::JsonPatch;

/// The text of a JSON patch with placeholders, parsed once for all values of them.
///
/// In general a text must be parsed again for each value, because a value may change its syntax. But a word inside of a
/// string cannot: it can be inserted into the parsed string.
#[derive(Clone, Debug)]
pub struct JsonPatchTemplate {
    /// The parsed patch, with marks for the placeholders.
    operations: Value,
    strings: Vec<StringTemplate>,
    placeholders: usize,
}

/// A string with placeholders.
#[derive(Clone, Debug)]
struct StringTemplate {
    at: Pointer,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Placeholder(usize),
}

/// Marks a placeholder while the text is parsed, followed by its number and [`MARK_END`]. The first letter occurs once,
/// so that a mark cannot overlap with text before it.
const MARK: &str = "kyvblan";
const MARK_END: char = 'q';

/// A text that stays the same only in quotes and in block scalars.
const PROBE: &str = "k: [v] #k";

/// Texts with more bytes or more placeholders are parsed each time.
const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_PLACEHOLDERS: usize = 32;

/// A longer word might exceed a limit.
const MAX_WORD_BYTES: usize = 256;

impl JsonPatchTemplate {
    /// Parses a text, given the parts before, between and after its placeholders. `None` if it is not a list, or if a word
    /// in a placeholder could change the syntax.
    pub fn parse(texts: &[&str]) -> Option<Self> {
        let placeholders =
            texts.len().checked_sub(1).filter(|count| (1..=MAX_PLACEHOLDERS).contains(count))?;
        // A tag determines the type of a string.
        let is_unsafe = |text: &&str| text.contains(MARK) || text.contains('!');
        if texts.iter().map(|text| text.len()).sum::<usize>() > MAX_TEXT_BYTES || texts.iter().any(is_unsafe)
        {
            return None;
        }
        let marks: Vec<String> = (0..placeholders).map(mark).collect();
        let operations = parse_text(texts, &marks)?;
        operations.as_array()?;
        let strings = string_templates(&operations)?;
        let template = Self { operations, strings, placeholders };
        let mut found: Vec<usize> =
            template.strings.iter().flat_map(|string| string.placeholders()).collect();
        found.sort_unstable();
        if !found.into_iter().eq(0..placeholders) {
            return None;
        }
        // Without quotes, a string must start in a way that only strings do.
        let is_safe = |string: &StringTemplate| {
            matches!(string.parts.first(), Some(Part::Text(text)) if text.starts_with('/'))
                || string.placeholders().all(|index| template.is_quoted(index, texts, &marks))
        };
        template.strings.iter().all(is_safe).then_some(template)
    }

    /// Whether a placeholder is in quotes or in a block scalar.
    fn is_quoted(&self, placeholder: usize, texts: &[&str], marks: &[String]) -> bool {
        let mut words = marks.to_vec();
        if let Some(word) = words.get_mut(placeholder) {
            PROBE.clone_into(word);
        }
        parse_text(texts, &words).is_some_and(|parsed| parsed == self.render(&words))
    }

    /// The patch with these words in its placeholders; `None` if the whole text must be parsed instead.
    pub fn fill(&self, words: &[Text]) -> Option<Result<JsonPatch, PatchError>> {
        (words.len() == self.placeholders && words.iter().all(|word| is_word(word)))
            .then(|| JsonPatch::from_value(&self.render(words)))
    }

    fn render(&self, words: &[impl AsRef<str>]) -> Value {
        let mut operations = self.operations.clone();
        for string in &self.strings {
            if let Some(node) = string.node(&mut operations) {
                *node = string.render(words).into();
            }
        }
        operations
    }
}

impl StringTemplate {
    fn placeholders(&self) -> impl Iterator<Item = usize> {
        self.parts
            .iter()
            .filter_map(|part| if let Part::Placeholder(index) = part { Some(*index) } else { None })
    }

    /// The string in the parsed patch.
    fn node<'v>(&self, operations: &'v mut Value) -> Option<&'v mut Value> {
        self.at.segments().iter().try_fold(operations, |node, segment| match segment {
            Segment::Key(key) => node.as_object_mut()?.get_mut(key),
            Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
        })
    }

    fn render(&self, words: &[impl AsRef<str>]) -> String {
        let texts = self.parts.iter().map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::Placeholder(index) => words.get(*index).map(AsRef::as_ref).unwrap_or_default(),
        });
        texts.collect()
    }
}

fn mark(placeholder: usize) -> String {
    format!("{MARK}{placeholder}{MARK_END}")
}

/// Parses the text with these words in its placeholders, as [`JsonPatch::parse`] does.
fn parse_text(texts: &[&str], words: &[String]) -> Option<Value> {
    let words = words.iter().map(String::as_str).chain([""]);
    let text: String = texts.iter().zip(words).flat_map(|(text, word)| [*text, word]).collect();
    JsonPatch::read_text(&text).ok()
}

/// The strings of a value that contain marks; `None` if a key contains one.
fn string_templates(operations: &Value) -> Option<Vec<StringTemplate>> {
    let mut strings = Vec::new();
    let mut pending = vec![(Pointer::ROOT, operations)];
    while let Some((at, node)) = pending.pop() {
        match node {
            Value::String(text) if text.contains(MARK) => {
                strings.push(StringTemplate { at, parts: parts(text)? });
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(items) => {
                pending.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
            }
            Value::Object(members) => {
                if members.keys().any(|key| key.contains(MARK)) {
                    return None;
                }
                pending.extend(members.iter().map(|(key, member)| (at.key(key.clone()), member)));
            }
        }
    }
    Some(strings)
}

/// The parts of a string with marks.
fn parts(text: &str) -> Option<Vec<Part>> {
    let text_part = |text: &str| (!text.is_empty()).then(|| Part::Text(text.to_owned()));
    let mut rest = text.split(MARK);
    let mut parts = Vec::from_iter(rest.next().and_then(text_part));
    for marked in rest {
        let (number, rest) = marked.split_once(MARK_END)?;
        parts.push(Part::Placeholder(number.parse().ok()?));
        parts.extend(text_part(rest));
    }
    Some(parts)
}

/// Whether a text inside of a string has no syntax of its own, neither in JSON nor in YAML.
fn is_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    (1..=MAX_WORD_BYTES).contains(&text.len())
        && text.bytes().all(is_plain)
        // At the beginning of a line these end a document.
        && !text.starts_with("---")
        && !text.starts_with("...")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts to insert, separated by `|`.
    const WORDS: &str = "0|7|-1|1.5|1e3|0x1f|010|.5|.inf|.nan|true|yes|no|null|~|ue|a|A-b_c.d/e|-|--|.|..|/|\
        2001-01-01|=|<<|kyvblan0q|12:30|a b||---|...|--- a|a: b|#a|a #b|{|[|\"|'|\\|\\n|\n|ä|&a|*a|!a";

    /// The parts of a text whose placeholders are written `{}`.
    fn texts(text: &str) -> Vec<&str> {
        text.split("{}").collect()
    }

    #[test]
    fn filled_templates_equal_the_parsed_text() {
        let mut filled = 0;
        for (text, is_template) in [
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
            let template = JsonPatchTemplate::parse(&texts);
            assert_eq!(template.is_some(), is_template, "{text}");
            let Some(template) = template else { continue };
            let pairs = WORDS.split('|').flat_map(|one| WORDS.split('|').map(move |other| [one, other]));
            for pair in pairs {
                let words: Vec<Text> =
                    pair.into_iter().cycle().take(template.placeholders).map(Text::from).collect();
                let Some(patch) = template.fill(&words) else { continue };
                filled += 1;
                let strings: Vec<String> = words.iter().map(ToString::to_string).collect();
                let parsed = parse_text(&texts, &strings).unwrap();
                assert_eq!(patch, JsonPatch::from_value(&parsed), "{text} {pair:?}");
            }
        }
        assert!(filled > 1000, "{filled}");
    }

    #[test]
    fn other_texts_than_words_are_not_filled_in() {
        let template = JsonPatchTemplate::parse(&texts("- op: remove\n  path: /a/{}\n")).unwrap();
        let fills = |word: &str| template.fill(&[word.into()]).is_some();
        assert!(fills("a.b-c_d/e0") && fills(&"a".repeat(MAX_WORD_BYTES)));
        for word in
            ["", " ", "a b", "a:b", "#", "---", "...x", "ä", "\n", "{{a}}", &"a".repeat(MAX_WORD_BYTES + 1)]
        {
            assert!(!fills(word), "{word:?}");
        }
        assert!(template.fill(&[]).is_none() && template.fill(&["a".into(), "b".into()]).is_none());
    }
}
