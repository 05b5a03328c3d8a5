//! The order of policies: each sees the object as the earlier ones left it.

use crate::admission::has_webhooks;
use crate::policy::{FailurePolicy, Policy};
use crate::report::{MissingInputs, ObjectReport, Outcome, PolicyReport, SkipReason, ViewReport};
use crate::secrets::Secrets;
use crate::semantics::{Divergence, Semantics};
use crate::value::Value;

use super::evaluation::{Evaluation, Input, PolicyRun, evaluate};
use super::family;
use super::order_check::{self, Step};
use super::targets::{Targets, Triggered};
use super::{Engine, World, priority, views};

/// Whether a report tells what other orders of the policies and the other view lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notes {
    Compared,
    Absent,
}

/// Runs the policies that concern an object.
pub(super) fn run(
    engine: &Engine,
    (object, old): (&Value, Option<&Value>),
    world: &dyn World,
    notes: Notes,
) -> ObjectReport {
    let untouched = || ObjectReport::untouched(object.clone());
    if engine.settings.on_policy_update {
        return untouched();
    }
    let evaluated = evaluate(engine, Input { object, original: None, old, world }, |evaluation| {
        if is_exempt(evaluation) {
            return without_policies(evaluation, object);
        }
        let (policies, after, steps) = run_all(evaluation);
        let compares = notes == Notes::Compared;
        let mut order = if compares { order_check::check(evaluation, &steps) } else { Vec::new() };
        for result in
            order.iter_mut().filter_map(|one| one.results.as_mut()).flat_map(|results| results.iter_mut())
        {
            *result = evaluation.placed.take_back(object, std::mem::take(result));
        }
        let after = evaluation.placed.take_back(object, after);
        evaluation.taint.track(&after);
        ObjectReport {
            object: evaluation.identity.cloned(),
            before: object.clone(),
            // A run that exceeds a limit fails, and needs no other one to compare with.
            view: if compares && !evaluation.exceeds_memory() && evaluation.exceeded_steps(0).is_none() {
                views::report(evaluation, (&policies, &steps), &after)
            } else {
                ViewReport::default()
            },
            after,
            unknown: MissingInputs {
                priority_class: priority::unknown_class(evaluation, &policies),
                ..evaluation.missing_inputs()
            },
            policies: policies.into_iter().map(|(_, report)| report).collect(),
            filter: evaluation.filter.take(),
            steps: evaluation.steps(),
            order,
            ..ObjectReport::default()
        }
    });
    evaluated.map_or_else(untouched, |(report, secrets)| ObjectReport { secrets, ..report })
}

/// Whether policies have no effect on the object in the view of the run.
fn is_exempt(evaluation: &Evaluation<'_>) -> bool {
    evaluation.engine.settings.admission.is_some() && !has_webhooks(evaluation.own_kind)
}

/// The report of an object whose kind has no webhooks.
fn without_policies(evaluation: &Evaluation<'_>, object: &Value) -> ObjectReport {
    let (policies, after, _) = evaluation.aside(|| run_all(evaluation));
    let has_effect =
        after != evaluation.placed.object || policies.iter().any(|(_, policy)| policy.has_error());
    let without_webhooks = has_effect.then(|| evaluation.own_kind.kind.clone());
    ObjectReport {
        object: evaluation.identity.cloned(),
        view: ViewReport { without_webhooks, ..ViewReport::default() },
        ..ObjectReport::untouched(object.clone())
    }
}

/// Runs the policies with targets that an object triggers. `before` and `after` are the object of the request and
/// the same after [`run`].
pub(super) fn run_targets(
    engine: &Engine,
    (before, after): (&Value, &Value),
    old: Option<&Value>,
    targets: &mut Targets,
    world: &dyn World,
) -> Triggered {
    let input = Input { object: after, original: Some(before), old, world };
    let evaluated = evaluate(engine, input, |evaluation| {
        let policies = evaluation.policies.all().filter(|_| !is_exempt(evaluation));
        let reports = policies.filter_map(|(policy, parts)| {
            let report = family::run_targets(evaluation, policy, &parts, targets)?;
            (!report.rules.is_empty()).then_some(report)
        });
        let policies = reports.collect();
        let (unknown, filter) = (evaluation.missing_inputs(), evaluation.filter.take());
        let steps = evaluation.steps();
        Triggered { policies, unknown, filter, secrets: Secrets::default(), steps }
    });
    let Some((triggered, secrets)) = evaluated else { return Triggered::default() };
    targets.add_secrets(&secrets);
    Triggered { secrets, ..triggered }
}

