//! `explain`: how the outcome of each rule came about.

use std::collections::BTreeSet;
use std::io;

use clap::{Args, ValueEnum};

use crate::engine::World;
use crate::pattern;
use crate::policy::{Mutation, Policy, Rule};
use crate::render::{Explanation, JsonRows, Palette, RuleSource, RuleSources};
use crate::report::Impact;
use crate::semantics::Semantics;
use crate::source::{Faults, InputBatch};
use crate::value::{ObjectRef, Text, Value};

use super::arguments::{Color, RunArguments};
use super::driver::{Show, Work, drive, show};
use super::evaluate::{Evaluated, Evaluation, Evaluator};
use super::exit::Exit;
use super::options::RunOptions;
use super::output::push_summary;
use super::reporter::{NoteKind, Reporter};
use super::session::{RunWorld, Session, on_threads};
use super::summary::RunSummary;
use super::unmatched_elements::unfit_lists;

const EXAMPLES: &str = "\
Examples:
  # Why does a rule not apply to these objects, and what do the others do?
  kubectl kyv explain -p policies/ -f deployment.yaml

  # One rule and one object of many
  kubectl kyv explain -p policies/ -f manifests/ -R --rule 'add-labels/*' --object Deployment/web

  # An object of the cluster
  kubectl kyv explain deployment web -n shop -p policies/";

/// Tell for each object and rule how the outcome came about.
///
/// What matched, and if not, why; the conditions with the values they saw; each change with the rule that made
/// it; why a rule that matched changed nothing. Values of Secrets are masked.
#[derive(Debug, Args)]
#[command(before_help = EXAMPLES, help_template = super::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    inputs: RunArguments,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text, help_heading = "Output")]
    output: Output,
    /// Only rules of these names; wildcards * and ? may stand in them. A name without / is that of a policy.
    #[arg(long, value_name = "POLICY/RULE", value_delimiter = ',', help_heading = "Output")]
    rule: Vec<String>,
    /// Only these objects; wildcards * and ? may stand in them. A name without / is that of an object.
    #[arg(long, value_name = "KIND/NAME", value_delimiter = ',', help_heading = "Output")]
    object: Vec<String>,
    /// List the rules for objects of other kinds, too, one by one.
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// When to colour the text.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = Color::Auto, help_heading = "Output")]
    color: Color,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// A screen for each object.
    Text,
    /// The same as data.
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> Exit {
    let Arguments { inputs, output, rule, object, all, color } = arguments;
    let options = &RunOptions::from(inputs);
    let selection = &Selection { rules: rule, objects: object };
    on_threads(options, |reporter| {
        let session = Session::open_traced(options, reporter);
        let sources = session.as_ref().map(|session| selection.sources(session)).unwrap_or_default();
        if session.is_some() && !selection.names_rules(&sources, reporter) {
            return;
        }
        let shown = sources.iter().filter(|source| source.shown);
        let asked = shown.map(|source| source.policy.clone()).collect();
        let strict = options.strict;
        let screens = Screens { strict, output, selection, all, palette: color.palette(), sources, asked };
        show(options, session.as_ref(), &screens, reporter);
    })
}

/// The rules and objects that are explained; all where there are none.
struct Selection {
    rules: Vec<String>,
    objects: Vec<String>,
}

