//! The formats of the result.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::render::{
    DiffStyle, FileDiff, FilePart, JsonRows, Width, harmless_name, impact_json, json_patch, kubectl_name,
    markdown, object_json, summary_table, tally_json, tally_rows, unified_diff,
};
use crate::report::{Gaps, Tally};
use crate::source::{Content, from_here};
use crate::value::{Value, shortest_changes};
use crate::yaml::{self, Document, Edited};

use super::evaluate::{Evaluated, Evaluation};
use super::session::counted;
use super::spool::Spool;
use super::stream::Stream;
use super::summary::listed;

/// A page holds so many bytes of diffs; what comes after is counted. A comment on a pull request takes 65,536
/// characters.
const LONGEST_PAGE: usize = 48 << 10;

/// What is printed on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// The objects, as a stream of documents.
    Yaml,
    /// The objects, as one object or a list.
    Json,
    /// What changes, as a unified diff.
    Diff,
    /// What changes, as a JSON patch for each object.
    Patch,
    /// The names of objects that change.
    Name,
    /// Counts, as a table.
    Summary,
    /// Reports of all objects that a rule matched, and counts.
    Report,
    /// Counts and diff, for a pull request.
    Markdown,
}

/// How the text of a changed document is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// By editing the text that is there.
    Kept,
    /// By printing the document canonically.
    Canonical,
}

impl Layout {
    /// The text of a document with another value.
    pub(super) fn text(self, document: &Document, after: &Value) -> Edited {
        match self {
            Self::Kept => document.edited(after),
            Self::Canonical => Edited { text: document.with_value(after), expanded: 0, fallback: None },
        }
    }
}

/// A piece made ready for printing; what takes time is done.
#[derive(Debug)]
pub(super) enum Ready {
    /// Text that is printed as it is, if there is any.
    Text(Option<String>),
    /// The text of a document that changed.
    Edited(Edited),
    /// A document of a file, and how its text was edited if it changed; the text itself is in the part.
    Part { part: Box<FilePart>, edited: Option<Edited> },
    /// Objects, as indented JSON.
    Objects(Vec<String>),
    /// Rows of a report.
    Rows(Vec<Value>),
}

impl Format {
    /// Whether a diff is in it.
    pub(super) const fn shows_diff(self) -> bool {
        matches!(self, Self::Diff | Self::Markdown)
    }

    /// Makes a piece ready; called on many threads.
    pub(super) fn prepare(self, evaluated: &Evaluated, layout: Layout, style: &DiffStyle) -> Ready {
        let changed = || evaluated.objects.iter().filter(|object| object.report.is_changed());
        match self {
            Self::Yaml => match (&evaluated.piece.content, &evaluated.after) {
                (Content::Document(document), Some(after)) => Ready::Edited(layout.text(document, after)),
                (Content::Document(_), None) => Ready::Text(None),
                (Content::Object(object), after) => {
                    let mut text = String::new();
                    yaml::print(after.as_ref().unwrap_or(object), &mut text);
                    Ready::Text(Some(text))
                }
            },
            Self::Json => {
                let objects = evaluated.objects.iter();
                Ready::Objects(objects.map(|object| object.report.after.to_pretty_json(4)).collect())
            }
            Self::Diff | Self::Markdown => {
                let style = if self == Self::Markdown { style.plain() } else { *style };
                if let (Content::Document(document), Some(_)) =
                    (&evaluated.piece.content, &evaluated.piece.file)
                {
                    return part(evaluated, document, layout, &style);
                }
                let diff =
                    changed().map(|object| unified_diff(&object.report, &evaluated.origin(object), &style));
                Ready::Text(Some(diff.collect()))
            }
            Self::Patch => Ready::Text(Some(changed().map(patch_line).collect())),
            Self::Name => {
                let names = changed().filter_map(|object| kubectl_name(&object.report));
                Ready::Text(Some(names.map(|name| format!("{name}\n")).collect()))
            }
            Self::Summary => Ready::Text(None),
            Self::Report => {
                let told = evaluated.objects.iter().filter(|object| !object.report.policies.is_empty());
                let rows = told.map(|object| {
                    let mut row = object_json(&object.report, &evaluated.origin(object));
                    if let Some(impact) = impact_json(&object.impact()) {
                        row.insert("impact", impact);
                    }
                    row
                });
                Ready::Rows(rows.collect())
            }
        }
    }
}

impl Format {
    /// How many Secrets of a piece are printed with their values.
    pub(super) fn secrets_in(self, evaluated: &Evaluated) -> usize {
        let is_secret = |object: &&Evaluation| {
            let kind = object.report.after.get("kind").and_then(Value::as_str);
            let is_printed = self != Self::Patch || object.report.is_changed();
            let holds = |field| object.report.after.get(field).is_some_and(|field| !field.is_null());
            kind == Some("Secret") && is_printed && ["data", "stringData"].into_iter().any(holds)
        };
        match self {
            Self::Yaml | Self::Json | Self::Patch => evaluated.objects.iter().filter(is_secret).count(),
            _ => 0,
        }
    }
}

