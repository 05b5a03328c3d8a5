//! Whether the result for an object depends on the order of the policies.
//!
//! Other orders are evaluated only where a policy changed a path that another one may read or write.

mod concerned;
mod known;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::policy::{Policy, PolicyException};
use crate::report::{OrderDependence, PolicyReport};
use crate::value::{PathSet, Pointer, Segment, Text, Value, changes};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;
use super::rerun::ListPairs;

use concerned::{Concerned, ConcernedPolicies};
use known::{Known, have_same_metadata};

/// Up to so many policies in conflict, all their orders are evaluated.
const ALL_ORDERS: usize = 6;

/// Where more pairs of policies depend on their order, one note names all the policies.
const MAX_PAIRS: usize = 10;

/// How often a policy is evaluated for the other orders of one object, at most.
const MAX_EVALUATIONS: usize = 600;

/// The results of other orders of one object are kept, and may hold so many times what its reports may.
const REPORTS: usize = 2;

/// A policy that changed an object.
pub(super) struct Step {
    /// The number of the policy.
    pub(super) number: usize,
    pub(super) before: Value,
    pub(super) after: Value,
}

/// What depends on the order of policies, given what each changed in the order of the run.
pub(super) fn check(evaluation: &Evaluation<'_>, steps: &[Step]) -> Vec<OrderDependence> {
    let engine = evaluation.engine;
    if !engine.settings.checks_order || steps.is_empty() || engine.policies.policies().len() < 2 {
        return Vec::new();
    }
    Search::new(evaluation, steps).run()
}

struct Search<'a> {
    evaluation: &'a Evaluation<'a>,
    /// What policies changed in the order of the run.
    steps: &'a [Step],
    /// The policies that concern some state of the object.
    policies: ConcernedPolicies<'a>,
    /// Whether these are all that may concern an object of the kind.
    has_all_policies: bool,
    /// The maps that policies created in some order.
    created: PathSet,
    /// Whether maps or policies were found since policies were last compared with these maps.
    has_new_maps: bool,
    /// Pairs of policies of which one changed what the other may read or write.
    conflicts: BTreeSet<(usize, usize)>,
    /// How often a policy may still be evaluated.
    left: usize,
    /// The bytes that further results may hold.
    bytes_left: usize,
}

/// More evaluations than [`MAX_EVALUATIONS`] are needed, or their results hold too much.
struct TooMany;

/// What depends on the order of policies in conflict.
struct Group {
    policies: Vec<usize>,
    conflicts: Vec<(usize, usize)>,
    found: Vec<OrderDependence>,
}

/// How policies leave the object.
#[derive(Clone, PartialEq)]
struct Ending {
    object: Value,
    /// The policies that fail.
    failed: BTreeSet<usize>,
}

impl<'a> Search<'a> {
    fn new(evaluation: &'a Evaluation<'a>, steps: &'a [Step]) -> Self {
        let mut search = Search {
            evaluation,
            steps,
            policies: ConcernedPolicies::default(),
            has_all_policies: false,
            created: PathSet::default(),
            has_new_maps: true,
            conflicts: BTreeSet::new(),
            left: MAX_EVALUATIONS,
            bytes_left: evaluation.engine.settings.limits.report_bytes.saturating_mul(REPORTS),
        };
        search.find_policies(None, &evaluation.placed.object);
        for Step { number, before, after } in steps {
            if !have_same_metadata(before, after) {
                search.find_policies(Some(before), after);
            }
            let known = Known::new(before.clone(), after.clone(), false);
            search.note(*number, known.differences());
            search.keep(*number, known);
        }
        search
    }

    /// Evaluates the policies in conflict in other orders, until these show no further conflict.
    fn run(&mut self) -> Vec<OrderDependence> {
        let mut groups: Vec<Group> = Vec::new();
        let found = |groups: Vec<Group>| groups.into_iter().flat_map(|group| group.found).collect();
        loop {
            let known = self.conflicts.len();
            self.find_conflicts();
            if self.conflicts.len() == known {
                return found(groups);
            }
            let next = self.groups().into_iter().map(|group| {
                let Group { policies, conflicts, .. } = &group;
                let is_same = |known: &&Group| known.policies == *policies && known.conflicts == *conflicts;
                let found = match groups.iter().find(is_same) {
                    Some(known) => known.found.clone(),
                    None => self.compare(policies, conflicts),
                };
                Group { found, ..group }
            });
            let next = next.collect();
            if self.left == 0 && groups.iter().any(|group| !group.found.is_empty()) {
                return found(groups);
            }
            groups = next;
        }
    }

