//! What policies do with another state of the object: only those run again that a difference may concern.

mod pairs;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::policy::{Policy, RulePaths};
use crate::report::{Outcome, PolicyReport, SkipReason};
use crate::value::{
    Change, ChangeKind, Map, PathSet, Pointer, Segment, Step, Value, changes, changes_within,
};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;

pub(super) use pairs::ListPairs;

/// A policy that ran.
pub(super) struct Ran<'a> {
    pub(super) number: usize,
    pub(super) policy: &'a Policy,
    pub(super) parts: Cow<'a, [usize]>,
    pub(super) report: &'a PolicyReport,
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
    /// Beside those that concern no policy.
    Differences(Vec<Difference>),
}

impl Rerun {
    /// Whether a single value shows already that the other object after the policies is not this one, which is the object of
    /// the run after them with their changes alone.
    pub(super) fn is_surely_other(
        &self,
        evaluation: &Evaluation<'_>,
        ran: &[Ran<'_>],
        object: &Value,
    ) -> bool {
        let Ending::Differences(differences) = &self.ending else { return false };
        let after = ran.last().map_or(&evaluation.placed.object, |policy| policy.after);
        let mut pairs = ListPairs::default();
        differences.iter().filter(|one| one.is_of_scalars()).any(|one| {
            pointer_in(after, one, &mut pairs).is_some_and(|pointer| {
                has_same_elements([after, object], &pointer) && object.pointed(&pointer) != one.other()
            })
        })
    }

    /// The other object, which was `object` before the policies, after them.
    pub(super) fn result(&self, evaluation: &Evaluation<'_>, ran: &[Ran<'_>], object: &Value) -> Value {
        match &self.ending {
            Ending::Object(object) => object.clone(),
            Ending::Differences(differences) => {
                let before = &evaluation.placed.object;
                let after = ran.last().map_or(before, |policy| policy.after);
                let untouched = Differences::untouched(evaluation, before, object);
                let run = || evaluation.aside(|| run_all(evaluation, ran, object.clone())).1;
                apply(differences.iter().chain(&untouched), after).unwrap_or_else(run)
            }
        }
    }
}

