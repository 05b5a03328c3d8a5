//! Diagnostics on standard error, and the exit code that follows from them.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use crate::diagnostics::{Code, Coded};
use crate::render::{Origin, divergence_text, first_names, listed, printable, printable_line};
use crate::report::{Diagnostic, MissingData, Severity};
use crate::semantics::{Divergence, DivergenceSet, Semantics};
use crate::source::SourceError;
use crate::source::cluster::UnreadPolicies;
use crate::value::ObjectRef;

use super::color::Color;
use super::exit::Exit;
use super::progress::{KindProgress, Progress};
use super::unread;

/// How many errors, and how many notes, are kept for results that repeat them.
const KEPT_DIAGNOSTICS: usize = 100;

/// Which diagnostics are printed, and which are errors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verbosity {
    pub(super) quiet: bool,
    /// Whether each diagnostic is printed, not one for each group.
    pub(super) verbose: bool,
    /// The name of the option that makes omissions errors, if it is set.
    pub(super) strict: Option<&'static str>,
}

/// Prints diagnostics on standard error, and keeps the exit code of the run.
#[derive(Debug)]
pub(super) struct Reporter {
    verbosity: Verbosity,
    exit: Exit,
    progress: Progress,
    /// Whether `error`, `warning` and `note` are coloured.
    is_coloured: bool,
    /// The last error of a cluster, which is not repeated.
    last_cluster_error: String,
    gaps: MissingData,
    /// The unread files among them: each is listed once.
    unread_files: BTreeSet<String>,
    /// The notes that were printed, for results that repeat them.
    notes: Vec<Note>,
    /// The first errors and the first notes, for results that repeat them.
    diagnostics: Vec<Diagnostic>,
    /// What is printed after the result; `None` where everything is printed at once.
    held: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    /// Something that was not evaluated, did not match, or differs between the semantics.
    Omission,
    /// Something in the inputs that is allowed and hardly meant.
    Warning,
    /// Anything else.
    Other,
}

/// What a diagnostic is about, in brackets: `error[KYV201]`, `note[KYV-D16]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Label {
    Code(Code),
    Divergence(Divergence),
}

impl From<Code> for Label {
    fn from(code: Code) -> Self {
        Self::Code(code)
    }
}

impl Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::Divergence(divergence) => divergence.fmt(f),
        }
    }
}

/// A note or warning on a run.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) kind: NoteKind,
    pub(super) label: Label,
    pub(super) text: String,
    /// The object that the note is about; `None` for the whole run.
    pub(super) subject: Option<NoteSubject>,
}

/// The object that a note is about.
#[derive(Clone, Debug)]
pub(super) struct NoteSubject {
    pub(super) object: Option<ObjectRef>,
    pub(super) origin: Origin,
    /// The index of the input that holds it.
    pub(super) input: usize,
}

impl NoteKind {
    const fn severity(self) -> Severity {
        match self {
            Self::Warning => Severity::Warning,
            Self::Omission | Self::Other => Severity::Note,
        }
    }
}

impl Note {
    /// A note on an omission, about the whole run.
    pub(super) fn omission(code: Code, text: impl Into<String>) -> Self {
        Self::new(NoteKind::Omission, code, text)
    }

    /// A warning.
    pub(super) fn warning(code: Code, text: impl Into<String>) -> Self {
        Self::new(NoteKind::Warning, code, text)
    }

    /// A note about the whole run that is never an error.
    pub(super) fn other(code: Code, text: impl Into<String>) -> Self {
        Self::new(NoteKind::Other, code, text)
    }

    /// A note about the whole run.
    pub(super) fn new(kind: NoteKind, label: impl Into<Label>, text: impl Into<String>) -> Self {
        Self { kind, label: label.into(), text: text.into(), subject: None }
    }
}

impl Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(NoteSubject { object, origin, .. }) = &self.subject {
            let name = object.as_ref().map_or_else(String::new, ToString::to_string);
            write!(f, "{origin}: {name}: ")?;
        }
        f.write_str(&self.text)
    }
}

