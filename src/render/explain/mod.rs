//! How the outcomes of rules came about, for one object on one screen.

mod json;
mod redactor;
mod rule;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{Impact, ObjectReport, Outcome, RuleReport};
use crate::semantics::DivergenceSet;
use crate::value::{Change, Text, Value};

use super::Origin;
use redactor::Redactor;
use rule::RuleExplainer;

/// A rule as the policy has it, as far as an explanation shows it.
#[derive(Clone, Debug)]
pub struct RuleSource {
    /// The policy's full name.
    pub policy: Text,
    /// The rule's name.
    pub rule: Text,
    /// The rule it was generated from for pod controllers.
    pub generated_from: Option<Text>,
    /// The kinds that it can match; `None` where any is possible.
    pub kinds: Option<Vec<Text>>,
    /// Why it is not evaluated at all, if so.
    pub not_evaluated: Option<String>,
    /// Why no rules are generated from those of its policy, if none are.
    pub no_autogen: Option<String>,
    /// Its preconditions as written; null for none.
    pub preconditions: Value,
    /// Its targets as written; null for none.
    pub targets: Value,
    /// Its overlay as written; null for none.
    pub overlay: Value,
    /// Its loops as written; null for none.
    pub foreach: Value,
    /// Whether it is shown.
    pub shown: bool,
}

/// The rules of a run, by policy and name.
#[derive(Debug, Default)]
pub struct RuleSources {
    all: Vec<RuleSource>,
    by_name: BTreeMap<(Text, Text), usize>,
}

impl RuleSources {
    /// Indexes rules by policy and name. Where two have the same names, a report may mean either, and nothing is shown as
    /// written.
    pub fn new(mut all: Vec<RuleSource>) -> Self {
        let mut by_name = BTreeMap::new();
        let mut twice = Vec::new();
        for (index, source) in all.iter().enumerate() {
            if let Some(earlier) = by_name.insert((source.policy.clone(), source.rule.clone()), index) {
                twice.extend([earlier, index]);
            }
        }
        for index in twice {
            if let Some(source) = all.get_mut(index) {
                let RuleSource { preconditions, targets, overlay, foreach, .. } = source;
                for written in [preconditions, targets, overlay, foreach] {
                    *written = Value::Null;
                }
            }
        }
        Self { all, by_name }
    }

    /// What the rules say, in the order they run.
    pub fn iter(&self) -> impl Iterator<Item = &RuleSource> {
        self.all.iter()
    }

    fn find(&self, policy: &Text, rule: &Text) -> Option<&RuleSource> {
        self.all.get(*self.by_name.get(&(policy.clone(), rule.clone()))?)
    }
}

/// The kinds that rules for Pods are carried over to.
const CONTROLLERS: [&str; 7] =
    ["CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// Finds why a rule that matched changed nothing, beyond that all is there already: a line for each reason.
pub type NoChangeReasons<'a> = &'a dyn Fn(&RuleSource, &Value) -> Vec<String>;

/// What there is to say about one object.
#[derive(Debug)]
pub struct Explanation<'a> {
    report: &'a ObjectReport,
    origin: &'a Origin,
    rules: Vec<Explained<'a>>,
    /// Rules for objects of other kinds.
    others: Vec<&'a RuleSource>,
    divergences: Vec<(&'a Text, DivergenceSet)>,
    /// What the change means for a cluster.
    impact: Impact,
    redactor: Redactor,
}

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Patched,
    /// Patched, but a rule of the same policy failed.
    Dropped,
    NoChange,
    /// It changes other objects.
    Triggered,
    Skipped,
    NotMatched,
    Error,
    NotEvaluated,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Patched => "patched",
            Self::Dropped => "dropped",
            Self::NoChange => "no change",
            Self::Triggered => "triggered",
            Self::Skipped => "skipped",
            Self::NotMatched => "not matched",
            Self::Error => "error",
            Self::NotEvaluated => "not evaluated",
        }
    }
}

/// One rule of an explanation.
#[derive(Debug)]
struct Explained<'a> {
    policy: &'a Text,
    rule: &'a Text,
    source: Option<&'a RuleSource>,
    report: Option<&'a RuleReport>,
    verdict: Verdict,
    /// The verdict's reason in one line.
    why: String,
    /// What else there is to say about it.
    reasons: Vec<String>,
    /// The exceptions that name it and do not apply, each with the reason.
    exceptions: Vec<String>,
    conditions: Vec<Condition>,
    variables: Vec<Variable>,
    anchor: Option<Anchor>,
    changes: Vec<Change>,
    /// The elements that its loops went through.
    elements: Vec<Element>,
    /// How many elements more there were.
    elements_left_out: usize,
}

/// A variable with the value it had, fit to be shown.
#[derive(Debug)]
struct Variable {
    expression: Text,
    value: Result<Value, String>,
}

/// An element of a loop.
#[derive(Debug)]
struct Element {
    /// The place of the loop in the rule, such as `foreach[0]`.
    place: String,
    list: Text,
    /// Its index, behind those of the elements around it.
    indexes: Vec<usize>,
    verdict: Verdict,
    /// The verdict's reason.
    why: String,
    /// The message of the policy.
    message: String,
    conditions: Vec<Condition>,
    variables: Vec<Variable>,
    anchor: Option<Anchor>,
}

