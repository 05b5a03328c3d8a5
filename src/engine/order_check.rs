//! Whether the result for an object depends on the order of the policies.
//!
//! Other orders are evaluated only where a policy changed a path that another one may read or write.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::policy::{Policy, PolicyException};
use crate::report::{OrderDependence, PolicyReport};
use crate::value::{PathSet, Pointer, Segment, Text, Value, are_aligned, changes};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;

/// Up to so many policies in conflict, all their orders are evaluated.
const ALL_ORDERS: usize = 6;

/// How many conflicting pairs of more policies are swapped, besides the reverse order.
const MAX_SWAPPED_PAIRS: usize = 100;

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
    let mut search = Search {
        evaluation,
        steps,
        policies: BTreeMap::new(),
        changes: BTreeMap::new(),
        conflicts: BTreeSet::new(),
    };
    search.find_policies(&evaluation.placed.object);
    search.note(steps);
    search.run()
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
}

/// How policies leave the object.
#[derive(Clone, PartialEq)]
struct Ending {
    object: Value,
    /// The policies that fail.
    failed: BTreeSet<usize>,
}

impl Search<'_> {
    /// Evaluates the policies in conflict in other orders. In these policies may change more, and so conflict with more.
    fn run(&mut self) -> Vec<OrderDependence> {
        self.find_conflicts();
        loop {
            let known = self.conflicts.len();
            let mut found = Vec::new();
            for group in groups(&self.conflicts) {
                found.extend(self.compare(&group));
            }
            self.find_conflicts();
            if !found.is_empty() || self.conflicts.len() == known {
                return found;
            }
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

    /// Adds what policies changed.
    fn note(&mut self, steps: &[Step]) {
        for Step { number, before, after } in steps {
            let differences = PathSet::differences(before, after);
            let metadata = [before, after].map(|object| object.get("metadata"));
            if !matches!(metadata, [Some(before), Some(after)] if before.same_storage(after)) {
                self.find_policies(after);
            }
            self.changes.entry(*number).or_default().extend(&differences);
        }
    }

    fn find_conflicts(&mut self) {
        for (changing, changed) in &self.changes {
            let exceptions = self.evaluation.engine.settings.exceptions.all();
            let is_read_by_exception = || exceptions.iter().any(|exception| reads(exception, changed));
            let is_read_by_exception = !exceptions.is_empty() && is_read_by_exception();
            for (number, (policy, parts)) in &self.policies {
                if number != changing && (is_read_by_exception || touches(policy, parts, changed)) {
                    self.conflicts.insert((*number.min(changing), *number.max(changing)));
                }
            }
        }
    }

    /// Compares orders of policies in conflict with that of the run.
    fn compare(&mut self, group: &[usize]) -> Vec<OrderDependence> {
        let is_inside = |(one, other): &&(usize, usize)| group.contains(one) && group.contains(other);
        let conflicts: Vec<(usize, usize)> = self.conflicts.iter().filter(is_inside).copied().collect();
        // Policies before these conflict with none of them.
        let first = self.steps.iter().find(|step| group.first().is_some_and(|first| step.number >= *first));
        let start = first.map_or(&self.evaluation.placed.object, |step| &step.before);
        let ending = self.evaluate(start, group);
        let mut different = None;
        for order in orders(group, &conflicts) {
            let other = self.evaluate(start, &order);
            if other != ending {
                different = Some(other);
                break;
            }
        }
        if different.is_none() && group.len() > 2 && group.len() <= ALL_ORDERS {
            different = self.all_endings(start, group).into_iter().find(|other| *other != ending);
        }
        let Some(different) = different else { return Vec::new() };
        let mut found = Vec::new();
        for (first, second) in conflicts.into_iter().filter(|_| group.len() > 2) {
            let [one, other] = [[first, second], [second, first]].map(|order| self.evaluate(start, &order));
            if one != other {
                found.push(self.dependence(&[first, second], &one, &other));
            }
        }
        if found.is_empty() {
            found.push(self.dependence(group, &ending, &different));
        }
        found
    }

    /// How these policies alone leave the object, in all orders. Orders that begin with the same policies and get the
    /// same object go on together.
    fn all_endings(&mut self, start: &Value, group: &[usize]) -> Vec<Ending> {
        let begin = Ending { object: start.clone(), failed: BTreeSet::new() };
        let mut by_policies = BTreeMap::from([(BTreeSet::<usize>::new(), vec![begin])]);
        for _ in group {
            let mut next: BTreeMap<BTreeSet<usize>, Vec<Ending>> = BTreeMap::new();
            for (done, endings) in by_policies {
                for number in group.iter().filter(|number| !done.contains(*number)) {
                    let known = next.entry(done.iter().copied().chain([*number]).collect()).or_default();
                    for ending in &endings {
                        let ending = self.run_policy(*number, ending.clone());
                        if !known.contains(&ending) {
                            known.push(ending);
                        }
                    }
                }
            }
            by_policies = next;
        }
        by_policies.into_values().flatten().collect()
    }

    /// Runs these policies alone, in this order.
    fn evaluate(&mut self, start: &Value, order: &[usize]) -> Ending {
        let begin = Ending { object: start.clone(), failed: BTreeSet::new() };
        order.iter().fold(begin, |ending, number| self.run_policy(*number, ending))
    }

    fn run_policy(&mut self, number: usize, mut ending: Ending) -> Ending {
        let before = ending.object.clone();
        let is_known = |step: &&Step| step.number == number && step.before.same_storage(&before);
        if let Some(step) = self.steps.iter().find(is_known) {
            return Ending { object: step.after.clone(), ..ending };
        }
        let evaluation = self.evaluation;
        let Some((policy, parts)) = self.policies.get(&number) else { return ending };
        let run = || family::run(evaluation, policy, parts, Some(number), &before);
        let PolicyRun { report, after } = evaluation.aside(run);
        if report.as_ref().is_some_and(PolicyReport::has_error) {
            ending.failed.insert(number);
        }
        if let Some(after) = after.filter(|after| !after.same_storage(&before)) {
            ending.object = after.clone();
            self.note(&[Step { number, before, after }]);
        }
        ending
    }

    fn dependence(&self, policies: &[usize], one: &Ending, other: &Ending) -> OrderDependence {
        let name = |number: &usize| self.policies.get(number).map(|(policy, _)| policy.full_name());
        let fields = changes(&one.object, &other.object);
        let fields: BTreeSet<Pointer> =
            fields.iter().map(|change| field(&change.pointer, [&one.object, &other.object])).collect();
        let failing: Vec<Text> = one.failed.symmetric_difference(&other.failed).filter_map(name).collect();
        OrderDependence {
            policies: policies.iter().filter_map(name).collect(),
            fields: fields.into_iter().collect(),
            failing,
        }
    }
}

/// Whether a policy may read or write one of these paths.
fn touches(policy: &Policy, parts: &[usize], paths: &PathSet) -> bool {
    let mut rules = parts.iter().filter_map(|part| policy.paths(*part));
    rules.any(|rule| rule.reads.intersects(paths) || rule.writes.intersects(paths))
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

/// The reverse order, and for more than [`ALL_ORDERS`] policies those in which a pair in conflict is swapped.
fn orders(group: &[usize], conflicts: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let mut orders: Vec<Vec<usize>> = vec![group.iter().rev().copied().collect()];
    if group.len() > ALL_ORDERS {
        orders.extend(conflicts.iter().take(MAX_SWAPPED_PAIRS).map(|(one, other)| {
            let swapped = |number: &usize| match number {
                number if number == one => *other,
                number if number == other => *one,
                number => *number,
            };
            group.iter().map(swapped).collect()
        }));
    }
    orders
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

    use crate::engine::{EmptyWorld, Engine, Settings};
    use crate::policy::{PolicySet, parse};
    use crate::report::ObjectReport;
    use crate::semantics::Semantics;
    use crate::yaml;

    use super::*;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    /// What the rule of a policy requires.
    const CONDITIONS: [&str; 4] = [
        "",
        "preconditions: {all: [{key: \"{{ request.object.data.IN || '' }}\", operator: Equals, value: x}]}, ",
        "preconditions: {all: [{key: \"{{ request.object.data.IN || '' }}\", operator: NotEquals, value: ''}]}, ",
        "exclude: {any: [{resources: {selector: {matchLabels: {IN: x}}}}]}, ",
    ];

    /// What it writes.
    const PATCHES: [&str; 8] = [
        "patchStrategicMerge: {data: {OUT: x}}",
        "patchStrategicMerge: {data: {OUT: y}}",
        "patchStrategicMerge: {data: {+(OUT): z}}",
        "patchStrategicMerge: {data: {OUT: null}}",
        "patchStrategicMerge: {metadata: {labels: {OUT: x}}}",
        "patchStrategicMerge: {data: {OUT: \"{{ request.object.data.IN || 'none' }}\"}}",
        // Fails without the field.
        "patchesJson6902: '[{op: replace, path: /data/OUT, value: r}]'",
        "patchesJson6902: '[{op: add, path: /list/-, value: OUT}]'",
    ];

    fn policy(number: usize, condition: &str, patch: &str) -> Policy {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p{number}}}, spec: {{background: false, \
             rules: [{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, {condition} mutate: {{{patch}}}}}]}}}}"
        );
        parse(&yaml::parse_value(&text).unwrap(), Semantics::Documented).unwrap()
    }

    fn object() -> Value {
        let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {a: x, b: y}, list: []}";
        yaml::parse_value(text).unwrap()
    }

    fn mutate(policies: &[Policy], checks_order: bool) -> ObjectReport {
        let settings = Settings { checks_order, ..Settings::default() };
        Engine::new(PolicySet::new(policies.to_vec()), settings).mutate(&object(), None, &EmptyWorld)
    }

    /// The object after the policies, and those that fail.
    fn ending(policies: &[Policy]) -> (Value, BTreeSet<Text>) {
        let report = mutate(policies, false);
        let failed = report.policies.iter().filter(|policy| policy.has_error());
        let failed = failed.map(|policy| policy.policy.clone()).collect();
        (report.after, failed)
    }

    fn named(policies: &[Policy], names: &[Text]) -> Vec<Policy> {
        policies.iter().filter(|policy| names.contains(&policy.full_name())).cloned().collect()
    }

    fn policies() -> impl Strategy<Value = Vec<Policy>> {
        let one = (0..CONDITIONS.len(), 0..PATCHES.len(), 0..NAMES.len(), 0..NAMES.len());
        proptest::collection::vec(one, 2..=6).prop_map(|all| {
            let policy =
                |(number, (condition, patch, input, output)): (usize, (usize, usize, usize, usize))| {
                    let [condition, patch] = [CONDITIONS[condition], PATCHES[patch]]
                        .map(|text| text.replace("IN", NAMES[input]).replace("OUT", NAMES[output]));
                    policy(number, &condition, &patch)
                };
            all.into_iter().enumerate().map(policy).collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn what_some_order_changes_is_noted_and_nothing_else(policies in policies()) {
            let report = mutate(&policies, true);
            let expected = ending(&policies);
            prop_assert_eq!(&report.after, &expected.0);
            let numbers: Vec<usize> = (0..policies.len()).collect();
            let different = permutations(&numbers).into_iter().find(|order| {
                let policies: Vec<Policy> = order.iter().map(|number| policies[*number].clone()).collect();
                ending(&policies) != expected
            });
            prop_assert_eq!(report.order.is_empty(), different.is_none(), "{:?} {:?}", different, report.order);
            for OrderDependence { policies: names, fields, failing } in &report.order {
                prop_assert!(!fields.is_empty() || !failing.is_empty());
                if names.len() == 2 {
                    let mut pair = named(&policies, names);
                    let one = ending(&pair);
                    pair.reverse();
                    prop_assert_ne!(one, ending(&pair));
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

    #[test]
    fn policies_are_grouped_by_their_conflicts() {
        assert_eq!(permutations(&[1, 2, 3]).len(), 6);
        assert_eq!(orders(&[1, 2], &[(1, 2)]), [[2, 1]]);
        let all: BTreeSet<(usize, usize)> = [(1, 2), (4, 5), (2, 7)].into();
        assert_eq!(groups(&all), [vec![1, 2, 7], vec![4, 5]]);
    }
}
