//! One document of a stream.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::value::{Pointer, Segment, Value};

use super::edit::Layout;
use super::json::JsonText;
use super::keys::Keys;
use super::node_index::{Found, IndexRecorder, NodeIndex};
use super::parser::YamlText;
use super::{Limits, Origin, Position, Source, print};

/// A document: its exact text and its value.
///
/// The texts of all documents of a stream, concatenated, are the stream.
#[derive(Debug)]
pub struct Document {
    pub(super) source: Arc<Source>,
    pub(super) ranges: DocumentRanges,
    pub(super) origin: Origin,
    pub(super) format: Format,
    pub(super) value: Option<Value>,
    pub(super) layout: Layout,
    /// Computed on first use.
    pub(super) marks: OnceLock<NodeIndex>,
}

/// The byte ranges of a document in its source.
#[derive(Debug)]
pub(super) struct DocumentRanges {
    /// The whole text.
    pub(super) text: Range<usize>,
    /// The text between its separators.
    pub(super) body: Range<usize>,
    /// The text to parse.
    pub(super) parsed: Range<usize>,
}

/// The format of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Json,
}

impl Document {
    /// The whole text: leading comments, separator, document, end marker.
    pub fn text(&self) -> &str {
        &self.source.text()[self.ranges.text.clone()]
    }

    /// The byte range of the whole text in its source.
    pub const fn range(&self) -> &Range<usize> {
        &self.ranges.text
    }

    /// The text without separators.
    pub fn body(&self) -> &str {
        &self.source.text()[self.ranges.body.clone()]
    }

    /// The value; `None` if there are only blanks and comments.
    pub const fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// The value, by ownership.
    pub fn into_value(self) -> Option<Value> {
        self.value
    }

    /// Whether it is written in JSON.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Its stream.
    pub const fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// The start of the root node, after separator and leading comments.
    pub fn start(&self) -> Position {
        self.nearest_position(&Pointer::ROOT)
    }

    /// The position of a node; `None` if there is none.
    pub fn position(&self, pointer: &Pointer) -> Option<Position> {
        self.found(pointer).map(|found| self.at(found.value.start))
    }

    /// The byte range of a member's key in the source, or of a list element.
    pub fn key_span(&self, pointer: &Pointer) -> Option<Range<usize>> {
        self.found(pointer).map(|found| found.key.unwrap_or(found.value))
    }

    /// The position of a node, or of its nearest existing ancestor.
    pub fn nearest_position(&self, pointer: &Pointer) -> Position {
        // The root needs no index.
        if pointer.is_root()
            && let Some(root) = self.layout.root()
        {
            return self.at(root);
        }
        match self.marks().find(pointer) {
            Ok(found) | Err(Some(found)) => self.at(found.key.unwrap_or(found.value).start),
            Err(None) => self.at(self.ranges.body.start),
        }
    }

    /// What finds its nodes, without its value.
    pub fn nodes(&self) -> DocumentNodes {
        DocumentNodes {
            source: Arc::clone(&self.source),
            parsed: self.ranges.parsed.clone(),
            origin: self.origin,
            format: self.format,
            marks: Arc::default(),
        }
    }

    /// The byte range of a node in the source.
    pub fn span(&self, pointer: &Pointer) -> Option<Range<usize>> {
        self.found(pointer).map(|found| found.value)
    }

    /// The position of a byte of the text at a pointer; `None` if it was not written as it reads: with escapes, as an
    /// alias.
    pub fn position_in(&self, pointer: &Pointer, offset: usize) -> Option<Position> {
        let read = self.value.as_ref()?.pointed(pointer)?.as_str()?;
        let span = self.span(pointer)?;
        let written = self.source.text().get(span.clone())?;
        Some(self.at(span.start + offset_in(written, read, offset)?))
    }

    /// The byte ranges of the elements of a list as in [`Self::span`], and the end of the list or where what comes after it
    /// begins; `None` if the node is no list.
    pub fn element_spans(&self, list: &Pointer) -> Option<(Vec<Range<usize>>, usize)> {
        if let [Segment::Key(key)] = list.segments()
            && let Some((elements, next)) = self.layout.elements(self.source.text(), key)
        {
            return Some((elements, next.unwrap_or(self.ranges.body.end)));
        }
        self.marks().elements(list)
    }

    /// The text with this value instead of its own, printed in the format of the document; the
    /// separators stay.
    pub fn with_value(&self, value: &Value) -> String {
        let text = self.source.text();
        let body = self.body();
        let mut out =
            text[self.ranges.text.start..self.ranges.body.start].trim_end_matches([' ', '\t']).to_owned();
        match self.format {
            Format::Json => {
                let lead = body.len() - body.trim_start().len();
                out.push_str(&body[..lead]);
                let pretty = body.trim().contains('\n');
                out.push_str(&if pretty { value.to_pretty_json(2) } else { value.to_json() });
                out.push_str(&body[body.trim_end().len()..]);
            }
            Format::Yaml => {
                out.push_str(leading_comments(body));
                if !out.is_empty() && !out.ends_with('\n') && out != BYTE_ORDER_MARK {
                    out.push('\n');
                }
                let mut printed = String::new();
                print(value, &mut printed);
                // The line breaks of the file are kept.
                if text[self.ranges.text.clone()].contains("\r\n") {
                    printed = printed.replace('\n', "\r\n");
                }
                out.push_str(&printed);
            }
        }
        out.push_str(&text[self.ranges.body.end..self.ranges.text.end]);
        out
    }

