//! What is said on standard error.

use std::io::{self, IsTerminal as _, Write as _};

use crate::render::{announced, harmless};
use crate::semantics::{Corners, Semantics};
use crate::source::SourceError;

use super::exit::Exit;
use super::progress::Progress;

/// How much is said, and in what manner.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// Errors only.
    pub(super) quiet: bool,
    /// Notes about what was left out are errors.
    pub(super) strict: bool,
}

/// Speaks on standard error, and remembers how the run must end.
#[derive(Debug)]
pub(super) struct Talk {
    manner: Manner,
    exit: Exit,
    progress: Progress,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// Something that was not evaluated, did not match, or differs between the semantics.
    Omission,
    /// Anything else.
    Other,
}

impl Talk {
    /// Starts to talk.
    pub(super) fn new(manner: Manner) -> Self {
        let progress = Progress::new(!manner.quiet && io::stderr().is_terminal());
        Self { manner, exit: Exit::Done, progress }
    }

    /// An error, and how it makes the run end.
    pub(super) fn error(&mut self, exit: Exit, message: &str) {
        self.exit.worsen(exit);
        self.say(&format!("error: {message}\n"));
    }

    /// What is wrong with the input, or kept the cluster from answering.
    pub(super) fn fault(&mut self, error: &SourceError) {
        match error {
            // In kubectl's very words.
            SourceError::Cluster(cluster) if cluster.is_from_server() => {
                self.error_lines(Exit::of(error), &format!("{cluster}\n"));
            }
            _ => self.error(Exit::of(error), &error.to_string()),
        }
    }

    /// Lines that say themselves what they are, for an error that ends the run like this.
    pub(super) fn error_lines(&mut self, exit: Exit, lines: &str) {
        self.exit.worsen(exit);
        self.say(lines);
    }

    /// A note.
    pub(super) fn note(&mut self, about: About, message: &str) {
        if about == About::Omission && self.manner.strict {
            self.error(Exit::Evaluation, &format!("{message} (--strict)"));
        } else if !self.manner.quiet {
            self.say(&format!("note: {message}\n"));
        }
    }

    /// A note for each difference between the two semantics that was reached.
    pub(super) fn announce(&mut self, corners: Corners, semantics: Semantics) {
        for line in announced(corners, &semantics.to_string()).lines() {
            self.note(About::Omission, line.strip_prefix("note: ").unwrap_or(line));
        }
    }

    /// The last word about what was done.
    pub(super) fn summary(&self, message: &str) {
        if !self.manner.quiet {
            self.say(&format!("{message}\n"));
        }
    }

    /// Counts objects for the progress bar.
    pub(super) fn advance(&mut self, objects: usize) {
        self.progress.advance(objects);
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
        let mut talk = Talk::new(Manner { quiet: true, strict: true });
        talk.note(About::Other, "unimportant");
        assert_eq!(talk.exit(), Exit::Done);
        talk.note(About::Omission, "left out");
        assert_eq!(talk.exit(), Exit::Evaluation);
    }
}