impl Reporter {
    pub(super) fn new(verbosity: Verbosity) -> Self {
        let progress = Progress::new(!verbosity.quiet && io::stderr().is_terminal());
        Self {
            verbosity,
            exit: Exit::Done,
            progress,
            is_coloured: Color::Auto.is_wanted(io::stderr().is_terminal()),
            last_cluster_error: String::new(),
            gaps: MissingData::default(),
            unread_files: BTreeSet::new(),
            notes: Vec::new(),
            diagnostics: Vec::new(),
            held: None,
        }
    }

    /// Colours diagnostics as an option says, on a terminal only.
    pub(super) fn set_color(&mut self, color: Color) {
        self.is_coloured = io::stderr().is_terminal() && color.is_wanted(true);
    }

    pub(super) const fn set_verbosity(&mut self, verbosity: Verbosity) {
        self.verbosity = verbosity;
    }

    /// Prints an error with the exit code that it leads to.
    pub(super) fn error(&mut self, exit: Exit, label: impl Into<Label>, message: impl Display) {
        let label = label.into();
        self.keep(Severity::Error, label, &message);
        self.error_lines(exit, &format!("error[{label}]: {message}\n"));
    }

    /// Keeps a diagnostic for the result.
    fn keep(&mut self, severity: Severity, label: Label, message: &impl Display) {
        // A recording is about the run: a replay has the same result.
        if label == Label::Code(Code::ClusterNote) {
            return;
        }
        let is_error = |one: &&Diagnostic| (one.severity == Severity::Error) == (severity == Severity::Error);
        if self.diagnostics.iter().filter(is_error).count() < KEPT_DIAGNOSTICS {
            // The alternate form is without lines of input files, which may be of a Secret.
            let message = printable(&format!("{message:#}"));
            self.diagnostics.push(Diagnostic { severity, code: label.to_string(), message });
        }
    }

    /// Prints an error that knows its code.
    pub(super) fn coded(&mut self, exit: Exit, error: &(impl Coded + Display)) {
        self.error(exit, error.code(), error);
    }

    /// The diagnostics until now, also those that a quiet run does not print.
    pub(super) fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Prints an error of the input or the cluster.
    pub(super) fn source_error(&mut self, error: &SourceError) {
        let cluster = match error {
            SourceError::Cluster(cluster) => cluster,
            SourceError::Unread { what, in_part, cause } => {
                let list = if *in_part { &mut self.gaps.partial } else { &mut self.gaps.unreadable };
                for name in what.iter().map(|name| printable_line(name)) {
                    if !list.contains(&name) {
                        list.push(name);
                    }
                }
                cause
            }
            SourceError::Absent { what, cause } => {
                self.gaps.not_found.push(printable_line(what));
                cause
            }
            _ => return self.coded(Exit::of(error), error),
        };
        let exit = Exit::of(error);
        let text = cluster.to_string();
        if text == self.last_cluster_error {
            return self.worsen(exit);
        }
        // In kubectl's words, after the code.
        self.error(exit, error.code(), &text);
        self.last_cluster_error = text;
    }

    /// Prints the error of a result; `None` if it is one.
    pub(super) fn ok<T>(&mut self, result: Result<T, impl Into<SourceError>>) -> Option<T> {
        result.map_err(|error| self.source_error(&error.into())).ok()
    }

    /// Prints the errors of an input that could not be loaded; `None` if there are any.
    pub(super) fn loaded<T>(&mut self, loaded: Result<T, Vec<SourceError>>) -> Option<T> {
        loaded.map_err(|errors| self.source_errors(&errors)).ok()
    }

    /// Prints the errors of an input that is not valid; `None` if there are any.
    pub(super) fn valid<T>(&mut self, checked: Result<T, Vec<impl Coded + Display>>) -> Option<T> {
        checked.map_err(|errors| errors.iter().for_each(|error| self.coded(Exit::Input, error))).ok()
    }

