//! `diff`: what the policies would change.

use std::io;

use clap::Args;

use crate::diagnostics::Code;
use crate::render::{
    ExplanationOptions, Findings, Format, Github, Gitlab, Html, JunitFindings, Layout, Markdown, ObjectRows,
    Palette, PolicyReports, Report, ReportApi, Sarif, Summary,
};

use super::arguments::{DiffOptions, RuleArguments, RunArguments};
use super::driver::Presentation;
use super::exit::Exit;
use super::external_diff::ExternalDiff;
use super::formats::{FormatChoice, FormatOptions, format_parser};
use super::options::RunOptions;
use super::present::{present, print_failure};
use super::rule_sources::rule_sources;
use super::selection::Selection;
use super::server_dry_run::NO_CLUSTER;
use super::session::{Session, on_threads};
use super::summary::SummaryStyle;
use super::terminal;
use super::unmatched_elements::unfit_lists;

const EXAMPLES: &str = "\
Examples:
  # Show what the policies would change in the manifests of a directory
  kubectl kyv diff -p policies/ -f manifests/ -R

  # Count what would change, by policy, rule, kind and namespace
  kubectl kyv diff -p policies/ -f manifests/ -R -o summary

  # Show what would change in the live Deployments of a namespace, or of all namespaces
  kubectl kyv diff deployments -n web -p policies/
  kubectl kyv diff deployments -A -p policies/ -o summary

  # Show what would change in all live objects that the policies can match
  kubectl kyv diff -A -p policies/ -o summary

  # Evaluate manifests with data and policies of the cluster
  kubectl kyv diff -f manifests/ -R --live --cluster-policies

  # Show what would change, and whether the API server and its webhooks accept it
  kubectl kyv diff deployments -A -p policies/ --server-dry-run

  # Record the responses of the cluster, and show the same without it
  kubectl kyv diff -A -p policies/ --record recording/
  kubectl kyv diff -A -p policies/ --replay recording/

  # Fail a pipeline if the policies would change a manifest
  kubectl kyv diff -p policies/ -k overlays/prod --quiet

  # Save a diff that names the rules, and apply it later
  kubectl kyv diff -p policies/ -f manifests/ -R --annotate > change.diff
  git apply change.diff

  # A comment for a pull request
  kubectl kyv diff -p policies/ -f manifests/ -o markdown > comment.md

  # A page to look at, of the whole cluster
  kubectl kyv diff -A -p policies/ -o html > changes.html";

/// Show what Kyverno mutate policies would change.
///
/// Exits with 1 if something would change, with 0 if not, and with 4 if the cluster could not be read
/// completely. Nothing is written to a cluster. Values of Secrets are masked, unless --show-secrets is set.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    #[command(flatten)]
    rules: RuleArguments,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "diff", help_heading = "Output")]
    output: &'static FormatChoice<FormatOptions>,
    /// Send each changed object to the API server as a dry run that stores nothing, and show what its
    /// validation and webhooks refuse (exit code 3) or change.
    #[arg(long, help_heading = "Cluster")]
    server_dry_run: bool,
    #[command(flatten)]
    style: DiffOptions,
}

/// The format that has explanations.
const PAGE: &str = "html";

