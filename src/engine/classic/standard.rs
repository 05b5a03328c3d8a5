//! Standard rules: those that change the object that they match.

use std::ops::ControlFlow;

use crate::diagnostics::Code;
use crate::engine::evaluation::{Evaluation, PolicyRun};
use crate::engine::webhook_conditions::Called;
use crate::policy::{ClassicPolicy, Operation, Rule, other_namespace};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker};
use crate::value::Value;

use super::context::Context;
use super::exemption::Exemption;
use super::rule::{self, RuleRun};
use super::shared::{not_reached, not_selected, skipped};

/// Runs the standard rules of a policy on an object. `number` is that of the policy, if the index skipped policies before
/// it.
pub(in crate::engine) fn run(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    number: Option<usize>,
    object: &Value,
) -> PolicyRun {
    match prematch(evaluation, policy, parts, object) {
        Prematch::NoMatch => PolicyRun::default(),
        Prematch::First(first) => run_rules(evaluation, policy, parts, number, Some(first), object),
        Prematch::Unknown => run_rules(evaluation, policy, parts, number, None, object),
    }
}

/// Runs the rules, of which one is known to be the first match, or none.
fn run_rules(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    number: Option<usize>,
    first_match: Option<usize>,
    object: &Value,
) -> PolicyRun {
    let operation = evaluation.operation(&policy.meta.name);
    let tracker = evaluation.tracker();
    let is_delete = operation == Operation::Delete;
    let input = if is_delete { Value::Null } else { object.clone() };
    evaluation.with_context(&policy.meta, Some(operation), input, &tracker, |context| {
        if is_request_seen(evaluation, policy, number) {
            context.type_objects(false);
        }
        let before = if is_delete { object.clone() } else { context.object().clone() };
        let name = policy.meta.full_name();
        let exemption = &evaluation.exemption(&name, &before, Some(operation));
        let rules = || policy.standard_rules(parts);
        let called = &evaluation.called_for(policy, rules(), &exemption.candidate, &tracker);
        let run = StandardRun {
            evaluation,
            policy,
            parts,
            operation,
            first_match,
            tracker: &tracker,
            before: &before,
            exemption,
            called,
        };
        let report = PolicyReport {
            policy: name.clone(),
            rules: Vec::with_capacity(parts.len()),
            divergences: DivergenceSet::NONE,
        };
        if let Some(rules) = evaluation.not_called(called, policy, rules(), &exemption.candidate) {
            let report = PolicyReport { rules, divergences: tracker.reached(), ..report };
            return PolicyRun { report: Some(report), after: None };
        }
        if first_match.is_none() && !policy.meta.admits(&exemption.candidate) {
            let report = evaluation.if_traced(|| run.in_other_namespace(report));
            return PolicyRun { report, after: None };
        }
        note_request_seen(evaluation, policy);
        let mut progress = Progress {
            report,
            object: before.clone(),
            has_failed: false,
            has_patched: false,
            is_object_lost: false,
        };
        for (position, rule) in policy.standard_rules(parts).enumerate() {
            if run.rule(position, rule, context, &mut progress).is_break() {
                break;
            }
        }
        run.finish(progress)
    })
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

/// Which standard rules match, as far as that is known before a context is created.
enum Prematch {
    /// None, and there is nothing to report.
    NoMatch,
    /// This one is the first that matches the object.
    First(usize),
    /// They have to be evaluated.
    Unknown,
}

/// Decides quickly whether rules match: most policies of a cluster are for other objects.
#[inline]
fn prematch(
    evaluation: &Evaluation<'_>,
    policy: &ClassicPolicy,
    parts: &[usize],
    object: &Value,
) -> Prematch {
    let settings = &evaluation.engine.settings;
    let operation = evaluation.operation(&policy.meta.name);
    let values = &settings.values;
    let has_values =
        || !values.is_empty() && values.of(&policy.meta.name, evaluation.name()).next().is_some();
    if evaluation.is_traced()
        || policy.webhook_conditions.is_some()
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
    note_request_seen(evaluation, policy);
    policy.standard_rules(parts).for_each(|rule| evaluation.note_rule_needs(rule));
    Prematch::NoMatch
}

/// Whether a policy with the same webhook has seen the request. Policies that the index skips see it, too.
fn is_request_seen(evaluation: &Evaluation<'_>, policy: &ClassicPolicy, number: Option<usize>) -> bool {
    if policy.webhook_conditions.is_some() {
        return false;
    }
    let failure_policy = policy.meta.failure_policy;
    let is_before =
        |number| evaluation.policies.first_to_see(failure_policy).is_some_and(|first| first < number);
    evaluation.classic.is_seen(failure_policy) || number.is_some_and(is_before)
}

fn note_request_seen(evaluation: &Evaluation<'_>, policy: &ClassicPolicy) {
    if policy.has_standard_rules() && policy.webhook_conditions.is_none() {
        evaluation.classic.note_seen(policy.meta.failure_policy);
    }
}

/// The standard rules of one policy for one object.
struct StandardRun<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a ClassicPolicy,
    parts: &'a [usize],
    operation: Operation,
    /// The first of the standard rules that matches, if known.
    first_match: Option<usize>,
    tracker: &'a DivergenceTracker,
    /// The object before the policy.
    before: &'a Value,
    exemption: &'a Exemption<'a>,
    /// The conditions of the policy's webhooks.
    called: &'a Called,
}