    /// Prints errors of the input or the cluster.
    pub(super) fn source_errors<'e>(&mut self, errors: impl IntoIterator<Item = &'e SourceError>) {
        errors.into_iter().for_each(|error| self.source_error(error));
    }

    /// Prints that the result cannot be written.
    pub(super) fn unwritten(&mut self, error: &io::Error) {
        self.error(Exit::Input, Code::OutputFailed, format_args!("the result cannot be written: {error}"));
    }

    /// Adds a failed lookup to what the result lacks.
    pub(super) fn add_gap(&mut self, what: &str) {
        self.gaps.failed_lookups.push(printable_line(what));
    }

    /// Prints the error of policies that could not be read, and adds them to what the result lacks.
    pub(super) fn unread_policies(&mut self, UnreadPolicies { what, why }: UnreadPolicies) {
        self.gaps.policies.push(printable_line(&what));
        self.source_error(&why.into());
    }

    /// Adds policies that are not valid and files that could not be read to what the result lacks.
    pub(super) fn refused(&mut self, policies: Vec<String>, files: Vec<String>) {
        let policies = policies.iter().map(|name| printable_line(name));
        self.gaps.refused_policies.extend(policies);
        for file in files.iter().map(|file| printable_line(file)) {
            if self.unread_files.insert(file.clone()) {
                self.gaps.unread_files.push(file);
            }
        }
    }

    /// Prints the errors of manifests, and adds their files to what the result lacks.
    pub(super) fn unread_files<'e>(&mut self, errors: impl IntoIterator<Item = &'e SourceError>) {
        // Those of a cluster say what the result lacks, each.
        let (errors, of_cluster): (Vec<&SourceError>, Vec<_>) =
            errors.into_iter().partition(|error| error.file().is_some());
        self.source_errors(of_cluster);
        self.refused(Vec::new(), errors.iter().filter_map(|error| error.file()).collect());
        if self.verbosity.verbose {
            return self.source_errors(errors);
        }
        for group in unread::grouped(errors) {
            self.source_error(group.first);
            for line in group.further() {
                self.error(Exit::of(group.first), Code::FurtherErrors, line);
            }
        }
    }

    pub(super) const fn gaps(&self) -> &MissingData {
        &self.gaps
    }

    /// Prints what could not be read.
    pub(super) fn report_gaps(&mut self) {
        if !self.gaps.is_empty() {
            let exit = if self.gaps.has_all_of_cluster() { Exit::Input } else { Exit::Cluster };
            self.error(exit, Code::Incomplete, format!("the result is incomplete: {}", self.gaps));
        }
    }

    /// Shows the number of kinds in the progress bar, too.
    pub(super) fn count_kinds(&mut self, kinds: Arc<KindProgress>) {
        self.progress.count_kinds(kinds);
    }

    /// Prints lines as they are, with the exit code that they lead to.
    pub(super) fn error_lines(&mut self, exit: Exit, lines: &str) {
        self.exit.worsen(exit);
        self.print(lines);
    }

    pub(super) fn note(&mut self, code: Code, message: impl Display) {
        self.add(Note::other(code, message.to_string()));
    }

    /// Prints a warning, which is an error in a strict run.
    pub(super) fn warning(&mut self, code: Code, message: impl Display) {
        self.add(Note::warning(code, message.to_string()));
    }

    /// Prints a note on an omission, which is an error in a strict run.
    pub(super) fn omission(&mut self, code: Code, message: impl Display) {
        self.add(Note::omission(code, message.to_string()));
    }

    /// Prints a note or warning. In a strict run omissions and warnings are errors.
    pub(super) fn add(&mut self, note: Note) {
        match self.verbosity.strict.filter(|_| note.kind != NoteKind::Other) {
            Some(option) => self.error(Exit::Evaluation, note.label, format_args!("{note} ({option})")),
            None => {
                self.keep(note.kind.severity(), note.label, &note);
                if self.verbosity.quiet {
                    return;
                }
                self.print(&format!("{}[{}]: {note}\n", note.kind.severity().word(), note.label));
            }
        }
        self.notes.push(note);
    }

    /// Prints notes that were collected before.
    pub(super) fn notes(&mut self, notes: &[Note]) {
        notes.iter().for_each(|note| self.add(note.clone()));
    }

    /// The notes that were printed until now.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Whether each diagnostic is printed, not one for each group.
    pub(super) const fn is_verbose(&self) -> bool {
        self.verbosity.verbose
    }

    /// The first names of a list and the number of the others; all names if the run is verbose.
    pub(super) fn listed(&self, names: impl ExactSizeIterator<Item = String>) -> String {
        if self.is_verbose() { first_names(usize::MAX, names) } else { listed(names) }
    }

    /// Whether omissions are errors.
    pub(super) const fn is_strict(&self) -> bool {
        self.verbosity.strict.is_some()
    }

    /// Prints a note for each divergence that was met.
    pub(super) fn divergences(&mut self, divergences: DivergenceSet, semantics: Semantics) {
        for divergence in divergences.iter() {
            let text = divergence_text(divergence, semantics);
            self.add(Note::new(NoteKind::Omission, Label::Divergence(divergence), text));
        }
    }

    pub(super) fn summary(&mut self, message: &str) {
        if !self.verbosity.quiet {
            self.print(&format!("{message}\n"));
        }
    }

    pub(super) fn advance(&mut self, objects: usize) {
        self.progress.advance(objects);
    }

    /// Prints something while the progress bar is hidden.
    pub(super) fn suspend_progress<T>(&self, print: impl FnOnce() -> T) -> T {
        self.progress.suspend(print)
    }

    /// Sets the exit code, unless it is worse already.
    pub(super) fn worsen(&mut self, exit: Exit) {
        self.exit.worsen(exit);
    }

    /// Forgets the exit code of the errors until now, which are printed.
    pub(super) const fn forgive(&mut self) {
        self.exit = Exit::Done;
    }

    pub(super) const fn exit(&self) -> Exit {
        self.exit
    }

    pub(super) fn finish_progress(&mut self) {
        self.progress.finish();
    }

    /// Keeps everything until [`Self::release`]: diagnostics come after the result.
    pub(super) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// Prints what was kept.
    pub(super) fn release(&mut self) {
        if let Some(text) = self.held.take() {
            self.print(&text);
        }
    }

    fn print(&mut self, text: &str) {
        if let Some(held) = &mut self.held {
            held.push_str(text);
            return;
        }
        let text = if self.is_coloured { coloured(&printable(text)) } else { printable(text) };
        self.progress.suspend(|| {
            // A failure to write to standard error cannot be reported.
            let _written = io::stderr().lock().write_all(text.as_bytes());
        });
    }
}

