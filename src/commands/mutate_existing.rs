//! Rules with targets: one object of a run triggers them, others are changed.

use crate::engine::{MutatedTarget, Targets, World};
use crate::report::ObjectReport;
use crate::source::{Content, InputDocument};
use crate::value::{Pointer, Value};

use super::evaluate::{Evaluated, Evaluation, Evaluator, NotIdempotent, without_bookkeeping};

/// Runs the rules with targets for all documents, one trigger after the other, in their order. Objects that are targets
/// only trigger nothing, and those that no rule took are left out.
pub(super) fn run_targets<W: World>(evaluator: &Evaluator<'_, W>, documents: &mut Vec<Evaluated>) {
    let Evaluator { engine, world, .. } = *evaluator;
    let mut targets = Targets::new();
    let mut places = Vec::new();
    for (document, evaluated) in documents.iter().enumerate() {
        for (number, object) in evaluated.objects.iter().enumerate() {
            let (_, after) = object.states();
            // An object of the run comes before a target of the same name.
            let is_known = || targets.number_of(engine, after, world).is_some();
            if !(evaluated.source.further && is_known()) {
                targets.add(engine, after, world);
                places.push((document, number));
            }
        }
    }
    for evaluated in documents.iter_mut().filter(|evaluated| !evaluated.source.further) {
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
    for (index, (document, number)) in places.iter().enumerate() {
        if let (Some(taken), Some(evaluated)) = (targets.take(index), documents.get_mut(*document)) {
            if let Some(object) = evaluated.objects.get(*number) {
                evaluator.redact_recorded(object.of_cluster(), &taken.secrets);
            }
            evaluated.update_target(*number, taken, evaluator.live);
        }
    }
    if evaluator.check_idempotent {
        check_second_run(evaluator, documents, &places);
    }
    for evaluated in documents.iter_mut().filter(|evaluated| evaluated.source.further) {
        evaluated.without_kind = 0;
        evaluated.objects.retain(|object| !object.report.policies.is_empty());
    }
    for index in places.len()..targets.count() {
        if let Some(taken) = targets.take(index) {
            evaluator.redact_recorded(&taken.before, &taken.secrets);
            documents.push(of_cluster(taken));
        }
    }
}

/// Adds what a second run of the rules with targets would change.
fn check_second_run<W: World>(
    evaluator: &Evaluator<'_, W>,
    documents: &mut [Evaluated],
    places: &[(usize, usize)],
) {
    let Evaluator { engine, world, .. } = *evaluator;
    let mut targets = Targets::new();
    let at = |(document, number): &(usize, usize)| {
        documents.get(*document).and_then(|document| document.objects.get(*number))
    };
    let objects: Vec<(Value, Option<Value>)> = places
        .iter()
        .filter_map(at)
        .map(|object| (object.report.after.clone(), object.stored.clone()))
        .collect();
    for (object, _) in &objects {
        targets.add(engine, object, world);
    }
    for ((document, _), (object, stored)) in places.iter().zip(&objects) {
        if documents.get(*document).is_some_and(|evaluated| !evaluated.source.further) {
            engine.mutate_targets(
                (object, object),
                evaluator.stored(object, stored.as_ref()),
                &mut targets,
                world,
            );
        }
    }
    for (index, (document, number)) in places.iter().enumerate() {
        let object = documents.get_mut(*document).and_then(|document| document.objects.get_mut(*number));
        let (Some(taken), Some(object)) = (targets.take(index), object) else { continue };
        for policy in taken.policies {
            let changed = policy.rules.iter().filter(|rule| !rule.changes().is_empty());
            object.second_run.extend(changed.map(|rule| NotIdempotent {
                policy: policy.policy.clone(),
                rule: rule.rule.clone(),
                changes: Ok(rule.changes()),
            }));
        }
    }
}

/// A target of the cluster that is no object of the run.
fn of_cluster(taken: MutatedTarget) -> Evaluated {
    let (before, after) = (without_bookkeeping(&taken.before), without_bookkeeping(&taken.after));
    let mut report = ObjectReport::untouched(before.clone());
    (report.after, report.policies, report.secrets) = (after, taken.policies, taken.secrets);
    let after = report.is_changed().then(|| report.after.clone());
    let source = InputDocument { input: 0, content: Content::Object(before), file: None, further: true };
    let object = Evaluation { is_update: true, ..Evaluation::new(Pointer::default(), report) };
    Evaluated { objects: vec![object], after, ..Evaluated::new(source) }
}
