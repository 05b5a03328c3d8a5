//! Whether the result for an object depends on the order of the policies.
//!
//! Other orders are evaluated only where a policy changed a path that another one may read or write.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::policy::{Policy, PolicyException};
use crate::report::{OrderDependence, PolicyReport};
use crate::value::{Change, PathSet, Pointer, Segment, Text, Value, are_aligned, changes};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;
use super::rerun::{after_same_effect, with_members};

/// Up to so many policies in conflict, all their orders are evaluated.
const ALL_ORDERS: usize = 6;

/// Where more pairs of policies depend on their order, one note names all the policies.
const MAX_PAIRS: usize = 10;

/// So many states of an object are compared with one, to find out whether a policy does the same with it.
const MAX_COMPARED: usize = 8;

/// How often a policy is evaluated for the other orders of one object, at most.
const MAX_EVALUATIONS: usize = 600;

/// A policy that changed an object.
pub(super) struct Step {
    /// The number of the policy.
    pub(super) number: usize,
    pub(super) before: Value,
    pub(super) after: Value,
}

/// What depends on the order of policies, given what each changed in the order of the run.
pub(super) fn check(evaluation: &Evaluation<'_>, steps: &[Step]) -> Vec<OrderDependence> {
    if !evaluation.engine.settings.checks_order || steps.is_empty() {
        return Vec::new();
    }
    Search::new(evaluation, steps).run()
}

struct Search<'a> {
    evaluation: &'a Evaluation<'a>,
    /// What policies changed in the order of the run.
    steps: &'a [Step],
    /// The policies that concern some state of the object, and their parts.
    policies: BTreeMap<usize, (&'a Policy, Cow<'a, [usize]>)>,
    /// What policies changed in some order.
    changes: BTreeMap<usize, PathSet>,
    /// Pairs of policies of which one changed what the other may read or write.
    conflicts: BTreeSet<(usize, usize)>,
    /// What each policy did with each state of the object that it was evaluated on.
    results: BTreeMap<usize, Vec<Known>>,
    /// How often a policy may still be evaluated.
    left: usize,
}

/// What a policy did with an object.
struct Known {
    before: Value,
    after: Value,
    has_failed: bool,
    /// The differences between them, once they are needed.
    changes: OnceCell<Vec<Change>>,
}

impl Known {
    const fn new(before: Value, after: Value, has_failed: bool) -> Self {
        Self { before, after, has_failed, changes: OnceCell::new() }
    }

    /// Another object after the policy, if the objects differ in nothing that the policy reads or writes.
    fn after(&self, object: &Value) -> Option<Value> {
        let Self { before, after, .. } = self;
        if before.same_storage(after) {
            return Some(object.clone());
        }
        let changes = self.changes.get_or_init(|| changes(before, after));
        with_members(before, changes, object).or_else(|| after_same_effect(before, after, object))
    }
}