/// Runs policies again where the object before them differs, without effect on the report.
pub(super) fn rerun(
    evaluation: &Evaluation<'_>,
    ran: &[Ran<'_>],
    object: impl Fn() -> Value,
    differences: Differences,
) -> Rerun {
    let rerun = || rerun_concerned(evaluation, ran, differences);
    evaluation.aside(rerun).unwrap_or_else(|| {
        let (effects, object) = evaluation.aside(|| run_all(evaluation, ran, object()));
        Rerun { effects, ending: Ending::Object(object) }
    })
}

/// `None` if differences below a list cannot be followed, because its elements came, went or moved.
fn rerun_concerned(
    evaluation: &Evaluation<'_>,
    ran: &[Ran<'_>],
    mut differences: Differences,
) -> Option<Rerun> {
    let concerns_all = concerns_all(evaluation);
    let mut effects = Vec::with_capacity(ran.len());
    for policy in ran {
        if !concerns_all && (!differences.concern(policy) || differences.are_overwritten(policy)) {
            effects.push(Effect::Same);
            continue;
        }
        let is_concerning = |one: &Difference| concerns_all || policy.touches(&one.change.pointer);
        let concerning: Vec<bool> = differences.found.iter().map(is_concerning).collect();
        let found = differences.found.iter().zip(&concerning);
        let before = apply(found.filter(|(_, is)| **is).map(|(one, _)| one), policy.before)?;
        let (report, after) = run(evaluation, policy, before.clone());
        effects.push(Effect::Rerun(report));
        if !policy.before.same_storage(policy.after) || !after.same_storage(&before) {
            let mut concerning = concerning.into_iter();
            differences.found.retain(|_| !concerning.next().unwrap_or_default());
            differences.add(policy.after, changes(policy.after, &after));
        }
    }
    Some(Rerun { effects, ending: Ending::Differences(differences.found) })
}

fn run_all(evaluation: &Evaluation<'_>, ran: &[Ran<'_>], object: Value) -> (Vec<Effect>, Value) {
    let mut current = object;
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
    fn rules(&self) -> impl Iterator<Item = &RulePaths> {
        self.parts.iter().filter_map(|part| self.policy.paths(*part))
    }

    /// What its rules may read or write.
    fn paths(&self) -> impl Iterator<Item = &PathSet> {
        self.rules().map(RulePaths::touched)
    }

    pub(super) fn may_read(&self, field: &Pointer) -> bool {
        self.rules().any(|rule| rule.reads.overlaps(field))
    }

    pub(super) fn may_write(&self, field: &Pointer) -> bool {
        self.rules().any(|rule| rule.writes.overlaps(field))
    }

    fn touches(&self, field: &Pointer) -> bool {
        self.paths().any(|paths| paths.overlaps(field))
    }
}

/// Where another state of the object differs in what policies may read or write.
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
    pub(super) fn between(evaluation: &Evaluation<'_>, base: &Value, other: &Value) -> Self {
        let mut differences = Self::default();
        differences.add(base, touched_changes(evaluation, base, other));
        differences
    }

    /// This one.
    pub(super) fn of(base: &Value, change: Change) -> Self {
        let mut differences = Self::default();
        differences.add(base, [change]);
        differences
    }

    /// The other differences.
    fn untouched(evaluation: &Evaluation<'_>, base: &Value, other: &Value) -> Vec<Difference> {
        let Some(touched) = touched(evaluation) else { return Vec::new() };
        let untouched = changes(base, other).into_iter().filter(|change| !touched.overlaps(&change.pointer));
        untouched.map(|change| Difference { change, base: base.clone() }).collect()
    }

    fn add(&mut self, base: &Value, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            let step = |segment: &Segment| match segment {
                Segment::Key(key) => Step::Key(key.clone()),
                Segment::Index(_) => Step::Elements,
            };
            let path = Vec::from_iter(change.pointer.segments().iter().map(step));
            let insert = if is_empty_map(&change) { PathSet::insert_node } else { PathSet::insert };
            insert(&mut self.paths, &path);
            self.found.push(Difference { change, base: base.clone() });
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether a policy may read or write one of them.
    pub(super) fn concern(&self, policy: &Ran<'_>) -> bool {
        !self.found.is_empty() && policy.paths().any(|paths| paths.intersects(&self.paths))
    }

    /// Whether a policy does the same with them, because what it reads is equal, and it sets what it writes to other values
    /// or leaves it as it is. Those that it sets are no differences after it.
    fn are_overwritten(&mut self, policy: &Ran<'_>) -> bool {
        if policy.rules().any(|rule| rule.reads.intersects(&self.paths)) {
            return false;
        }
        let mut applied = policy.report.rules.iter().filter(|rule| !is_skipped(&rule.outcome));
        match (applied.next().map(|rule| &rule.outcome), applied.next()) {
            (None, _) => return true,
            (Some(Outcome::Patched { .. } | Outcome::NoChange), None) => {}
            _ => return false,
        }
        let mut is_set = Vec::with_capacity(self.found.len());
        let mut pairs = ListPairs::default();
        for one in &self.found {
            if !one.may_be_written(policy) || one.is_left(policy, &mut pairs) {
                is_set.push(false);
            } else if one.is_overwritten(policy, &mut pairs) {
                is_set.push(true);
            } else {
                return false;
            }
        }
        let mut is_set = is_set.into_iter();
        self.found.retain(|_| !is_set.next().unwrap_or_default());
        true
    }
}

/// The changes that policies may read or write.
fn touched_changes(evaluation: &Evaluation<'_>, base: &Value, other: &Value) -> Vec<Change> {
    match touched(evaluation) {
        Some(touched) => changes_within(touched, base, other),
        None => changes(base, other),
    }
}

/// What policies may read or write; `None`: everything.
fn touched<'a>(evaluation: &Evaluation<'a>) -> Option<&'a PathSet> {
    (!concerns_all(evaluation)).then(|| evaluation.engine.policies.paths())
}