    /// Adds the policies that concern a state of the object. Those that concern the state before it, from which a policy
    /// made it, are known.
    fn find_policies(&mut self, before: Option<&Value>, object: &Value) {
        let Self { evaluation, policies, .. } = self;
        if self.has_all_policies {
            return;
        }
        let (candidates, known) = (evaluation.policies, policies.len());
        if evaluation.needs_all(object) {
            policies.add(candidates.numbered());
        } else if let Some(before) = before {
            policies.add(
                candidates.gained(&evaluation.candidate(before, None), &evaluation.candidate(object, None)),
            );
        } else {
            policies.add(candidates.walk(&evaluation.candidate(object, None)));
        }
        self.has_new_maps |= policies.len() > known;
        self.has_all_policies = policies.len() == candidates.most();
    }

    /// Adds what a policy changed.
    fn note(&mut self, number: usize, differences: &PathSet) {
        if let Some(created) = differences.nodes() {
            self.has_new_maps |= self.created.extend(&created);
        }
        if let Some(policy) = self.policies.get_mut(number) {
            policy.add_changes(differences);
        }
    }

    /// Keeps what a policy did.
    fn keep(&mut self, number: usize, known: Known) {
        if let Some(policy) = self.policies.get_mut(number) {
            policy.results.push(known);
        }
    }

    /// Finds the policies that may read, write or create the maps that policies created: in another order, another one
    /// creates them.
    fn find_creators(&mut self) {
        if !std::mem::take(&mut self.has_new_maps) {
            return;
        }
        let created = &self.created;
        for policy in self.policies.iter_mut() {
            if !policy.meets_created && policy.touches(created) {
                (policy.meets_created, policy.is_new) = (true, true);
            }
        }
        if !self.policies.iter().any(|policy| policy.meets_created) {
            return;
        }
        for policy in self.policies.iter_mut() {
            let rules = policy.parts.iter().filter_map(|part| policy.policy.paths(*part));
            let maps: Vec<PathSet> = rules.map(|rule| rule.writes.parents_in(created)).collect();
            maps.iter().for_each(|maps| policy.add_changes(maps));
        }
    }

    /// Compares what policies changed with what the others may read or write, as far as either is new.
    fn find_conflicts(&mut self) {
        self.find_creators();
        let engine = self.evaluation.engine;
        let exceptions = engine.settings.exceptions.all();
        for changing in self.policies.iter().filter(|policy| !policy.changes.is_empty()) {
            let changed = &changing.changes;
            let is_read_by_exception = exceptions.iter().any(|exception| reads(exception, changed));
            let met = engine.met.by(&engine.policies, changing.number, changed);
            for policy in self.policies.iter().filter(|policy| changing.is_new || policy.is_new) {
                let number = policy.number;
                let pair = (number.min(changing.number), number.max(changing.number));
                let may_touch = met.is_none_or(|met| met[number]) || policy.meets_created;
                if number != changing.number
                    && (is_read_by_exception || may_touch)
                    && !self.conflicts.contains(&pair)
                    && self.is_order_open(number, changing.number)
                    && (is_read_by_exception || policy.touches(changed))
                {
                    self.conflicts.insert(pair);
                }
            }
        }
        self.policies.iter_mut().for_each(|policy| policy.is_new = false);
    }

    /// Whether a cluster may run two policies in either order. Those of the API server always come before webhooks.
    fn is_order_open(&self, one: usize, other: usize) -> bool {
        let policies = self.evaluation.engine.policies.policies();
        let is_first = |number: usize| policies.get(number).map(Policy::runs_in_api_server);
        is_first(one) == is_first(other)
    }

    /// The sets of policies that conflict with each other, directly or by way of others, each with its conflicts.
    fn groups(&self) -> Vec<Group> {
        let with_conflicts = |policies: Vec<usize>| {
            let inside = self.conflicts.iter().filter(|(one, _)| policies.binary_search(one).is_ok());
            let conflicts = inside.copied().collect();
            Group { policies, conflicts, found: Vec::new() }
        };
        groups(&self.conflicts).into_iter().map(with_conflicts).collect()
    }

    /// Compares orders of policies in conflict with that of the run.
    fn compare(&mut self, group: &[usize], conflicts: &[(usize, usize)]) -> Vec<OrderDependence> {
        // Policies before these conflict with none of them.
        let first = self.steps.iter().find(|step| group.first().is_some_and(|first| step.number >= *first));
        let start = first.map_or(&self.evaluation.placed.object, |step| &step.before);
        let compared = self.evaluate(start, group).and_then(|ending| {
            let different = self.find_different(start, &ending, group, conflicts)?;
            Ok(different.map(|different| (ending, different)))
        });
        match compared {
            Err(TooMany) => {
                vec![OrderDependence { policies: self.names(group), ..OrderDependence::default() }]
            }
            Ok(None) => Vec::new(),
            Ok(Some((ending, different))) => {
                let pairs = if group.len() > 2 { self.find_pairs(start, conflicts) } else { Ok(Vec::new()) };
                let pairs = pairs.ok().filter(|pairs| (1..=MAX_PAIRS).contains(&pairs.len()));
                pairs.unwrap_or_else(|| vec![self.dependence(group, &ending, &different)])
            }
        }
    }

