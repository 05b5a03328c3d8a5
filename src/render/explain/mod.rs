//! How the outcomes of rules came about, for one object on one screen.

mod json;
mod shade;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{ObjectReport, Outcome, RuleReport, SeenVariable, SkipReason};
use crate::semantics::Corners;
use crate::value::{Change, Text, Value, changes};

use super::{Origin, mask};
use shade::Shade;

/// What a rule says of itself, as far as an explanation shows it.
#[derive(Clone, Debug)]
pub struct RuleSource {
    /// The policy's full name.
    pub policy: Text,
    /// The rule's name.
    pub rule: Text,
    /// The rule it was generated from for pod controllers.
    pub generated_from: Option<Text>,
    /// The kinds it can take; `None` where that is open.
    pub kinds: Option<Vec<Text>>,
    /// Why it is not evaluated at all, if so.
    pub not_evaluated: Option<String>,
    /// Why no rules are generated from those of its policy, if none are.
    pub no_autogen: Option<String>,
    /// Its preconditions as written; null for none.
    pub preconditions: Value,
    /// Its overlay as written; null for none.
    pub overlay: Value,
    /// Whether it is asked about.
    pub shown: bool,
}

/// What all rules of a run say of themselves, found by name.
#[derive(Debug, Default)]
pub struct RuleSources {
    all: Vec<RuleSource>,
    by_name: BTreeMap<(Text, Text), usize>,
}

impl RuleSources {
    /// Indexes what rules say. Where two have the same names nobody can tell which one a report means, and
    /// nothing is shown as written.
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
                (source.preconditions, source.overlay) = (Value::Null, Value::Null);
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
pub type IdleReasons<'a> = &'a dyn Fn(&RuleSource, &Value) -> Vec<String>;

/// What there is to say about one object.
#[derive(Debug)]
pub struct Explanation<'a> {
    report: &'a ObjectReport,
    origin: &'a Origin,
    rules: Vec<Explained<'a>>,
    /// Rules for objects of other kinds.
    others: Vec<&'a RuleSource>,
    corners: Vec<(&'a Text, Corners)>,
    shade: Shade,
}

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Patched,
    /// Patched, but a rule of the same policy failed.
    Dropped,
    NoChange,
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
    variables: Vec<SeenVariable>,
    anchor: Option<Anchor>,
    changes: Vec<Change>,
}

/// A precondition with its values, fit to be shown.
#[derive(Debug)]
struct Condition {
    path: String,
    key: Value,
    operator: Text,
    value: Value,
    met: bool,
    /// It is one that kept the rule from applying.
    decisive: bool,
    /// Both sides as written, where they are not what they became.
    written: [Option<Value>; 2],
}

