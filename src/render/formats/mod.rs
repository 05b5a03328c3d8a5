//! Output formats, one file each: how evaluated documents become text.
//!
//! A new format is a file with a type that implements [`Format`], and a line in the table of formats of each command
//! that offers it.

mod check;
mod diff;
mod drift;
mod explanation;
mod findings;
mod html;
mod json;
mod markdown;
mod name;
mod patch;
mod report;
mod summary;
mod yaml;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use crate::report::{
    CheckFinding, Diagnostic, Drift, FindingGroup, GeneratedFindings, Impact, MissingData, ObjectReport,
    Totals,
};
use crate::value::{Pointer, Value};
use crate::yaml::{Document, Edited};

use super::Origin;
use super::diff::DocumentDiff;
use super::messages::RulePlaces;

pub use check::{CheckOutput, CheckReport};
pub use diff::Diff;
pub use drift::{DriftFormat, DriftReport};
pub use explanation::{ExplanationOptions, Explanations};
pub use findings::Findings;
pub use html::{Html, ObjectRows};
pub use json::Json;
pub use markdown::Markdown;
pub use name::Name;
pub use patch::Patch;
pub use report::Report;
pub(super) use report::diagnostic_json;
pub use summary::Summary;
pub use yaml::Yaml;

/// An output format.
pub trait Format: Sync {
    /// Formats a document; called on many threads.
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared;

    /// Writes prepared documents in their order.
    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(PlainWriter)
    }

    /// Whether what each rule changed is needed after a document was prepared.
    fn keeps_changes(&self) -> bool {
        true
    }

    /// Whether it shows diffs. These need all documents of a file at once.
    fn shows_diff(&self) -> bool {
        false
    }

    /// Whether it shows the impact of changes on a cluster.
    fn shows_impact(&self) -> bool {
        false
    }

    /// Whether it shows the errors of rules.
    fn shows_errors(&self) -> bool {
        false
    }

    /// The result of a run that evaluated nothing because of these errors; `None` if it has none.
    fn failure(&self, _diagnostics: &[Diagnostic]) -> Option<String> {
        None
    }

    /// Whether it shows further targets that did not change.
    fn shows_unchanged_targets(&self) -> bool {
        false
    }

    /// Whether it prints an object that is a Secret with its values.
    fn prints_secret_values_of(&self, _: &ObjectReport) -> bool {
        false
    }
}

/// What a writer writes of a run that evaluated nothing.
fn finished_empty(mut writer: Box<dyn FormatWriter + '_>, diagnostics: &[Diagnostic]) -> Option<String> {
    let (tally, gaps) = (Totals::default(), MissingData::default());
    let totals =
        RunTotals { tally: &tally, gaps: &gaps, is_live: false, diagnostics, generated: None, places: None };
    let mut out = Vec::new();
    writer.finish(&totals, &mut out).ok()?;
    String::from_utf8(out).ok()
}

/// Writes prepared documents. Writing fails only where the output does.
pub trait FormatWriter {
    /// Writes the next document.
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()>;

    /// Writes the rest of the last document; returns notes about the output.
    fn end_documents(&mut self, _: &mut dyn Write) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Writes the end. A format that counts objects says here what could not be read.
    fn finish(&mut self, _: &RunTotals<'_>, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// A document of the input with the outcome of its objects.
#[derive(Debug)]
pub struct DocumentView<'a> {
    /// The document; `None` for an object without text, such as one of a cluster.
    pub document: Option<&'a Document>,
    /// The value before the policies; `None` for an empty document.
    pub before: Option<&'a Value>,
    /// The value after the policies; `None` if nothing changed.
    pub after: Option<&'a Value>,
    /// The file that the document is part of, if it comes from a file.
    pub file: Option<&'a Path>,
    /// The number of the input that it comes from.
    pub input: usize,
    /// Whether it holds further objects that only rules with targets may change.
    pub is_target: bool,
    /// The places of the rules, if they can be found.
    pub places: Option<&'a dyn RulePlaces>,
    /// Its objects, in order: one, or the items of a list.
    pub objects: Vec<ObjectView<'a>>,
}

/// An object of a document with its outcome.
#[derive(Clone, Copy, Debug)]
pub struct ObjectView<'a> {
    /// Its path in the document.
    pub pointer: &'a Pointer,
    /// The outcome of the policies.
    pub report: &'a ObjectReport,
    /// Whether it exists, so that the request is an update.
    pub is_update: bool,
    /// What is wrong with the policies together, if that was checked.
    pub findings: &'a [CheckFinding],
    /// What a GitOps tool shows of its changes, if that was asked.
    pub drift: Option<&'a Arc<Drift>>,
}

