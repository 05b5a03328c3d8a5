//! A program and what it is asked to do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program with its arguments, under the name that tables call it by.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The exit codes of success.
    pub(crate) codes: &'static [i32],
    /// How often it runs at most.
    pub(crate) rounds: usize,
}

impl Contestant {
    /// A program that ends with 0.
    pub(crate) fn new(name: &'static str, program: &Path) -> Self {
        Self { name, program: program.to_owned(), arguments: Vec::new(), codes: &[0], rounds: usize::MAX }
    }

    /// The same with one more argument.
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// The same with more arguments.
    pub(crate) fn args(self, arguments: &[&str]) -> Self {
        arguments.iter().fold(self, Self::arg)
    }

    /// The same with the arguments of another one.
    pub(crate) fn args_of(self, other: &Self) -> Self {
        other.arguments.iter().fold(self, Self::arg)
    }

    /// The same, with other exit codes of success.
    pub(crate) fn codes(mut self, codes: &'static [i32]) -> Self {
        self.codes = codes;
        self
    }

    /// The same, running at most so often.
    pub(crate) fn at_most(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }

    /// What runs it.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }
}
