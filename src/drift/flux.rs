//! What Flux shows as drift where policies change objects.
//!
//! Flux applies the object in Git to the one in the cluster in a dry run, which goes through admission, and compares the
//! result with the object in the cluster. So what a policy sets shows only if it makes something else of the object when it
//! is updated: it acts only on creation, or changes its own results again. Source: `ssa` of fluxcd/pkg.

use crate::admission::Schema;
use crate::engine::{Engine, World};
use crate::patch::{Atomics, apply};
use crate::report::{Cause, Drift, DriftField, DriftKind, DriftStep, ObjectReport};
use crate::value::{Change, ChangeKind, Pointer, Segment, Value, changes};

use super::cluster::is_of_server;
use super::managers::managers;
use super::{Sides, cause};

/// The differences that Flux shows of an object. `stored` is the object in the cluster; without one it is what policies make
/// of it when it is created. `None` if the object has no kind or no name.
pub fn flux_drift(
    engine: &Engine,
    report: &ObjectReport,
    stored: Option<&Value>,
    world: &dyn World,
) -> Option<Drift> {
    let sides = Sides::new(engine, report)?;
    if stored.is_none() && !engine.concerns(&sides.kind) {
        return Some(Drift::default());
    }
    let live = stored.unwrap_or(&sides.predicted);
    let incomplete = Drift { is_incomplete: true, ..Drift::default() };
    let Some((second, after)) = reconciled(engine, &sides, live, world) else { return Some(incomplete) };
    let mut fields: Vec<DriftField> = Vec::new();
    for (pointer, kind) in differences(live, &after) {
        let path: Vec<DriftStep> = pointer.segments().iter().map(step).collect();
        if fields.iter().any(|field| path.starts_with(&field.path)) {
            continue;
        }
        let cause = cause_of(&pointer, &path, [report, &second], stored);
        fields.push(DriftField { path, kind, cause });
    }
    let is_lasting = !fields.is_empty()
        && reconciled(engine, &sides, &after, world)
            .is_some_and(|(_, next)| differences(&after, &next).next().is_some());
    Some(Drift { fields, is_incomplete: sides.is_incomplete, is_lasting, live: None })
}

/// The object in the cluster after Git was applied to it, with the report of the policies; `None` if an API server would
/// refuse it.
fn reconciled(
    engine: &Engine,
    sides: &Sides<'_>,
    live: &Value,
    world: &dyn World,
) -> Option<(ObjectReport, Value)> {
    let mut config = sides.report.before.clone();
    config.remove("status");
    let schema = engine.settings().kind_schemas.of(&sides.kind).unwrap_or(Schema::FREE);
    let applied = apply(live, &config, schema, Atomics::Replaced).ok()?;
    let report = engine.mutate(&applied, Some(live), world);
    if report.has_error() {
        return None;
    }
    let admission = engine.settings().admission.as_ref();
    let view = admission.and_then(|admission| admission.view(&report.after, &sides.kind).ok());
    let after = view.unwrap_or_else(|| report.after.clone());
    Some((report, after))
}

/// The places at which two objects differ, but for what the API server keeps for itself.
fn differences(live: &Value, after: &Value) -> impl Iterator<Item = (Pointer, DriftKind)> {
    let is_of_server = |pointer: &Pointer| {
        let path: Vec<DriftStep> = pointer.segments().iter().take(2).map(step).collect();
        (0..path.len()).any(|depth| match &path[depth] {
            DriftStep::Key(key) => is_of_server(&path[..depth], key),
            _ => false,
        })
    };
    let found: Vec<(Pointer, DriftKind)> = changes(live, after)
        .iter()
        .map(|change| moved(&change.pointer, live, after).unwrap_or_else(|| place(change)))
        .filter(|(pointer, _)| !is_of_server(pointer))
        .collect();
    found.into_iter()
}

/// The first list above a field whose elements came, went or moved, by their names.
fn moved(field: &Pointer, live: &Value, after: &Value) -> Option<(Pointer, DriftKind)> {
    let (mut nodes, mut at) = ([live, after], Pointer::ROOT);
    for segment in field.segments() {
        if let [Value::Array(live), Value::Array(after)] = nodes
            && let (Some(mut names), Some(mut others)) = (names(live), names(after))
            && names != others
        {
            names.sort_unstable();
            others.sort_unstable();
            return Some((at, if names == others { DriftKind::Order } else { DriftKind::List }));
        }
        let below = nodes.map(|node| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        });
        let [Some(live), Some(after)] = below else { return None };
        nodes = [live, after];
        match segment {
            Segment::Key(key) => at.push_key(key.clone()),
            Segment::Index(index) => at.push_index(*index),
        }
    }
    None
}

/// The names of the elements of a list, if all have one.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    list.iter().map(|element| element.get("name").and_then(Value::as_str)).collect()
}

/// The place of a change, and what it is. Where elements come or go, the list as a whole differs.
fn place(change: &Change) -> (Pointer, DriftKind) {
    let is_element = matches!(change.pointer.segments().last(), Some(Segment::Index(_)));
    match &change.kind {
        ChangeKind::Replace { .. } => (change.pointer.clone(), DriftKind::Changed),
        _ if is_element => (change.pointer.parent(), DriftKind::List),
        ChangeKind::Add(_) => (change.pointer.clone(), DriftKind::Set),
        ChangeKind::Remove(_) => (change.pointer.clone(), DriftKind::Removed),
    }
}

fn step(segment: &Segment) -> DriftStep {
    match segment {
        Segment::Key(key) => DriftStep::Key(key.clone()),
        Segment::Index(index) => DriftStep::Index(*index),
    }
}

/// Where a difference comes from: the policies that make it in the dry run, or those that made the object another one
/// before.
fn cause_of(
    pointer: &Pointer,
    path: &[DriftStep],
    [first, second]: [&ObjectReport; 2],
    stored: Option<&Value>,
) -> Cause {
    let is_written = |report: &ObjectReport| !report.writers(std::slice::from_ref(pointer)).is_empty();
    match stored {
        _ if is_written(second) => cause(second, pointer),
        Some(stored) if !is_written(first) => Cause::Others { managers: managers(stored, path) },
        _ => cause(first, pointer),
    }
}
