//! What policies do with another state of the object: only those run again that a difference may concern.

use std::borrow::Cow;

use crate::policy::Policy;
use crate::report::PolicyReport;
use crate::value::{Change, ChangeKind, PathSet, Pointer, Segment, Step, Value, are_aligned, changes};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;

/// A policy that ran.
pub(super) struct Ran<'a> {
    pub(super) number: usize,
    pub(super) policy: &'a Policy,
    pub(super) parts: Cow<'a, [usize]>,
    /// The object before it, and after it.
    pub(super) before: &'a Value,
    pub(super) after: &'a Value,
}

/// What a policy does with the other state.
pub(super) enum Effect {
    /// The same: it reads and writes nothing that differs.
    Same,
    /// What it reports.
    Rerun(Option<PolicyReport>),
}

/// What policies do with another state of the object.
pub(super) struct Rerun {
    pub(super) effects: Vec<Effect>,
    /// How the object differs after them.
    ending: Ending,
}

enum Ending {
    Object(Value),
    Differences(Vec<Difference>),
}

impl Rerun {
    /// The other object, which was `object` before the policies, after them.
    pub(super) fn result(&self, evaluation: &Evaluation<'_>, ran: &[Ran<'_>], object: &Value) -> Value {
        match &self.ending {
            Ending::Object(object) => object.clone(),
            Ending::Differences(differences) => {
                let after = ran.last().map_or(&evaluation.placed.object, |policy| policy.after);
                let run = || evaluation.aside(|| run_all(evaluation, ran, object)).1;
                apply(differences, after).unwrap_or_else(run)
            }
        }
    }
}

/// Runs policies again where the object before them differs, without effect on the report.
pub(super) fn rerun(
    evaluation: &Evaluation<'_>,
    ran: &[Ran<'_>],
    object: &Value,
    differences: &Differences,
) -> Rerun {
    let rerun = || rerun_concerned(evaluation, ran, differences);
    evaluation.aside(rerun).unwrap_or_else(|| {
        let (effects, object) = evaluation.aside(|| run_all(evaluation, ran, object));
        Rerun { effects, ending: Ending::Object(object) }
    })
}

/// `None` if differences below a list cannot be followed, because its elements came, went or moved.
fn rerun_concerned(evaluation: &Evaluation<'_>, ran: &[Ran<'_>], differences: &Differences) -> Option<Rerun> {
    // These may read anything.
    let concerns_all = !evaluation.engine.settings.exceptions.all().is_empty();
    let mut differences = Cow::Borrowed(differences);
    let mut effects = Vec::with_capacity(ran.len());
    for policy in ran {
        if !concerns_all && !differences.concern(policy) {
            effects.push(Effect::Same);
            continue;
        }
        let is_concerning = |one: &Difference| concerns_all || policy.touches(&one.change.pointer);
        let (concerning, others): (Vec<_>, Vec<_>) =
            differences.found.iter().cloned().partition(is_concerning);
        let before = apply(&concerning, policy.before)?;
        let (report, after) = run(evaluation, policy, before.clone());
        effects.push(Effect::Rerun(report));
        if !policy.before.same_storage(policy.after) || !after.same_storage(&before) {
            let differences = differences.to_mut();
            differences.found = others;
            differences.add(policy.after, changes(policy.after, &after));
        }
    }
    Some(Rerun { effects, ending: Ending::Differences(differences.into_owned().found) })
}

fn run_all(evaluation: &Evaluation<'_>, ran: &[Ran<'_>], object: &Value) -> (Vec<Effect>, Value) {
    let mut current = object.clone();
    let mut effects = Vec::with_capacity(ran.len());
    for policy in ran {
        let (report, after) = run(evaluation, policy, current);
        effects.push(Effect::Rerun(report));
        current = after;
    }
    (effects, current)
}

fn run(evaluation: &Evaluation<'_>, policy: &Ran<'_>, before: Value) -> (Option<PolicyReport>, Value) {
    let Ran { number, policy, parts, .. } = policy;
    let PolicyRun { report, after } = family::run(evaluation, policy, parts, Some(*number), &before);
    (report, after.unwrap_or(before))
}

impl Ran<'_> {
    /// What its rules may read and write.
    fn paths(&self) -> impl Iterator<Item = &PathSet> {
        let rules = self.parts.iter().filter_map(|part| self.policy.paths(*part));
        rules.flat_map(|rule| [&rule.reads, &rule.writes])
    }

    fn touches(&self, field: &Pointer) -> bool {
        self.paths().any(|paths| paths.overlaps(field))
    }
}

