//! The standard rules of one policy: those that change the object they take.

use std::ops::ControlFlow;

use crate::engine::evaluation::Evaluation;
use crate::policy::{ClassicPolicy, Operation, Rule, other_namespace};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker};
use crate::value::{Text, Value};

use super::context::{Context, WorldClock, WorldRandom};
use super::exemption::Exemption;
use super::rule::{self, Run};
use super::shared::{not_run, not_selected, unreached};

/// Runs the standard rules of a policy on an object; `None` where none of its rules has anything to report.
pub(in crate::engine) fn run(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    number: Option<usize>,
    current: &mut Value,
) -> Option<PolicyReport> {
    let first = match prematch(evaluation, policy, parts, current) {
        Prematch::NoMatch => return None,
        Prematch::First(first) => Some(first),
        Prematch::Unknown => None,
    };
    let settings = &evaluation.engine.settings;
    let operation = evaluation.operation(&policy.meta.name);
    let tracker = DivergenceTracker::new(settings.semantics);
    let object = if operation == Operation::Delete { Value::Null } else { current.clone() };
    let clock = WorldClock(evaluation.world);
    let random = WorldRandom::new(evaluation.world, evaluation.identity);
    let mut context = Context::new(
        (evaluation.base(Some(operation)), object),
        (&policy.meta.name, policy.meta.namespace.as_ref()),
        settings,
        (&clock, &random),
        (&tracker, evaluation.taint),
    );
    if has_passed(evaluation, policy, number) {
        context.hold_object();
    }
    context.assign(settings.values.of(&policy.meta.name, evaluation.name()));
    let entry = if operation == Operation::Delete { current.clone() } else { context.object().clone() };
    let name = policy.meta.full_name();
    let exemption = evaluation.exemption(&name, &entry, Some(operation));
    let standard = Standard { evaluation, policy, parts, operation, first, tracker: &tracker, entry: &entry };
    let rules = Vec::with_capacity(parts.len());
    let report = PolicyReport { policy: name.clone(), rules, divergences: DivergenceSet::NONE };
    if first.is_none() && !policy.meta.admits(&evaluation.candidate(&entry, Some(operation))) {
        return evaluation.if_traced(|| standard.of_other_namespace(report));
    }
    note_passed(evaluation, policy);
    let mut progress =
        Progress { report, working: entry.clone(), failed: false, applied: false, emptied: false };
    for (position, rule) in policy.standard_rules(parts).enumerate() {
        if standard.rule((position, rule), &name, &exemption, &mut context, &mut progress).is_break() {
            break;
        }
    }
    standard.finish(progress, current)
}

/// Whether a policy that the index skips has nothing to report on an object. `next` is the number of the next policy
/// that runs.
pub(in crate::engine) fn is_silent(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    next: Option<usize>,
    object: &Value,
) -> bool {
    let candidate = evaluation.candidate(object, Some(evaluation.operation(&policy.meta.name)));
    let is_silent =
        |rule: &Rule| !rule.selects(&candidate) && !rule.uses_user_info() && !rule.uses_namespace_labels();
    let is_seen = |next| evaluation.policies.first_to_see(policy.meta.failure_policy) < Some(next);
    !policy.meta.admits(&candidate)
        || policy.controller_only(parts).next().is_none()
            && policy.standard_rules(parts).all(is_silent)
            && (!policy.has_standard_rules() || next.is_none_or(is_seen))
}

/// Whether the standard rules of a policy can match, decided before a context is made for them.
enum Prematch {
    /// There is nothing to report on the object.
    NoMatch,
    /// This one of the standard rules is the first that takes the object.
    First(usize),
    /// The rules have to be looked at.
    Unknown,
}

