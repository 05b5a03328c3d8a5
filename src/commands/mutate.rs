//! `mutate`: the objects as the policies leave them.

use clap::Args;

use crate::diagnostics::Code;
use crate::render::{Json, Layout, Name, Patch, Yaml};

use super::arguments::{DiffOptions, RuleArguments, RunArguments};
use super::driver::Presentation;
use super::exit::Exit;
use super::formats::{FormatChoice, FormatOptions, format_parser};
use super::in_place::Edits;
use super::manifests::{manifests, report_errors};
use super::options::RunOptions;
use super::present::present;
use super::server_dry_run::NO_CLUSTER;
use super::session::{Session, on_threads};
use super::summary::SummaryStyle;

const EXAMPLES: &str = "\
Examples:
  # Print the manifests of a directory as the policies leave them
  kubectl kyv mutate -p policies/ -f manifests/

  # Mutate and apply a rendered chart, without an admission controller
  helm template web ./chart | kubectl kyv mutate -p policies/ -f - | kubectl apply -f -

  # Show what would change, as a diff
  kubectl kyv mutate -p policies/ -f manifests/ -R -o diff

  # Print mutated live objects, and report what the API server would refuse
  kubectl kyv mutate deployments -n web -p policies/ --server-dry-run > changed.yaml

  # Edit the manifests themselves
  kubectl kyv mutate -p policies/ -f manifests/ -R -i

  # Build a kustomization first
  kubectl kyv mutate -p policies/ -k overlays/prod

  # Evaluate as updates of a user
  kubectl kyv mutate -p policy.yaml -f pod.yaml --operation UPDATE --userinfo user.yaml";

/// Print objects as Kyverno mutate policies leave them.
///
/// The same documents come out in the same order. A document that no rule changes comes out byte for byte.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    #[command(flatten)]
    rules: RuleArguments,
    /// The output format: the objects, or what changes.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "yaml", help_heading = "Output")]
    output: &'static FormatChoice<FormatOptions>,
    /// Edit the files of -f instead of printing. Nothing is written if a rule fails, or if a file or data of
    /// the cluster cannot be read.
    #[arg(short, long, requires = "filename", conflicts_with_all = ["output", "kustomize", "objects"], help_heading = "Output")]
    in_place: bool,
    /// Go on without policies that are refused and files that cannot be read. With -i, also write the files
    /// where a rule failed or the cluster could not be read.
    #[arg(long, help_heading = "Output")]
    keep_going: bool,
    /// Write nothing, name the files of -f that would change, and exit with 1 if there are any.
    #[arg(long, requires = "filename", conflicts_with_all = ["output", "kustomize", "objects"], help_heading = "Output")]
    check: bool,
    /// Send each changed object to the API server as a dry run that stores nothing, and report what its
    /// validation and webhooks refuse (exit code 3). The printed objects are those that the policies leave.
    #[arg(long, conflicts_with = "in_place", help_heading = "Cluster")]
    server_dry_run: bool,
    /// Print changed documents canonically instead of keeping their comments, order, quotes and layout.
    #[arg(long, help_heading = "Output")]
    canonical: bool,
    #[command(flatten)]
    style: DiffOptions,
}

/// What `-o` may name.
static FORMATS: &[FormatChoice<FormatOptions>] = &[
    FormatChoice {
        name: "yaml",
        help: "The objects, as a stream of documents",
        summary: SummaryStyle::Line,
        format: |options| Box::new(Yaml { layout: options.layout }),
    },
    FormatChoice {
        name: "json",
        help: "The objects, as one object or a List",
        summary: SummaryStyle::Line,
        format: |_| Box::new(Json),
    },
    FormatChoice {
        name: "diff",
        help: "What changes, as a unified diff",
        summary: SummaryStyle::Line,
        format: |options| Box::new(options.diff()),
    },
    FormatChoice {
        name: "patch",
        help: "What changes: a JSON patch for each object, one per line",
        summary: SummaryStyle::Line,
        format: |_| Box::new(Patch),
    },
    FormatChoice {
        name: "name",
        help: "The names of objects that change",
        summary: SummaryStyle::Line,
        format: |_| Box::new(Name),
    },
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, rules, output, in_place, keep_going, check, server_dry_run, canonical, style } =
        arguments;
    let in_place = in_place || check;
    let options = &RunOptions { keep_going, ..rules.choose(inputs.into()) };
    let layout = if canonical { Layout::Canonical } else { Layout::Kept };
    on_threads(options, |reporter| {
        reporter.set_color(style.color);
        if in_place && options.manifests.iter().any(|path| path.as_os_str() == "-") {
            return reporter.error(
                Exit::Input,
                Code::NotARegularFile,
                "-i and --check are for files, and standard input (-) is none",
            );
        }
        if server_dry_run && !options.uses_cluster_state() {
            return reporter.error(Exit::Input, Code::NoInput, NO_CLUSTER);
        }
        let session = Session::open(options, reporter);
        let format =
            (output.format)(FormatOptions { layout, style: style.style(), width: None, explanations: None });
        style.note_unused(format.shows_diff() && !in_place, reporter);
        if !in_place {
            let presentation =
                Presentation { server_dry_run, ..Presentation::new(&*format, output.summary, options) };
            present(options, session.as_ref(), &presentation, reporter);
            return;
        }
        let Some(manifests) = manifests(options, session.as_ref(), reporter) else { return };
        let Some(session) = session else { return report_errors(manifests.documents(), reporter) };
        let world = session.world(options, &manifests);
        Edits::new(&manifests, layout, check).run(&session, &world, keep_going, reporter);
    })
}