/// The result of the rules so far.
struct Progress {
    report: PolicyReport,
    /// The object after these rules.
    object: Value,
    has_failed: bool,
    has_patched: bool,
    /// Whether the handler of a rule failed: then Kyverno continues with an empty object.
    is_object_lost: bool,
}

impl StandardRun<'_> {
    /// The report of a policy for another namespace.
    fn in_other_namespace(&self, mut report: PolicyReport) -> PolicyReport {
        let namespace = self.policy.meta.namespace.as_deref().unwrap_or_default();
        let details = || vec![other_namespace(namespace, &self.exemption.candidate)];
        let reports = self.policy.standard_rules(self.parts);
        report.rules.extend(reports.map(|rule| skipped(rule, SkipReason::NotSelected(details()))));
        report
    }

    /// Runs one rule, if it matches the object.
    fn rule(
        &self,
        position: usize,
        rule: &Rule,
        context: &mut Context<'_>,
        progress: &mut Progress,
    ) -> ControlFlow<()> {
        let Self { evaluation, policy, operation, tracker, .. } = *self;
        let reports = &mut progress.report.rules;
        if progress.has_patched && policy.applies_one() {
            reports.extend(evaluation.if_traced(|| skipped(rule, SkipReason::ApplyOne)));
            return ControlFlow::Continue(());
        }
        if let Some(error) = evaluation.note_matching(self.exemption.policy, rule, &progress.object) {
            progress.has_failed = true;
            reports.push(error);
            return ControlFlow::Continue(());
        }
        let candidate = evaluation.candidate(&progress.object, Some(operation));
        // The object is unchanged up to the first match.
        let is_match = match self.first_match.filter(|first| position <= *first) {
            Some(first) => position == first,
            None => rule.selects(&candidate),
        };
        if !is_match {
            reports.extend(evaluation.if_traced(|| not_selected(rule, &candidate)));
            return ControlFlow::Continue(());
        }
        if rule.not_evaluated().is_some() {
            return ControlFlow::Continue(());
        }
        if !evaluation.reaches(policy, rule, &candidate) && !tracker.documented(Divergence::EmptyExclude) {
            reports.push(not_reached(rule));
            return ControlFlow::Continue(());
        }
        // No rule matches the empty object.
        if progress.is_object_lost && !tracker.documented(Divergence::FailedRule) {
            return ControlFlow::Break(());
        }
        if let Some(error) = evaluation.out_of_steps(context.steps()) {
            progress.has_failed = true;
            progress.report.rules.push(RuleReport::new(rule.name.clone(), Outcome::Error(error)));
            return ControlFlow::Break(());
        }
        evaluation.note_exceptions(self.exemption.policy, rule);
        self.apply(rule, context, progress);
        // Further rules would fail, too, each after its work.
        if self.evaluation.exceeds_memory() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Runs a rule that matches. If the request deletes the object, nothing is patched.
    fn apply(&self, rule: &Rule, context: &mut Context<'_>, progress: &mut Progress) {
        let Self { evaluation, exemption, .. } = *self;
        let settings = &evaluation.engine.settings;
        let is_delete = self.operation == Operation::Delete;
        let checkpoint = context.enter_rule(rule, &settings.values, evaluation.is_traced());
        let (run, mut divergences) = self.tracker.during(|| {
            if is_delete {
                let checked = rule::check(rule, context, exemption);
                return RuleRun::from(deleted(checked.err().map(|outcome| *outcome), self.tracker));
            }
            rule::run(rule, &progress.object, context, &evaluation.merge_context, exemption)
        });
        if !is_delete {
            divergences.extend(rule.divergences);
            progress.report.divergences.extend(rule.divergences);
        }
        let mut trace = context.leave_rule(checkpoint);
        self.called.add_to(&mut trace);
        let error = evaluation.not_replayable().map(|error| RuleRun::from(Outcome::Error(error)));
        let RuleRun { outcome, is_object_lost } = error.unwrap_or(run);
        let outcome = evaluation.within_memory(outcome);
        if !is_delete {
            context.type_objects(false);
        }
        match &outcome {
            Outcome::Patched { after, .. } => {
                progress.object = after.clone();
                context.set_object(&progress.object);
                progress.has_patched = true;
            }
            Outcome::Error(_) => progress.has_failed = true,
            Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Skipped(_) => {}
        }
        progress.is_object_lost |= is_object_lost;
        let report = RuleReport::new(rule.name.clone(), outcome);
        progress.report.rules.push(RuleReport { trace, divergences, ..report });
    }

    /// Completes the report, and keeps the changes unless a rule failed or a filter excludes the object.
    fn finish(&self, progress: Progress) -> PolicyRun {
        let Self { evaluation, policy, operation, tracker, before, .. } = *self;
        let Progress { mut report, object, has_failed, .. } = progress;
        if policy.controller_only(self.parts).any(|rule| rule.selects(&self.exemption.candidate)) {
            tracker.reach(Divergence::AutogenTargets);
        }
        report.divergences.extend(tracker.reached());
        let acts = |outcome: &Outcome| matches!(outcome, Outcome::Patched { .. } | Outcome::Error(_));
        if report.rules.iter().any(|rule| acts(&rule.outcome))
            && let Some(filter) = evaluation.excluding_filter(before, Some(operation))
        {
            let tracker = tracker.for_part();
            if !tracker.documented(Divergence::HiddenObject) {
                for rule in report.rules.iter_mut().filter(|rule| acts(&rule.outcome)) {
                    rule.outcome = Outcome::Skipped(SkipReason::Filtered(filter.clone()));
                }
                report.divergences = tracker.reached();
                return PolicyRun { report: Some(report), after: None };
            }
            report.divergences.extend(tracker.reached());
        }
        let is_reported = !report.rules.is_empty() || !report.divergences.is_empty();
        PolicyRun { report: is_reported.then_some(report), after: (!has_failed).then_some(object) }
    }
}

/// The outcome of a rule for a request that deletes the object, given that of the checks before its patch.
fn deleted(checked: Option<Outcome>, tracker: &DivergenceTracker) -> Outcome {
    match checked {
        Some(skipped @ Outcome::Skipped(_)) => skipped,
        _ if tracker.documented(Divergence::StandardRuleOnDelete) => Outcome::Skipped(SkipReason::Deleted),
        Some(error) => error,
        None => Outcome::Error(
            RuleError::new(Code::NoResult, "the request deletes the object: there is nothing to patch")
                .in_words_of_kyverno(
                    "failed to unmarshal patched resource: Object 'Kind' is missing in 'null'",
                ),
        ),
    }
}
