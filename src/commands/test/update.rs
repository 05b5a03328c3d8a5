//! Updates of files with expected objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::diagnostics::Code;
use crate::render::{Palette, counted, suite_difference};
use crate::report::SuiteRow;
use crate::source::{Location, SourceError, create_file, read_text, replace_file};
use crate::value::{ObjectRef, Pointer, Value};
use crate::yaml::{self, Limits, read};

use crate::commands::evaluate::set;
use crate::commands::exit::Exit;
use crate::commands::reporter::Reporter;

use super::load::Expected;

/// The new value of an expected object.
#[derive(Debug)]
pub(super) struct Rewrite {
    file: PathBuf,
    /// The index of the document in the file, not counting empty ones.
    document: usize,
    pointer: Pointer,
    value: Value,
    diff: String,
}

impl Rewrite {
    /// The rewrite for a row; `None` where nothing differs.
    pub(super) fn new(file: PathBuf, expected: &Expected, row: &SuiteRow) -> Option<Self> {
        let difference = row.difference.as_ref()?;
        let value = difference.object.clone();
        let diff = suite_difference(row, Palette::Plain)?;
        let (document, pointer) = (expected.document, expected.pointer.clone());
        Some(Self { file, document, pointer, value, diff })
    }
}

/// Shows the differences, and writes them to the files; returns whether anything was written.
pub(super) fn write<'r>(
    all: impl Iterator<Item = &'r Rewrite>,
    limits: &Limits,
    reporter: &mut Reporter,
) -> bool {
    let mut files: BTreeMap<&PathBuf, Vec<&Rewrite>> = BTreeMap::new();
    let mut contradictory = Vec::new();
    for rewrite in all {
        let rewrites = files.entry(&rewrite.file).or_default();
        let same_place = rewrites
            .iter()
            .find(|other| other.document == rewrite.document && other.pointer == rewrite.pointer);
        match same_place {
            None => rewrites.push(rewrite),
            Some(other) if other.value == rewrite.value => {}
            Some(_) => contradictory.push(&rewrite.file),
        }
    }
    let mut written = false;
    for (file, rewrites) in files {
        if contradictory.contains(&file) {
            let message = "expectations of several results contradict each other; not written";
            reporter.error(Exit::Changes, Code::NotUpdated, format_args!("{}: {message}", file.display()));
            continue;
        }
        let diffs: String = rewrites.iter().map(|rewrite| rewrite.diff.as_str()).collect();
        reporter.error_lines(Exit::Done, &diffs);
        match rewritten(file, &rewrites, limits)
            .and_then(|text| replace_file(file, text.as_bytes()).map_err(|error| vec![error]))
        {
            Ok(()) => {
                written = true;
                let objects = counted(rewrites.len(), "object");
                reporter.summary(&format!("{}: {objects} written", file.display()));
            }
            Err(errors) => errors.iter().for_each(|error| reporter.source_error(error)),
        }
    }
    written
}

/// An object without an expected one.
#[derive(Debug)]
pub(super) struct Creation {
    pub(super) file: PathBuf,
    pub(super) object: Value,
}

/// Writes objects to files of expected objects, to the end of one that exists; returns whether anything was written.
pub(super) fn create<'c>(
    all: impl Iterator<Item = &'c Creation>,
    limits: &Limits,
    reporter: &mut Reporter,
) -> bool {
    let mut files: BTreeMap<&PathBuf, Vec<&Value>> = BTreeMap::new();
    for Creation { file, object } in all {
        let objects = files.entry(file).or_default();
        if !objects.contains(&object) {
            objects.push(object);
        }
    }
    let mut written = false;
    for (file, objects) in files {
        let names: BTreeSet<_> = objects.iter().map(|object| ObjectRef::of(object)).collect();
        if names.len() < objects.len() {
            let message = "expectations of several results contradict each other; not written";
            reporter.error(Exit::Changes, Code::NotUpdated, format_args!("{}: {message}", file.display()));
            continue;
        }
        let added = documents(objects.iter().copied());
        let (done, result) = match file.exists() {
            true => ("extended by", append(file, &added, limits)),
            false => ("created with", create_file(file, added.as_bytes())),
        };
        match result {
            Ok(()) => {
                written = true;
                let objects = counted(objects.len(), "object");
                reporter.summary(&format!("{}: {done} {objects}", file.display()));
            }
            Err(error) => reporter.source_error(&error),
        }
    }
    written
}

/// Adds documents to the end of a file.
fn append(file: &Path, documents: &str, limits: &Limits) -> Result<(), SourceError> {
    let source = read_text(&Location::File { path: file.to_owned(), named: true }, limits)?;
    let text = source.text();
    let line_break = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    replace_file(file, format!("{text}{line_break}---\n{documents}").as_bytes())
}

/// Objects as the documents of a file.
pub(super) fn documents<'o>(objects: impl Iterator<Item = &'o Value>) -> String {
    let mut text = String::new();
    for object in objects {
        if !text.is_empty() {
            text.push_str("---\n");
        }
        yaml::print(object, &mut text);
    }
    text
}

/// The text of a file with some of its objects rewritten; all other documents stay as they are.
fn rewritten(file: &Path, rewrites: &[&Rewrite], limits: &Limits) -> Result<String, Vec<SourceError>> {
    let location = Location::File { path: file.to_owned(), named: true };
    let source = read_text(&location, limits).map_err(|error| vec![error])?;
    let documents = read(&source, limits)
        .map_err(|errors| errors.into_iter().map(SourceError::from).collect::<Vec<_>>())?;
    let mut text = String::new();
    let mut number = 0;
    for document in &documents {
        let Some(value) = document.value() else {
            text.push_str(document.text());
            continue;
        };
        let mut changed = value.clone();
        for rewrite in rewrites.iter().filter(|rewrite| rewrite.document == number) {
            set(&mut changed, &rewrite.pointer, rewrite.value.clone());
        }
        if changed == *value {
            text.push_str(document.text());
        } else {
            text.push_str(&document.edited(&changed).text);
        }
        number += 1;
    }
    Ok(text)
}