/// Whether policies may read anything, because exceptions do.
fn concerns_all(evaluation: &Evaluation<'_>) -> bool {
    !evaluation.engine.settings.exceptions.all().is_empty()
}

/// Whether a rule does not apply, whatever the values are that it would write.
const fn is_skipped(outcome: &Outcome) -> bool {
    use SkipReason::{Anchor, NotSelected, Preconditions};
    matches!(outcome, Outcome::Skipped(NotSelected(_) | Preconditions { .. } | Anchor { .. }))
}

impl Difference {
    /// Whether an empty map came or went: then no more differs than whether it exists.
    fn is_empty_map(&self) -> bool {
        is_empty_map(&self.change)
    }

    /// Whether only scalars came, went or changed.
    const fn is_of_scalars(&self) -> bool {
        match &self.change.kind {
            ChangeKind::Add(value) | ChangeKind::Remove(value) => is_scalar(value),
            ChangeKind::Replace { before, after } => is_scalar(before) && is_scalar(after),
        }
    }

    /// The value in the other state.
    const fn other(&self) -> Option<&Value> {
        match &self.change.kind {
            ChangeKind::Add(value) | ChangeKind::Replace { after: value, .. } => Some(value),
            ChangeKind::Remove(_) => None,
        }
    }

    fn may_be_written(&self, policy: &Ran<'_>) -> bool {
        let writes: fn(&PathSet, &Pointer) -> bool =
            if self.is_empty_map() { PathSet::contains } else { PathSet::overlaps };
        policy.rules().any(|rule| writes(&rule.writes, &self.change.pointer))
    }

    /// Whether a policy leaves the field as it is: it can only set it to other values, and would have.
    fn is_left<'v>(&'v self, policy: &Ran<'v>, pairs: &mut ListPairs<'v>) -> bool {
        let pointer = &self.change.pointer;
        let [before, after] = [policy.before, policy.after].map(|object| object.pointed(pointer));
        let (Some(value), true) = (before, before == after) else { return false };
        let sets_others = |rule: &RulePaths| {
            let constants = rule.constants.iter().flatten().filter(|(path, _)| is_at(pointer, path));
            let are_other: Vec<bool> = constants.map(|(_, constant)| is_other(value, constant)).collect();
            !are_other.is_empty() && !are_other.contains(&false)
        };
        let mut rules = policy.rules().filter(|rule| rule.writes.overlaps(pointer));
        rules.all(sets_others) && self.is_at_its_place(policy, pairs)
    }

    /// Whether the field is at the same place before and after a policy as where the difference was found.
    fn is_at_its_place<'v>(&'v self, policy: &Ran<'v>, pairs: &mut ListPairs<'v>) -> bool {
        let mut objects = [policy.before, policy.after].into_iter();
        objects.all(|object| matches!(pointer_in(object, self, pairs), Some(Cow::Borrowed(_))))
    }

    /// Whether a policy sets the field to a value that it has in neither state.
    fn is_overwritten<'v>(&'v self, policy: &Ran<'v>, pairs: &mut ListPairs<'v>) -> bool {
        let pointer = &self.change.pointer;
        let Some(after) = policy.after.pointed(pointer).filter(|value| is_scalar(value)) else {
            return false;
        };
        policy.before.pointed(pointer) != Some(after)
            && self.other() != Some(after)
            && self.is_at_its_place(policy, pairs)
    }
}

