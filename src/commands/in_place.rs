//! Editing of files in place.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

use crate::diagnostics::Code;
use crate::render::{Layout, counted};
use crate::source::{Manifests, check_unchanged, replace_read_file};
use crate::yaml::{Edited, Source};

use super::evaluate::Evaluated;
use super::exit::Exit;
use super::pipeline::{chunks, evaluate_all};
use super::reporter::Reporter;
use super::session::{RunWorld, Session};
use super::summary::{Closing, RunSummary, SummaryStyle};

/// The files of a run with their new texts.
#[derive(Debug)]
pub(super) struct Edits<'a> {
    manifests: &'a Manifests,
    layout: Layout,
    /// Whether it is only reported what would be written.
    check: bool,
    /// The current file, as far as it was evaluated.
    current: Option<Edit>,
    changed: BTreeMap<usize, Edit>,
}

#[derive(Debug)]
struct Edit {
    input: usize,
    /// The text as it was read; `None` until its first document comes.
    read: Option<Arc<Source>>,
    text: String,
    objects: usize,
}

impl<'a> Edits<'a> {
    pub(super) const fn new(manifests: &'a Manifests, layout: Layout, check: bool) -> Self {
        Self { manifests, layout, check, current: None, changed: BTreeMap::new() }
    }

    /// Evaluates all files, and then writes those that changed, unless a rule failed or a lookup in a cluster did.
    pub(super) fn run(
        mut self,
        session: &Session,
        world: &RunWorld,
        keep_going: bool,
        reporter: &mut Reporter,
    ) {
        let manifests = self.manifests;
        let repeated = self.repeated_inputs();
        let mut summary = RunSummary::without_impact();
        let mut errors = Vec::new();
        let layout = self.layout;
        let prepare =
            |evaluated: &mut Evaluated| Some(layout.edit(evaluated.document()?, evaluated.after.as_ref()?));
        let consume = |evaluated: Evaluated, edited: Option<Edited>| {
            summary.add(&evaluated, reporter);
            summary.failed.add(&evaluated, session.policy_places(), reporter);
            session.missing_schemas.add(&evaluated);
            if let Some(edited) = &edited {
                summary.add_edit(&evaluated, edited);
            }
            self.add(&evaluated, edited.map(|edited| edited.text));
            Ok(())
        };
        let mut unread = Vec::new();
        let documents = manifests.documents().filter(|document| match document {
            Ok(document) => !repeated.contains(&document.input),
            Err(_) => true,
        });
        // The other files can be written all the same.
        let documents = documents.filter_map(|document| match document {
            Err(error) if keep_going => {
                unread.push(error);
                None
            }
            document => Some(document),
        });
        let evaluator = session.evaluator(world);
        let evaluated =
            evaluate_all(chunks(documents), &evaluator, prepare, consume, |error| errors.push(error));
        summary.failed.report(reporter);
        if let Err(error) = evaluated {
            reporter.error(Exit::Input, Code::OutputFailed, &error);
        }
        let has_input_errors = reporter.exit() == Exit::Input && !keep_going || !errors.is_empty();
        reporter.unread_files(errors.iter().chain(&unread));
        session.report_cluster_errors(world, reporter);
        reporter.report_gaps();
        for input in &repeated {
            if let Some(path) = manifests.file(*input) {
                reporter.note(
                    Code::UnusedOption,
                    format_args!("passed more than once, edited once: {}", path.display()),
                );
            }
        }
        if has_input_errors {
            return reporter.error(
                Exit::Input,
                Code::NothingWritten,
                "nothing was written because of these errors",
            );
        }
        self.finish_file();
        if !self.may_write(reporter) {
            return;
        }
        summary.find_installed(session);
        summary.close(&session.context(), Closing::ALL, reporter);
        summary.complete();
        let mut style = SummaryStyle::WouldLine;
        if self.check {
            self.report_changes(reporter);
        } else if reporter.exit() >= Exit::Evaluation && !keep_going && !self.changed.is_empty() {
            let files = counted(self.changed.len(), "file");
            let message =
                format!("nothing was written because of these errors; --keep-going would write {files}");
            reporter.error(reporter.exit(), Code::NothingWritten, &message);
        } else if self.write(reporter) {
            style = SummaryStyle::Line;
        }
        summary.report_totals(style, reporter);
    }

    /// The inputs that are the same file as an earlier one.
    fn repeated_inputs(&self) -> BTreeSet<usize> {
        let mut known = BTreeSet::new();
        let real = |input| fs::canonicalize(self.manifests.file(input)?).ok();
        (0..self.manifests.inputs())
            .filter(|input| real(*input).is_some_and(|path| !known.insert(path)))
            .collect()
    }

    fn add(&mut self, evaluated: &Evaluated, text: Option<String>) {
        let input = evaluated.source.input;
        if self.current.as_ref().is_none_or(|current| current.input != input) {
            self.finish_file();
            self.current = Some(Edit { input, read: None, text: String::new(), objects: 0 });
        }
        let (Some(current), Some(document)) = (&mut self.current, evaluated.document()) else { return };
        current.read.get_or_insert_with(|| Arc::clone(document.source()));
        current.text.push_str(text.as_deref().unwrap_or_else(|| document.text()));
        current.objects += evaluated.objects.iter().filter(|object| object.report.is_changed()).count();
    }

    /// Keeps the current file if it changed.
    fn finish_file(&mut self) {
        if let Some(edit) = self.current.take().filter(|edit| edit.objects > 0) {
            self.changed.insert(edit.input, edit);
        }
    }

    /// Whether all changed inputs are files; the others are reported.
    fn may_write(&self, reporter: &mut Reporter) -> bool {
        let mut all = true;
        for input in self.changed.keys() {
            if self.manifests.file(*input).is_none() {
                all = false;
                reporter.error(
                    Exit::Input,
                    Code::NotARegularFile,
                    "-i edits regular files only, and one of the inputs is none",
                );
            }
        }
        all
    }

    /// Reports what would be written.
    fn report_changes(&self, reporter: &mut Reporter) {
        for (input, edit) in &self.changed {
            let Some(path) = self.manifests.file(*input) else { continue };
            reporter.worsen(Exit::Changes);
            let objects = counted(edit.objects, "object");
            reporter.summary(&format!("{}: {objects} would change", path.display()));
        }
    }

    /// Writes the files, unless one of them changed since it was read; returns whether they were written.
    fn write(&self, reporter: &mut Reporter) -> bool {
        let files = || {
            self.changed.iter().filter_map(|(input, edit)| {
                let read = edit.read.as_ref().map_or("", |read| read.text()).as_bytes();
                Some((self.manifests.file(*input)?, read, edit))
            })
        };
        let errors: Vec<_> =
            files().filter_map(|(path, read, _)| check_unchanged(path, read).err()).collect();
        reporter.source_errors(&errors);
        if !errors.is_empty() {
            reporter.error(Exit::Input, Code::NothingWritten, "nothing was written because of these errors");
            return false;
        }
        for (path, read, edit) in files() {
            match replace_read_file(path, read, edit.text.as_bytes()) {
                Ok(()) => {
                    let objects = counted(edit.objects, "object");
                    reporter.summary(&format!("{}: {objects} changed", path.display()));
                }
                Err(error) => reporter.source_error(&error),
            }
        }
        true
    }
}
