//! `convert`: CEL policies for classic ones, and the proof that policies do the same as others.

mod check;
mod checked;
mod files;
mod pairs;
mod prover;
mod report;
mod suites;
mod text;
mod write;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::convert::{Difference, Options, Target};
use crate::diagnostics::Code;
use crate::proof;
use crate::resources::Resources;
use crate::source::custom_kinds;

use super::arguments::{
    ClusterSourceArguments, ContextArguments, EngineArguments, ExceptionArguments, LiveArguments,
    ObjectArguments, SemanticsArguments, ValueArguments,
};
use super::exit::Exit;
use super::options::{ClusterOptions, RunOptions};
use super::reporter::Reporter;
use super::session::{kind_schemas, on_threads, schemas};

const EXAMPLES: &str = "\
Examples:
  # A policy as MutatingPolicy, on standard output
  kubectl kyv convert -p add-labels.yaml

  # All policies of a folder, each beside the old one; kustomizations name the new files, too
  kubectl kyv convert -p policies/ -i

  # As policies of the API server, into another folder
  kubectl kyv convert -p policies/ --to map -o admission-policies/

  # The order of list elements may differ: shorter policies
  kubectl kyv convert -p policies/ -o mutating-policies/ --accept order

  # With test suites for the old and the new policies
  kubectl kyv convert -p policies/ -o mutating-policies/ --tests tests/

  # Whether the policies of two folders do the same, paired by their names
  kubectl kyv convert --check policies/ mutating-policies/

  # Quickly, and also on the manifests of a repository
  kubectl kyv convert -p policies/ -o mutating-policies/ --proof fast -f manifests/

  # The same for policies that exist, as tables for a pull request
  kubectl kyv convert --check old.yaml new.yaml -f manifests/ -o markdown";

/// Convert classic policies to CEL policies, and prove that policies do the same.
///
/// With -p, a rule is converted exactly, or not at all: the report on stderr says what became of each, and why not.
/// Nothing is approximated; a difference is written only where --accept names it, with a comment at the place.
///
/// Before a new policy is written, it is proven to do the same as the rules that it replaces; --check proves policies that
/// exist. Both sides are run on many requests: on given objects, and on objects made from what the policies mention. Each
/// condition is true and broken; fields are missing, null and empty; lists have no, one and several elements. It is
/// evidence by test, not by logic.
///
/// Exits with 0 if all rules were converted, or all answers are equal. Exits with 1 if some answers differ, and with 2 if
/// an input cannot be read. Exits with 3 if some rule was not converted, or something could not be compared.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    /// Classic policies to convert: a file, a directory with everything below it, a glob, or - for standard input.
    #[arg(
        short,
        long,
        value_name = "PATH",
        required_unless_present = "check",
        value_delimiter = ',',
        help_heading = "Input"
    )]
    policy: Vec<PathBuf>,
    /// Compare the policies of two files or directories instead. Directories are paired by the names in them; several
    /// policies of a pair count as a whole.
    #[arg(
        long,
        num_args = 2,
        value_names = ["OLD", "NEW"],
        conflicts_with_all = ["policy", "rule", "to", "in_place"],
        help_heading = "Input"
    )]
    check: Vec<PathBuf>,
    /// Convert only rules with these names; * and ? are wildcards. A name without / is that of a policy. The other rules
    /// of a policy must stay in it.
    #[arg(long, value_name = "POLICY/RULE", value_delimiter = ',', help_heading = "Input")]
    rule: Vec<String>,
    #[command(flatten)]
    objects: ObjectArguments,
    /// What the policies become.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = To::Mpol, help_heading = "Conversion")]
    to: To,
    /// Differences that are accepted.
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',', help_heading = "Conversion")]
    accept: Vec<Accepted>,
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    exceptions: ExceptionArguments,
    #[command(flatten)]
    context: ContextArguments,
    /// How many objects are generated for each rule to prove that policies do the same.
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Effort::Full, help_heading = "Evaluation")]
    proof: Effort,
    #[command(flatten)]
    semantics: SemanticsArguments,
    #[command(flatten)]
    engine: EngineArguments,
    /// Where the policies are written: a directory, one file for each file of -p. With json, the report as JSON on
    /// standard output instead of the policies. With --check: json, or markdown for a pull request.
    #[arg(short, long, value_name = "DIR|FORMAT", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write each new policy beside the old one, `add-labels.mpol.yaml` beside `add-labels.yaml`, and add it to the
    /// kustomization that names the old one.
    #[arg(short, long, conflicts_with = "output", help_heading = "Output")]
    in_place: bool,
    /// Write test suites of Kyverno for the old and the new policies to a directory, with objects of the proof:
    /// `kubectl kyv test` and `kyverno test` run them.
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    tests: Option<PathBuf>,
    /// Overwrite files that exist.
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Print only errors on stderr, no notes.
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
    #[command(flatten)]
    live: LiveArguments,
    #[command(flatten)]
    source: ClusterSourceArguments,
}

