//! `yaml`: the objects as a stream of documents; those that no rule changes byte for byte.

use std::io::{self, Write};

use crate::render::to_yaml;
use crate::report::ObjectReport;

use super::{DocumentView, Format, FormatWriter, Layout, Prepared, RunTotals, holds_secret_values};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The objects as a stream of documents.
#[derive(Debug)]
pub struct Yaml {
    /// How changed documents are written.
    pub layout: Layout,
}

impl Format for Yaml {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        match (view.document, view.after) {
            (Some(document), Some(after)) => {
                Prepared { edited: Some(self.layout.edit(document, after)), ..Prepared::default() }
            }
            (Some(_), None) => Prepared::default(),
            (None, after) => Prepared::texts(after.or(view.before).map(to_yaml).into_iter().collect()),
        }
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(Stream::default())
    }

    fn keeps_changes(&self) -> bool {
        false
    }

    fn prints_secret_values_of(&self, report: &ObjectReport) -> bool {
        holds_secret_values(report)
    }
}

/// Writes documents one after the other. Those of one text keep their separators; between texts a line break and a
/// separator are added where there is none.
#[derive(Debug, Default)]
struct Stream {
    /// The input of the last document.
    input: Option<usize>,
    /// Whether the last text does not end in a line break.
    unterminated: bool,
}

/// The input of objects that have no text.
const NO_INPUT: usize = usize::MAX;

impl FormatWriter for Stream {
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        if view.is_target && self.input.is_some() {
            // A target is separated from the document before it, even if both come from one file.
            self.input = Some(NO_INPUT);
        }
        let Some(document) = view.document else { return self.object(&prepared.texts.concat(), out) };
        let text = prepared.edited.as_ref().map_or_else(|| document.text(), |edited| edited.text.as_str());
        self.document(view.input, text, out)
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        // Manifests are passed through unchanged.
        if totals.is_live { totals.write_gaps_comment(out) } else { Ok(()) }
    }
}

impl Stream {
    /// Writes a document of an input.
    fn document(&mut self, input: usize, mut text: &str, out: &mut dyn Write) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let last = self.input.replace(input);
        if last.is_some_and(|last| last != input) {
            self.end_line(out)?;
            text = text.trim_start_matches(BYTE_ORDER_MARK);
            match opening(text) {
                Opening::Separator => {}
                Opening::Directive => out.write_all(b"...\n")?,
                Opening::Content => out.write_all(b"---\n")?,
            }
        }
        self.unterminated = !text.ends_with('\n');
        out.write_all(text.as_bytes())
    }

    /// Writes an object that has no text.
    fn object(&mut self, printed: &str, out: &mut dyn Write) -> io::Result<()> {
        self.end_line(out)?;
        if self.input.replace(NO_INPUT).is_some() {
            out.write_all(b"---\n")?;
        }
        out.write_all(printed.as_bytes())
    }

    /// Ends the last line. Kubernetes reads it as if it was ended, even in a block scalar.
    fn end_line(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.unterminated) { out.write_all(b"\n") } else { Ok(()) }
    }
}

/// How a text begins.
#[derive(Debug, PartialEq)]
enum Opening {
    Separator,
    Directive,
    Content,
}

fn opening(text: &str) -> Opening {
    // Blank lines could lengthen a block scalar at the end of the text before.
    if text.starts_with(['\n', '\r', ' ', '\t']) {
        return Opening::Content;
    }
    let line = text.lines().find(|line| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'));
    match line {
        Some(line) if line.starts_with('%') => Opening::Directive,
        Some(line) if line == "---" || line.starts_with("--- ") || line.starts_with("---\t") => {
            Opening::Separator
        }
        _ => Opening::Content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_added_where_a_text_has_none() {
        for (text, expected) in [
            ("a: 1\n", Opening::Content),
            ("---\na: 1\n", Opening::Separator),
            ("--- {a: 1}", Opening::Separator),
            ("# c\n\n---\na: 1\n", Opening::Separator),
            ("\n---\na: 1\n", Opening::Content),
            ("---a: 1\n", Opening::Content),
            ("%YAML 1.1\n---\na: 1\n", Opening::Directive),
            ("# c\n%YAML 1.1\n---\n", Opening::Directive),
            ("# c\n", Opening::Content),
        ] {
            assert_eq!(opening(text), expected, "{text:?}");
        }
    }
}