/// Runs the policies, one after the other; returns their reports with their numbers, the object after them, and what
/// changed it.
pub(super) fn run_all(evaluation: &Evaluation<'_>) -> (Vec<(usize, PolicyReport)>, Value, Vec<Step>) {
    let mut current = evaluation.placed.object.clone();
    let (mut reports, mut steps) = (Vec::new(), Vec::new());
    if evaluation.is_traced() || evaluation.needs_all(&current) {
        for (number, policy, parts) in evaluation.policies.numbered() {
            let PolicyRun { report, after } = family::run(evaluation, policy, &parts, None, &current);
            reports.extend(report.map(|report| (number, report)));
            if let Some(after) = after.filter(|after| !after.same_storage(&current)) {
                steps.push(Step { number, before: current, after: after.clone() });
                current = after;
            }
        }
        call_again(evaluation, &mut reports, &mut current, &mut steps);
        reinvoke(evaluation, &mut reports, &mut current, &mut steps);
        return (reports, current, steps);
    }
    let mut walk = evaluation.policies.walk(&evaluation.candidate(&current, None));
    let mut last = None;
    while let Some((number, policy, parts)) = walk.next() {
        debug_assert!(are_silent(evaluation, (last, Some(number)), &current));
        last = Some(number);
        let PolicyRun { report, after } = family::run(evaluation, policy, &parts, Some(number), &current);
        reports.extend(report.map(|report| (number, report)));
        if let Some(after) = after.filter(|after| !after.same_storage(&current)) {
            walk.update(&evaluation.candidate(&current, None), &evaluation.candidate(&after, None));
            steps.push(Step { number, before: current, after: after.clone() });
            current = after;
        }
    }
    debug_assert!(are_silent(evaluation, (last, None), &current));
    call_again(evaluation, &mut reports, &mut current, &mut steps);
    reinvoke(evaluation, &mut reports, &mut current, &mut steps);
    (reports, current, steps)
}

/// Runs the policies once more that share their webhooks with policies of the other failure policy, as Kyverno does. As
/// documented, only the divergence is recorded.
fn call_again(
    evaluation: &Evaluation<'_>,
    reports: &mut Vec<(usize, PolicyReport)>,
    current: &mut Value,
    steps: &mut Vec<Step>,
) {
    // A failure ends the request.
    if reports.iter().any(|(_, report)| report.has_error()) {
        return;
    }
    for group in evaluation.engine.policies.called_twice() {
        let selecting: Vec<_> = group
            .iter()
            .filter_map(|number| Some((*number, evaluation.policies.at(*number)?)))
            .filter(|(_, (policy, parts))| !family::is_silent(evaluation, policy, parts, None, current))
            .collect();
        let has = |wanted| selecting.iter().any(|(_, (policy, _))| policy.meta().failure_policy == wanted);
        if !has(FailurePolicy::Fail) || !has(FailurePolicy::Ignore) {
            continue;
        }
        let keeps = evaluation.engine.settings.semantics == Semantics::Kyverno;
        let mut object = current.clone();
        for (number, (policy, parts)) in selecting {
            let run = || family::run(evaluation, policy, &parts, None, &object);
            let PolicyRun { report, after } = if keeps { run() } else { evaluation.aside(run) };
            let Some(report) = report.filter(has_acted) else { continue };
            if let Some((_, first)) = reports.iter_mut().find(|(known, _)| *known == number) {
                first.divergences.insert(Divergence::CelPoliciesCalledTwice);
            }
            if keeps {
                reports.push((number, report));
            }
            if let Some(after) = after.filter(|after| !after.same_storage(&object)) {
                if keeps {
                    steps.push(Step { number, before: object, after: after.clone() });
                }
                object = after;
            }
        }
        if keeps {
            *current = object;
        }
    }
}

/// Whether a policy of the API server was run, and not only asked whether it is for the object.
const fn has_applied(outcome: &Outcome) -> bool {
    use SkipReason::{MatchCondition, NotBound, NotSelected, OtherVersion};
    !matches!(outcome, Outcome::Skipped(NotSelected(_) | MatchCondition(_) | NotBound | OtherVersion(_)))
}

/// Whether a policy changed the object or failed.
fn has_acted(report: &PolicyReport) -> bool {
    report.rules.iter().any(|rule| matches!(rule.outcome, Outcome::Patched { .. } | Outcome::Error(_)))
}

/// Runs the policies with `reinvocationPolicy: IfNeeded` of the API server once more if a policy changed the object, as
/// the API server does after all webhooks.
fn reinvoke(
    evaluation: &Evaluation<'_>,
    reports: &mut Vec<(usize, PolicyReport)>,
    current: &mut Value,
    steps: &mut Vec<Step>,
) {
    if steps.is_empty()
        || !evaluation.engine.policies.policies().first().is_some_and(Policy::runs_in_api_server)
    {
        return;
    }
    let has_run = |number: usize| {
        let mut rules = reports.iter().filter(|report| report.0 == number).flat_map(|report| &report.1.rules);
        rules.any(|rule| has_applied(&rule.outcome))
    };
    let again = evaluation.policies.numbered().filter(|(_, policy, _)| policy.reinvokes());
    let again: Vec<_> = again.filter(|(number, ..)| has_run(*number)).collect();
    for (number, policy, parts) in again {
        let PolicyRun { report, after } = family::run(evaluation, policy, &parts, None, current);
        reports.extend(report.filter(has_acted).map(|report| (number, report)));
        if let Some(after) = after.filter(|after| !after.same_storage(current)) {
            steps.push(Step { number, before: current.clone(), after: after.clone() });
            *current = after;
        }
    }
}

/// Whether the policies between two, or after one, have nothing to report on an object. Debug builds check the index
/// with it.
fn are_silent(
    evaluation: &Evaluation<'_>,
    (last, next): (Option<usize>, Option<usize>),
    object: &Value,
) -> bool {
    let from = last.map_or(0, |last| last + 1);
    let to = next.unwrap_or(evaluation.engine.policies.policies().len());
    (from..to)
        .filter_map(|number| evaluation.policies.at(number))
        .all(|(policy, parts)| family::is_silent(evaluation, policy, &parts, next, object))
}
