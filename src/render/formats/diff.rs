//! `diff`: the changes as a unified diff of each file, or of each object that comes from no file.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::render::diff::{DiffStyle, DocumentDiff, FileDiff, object_name, unified_diff};
use crate::render::printable::printable_line;
use crate::render::words::{and_more, counted, listed};
use crate::yaml::Document;

use super::{DocumentView, Format, FormatWriter, Layout, Prepared, RunTotals};

/// The changes as a unified diff.
#[derive(Clone, Copy, Debug)]
pub struct Diff {
    /// How changed documents are written.
    pub layout: Layout,
    /// Colours, context, annotations.
    pub style: DiffStyle,
    /// The path of a file in the header of its diff.
    pub shown_path: fn(&Path) -> PathBuf,
}

impl Format for Diff {
    fn prepare(&self, view: &DocumentView<'_>) -> Prepared {
        if let (Some(document), Some(_)) = (view.document, view.file) {
            return self.document(view, document);
        }
        let diffs =
            view.changed().map(|object| unified_diff(object.report, &view.origin(object), &self.style));
        Prepared::texts(diffs.collect())
    }

    fn writer(&self) -> Box<dyn FormatWriter + '_> {
        Box::new(FileDiffs::new(self))
    }

    fn shows_diff(&self) -> bool {
        true
    }
}

impl Diff {
    /// The diff of a document of a file.
    fn document(&self, view: &DocumentView<'_>, document: &Document) -> Prepared {
        let mut edited = view.after.map(|after| self.layout.edit(document, after));
        let new = edited.as_mut().map(|edited| std::mem::take(&mut edited.text));
        let objects = view.objects.iter().map(|object| (object.pointer, object.report));
        let diff = Box::new(DocumentDiff::new(document, new, objects, &self.style));
        Prepared { edited, diff: Some(diff), ..Prepared::default() }
    }
}

/// Joins the diffs of the documents of each file.
#[derive(Debug)]
pub(super) struct FileDiffs<'a> {
    format: &'a Diff,
    /// The file of the last document.
    file: Option<OpenFile>,
    /// The files whose diffs do not apply because values of Secrets are masked in them.
    masked: Vec<String>,
    /// The files that have a diff.
    shown: BTreeSet<PathBuf>,
    /// The names of the files that have more than one diff.
    repeated: BTreeSet<String>,
}

/// A file that may have further documents.
#[derive(Debug)]
struct OpenFile {
    input: usize,
    path: PathBuf,
    diff: FileDiff,
    /// The number of its changed objects.
    changed: usize,
}

/// A finished diff with the number of changed objects.
#[derive(Debug)]
pub(super) struct FinishedDiff {
    /// The file, or the objects where they come from no file.
    pub(super) name: String,
    pub(super) text: String,
    pub(super) objects: usize,
}

impl<'a> FileDiffs<'a> {
    pub(super) const fn new(format: &'a Diff) -> Self {
        Self { format, file: None, masked: Vec::new(), shown: BTreeSet::new(), repeated: BTreeSet::new() }
    }

    /// Adds the next document; returns the diffs that are finished by now.
    pub(super) fn push(&mut self, view: &DocumentView<'_>, prepared: Prepared) -> Vec<FinishedDiff> {
        let mut finished = Vec::new();
        if self.file.as_ref().is_some_and(|file| file.input != view.input) {
            finished.extend(self.close_file());
        }
        let objects = view.changed().count();
        match (view.document, view.file, prepared.diff) {
            (Some(document), Some(path), Some(diff)) => {
                let file = self.file.get_or_insert_with(|| OpenFile {
                    input: view.input,
                    path: path.to_owned(),
                    diff: FileDiff::new(Arc::clone(document.source())),
                    changed: 0,
                });
                file.changed += objects;
                file.diff.push(*diff);
            }
            _ => {
                let first =
                    view.changed().next().map_or_else(String::new, |object| object_name(object.report));
                let name = and_more(&first, objects.saturating_sub(1));
                finished.push(FinishedDiff { name, text: prepared.texts.concat(), objects });
            }
        }
        finished
    }

    /// The diff of the file of the last document.
    pub(super) fn close_file(&mut self) -> Option<FinishedDiff> {
        let OpenFile { path, diff, changed, .. } = self.file.take()?;
        if !diff.is_changed() {
            return None;
        }
        let shown_path = (self.format.shown_path)(&path);
        let (text, is_masked) = diff.finish(&shown_path, &self.format.style);
        let shown_name = printable_line(&shown_path.display().to_string());
        let name = printable_line(&path.display().to_string());
        if is_masked {
            self.masked.push(name.clone());
        }
        if !self.shown.insert(shown_path) {
            self.repeated.insert(name);
        }
        Some(FinishedDiff { name: shown_name, text, objects: changed })
    }

    /// Notes about diffs that do not apply.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.masked.is_empty() {
            let (files, names) = (counted(self.masked.len(), "file"), listed(self.masked.iter().cloned()));
            notes.push(format!(
                "the diffs of {files} contain masked values and do not apply; --show-secrets shows the values: {names}"
            ));
        }
        if !self.repeated.is_empty() {
            let names = listed(self.repeated.iter().cloned());
            notes.push(format!("passed more than once, so only one diff applies: {names}"));
        }
        notes
    }
}

impl FormatWriter for FileDiffs<'_> {
    fn write(&mut self, view: &DocumentView<'_>, prepared: Prepared, out: &mut dyn Write) -> io::Result<()> {
        self.push(view, prepared).iter().try_for_each(|diff| out.write_all(diff.text.as_bytes()))
    }

    fn end_documents(&mut self, out: &mut dyn Write) -> io::Result<Vec<String>> {
        if let Some(diff) = self.close_file() {
            out.write_all(diff.text.as_bytes())?;
        }
        Ok(self.notes())
    }

    fn finish(&mut self, totals: &RunTotals<'_>, out: &mut dyn Write) -> io::Result<()> {
        totals.write_gaps_comment(out)
    }
}