/// A document of a file, made ready for the diff of the file.
fn part(evaluated: &Evaluated, document: &Document, layout: Layout, style: &DiffStyle) -> Ready {
    let mut edited = evaluated.after.as_ref().map(|after| layout.text(document, after));
    let new = edited.as_mut().map(|edited| std::mem::take(&mut edited.text));
    let objects = evaluated.objects.iter().map(|object| (&object.pointer, &object.report));
    Ready::Part { part: Box::new(FilePart::new(document, new, objects, style)), edited }
}

/// The identity of an object and what changes in it, on one line.
fn patch_line(object: &Evaluation) -> String {
    let mut line = Value::empty_object();
    if let Some(identity) = &object.report.object {
        line.insert("apiVersion", identity.kind.api_version().into());
        line.insert("kind", Value::String(identity.kind.kind.clone()));
        if let Some(namespace) = &identity.namespace {
            line.insert("namespace", Value::String(namespace.clone()));
        }
        line.insert("name", Value::String(identity.name.clone()));
    }
    line.insert("patch", json_patch(&shortest_changes(&object.report.before, &object.report.after)));
    format!("{}\n", line.to_json())
}

/// Prints pieces in their order.
#[derive(Debug)]
pub(super) struct Printer {
    format: Format,
    stream: Stream,
    rows: JsonRows,
    /// The first object of a list, before it is known that it is a list.
    first: Option<String>,
    objects: usize,
    diffs: String,
    /// How many diffs a page has no room for.
    left_out: usize,
    style: DiffStyle,
    /// The file whose documents come.
    file: Option<OpenFile>,
    /// The files whose diffs do not apply because secrets are masked in them.
    masked: Vec<String>,
    /// The files that have a diff, and those that have a second one.
    told: BTreeSet<PathBuf>,
    repeated: BTreeSet<String>,
    /// Whether the objects are those of a cluster.
    is_live: bool,
}

/// A file whose documents come one after the other.
#[derive(Debug)]
struct OpenFile {
    input: usize,
    path: Arc<Path>,
    diff: FileDiff,
    /// How many of its objects change.
    changed: usize,
}

impl Printer {
    /// A printer that has printed nothing yet.
    pub(super) fn new(format: Format, style: DiffStyle, is_live: bool) -> Self {
        let style = if format == Format::Markdown { style.plain() } else { style };
        Self {
            format,
            stream: Stream::default(),
            rows: JsonRows::default(),
            first: None,
            objects: 0,
            diffs: String::new(),
            left_out: 0,
            style,
            file: None,
            masked: Vec::new(),
            told: BTreeSet::new(),
            repeated: BTreeSet::new(),
            is_live,
        }
    }

    /// Prints a piece.
    pub(super) fn print(&mut self, evaluated: &Evaluated, ready: Ready, out: &mut Spool) -> io::Result<()> {
        if evaluated.piece.further {
            if evaluated.after.is_none() && !matches!(ready, Ready::Rows(_)) {
                return Ok(());
            }
            self.stream.part();
        }
        let input = evaluated.piece.input;
        if self.file.as_ref().is_some_and(|file| file.input != input) {
            self.close_file(out)?;
        }
        match (ready, &evaluated.piece.content) {
            (Ready::Text(text), Content::Document(document)) if self.format == Format::Yaml => {
                self.stream.document(evaluated.piece.input, document, text.as_deref(), out)
            }
            (Ready::Edited(edited), Content::Document(document)) => {
                self.stream.document(evaluated.piece.input, document, Some(&edited.text), out)
            }
            (Ready::Edited(edited), Content::Object(_)) => self.stream.object(&edited.text, out),
            (Ready::Text(text), Content::Object(_)) if self.format == Format::Yaml => {
                self.stream.object(text.as_deref().unwrap_or_default(), out)
            }
            (Ready::Part { part, .. }, Content::Document(document)) => {
                let Some(path) = &evaluated.piece.file else { return Ok(()) };
                let file = self.file.get_or_insert_with(|| OpenFile {
                    input,
                    path: Arc::clone(path),
                    diff: FileDiff::new(Arc::clone(document.source())),
                    changed: 0,
                });
                file.changed += changed(evaluated);
                file.diff.push(*part);
                Ok(())
            }
            (Ready::Part { .. }, Content::Object(_)) => Ok(()),
            (Ready::Text(text), _) => self.show(&text.unwrap_or_default(), changed(evaluated), out),
            (Ready::Objects(objects), _) => {
                objects.into_iter().try_for_each(|object| self.object(object, out))
            }
            (Ready::Rows(rows), _) => rows.iter().try_for_each(|row| {
                if self.objects == 0 {
                    out.push("{\"objects\": ")?;
                }
                self.objects += 1;
                out.push(&self.rows.row(row))
            }),
        }
    }