/// What the command does.
#[derive(Debug)]
struct Task {
    /// The classic policies that are converted.
    policy: Vec<PathBuf>,
    /// The two sides that are compared instead.
    check: Vec<PathBuf>,
    rule: Vec<String>,
    to: To,
    accept: Vec<Accepted>,
    proof: Effort,
    output: Option<PathBuf>,
    in_place: bool,
    /// Where test suites are written.
    tests: Option<PathBuf>,
    force: bool,
}

impl Arguments {
    /// What the command does, and the options of its proofs.
    fn into_parts(self) -> (Task, RunOptions) {
        let options = self.context.choose(self.objects.choose(self.engine.options()));
        let options = RunOptions {
            // For the count of what is standard input; the policies are read file by file.
            policies: self.policy.clone(),
            objects_are_optional: true,
            exceptions: self.exceptions.exceptions,
            dialect: self.semantics.dialect(),
            skip_unsupported: true,
            quiet: self.quiet,
            cluster: ClusterOptions::of(self.live, self.source),
            ..self.values.choose(options)
        };
        let task = Task {
            policy: self.policy,
            check: self.check,
            rule: self.rule,
            to: self.to,
            accept: self.accept,
            proof: self.proof,
            output: self.output,
            in_place: self.in_place,
            tests: self.tests,
            force: self.force,
        };
        (task, options)
    }
}

/// What policies become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum To {
    /// `MutatingPolicy` and `NamespacedMutatingPolicy` of Kyverno.
    Mpol,
    /// `MutatingAdmissionPolicy` of Kubernetes, with its binding.
    Map,
}

impl To {
    const fn target(self) -> Target {
        match self {
            Self::Mpol => Target::MutatingPolicy,
            Self::Map => Target::AdmissionPolicy,
        }
    }

    /// The end of the names of files beside the old ones.
    const fn suffix(self) -> &'static str {
        match self {
            Self::Mpol => "mpol",
            Self::Map => "map",
        }
    }
}

/// How many objects are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Effort {
    /// 200 for each rule.
    Fast,
    /// 2,000 for each rule.
    Full,
    /// No proof.
    None,
}

impl Effort {
    const fn requests_per_rule(self) -> usize {
        match self {
            Self::Fast => proof::Options::FAST,
            Self::Full => proof::Options::FULL,
            Self::None => 0,
        }
    }
}

/// A difference that can be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Accepted {
    /// The order of the elements of lists that merge by key.
    Order,
    /// The type of values that YAML reads after variables are replaced.
    YamlTypes,
    /// Upper and lower case of letters beyond ASCII.
    UnicodeCase,
    /// `ReplicaSet` and `ReplicationController`, which autogen of CEL policies does not know.
    Replicationcontroller,
    /// Errors that NEW does not have: it admits a request that OLD denies, such as one with an image that is no reference.
    Errors,
}

impl Accepted {
    const fn difference(self) -> Difference {
        match self {
            Self::Order => Difference::Order,
            Self::YamlTypes => Difference::YamlTypes,
            Self::UnicodeCase => Difference::UnicodeCase,
            Self::Replicationcontroller => Difference::ReplicationController,
            Self::Errors => Difference::Errors,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    /// Everything, for programs.
    Json,
    /// Tables, for a pull request.
    Markdown,
}

pub(super) fn run(arguments: Arguments) -> Exit {
    let (task, options) = &arguments.into_parts();
    on_threads(options, |reporter| {
        if task.check.is_empty() {
            if let Some(conversion) = conversion_options(task, options, reporter) {
                write::run(task, options, &conversion, reporter);
            }
        } else if task.proof == Effort::None {
            let message = "--check proves: --proof none is for -p";
            reporter.error(Exit::Input, Code::ArgumentConflict, message);
        } else if let Some(output) = output_of_check(task, reporter) {
            check::run(task, output, options, reporter);
        }
    })
}

/// The output of a comparison, `Some(None)` for text. Errors are reported.
fn output_of_check(task: &Task, reporter: &mut Reporter) -> Option<Option<Output>> {
    match task.output.as_deref().map(Path::to_str) {
        None => Some(None),
        Some(Some("json")) => Some(Some(Output::Json)),
        Some(Some("markdown")) => Some(Some(Output::Markdown)),
        Some(_) => {
            reporter.error(Exit::Input, Code::InvalidValue, "-o with --check: expected json or markdown");
            None
        }
    }
}

/// The options of the conversion. Errors are reported.
fn conversion_options(task: &Task, options: &RunOptions, reporter: &mut Reporter) -> Option<Options> {
    let kinds = reporter.loaded(custom_kinds(&options.crds, &options.input_limits))?;
    let defined = kinds.iter().flat_map(|kind| kind.versions.iter().cloned());
    Some(Options {
        target: task.to.target(),
        semantics: options.dialect.semantics,
        accepts: task.accept.iter().map(|accepted| accepted.difference()).collect(),
        kinds: kind_schemas(&kinds),
        schemas: reporter.valid(schemas(&kinds))?,
        rules: task.rule.clone(),
        resources: Some(Resources::served().with(defined)),
    })
}
