//! One document of a stream.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use crate::value::{Pointer, Value};

use super::edit::Layout;
use super::json::JsonText;
use super::keys::Keys;
use super::node_index::{Found, IndexRecorder, NodeIndex};
use super::parser::YamlText;
use super::split::chunks;
use super::{Limits, Origin, Position, Source, print};

/// A document: its text, exact, and what it says.
///
/// The texts of all documents of a stream follow each other without a gap.
#[derive(Debug)]
pub struct Document {
    pub(super) source: Arc<Source>,
    pub(super) ranges: DocumentRanges,
    pub(super) origin: Origin,
    pub(super) format: Format,
    pub(super) value: Option<Value>,
    pub(super) layout: Layout,
    /// Made when first asked for: most documents are never asked.
    pub(super) marks: OnceLock<NodeIndex>,
}

/// Which parts of its source a document is.
#[derive(Debug)]
pub(super) struct DocumentRanges {
    /// Everything.
    pub(super) text: Range<usize>,
    /// What stands between its separators.
    pub(super) body: Range<usize>,
    /// What a parser has to see.
    pub(super) parsed: Range<usize>,
}

/// What a document is written in.
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

    /// Where the whole text stands in its source, in bytes.
    pub const fn range(&self) -> &Range<usize> {
        &self.ranges.text
    }

    /// The text without what separates it from its neighbours.
    pub fn body(&self) -> &str {
        &self.source.text()[self.ranges.body.clone()]
    }

    /// What the document says; `None` for one of nothing but blanks and comments.
    pub const fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// Takes the value out.
    pub fn into_value(self) -> Option<Value> {
        self.value
    }

    /// Whether it is written in JSON.
    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// The stream it stands in.
    pub const fn source(&self) -> &Arc<Source> {
        &self.source
    }

    /// Where the document itself starts, behind its separator and the comments that lead in.
    pub fn start(&self) -> Position {
        self.nearest_position(&Pointer::ROOT)
    }

    /// Where a node stands; `None` for one that the document does not have.
    pub fn position(&self, pointer: &Pointer) -> Option<Position> {
        self.found(pointer).map(|found| self.at(found.value.start))
    }

    /// The text of the key of a member, in bytes of the source; for an element of a list the element itself.
    pub fn key_span(&self, pointer: &Pointer) -> Option<Range<usize>> {
        self.found(pointer).map(|found| found.key.unwrap_or(found.value))
    }

    /// Where a node stands, or the nearest node above it that the document has.
    pub fn nearest_position(&self, pointer: &Pointer) -> Position {
        // The root needs no second look at the text.
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

    /// The text of a node as it is written, in bytes of the source.
    pub fn span(&self, pointer: &Pointer) -> Option<Range<usize>> {
        self.found(pointer).map(|found| found.value)
    }

    /// Where the elements of a list stand, as [`Self::span`] gives it for one, and where the list ends;
    /// `None` for a node that is no list.
    pub fn element_spans(&self, list: &Pointer) -> Option<(Vec<Range<usize>>, usize)> {
        self.marks().elements(list)
    }

    /// The text with another value in the place of this one, printed in the format of the document; what
    /// separates it from its neighbours stays.
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
                // A file keeps the line ends it has.
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

/// The mark that some editors put before the first document.
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

/// Where the elements of a list stand in the first document of a YAML text, as [`Document::element_spans`] tells it of
/// one that was read.
pub fn element_spans(text: &str, list: &Pointer) -> Option<(Vec<Range<usize>>, usize)> {
    marks(text, chunks(text).next()?.parsed, Format::Yaml).elements(list)
}

/// Reads a part of a text again, for the places of its nodes.
pub(super) fn marks(text: &str, part: Range<usize>, format: Format) -> NodeIndex {
    let mut keys = Keys::default();
    let mut recorder = IndexRecorder::new(&mut keys);
    // It was read before; should it end early, what was found so far is right.
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
    fn the_root_stands_where_a_second_look_finds_it() {
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
