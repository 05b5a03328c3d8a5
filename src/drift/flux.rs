//! What Flux shows as drift where policies change objects.
//!
//! Flux applies the object in Git to the one in the cluster in a dry run, which goes through admission, and compares the
//! result with the object in the cluster. So what a policy sets shows only if it makes something else of the object when it
//! is updated: it acts only on creation, or changes its own results again. Source: `ssa` of fluxcd/pkg.

use crate::admission::Schema;
use crate::engine::{Engine, LaterWorld, World};
use crate::patch::{Atomics, apply};
use crate::report::{Cause, Drift, DriftField, DriftKind, DriftStep, ObjectReport, Outcome, Writers};
use crate::value::{GroupVersionKind, Pointer, Segment, Text, Value};

use super::cluster::is_of_server;
use super::managers::Managers;
use super::{MAX_DEPTH, Sides, cause, shared};

/// The differences that Flux shows of an object. The report loses the states of an object of a built-in kind before and after
/// each rule: large objects take much memory. `stored` is the object in the cluster; without one it is what policies make
/// of it when it is created. `None` if the object has no kind or no name.
pub fn flux_drift(
    engine: &Engine,
    report: &mut ObjectReport,
    stored: Option<&Value>,
    world: &dyn World,
) -> Option<Drift> {
    let sides = Sides::new(engine, report)?;
    if stored.is_none() && !engine.concerns(&sides.kind) {
        return Some(Drift::default());
    }
    if let Some(field) = sides.renamed() {
        return Some(Drift { fields: vec![field], is_lasting: true, ..Drift::default() });
    }
    let first = Writers::of(report);
    let (git, predicted) = Git::of(sides);
    if engine.settings().kind_schemas.of(&git.kind).is_some_and(Schema::is_built_in) {
        report.drop_changes();
    }
    let live = stored.unwrap_or(&predicted);
    // Each dry run is a later request.
    let (second, after) = match reconciled(engine, &git, live, &LaterWorld::new(world, 1)) {
        Ok(reconciled) => reconciled,
        Err(failing) => return Some(Drift { failing, is_incomplete: true, ..Drift::default() }),
    };
    let found = differences(live, &after);
    if found.is_empty() {
        return Some(Drift { is_incomplete: git.is_incomplete, ..Drift::default() });
    }
    let writers = [first, Writers::of(&second)];
    drop((second, predicted));
    let managers = stored.map(Managers::of);
    let mut fields: Vec<DriftField> = Vec::with_capacity(found.len());
    for (pointer, kind) in found {
        let path: Vec<DriftStep> = pointer.segments().iter().map(step).collect();
        let cause = cause_of(&pointer, &path, &writers, managers.as_ref());
        let cause = shared(cause, fields.last());
        fields.push(DriftField { path, kind, cause });
    }
    drop(writers);
    let is_lasting = reconciled(engine, &git, &after, &LaterWorld::new(world, 2))
        .is_ok_and(|(_, next)| !differences(&after, &next).is_empty());
    Some(Drift { fields, is_incomplete: git.is_incomplete, is_lasting, ..Drift::default() })
}

/// An object as Flux applies it.
struct Git {
    config: Value,
    kind: GroupVersionKind,
    is_incomplete: bool,
}

impl Git {
    /// The object in Git, and what policies make of it.
    fn of(sides: Sides<'_>) -> (Self, Value) {
        let Sides { report, kind, predicted, is_incomplete, .. } = sides;
        let mut config = report.before.clone();
        config.remove("status");
        (Self { config, kind, is_incomplete }, predicted)
    }
}

