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
    match body {
        Some(body) if is_plain && has_plain_lines(body) && has_plain_lines(document.body()) => {
            mapping(document.body(), body, 0, before, after).is_some()
        }
        _ => false,
    }
}

/// Whether lines end in line feeds alone, and no tab can stand for blanks.
fn has_plain_lines(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'\t' | b'\r'))
        && (text.is_ascii() || !text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}']))
}

/// An entry of a mapping, or an element of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part<'t> {
    /// All its lines.
    text: &'t str,
    /// The key; empty for an element.
    key: &'t str,
    /// The lines below the key, where nothing stands beside it.
    below: Option<&'t str>,
}

/// What starts a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    Key,
    Dash,
}

/// Cuts lines into the parts that start in a column; `None` where anything else stands there or before it.
fn cut<'t>(text: &'t str, column: usize, start: Start) -> Option<Vec<Part<'t>>> {
    let mut parts: Vec<Part<'t>> = Vec::new();
    // Where the last part starts, and the lines below its key.
    let mut begun: Option<(usize, Option<usize>)> = None;
    let end_at = |parts: &mut Vec<Part<'t>>, begun: Option<(usize, Option<usize>)>, end: usize| {
        if let (Some(part), Some((from, below))) = (parts.last_mut(), begun) {
            (part.text, part.below) = (&text[from..end], below.map(|below| &text[below..end]));
        }
    };
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        let next = at + line.len();
        let indent = line.len() - content.len();
        if !is_blank(content) && (indent <= column || begun.is_none()) {
            let is_dash = content.starts_with("- ") || matches!(content, "-" | "-\n");
            if indent == column && is_dash == (start == Start::Dash) {
                end_at(&mut parts, begun, at);
                let (key, is_bare) = if is_dash { ("", false) } else { key(content)? };
                parts.push(Part { text: "", key, below: None });
                begun = Some((at, is_bare.then_some(next)));
            } else if !(indent == column && is_dash && begun.is_some()) {
                // Only a list may stand in the column of its key.
                return None;
            }
        }
        at = next;
    }
    end_at(&mut parts, begun, at);
    Some(parts)
}

/// Whether nothing stands on a line, or a comment.
fn is_blank(content: &str) -> bool {
    content.is_empty() || content.starts_with(['\n', '#'])
}

/// The plain key that a line starts with, and whether nothing stands behind its colon.
fn key(content: &str) -> Option<(&str, bool)> {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-');
    let length = content.bytes().take_while(is_plain).count();
    let (key, rest) = content.split_at(length);
    let rest = rest.strip_prefix(':').filter(|rest| rest.is_empty() || rest.starts_with([' ', '\n']))?;
    let is_key = !key.is_empty() && !key.starts_with('-');
    is_key.then(|| (key, is_blank(rest.trim_start_matches(' '))))
}

/// Proves that a mapping says what it should after an edit, given that it said what it did before.
fn mapping(old: &str, new: &str, column: usize, before: &Map, after: &Map) -> Option<()> {
    let old = cut(old, column, Start::Key)?;
    let new = cut(new, column, Start::Key)?;
    let is_aligned = old.len() == before.len()
        && new.len() == after.len()
        && old.iter().zip(before.keys()).all(|(part, key)| *part.key == **key);
    let mut is_taken = vec![false; after.len()];
    let mut rest = old.iter().zip(before.values());
    for part in new.iter().filter(|_| is_aligned) {
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
                below(old, part, column, (was, value)).is_some()
            }
        });
        let alone = || Value::object([(key.clone(), value.clone())].into_iter().collect());
        if !is_proved && !reads_as(part.text, &alone()) {
            return None;
        }
    }
    is_aligned.then_some(())
}

/// The same for what stands below a key.
fn below(old: &Part<'_>, new: &Part<'_>, column: usize, (before, after): (&Value, &Value)) -> Option<()> {
    let (old, new) = (old.below?, new.below?);
    let indent = first_indent(old).filter(|indent| first_indent(new) == Some(*indent))?;
    match (before, after) {
        (Value::Object(before), Value::Object(after)) if indent > column => {
            mapping(old, new, indent, before, after)
        }
        (Value::Array(before), Value::Array(after)) if indent >= column => {
            list(old, new, indent, before, after)
        }
        _ => None,
    }
}

/// The column of the first line that says something.
fn first_indent(text: &str) -> Option<usize> {
    let mut lines = text.split_inclusive('\n').map(|line| (line, line.trim_start_matches(' ')));
    let (line, content) = lines.find(|(_, content)| !is_blank(content))?;
    Some(line.len() - content.len())
}

/// The same for a list.
fn list(old: &str, new: &str, column: usize, before: &[Value], after: &[Value]) -> Option<()> {
    let old = cut(old, column, Start::Dash)?;
    let new = cut(new, column, Start::Dash)?;
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
            if old.text == part.text {
                was == value
            } else {
                element(old, part, column, (was, value)).is_some()
            }
        });
        if !is_proved && !reads_as(part.text, &Value::array(vec![value.clone()])) {
            return None;
        }
    }
    Some(())
}

/// The same for an element of a list that is a mapping and starts behind its dash.
fn element(old: &Part<'_>, new: &Part<'_>, column: usize, (before, after): (&Value, &Value)) -> Option<()> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return None };
    // Without the dash its lines are those of a mapping.
    let without_dash = |text: &str| text.replacen('-', " ", 1);
    let (old, new) = (without_dash(old.text), without_dash(new.text));
    let indent = first_indent(&old).filter(|indent| first_indent(&new) == Some(*indent))?;
    if indent <= column { None } else { mapping(&old, &new, indent, before, after) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
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
