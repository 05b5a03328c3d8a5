//! Explanations of the outcomes of all rules for one object.

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

/// A name in a rule that is no resource, such as `Pod`.
#[derive(Clone, Debug)]
pub struct MisnamedResource {
    /// The name as written.
    pub name: Text,
    /// The resource that is meant.
    pub plural: Text,
    /// Its kind.
    pub kind: Text,
}

/// The parts of a rule that explanations show.
#[derive(Clone, Debug)]
pub struct RuleSource {
    /// The policy's full name.
    pub policy: Text,
    /// The rule's name.
    pub rule: Text,
    /// Whether the policy is its own only rule.
    pub is_policy: bool,
    /// The rule for Pods that it was generated from.
    pub generated_from: Option<Text>,
    /// The kinds that it can match; `None` for any.
    pub kinds: Option<Vec<Text>>,
    /// The resources that a CEL policy names; none for a classic one.
    pub resources: Vec<Text>,
    /// Names of resources that do not exist, where others were meant.
    pub misnamed: Vec<MisnamedResource>,
    /// Why it is not evaluated, if it is not.
    pub not_evaluated: Option<String>,
    /// Why autogen generates no rules from its policy, if it does not.
    pub no_autogen: Option<String>,
    /// Its preconditions as written; null for none.
    pub preconditions: Value,
    /// Its targets as written; null for none.
    pub targets: Value,
    /// Its overlay as written; null for none.
    pub overlay: Value,
    /// Its loops as written; null for none.
    pub foreach: Value,
    /// Whether explanations show it.
    pub shown: bool,
}

impl RuleSource {
    /// `POLICY/RULE`, or the name of a policy that is its own rule.
    fn title(&self) -> String {
        if self.is_policy { self.policy.to_string() } else { format!("{}/{}", self.policy, self.rule) }
    }
}

/// The rules of a run, by policy and name.
#[derive(Debug, Default)]
pub struct RuleSources {
    all: Vec<RuleSource>,
    by_name: BTreeMap<(Text, Text), usize>,
}

impl RuleSources {
    /// Indexes rules by policy and name. If two have the same names, a report may be about either, and neither is shown as
    /// written.
    pub fn new(mut all: Vec<RuleSource>) -> Self {
        let mut by_name = BTreeMap::new();
        let mut ambiguous = Vec::new();
        for (index, source) in all.iter().enumerate() {
            if let Some(earlier) = by_name.insert((source.policy.clone(), source.rule.clone()), index) {
                ambiguous.extend([earlier, index]);
            }
        }
        for index in ambiguous {
            if let Some(source) = all.get_mut(index) {
                let RuleSource { preconditions, targets, overlay, foreach, .. } = source;
                for written in [preconditions, targets, overlay, foreach] {
                    *written = Value::Null;
                }
            }
        }
        Self { all, by_name }
    }

    /// The rules in the order of evaluation.
    pub fn iter(&self) -> impl Iterator<Item = &RuleSource> {
        self.all.iter()
    }

    fn find(&self, policy: &Text, rule: &Text) -> Option<&RuleSource> {
        self.all.get(*self.by_name.get(&(policy.clone(), rule.clone()))?)
    }
}