    fn at(&self, offset: usize) -> Position {
        self.source.position_from(self.origin, offset)
    }

    fn found(&self, pointer: &Pointer) -> Option<Found> {
        self.marks().find(pointer).ok()
    }

    fn marks(&self) -> &NodeIndex {
        self.marks.get_or_init(|| marks(self.source.text(), self.ranges.parsed.clone(), self.format))
    }
}

/// Where a byte of a scalar's text is in what was written. Styles of scalars differ in blanks, line breaks and marks
/// at the start; the rest must be the same.
fn offset_in(written: &str, read: &str, offset: usize) -> Option<usize> {
    let style = written.chars().next()?;
    let begins = match style {
        '|' | '>' => written.find('\n')? + 1,
        '"' | '\'' => 1,
        _ => 0,
    };
    let mut written = Written { text: written, at: begins, has_escapes: style == '"' };
    let mut end = begins;
    for (at, c) in read.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        let (place, found) = written.next()?;
        if found != c {
            return None;
        }
        if at >= offset {
            return Some(place);
        }
        end = written.at;
        // In single quotes, a quote is written twice.
        if (style, c) == ('\'', '\'') && written.next()?.1 != '\'' {
            return None;
        }
    }
    Some(end)
}

/// The characters of a written scalar that are no blanks, with their places.
struct Written<'t> {
    text: &'t str,
    /// Where the next one begins.
    at: usize,
    /// Whether it is in double quotes.
    has_escapes: bool,
}

impl Iterator for Written<'_> {
    type Item = (usize, char);

    fn next(&mut self) -> Option<(usize, char)> {
        loop {
            let (place, rest) = (self.at, self.text.get(self.at..)?);
            let first = rest.chars().next()?;
            let (length, c) = match rest.strip_prefix('\\') {
                Some(escape) if self.has_escapes => {
                    let (length, c) = unescaped(escape)?;
                    (1 + length, c)
                }
                _ => (first.len_utf8(), first),
            };
            self.at += length;
            if !c.is_whitespace() {
                return Some((place, c));
            }
        }
    }
}

/// The length of an escape after its backslash, and its character.
fn unescaped(escape: &str) -> Option<(usize, char)> {
    let first = escape.chars().next()?;
    let coded = |digits: usize| {
        let code = u32::from_str_radix(escape.get(1..=digits)?, 16).ok()?;
        Some((1 + digits, char::from_u32(code)?))
    };
    let c = match first {
        'x' => return coded(2),
        'u' => return coded(4),
        'U' => return coded(8),
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'e' => '\u{1b}',
        't' | 'n' | 'v' | 'f' | 'r' | '_' | 'N' | 'L' | 'P' => ' ',
        other => other,
    };
    Some((first.len_utf8(), c))
}

/// The text of a document, which is read again to find the first node: before, it takes no memory but the text.
#[derive(Clone, Debug)]
pub struct DocumentNodes {
    source: Arc<Source>,
    parsed: Range<usize>,
    origin: Origin,
    format: Format,
    marks: Arc<OnceLock<NodeIndex>>,
}

impl DocumentNodes {
    /// Its stream.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The position of an offset in the source.
    pub fn position(&self, offset: usize) -> Position {
        self.source.position_from(self.origin, offset)
    }

    /// The byte range of a part of the text of a node, where `read` is that text and `value` the node's range; `None` if
    /// it was not written as it reads.
    pub fn part(&self, value: &Range<usize>, read: &str, part: &Range<usize>) -> Option<Range<usize>> {
        let written = self.source.text().get(value.clone())?;
        let start = offset_in(written, read, part.start)?;
        let last = read.get(part.clone())?.char_indices().rfind(|(_, c)| !c.is_whitespace());
        let (last, c) = last.unwrap_or((0, ' '));
        let end = offset_in(written, read, part.start + last)? + c.len_utf8();
        Some(value.start + start..value.start + end.max(start))
    }

    /// The byte ranges of the first of these nodes that exists, or of the nearest node above the last one: of its key or
    /// list element, and of its value. `None` if the document is empty.
    pub fn find(&self, pointers: &[Pointer]) -> Option<(Range<usize>, Range<usize>)> {
        let nodes = self.marks.get_or_init(|| marks(self.source.text(), self.parsed.clone(), self.format));
        let mut nearest = None;
        for pointer in pointers {
            match nodes.find(pointer) {
                Ok(found) => {
                    nearest = Some(found);
                    break;
                }
                Err(above) => nearest = above,
            }
        }
        nearest.map(|found| (found.key.unwrap_or_else(|| found.value.clone()), found.value))
    }
}