/// Whether a pointer goes along a path.
fn is_at(pointer: &Pointer, path: &[Step]) -> bool {
    let segments = pointer.segments();
    let is_step = |(segment, step): (&Segment, &Step)| match (segment, step) {
        (Segment::Key(key), Step::Key(name)) => key == name,
        (Segment::Index(_), Step::Elements) => true,
        _ => false,
    };
    segments.len() == path.len() && segments.iter().zip(path).all(is_step)
}

/// Whether two strings or booleans differ.
fn is_other(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one != other,
        (Value::Bool(one), Value::Bool(other)) => one != other,
        _ => false,
    }
}

fn is_empty_map(change: &Change) -> bool {
    let is_member = matches!(change.pointer.segments().last(), Some(Segment::Key(_)));
    is_member
        && match &change.kind {
            ChangeKind::Add(value) | ChangeKind::Remove(value) => {
                value.as_object().is_some_and(Map::is_empty)
            }
            ChangeKind::Replace { .. } => false,
        }
}

pub(super) const fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Whether two objects have as many elements in each list above a field.
pub(super) fn has_same_elements(objects: [&Value; 2], field: &Pointer) -> bool {
    let mut nodes = objects.map(Some);
    field.segments().iter().all(|segment| {
        let [one, other] = nodes;
        let lengths = nodes.map(|node| node.and_then(Value::as_array).map(<[Value]>::len));
        nodes = [one, other].map(|node| match segment {
            Segment::Key(key) => node.and_then(|node| node.get(key)),
            Segment::Index(index) => node.and_then(|node| node.at(*index)),
        });
        matches!(segment, Segment::Key(_)) || lengths[0].is_some() && lengths[0] == lengths[1]
    })
}

/// The other state that belongs to a state of the run.
fn apply<'d>(differences: impl Iterator<Item = &'d Difference>, object: &'d Value) -> Option<Value> {
    let mut other = object.clone();
    let mut pairs = ListPairs::default();
    for one in differences {
        let pointer = pointer_in(object, one, &mut pairs)?;
        // Where policies wrote into an empty map, it is in both states.
        let is_filled = || {
            let members = other.pointed(&pointer).map(Value::as_object);
            members.is_some_and(|members| members.is_none_or(|members| !members.is_empty()))
        };
        if !one.is_empty_map() || !is_filled() {
            apply_change(&one.change.kind, &pointer, &mut other)?;
        }
    }
    Some(other)
}

/// Another object after a policy that made `after` of `before`, if the objects differ in nothing that the policy reads or
/// writes. `None` as for [`pointer_in`].
pub(super) fn after_same_effect(before: &Value, after: &Value, object: &Value) -> Option<Value> {
    let differences = changes(before, object);
    // A map where the other object has none, such as `labels: null`: what the policy wrote below it would be lost.
    let is_rewritten = |change: &Change| {
        let ChangeKind::Replace { before, after: other } = &change.kind else { return false };
        !(is_scalar(before) && is_scalar(other)) && after.pointed(&change.pointer) != Some(before)
    };
    if differences.iter().any(is_rewritten) {
        return None;
    }
    let difference = |change| Difference { change, base: before.clone() };
    let differences: Vec<Difference> = differences.into_iter().map(difference).collect();
    apply(differences.iter(), after)
}

/// An object with the changes of a policy that set members where it ran. `None` if there are other changes, the object has
/// other values there, or the policy moved elements of a list that the object has otherwise.
pub(super) fn with_members(
    (base, after): (&Value, &Value),
    changes: &[Change],
    object: &Value,
) -> Option<Value> {
    let mut changed = object.clone();
    let [mut of_object, mut of_policy] = [ListPairs::default(), ListPairs::default()];
    for change in changes {
        let Change { pointer, kind } = change;
        let present = object.pointed(pointer);
        let is_free = matches!(pointer.segments().last(), Some(Segment::Key(_)))
            && match kind {
                ChangeKind::Add(_) => present.is_none(),
                ChangeKind::Replace { before, after } => {
                    is_scalar(before) && is_scalar(after) && present == Some(before)
                }
                ChangeKind::Remove(value) => present == Some(value),
            };
        if !is_free
            || !keeps_place(base, pointer, object, &mut of_object)
            || moves_elements((base, after), pointer, object, &mut of_policy)
        {
            return None;
        }
        apply_change(kind, pointer, &mut changed)?;
    }
    Some(changed)
}

