//! `convert`: CEL policies for classic ones, with a proof.

mod check;
mod pairs;
mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::proof;
use crate::semantics::Semantics;

use super::argument_values::choice_parser;
use super::arguments::{EngineArguments, SEMANTICS};
use super::exit::Exit;
use super::options::RunOptions;
use super::session::on_threads;

const EXAMPLES: &str = "\
Examples:
  # Whether a policy that was rewritten by hand does the same
  kubectl kyv convert --check add-labels.yaml add-labels-mpol.yaml

  # All policies of two folders, paired by the names of files and folders, as tables for a pull request
  kubectl kyv convert --check policies/ mutating-policies/ -o markdown

  # Also on the manifests of a repository; the order of list elements does not matter
  kubectl kyv convert --check old.yaml new.yaml -f manifests/ --accept order";

/// Prove that policies do the same as the ones that they replace.
///
/// Both sides are run on many requests: on given objects, and on objects made from what the policies mention, with each
/// condition true and broken, fields missing, null and empty, lists of no, one and several elements. It is evidence by
/// test, not by logic.
///
/// Exits with 0 if all answers are equal, with 1 if some differ, with 2 if an input cannot be read, and with 3 if
/// something could not be compared.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    /// Compare the policies of two files or directories. Directories are paired by the names in them; several policies
    /// of a pair count as a whole.
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], required = true, help_heading = "Input")]
    check: Vec<PathBuf>,
    /// Files, directories and globs with further objects for the proof; - is standard input.
    #[arg(short, long, value_name = "PATH", value_delimiter = ',', help_heading = "Input")]
    filename: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "PATH",
        value_delimiter = ',',
        help = "CustomResourceDefinitions: schemas of custom resources",
        help_heading = "Input"
    )]
    crds: Vec<PathBuf>,
    /// How many objects are generated for each rule: full is 2,000, fast 200.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Effort::Full, help_heading = "Evaluation")]
    proof: Effort,
    /// Differences that are accepted.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',', help_heading = "Evaluation")]
    accept: Vec<Accepted>,
    /// Which side to take where Kyverno's documentation and its controllers differ.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = choice_parser(&SEMANTICS),
        default_value = "documented",
        help_heading = "Evaluation"
    )]
    semantics: Semantics,
    #[command(flatten)]
    engine: EngineArguments,
    /// The output format; by default text.
    #[arg(short, long, value_name = "FORMAT", value_enum, help_heading = "Output")]
    output: Option<Output>,
    /// Print only errors on stderr, no notes.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// How many objects are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Effort {
    /// 200 for each rule.
    Fast,
    /// 2,000 for each rule.
    Full,
}

impl Effort {
    const fn requests_per_rule(self) -> usize {
        match self {
            Self::Fast => proof::Options::FAST,
            Self::Full => proof::Options::FULL,
        }
    }
}

/// A difference that can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Accepted {
    /// The order of the elements of lists that merge by key.
    Order,
    /// `ReplicaSet` and `ReplicationController`, which autogen of CEL policies does not know.
    Replicationcontroller,
    /// Requests that NEW admits and OLD denies with an error.
    Errors,
}

impl Accepted {
    const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Replicationcontroller => "replicationcontroller",
            Self::Errors => "errors",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Everything, for programs.
    Json,
    /// Tables, for a pull request.
    Markdown,
}

pub(super) fn run(arguments: &Arguments) -> Exit {
    let options = arguments.engine.options();
    let options = RunOptions {
        manifests: arguments.filename.clone(),
        crds: arguments.crds.clone(),
        dialect: arguments.semantics.into(),
        quiet: arguments.quiet,
        ..options
    };
    on_threads(&options, |reporter| check::run(arguments, &options, reporter))
}
