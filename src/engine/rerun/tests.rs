//! What a rerun finds, against policies that run again.

use proptest::prelude::*;

use crate::engine::evaluation::{Input, evaluate};
use crate::engine::generated::{objects, policies, policy};
use crate::engine::views::{did_run, is_same, ran};
use crate::engine::{EmptyWorld, Engine, Settings, order};
use crate::policy::PolicySet;
use crate::yaml;

use super::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn only_policies_that_a_difference_concerns_do_something_else(
        object in objects(), other in objects(), policies in policies(),
    ) {
        let [object, other] = [object, other].map(|text| yaml::parse_value(&text).unwrap());
        // An API server refuses such labels.
        prop_assume!([&object, &other].iter().all(|object| {
            let labels = object.path(&["metadata", "labels"]).and_then(Value::as_object);
            labels.is_none_or(|labels| labels.values().all(|value| value.as_str().is_some()))
        }));
        // A number may become a string where a string was.
        prop_assume!(!policies.iter().any(|[_, patch]| patch.contains(": 1}")));
        let policy = |(number, [condition, patch]): (usize, &[String; 2])| policy(number, condition, patch);
        let policies = PolicySet::new(policies.iter().enumerate().map(policy).collect());
        let engine = Engine::new(policies, Settings::default());
        let input = Input { object: &object, original: None, old: None, world: &EmptyWorld };
        let checked = evaluate(&engine, input, |evaluation| {
            let (reports, _, steps) = order::run_all(evaluation);
            let ran = ran(evaluation, &reports, &steps).unwrap();
            let base = &evaluation.placed.object;
            let namespace = base.path(&["metadata", "namespace"]).cloned().unwrap_or_default();
            let mut other = other.clone();
            other.as_object_mut().unwrap().get_mut("metadata").unwrap().insert("namespace", namespace);
            let differences = Differences::between(evaluation, base, &other);
            let short = rerun(evaluation, &ran, || other.clone(), differences);
            let (effects, after) = evaluation.aside(|| run_all(evaluation, &ran, other.clone()));
            prop_assert!(!short.is_surely_other(evaluation, &ran, &after));
            prop_assert_eq!(short.result(evaluation, &ran, &other), after);
            for (policy, (short, whole)) in ran.iter().zip(short.effects.iter().zip(&effects)) {
                for rule in policy.report.rules.iter().filter(|rule| did_run(rule)) {
                    prop_assert_eq!(is_same(short, rule), is_same(whole, rule), "{}", rule.rule);
                }
            }
            Ok(())
        });
        checked.unwrap().0?;
    }
}
