//! `explain`: how the outcome of each rule came about.

use clap::Args;

use crate::diagnostics::Code;
use crate::policy::{CelPolicy, CelPolicyKind, CelVariant, ClassicPolicy, Edit, Patch, Policy, Rule};
use crate::render::{ExplanationOptions, Explanations, MisnamedResource, RuleSource, RuleSources};
use crate::resources::{ApiResource, Resources};
use crate::value::{Text, Value};

use super::arguments::RunArguments;
use super::color::Color;
use super::driver::Presentation;
use super::exit::Exit;
use super::formats::{FormatChoice, format_parser};
use super::options::RunOptions;
use super::present::{present, print_failure};
use super::reporter::Reporter;
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
];

pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, output, rule, object, all, color } = arguments;
    let options = &RunOptions { keep_going: true, ..RunOptions::from(inputs) };
    let mut selection = Selection::new(rule, object);
    on_threads(options, |reporter| {
        reporter.set_color(color);
        let session = Session::open_traced(options, reporter);
        let sources = session.as_ref().map(|session| sources(session, &selection)).unwrap_or_default();
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

/// The rules as the policies have them.
fn sources(session: &Session, selection: &Selection) -> RuleSources {
    let mut all = Vec::new();
    for policy in session.engine.policies().policies() {
        match policy {
            Policy::Classic(policy) => {
                all.extend(policy.rules.iter().map(|rule| source(policy, rule, selection)));
            }
            Policy::Cel(policy) => {
                all.extend(policy.variants.iter().map(|variant| cel_source(policy, variant, selection)));
            }
            #[cfg(test)]
            Policy::FixedLabel(_) => {}
        }
    }
    RuleSources::new(all)
}

fn cel_source(policy: &CelPolicy, variant: &CelVariant, selection: &Selection) -> RuleSource {
    let name = policy.meta.full_name();
    let resources = variant.constraints.resources();
    let is_generated = variant.name != policy.meta.name;
    RuleSource {
        shown: selection.has_rule(&name, &[&variant.name, &policy.meta.name]),
        policy: name,
        rule: variant.name.clone(),
        is_policy: !is_generated,
        generated_from: is_generated.then(|| policy.meta.name.clone()),
        kinds: resources.as_ref().map(|names| names.iter().map(|name| kind_of(name)).collect()),
        resources: resources.unwrap_or_default().into_iter().map(Text::from).collect(),
        misnamed: misnamed(variant),
        not_evaluated: None,
        no_autogen: Some(no_autogen(policy.kind).to_owned()),
        preconditions: Value::Null,
        targets: Value::Null,
        overlay: Value::Null,
        foreach: Value::Null,
    }
}

/// The kind of a resource, or its own name if it is not built in.
fn kind_of(resource: &str) -> Text {
    let built_in = Resources::built_in().iter().find(|built_in| *built_in.plural == *resource);
    built_in.map_or_else(|| resource.into(), |built_in| built_in.kind.kind.clone())
}

fn misnamed(variant: &CelVariant) -> Vec<MisnamedResource> {
    let misnamed = variant.constraints.misnamed().into_iter();
    let resource = |(name, meant): (&Text, &ApiResource)| MisnamedResource {
        name: name.clone(),
        plural: meant.plural.clone(),
        kind: meant.kind.kind.clone(),
    };
    misnamed.map(resource).collect()
}

/// Why nothing is generated for controllers from a policy for Pods.
const fn no_autogen(kind: CelPolicyKind) -> &'static str {
    if kind.is_of_kyverno() {
        "autogen applies only to policies whose only resource rule is for exactly `pods` of `v1`, without names, \
         exclusions and objectSelector, and only to the controllers that the policy selects"
    } else {
        "autogen is not for policies of the API server"
    }
}

fn source(policy: &ClassicPolicy, rule: &Rule, selection: &Selection) -> RuleSource {
    let name = policy.meta.full_name();
    let mutate = |name: &str| rule.raw.path(&["mutate", name]).cloned().unwrap_or_default();
    let mut kinds = rule.matching.only_kinds().map(|kinds| kinds.into_iter().cloned().collect::<Vec<_>>());
    if let Some(kinds) = &mut kinds {
        kinds.sort_unstable();
        kinds.dedup();
    }
    RuleSource {
        shown: selection.has_rule(&name, &[&rule.name, rule.source_name()]),
        policy: name,
        rule: rule.name.clone(),
        is_policy: false,
        generated_from: rule.generated_from.clone(),
        kinds,
        resources: Vec::new(),
        misnamed: Vec::new(),
        not_evaluated: rule.not_evaluated().map(|why| why.to_string()),
        no_autogen: policy.no_autogen.clone(),
        preconditions: rule.raw.get("preconditions").cloned().unwrap_or_default(),
        targets: mutate("targets"),
        overlay: match rule.edit() {
            Edit::Patch(Patch::StrategicMerge { overlay, .. }) => overlay.source().clone(),
            Edit::Patch(Patch::Legacy(_)) => mutate("overlay"),
            _ => Value::Null,
        },
        foreach: mutate("foreach"),
    }
}