    /// How these policies leave the object in an order in which they leave it otherwise.
    fn find_different(
        &mut self,
        start: &Value,
        ending: &Ending,
        group: &[usize],
        conflicts: &[(usize, usize)],
    ) -> Result<Option<Ending>, TooMany> {
        let reverse: Vec<usize> = group.iter().rev().copied().collect();
        let other = self.evaluate(start, &reverse)?;
        if other != *ending {
            return Ok(Some(other));
        }
        if group.len() == 2 {
            return Ok(None);
        }
        if group.len() <= ALL_ORDERS {
            return Ok(self.all_endings(start, group)?.into_iter().find(|other| other != ending));
        }
        for pair in conflicts {
            // Of many policies not all pairs are swapped.
            let Ok(other) = self.evaluate(start, &swapped(group, *pair)) else { return Ok(None) };
            if other != *ending {
                return Ok(Some(other));
            }
        }
        Ok(None)
    }

    /// The pairs that alone leave the object otherwise in the other order.
    fn find_pairs(
        &mut self,
        start: &Value,
        conflicts: &[(usize, usize)],
    ) -> Result<Vec<OrderDependence>, TooMany> {
        let mut found = Vec::new();
        for (first, second) in conflicts {
            if self.are_independent(start, *first, *second)? {
                continue;
            }
            let one = self.evaluate(start, &[*first, *second])?;
            let other = self.evaluate(start, &[*second, *first])?;
            if one != other {
                found.push(self.dependence(&[*first, *second], &one, &other));
            }
        }
        Ok(found)
    }

    /// Whether two policies leave this object the same in both orders, as neither changes what the other may read or
    /// write.
    fn are_independent(&mut self, object: &Value, one: usize, other: usize) -> Result<bool, TooMany> {
        if !self.evaluation.engine.settings.exceptions.all().is_empty() {
            return Ok(false);
        }
        for number in [one, other] {
            self.evaluate(object, &[number])?;
        }
        let leaves = |changing: usize, number: usize| {
            let mut results = self.policies.get(changing)?.results.iter();
            let known = results.find(|known| known.before.same_storage(object))?;
            Some(!self.policies.get(number)?.touches(known.differences()))
        };
        Ok(leaves(one, other) == Some(true) && leaves(other, one) == Some(true))
    }

    /// How these policies alone leave the object, in all orders. Orders that begin with the same policies and get the
    /// same object go on together, and of two neighbours without conflict one order is enough.
    fn all_endings(&mut self, start: &Value, group: &[usize]) -> Result<Vec<Ending>, TooMany> {
        let begin = Ending { object: start.clone(), failed: BTreeSet::new() };
        // With each ending, the policies that ran last.
        let mut by_policies = BTreeMap::from([(BTreeSet::<usize>::new(), vec![(begin, BTreeSet::new())])]);
        for _ in group {
            let mut next: BTreeMap<BTreeSet<usize>, Vec<(Ending, BTreeSet<usize>)>> = BTreeMap::new();
            for (done, endings) in by_policies {
                for number in group.iter().filter(|number| !done.contains(*number)) {
                    let known = next.entry(done.iter().copied().chain([*number]).collect()).or_default();
                    for (ending, last) in &endings {
                        let is_free =
                            |last: &usize| last > number && !self.conflicts.contains(&(*number, *last));
                        if last.iter().any(is_free) {
                            continue;
                        }
                        let ending = self.run_policy(*number, ending.clone())?;
                        if let Some((_, last)) = known.iter_mut().find(|(known, _)| *known == ending) {
                            last.insert(*number);
                        } else {
                            known.push((ending, BTreeSet::from([*number])));
                        }
                    }
                }
            }
            by_policies = next;
        }
        Ok(by_policies.into_values().flatten().map(|(ending, _)| ending).collect())
    }

    /// Runs these policies alone, in this order.
    fn evaluate(&mut self, start: &Value, order: &[usize]) -> Result<Ending, TooMany> {
        let begin = Ending { object: start.clone(), failed: BTreeSet::new() };
        order.iter().try_fold(begin, |ending, number| self.run_policy(*number, ending))
    }

    fn run_policy(&mut self, number: usize, mut ending: Ending) -> Result<Ending, TooMany> {
        let Some(policy) = self.policies.get(number) else { return Ok(ending) };
        let known = policy.results.iter().find(|known| known.before.same_storage(&ending.object));
        let (after, has_failed) = match known {
            Some(known) => (known.after.clone(), known.has_failed),
            None => self.run_on(number, &ending.object)?,
        };
        if has_failed {
            ending.failed.insert(number);
        }
        Ok(Ending { object: after, ..ending })
    }

