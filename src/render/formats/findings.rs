//! Formats for other programs, such as `sarif`: what each rule found about each object.

use std::io::{self, Write};

use crate::render::findings::{FindingWriter, RunEnd, SeenFindings, object_findings, path_text};
use crate::report::{Diagnostic, FilePlace, FindingGroup, MissingData};

use super::{DocumentView, Format, FormatWriter, ObjectView, Prepared, RunTotals};

/// What each rule found about each object, in the format of another program.
#[derive(Clone, Copy, Debug)]
pub struct Findings {
    /// Begins the output.
    pub writer: fn() -> Box<dyn FindingWriter>,
}

impl Format for Findings {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        let matched = view.objects.iter().filter(|object| !object.report.policies.is_empty());
        Prepared { findings: matched.map(|object| group(view, object)).collect(), ..Prepared::default() }
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(FindingsWriter { writer: (self.writer)(), seen: SeenFindings::default() })
    }

    fn shows_unchanged_targets(&self) -> bool {
        true
    }

    fn failure(&self, diagnostics: &[Diagnostic]) -> Option<String> {
        let mut out = Vec::new();
        (self.writer)().finish(&RunEnd { diagnostics, gaps: &MissingData::default() }, &mut out).ok()?;
        String::from_utf8(out).ok()
    }
}

/// The findings about an object of a document.
fn group(view: &DocumentView<'_>, object: &ObjectView<'_>) -> FindingGroup {
    object_findings(object.report, object_place(view, object), view.places)
}

/// The place of an object, if it comes from a file.
pub(super) fn object_place(view: &DocumentView<'_>, object: &ObjectView<'_>) -> Option<FilePlace> {
    view.file.map(|file| FilePlace {
        file: path_text(file),
        line: view.origin(object).line.unwrap_or(1),
        column: None,
    })
}

#[derive(Debug)]
struct FindingsWriter {
    writer: Box<dyn FindingWriter>,
    seen: SeenFindings,
}

impl FormatWriter for FindingsWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.findings.iter().try_for_each(|group| {
            self.seen.add(group);
            self.writer.group(group, out)
        })
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        // The errors of rules are findings already.
        let diagnostics = self.seen.others(totals.diagnostics);
        self.writer.finish(&RunEnd { diagnostics: &diagnostics, gaps: totals.gaps }, out)
    }
}