/// The kinds for which rules are generated from rules for Pods.
const CONTROLLERS: [&str; 7] =
    ["CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];

/// Finds why a rule that matched changed nothing, although the object differs: a line for each reason.
type NoChangeReasons<'a> = &'a dyn Fn(&RuleSource, &Value, bool) -> Vec<String>;

/// An explanation for one object.
#[derive(Debug)]
pub struct Explanation<'a> {
    report: &'a ObjectReport,
    origin: &'a Origin,
    rules: Vec<ExplainedRule<'a>>,
    /// Rules for objects of other kinds.
    others: Vec<&'a RuleSource>,
    divergences: Vec<(&'a Text, DivergenceSet)>,
    /// The impact of the change on a cluster.
    impact: Impact,
    redactor: Redactor,
}

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Patched,
    /// Patched, but a rule of the same policy failed.
    Discarded,
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
            Self::Discarded => "discarded",
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
struct ExplainedRule<'a> {
    policy: &'a Text,
    rule: &'a Text,
    source: Option<&'a RuleSource>,
    report: Option<&'a RuleReport>,
    verdict: Verdict,
    /// The verdict's reason in one line.
    why: String,
    /// Details of the verdict.
    reasons: Vec<String>,
    /// The exceptions that name it but do not apply, each with the reason.
    exceptions: Vec<String>,
    conditions: Vec<Condition>,
    variables: Vec<Variable>,
    /// The conditions and mutations of a CEL policy.
    expressions: Vec<Expression>,
    anchor: Option<Anchor>,
    changes: Vec<Change>,
    /// The elements of its loops.
    elements: Vec<Element>,
    /// The number of further elements.
    elements_left_out: usize,
}

impl<'a> ExplainedRule<'a> {
    /// `POLICY/RULE`, or the name of a policy that is its own rule.
    fn title(&self) -> String {
        let of_report = self.report.map(|report| report.title(self.policy));
        let of_source = || self.source.map(RuleSource::title);
        of_report.or_else(of_source).unwrap_or_else(|| format!("{}/{}", self.policy, self.rule))
    }

    /// A rule that was not evaluated.
    const fn new(policy: &'a Text, rule: &'a Text, source: Option<&'a RuleSource>) -> Self {
        Self {
            policy,
            rule,
            source,
            report: None,
            verdict: Verdict::NotEvaluated,
            why: String::new(),
            reasons: Vec::new(),
            exceptions: Vec::new(),
            conditions: Vec::new(),
            variables: Vec::new(),
            expressions: Vec::new(),
            anchor: None,
            changes: Vec::new(),
            elements: Vec::new(),
            elements_left_out: 0,
        }
    }
}

/// A variable with its value, masked.
#[derive(Debug)]
struct Variable {
    expression: Text,
    value: Result<Value, String>,
}

/// An expression of a CEL policy with its value, masked.
#[derive(Debug)]
struct Expression {
    /// The binding and the parameter.
    invocation: Option<Text>,
    path: String,
    name: Option<Text>,
    expression: String,
    value: Result<Value, String>,
    /// Whether the rule was skipped because of it.
    decisive: bool,
    /// The parts that made a condition false.
    because: Vec<Variable>,
    /// The `test` of a JSON patch that failed.
    failed_test: Option<FailedTest>,
}

/// A `test` of a JSON patch that failed, masked.
#[derive(Debug)]
struct FailedTest {
    path: String,
    expected: Option<Value>,
    found: Option<Value>,
}

