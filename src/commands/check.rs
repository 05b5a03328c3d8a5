//! `check`: how the policies of a set get along.

use clap::Args;

use crate::render::{CheckOutput, CheckReport, Format, Github, Gitlab, Html, JunitFindings, Sarif};

use super::arguments::{RuleArguments, RunArguments};
use super::exit::Exit;
use super::formats::{FormatChoice, format_parser};
use super::options::{PolicyCheck, RunOptions};
use super::present::run_findings;
use super::summary::SummaryStyle;

const EXAMPLES: &str = "\
Examples:
  # Find policies that depend on their order, overwrite each other or change their own results
  kubectl kyv check -p policies/ -f manifests/ -R

  # Without manifests: on objects made from the conditions of the policies
  kubectl kyv check -p policies/ --generated

  # The same for the live Deployments of all namespaces
  kubectl kyv check deployments -A -p policies/

  # The policies of the cluster on the manifests of a kustomization
  kubectl kyv check --live --cluster-policies -k overlays/prod

  # For scripts
  kubectl kyv check -p policies/ -f manifests/ -R -o json";

/// Check how Kyverno mutate policies get along with each other.
///
/// Finds policies whose result depends on their order, that overwrite or undo each other's changes, or that change
/// their own results again. Finds changes that restart Pods, grant privileges or are refused. Of each finding the
/// smallest object is shown, with both results and a cure.
///
/// Exits with 1 if there are findings, with 0 if not. Nothing is written to a cluster.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    #[command(flatten)]
    rules: RuleArguments,
    /// Check objects that are made from the conditions of the policies, too: of each policy, and of pairs that touch the
    /// same fields. Needs no manifests. --seed makes others.
    #[arg(long, help_heading = "Input")]
    generated: bool,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "text", help_heading = "Output")]
    output: &'static FormatChoice<()>,
}

/// What `-o` may name.
static FORMATS: &[FormatChoice<()>] = &[
    FormatChoice {
        name: "text",
        help: "The findings, with the smallest object of each",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Text),
    },
    FormatChoice {
        name: "json",
        help: "The findings as one JSON object",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Json),
    },
    FormatChoice {
        name: "html",
        help: "The findings as one page for a browser",
        summary: SummaryStyle::None,
        format: |()| Box::new(Html { command: "check", data: report(CheckOutput::Json) }),
    },
    FormatChoice {
        name: "sarif",
        help: "A SARIF log, for code scanning",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Findings(|| Box::new(Sarif::default()))),
    },
    FormatChoice {
        name: "github",
        help: "Annotations: workflow commands of GitHub Actions",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Findings(|| Box::new(Github))),
    },
    FormatChoice {
        name: "gitlab",
        help: "A Code Quality report of GitLab",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Findings(|| Box::new(Gitlab::default()))),
    },
    FormatChoice {
        name: "junit",
        help: "One JUnit document: a case that fails for each finding",
        summary: SummaryStyle::None,
        format: |()| report(CheckOutput::Findings(|| Box::new(JunitFindings::default()))),
    },
];

fn report(output: CheckOutput) -> Box<dyn Format> {
    Box::new(CheckReport { output })
}

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, rules, generated, output } = arguments;
    let options = RunOptions {
        keep_going: true,
        check: PolicyCheck::Together,
        generated,
        objects_are_optional: generated,
        ..rules.choose(inputs.into())
    };
    run_findings(&options, &*(output.format)(()), output.summary)
}