/// Decides whether rules can match, at little cost: most policies of a cluster are for other objects.
fn prematch(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    object: &Value,
) -> Prematch {
    let settings = &evaluation.engine.settings;
    let operation = evaluation.operation(&policy.meta.name);
    let has_values = || settings.values.of(&policy.meta.name, evaluation.name()).next().is_some();
    if settings.trace
        || operation == Operation::Delete
        || policy.controller_only(parts).next().is_some()
        || has_values()
        || evaluation.has_redacted_labels(object)
    {
        return Prematch::Unknown;
    }
    let candidate = evaluation.candidate(object, Some(operation));
    if !policy.meta.admits(&candidate) {
        return Prematch::NoMatch;
    }
    if let Some(first) = policy.standard_rules(parts).position(|rule| rule.selects(&candidate)) {
        return Prematch::First(first);
    }
    note_passed(evaluation, policy);
    policy.standard_rules(parts).for_each(|rule| evaluation.note_what_is_missing(rule));
    Prematch::NoMatch
}

/// Whether a policy with the same webhook has seen the request. Policies that the index leaves out see it, too.
fn has_passed(evaluation: &Evaluation<'_>, policy: &ClassicPolicy, number: Option<usize>) -> bool {
    let failure_policy = policy.meta.failure_policy;
    let is_before =
        |number| evaluation.policies.first_to_see(failure_policy).is_some_and(|first| first < number);
    evaluation.classic.has_passed(failure_policy) || number.is_some_and(is_before)
}

/// Records that a policy sees the request.
fn note_passed(evaluation: &Evaluation<'_>, policy: &ClassicPolicy) {
    if policy.has_standard_rules() {
        evaluation.classic.note_passed(policy.meta.failure_policy);
    }
}

/// The standard rules of one policy on one object.
struct Standard<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a ClassicPolicy,
    parts: &'a [usize],
    operation: Operation,
    /// The first of the standard rules that takes the object, where it is known.
    first: Option<usize>,
    tracker: &'a DivergenceTracker,
    /// The object as it came to the policy.
    entry: &'a Value,
}

/// What the rules so far did.
struct Progress {
    report: PolicyReport,
    /// The object as these rules left it.
    working: Value,
    /// A rule failed.
    failed: bool,
    /// A rule changed the object.
    applied: bool,
    /// A rule failed in its handler: Kyverno goes on with an empty object.
    emptied: bool,
}

