//! What is noted, against all orders.

use proptest::prelude::*;

use crate::engine::evaluation::{Input, evaluate};
use crate::engine::generated::{PATCHES, objects, policies, policy};
use crate::engine::order::run_all;
use crate::engine::{EmptyWorld, Engine, Limits, Settings};
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
    checked_within(Limits::default(), policies)
}

fn checked_within(limits: Limits, policies: Vec<Policy>) -> (Vec<OrderDependence>, usize) {
    let object = yaml::parse_value("{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}").unwrap();
    let engine = Engine::new(PolicySet::new(policies), Settings { limits, ..Settings::default() });
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
    let label = |name| format!("patchesJson6902: '[{{op: add, path: /metadata/labels/{name}, value: x}}]'");
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
fn the_results_of_other_orders_are_bounded() {
    let patch = "patchesJson6902: '[{op: add, path: /list/-, value: OUT}]'";
    for (report_bytes, is_compared) in [(100_000, true), (1000, false)] {
        let limits = Limits { report_bytes, ..Limits::default() };
        let (noted, _) = checked_within(limits, labelling(20, patch));
        assert_eq!((noted.len(), noted[0].policies.len()), (1, 20));
        assert_eq!(!noted[0].fields.is_empty(), is_compared);
    }
}

#[test]
fn policies_are_grouped_by_their_conflicts() {
    assert_eq!(permutations(&[1, 2, 3]).len(), 6);
    assert_eq!(swapped(&[1, 2, 3], (1, 3)), [3, 2, 1]);
    let all: BTreeSet<(usize, usize)> = [(1, 2), (4, 5), (2, 7)].into();
    assert_eq!(groups(&all), [vec![1, 2, 7], vec![4, 5]]);
}