/// More evaluations than [`MAX_EVALUATIONS`] are needed.
struct TooMany;

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
            policies: BTreeMap::new(),
            changes: BTreeMap::new(),
            conflicts: BTreeSet::new(),
            results: BTreeMap::new(),
            left: MAX_EVALUATIONS,
        };
        for Step { number, before, after } in steps {
            let known = Known::new(before.clone(), after.clone(), false);
            search.results.entry(*number).or_default().push(known);
        }
        search.find_policies(&evaluation.placed.object);
        for Step { number, before, after } in steps {
            if !have_same_metadata(before, after) {
                search.find_policies(after);
            }
            search.note(*number, before, after);
        }
        search
    }

    /// Evaluates the policies in conflict in other orders, until these show no further conflict.
    fn run(&mut self) -> Vec<OrderDependence> {
        let mut found = Vec::new();
        loop {
            let known = self.conflicts.len();
            self.find_conflicts();
            if self.conflicts.len() == known {
                return found;
            }
            let groups = groups(&self.conflicts);
            let next: Vec<_> = groups.iter().flat_map(|group| self.compare(group)).collect();
            if self.left == 0 && !found.is_empty() {
                return found;
            }
            found = next;
        }
    }

    /// Adds the policies that concern a state of the object.
    fn find_policies(&mut self, object: &Value) {
        let candidates = self.evaluation.policies;
        if self.evaluation.needs_all(object) {
            let all = candidates.numbered().map(|(number, policy, parts)| (number, (policy, parts)));
            self.policies.extend(all);
            return;
        }
        for (number, policy, parts) in candidates.walk(&self.evaluation.candidate(object, None)) {
            self.policies.entry(number).or_insert((policy, parts));
        }
    }

    /// Adds what a policy changed.
    fn note(&mut self, number: usize, before: &Value, after: &Value) {
        let mut differences = PathSet::differences(before, after);
        if !have_same_metadata(before, after) {
            unreadable(before, after).for_each(|field| differences.insert_keys(&field));
        }
        self.changes.entry(number).or_default().extend(&differences);
    }

    fn find_conflicts(&mut self) {
        // A map that one policy created another one may create in another order.
        let mut created = PathSet::default();
        self.changes.values().for_each(|changed| created.extend(&changed.nodes()));
        let readers = self.policies.iter().filter(|(_, (policy, parts))| touches(policy, parts, &created));
        let readers: BTreeSet<usize> = readers.map(|(number, _)| *number).collect();
        if !readers.is_empty() {
            for (number, (policy, parts)) in &self.policies {
                for rule in parts.iter().filter_map(|part| policy.paths(*part)) {
                    let maps = rule.writes.parents_in(&created);
                    if !maps.is_empty() {
                        self.changes.entry(*number).or_default().extend(&maps);
                    }
                }
            }
        }
        let engine = self.evaluation.engine;
        let exceptions = engine.settings.exceptions.all();
        for (changing, changed) in &self.changes {
            let is_read_by_exception = exceptions.iter().any(|exception| reads(exception, changed));
            let met = engine.met.by(&engine.policies, *changing, changed);
            for (number, (policy, parts)) in &self.policies {
                let pair = (*number.min(changing), *number.max(changing));
                let may_touch = met.is_none_or(|met| met[*number]) || readers.contains(number);
                if number != changing
                    && (is_read_by_exception || may_touch)
                    && !self.conflicts.contains(&pair)
                    && self.is_order_open(*number, *changing)
                    && (is_read_by_exception || touches(policy, parts, changed))
                {
                    self.conflicts.insert(pair);
                }
            }
        }
    }

    /// Whether a cluster may run two policies in either order. Those of the API server always come before webhooks.
    fn is_order_open(&self, one: usize, other: usize) -> bool {
        let policies = self.evaluation.engine.policies.policies();
        let is_first = |number: usize| policies.get(number).map(Policy::runs_in_api_server);
        is_first(one) == is_first(other)
    }

    /// Compares orders of policies in conflict with that of the run.
    fn compare(&mut self, group: &[usize]) -> Vec<OrderDependence> {
        let is_inside = |(one, other): &&(usize, usize)| group.contains(one) && group.contains(other);
        let conflicts: Vec<(usize, usize)> = self.conflicts.iter().filter(is_inside).copied().collect();
        // Policies before these conflict with none of them.
        let first = self.steps.iter().find(|step| group.first().is_some_and(|first| step.number >= *first));
        let start = first.map_or(&self.evaluation.placed.object, |step| &step.before);
        let compared = self.evaluate(start, group).and_then(|ending| {
            let different = self.find_different(start, &ending, group, &conflicts)?;
            Ok(different.map(|different| (ending, different)))
        });
        match compared {
            Err(TooMany) => {
                vec![OrderDependence { policies: self.names(group), ..OrderDependence::default() }]
            }
            Ok(None) => Vec::new(),
            Ok(Some((ending, different))) => {
                let pairs = if group.len() > 2 { self.find_pairs(start, &conflicts) } else { Ok(Vec::new()) };
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
            let one = self.evaluate(start, &[*first, *second])?;
            let other = self.evaluate(start, &[*second, *first])?;
            if one != other {
                found.push(self.dependence(&[*first, *second], &one, &other));
            }
        }
        Ok(found)
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
        let results = self.results.entry(number).or_default();
        let before = ending.object;
        let known = results.iter().find(|known| known.before.same_storage(&before));
        let (after, has_failed) = if let Some(known) = known {
            (known.after.clone(), known.has_failed)
        } else {
            self.left = self.left.checked_sub(1).ok_or(TooMany)?;
            let evaluation = self.evaluation;
            let Some((policy, parts)) = self.policies.get(&number) else {
                return Ok(Ending { object: before, ..ending });
            };
            let exceptions = evaluation.engine.settings.exceptions.all();
            let known =
                if exceptions.is_empty() { known_effect(policy, parts, results, &before) } else { None };
            let is_known = known.is_some();
            let (after, has_failed) = known.unwrap_or_else(|| {
                let run = || family::run(evaluation, policy, parts, Some(number), &before);
                let PolicyRun { report, after } = evaluation.aside(run);
                let has_failed = report.as_ref().is_some_and(PolicyReport::has_error);
                (after.unwrap_or_else(|| before.clone()), has_failed)
            });
            results.push(Known::new(before.clone(), after.clone(), has_failed));
            if !have_same_metadata(&before, &after) {
                self.find_policies(&after);
            }
            if !is_known && !after.same_storage(&before) {
                self.note(number, &before, &after);
            }
            (after, has_failed)
        };
        if has_failed {
            ending.failed.insert(number);
        }
        Ok(Ending { object: after, ..ending })
    }

    fn names<'n>(&self, policies: impl IntoIterator<Item = &'n usize>) -> Vec<Text> {
        let name = |number: &usize| {
            let (policy, _) = self.policies.get(number)?;
            let name = policy.full_name();
            let mut others = self.policies.iter().filter(|(other, _)| *other != number);
            let is_shared = others.any(|(_, (other, _))| other.full_name() == name);
            Some(if is_shared { format!("{} {name}", policy.meta().kind).into() } else { name })
        };
        policies.into_iter().filter_map(name).collect()
    }

    fn dependence(&self, policies: &[usize], one: &Ending, other: &Ending) -> OrderDependence {
        let settings = &self.evaluation.engine.settings;
        let fields = changes(&one.object, &other.object);
        let fields: BTreeSet<Pointer> =
            fields.iter().map(|change| field(&change.pointer, [&one.object, &other.object])).collect();
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

/// What a policy does with an object, and whether it fails, if it ran on another state that differs in nothing that it may
/// read or write.
fn known_effect(
    policy: &Policy,
    parts: &[usize],
    results: &[Known],
    object: &Value,
) -> Option<(Value, bool)> {
    results.iter().rev().take(MAX_COMPARED).find_map(|known| {
        let before = &known.before;
        let mut rules = parts.iter().filter_map(|part| policy.paths(*part));
        let is_changed = |paths: &PathSet| {
            let is_unreadable = |field: Field| {
                let mut fields = PathSet::default();
                fields.insert_keys(&field);
                paths.intersects(&fields)
            };
            paths.is_changed(before, object)
                || !have_same_metadata(before, object) && unreadable(before, object).any(is_unreadable)
        };
        if rules.any(|rule| is_changed(&rule.reads) || is_changed(&rule.writes)) {
            return None;
        }
        Some((known.after(object)?, known.has_failed))
    })
}

/// Whether a policy may read or write one of these paths.
fn touches(policy: &Policy, parts: &[usize], paths: &PathSet) -> bool {
    let mut rules = parts.iter().filter_map(|part| policy.paths(*part));
    rules.any(|rule| rule.reads.intersects(paths) || rule.writes.intersects(paths))
}

fn have_same_metadata(before: &Value, after: &Value) -> bool {
    let metadata = [before, after].map(|object| object.get("metadata"));
    matches!(metadata, [Some(before), Some(after)] if before.same_storage(after))
}

fn reads(exception: &PolicyException, paths: &PathSet) -> bool {
    exception.reads().intersects(paths)
}

/// The sets of policies that conflict with each other, directly or by way of others.
fn groups(conflicts: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut groups: Vec<BTreeSet<usize>> = Vec::new();
    for (one, other) in conflicts {
        let (joined, mut apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| group.contains(one) || group.contains(other));
        apart.push(joined.into_iter().flatten().chain([*one, *other]).collect());
        groups = apart;
    }
    groups.into_iter().map(|group| group.into_iter().collect()).collect()
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

/// A field of an object, by its keys.
type Field = [&'static str; 2];

/// Labels and annotations that count as different as a whole: selectors read none of them if one is no string.
fn unreadable<'a>(before: &'a Value, after: &'a Value) -> impl Iterator<Item = Field> + 'a {
    let is_unreadable = move |field: &Field| {
        [before, after].iter().any(|object| {
            let members = object.path(field).and_then(Value::as_object);
            members.is_some_and(|members| members.values().any(|value| value.as_str().is_none()))
        })
    };
    [["metadata", "labels"], ["metadata", "annotations"]].into_iter().filter(is_unreadable)
}

/// The field of a difference: a list as a whole, unless it has the same elements in the same order in both objects.
fn field(difference: &Pointer, objects: [&Value; 2]) -> Pointer {
    let mut nodes = objects.map(Some);
    let is_known = |segment: &&Segment| {
        let lists = nodes.map(|node| node.and_then(Value::as_array));
        let is_known = match lists {
            [Some(one), Some(other)] => are_aligned(one, other),
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::engine::evaluation::{Input, evaluate};
    use crate::engine::generated::{PATCHES, objects, policies, policy};
    use crate::engine::order::run_all;
    use crate::engine::{EmptyWorld, Engine, Settings};
    use crate::policy::PolicySet;
    use crate::report::ObjectReport;
    use crate::yaml;

    use super::*;

    fn mutate(object: &Value, policies: &[Policy], checks_order: bool) -> ObjectReport {
        let settings = Settings { checks_order, ..Settings::default() };
        Engine::new(PolicySet::new(policies.to_vec()), settings).mutate(object, None, &EmptyWorld)
    }

    /// The object after the policies, and those that fail.
    fn ending(object: &Value, policies: &[Policy]) -> (Value, BTreeSet<Text>) {
        let report = mutate(object, policies, false);
        let failed = report.policies.iter().filter(|policy| policy.has_error());
        let failed = failed.map(|policy| policy.policy.clone()).collect();
        (report.after, failed)
    }

    fn named(policies: &[Policy], names: &[Text]) -> Vec<Policy> {
        policies.iter().filter(|policy| names.contains(&policy.full_name())).cloned().collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn what_some_order_changes_is_noted_and_nothing_else(object in objects(), policies in policies()) {
            let object = yaml::parse_value(&object).unwrap();
            let policy = |(number, [condition, patch]): (usize, &[String; 2])| policy(number, condition, patch);
            let policies: Vec<Policy> = policies.iter().enumerate().map(policy).collect();
            let report = mutate(&object, &policies, true);
            let expected = ending(&object, &policies);
            prop_assert_eq!(&report.after, &expected.0);
            let numbers: Vec<usize> = (0..policies.len()).collect();
            let different = permutations(&numbers).into_iter().find(|order| {
                let policies: Vec<Policy> = order.iter().map(|number| policies[*number].clone()).collect();
                ending(&object, &policies) != expected
            });
            prop_assert_eq!(report.order.is_empty(), different.is_none(), "{:?} {:?}", different, report.order);
            for OrderDependence { policies: names, fields, failing, .. } in &report.order {
                prop_assert!(!fields.is_empty() || !failing.is_empty());
                if names.len() == 2 {
                    let mut pair = named(&policies, names);
                    let one = ending(&object, &pair);
                    pair.reverse();
                    prop_assert_ne!(one, ending(&object, &pair));
                }
            }
        }
    }

    fn permutations(members: &[usize]) -> Vec<Vec<usize>> {
        members.iter().fold(vec![Vec::new()], |shorter, member| {
            let insert = |order: Vec<usize>| {
                (0..=order.len()).map(move |place| [&order[..place], &[*member], &order[place..]].concat())
            };
            shorter.into_iter().flat_map(insert).collect()
        })
    }

    /// Policies that set a label each, on an object without labels.
    fn labelling(number: usize, patch: &str) -> Vec<Policy> {
        let patch = |number: usize| patch.replace("OUT", &format!("l{number}"));
        (0..number).map(|number| policy(number, "", &patch(number))).collect()
    }

    /// What is noted, and how many evaluations were left.
    fn checked(policies: Vec<Policy>) -> (Vec<OrderDependence>, usize) {
        let object = yaml::parse_value("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}").unwrap();
        let engine = Engine::new(PolicySet::new(policies), Settings::default());
        let input = Input { object: &object, original: None, old: None, world: &EmptyWorld };
        let checked = evaluate(&engine, input, |evaluation| {
            let (_, _, steps) = run_all(evaluation);
            let mut search = Search::new(evaluation, &steps);
            (search.run(), search.left)
        });
        checked.unwrap().0
    }

    #[test]
    fn labels_that_are_null_take_the_labels_of_all_policies() {
        let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, labels: null}, data: {b: 'y'}}";
        let label =
            |name| format!("patchesJson6902: '[{{op: add, path: /metadata/labels/{name}, value: x}}]'");
        let condition = "preconditions: {all: [{key: \"{{ length(request.object.metadata.labels || `{}`) }}\", operator: Equals, value: 1}]}, ";
        let selector = "exclude: {any: [{resources: {selector: {matchLabels: {b: x}}}}]}, ";
        let policies = [
            policy(0, condition, "patchStrategicMerge: {data: {b: 'y'}}"),
            policy(1, selector, &label("b")),
            policy(2, "", &label("a")),
        ];
        assert_eq!(mutate(&yaml::parse_value(object).unwrap(), &policies, true).order, []);
    }

    #[test]
    fn policies_of_other_labels_are_not_evaluated_again() {
        for patch in [4, 8] {
            let (noted, left) = checked(labelling(150, PATCHES[patch]));
            assert_eq!((noted, left), (Vec::new(), MAX_EVALUATIONS), "{}", PATCHES[patch]);
        }
    }

    #[test]
    fn evaluations_are_bounded() {
        let patch = "patchesJson6902: '[{op: add, path: /list/-, value: OUT}]'";
        for (number, expected) in [(20, true), (700, false)] {
            let (noted, _) = checked(labelling(number, patch));
            assert_eq!(noted.len(), 1);
            assert_eq!((noted[0].policies.len(), !noted[0].fields.is_empty()), (number, expected));
        }
    }

    #[test]
    fn policies_are_grouped_by_their_conflicts() {
        assert_eq!(permutations(&[1, 2, 3]).len(), 6);
        assert_eq!(swapped(&[1, 2, 3], (1, 3)), [3, 2, 1]);
        let all: BTreeSet<(usize, usize)> = [(1, 2), (4, 5), (2, 7)].into();
        assert_eq!(groups(&all), [vec![1, 2, 7], vec![4, 5]]);
    }
}
