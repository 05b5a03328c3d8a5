//! `drift`: what a GitOps tool shows of the changes of policies.

use clap::Args;

use crate::render::{DriftFormat, DriftReport, Html};
use crate::report::GitOpsTool;

use super::argument_values::{Choice, choice_parser};
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
  kubectl kyv drift -p policies/ -k overlays/prod -o argocd

  # What Flux shows as drift, and the rules of a HelmRelease or Kustomization that ignore it
  kubectl kyv drift -p policies/ -f manifests/ -R --tool flux
  kubectl kyv drift -p policies/ -f manifests/ -R -o flux";

/// Show what will be OutOfSync in Argo CD, or drift in Flux, because policies change it.
///
/// A field that only the cluster has is no difference for Argo CD. One that Git sets is, if a policy gives it another value;
/// and so is a list without merge key. -o argocd prints the ignoreDifferences of an application, as narrow as they can be.
///
/// Flux asks the cluster with a dry run, which goes through the policies. So it shows only what they do not do again when the
/// object is updated, or do twice: rules for the operation CREATE, and rules that change their own results.
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
    /// The tool that keeps the cluster in sync; that of the rules with -o argocd and -o flux
    #[arg(long, value_name = "NAME", value_parser = choice_parser(&TOOLS), help_heading = "Output")]
    tool: Option<GitOpsTool>,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "text", help_heading = "Output")]
    output: &'static FormatChoice<GitOpsTool>,
}

/// What `--tool` may name.
static TOOLS: [Choice<GitOpsTool>; 2] = [
    (GitOpsTool::ArgoCd.name(), "Argo CD", GitOpsTool::ArgoCd),
    (GitOpsTool::Flux.name(), "Flux", GitOpsTool::Flux),
];

/// What `-o` may name.
static FORMATS: &[FormatChoice<GitOpsTool>] = &[
    FormatChoice {
        name: "text",
        help: "The fields, object by object",
        summary: SummaryStyle::None,
        format: |tool| Box::new(DriftReport { format: DriftFormat::Text, tool }),
    },
    FormatChoice {
        name: "json",
        help: "The same as one JSON object",
        summary: SummaryStyle::None,
        format: |tool| Box::new(DriftReport { format: DriftFormat::Json, tool }),
    },
    FormatChoice {
        name: "html",
        help: "The same as one page for a browser",
        summary: SummaryStyle::None,
        format: |tool| {
            Box::new(Html {
                command: "drift",
                data: Box::new(DriftReport { format: DriftFormat::Json, tool }),
            })
        },
    },
    FormatChoice {
        name: "argocd",
        help: "The ignoreDifferences of an application of Argo CD",
        summary: SummaryStyle::None,
        format: |tool| Box::new(DriftReport { format: DriftFormat::Rules, tool }),
    },
    FormatChoice {
        name: "flux",
        help: "The driftDetection of a HelmRelease of Flux; its list is that of `ignore` of a Kustomization, too",
        summary: SummaryStyle::None,
        format: |tool| Box::new(DriftReport { format: DriftFormat::Rules, tool }),
    },
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, rules, tool, output } = arguments;
    let of_rules = TOOLS.iter().find(|(name, ..)| *name == output.name).map(|(.., tool)| *tool);
    let mixes_tools = tool.zip(of_rules).is_some_and(|(tool, of_rules)| tool != of_rules);
    let tool = tool.or(of_rules).unwrap_or_default();
    let options = RunOptions {
        keep_going: true,
        check: PolicyCheck::Drift(tool),
        mixes_tools,
        ..rules.choose(inputs.into())
    };
    run_findings(&options, &*(output.format)(tool), output.summary)
}
