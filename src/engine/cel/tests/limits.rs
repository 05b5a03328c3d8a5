//! Values and patches that grow with each step are stopped, with an error that names the limit.

use super::{By, CONFIG_MAP, json_patch, mutations, policy, result, result_under, run_with};
use crate::engine::Settings;
use crate::report::Outcome;
use crate::semantics::Semantics;

/// Variables of which each is a list with the one before, twice: the last has 2^28 values.
fn doubling_variables() -> String {
    let lists = (1..=28)
        .map(|n| format!("{{name: v{n}, expression: '[variables.v{}, variables.v{}]'}}", n - 1, n - 1));
    let all: Vec<String> =
        std::iter::once("{name: v0, expression: '[\"x\"]'}".to_owned()).chain(lists).collect();
    format!("variables: [{}]", all.join(", "))
}

const COST_LIMIT: &str =
    "operation cancelled: actual cost limit exceeded, the cost limit of 1,000,000 for one expression";

#[test]
fn variables_that_double_are_stopped_wherever_they_are_walked() {
    let all = doubling_variables();
    let patch = |value: &str| {
        let patch = format!("JSONPatch{{op: \"add\", path: \"/data/x\", value: {value}}}");
        format!("mutations: [{}]", json_patch(&patch))
    };
    let configuration = |value: &str| {
        format!(
            "mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: 'Object{{data: {value}}}'}}}}]"
        )
    };
    for (by, mutations, expected) in [
        (By::ApiServer, patch("variables.v28"), "operation cancelled"),
        (By::Kyverno, patch("Object{a: variables.v28}"), COST_LIMIT),
        (By::Kyverno, patch("\"%s\".format([variables.v28])"), "operation cancelled"),
        (By::Kyverno, configuration("{\"a\": string([variables.v28] == [variables.v28])}"), COST_LIMIT),
    ] {
        let spec = format!("{all}, {mutations}");
        let found = result_under(Semantics::Kyverno, by, &spec, CONFIG_MAP, "");
        assert!(found.contains(expected), "{mutations} {by:?}: {found}");
    }
}

#[test]
fn an_explanation_of_variables_that_double_ends() {
    let condition = "matchConditions: [{name: a, expression: 'variables.v28.size() == 3'}]";
    let spec = format!("{}, {condition}, {}", doubling_variables(), mutations(&[]));
    let settings = Settings { trace: true, ..Settings::default() };
    let report = run_with(&[policy(By::Kyverno, "p", &spec)], CONFIG_MAP, settings);
    let rule = &report.policies[0].rules[0];
    assert!(matches!(rule.outcome, Outcome::Skipped(_)));
    let trace = rule.trace.as_ref().unwrap();
    let last = trace.variables.iter().find(|variable| *variable.expression == *"variables.v28").unwrap();
    assert!(last.value.as_ref().is_err_and(|error| error.0.contains("too large")), "{:?}", last.value);
}

#[test]
fn patches_that_double_the_object_are_stopped() {
    let copies = (0..20).map(|n| format!("JSONPatch{{op: \"copy\", from: \"/data\", path: \"/data/x{n}\"}}"));
    let patch = copies.collect::<Vec<_>>().join(", ");
    for by in [By::ApiServer, By::Kyverno] {
        let found = result(by, &mutations(&[&patch]), CONFIG_MAP, "");
        let limit = "patch limit: more than 100000 values copied, which no option changes";
        assert!(found.ends_with(limit), "{by:?}: {found}");
    }
}

#[test]
fn many_mutations_of_a_large_object_are_stopped() {
    let data = "x".repeat(16 << 20);
    let object = CONFIG_MAP.replace("{k: v}", &format!("{{k: v, large: {data}}}"));
    assert_ne!(object, CONFIG_MAP);
    let patches: Vec<String> =
        (0..70).map(|n| format!("JSONPatch{{op: \"add\", path: \"/data/x{n}\", value: \"a\"}}")).collect();
    let patches: Vec<&str> = patches.iter().map(String::as_str).collect();
    for by in [By::ApiServer, By::Kyverno] {
        let found = result(by, &mutations(&patches), &object, "");
        let limit = "read more than 1 GiB of the object together, which no option changes";
        assert!(found.ends_with(limit), "{by:?}: {}", found.len());
        let found = result(by, &mutations(&patches[..60]), &object, "data.x59");
        assert_eq!(found, "\"a\"", "{by:?}");
    }
}

#[test]
fn an_exceeded_limit_names_the_variable_and_points_at_it() {
    let variables = "variables: [{name: few, expression: '[1]'}, {name: many, expression: \
         'lists.range(1000).map(x, lists.range(1000).map(y, x * y))'}, {name: more, expression: 'variables.many + \
         [variables.few]'}]";
    let patch = "JSONPatch{op: \"add\", path: \"/x\", value: size(variables.few) + size(variables.more)}";
    for by in [By::ApiServer, By::Kyverno] {
        let spec = format!("{variables}, {}", mutations(&[patch]));
        let report = run_with(&[policy(by, "p", &spec)], CONFIG_MAP, Settings::default());
        let Outcome::Error(error) = &report.policies[0].rules[0].outcome else { panic!("no error, {by:?}") };
        let message = format!(": variables.more: variables.many: {COST_LIMIT}");
        assert!(error.message.ends_with(&message), "{by:?}: {}", error.message);
        let place = error.place.as_ref().unwrap().pointer.to_string();
        assert!(place.starts_with("spec.variables[1]"), "{by:?}: {place}");
    }
}
