//! The text of a policy: as YAML is printed, but for what people write on one line, and with comments.

use std::ops::Range;
use std::sync::Arc;

use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits, Source, is_printable, parse_value, print, read};

use super::comments::Comments;

/// The longest line of a list, in bytes.
const MAX_LINE: usize = 100;

/// A document with comments.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) value: Value,
    /// Comments above nodes.
    pub(super) comments: Vec<(Pointer, Vec<String>)>,
}

impl Output {
    /// The text. Annotations on several lines are written as in the text of the classic policy.
    pub(super) fn text(&self, of_classic: &Comments, head: &[String]) -> String {
        let head: String = head.iter().map(|line| format!("{line}\n")).collect();
        let mut text = String::new();
        print(&self.value, &mut text);
        let source = Arc::new(Source::new("policy", text.as_str()));
        let documents = read(&source, &Limits::default()).unwrap_or_default();
        let Some(document) = documents.iter().find(|document| document.value().is_some()) else {
            return head + &text;
        };
        let mut edits: Vec<(Range<usize>, String)> = Vec::new();
        for (pointer, comments) in &self.comments {
            let Some(start) = document.span(pointer).map(|span| span.start) else { continue };
            let (line, indent) = line_of(&text, start);
            let written = |comment: &String| format!("{}# {}\n", " ".repeat(indent), on_one_line(comment));
            let lines = comments.iter().map(written);
            edits.push((line..line, lines.collect()));
        }
        let spec = Pointer::ROOT.key("spec");
        if let Some(value) = self.value.get("spec") {
            collect_lists(document, &text, value, &spec, &mut edits);
        }
        let annotations = Pointer::ROOT.key("metadata").key("annotations");
        for (key, lines) in of_classic.annotations() {
            edits.extend(as_written(document, &text, &annotations.key(key.clone()), lines));
        }
        edits.sort_by_key(|(range, _)| range.start);
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        head + &text
    }
}

/// A comment without what would end its line, or what no YAML document may have: a rule may have any name.
fn on_one_line(comment: &str) -> String {
    let mut line = String::new();
    for c in comment.chars() {
        if c == '\t' || is_printable(c) { line.push(c) } else { line.extend(c.escape_unicode()) }
    }
    line
}

/// The start of the line of an offset, and its indentation.
fn line_of(text: &str, offset: usize) -> (usize, usize) {
    let line = text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
    let rest = text.get(line..).unwrap_or_default();
    (line, rest.len() - rest.trim_start_matches(' ').len())
}

/// Lists of words on one line: `["CREATE", "UPDATE"]` of resource rules. Expressions that need quotes on lines of their own.
fn collect_lists(
    document: &Document,
    text: &str,
    value: &Value,
    at: &Pointer,
    edits: &mut Vec<(Range<usize>, String)>,
) {
    match value {
        Value::Object(members) => {
            for (key, member) in members.iter() {
                let below = at.key(key.clone());
                if &**key == "expression" {
                    edits.extend(expression_in_block(document, text, member, &below));
                } else {
                    collect_lists(document, text, member, &below, edits);
                }
            }
        }
        Value::Array(items) => match list(document, text, items, at) {
            Some(edit) => edits.push(edit),
            None => {
                for (index, item) in items.iter().enumerate() {
                    collect_lists(document, text, item, &at.index(index), edits);
                }
            }
        },
        _ => {}
    }
}

/// `expression: |-` for an expression in quotes.
fn expression_in_block(
    document: &Document,
    text: &str,
    expression: &Value,
    at: &Pointer,
) -> Option<(Range<usize>, String)> {
    let (span, key) = (document.span(at)?, document.key_span(at)?);
    let expression = expression.as_str()?;
    let is_quoted = text.get(span.clone())?.starts_with(['\'', '"']);
    // What cannot stand in a block.
    let is_plain = !expression.starts_with(' ') && !expression.chars().any(char::is_control);
    let (line, _) = line_of(text, key.start);
    let indent = " ".repeat(key.start - line + 2);
    (is_quoted && is_plain).then(|| (span, format!("|-\n{indent}{expression}")))
}

fn list(document: &Document, text: &str, items: &[Value], at: &Pointer) -> Option<(Range<usize>, String)> {
    let key = document.key_span(at)?;
    let last = document.span(&at.index(items.len().checked_sub(1)?))?;
    let word = |index: usize| {
        let word = text.get(document.span(&at.index(index))?)?;
        (!word.contains(['\n', ',', '[', ']', '{', '}'])).then_some(word)
    };
    let is_text = |item: &Value| matches!(item, Value::String(_));
    let words: Vec<&str> = (0..items.len()).map(word).collect::<Option<_>>()?;
    let line = format!(": [{}]", words.join(", "));
    let (start, _) = line_of(text, key.start);
    let fits = key.end - start + line.len() <= MAX_LINE;
    (items.iter().all(is_text) && fits).then_some((key.end..last.end, line))
}

/// An annotation as the classic policy has it, if it reads the same here: without blanks at the ends of lines, unless these
/// count.
fn as_written(
    document: &Document,
    text: &str,
    at: &Pointer,
    lines: &[String],
) -> Option<(Range<usize>, String)> {
    let (span, key) = (document.span(at)?, document.key_span(at)?);
    let indent = " ".repeat(line_of(text, key.start).1 + 2);
    let value = document.value()?.pointed(at);
    let reads_same = |written: &String| {
        let read = parse_value(&format!("annotation: {written}\n"));
        read.is_ok_and(|read| read.get("annotation") == value)
    };
    let forms: [fn(&str) -> &str; 2] = [str::trim_end, |line| line];
    let written = forms.into_iter().map(|form| {
        let lines = lines.iter().enumerate().map(|(index, line)| match (index, form(line)) {
            (0, first) => first.to_owned(),
            (_, "") => "\n".to_owned(),
            (_, line) => format!("\n{indent}{line}"),
        });
        lines.collect::<String>()
    });
    let written = written.into_iter().find(reads_same)?;
    let old = text.get(key.end..span.end)?;
    let start = key.end + old.find(':')? + 1;
    let end = key.end + old.trim_end().len();
    Some((start..end, format!(" {written}")))
}
