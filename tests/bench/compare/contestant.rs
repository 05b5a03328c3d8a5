//! A program and what it is asked to do.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program with its arguments, under the name that tables call it by.
#[derive(Clone, Debug)]
pub(crate) struct Contestant {
    pub(crate) name: &'static str,
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// All of its environment.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The exit codes of success.
    pub(crate) codes: &'static [i32],
    /// How often it runs at most.
    pub(crate) rounds: usize,
}

impl Contestant {
    /// A program that ends with 0 and knows nothing of the environment.
    pub(crate) fn new(name: &'static str, program: &Path) -> Self {
        Self {
            name,
            program: program.to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            codes: &[0],
            rounds: usize::MAX,
        }
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

    /// The same with a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// The same, running at most so often.
    pub(crate) fn at_most(mut self, rounds: usize) -> Self {
        self.rounds = rounds;
        self
    }
}