impl Selection {
    /// What the rules say of themselves.
    fn sources(&self, session: &Session) -> RuleSources {
        let policies = session.engine.policies().policies().iter();
        let rules = policies.flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)));
        RuleSources::new(rules.map(|(policy, rule)| self.source(policy, rule)).collect())
    }

    fn source(&self, policy: &Policy, rule: &Rule) -> RuleSource {
        let name = policy.full_name();
        let part = |name: &str| rule.raw.get(name).cloned().unwrap_or_default();
        let shown = self.rules.is_empty()
            || self.rules.iter().any(|wanted| {
                [&rule.name, rule.source_name()].into_iter().any(|rule| is_named(wanted, &name, rule))
            });
        let mut kinds =
            rule.matching.only_kinds().map(|kinds| kinds.into_iter().cloned().collect::<Vec<_>>());
        if let Some(kinds) = &mut kinds {
            kinds.sort_unstable();
            kinds.dedup();
        }
        RuleSource {
            policy: name,
            rule: rule.name.clone(),
            generated_from: rule.generated_from.clone(),
            kinds,
            not_evaluated: rule.not_evaluated().map(|why| why.to_string()),
            no_autogen: policy.no_autogen.clone(),
            preconditions: part("preconditions"),
            targets: rule.raw.path(&["mutate", "targets"]).cloned().unwrap_or_default(),
            overlay: match rule.existing().map_or(&rule.mutation, |existing| &*existing.body) {
                Mutation::StrategicMerge { overlay, .. } => overlay.source().clone(),
                Mutation::Legacy(_) => rule.raw.path(&["mutate", "overlay"]).cloned().unwrap_or_default(),
                _ => Value::Null,
            },
            foreach: rule
                .raw
                .get("mutate")
                .and_then(|mutate| mutate.get("foreach"))
                .cloned()
                .unwrap_or_default(),
            shown,
        }
    }

    /// Whether each name of a rule that was asked about is that of some rule.
    fn names_rules(&self, sources: &RuleSources, reporter: &mut Reporter) -> bool {
        let mut all = true;
        for wanted in &self.rules {
            let named = |source: &RuleSource| {
                let rules = [Some(&source.rule), source.generated_from.as_ref()];
                rules.into_iter().flatten().any(|rule| is_named(wanted, &source.policy, rule))
            };
            if !sources.iter().any(named) {
                all = false;
                reporter.error(Exit::Input, &format!("--rule {wanted}: no mutate rule has this name"));
            }
        }
        all
    }

    fn wants(&self, object: Option<&ObjectRef>) -> bool {
        self.objects.is_empty()
            || object.is_some_and(|object| {
                self.objects.iter().any(|wanted| match wanted.split_once('/') {
                    Some((kind, name)) => {
                        pattern::matches(&kind.to_lowercase(), &object.kind.kind.to_lowercase())
                            && pattern::matches(name, &object.name)
                    }
                    None => pattern::matches(wanted, &object.name),
                })
            })
    }
}

/// Whether an argument names a rule; policies of a namespace may be named without it.
fn is_named(wanted: &str, policy: &str, rule: &str) -> bool {
    let full = format!("{policy}/{rule}");
    let short = full.split_once('/').map_or("", |(_, short)| short);
    let policies = [policy, policy.split_once('/').map_or(policy, |(_, name)| name)];
    pattern::matches(wanted, &full)
        || policy.contains('/') && pattern::matches(wanted, short)
        || !wanted.contains('/') && policies.iter().any(|policy| pattern::matches(wanted, policy))
}

/// A screen for each object.
struct Screens<'a> {
    strict: bool,
    output: Output,
    selection: &'a Selection,
    /// Whether rules for objects of other kinds are listed one by one.
    all: bool,
    palette: Palette,
    sources: RuleSources,
    /// The policies that somebody asked about.
    asked: BTreeSet<Text>,
}

