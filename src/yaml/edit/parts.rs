//! An edited text held part by part against the text it was made of: what stayed need not be read again.
//!
//! An entry of a block mapping starts on a line of its own with a plain key in the column of the mapping, and reaches
//! to the next such line; an element of a block list starts with its dash. What an entry says hangs on its own lines
//! alone, unless anchors are used. So if there are as many such lines as the mapping has members, they are the members,
//! and an entry whose lines stayed says what it said.

use crate::value::{Map, Value};
use crate::yaml::Document;

use super::check::reads_as;

/// Whether it is certain that the text of a document, edited, says a value: all parts that are not as they were say
/// on their own what they should. `false` where only the whole text tells.
pub(super) fn certainly_says(document: &Document, edited: &str, after: &Value) -> bool {
    let (Some(before), Value::Object(after)) = (document.value().and_then(Value::as_object), after) else {
        return false;
    };
    let text = document.source.text();
    let parts = &document.parts;
    let is_plain = !document.is_json() && parts.parsed == parts.body && document.trace.is_plain();
    let (head, tail) = (&text[parts.text.start..parts.body.start], &text[parts.body.end..parts.text.end]);
    let body = edited.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
    let Some(body) = body.filter(|_| is_plain) else { return false };
    let (Some(old), Some(new)) = (Lines::of(document.body()), Lines::of(body)) else { return false };
    mapping(old.block(), new.block(), 0, before, after).is_some()
}

/// A text, line by line.
struct Lines<'t> {
    text: &'t str,
    lines: Vec<Line>,
}

/// A line that says something, by what stands first on it.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Where it starts.
    start: usize,
    /// The column of what stands on it, from 0.
    column: usize,
    /// How many of the blanks before it are missing from the start on.
    lead: usize,
    start_of: Start,
}

/// What a line can be the start of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// An entry of a mapping, or what is no start at all.
    Key,
    /// An element of a list.
    Dash,
}

impl<'t> Lines<'t> {
    /// The lines that say something; `None` where they do not end in line feeds alone, or a tab can stand for
    /// blanks.
    fn of(text: &'t str) -> Option<Self> {
        let is_odd = text.bytes().any(|byte| matches!(byte, b'\t' | b'\r'))
            || (!text.is_ascii() && text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']));
        if is_odd {
            return None;
        }
        let bytes = text.as_bytes();
        let mut lines = Vec::with_capacity(text.len() / 24);
        let mut start = 0;
        while start < bytes.len() {
            let indent = bytes[start..].iter().take_while(|byte| **byte == b' ').count();
            let content = &bytes[start + indent..];
            let is_blank = matches!(content.first(), None | Some(b'\n' | b'#'));
            if !is_blank {
                let is_dash = content[0] == b'-' && matches!(content.get(1), None | Some(b' ' | b'\n'));
                let start_of = if is_dash { Start::Dash } else { Start::Key };
                lines.push(Line { start, column: indent, lead: 0, start_of });
            }
            let length = content.iter().position(|byte| *byte == b'\n').map_or(content.len(), |end| end + 1);
            start += indent + length;
        }
        Some(Self { text, lines })
    }

    fn block(&self) -> Block<'_> {
        Block { text: self.text, lines: &self.lines, end: self.text.len() }
    }
}

/// Lines that belong together.
#[derive(Clone, Copy)]
struct Block<'t> {
    /// The whole text that they are of.
    text: &'t str,
    lines: &'t [Line],
    /// Where they end.
    end: usize,
}

/// An entry of a mapping, or an element of a list.
#[derive(Clone, Copy)]
struct Part<'t> {
    /// All its lines.
    text: &'t str,
    /// How many blanks have to stand before them.
    lead: usize,
    /// The key; empty for an element.
    key: &'t str,
    /// What stands below the key, where nothing stands beside it; the lines of an element.
    inner: Option<Block<'t>>,
}