    /// Runs a policy on a state of the object on which it did not run.
    fn run_on(&mut self, number: usize, before: &Value) -> Result<(Value, bool), TooMany> {
        self.left = self.left.checked_sub(1).ok_or(TooMany)?;
        let evaluation = self.evaluation;
        let Some(concerned) = self.policies.get(number) else { return Ok((before.clone(), false)) };
        let exceptions = evaluation.engine.settings.exceptions.all();
        let known = if exceptions.is_empty() { concerned.known_effect(before) } else { None };
        let is_known = known.is_some();
        let (after, has_failed) = known.unwrap_or_else(|| {
            let Concerned { policy, parts, .. } = concerned;
            let run = || family::run(evaluation, policy, parts, Some(number), before);
            let PolicyRun { report, after } = evaluation.aside(run);
            let has_failed = report.as_ref().is_some_and(PolicyReport::has_error);
            (after.unwrap_or_else(|| before.clone()), has_failed)
        });
        let bytes = after.bytes_beside(before, self.bytes_left);
        let Some(bytes_left) = self.bytes_left.checked_sub(bytes) else {
            self.left = 0;
            return Err(TooMany);
        };
        self.bytes_left = bytes_left;
        let known = Known::new(before.clone(), after.clone(), has_failed);
        if !have_same_metadata(before, &after) {
            self.find_policies(Some(before), &after);
        }
        if !is_known && !after.same_storage(before) {
            self.note(number, known.differences());
        }
        self.keep(number, known);
        Ok((after, has_failed))
    }

    fn names<'n>(&self, policies: impl IntoIterator<Item = &'n usize>) -> Vec<Text> {
        let is_shared = |one: &Concerned<'_>| {
            let mut others = self.policies.iter().filter(|other| other.number != one.number);
            others.any(|other| other.policy.meta().has_name_of(one.policy.meta()))
        };
        let name = |number: &usize| {
            let policy = self.policies.get(*number)?;
            let name = policy.policy.full_name();
            let kind = policy.policy.meta().kind;
            Some(if is_shared(policy) { format!("{kind} {name}").into() } else { name })
        };
        policies.into_iter().filter_map(name).collect()
    }

    fn dependence(&self, policies: &[usize], one: &Ending, other: &Ending) -> OrderDependence {
        let settings = &self.evaluation.engine.settings;
        let fields = changes(&one.object, &other.object);
        let objects = [&one.object, &other.object];
        let mut pairs = ListPairs::default();
        let fields: BTreeSet<Pointer> =
            fields.iter().map(|change| field(&change.pointer, objects, &mut pairs)).collect();
        OrderDependence {
            policies: self.names(policies),
            fields: fields.into_iter().collect(),
            failing: self.names(one.failed.symmetric_difference(&other.failed)),
            results: settings
                .keeps_order_results
                .then(|| Box::new([one.object.clone(), other.object.clone()])),
        }
    }
}

fn reads(exception: &PolicyException, paths: &PathSet) -> bool {
    exception.reads().intersects(paths)
}

/// The sets of policies that conflict with each other, directly or by way of others, each sorted.
fn groups(conflicts: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut neighbours: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (one, other) in conflicts {
        neighbours.entry(*one).or_default().push(*other);
        neighbours.entry(*other).or_default().push(*one);
    }
    let mut seen = BTreeSet::new();
    let mut groups = Vec::new();
    for start in neighbours.keys() {
        let mut group = Vec::new();
        let mut open = vec![*start];
        while let Some(number) = open.pop() {
            if seen.insert(number) {
                group.push(number);
                open.extend(neighbours.get(&number).into_iter().flatten());
            }
        }
        if !group.is_empty() {
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}

/// An order in which two policies have changed places.
fn swapped(group: &[usize], (one, other): (usize, usize)) -> Vec<usize> {
    let swapped = |number: &usize| match *number {
        number if number == one => other,
        number if number == other => one,
        number => number,
    };
    group.iter().map(swapped).collect()
}

/// The field of a difference: a list as a whole, unless it has the same elements in the same order in both objects.
fn field<'v>(difference: &Pointer, objects: [&'v Value; 2], pairs: &mut ListPairs<'v>) -> Pointer {
    let mut nodes = objects.map(Some);
    let is_known = |segment: &&Segment| {
        let lists = nodes.map(|node| node.and_then(Value::as_array));
        let is_known = match lists {
            [Some(one), Some(other)] => pairs.are_aligned(one, other),
            _ => true,
        };
        nodes = nodes.map(|node| match segment {
            Segment::Key(key) => node?.get(key),
            Segment::Index(index) => node?.as_array()?.get(*index),
        });
        is_known
    };
    difference.segments().iter().take_while(is_known).cloned().collect()
}