/// Whether each list above a field has the same elements in both objects.
pub(super) fn keeps_place<'v>(
    base: &'v Value,
    field: &Pointer,
    object: &'v Value,
    pairs: &mut ListPairs<'v>,
) -> bool {
    let mut nodes = [base, object];
    for segment in field.segments() {
        let [one, other] = nodes;
        if one.same_storage(other) {
            return true;
        }
        if let (Value::Array(one), Value::Array(other)) = (one, other)
            && !pairs.are_aligned(one, other)
        {
            return false;
        }
        let below = nodes.map(|node| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        });
        match below {
            [Some(one), Some(other)] => nodes = [one, other],
            found => return found == [None, None],
        }
    }
    true
}

/// Whether the elements of a list above a field have other places after a policy. Where the object has the same list as the
/// policy, that is all the same.
fn moves_elements<'v>(
    (base, after): (&'v Value, &'v Value),
    field: &Pointer,
    object: &'v Value,
    pairs: &mut ListPairs<'v>,
) -> bool {
    let mut nodes = [base, after, object];
    for segment in field.segments() {
        let [base, after, object] = nodes;
        if base.same_storage(object) {
            return false;
        }
        if let (Value::Array(base), Value::Array(after)) = (base, after)
            && !pairs.are_aligned(base, after)
        {
            return true;
        }
        let below = nodes.map(|node| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        });
        match below {
            [Some(base), Some(after), Some(object)] => nodes = [base, after, object],
            _ => return false,
        }
    }
    false
}

/// Where a difference is in another state of the run: elements with a name keep it. `None` if elements of a list above
/// came, went or moved that have none.
fn pointer_in<'d>(
    object: &'d Value,
    difference: &'d Difference,
    pairs: &mut ListPairs<'d>,
) -> Option<Cow<'d, Pointer>> {
    let pointer = &difference.change.pointer;
    let mut moved: Option<Vec<Segment>> = None;
    let mut nodes = [&difference.base, object];
    for (depth, segment) in pointer.segments().iter().enumerate() {
        if nodes[0].same_storage(nodes[1]) {
            break;
        }
        let mut other = segment.clone();
        if let ([Value::Array(one), Value::Array(list)], Segment::Index(index)) = (nodes, segment)
            && !pairs.have_same_places(one, list)
        {
            let is_element = depth + 1 == pointer.segments().len();
            let place = if is_element { None } else { pairs.place_by_name(*index, one, list) }?;
            moved.get_or_insert_with(|| pointer.segments().to_vec())[depth] = Segment::Index(place);
            other = Segment::Index(place);
        }
        let below = [(nodes[0], segment), (nodes[1], &other)].map(|(node, segment)| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        });
        match below {
            [Some(one), Some(other)] => nodes = [one, other],
            [None, None] => break,
            _ => return None,
        }
    }
    Some(moved.map_or(Cow::Borrowed(pointer), |segments| Cow::Owned(segments.into_iter().collect())))
}

/// `None` if the object has no such place.
pub(super) fn apply_change(kind: &ChangeKind, pointer: &Pointer, object: &mut Value) -> Option<()> {
    let Some((last, parents)) = pointer.segments().split_last() else {
        *object = match kind {
            ChangeKind::Add(value) | ChangeKind::Replace { after: value, .. } => value.clone(),
            ChangeKind::Remove(_) => return None,
        };
        return Some(());
    };
    let parent = object.pointed_mut(parents)?;
    match (last, kind) {
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