/// Written by some editors at the start of a file.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The comments and empty lines above the first node.
fn leading_comments(body: &str) -> &str {
    let blank = [' ', '\t', '\r', '\n'];
    // A lone carriage return ends a line of YAML, too: such text is left to the printer.
    let is_above = |line: &&str| {
        matches!(line.trim_start_matches(blank).chars().next(), None | Some('#'))
            && !line.trim_end_matches("\r\n").contains('\r')
    };
    let length = body.split_inclusive('\n').take_while(is_above).map(str::len).sum();
    &body[..length]
}

/// Reads a part of a text again, for the ranges of its nodes.
pub(super) fn marks(text: &str, part: Range<usize>, format: Format) -> NodeIndex {
    let mut keys = Keys::default();
    let mut recorder = IndexRecorder::new(&mut keys);
    // It was read before. On an error, what was found so far is right.
    let _read = match format {
        Format::Json => {
            let mut json = JsonText::new(text, part);
            json.starts();
            json.read(&mut recorder)
        }
        Format::Yaml => {
            let yaml = YamlText { base: part.start, text: &text[part], as_go: false };
            let limits = Limits { depth: Limits::MAX_DEPTH, ..Limits::default() };
            yaml.read(&limits, &mut recorder)
        }
    };
    recorder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::read;

    #[test]
    fn the_layout_and_the_index_agree_on_the_root() {
        for (text, line, column) in [
            ("# about\n\na: 1\n", 3, 1),
            ("--- # here\n# c\n  a: 1\n", 3, 3),
            ("--- {a: 1}\n", 1, 5),
            ("&x\na: 1\n", 2, 1),
            ("!!map\n# c\na: 1\n", 3, 1),
            ("--- !!seq &x\n- 1\n", 2, 1),
            ("# c\n[1]\n", 2, 1),
            ("\u{feff}# c\n{\"a\": 1}\n", 2, 1),
            ("# c\n--- text\n", 2, 5),
            ("# only\n", 1, 1),
        ] {
            let source = Arc::new(Source::new("x.yaml", text));
            let documents = read(&source, &Limits::default()).unwrap();
            let start = documents[0].start();
            assert_eq!((start.line, start.column), (line, column), "{text:?}");
            let marked = documents[0].found(&Pointer::ROOT).map(|root| documents[0].at(root.value.start));
            assert!(marked.is_none_or(|marked| marked == start), "{text:?}: {marked:?}");
        }
    }

    #[test]
    fn bytes_of_a_text_are_found_in_what_was_written() {
        // The `!` of each text, which is the first solid character at or after the offset.
        for (text, line, column) in [
            ("a: b + !c\n", 1, 8),
            ("a: b +\n   !c\n", 2, 4),
            ("a: 'it''s !'\n", 1, 11),
            ("a: \"it's !\"\n", 1, 10),
            ("a: |\n  b +\n    !c\n", 3, 5),
            ("a: >-  # c\n  b +\n  é !c\n", 3, 5),
            ("{\"a\": \"b + !c\"}", 1, 12),
            ("a: \"b\\t+ !\"\n", 1, 10),
            ("a: \"\\\"b\\\" !\"\n", 1, 11),
            ("a: \"\\u0062 !\"\n", 1, 12),
            ("{\"a\": \"\\\"b\\\" !\"}", 1, 14),
            ("b: &x b !\na: *x\n", 0, 0),
        ] {
            let source = Arc::new(Source::new("x.yaml", text));
            let documents = read(&source, &Limits::default()).unwrap();
            let read = documents[0].value().unwrap().get("a").unwrap().as_str().unwrap();
            let found = documents[0].position_in(&Pointer::ROOT.key("a"), read.find('!').unwrap());
            let found = found.map_or((0, 0), |found| (found.line, found.column));
            assert_eq!(found, (line, column), "{text:?}");
        }
        assert_eq!(offset_in("a +", "a +", 3), Some(3));
    }

    #[test]
    fn comments_above_a_changed_document_are_kept() {
        for (text, expected) in [
            ("# about\n\na: 1\n", "# about\n\nb: 2\n"),
            ("--- # here\na: 1\n", "--- # here\nb: 2\n"),
            ("---\n# about\na: 1 # gone\n", "---\n# about\nb: 2\n"),
            ("--- {a: 1}\n", "---\nb: 2\n"),
            ("\u{feff}a: 1\n", "\u{feff}b: 2\n"),
            ("---\r\na: 1\r\n", "---\r\nb: 2\r\n"),
        ] {
            let source = Arc::new(Source::new("x.yaml", text));
            let documents = read(&source, &Limits::default()).unwrap();
            let value = Value::from_json(r#"{"b":2}"#).unwrap();
            assert_eq!(documents[0].with_value(&value), expected, "{text:?}");
        }
    }
}