/// The object in the cluster after Git was applied to it, with the report of the policies; the rules that fail if an API server
/// would refuse it.
fn reconciled(
    engine: &Engine,
    Git { config, kind, .. }: &Git,
    live: &Value,
    world: &dyn World,
) -> Result<(ObjectReport, Value), Vec<Text>> {
    let schema = engine.settings().kind_schemas.of(kind).unwrap_or(Schema::FREE);
    let applied = apply(live, config, schema, Atomics::Replaced).map_err(|_refused| Vec::new())?;
    let report = engine.mutate_alone(&applied, Some(live), world);
    if report.has_error() {
        let failed = report.rules().filter(|(_, rule)| matches!(rule.outcome, Outcome::Error(_)));
        return Err(failed.map(|(policy, rule)| rule.title(&policy.policy).into()).collect());
    }
    let admission = engine.settings().admission.as_ref();
    let view = admission.and_then(|admission| admission.view(&report.after, kind).ok());
    let mut after = view.unwrap_or_else(|| report.after.clone());
    after.share_with(&report.after);
    after.share_with(live);
    Ok((report, after))
}

/// The places at which two objects differ, but for what the API server keeps for itself. A list whose elements came, went or
/// moved differs as a whole.
fn differences(live: &Value, after: &Value) -> Vec<(Pointer, DriftKind)> {
    let mut found = Vec::new();
    compare(&mut Pointer::default(), (live, after), &mut found);
    found
}

fn compare(at: &mut Pointer, (live, after): (&Value, &Value), found: &mut Vec<(Pointer, DriftKind)>) {
    if live.same_storage(after) || at.segments().len() > MAX_DEPTH {
        return;
    }
    match (live, after) {
        (Value::Object(live), Value::Object(after)) => {
            let path: Vec<DriftStep> = at.segments().iter().map(step).collect();
            for key in live.keys().chain(after.keys().filter(|key| !live.contains_key(*key))) {
                if is_of_server(&path, key) {
                    continue;
                }
                at.push_key(key.clone());
                match (live.get(key), after.get(key)) {
                    (Some(live), Some(after)) => compare(at, (live, after), found),
                    (None, _) => found.push((at.clone(), DriftKind::Set)),
                    (_, None) => found.push((at.clone(), DriftKind::Removed)),
                }
                at.pop();
            }
        }
        (Value::Array(live), Value::Array(after)) => match moved(live, after) {
            Some(kind) => found.push((at.clone(), kind)),
            None => {
                for (index, pair) in live.iter().zip(after.iter()).enumerate() {
                    at.push_index(index);
                    compare(at, pair, found);
                    at.pop();
                }
            }
        },
        _ if live == after => {}
        _ => found.push((at.clone(), DriftKind::Changed)),
    }
}

/// Whether elements of a list came or went, or have another order by their names.
fn moved(live: &[Value], after: &[Value]) -> Option<DriftKind> {
    if live.len() != after.len() {
        return Some(DriftKind::List);
    }
    let [mut names, mut others] = [names(live)?, names(after)?];
    if names == others {
        return None;
    }
    names.sort_unstable();
    others.sort_unstable();
    Some(if names == others { DriftKind::Order } else { DriftKind::List })
}

/// The names of the elements of a list, if all have one.
fn names(list: &[Value]) -> Option<Vec<&str>> {
    list.iter().map(|element| element.get("name").and_then(Value::as_str)).collect()
}

fn step(segment: &Segment) -> DriftStep {
    match segment {
        Segment::Key(key) => DriftStep::Key(key.clone()),
        Segment::Index(index) => DriftStep::Index(*index),
    }
}

/// Where a difference comes from: the policies that make it in the dry run, or those that made the object another one
/// before. `managers` are those of the object in the cluster, if it is compared with one.
fn cause_of(
    pointer: &Pointer,
    path: &[DriftStep],
    [first, second]: &[Writers; 2],
    managers: Option<&Managers>,
) -> Cause {
    let is_written = |writers: &Writers| writers.has_written(pointer);
    match managers {
        _ if is_written(second) => cause(second, pointer),
        Some(managers) if !is_written(first) => Cause::Others { managers: managers.owners(path) },
        _ => cause(first, pointer),
    }
}