/// A condition anchor that does not hold, fit to be shown.
#[derive(Debug)]
struct Anchor {
    overlay: String,
    object: String,
    reason: String,
    /// What the overlay asks for, as written.
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
        idle: IdleReasons<'_>,
    ) -> Self {
        let shade = Shade::of(report);
        let mut rules = Vec::new();
        let mut current = report.before.clone();
        for policy in &report.policies {
            let mut working = current.clone();
            let failed = policy.rules.iter().find(|rule| matches!(rule.outcome, Outcome::Error(_)));
            let failed = failed.map(|rule| &rule.rule);
            for rule in &policy.rules {
                let source = sources.find(&policy.policy, &rule.rule);
                if source.is_none_or(|source| source.shown) {
                    let gather =
                        Gather { policy: &policy.policy, rule, source, shade: &shade, object: &working };
                    rules.push(gather.explained(failed, idle));
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
        // A rule for Pods needs no word where one that was generated from it is told about.
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
        let corners =
            report.policies.iter().filter(|policy| !policy.corners.is_empty() && shown(&policy.policy));
        let corners = corners.map(|policy| (&policy.policy, policy.corners)).collect();
        Self { report, origin, rules, others, corners, shade }
    }

    /// Whether there is anything that was asked about.
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

/// What one rule's explanation is made of.
struct Gather<'a, 'b> {
    policy: &'a Text,
    rule: &'a RuleReport,
    source: Option<&'a RuleSource>,
    shade: &'b Shade,
    /// The object as the rule found it.
    object: &'b Value,
}

impl<'a> Gather<'a, '_> {
    fn explained(&self, failed: Option<&Text>, idle: IdleReasons<'_>) -> Explained<'a> {
        let mut explained = Explained {
            policy: self.policy,
            rule: &self.rule.rule,
            source: self.source,
            report: Some(self.rule),
            verdict: Verdict::NoChange,
            why: String::new(),
            reasons: Vec::new(),
            exceptions: self.exceptions().collect(),
            conditions: self.conditions(),
            variables: self.variables(),
            anchor: None,
            changes: Vec::new(),
        };
        match &self.rule.outcome {
            Outcome::Patched { before, after } => {
                explained.verdict = Verdict::Patched;
                if let Some(failed) = failed {
                    explained.verdict = Verdict::Dropped;
                    explained.why =
                        format!("a cluster would refuse the object, because {}/{failed} fails", self.policy);
                }
                explained.reasons = self.unfit(idle);
                let shown = mask(before, after);
                explained.changes = changes(&shown.before, &shown.after);
            }
            Outcome::NoChange => {
                explained.reasons = self.unfit(idle);
                explained.why = if explained.reasons.is_empty() {
                    "it matched, and the object already is as the rule wants it".into()
                } else {
                    "it matched, and no element of a list fits the rule's conditions".into()
                };
            }
            Outcome::Skipped(reason) => self.skipped(reason, &mut explained),
            Outcome::Error(error) => {
                explained.verdict = Verdict::Error;
                explained.why = "it could not be evaluated".into();
                explained.reasons.push(self.shade.text(&error.message));
            }
        }
        explained
    }

    /// The exceptions that name the rule and do not apply, each with the reason.
    fn exceptions(&self) -> impl Iterator<Item = String> {
        let seen = self.rule.trace.iter().flat_map(|trace| &trace.exceptions);
        seen.map(|exception| {
            let reasons = self.shade.text(&exception.reasons.join("; "));
            format!("{} does not apply: {reasons}", exception.name)
        })
    }

    fn unfit(&self, idle: IdleReasons<'_>) -> Vec<String> {
        let reasons = self.source.map_or_else(Vec::new, |source| idle(source, self.object));
        reasons.iter().map(|reason| self.shade.text(reason)).collect()
    }

    fn skipped(&self, reason: &SkipReason, explained: &mut Explained<'_>) {
        explained.verdict = Verdict::Skipped;
        match reason {
            SkipReason::NotSelected(reasons) => {
                explained.verdict = Verdict::NotMatched;
                let starts = |word: &str| reasons.iter().any(|reason| reason.starts_with(word));
                explained.why = if starts("exclude") {
                    "exclude takes the object out"
                } else if starts("match") {
                    "match does not take the object"
                } else {
                    "the policy is not for the object"
                }
                .into();
                explained.reasons = reasons.iter().map(|reason| self.shade.text(reason)).collect();
            }
            SkipReason::Preconditions { message } => {
                explained.why = "the preconditions do not hold".into();
                let empty_any = |source: &&RuleSource| {
                    source.preconditions.get("any").and_then(Value::as_array).is_some_and(<[Value]>::is_empty)
                };
                if self.source.is_some_and(|source| empty_any(&source)) {
                    explained.reasons.push("`any` is an empty list, which never holds".into());
                }
                if !message.is_empty() {
                    explained.reasons.push(self.shade.text(message));
                }
            }
            SkipReason::Anchor { overlay, at, reason } => {
                explained.why = "a condition of the overlay does not hold".into();
                let found = self.object.pointed(at).map(|found| self.shade.at(at, found));
                let wanted = self.source.and_then(|source| source.overlay.pointed(overlay));
                explained.anchor = Some(Anchor {
                    overlay: overlay.to_string(),
                    object: at.to_string(),
                    reason: reason.clone(),
                    wanted: wanted.map(|wanted| self.shade.at(at, wanted)),
                    found,
                });
            }
            SkipReason::Exceptions(names) => {
                let are = if names.len() == 1 { "exception takes" } else { "exceptions take" };
                explained.why = format!("the {are} the object out: {}", names.join(", "));
            }
            SkipReason::NoElements { .. } | SkipReason::ApplyOne | SkipReason::Deleted => {
                explained.why = reason.to_string();
            }
        }
    }

    fn conditions(&self) -> Vec<Condition> {
        let seen = self.rule.trace.as_ref().map(|trace| trace.conditions.as_slice()).unwrap_or_default();
        let failed = matches!(self.rule.outcome, Outcome::Skipped(SkipReason::Preconditions { .. }));
        let conditions = seen.iter().map(|condition| {
            let written = self.source.and_then(|source| source.preconditions.pointed(&condition.pointer));
            let side = |name: &str, value: &Value| {
                let written = written.and_then(|written| written.get(name));
                let shown = self.shade.from(written, value);
                (shown, written.filter(|written| *written != value).cloned())
            };
            let (key, key_written) = side("key", &condition.key);
            let (value, value_written) = side("value", &condition.value);
            let group = condition.pointer.parent();
            // Of `any` one that holds is enough.
            let settled = group.to_string() == "any"
                && seen.iter().any(|other| other.met && other.pointer.parent() == group);
            Condition {
                path: format!("preconditions.{}", condition.pointer).replace(".[", "["),
                key,
                operator: condition.operator.clone(),
                value,
                met: condition.met,
                decisive: failed && !condition.met && !settled,
                written: [key_written, value_written],
            }
        });
        conditions.collect()
    }

    /// Each variable once with each value it had.
    fn variables(&self) -> Vec<SeenVariable> {
        let mut shown: Vec<SeenVariable> = Vec::new();
        for seen in self.rule.trace.iter().flat_map(|trace| &trace.variables) {
            let value = match &seen.value {
                Ok(value) => Ok(self.shade.answer(&seen.expression, value)),
                Err(error) => Err(self.shade.text(error)),
            };
            if !shown.iter().any(|earlier| earlier.expression == seen.expression && earlier.value == value) {
                shown.push(SeenVariable { expression: seen.expression.clone(), value });
            }
        }
        shown
    }
}
