//! The file of known findings.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostics::Code;
use crate::lint::{Baseline, BaselineEntry};
use crate::render::{LintFinding, counted, first_names};
use crate::source::{PolicyFile, create_file, relative_to, replace_file};
use crate::value::Text;
use crate::yaml::print;

use super::FileFindings;
use crate::commands::policy_places::file_name;
use crate::commands::reporter::Reporter;

/// How many findings that are gone are named; the rest is counted.
const NAMED_FINDINGS: usize = 3;

/// Known findings that were not found yet.
#[derive(Debug, Default)]
pub(super) struct KnownFindings(Baseline);

impl KnownFindings {
    /// Those of a file.
    pub(super) const fn new(baseline: Baseline) -> Self {
        Self(baseline)
    }

    /// Whether a finding is known, once for each time that it was written. `path` is that of the baseline.
    pub(super) fn take(&mut self, finding: &LintFinding, path: &Path) -> bool {
        entry(finding, path).is_some_and(|entry| self.0.take(&entry))
    }

    /// Notes on findings that are gone: of files that were read, and of those that do not exist.
    pub(super) fn report_gone(&self, path: &Path, files: &[PolicyFile], reporter: &mut Reporter) {
        let read: BTreeSet<Text> = files.iter().map(|file| seen_from(path, &file_name(&file.name))).collect();
        let is_gone = |entry: &&BaselineEntry| {
            read.contains(&entry.file) || !folder_of(path).join(&*entry.file).exists()
        };
        let gone: Vec<String> = self
            .0
            .entries()
            .filter(is_gone)
            .map(|BaselineEntry { file, code, name, .. }| format!("{code} of {name} ({file})"))
            .collect();
        if gone.is_empty() {
            return;
        }
        let count = counted(gone.len(), "finding");
        let names = first_names(NAMED_FINDINGS, gone.into_iter());
        let message =
            format!("{}: {count} gone: {names}; --write-baseline writes the file again", path.display());
        reporter.note(Code::GoneFinding, message);
    }
}

/// Writes the findings as a baseline.
pub(super) fn write(path: &Path, found: &[FileFindings<'_>], reporter: &mut Reporter) {
    let mut baseline = Baseline::default();
    let entries =
        found.iter().flat_map(|one| &one.findings).filter_map(|finding| entry(&finding.shown, path));
    entries.for_each(|entry| baseline.add(entry));
    let count = baseline.entries().count();
    let mut text = String::new();
    print(&baseline.to_value(), &mut text);
    let write = if path.exists() { replace_file } else { create_file };
    if reporter.ok(write(path, text.as_bytes())).is_some() {
        reporter.summary(&format!("{}: {} written", path.display(), counted(count, "finding")));
    }
}

/// The folder of a baseline.
fn folder_of(baseline: &Path) -> &Path {
    baseline.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The name of a file in a baseline: its path as seen from there, however it was given. Standard input has no path.
fn seen_from(baseline: &Path, file: &Text) -> Text {
    let path = Path::new(&**file);
    if path.exists() { file_name(&relative_to(folder_of(baseline), path)) } else { file.clone() }
}

/// A finding in a baseline; `None` for what it cannot have: errors, and findings without a place.
fn entry(LintFinding { finding, .. }: &LintFinding, path: &Path) -> Option<BaselineEntry> {
    let is_error = finding.result == crate::report::FindingResult::Error;
    let (place, code) = (finding.place.as_ref()?, finding.code.filter(|_| !is_error)?);
    Some(BaselineEntry {
        file: seen_from(path, &place.file),
        code: code.name().into(),
        name: finding.title.as_str().into(),
        message: finding.message.as_str().into(),
    })
}
