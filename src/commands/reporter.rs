//! What is said on standard error.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;

use crate::render::{announced, harmless, harmless_name};
use crate::report::MissingData;
use crate::semantics::{DivergenceSet, Semantics};
use crate::source::SourceError;
use crate::source::cluster::UnreadPolicies;

use super::exit::Exit;
use super::progress::{Kinds, Progress};

/// How much is said, and in what manner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verbosity {
    /// Errors only.
    pub(super) quiet: bool,
    /// Notes about what was left out are errors.
    pub(super) strict: bool,
}

/// Speaks on standard error, and remembers how the run must end.
#[derive(Debug)]
pub(super) struct Reporter {
    verbosity: Verbosity,
    exit: Exit,
    progress: Progress,
    /// The last thing that a cluster said; it is not said twice in a row.
    last: String,
    /// What a cluster did not give.
    gaps: MissingData,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteKind {
    /// Something that was not evaluated, did not match, or differs between the semantics.
    Omission,
    /// Anything else.
    Other,
}

impl Reporter {
    /// Starts to talk.
    pub(super) fn new(verbosity: Verbosity) -> Self {
        let progress = Progress::new(!verbosity.quiet && io::stderr().is_terminal());
        Self { verbosity, exit: Exit::Done, progress, last: String::new(), gaps: MissingData::default() }
    }

    /// An error, and how it makes the run end.
    pub(super) fn error(&mut self, exit: Exit, message: &str) {
        self.exit.worsen(exit);
        self.say(&format!("error: {message}\n"));
    }

    /// What is wrong with the input, or kept the cluster from answering.
    pub(super) fn fault(&mut self, error: &SourceError) {
        let cluster = match error {
            SourceError::Cluster(cluster) => cluster,
            SourceError::Unread { what, in_part, cause } => {
                let list = if *in_part { &mut self.gaps.in_part } else { &mut self.gaps.unread };
                for name in what.iter().map(|name| harmless_name(name)) {
                    if !list.contains(&name) {
                        list.push(name);
                    }
                }
                cause
            }
            SourceError::Absent { what, cause } => {
                self.gaps.absent.push(harmless_name(what));
                cause
            }
            _ => return self.error(Exit::of(error), &error.to_string()),
        };
        let exit = Exit::of(error);
        let text = cluster.to_string();
        if text == self.last {
            return self.worsen(exit);
        }
        if cluster.stands_for_itself() {
            // In kubectl's very words.
            self.error_lines(exit, &format!("{text}\n"));
        } else {
            self.error(exit, &text);
        }
        self.last = text;
    }

    /// Something that was to be looked up and could not be, so that the answer is not whole.
    pub(super) fn missed(&mut self, what: &str) {
        self.gaps.missed.push(harmless_name(what));
    }

    /// Policies that could not be read, so that the answer is not whole.
    pub(super) fn without_policies(&mut self, UnreadPolicies { what, why }: UnreadPolicies) {
        self.gaps.policies.push(harmless_name(&what));
        self.fault(&why.into());
    }

    /// What is missing in the answer.
    pub(super) const fn gaps(&self) -> &MissingData {
        &self.gaps
    }

    /// Says what is missing in the answer.
    pub(super) fn tell_gaps(&mut self) {
        if !self.gaps.is_empty() {
            self.error(Exit::Cluster, &format!("the answer is incomplete: {}", self.gaps));
        }
    }

    /// Shows how many kinds were read beside how many objects.
    pub(super) fn count_kinds(&mut self, kinds: Arc<Kinds>) {
        self.progress.count_kinds(kinds);
    }

    /// Lines that say themselves what they are, for an error that ends the run like this.
    pub(super) fn error_lines(&mut self, exit: Exit, lines: &str) {
        self.exit.worsen(exit);
        self.say(lines);
    }

    /// A note.
    pub(super) fn note(&mut self, about: NoteKind, message: &str) {
        if about == NoteKind::Omission && self.verbosity.strict {
            self.error(Exit::Evaluation, &format!("{message} (--strict)"));
        } else if !self.verbosity.quiet {
            self.say(&format!("note: {message}\n"));
        }
    }

    /// A note for each difference between the two semantics that was reached.
    pub(super) fn announce(&mut self, divergences: DivergenceSet, semantics: Semantics) {
        for line in announced(divergences, &semantics.to_string()).lines() {
            self.note(NoteKind::Omission, line.strip_prefix("note: ").unwrap_or(line));
        }
    }

    /// The last word about what was done.
    pub(super) fn summary(&self, message: &str) {
        if !self.verbosity.quiet {
            self.say(&format!("{message}\n"));
        }
    }

    /// Counts objects for the progress bar.
    pub(super) fn advance(&mut self, objects: usize) {
        self.progress.advance(objects);
    }

    /// Prints what the progress bar must not stand in the way of.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.progress.aside(print)
    }

    /// Makes the run end like this, or worse.
    pub(super) fn worsen(&mut self, exit: Exit) {
        self.exit.worsen(exit);
    }

    /// How the run must end so far.
    pub(super) const fn exit(&self) -> Exit {
        self.exit
    }

    /// Takes the progress bar away.
    pub(super) fn finish_progress(&mut self) {
        self.progress.finish();
    }

    fn say(&self, text: &str) {
        let text = harmless(text);
        self.progress.aside(|| {
            // Nobody is left to be told that standard error cannot be written.
            let _written = io::stderr().lock().write_all(text.as_bytes());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strictness_turns_omissions_into_errors() {
        let mut reporter = Reporter::new(Verbosity { quiet: true, strict: true });
        reporter.note(NoteKind::Other, "unimportant");
        assert_eq!(reporter.exit(), Exit::Done);
        reporter.note(NoteKind::Omission, "left out");
        assert_eq!(reporter.exit(), Exit::Evaluation);
    }
}