/// An element of a loop.
#[derive(Debug)]
struct Element {
    /// The path of the loop in the rule, such as `foreach[0]`.
    path: String,
    list: Text,
    /// Its index, after those of the elements of outer loops.
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

/// A precondition with its values, masked.
#[derive(Debug)]
struct Condition {
    path: String,
    key: Value,
    operator: Text,
    value: Value,
    met: bool,
    /// Whether the rule was skipped because of it.
    decisive: bool,
    /// Both sides as written, if they have variables.
    written: [Option<Value>; 2],
}

/// A condition anchor that does not hold, masked.
#[derive(Debug)]
struct Anchor {
    overlay: String,
    object: String,
    reason: String,
    /// The value in the overlay, as written.
    expected: Option<Value>,
    /// The value in the object.
    found: Option<Value>,
}

impl<'a> Explanation<'a> {
    /// Explains the report of an object, which must have a trace.
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
        let reported: BTreeSet<(&Text, &Text)> = rules.iter().map(|rule| (rule.policy, rule.rule)).collect();
        // A rule for Pods is not listed beside one that was generated from it.
        let generated_from: BTreeSet<(&Text, &Text)> = rules
            .iter()
            .filter_map(|rule| Some((rule.policy, rule.source?.generated_from.as_ref()?)))
            .collect();
        let mut others = Vec::new();
        for source in sources.iter().filter(|source| source.shown) {
            let name = (&source.policy, &source.rule);
            if reported.contains(&name) || source.generated_from.is_none() && generated_from.contains(&name) {
                continue;
            }
            let for_others =
                source.kinds.as_ref().is_some_and(|kinds| !kinds.iter().any(|known| Some(known) == kind));
            let misnamed = source.misnamed.iter().find(|misnamed| Some(&misnamed.kind) == kind);
            if let Some(misnamed) = misnamed {
                rules.push(not_named(source, misnamed));
            } else if !for_others {
                rules.push(unreported(source));
            } else if source.generated_from.is_none() {
                others.push(source);
            }
        }
        if let Some(kind) = kind.filter(|kind| CONTROLLERS.contains(&&***kind)) {
            let for_pods = |source: &&RuleSource| source.kinds.iter().flatten().any(|kind| &**kind == "Pod");
            rules.extend(
                others.extract_if(.., |source| for_pods(source)).map(|source| not_generated(source, kind)),
            );
        }
        let shown = |name: &Text| rules.iter().any(|rule| rule.policy == name);
        let divergences =
            report.policies.iter().filter(|policy| !policy.divergences.is_empty() && shown(&policy.policy));
        let divergences = divergences.map(|policy| (&policy.policy, policy.divergences)).collect();
        Self { report, origin, rules, others, divergences, impact: Impact::default(), redactor }
    }

    /// Leaves out the rules that do not match the object.
    pub(super) fn keep_matched(&mut self) {
        self.rules.retain(|rule| !matches!(rule.verdict, Verdict::NotMatched | Verdict::NotEvaluated));
        self.others.clear();
    }

    /// Whether it has rules for the kind of the object.
    pub(super) const fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Adds the impact of the change on a cluster.
    #[must_use]
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }
}

/// A rule for the kind of the object without a report.
fn unreported(source: &RuleSource) -> ExplainedRule<'_> {
    let mut explained = ExplainedRule::new(&source.policy, &source.rule, Some(source));
    if !source.resources.is_empty() {
        let names: Vec<String> = source.resources.iter().map(|name| format!("`{name}`")).collect();
        explained.verdict = Verdict::NotMatched;
        "the policy is not for the object".clone_into(&mut explained.why);
        explained.reasons.push(format!("its resource is not {}", names.join(" or ")));
        return explained;
    }
    explained.why = source.not_evaluated.as_ref().map_or_else(
        || "an earlier rule of the policy failed, and the policy ended there".to_owned(),
        |why| format!("{why}: not evaluated by this version"),
    );
    explained
}

/// A rule that misses the object because it names its resource wrongly.
fn not_named<'a>(source: &'a RuleSource, misnamed: &MisnamedResource) -> ExplainedRule<'a> {
    let MisnamedResource { name, plural, .. } = misnamed;
    let mut explained = ExplainedRule::new(&source.policy, &source.rule, Some(source));
    explained.verdict = Verdict::NotMatched;
    "the policy is not for the object".clone_into(&mut explained.why);
    explained.reasons.push(format!(
        "resource is `{plural}`, expected `{name}`: there is no such resource, did you mean `{plural}`?"
    ));
    explained
}

/// A rule for Pods from which none is generated for a controller.
fn not_generated<'a>(source: &'a RuleSource, kind: &str) -> ExplainedRule<'a> {
    let mut explained = ExplainedRule::new(&source.policy, &source.rule, Some(source));
    explained.verdict = Verdict::NotMatched;
    explained.why = format!("it is for Pods, and no rule for the kind {kind} is generated from it");
    explained.reasons.push(source.no_autogen.clone().unwrap_or_else(|| {
        "autogen applies only to rules that name exactly `Pod`, and only to the controllers that the policy selects"
            .to_owned()
    }));
    explained
}