impl Standard<'_> {
    /// The report of a policy for another namespace.
    fn of_other_namespace(&self, mut report: PolicyReport) -> PolicyReport {
        let candidate = self.evaluation.candidate(self.entry, Some(self.operation));
        let namespace = self.policy.meta.namespace.as_deref().unwrap_or_default();
        let reason = || SkipReason::NotSelected(vec![other_namespace(namespace, &candidate)]);
        report.rules.extend(self.policy.standard_rules(self.parts).map(|rule| not_run(rule, reason())));
        report
    }

    /// Runs one rule, if it takes the object.
    fn rule(
        &self,
        (number, rule): (usize, &Rule),
        name: &Text,
        exemption: &Exemption<'_>,
        context: &mut Context<'_>,
        progress: &mut Progress,
    ) -> ControlFlow<()> {
        let Self { evaluation, policy, operation, tracker, .. } = *self;
        if progress.applied && policy.applies_one() {
            progress.report.rules.extend(evaluation.if_traced(|| not_run(rule, SkipReason::ApplyOne)));
            return ControlFlow::Continue(());
        }
        let candidate = evaluation.candidate(&progress.working, Some(operation));
        evaluation.note_what_is_missing(rule);
        evaluation.note_matched(name, rule, &progress.working);
        if let Some(error) = evaluation.not_replayable() {
            progress.failed = true;
            let outcome = Outcome::Error(error);
            progress.report.rules.push(RuleReport {
                rule: rule.name.clone(),
                outcome,
                trigger: None,
                trace: None,
            });
            return ControlFlow::Continue(());
        }
        // The first rule that takes the object is the first that can change it.
        let selects = match self.first.filter(|first| number <= *first) {
            Some(first) => number == first,
            None => rule.selects(&candidate),
        };
        if !selects {
            progress.report.rules.extend(evaluation.if_traced(|| not_selected(rule, &candidate)));
            return ControlFlow::Continue(());
        }
        if rule.not_evaluated().is_some() {
            return ControlFlow::Continue(());
        }
        if !evaluation.reaches(policy, rule, &candidate) && !tracker.documented(Divergence::EmptyExclude) {
            progress.report.rules.push(not_run(rule, unreached()));
            return ControlFlow::Continue(());
        }
        // Kyverno goes on with an empty object, which no rule selects.
        if progress.emptied && !tracker.documented(Divergence::FailedRule) {
            return ControlFlow::Break(());
        }
        evaluation.note_what_exceptions_miss(name, rule);
        if operation == Operation::Delete {
            self.delete(rule, exemption, context, progress);
        } else {
            self.apply(rule, exemption, context, progress);
        }
        ControlFlow::Continue(())
    }

    /// A rule whose request deletes the object: it is admitted, and changes nothing.
    fn delete(
        &self,
        rule: &Rule,
        exemption: &Exemption<'_>,
        context: &mut Context<'_>,
        progress: &mut Progress,
    ) {
        let settings = &self.evaluation.engine.settings;
        let saved = context.enter(rule, &settings.values, settings.trace);
        let admitted = rule::admit(rule, context, exemption);
        let trace = context.leave(saved);
        let outcome = deleted(admitted.err().map(|run| run.outcome), self.tracker);
        let outcome = self.evaluation.replayable(outcome);
        progress.failed |= matches!(outcome, Outcome::Error(_));
        progress.report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace });
    }

    fn apply(
        &self,
        rule: &Rule,
        exemption: &Exemption<'_>,
        context: &mut Context<'_>,
        progress: &mut Progress,
    ) {
        let settings = &self.evaluation.engine.settings;
        progress.report.divergences.extend(rule.divergences);
        let saved = context.enter(rule, &settings.values, settings.trace);
        let Run { outcome, emptied } =
            rule::run(rule, &progress.working, context, &self.evaluation.merge_context, exemption);
        let trace = context.leave(saved);
        let (outcome, emptied) = match self.evaluation.not_replayable() {
            Some(error) => (Outcome::Error(error), false),
            None => (outcome, emptied),
        };
        context.hold_object();
        match &outcome {
            Outcome::Patched { after, .. } => {
                progress.working = after.clone();
                context.set_object(&progress.working);
                progress.applied = true;
            }
            Outcome::Error(_) => progress.failed = true,
            Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {}
        }
        progress.report.rules.push(RuleReport { rule: rule.name.clone(), outcome, trigger: None, trace });
        progress.emptied |= emptied;
    }

    /// Completes the report, and takes over the changes unless a rule failed or a filter hides the object.
    fn finish(&self, progress: Progress, current: &mut Value) -> Option<PolicyReport> {
        let Self { evaluation, policy, operation, tracker, entry, .. } = *self;
        let Progress { mut report, working, failed, .. } = progress;
        let takes = |rule: &Rule| rule.selects(&evaluation.candidate(entry, Some(operation)));
        if policy.controller_only(self.parts).any(takes) {
            tracker.reach(Divergence::AutogenTargets);
        }
        report.divergences.extend(tracker.reached());
        let acts = |outcome: &Outcome| matches!(outcome, Outcome::Patched { .. } | Outcome::Error(_));
        if report.rules.iter().any(|rule| acts(&rule.outcome))
            && let Some(filter) = evaluation.excluding_filter(entry, Some(operation))
        {
            let tracker = DivergenceTracker::new(tracker.semantics());
            if !tracker.documented(Divergence::HiddenObject) {
                for rule in report.rules.iter_mut().filter(|rule| acts(&rule.outcome)) {
                    rule.outcome = Outcome::Skipped(SkipReason::Filtered(filter.clone()));
                }
                report.divergences = tracker.reached();
                return Some(report);
            }
            report.divergences.extend(tracker.reached());
        }
        if !failed {
            *current = working;
        }
        (!report.rules.is_empty() || !report.divergences.is_empty()).then_some(report)
    }
}

/// The outcome of a standard rule where the request deletes the object, given what kept it from its patch.
fn deleted(kept: Option<Outcome>, tracker: &DivergenceTracker) -> Outcome {
    match kept {
        Some(skipped @ Outcome::Skipped(_)) => skipped,
        _ if tracker.documented(Divergence::StandardRuleOnDelete) => Outcome::Skipped(SkipReason::Deleted),
        Some(error) => error,
        None => Outcome::Error(RuleError::new(
            "failed to unmarshal patched resource: Object 'Kind' is missing in 'null'",
        )),
    }
}
