//! `diff`: what the policies would change.

use clap::{Args, ValueEnum};

use super::arguments::{DiffOptions, RunArguments};
use super::driver::show;
use super::exit::Exit;
use super::mutate::Print;
use super::options::RunOptions;
use super::output::{Format, Layout};
use super::server_dry_run::NO_CLUSTER;
use super::session::{Session, on_threads};
use super::summary::SumUp;

const EXAMPLES: &str = "\
Examples:
  # Show what the policies would change in the manifests of a directory
  kubectl kyv diff -p policies/ -f manifests/ -R

  # Count what would change, by policy, rule, kind and namespace
  kubectl kyv diff -p policies/ -f manifests/ -R -o summary

  # Show what would change in the Deployments of a namespace of the cluster, of all namespaces
  kubectl kyv diff deployments -n web -p policies/
  kubectl kyv diff deployments -A -p policies/ -o summary

  # Show what the policies would change in all objects that they can match
  kubectl kyv diff -A -p policies/ -o summary

  # Evaluate manifests by what the cluster holds and by its own policies
  kubectl kyv diff -f manifests/ -R --live --cluster-policies

  # The same, and whether the API server and its webhooks would take it
  kubectl kyv diff deployments -A -p policies/ --server-dry-run

  # Record what the cluster answers, and show the same again without it
  kubectl kyv diff -A -p policies/ --record tape/
  kubectl kyv diff -A -p policies/ --replay tape/

  # Fail a pipeline if manifests are not as the policies want them
  kubectl kyv diff -p policies/ -k overlays/prod --quiet

  # Write down the change, naming the rules, and make it later
  kubectl kyv diff -p policies/ -f manifests/ -R --annotate > change.diff
  git apply change.diff

  # A comment for a pull request
  kubectl kyv diff -p policies/ -f manifests/ -o markdown > comment.md";

/// Show what Kyverno mutate policies would change.
///
/// Exits with 1 if something would change, with 0 if not, and with 4 if the cluster could not be read in
/// part or whole. Nothing is written to a cluster. Values of Secrets are masked unless --show-secrets is given.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    /// How to show it.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Diff, help_heading = "Output")]
    output: Output,
    /// Send each changed object through the API server's own validation and webhooks, as a dry run that
    /// stores nothing, and show what it refuses (exit code 3) or changes further.
    #[arg(long, help_heading = "Cluster")]
    server_dry_run: bool,
    #[command(flatten)]
    style: DiffOptions,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A unified diff of the files, which `git apply` and `patch -p1` take; for objects that come from
    /// elsewhere of each object.
    Diff,
    /// A table: objects by policy, rule, kind and namespace.
    Summary,
    /// A report of all objects that a rule matched, and the counts.
    Json,
    /// The counts and the diff, for a pull request.
    Markdown,
}

impl Output {
    const fn format(self) -> (Format, SumUp) {
        match self {
            Self::Diff => (Format::Diff, SumUp::Table),
            Self::Summary => (Format::Summary, SumUp::Nothing),
            Self::Json => (Format::Report, SumUp::Line),
            Self::Markdown => (Format::Markdown, SumUp::Nothing),
        }
    }
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, output, server_dry_run, style } = arguments;
    let options = &RunOptions::from(inputs);
    on_threads(options, |reporter| {
        if server_dry_run && !options.uses_cluster_state() {
            return reporter.error(Exit::Input, NO_CLUSTER);
        }
        let session = Session::open(options, reporter);
        let (format, sum_up) = output.format();
        let style = style.style(format.shows_diff(), reporter);
        let print = Print { format, layout: Layout::Kept, style, sum_up, tries: server_dry_run };
        let ledger = show(options, session.as_ref(), &print, reporter);
        if ledger.is_some_and(|ledger| ledger.tally.changed > 0) {
            reporter.worsen(Exit::Changes);
        }
    })
}
