//! The order of policies: each sees the object as the earlier ones left it.

use crate::policy::{Candidates, Operation};
use crate::report::{ObjectReport, PolicyReport};
use crate::secrets::{Secrets, TaintTracker};
use crate::value::{GroupVersionKind, Value};

use super::evaluation::{Evaluation, Input, evaluate};
use super::family::{self, Turn};
use super::placed::Placed;
use super::targets::{Targets, Triggered};
use super::{Engine, World};

/// Runs the policies that concern an object.
pub(super) fn run(engine: &Engine, object: &Value, old: Option<&Value>, world: &dyn World) -> ObjectReport {
    let Some(own_kind) = GroupVersionKind::of(object).filter(|_| !engine.settings.on_policy_update) else {
        return ObjectReport::untouched(object.clone());
    };
    let candidates = candidates(engine, &own_kind);
    if candidates.is_empty() {
        return ObjectReport::untouched(object.clone());
    }
    let placed = Placed::new(engine, object, &own_kind, world);
    let taint = TaintTracker::new(engine.settings.is_replay);
    let input = Input { placed: &placed, original: &placed.object, own_kind: &own_kind, old };
    let mut report = evaluate(engine, input, (world, &taint), |evaluation| {
        let mut current = placed.object.clone();
        let policies = run_all(evaluation, candidates, &mut current);
        ObjectReport {
            object: evaluation.identity.cloned(),
            before: object.clone(),
            after: placed.take_back(object, current),
            policies,
            unknown: evaluation.unknown(),
            filter: evaluation.filter.take(),
            secrets: Secrets::default(),
            shows_secrets: false,
            server_dry_run: None,
        }
    });
    taint.see(&report.after);
    report.secrets = taint.secrets();
    report
}

/// Runs the policies with targets that an object triggers. `before` and `after` are the object of the request and
/// the same once [`run`] changed it.
pub(super) fn run_targets(
    engine: &Engine,
    (before, after): (&Value, &Value),
    old: Option<&Value>,
    targets: &mut Targets,
    world: &dyn World,
) -> Triggered {
    let Some(own_kind) = GroupVersionKind::of(after) else { return Triggered::default() };
    let candidates = candidates(engine, &own_kind);
    if candidates.is_empty() {
        return Triggered::default();
    }
    let placed = Placed::new(engine, after, &own_kind, world);
    let original = Placed::new(engine, before, &own_kind, world);
    let taint = TaintTracker::new(engine.settings.is_replay);
    let input = Input { placed: &placed, original: &original.object, own_kind: &own_kind, old };
    let mut triggered = evaluate(engine, input, (world, &taint), |evaluation| {
        let reports = candidates.all().filter_map(|(policy, parts)| {
            let report = family::run_targets(evaluation, policy, &parts, targets)?;
            (!report.rules.is_empty()).then_some(report)
        });
        let policies = reports.collect();
        let (unknown, filter) = (evaluation.unknown(), evaluation.filter.take());
        Triggered { policies, unknown, filter, secrets: Secrets::default() }
    });
    triggered.secrets = taint.secrets();
    targets.saw(&triggered.secrets);
    triggered
}

fn candidates<'e>(engine: &'e Engine, own_kind: &GroupVersionKind) -> Candidates<'e> {
    let (kind, _) = engine.settings.values.as_subresource(own_kind);
    engine.candidates(kind)
}

/// Runs the policies, one after the other.
fn run_all(
    evaluation: &Evaluation<'_>,
    candidates: Candidates<'_>,
    current: &mut Value,
) -> Vec<PolicyReport> {
    let settings = &evaluation.engine.settings;
    let mut reports = Vec::new();
    if settings.trace
        || settings.operation == Some(Operation::Delete)
        || settings.values.has_any()
        || evaluation.hides_labels(current)
    {
        for (policy, parts) in candidates.all() {
            let turn = Turn { parts: &parts, candidates, number: None };
            reports.extend(family::run(evaluation, policy, turn, current));
        }
        return reports;
    }
    let mut walk = candidates.walk(&evaluation.candidate(current, None));
    let mut last = None;
    while let Some((number, policy, parts)) = walk.next() {
        debug_assert!(are_silent(evaluation, candidates, (last, Some(number)), current));
        last = Some(number);
        let before = current.clone();
        let turn = Turn { parts: &parts, candidates, number: Some(number) };
        reports.extend(family::run(evaluation, policy, turn, current));
        if !before.same_storage(current) {
            walk.update(&evaluation.candidate(&before, None), &evaluation.candidate(current, None));
        }
    }
    debug_assert!(are_silent(evaluation, candidates, (last, None), current));
    reports
}

/// Whether the policies between two, or after one, have nothing to report on an object: builds with debug
/// assertions check the index so.
fn are_silent(
    evaluation: &Evaluation<'_>,
    candidates: Candidates<'_>,
    (last, next): (Option<usize>, Option<usize>),
    object: &Value,
) -> bool {
    let from = last.map_or(0, |last| last + 1);
    let to = next.unwrap_or(evaluation.engine.policies.policies().len());
    (from..to).filter_map(|number| candidates.at(number)).all(|(policy, parts)| {
        family::is_silent(evaluation, policy, Turn { parts: &parts, candidates, number: next }, object)
    })
}
