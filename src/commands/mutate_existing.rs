//! All objects of a run at once, for rules with targets: one object triggers them, others are changed.

use crate::engine::{MutatedTarget, Targets, World};
use crate::report::ObjectReport;
use crate::source::{Content, InputDocument};
use crate::value::{Pointer, Value};

use super::evaluate::{Evaluated, Evaluation, Evaluator, Unsettled, without_bookkeeping};

/// Runs the rules with targets over pieces that were evaluated: one trigger after the other, in their order.
/// Objects given as targets alone trigger nothing, and those that no rule took are forgotten.
pub(super) fn run_targets<W: World>(evaluator: &Evaluator<'_, W>, pieces: &mut Vec<Evaluated>) {
    let Evaluator { engine, world, .. } = *evaluator;
    let mut targets = Targets::new();
    let mut places = Vec::new();
    for (piece, evaluated) in pieces.iter().enumerate() {
        for (number, object) in evaluated.objects.iter().enumerate() {
            let (_, after) = object.states();
            // What stands among the objects of the run is no further object.
            let is_known = || targets.number_of(engine, after, world).is_some();
            if !(evaluated.piece.further && is_known()) {
                targets.add(engine, after, world);
                places.push((piece, number));
            }
        }
    }
    for evaluated in pieces.iter_mut().filter(|evaluated| !evaluated.piece.further) {
        for object in evaluated.objects.iter_mut().filter(|object| object.report.object.is_some()) {
            let (before, after) = object.states();
            let stored = evaluator.stored(before, object.stored.as_ref());
            let triggered = engine.mutate_targets((before, after), stored, &mut targets, world);
            evaluator.redact_recorded(object.of_cluster(), &triggered.secrets);
            object.report.policies.extend(triggered.policies);
            object.report.secrets.extend(&triggered.secrets);
            let unknown = &mut object.report.unknown;
            unknown.namespace = unknown.namespace.take().or(triggered.unknown.namespace);
            unknown.user |= triggered.unknown.user;
            object.report.filter = object.report.filter.take().or(triggered.filter);
        }
    }
    for (index, (piece, number)) in places.iter().enumerate() {
        if let (Some(taken), Some(evaluated)) = (targets.take(index), pieces.get_mut(*piece)) {
            if let Some(object) = evaluated.objects.get(*number) {
                evaluator.redact_recorded(object.of_cluster(), &taken.secrets);
            }
            evaluated.become_target(*number, taken, evaluator.live);
        }
    }
    if evaluator.twice {
        run_again(evaluator, pieces, &places);
    }
    for evaluated in pieces.iter_mut().filter(|evaluated| evaluated.piece.further) {
        evaluated.unknown = 0;
        evaluated.objects.retain(|object| !object.report.policies.is_empty());
    }
    for index in places.len()..targets.count() {
        if let Some(taken) = targets.take(index) {
            evaluator.redact_recorded(&taken.before, &taken.secrets);
            pieces.push(beyond(taken));
        }
    }
}

/// Notes what a second run of the rules with targets would change further.
fn run_again<W: World>(evaluator: &Evaluator<'_, W>, pieces: &mut [Evaluated], places: &[(usize, usize)]) {
    let Evaluator { engine, world, .. } = *evaluator;
    let mut targets = Targets::new();
    let at =
        |(piece, number): &(usize, usize)| pieces.get(*piece).and_then(|piece| piece.objects.get(*number));
    let objects: Vec<(Value, Option<Value>)> = places
        .iter()
        .filter_map(at)
        .map(|object| (object.report.after.clone(), object.stored.clone()))
        .collect();
    for (object, _) in &objects {
        targets.add(engine, object, world);
    }
    for ((piece, _), (object, stored)) in places.iter().zip(&objects) {
        if pieces.get(*piece).is_some_and(|piece| !piece.piece.further) {
            engine.mutate_targets(
                (object, object),
                evaluator.stored(object, stored.as_ref()),
                &mut targets,
                world,
            );
        }
    }
    for (index, (piece, number)) in places.iter().enumerate() {
        let object = pieces.get_mut(*piece).and_then(|piece| piece.objects.get_mut(*number));
        let (Some(taken), Some(object)) = (targets.take(index), object) else { continue };
        for policy in taken.policies {
            let changed = policy.rules.iter().filter(|rule| !rule.changes().is_empty());
            object.again.extend(changed.map(|rule| Unsettled {
                policy: policy.policy.clone(),
                rule: rule.rule.clone(),
                changes: Ok(rule.changes()),
            }));
        }
    }
}

/// A target that nobody gave and the world knows.
fn beyond(taken: MutatedTarget) -> Evaluated {
    let (before, after) = (without_bookkeeping(&taken.before), without_bookkeeping(&taken.after));
    let mut report = ObjectReport::untouched(before.clone());
    (report.after, report.policies, report.secrets) = (after, taken.policies, taken.secrets);
    let after = report.is_changed().then(|| report.after.clone());
    let piece = InputDocument { input: 0, content: Content::Object(before), file: None, further: true };
    let object = Evaluation {
        pointer: Pointer::default(),
        report,
        again: Vec::new(),
        whole: None,
        is_update: true,
        stored: None,
    };
    Evaluated { piece, objects: vec![object], after, unknown: 0 }
}