/// Diagnostics with the word and the code that each begins with in a colour: red, yellow, cyan.
fn coloured(text: &str) -> String {
    const COLORS: [(&str, &str); 3] = [("error[", "1;31"), ("warning[", "33"), ("note[", "36")];
    let line = |line: &str| {
        let found = COLORS.iter().find(|(word, _)| line.starts_with(word)).zip(line.split_once("]: "));
        match found {
            Some(((_, color), (head, rest))) => format!("\x1b[{color}m{head}]\x1b[0m: {rest}"),
            None => line.to_owned(),
        }
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_codes_are_coloured() {
        assert_eq!(
            coloured("error[KYV201]: a: b\n1 | error[x]\nnote[KYV-D16]: c\nwarning[KYV230]: d\n"),
            "\x1b[1;31merror[KYV201]\x1b[0m: a: b\n1 | error[x]\n\x1b[36mnote[KYV-D16]\x1b[0m: c\n\x1b[33mwarning[KYV230]\x1b[0m: d\n"
        );
    }

    #[test]
    fn strictness_turns_omissions_into_errors() {
        let mut reporter = Reporter::new(Verbosity { quiet: true, verbose: false, strict: Some("--strict") });
        reporter.note(Code::SecretsPrinted, "unimportant");
        assert_eq!(reporter.exit(), Exit::Done);
        reporter.omission(Code::NoUser, "left out");
        assert_eq!(reporter.exit(), Exit::Evaluation);
    }
}