impl Show for Screens<'_> {
    fn needs_whole_files(&self) -> bool {
        false
    }

    fn tells_flags(&self) -> bool {
        true
    }

    fn print(
        &self,
        session: &Session,
        world: &RunWorld,
        batches: impl Iterator<Item = InputBatch>,
        ledger: &mut RunSummary,
        reporter: &mut Reporter,
    ) -> io::Result<()> {
        let Selection { rules, objects } = self.selection;
        let work = Explaining {
            evaluator: session.evaluator(world),
            screens: self,
            semantics: session.engine.settings().semantics,
        };
        let mut spool = session.spool(reporter);
        let mut rows = JsonRows::default();
        let mut faults = Faults::default();
        let mut screens = 0_usize;
        if self.output == Output::Json {
            spool.push("{\"objects\": ")?;
        }
        let take = |(evaluated, made): (Evaluated, Made)| {
            ledger.count(&evaluated, reporter);
            session.schemaless.note(&evaluated);
            match made {
                Made::Text(texts) => texts.iter().try_for_each(|text| {
                    screens += 1;
                    let blank = if screens > 1 { "\n" } else { "" };
                    spool.push(&format!("{blank}{text}"))
                }),
                Made::Rows(made) => made.iter().try_for_each(|row| spool.push(&rows.row(row))),
            }?;
            if spool.is_due() { reporter.aside(|| spool.pass()) } else { Ok(()) }
        };
        drive(batches, &work, take, |error| faults.push(error))?;
        for error in faults {
            reporter.fault(&error);
        }
        session.tell_faults(world, reporter);
        reporter.finish_progress();
        if reporter.exit() == Exit::Input {
            return Ok(());
        }
        reporter.tell_gaps();
        if self.output == Output::Json {
            spool.push(rows.end().trim_end())?;
            ledger.find_installed(session);
            push_summary(&ledger.tally, reporter.gaps(), &mut spool)?;
        } else if !reporter.gaps().is_empty() {
            let blank = if screens > 0 { "\n" } else { "" };
            spool.push(&format!("{blank}incomplete: {}\n", reporter.gaps()))?;
        }
        spool.pass()?;
        if !objects.is_empty() && ledger.tally.objects == 0 {
            reporter.note(NoteKind::Omission, &format!("no object is called {}", objects.join(" or ")));
        }
        ledger.close_explained(session, self.strict, rules.is_empty() && objects.is_empty(), reporter);
        spool.release()
    }
}

/// Evaluates pieces and explains them.
struct Explaining<'a, W> {
    evaluator: Evaluator<'a, W>,
    screens: &'a Screens<'a>,
    semantics: Semantics,
}

/// The explanations of a piece's objects.
enum Made {
    Text(Vec<String>),
    Rows(Vec<Value>),
}

impl<W: World> Work for Explaining<'_, W> {
    type Made = (Evaluated, Made);
    type World = W;

    fn evaluator(&self) -> &Evaluator<'_, W> {
        &self.evaluator
    }

    fn make(&self, mut evaluated: Evaluated) -> Self::Made {
        if self.evaluator.shows_secrets {
            evaluated.show_secrets();
        }
        let selection = self.screens.selection;
        if !selection.objects.is_empty() {
            evaluated.objects.retain(|object| selection.wants(object.report.object.as_ref()));
            evaluated.unknown = 0;
        }
        if !selection.rules.is_empty() {
            for object in &mut evaluated.objects {
                self.narrow(object);
            }
        }
        let told = evaluated.objects.iter().filter(|object| object.report.object.is_some());
        let made = match self.screens.output {
            Output::Text => Made::Text(told.map(|object| self.text(&evaluated, object)).collect()),
            Output::Json => Made::Rows(told.map(|object| self.row(&evaluated, object)).collect()),
        };
        (evaluated, made)
    }
}

impl<W: World> Explaining<'_, W> {
    /// Leaves policies out that nobody asked about, so that their errors do not decide how the run ends.
    fn narrow(&self, object: &mut Evaluation) {
        object.report.policies.retain(|policy| self.screens.asked.contains(&policy.policy));
    }

    fn text(&self, evaluated: &Evaluated, object: &Evaluation) -> String {
        let origin = evaluated.origin(object);
        let explanation = Explanation::new(&object.report, &origin, &self.screens.sources, &unfit_lists);
        explanation.with_impact(self.impact(object)).text(
            self.semantics,
            self.screens.all,
            self.screens.palette,
        )
    }

    fn row(&self, evaluated: &Evaluated, object: &Evaluation) -> Value {
        let origin = evaluated.origin(object);
        let explanation = Explanation::new(&object.report, &origin, &self.screens.sources, &unfit_lists);
        explanation.with_impact(self.impact(object)).json()
    }

    /// What the change means; some rules alone are not asked about that, because the change is that of all.
    fn impact(&self, object: &Evaluation) -> Impact {
        if self.screens.selection.rules.is_empty() { object.impact() } else { Impact::default() }
    }
}
