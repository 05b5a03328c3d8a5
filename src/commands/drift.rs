//! `drift`: what a GitOps tool shows of the changes of policies.

use clap::Args;

use crate::render::{DriftFormat, DriftReport, Html};

use super::arguments::{RuleArguments, RunArguments};
use super::exit::Exit;
use super::formats::{FormatChoice, format_parser};
use super::options::{PolicyCheck, RunOptions};
use super::present::run_findings;
use super::summary::SummaryStyle;

const EXAMPLES: &str = "\
Examples:
  # What Argo CD shows as OutOfSync because of policies in the cluster
  kubectl kyv drift -p policies/ -f manifests/ -R

  # What explains each difference between manifests and the cluster
  kubectl kyv drift --cluster-policies -f manifests/ -R --live

  # The rules of the application that ignore it
  kubectl kyv drift -p policies/ -k overlays/prod -o argocd";

/// Show what will be OutOfSync in Argo CD because policies change it.
///
/// A field that only the cluster has is no difference for Argo CD. One that Git sets is, if a policy gives it another value;
/// and so is a list without merge key. -o argocd prints the ignoreDifferences of an application, as narrow as they can be.
///
/// With --live, each manifest is compared with the object in the cluster. A difference comes from a policy, is a default of the
/// API server, or is drift: someone changed the object.
///
/// Exits with 1 if an object would be OutOfSync or could not be compared, with 0 if not.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    #[command(flatten)]
    rules: RuleArguments,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "text", help_heading = "Output")]
    output: &'static FormatChoice<()>,
}

/// What `-o` may name.
static FORMATS: &[FormatChoice<()>] = &[
    FormatChoice {
        name: "text",
        help: "The fields, object by object",
        summary: SummaryStyle::None,
        format: |()| Box::new(DriftReport { format: DriftFormat::Text }),
    },
    FormatChoice {
        name: "json",
        help: "The same as one JSON object",
        summary: SummaryStyle::None,
        format: |()| Box::new(DriftReport { format: DriftFormat::Json }),
    },
    FormatChoice {
        name: "html",
        help: "The same as one page for a browser",
        summary: SummaryStyle::None,
        format: |()| {
            Box::new(Html { command: "drift", data: Box::new(DriftReport { format: DriftFormat::Json }) })
        },
    },
    FormatChoice {
        name: "argocd",
        help: "The ignoreDifferences of an application of Argo CD",
        summary: SummaryStyle::None,
        format: |()| Box::new(DriftReport { format: DriftFormat::ArgoCd }),
    },
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, rules, output } = arguments;
    let options = RunOptions { keep_going: true, check: PolicyCheck::Drift, ..rules.choose(inputs.into()) };
    run_findings(&options, &*(output.format)(()), output.summary)
}