impl Part<'_> {
    /// Whether it says this on its own.
    fn says(&self, value: &Value) -> bool {
        if self.lead == 0 {
            return reads_as(self.text, value);
        }
        reads_as(&format!("{:1$}{2}", "", self.lead, self.text), value)
    }
}

impl<'t> Block<'t> {
    /// Cuts the lines into the parts that start in a column; `None` where anything else stands there or before it.
    fn cut(self, column: usize, start: Start) -> Option<Vec<Part<'t>>> {
        let mut starts = Vec::new();
        for (index, line) in self.lines.iter().enumerate().filter(|(_, line)| line.column <= column) {
            if line.column == column && line.start_of == start {
                starts.push(index);
            } else if line.column < column || line.start_of == Start::Key {
                // Only a list may stand in the column of its key.
                return None;
            }
        }
        if starts.first() != Some(&0) {
            return None;
        }
        let ends = starts.iter().skip(1).copied().chain([self.lines.len()]);
        starts.iter().zip(ends).map(|(from, to)| self.part(*from, to, start)).collect()
    }

    /// The part of some of the lines.
    fn part(self, from: usize, to: usize, start: Start) -> Option<Part<'t>> {
        let Line { start: at, lead, .. } = self.lines[from];
        let end = self.lines.get(to).map_or(self.end, |next| next.start);
        let text = &self.text[at..end];
        let (key, inner) = match start {
            Start::Dash => ("", Some(from..to)),
            Start::Key => {
                let (key, is_bare) = key(text.trim_start_matches(' '))?;
                (key, is_bare.then_some(from + 1..to))
            }
        };
        let inner = inner.map(|lines| Self { lines: &self.lines[lines], end, ..self });
        Some(Part { text, lead, key, inner: inner.filter(|inner| !inner.lines.is_empty()) })
    }

    /// The column of the first line.
    fn column(self) -> Option<usize> {
        self.lines.first().map(|line| line.column)
    }

    /// The lines of an element as those of the mapping that starts behind its dash.
    fn without_dash(self) -> Option<Vec<Line>> {
        let mut lines = self.lines.to_vec();
        let first = lines.first_mut()?;
        let line = &self.text[first.start..];
        let dash = line.find('-')? + 1;
        let blanks = line[dash..].bytes().take_while(|byte| *byte == b' ').count();
        let is_blank = matches!(line.as_bytes().get(dash + blanks), None | Some(b'\n' | b'#'));
        *first = Line {
            start: first.start + dash + blanks,
            column: first.column + 1 + blanks,
            lead: first.column + 1 + blanks,
            start_of: Start::Key,
        };
        (blanks > 0 && !is_blank).then_some(lines)
    }
}

/// The plain key that a text starts with, and whether nothing stands behind its colon.
fn key(content: &str) -> Option<(&str, bool)> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
    let length = content.bytes().take_while(is_plain).count();
    let (key, rest) = content.split_at(length);
    let rest = rest.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with([' ', '\n']))?;
    let is_bare = matches!(rest.trim_start_matches(' ').bytes().next(), None | Some(b'\n' | b'#'));
    (!key.is_empty() && !key.starts_with('-')).then_some((key, is_bare))
}

/// Proves that a mapping says what it should after an edit, given that it said what it did before.
fn mapping(old: Block<'_>, new: Block<'_>, column: usize, before: &Map, after: &Map) -> Option<()> {
    let old = old.cut(column, Start::Key)?;
    let new = new.cut(column, Start::Key)?;
    let is_aligned = old.len() == before.len()
        && new.len() == after.len()
        && old.iter().zip(before.keys()).all(|(part, key)| *part.key == **key);
    if !is_aligned {
        return None;
    }
    let mut is_taken = vec![false; after.len()];
    let mut rest = old.iter().zip(before.values());
    for part in &new {
        let (index, key, value) = after.get_full(part.key)?;
        if std::mem::replace(is_taken.get_mut(index)?, true) {
            return None;
        }
        let ahead = rest.clone().position(|(old, _)| old.key == part.key);
        let was = ahead.and_then(|ahead| rest.nth(ahead));
        let is_proved = was.is_some_and(|(old, was)| {
            if old.text == part.text {
                was == value
            } else {
                below((old, was), (part, value), column).is_some()
            }
        });
        let alone = || Value::object([(key.clone(), value.clone())].into_iter().collect());
        if !is_proved && !part.says(&alone()) {
            return None;
        }
    }
    Some(())
}

