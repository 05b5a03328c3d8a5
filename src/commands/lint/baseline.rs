//! The file of known findings.

use std::collections::BTreeSet;
use std::path::Path;

use crate::diagnostics::Code;
use crate::lint::{Baseline, BaselineEntry};
use crate::render::{LintFinding, counted, first_names};
use crate::source::{PolicyFile, create_file, replace_file};
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

    /// Whether a finding is known, once for each time that it was written.
    pub(super) fn take(&mut self, finding: &LintFinding) -> bool {
        entry(finding).is_some_and(|entry| self.0.take(&entry))
    }

    /// Notes on findings that are gone: of files that were read, and of those that do not exist.
    pub(super) fn report_gone(&self, path: &Path, files: &[PolicyFile], reporter: &mut Reporter) {
        let read: BTreeSet<Text> = files.iter().map(|file| file_name(&file.name)).collect();
        let is_gone =
            |entry: &&BaselineEntry| read.contains(&entry.file) || !Path::new(&*entry.file).exists();
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
    let entries = found.iter().flat_map(|one| &one.findings).filter_map(|finding| entry(&finding.shown));
    entries.for_each(|entry| baseline.add(entry));
    let count = baseline.entries().count();
    let mut text = String::new();
    print(&baseline.to_value(), &mut text);
    let write = if path.exists() { replace_file } else { create_file };
    if reporter.ok(write(path, text.as_bytes())).is_some() {
        reporter.summary(&format!("{}: {} written", path.display(), counted(count, "finding")));
    }
}

/// A finding in a baseline; `None` for what it cannot have: errors, and findings without a place.
fn entry(LintFinding { finding, .. }: &LintFinding) -> Option<BaselineEntry> {
    let is_error = finding.result == crate::report::FindingResult::Error;
    let (place, code) = (finding.place.as_ref()?, finding.code.filter(|_| !is_error)?);
    Some(BaselineEntry {
        file: place.file.clone(),
        code: code.name().into(),
        name: finding.title.as_str().into(),
        message: finding.message.as_str().into(),
    })
}