impl ObjectView<'_> {
    /// The impact of its change on a cluster.
    pub fn impact(&self) -> Impact {
        self.report.impact(self.is_update)
    }
}

impl<'a> DocumentView<'a> {
    /// The objects that changed.
    pub fn changed(&self) -> impl Iterator<Item = &ObjectView<'a>> {
        self.objects.iter().filter(|object| object.report.is_changed())
    }

    /// The origin of one of its objects. To find the line, the text is scanned again.
    pub fn origin(&self, object: &ObjectView<'_>) -> Origin {
        Origin {
            name: self.document.map_or("cluster", |document| document.source().name()).into(),
            line: self.document.map(|document| document.nearest_position(object.pointer).line),
        }
    }
}

/// A document prepared for output.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Texts of the document or of its objects, in order.
    pub texts: Vec<String>,
    /// The findings about the objects.
    pub(super) findings: Vec<FindingGroup>,
    /// How the text of a changed document was edited; the text itself may have moved to `diff`.
    pub edited: Option<Edited>,
    /// The diff of a document of a file.
    pub(super) diff: Option<Box<DocumentDiff>>,
}

impl Prepared {
    fn texts(texts: Vec<String>) -> Self {
        Self { texts, ..Self::default() }
    }
}

/// The results of a whole run.
#[derive(Clone, Copy, Debug)]
pub struct RunTotals<'a> {
    /// The numbers of objects that changed, failed and so on.
    pub tally: &'a Totals,
    /// What could not be read.
    pub gaps: &'a MissingData,
    /// Whether the objects are those of a cluster.
    pub is_live: bool,
    /// The errors, warnings and notes of the run, the first of each.
    pub diagnostics: &'a [Diagnostic],
    /// The findings on generated objects, if such were evaluated.
    pub generated: Option<&'a GeneratedFindings>,
    /// The places of the rules, if they can be found.
    pub places: Option<&'a dyn RulePlaces>,
}

impl RunTotals<'_> {
    /// Writes a comment on what could not be read. `git apply` and YAML parsers skip such a line.
    fn write_gaps_comment(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.gaps.is_empty() { Ok(()) } else { writeln!(out, "# incomplete: {}", self.gaps) }
    }
}

/// How a changed document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The original text is edited.
    Kept,
    /// The document is printed canonically.
    Canonical,
}

impl Layout {
    /// The text of a document with another value.
    pub fn edit(self, document: &Document, after: &Value) -> Edited {
        match self {
            Self::Kept => document.edited(after),
            Self::Canonical => Edited { text: document.with_value(after), expanded: 0, fallback: None },
        }
    }
}

/// Writes the texts of documents as they are.
#[derive(Debug)]
struct PlainWriter;

impl FormatWriter for PlainWriter {
    fn write(&mut self, _: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        prepared.texts.iter().try_for_each(|text| out.write_all(text.as_bytes()))
    }
}

/// Whether an object is a Secret with values.
fn holds_secret_values(report: &ObjectReport) -> bool {
    let has_values = |field| report.after.get(field).is_some_and(|field| !field.is_null());
    report.after.get("kind").and_then(Value::as_str) == Some("Secret")
        && ["data", "stringData"].into_iter().any(has_values)
}