/// The same for what stands below a key.
fn below((old, before): (&Part<'_>, &Value), (new, after): (&Part<'_>, &Value), around: usize) -> Option<()> {
    let (old, new) = (old.inner?, new.inner?);
    let column = old.column().filter(|column| new.column() == Some(*column))?;
    match (before, after) {
        (Value::Object(before), Value::Object(after)) if column > around => {
            mapping(old, new, column, before, after)
        }
        (Value::Array(before), Value::Array(after)) => list(old, new, column, before, after),
        _ => None,
    }
}

/// The same for a list.
fn list(old: Block<'_>, new: Block<'_>, column: usize, before: &[Value], after: &[Value]) -> Option<()> {
    let old = old.cut(column, Start::Dash)?;
    let new = new.cut(column, Start::Dash)?;
    if old.len() != before.len() || new.len() != after.len() {
        return None;
    }
    let is_as_long = old.len() == new.len();
    let mut rest = old.iter().zip(before);
    for (part, value) in new.iter().zip(after) {
        let ahead = match is_as_long {
            true => Some(0),
            false => rest.clone().position(|(old, was)| old.text == part.text && was == value),
        };
        let was = ahead.and_then(|ahead| rest.nth(ahead));
        let is_proved = was.is_some_and(|(old, was)| {
            if old.text == part.text { was == value } else { element((old, was), (part, value)).is_some() }
        });
        if !is_proved && !part.says(&Value::array(vec![value.clone()])) {
            return None;
        }
    }
    Some(())
}

/// The same for an element of a list that is a mapping and starts behind its dash.
fn element((old, before): (&Part<'_>, &Value), (new, after): (&Part<'_>, &Value)) -> Option<()> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return None };
    let (old, new) = (old.inner?, new.inner?);
    let (old_lines, new_lines) = (old.without_dash()?, new.without_dash()?);
    let (old, new) = (Block { lines: &old_lines, ..old }, Block { lines: &new_lines, ..new });
    let column = old.column().filter(|column| new.column() == Some(*column))?;
    mapping(old, new, column, before, after)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::yaml::edit::check::says;
    use crate::yaml::{Limits, Source, read};

    fn is_certain(text: &str, edited: &str) -> bool {
        let read = |text: &str| {
            let source = Arc::new(Source::new("", text));
            read(&source, &Limits::default()).unwrap().remove(0)
        };
        certainly_says(&read(text), edited, read(edited).value().unwrap())
    }

    const TEXT: &str = "# about
kind: Pod # one
metadata:
  # the name
  name: web

  labels: {a: b}
spec:
  containers:
  - name: a
    args:
      - --x
      - |
        # text

        more
  # second
  - name: b
    image: \"i:1\"
