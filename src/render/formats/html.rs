//! `html`: one page for a browser, with the data of another format in it.
//!
//! The page loads nothing. Its policy for content lets only its own script and style in, and the data cannot end the
//! element that it is in.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::render::diff::{DiffStyle, unified_diff};
use crate::render::printable::printable_json;
use crate::report::Diagnostic;

use super::explanation::ExplanationOptions;
use super::report::{ReportWriter, report_without_objects};
use super::{DocumentView, Format, FormatWriter, Prepared, RunTotals};

const STYLE: &str = include_str!("../page/style.css");
const BODY: &str = include_str!("../page/body.html");
const SCRIPT: &str = include_str!("../page/script.js");

/// A page with the data of a format that writes one JSON object.
pub struct Html {
    /// The command, for which the script of the page has a view.
    pub command: &'static str,
    /// What writes the data.
    pub data: Box<dyn Format>,
}

impl Format for Html {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        self.data.prepare(view)
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(PageWriter { command: self.command, data: self.data.writer(), is_started: false })
    }

    fn shows_impact(&self) -> bool {
        self.data.shows_impact()
    }

    fn shows_errors(&self) -> bool {
        self.data.shows_errors()
    }

    fn shows_unchanged_targets(&self) -> bool {
        self.data.shows_unchanged_targets()
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        let data = self.data.failure(diagnostics)?;
        let mut page = head(self.command).into_bytes();
        Escaped(&mut page).write_all(data.as_bytes()).ok()?;
        page.extend(tail().bytes());
        String::from_utf8(page).ok()
    }
}

struct PageWriter<'a> {
    command: &'static str,
    data: Box<dyn FormatWriter + 'a>,
    is_started: bool,
}

impl PageWriter<'_> {
    fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if std::mem::replace(&mut self.is_started, true) {
            return Ok(());
        }
        out.write_all(head(self.command).as_bytes())
    }
}

impl FormatWriter for PageWriter<'_> {
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        self.data.write(view, prepared, &mut Escaped(out))
    }

    fn end_documents(&mut self, out: &mut dyn Write) -> io::Result<Vec<String>> {
        self.start(out)?;
        self.data.end_documents(&mut Escaped(out))
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        self.start(out)?;
        self.data.finish(totals, &mut Escaped(&mut *out))?;
        out.write_all(tail().as_bytes())
    }
}

fn head(command: &str) -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{script}'; \
         style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>kubectl kyv {command}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body data-command=\"{command}\">\n{BODY}<script type=\"application/json\" id=\"data\">\n",
        script = hash(SCRIPT),
        style = hash(STYLE),
    )
}

fn tail() -> String {
    format!("</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// Writes JSON so that it has no markup. The characters of markup are only in its strings, which may have escapes.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'<' | b'>' | b'&')) {
            self.0.write_all(&rest[..at])?;
            write!(self.0, "\\u{:04x}", rest[at])?;
            rest = &rest[at + 1..];
        }
        self.0.write_all(rest)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The data of a page of objects: explanations with diffs.
#[derive(Debug)]
pub struct ObjectRows {
    /// The options of the explanations.
    pub options: ExplanationOptions,
    /// The lines around changes. Hunks name their rules.
    pub style: DiffStyle,
    /// Whether objects and rules are listed, too, that do not match each other.
    pub all: bool,
}

impl Format for ObjectRows {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let style = DiffStyle { annotate: true, ..self.style.plain() };
        let rows = self.options.explanations(view, |object, mut explanation| {
            if !self.all {
                explanation.keep_matched();
            }
            let is_listed = self.all || explanation.has_rules() || object.report.is_changed();
            is_listed.then(|| {
                let mut row = explanation.json();
                let diff = unified_diff(object.report, &view.origin(object), &style);
                if !diff.is_empty() {
                    row.insert("diff", diff.into());
                }
                printable_json(row.to_json())
            })
        });
        Prepared::texts(rows)
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(ReportWriter::new())
    }

    fn shows_impact(&self) -> bool {
        true
    }

    fn shows_errors(&self) -> bool {
        self.all
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        report_without_objects(diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_has_no_markup() {
        let mut out = Vec::new();
        let data = r#"{"a":"</script><!-- &amp; <script>"}"#;
        Escaped(&mut out).write_all(data.as_bytes()).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(['<', '>', '&']), "{text}");
        let read = |text| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&text), read(data));
    }

    #[test]
    fn the_page_loads_nothing() {
        let page = head("diff") + &tail();
        for word in
            ["src=", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML", "style=\"", "onclick="]
        {
            assert!(!page.contains(word), "{word}");
        }
    }
}
