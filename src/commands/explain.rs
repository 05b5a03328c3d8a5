//! `explain`: how the outcome of each rule came about.

use clap::Args;

use crate::diagnostics::Code;
use crate::render::{DiffStyle, ExplanationOptions, Explanations, Html, ObjectRows, RuleSources};

use super::arguments::RunArguments;
use super::color::Color;
use super::driver::Presentation;
use super::exit::Exit;
use super::formats::{FormatChoice, format_parser};
use super::options::RunOptions;
use super::present::{present, print_failure};
use super::reporter::Reporter;
use super::rule_sources::rule_sources;
use super::selection::Selection;
use super::session::{Session, on_threads};
use super::summary::{Closing, SummaryStyle};
use super::unmatched_elements::unfit_lists;

const EXAMPLES: &str = "\
Examples:
  # Explain what each rule does with the objects of a file
  kubectl kyv explain -p policies/ -f deployment.yaml

  # Explain one rule and one object
  kubectl kyv explain -p policies/ -f manifests/ -R --rule 'add-labels/*' --object Deployment/web

  # Explain a live object
  kubectl kyv explain deployment web -n shop -p policies/

  # Explain the code of a message
  kubectl kyv explain KYV301";

/// Explain why each rule applied or did not.
///
/// For each object and rule it shows whether the rule matched and why not, conditions with their values, and
/// the changes, or why there are none. Values of Secrets are masked.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    /// The output format.
    #[arg(short, long, value_name = "FORMAT", value_parser = format_parser(FORMATS), default_value = "text", help_heading = "Output")]
    output: &'static FormatChoice<ExplanationOptions>,
    /// Only these rules; * and ? are wildcards. A name without / is that of a policy.
    #[arg(long, value_name = "POLICY/RULE", value_delimiter = ',', help_heading = "Output")]
    rule: Vec<String>,
    /// Only these objects; * and ? are wildcards. A name without / is that of an object.
    #[arg(long, value_name = "KIND/NAME", value_delimiter = ',', help_heading = "Output")]
    object: Vec<String>,
    /// Also list the rules for other kinds, one by one.
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// When to colour the text.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,
}

/// What `-o` may name.
static FORMATS: &[FormatChoice<ExplanationOptions>] = &[
    FormatChoice {
        name: "text",
        help: "One screen for each object",
        summary: SummaryStyle::Line,
        format: |options| Box::new(Explanations::Text(options)),
    },
    FormatChoice {
        name: "json",
        help: "The same as data",
        summary: SummaryStyle::Line,
        format: |options| Box::new(Explanations::Json(options)),
    },
    FormatChoice {
        name: "html",
        help: "The same as one page for a browser, with diffs",
        summary: SummaryStyle::Line,
        format: |options| {
            let rows = ObjectRows { options, style: DiffStyle::default(), all: true };
            Box::new(Html { command: "explain", data: Box::new(rows) })
        },
    },
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, output, rule, object, all, color } = arguments;
    let options = &RunOptions { keep_going: true, ..RunOptions::from(inputs) };
    let mut selection = Selection::new(rule, object);
    on_threads(options, |reporter| {
        reporter.set_color(color);
        let session = Session::open_traced(options, reporter);
        let sources = session.as_ref().map(|session| rule_sources(session, &selection)).unwrap_or_default();
        if session.is_some() && !knows_rules(&selection, &sources, reporter) {
            return;
        }
        selection.set_rules(&sources);
        let format = (output.format)(ExplanationOptions {
            sources,
            semantics: options.dialect.semantics,
            all,
            verbose: options.verbose,
            palette: color.palette(),
            shows_impact: selection.rules.is_empty(),
            no_change_reasons: unfit_lists,
        });
        // The result itself says which rules met no object, and which divergences were met.
        let closing = Closing { unmatched_rules: false, divergences: options.strict };
        let presentation = Presentation {
            selection: Some(&selection),
            closing,
            ..Presentation::new(&*format, output.summary, options)
        };
        if present(options, session.as_ref(), &presentation, reporter).is_none() {
            print_failure(&*format, reporter);
        }
    })
}

/// Reports each pattern for rules that fits none; whether there is no such pattern.
fn knows_rules(selection: &Selection, sources: &RuleSources, reporter: &mut Reporter) -> bool {
    let mut all = true;
    for pattern in selection.unknown_rules(sources) {
        all = false;
        reporter.error(
            Exit::Input,
            Code::NameWithoutMatch,
            format_args!("--rule {pattern}: no mutate rule has this name"),
        );
    }
    all
}