/// What `-o` may name.
static FORMATS: &[FormatChoice<FormatOptions>] = &[
    FormatChoice {
        name: "diff",
        help: "A unified diff of the files, for `git apply` and `patch -p1`; a diff of each object for other inputs",
        summary: SummaryStyle::WouldLine,
        format: |options| Box::new(options.diff()),
    },
    FormatChoice {
        name: "summary",
        help: "Tables: objects by policy, rule, kind and namespace",
        summary: SummaryStyle::None,
        format: |options| Box::new(Summary { width: options.width }),
    },
    FormatChoice {
        name: "json",
        help: "A report of all objects that a rule matched, and the counts",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Report),
    },
    FormatChoice {
        name: "markdown",
        help: "The counts and the diff, for a pull request",
        summary: SummaryStyle::None,
        format: |options| Box::new(Markdown::new(options.diff())),
    },
    FormatChoice {
        name: PAGE,
        help: "One page for a browser: charts, filters, diffs side by side, and why each rule applied",
        summary: SummaryStyle::WouldLine,
        format: |FormatOptions { style, explanations, .. }| match explanations {
            Some(options) => {
                Box::new(Html { command: "diff", data: Box::new(ObjectRows { options, style, all: false }) })
            }
            None => Box::new(Html { command: "diff", data: Box::new(Report) }),
        },
    },
    FormatChoice {
        name: "sarif",
        help: "A SARIF log, for code scanning",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Findings { writer: || Box::new(Sarif::default()) }),
    },
    FormatChoice {
        name: "github",
        help: "Annotations: workflow commands of GitHub Actions",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Findings { writer: || Box::new(Github) }),
    },
    FormatChoice {
        name: "gitlab",
        help: "A Code Quality report of GitLab",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Findings { writer: || Box::new(Gitlab::default()) }),
    },
    FormatChoice {
        name: "junit",
        help: "One JUnit document: a suite for each object, a case for each rule",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Findings { writer: || Box::new(JunitFindings::default()) }),
    },
    FormatChoice {
        name: "policyreport",
        help: "A PolicyReport for each object (wgpolicyk8s.io/v1alpha2), for `kubectl apply`",
        summary: SummaryStyle::WouldLine,
        format: |_| {
            Box::new(Findings { writer: || Box::new(PolicyReports::new(ReportApi::PolicyWorkingGroup)) })
        },
    },
    FormatChoice {
        name: "openreports",
        help: "A Report for each object (openreports.io/v1alpha1), for `kubectl apply`",
        summary: SummaryStyle::WouldLine,
        format: |_| Box::new(Findings { writer: || Box::new(PolicyReports::new(ReportApi::OpenReports)) }),
    },
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, rules, output, server_dry_run, style } = arguments;
    let options = &RunOptions { keep_going: true, ..rules.choose(inputs.into()) };
    on_threads(options, |reporter| {
        reporter.set_color(style.color);
        if server_dry_run && !options.uses_cluster_state() {
            return reporter.error(Exit::Input, Code::NoInput, NO_CLUSTER);
        }
        let has_explanations = output.name == PAGE;
        let open = if has_explanations { Session::open_traced } else { Session::open };
        let session = open(options, reporter);
        let format = (output.format)(FormatOptions {
            layout: Layout::Kept,
            style: style.style(),
            width: terminal::width(&io::stdout()),
            explanations: has_explanations.then(|| explanations(options, session.as_ref())),
        });
        let is_diff = output.name == "diff";
        let external_diff =
            is_diff.then(|| ExternalDiff::from_environment(options.namespace_or_default())).flatten();
        // The diffs of a page name the rules anyway.
        let shows_diff = has_explanations || format.shows_diff() && external_diff.is_none();
        style.note_unused(shows_diff, reporter);
        let shown: &dyn Format = external_diff.as_ref().map_or(&*format, |program| program);
        let presentation = Presentation {
            server_dry_run,
            external_diff: external_diff.as_ref(),
            ..Presentation::new(shown, output.summary, options)
        };
        match present(options, session.as_ref(), &presentation, reporter) {
            Some(_) if external_diff.as_ref().is_some_and(ExternalDiff::finds_nothing) => {}
            Some(summary) if summary.tally.changed > 0 => reporter.worsen(Exit::Changes),
            Some(_) => {}
            None => print_failure(&*format, reporter),
        }
    })
}

/// What the explanations of a page are made with.
fn explanations(options: &RunOptions, session: Option<&Session>) -> ExplanationOptions {
    let all = Selection::new(Vec::new(), Vec::new());
    ExplanationOptions {
        sources: session.map(|session| rule_sources(session, &all)).unwrap_or_default(),
        semantics: options.dialect.semantics,
        all: false,
        verbose: options.verbose,
        palette: Palette::Plain,
        shows_impact: true,
        no_change_reasons: unfit_lists,
    }
}