    /// Prints what changes in the file whose documents came last.
    pub(super) fn close_file(&mut self, out: &mut Spool) -> io::Result<()> {
        let Some(OpenFile { path, diff, changed, .. }) = self.file.take() else { return Ok(()) };
        if !diff.is_changed() {
            return Ok(());
        }
        let place = from_here(&path);
        let shown = diff.finish(&place, &self.style);
        if !self.told.insert(place) {
            self.repeated.insert(harmless_name(&path.display().to_string()));
        }
        if shown.masked {
            self.masked.push(harmless_name(&path.display().to_string()));
        }
        self.show(&shown.text, changed, out)
    }

    /// What is to be said of diffs that do not apply.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut said = Vec::new();
        if !self.masked.is_empty() {
            let (files, names) = (counted(self.masked.len(), "file"), listed(self.masked.iter().cloned()));
            said.push(format!(
                "the diffs of {files} hold masked values and do not apply; --show-secrets shows the values: {names}"
            ));
        }
        if !self.repeated.is_empty() {
            let names: Vec<String> = self.repeated.iter().cloned().collect();
            said.push(format!(
                "given more than once, so that only one diff applies: {}",
                listed(names.into_iter())
            ));
        }
        said
    }

    /// Prints diffs of so many objects, or counts them where a page has no room.
    fn show(&mut self, text: &str, objects: usize, out: &mut Spool) -> io::Result<()> {
        if self.format != Format::Markdown {
            return out.push(text);
        }
        if self.left_out == 0 && self.diffs.len() + text.len() <= LONGEST_PAGE {
            self.diffs.push_str(text);
        } else {
            self.left_out += objects;
        }
        Ok(())
    }

    /// Prints an object; one alone is printed as it is, several as a list, as kubectl does.
    fn object(&mut self, object: String, out: &mut Spool) -> io::Result<()> {
        self.objects += 1;
        if self.objects == 1 {
            self.first = Some(object);
            return Ok(());
        }
        if let Some(first) = self.first.take() {
            out.push("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")?;
            out.push(&item(&first))?;
        }
        out.push(",\n")?;
        out.push(&item(&object))
    }

    /// Prints what comes last. Where something is missing, whatever counts objects says so.
    pub(super) fn finish(self, tally: &Tally, gaps: &Gaps, out: &mut Spool) -> io::Result<()> {
        match self.format {
            Format::Json => match (self.first, self.objects) {
                (Some(only), _) => out.push(&format!("{only}\n")),
                (None, 0) => out
                    .push("{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n"),
                (None, _) => out.push("\n    ],\n    \"kind\": \"List\"\n}\n"),
            },
            // What applies diffs passes over such a line. Manifests come out as they came in; of live objects the
            // text is ours.
            Format::Diff => mark(gaps, out),
            Format::Yaml if self.is_live => mark(gaps, out),
            Format::Yaml | Format::Patch | Format::Name => Ok(()),
            Format::Summary => {
                out.push(&summary_table(tally, gaps, Width::Whole))?;
                if gaps.is_empty() { Ok(()) } else { out.push(&format!("\nincomplete: {gaps}\n")) }
            }
            Format::Report => {
                if self.objects == 0 {
                    out.push("{\"objects\": ")?;
                }
                out.push(self.rows.end().trim_end())?;
                push_summary(tally, gaps, out)
            }
            Format::Markdown => {
                if !gaps.is_empty() {
                    out.push(&format!("**Incomplete**: `{}`\n\n", gaps.to_string().replace('`', "'")))?;
                }
                out.push(&markdown(tally, gaps, &self.diffs, self.left_out))
            }
        }
    }
}

/// Says in a comment what is missing, if anything is.
fn mark(gaps: &Gaps, out: &mut Spool) -> io::Result<()> {
    if gaps.is_empty() { Ok(()) } else { out.push(&format!("# incomplete: {gaps}\n")) }
}

/// How many objects of a piece change.
fn changed(evaluated: &Evaluated) -> usize {
    evaluated.objects.iter().filter(|object| object.report.is_changed()).count()
}

/// Ends a report: the counts, row by row where there are many, and what is missing.
pub(super) fn push_summary(tally: &Tally, gaps: &Gaps, out: &mut Spool) -> io::Result<()> {
    let summary = tally_json(tally, gaps).to_json();
    out.push(&format!(",\n\"summary\": {},\n\"rules\": ", summary.strip_suffix('}').unwrap_or_default()))?;
    let mut rows = JsonRows::default();
    tally_rows(tally).try_for_each(|row| out.push(&rows.row(&row)))?;
    out.push(rows.end().trim_end())?;
    out.push("}")?;
    if !gaps.is_empty() {
        out.push(&format!(",\n\"incomplete\": {}", Value::from(gaps.to_string()).to_json()))?;
    }
    out.push("}\n")
}

/// An object as an item of a list.
fn item(object: &str) -> String {
    const INDENT: &str = "        ";
    format!("{INDENT}{}", object.replace('\n', &format!("\n{INDENT}")))
}