/// How another state of the object differs.
#[derive(Clone, Default)]
pub(super) struct Differences {
    found: Vec<Difference>,
    /// Their paths, and those of earlier ones.
    paths: PathSet,
}

#[derive(Clone)]
struct Difference {
    change: Change,
    /// The state of the run at which it was found.
    base: Value,
}

impl Differences {
    pub(super) fn between(base: &Value, other: &Value) -> Self {
        Self::new(base, changes(base, other))
    }

    /// Those of the object before changes, of which `base` is the object after them.
    pub(super) fn undoing(changes: Vec<Change>, base: &Value) -> Self {
        let undone = changes.into_iter().rev().map(|Change { pointer, kind }| {
            let kind = match kind {
                ChangeKind::Add(value) => ChangeKind::Remove(value),
                ChangeKind::Remove(value) => ChangeKind::Add(value),
                ChangeKind::Replace { before, after } => ChangeKind::Replace { before: after, after: before },
            };
            Change { pointer, kind }
        });
        Self::new(base, undone.collect())
    }

    fn new(base: &Value, changes: Vec<Change>) -> Self {
        let mut differences = Self::default();
        differences.add(base, changes);
        differences
    }

    fn add(&mut self, base: &Value, changes: Vec<Change>) {
        for change in changes {
            let step = |segment: &Segment| match segment {
                Segment::Key(key) => Step::Key(key.clone()),
                Segment::Index(_) => Step::Elements,
            };
            self.paths.insert(&Vec::from_iter(change.pointer.segments().iter().map(step)));
            self.found.push(Difference { change, base: base.clone() });
        }
    }

    /// Their paths, with everything below them.
    pub(super) const fn paths(&self) -> &PathSet {
        &self.paths
    }

    /// Whether a policy may read or write one of them.
    fn concern(&self, policy: &Ran<'_>) -> bool {
        policy.paths().any(|paths| paths.intersects(&self.paths))
    }
}

/// The other state that belongs to a state of the run.
fn apply(differences: &[Difference], object: &Value) -> Option<Value> {
    if !differences.iter().all(|one| has_same_lists(&one.change, &one.base, object)) {
        return None;
    }
    let mut object = object.clone();
    differences.iter().try_for_each(|one| apply_change(&one.change, &mut object))?;
    Some(object)
}

/// Whether the lists above a node have the same elements in two objects.
fn has_same_lists(change: &Change, one: &Value, other: &Value) -> bool {
    let mut nodes = [one, other];
    for segment in change.pointer.segments() {
        if nodes[0].same_storage(nodes[1]) {
            return true;
        }
        if let [Value::Array(one), Value::Array(other)] = nodes
            && !are_aligned(one, other)
            && one != other
        {
            return false;
        }
        let [one, other] = nodes.map(|node| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.as_array().and_then(|elements| elements.get(*index)),
        });
        let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
        nodes = [one, other];
    }
    true
}

fn apply_change(change: &Change, object: &mut Value) -> Option<()> {
    let Some((last, parents)) = change.pointer.segments().split_last() else {
        *object = match &change.kind {
            ChangeKind::Add(value) | ChangeKind::Replace { after: value, .. } => value.clone(),
            ChangeKind::Remove(_) => return None,
        };
        return Some(());
    };
    let parent = parents.iter().try_fold(object, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut()?.get_mut(key),
        Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
    })?;
    match (last, &change.kind) {
        (Segment::Key(key), ChangeKind::Add(value) | ChangeKind::Replace { after: value, .. }) => {
            parent.as_object_mut()?.insert(key.clone(), value.clone());
        }
        (Segment::Key(key), ChangeKind::Remove(_)) => {
            parent.as_object_mut()?.shift_remove(key)?;
        }
        (Segment::Index(index), ChangeKind::Add(value)) => {
            let elements = parent.as_array_mut().filter(|elements| *index <= elements.len())?;
            elements.insert(*index, value.clone());
        }
        (Segment::Index(index), ChangeKind::Replace { after, .. }) => {
            *parent.as_array_mut()?.get_mut(*index)? = after.clone();
        }
        (Segment::Index(index), ChangeKind::Remove(_)) => {
            let elements = parent.as_array_mut().filter(|elements| *index < elements.len())?;
            elements.remove(*index);
        }
    }
    Some(())
}