";

    #[test]
    fn parts_that_stay_are_not_read_again() {
        for (old, new) in [
            ("name: web", "name: next"),
            ("name: web", "name: web\n  namespace: x"),
            ("  labels: {a: b}\n", ""),
            ("labels: {a: b}", "labels:\n    a: b\n    c: d"),
            ("image: \"i:1\"", "image: i:2\n    tty: true"),
            ("      - --x\n", ""),
            ("  # second\n", "  - name: c\n"),
            ("spec:", "status: {}\nspec:"),
        ] {
            let edited = TEXT.replacen(old, new, 1);
            assert!(is_certain(TEXT, &edited), "{edited}");
        }
    }

    #[test]
    fn what_is_not_understood_is_left_to_a_reader_of_all() {
        for text in [
            "a: &x 1\nb: *x\n",
            "a: !!str 1\nb: 2\n",
            "? a\n: 1\n",
            "'a': 1\nb: 2\n",
            "{a: 1,\nb: 2}\n",
            "a: {b: 1,\nc: 2}\nd: 1\n",
            "on: 1\nb: 2\n",
            "a: 1\r\nb: 2\r\n",
            "- a: 1\n- b: 2\n",
            "%YAML 1.1\n---\na: 1\nb: 2\n",
        ] {
            assert!(!is_certain(text, text), "{text:?}");
        }
    }

    /// Texts with another that an edit could make of each.
    const EDITS: [(&str, &str); 6] = [
        (TEXT, "kind: Pod\nmetadata:\n  name: next\nspec:\n  containers:\n  - name: b\n    image: \"i:1\"\n"),
        ("a:\n  b: 1\n  c:\n    d: x\ne: 2\n", "a:\n  b: 2\n  c:\n    d: x\n    f: y\ne: 2\n"),
        ("l:\n- a: 1\n  b: |\n    x\n\n- c\nm: 1\n", "l:\n- a: 2\n  b: |\n    x\n\n- c\nm: 1\n"),
        ("a: |+\n  x\n\nb: >\n  y\n  z\nc: 1\n", "a: |+\n  x\n\nb: >\n  y\n  z\nc: 2\n"),
        (
            "a:\n  - - 1\n    - 2\n  -\n    b: 1\nc: [1,\n  2]\n",
            "a:\n  - - 1\n    - 3\n  -\n    b: 2\nc: [1,\n  2]\n",
        ),
        ("a: one\n  two\nb: \"x\n  y\"\nc: 'z'\n", "a: one\n  two\nb: \"x\n  z\"\nc: 'z'\n"),
    ];

    #[test]
    fn what_is_certain_is_what_a_reader_of_all_finds() {
        let read = |text: &str| {
            let source = Arc::new(Source::new("", text));
            read(&source, &Limits::default()).unwrap().remove(0)
        };
        let (mut certain, mut same, mut all) = (0, 0, 0);
        for (text, edited) in EDITS {
            let (document, after) = (read(text), read(edited));
            let after = after.value().unwrap();
            let mut try_out = |broken: &str| {
                let (is_certain, is_same) = (certainly_says(&document, broken, after), says(broken, after));
                assert!(is_same || !is_certain, "{broken:?} for {text:?}");
                (certain, same, all) =
                    (certain + usize::from(is_certain), same + usize::from(is_same), all + 1);
            };
            try_out(edited);
            for at in 0..=edited.len() {
                for end in (at + 1..=edited.len()).take(8) {
                    try_out(&format!("{}{}", &edited[..at], &edited[end..]));
                    try_out(&format!("{}{}", &edited[..end], &edited[at..]));
                }
                for piece in [
                    "\n", " ", "  ", "- ", ": ", "x", "#", " #", "\n---\n", "\n...\n", "'", "\"", "{", "]",
                    ",", "0", "\t", "? ", "a: 1\n", "  a: 1\n", "- a\n", "|\n", "&x ", "*x", "<<: ",
                    "!!str ", "%",
                ] {
                    try_out(&format!("{}{piece}{}", &edited[..at], &edited[at..]));
                }
            }
        }
        assert!(certain > 6 && same >= certain && all > 10_000, "{certain} of {same} of {all}");
    }

    #[test]
    fn another_value_is_no_proof() {
        let source = Arc::new(Source::new("", TEXT));
        let document = read(&source, &Limits::default()).unwrap().remove(0);
        for (json, expected) in [
            (document.value().unwrap().to_json(), true),
            (document.value().unwrap().to_json().replace("web", "Web"), false),
            (document.value().unwrap().to_json().replace("--x", "--y"), false),
            (document.value().unwrap().to_json().replace("\"i:1\"", "1"), false),
            (document.value().unwrap().to_json().replace("\"kind\":\"Pod\",", ""), false),
        ] {
            let value = Value::from_json(&json).unwrap();
            assert_eq!(certainly_says(&document, TEXT, &value), expected, "{json}");
        }
    }
}