/// A precondition with its values, fit to be shown.
#[derive(Debug)]
struct Condition {
    path: String,
    key: Value,
    operator: Text,
    value: Value,
    met: bool,
    /// Whether it kept the rule from applying.
    decisive: bool,
    /// Both sides as written, where they have variables.
    written: [Option<Value>; 2],
}

/// A condition anchor that does not hold, fit to be shown.
#[derive(Debug)]
struct Anchor {
    overlay: String,
    object: String,
    reason: String,
    /// The value in the overlay, as written.
    wanted: Option<Value>,
    /// What the object has there.
    found: Option<Value>,
}

impl<'a> Explanation<'a> {
    /// Gathers what there is to say about an object; the report must have been made with a trace.
    pub fn new(
        report: &'a ObjectReport,
        origin: &'a Origin,
        sources: &'a RuleSources,
        no_change_reasons: NoChangeReasons<'_>,
    ) -> Self {
        let redactor = Redactor::of(report);
        let mut rules = Vec::new();
        let mut current = report.before.clone();
        for policy in &report.policies {
            let mut working = current.clone();
            let failed = policy.rules.iter().find(|rule| matches!(rule.outcome, Outcome::Error(_)));
            let failed = failed.map(|rule| &rule.rule);
            for rule in &policy.rules {
                let source = sources.find(&policy.policy, &rule.rule);
                if source.is_none_or(|source| source.shown) {
                    let explainer = RuleExplainer {
                        policy: &policy.policy,
                        rule,
                        source,
                        redactor: &redactor,
                        object_report: report,
                        object: &working,
                    };
                    rules.push(explainer.explained(failed, no_change_reasons));
                }
                if let Outcome::Patched { after, .. } = &rule.outcome {
                    working = after.clone();
                }
            }
            if failed.is_none() {
                current = working;
            }
        }
        let kind = report.object.as_ref().map(|object| &object.kind.kind);
        let told: BTreeSet<(&Text, &Text)> = rules.iter().map(|rule| (rule.policy, rule.rule)).collect();
        // A rule for Pods is not listed beside one that was generated from it.
        let stood_in_for: BTreeSet<(&Text, &Text)> = rules
            .iter()
            .filter_map(|rule| Some((rule.policy, rule.source?.generated_from.as_ref()?)))
            .collect();
        let mut others = Vec::new();
        let mut left = Vec::new();
        for source in sources.iter().filter(|source| source.shown) {
            let name = (&source.policy, &source.rule);
            if told.contains(&name) || source.generated_from.is_none() && stood_in_for.contains(&name) {
                continue;
            }
            let for_others =
                source.kinds.as_ref().is_some_and(|kinds| !kinds.iter().any(|known| Some(known) == kind));
            if !for_others {
                left.push(unreported(source));
            } else if source.generated_from.is_none() {
                others.push(source);
            }
        }
        rules.extend(left);
        if let Some(kind) = kind.filter(|kind| CONTROLLERS.contains(&&***kind)) {
            let for_pods = |source: &&RuleSource| source.kinds.iter().flatten().any(|kind| &**kind == "Pod");
            for source in others.extract_if(.., |source| for_pods(source)) {
                rules.push(not_generated(source, kind));
            }
        }
        let shown = |name: &Text| rules.iter().any(|rule| rule.policy == name);
        let divergences =
            report.policies.iter().filter(|policy| !policy.divergences.is_empty() && shown(&policy.policy));
        let divergences = divergences.map(|policy| (&policy.policy, policy.divergences)).collect();
        Self { report, origin, rules, others, divergences, impact: Impact::default(), redactor }
    }

    /// Tells what the change means for a cluster, too.
    #[must_use]
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty() && self.others.is_empty()
    }
}

/// A rule that concerns the object and left no report.
fn unreported(source: &RuleSource) -> Explained<'_> {
    let why = source.not_evaluated.as_ref().map_or_else(
        || "an earlier rule of the policy failed, and the policy ended there".to_owned(),
        |why| format!("{why}: not evaluated by this version"),
    );
    Explained {
        policy: &source.policy,
        rule: &source.rule,
        source: Some(source),
        report: None,
        verdict: Verdict::NotEvaluated,
        why,
        reasons: Vec::new(),
        exceptions: Vec::new(),
        conditions: Vec::new(),
        variables: Vec::new(),
        anchor: None,
        changes: Vec::new(),
        elements: Vec::new(),
        elements_left_out: 0,
    }
}

/// A rule for Pods of which none is generated for a controller.
fn not_generated<'a>(source: &'a RuleSource, kind: &str) -> Explained<'a> {
    let mut explained = unreported(source);
    explained.verdict = Verdict::NotMatched;
    explained.why = format!("it is for Pods, and no rule for the kind {kind} is generated from it");
    explained.reasons.push(source.no_autogen.clone().unwrap_or_else(|| {
        "only rules that name exactly `Pod` are carried over, and only to the controllers that the policy wants"
            .to_owned()
    }));
    explained
}
