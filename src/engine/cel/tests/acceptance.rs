//! The acceptance cases that no other file has, under both semantics. Each was run on the API server, Kyverno's
//! admission controller or both.

use super::{By, CONFIG_MAP, POD, mutations, policy, result, run, run_with};
use crate::engine::Settings;
use crate::policy::{CelException, CelExceptions, PolicyError, parse};
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml::parse_value;

const BOTH: [By; 2] = [By::ApiServer, By::Kyverno];

fn apply(configuration: &str) -> String {
    let configuration = configuration.replace('\'', "''");
    format!("{{patchType: ApplyConfiguration, applyConfiguration: {{expression: '{configuration}'}}}}")
}

fn label(name: &str, value: &str) -> String {
    format!("Object{{metadata: Object.metadata{{labels: {{\"{name}\": {value}}}}}}}")
}

#[test]
fn json_patches() {
    let missing = "JSONPatch{op: \"remove\", path: \"/metadata/annotations/zz\"}";
    let last = "JSONPatch{op: \"replace\", path: \"/spec/containers/-1/image\", value: \"other\"}";
    let beyond = "JSONPatch{op: \"add\", path: \"/spec/containers/9\", value: {\"name\": \"x\"}}";
    for by in BOTH {
        let run = |patch: &str, at: &str| result(by, &mutations(&[patch]), POD, at);
        assert!(run(missing, "").contains("zz"), "T32 {by:?}: {}", run(missing, ""));
        assert!(run(last, "spec.containers").ends_with(r#"{"name":"b","image":"other"}]"#), "T35 {by:?}");
        assert!(run(beyond, "").contains("index"), "T35 {by:?}: {}", run(beyond, ""));
    }
}

#[test]
fn mutations_see_what_earlier_ones_did() {
    for by in BOTH {
        let all = [label("a", "\"1\""), label("b", "object.metadata.labels.a + \"x\"")];
        let spec = format!("mutations: [{}, {}]", apply(&all[0]), apply(&all[1]));
        let found = result(by, &spec, POD, "metadata.labels");
        assert_eq!(found, r#"{"app":"x","a":"1","b":"1x"}"#, "T41 {by:?}");
    }
}

/// What the compiler says of a policy.
fn refusal(by: By, spec: &str) -> String {
    let document = parse_value(&policy(by, "p", spec)).unwrap();
    let refusals = [Semantics::Documented, Semantics::Kyverno].map(|semantics| {
        let errors = parse(&document, semantics).err().unwrap_or_default();
        errors.iter().map(PolicyError::to_string).collect::<Vec<_>>().join("; ")
    });
    assert_eq!(refusals[0], refusals[1], "{spec}");
    refusals[0].clone()
}

#[test]
fn policies_are_refused() {
    let both = [
        (
            "T47",
            "matchConditions: [{name: a, expression: object.metadata.?x.orValue(true)}], MUTATIONS",
            "must evaluate to bool",
        ),
        ("T48", "mutations: [LABELS]", "expected type 'dyn' but found 'string'"),
        ("T49", "mutations: [BARE]", "must evaluate to list(JSONPatch)"),
        ("T49", "mutations: [CHOICE]", ""),
    ];
    let texts = |spec: &str| {
        let labels =
            apply("Object{metadata: Object.metadata{labels: {\"a\": object.metadata.name, \"b\": \"x\"}}}");
        let choice = "{patchType: JSONPatch, jsonPatch: {expression: 'true ? [JSONPatch{op: \"x\"}] : []'}}";
        let bare = "{patchType: JSONPatch, jsonPatch: {expression: '[]'}}";
        spec.replace("MUTATIONS", &mutations(&[]))
            .replace("LABELS", &labels)
            .replace("BARE", bare)
            .replace("CHOICE", choice)
    };
    for (id, spec, expected) in both {
        for by in BOTH {
            let spec = texts(spec).replace("mutations: []", &format!("mutations: [{}]", apply("Object{}")));
            let found = refusal(by, &spec);
            assert!(
                found.contains(expected) && found.is_empty() == expected.is_empty(),
                "{id} {by:?}: {found}"
            );
        }
    }
    let spec = format!("mutations: [{}]", apply(&label("a", "string(request.object.metadata.name)")));
    assert!(refusal(By::ApiServer, &spec).contains("undefined field 'object'"), "T50");
    assert_eq!(result(By::Kyverno, &spec, POD, "metadata.labels.a"), "\"p\"", "T50");
}

#[test]
fn a_condition_may_see_the_label_of_another_policy_but_no_selector() {
    let set = format!("mutations: [{}]", apply(&label("first", "\"1\"")));
    let seen = format!("mutations: [{}]", apply(&label("seen", "\"1\"")));
    let condition = "matchConditions: [{name: c, expression: '\"first\" in object.metadata.labels'}]";
    for by in BOTH {
        let policies = [policy(by, "a", &set), policy(by, "b", &format!("{condition}, {seen}"))];
        let labels = run(&policies, CONFIG_MAP).after.path(&["metadata", "labels"]).map(Value::to_json);
        assert_eq!(labels.as_deref(), Some(r#"{"app":"x","first":"1","seen":"1"}"#), "T55 {by:?}");
    }
    let selected = policy(By::ApiServer, "b", &seen)
        .replace("matchConstraints: {", "matchConstraints: {objectSelector: {matchLabels: {first: '1'}}, ");
    let report = run(&[policy(By::ApiServer, "a", &set), selected], CONFIG_MAP);
    let labels = report.after.path(&["metadata", "labels"]).map(Value::to_json);
    assert_eq!(labels.as_deref(), Some(r#"{"app":"x","first":"1"}"#), "T55");
}

fn exception(name: &str, fields: &str) -> CelException {
    let text = format!(
        "{{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {{name: {name}, namespace: shop}}, \
         spec: {{policyRefs: [{{name: p, kind: MutatingPolicy}}], {fields}}}}}"
    );
    CelException::parse(&parse_value(&text).unwrap()).unwrap()
}

#[test]
fn exceptions_exempt_or_allow_values() {
    let values = label("v", "exceptions.allowedValues.join(\"-\")");
    let spec = format!("mutations: [{}]", apply(&values));
    let exceptions = || {
        let condition = "matchConditions: [{name: c, expression: 'object.metadata.name == \"c\"'}]";
        vec![exception("full", condition), exception("partial", "allowedValues: [one, two]")]
    };
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        let labels = |object: &str| {
            let settings = Settings {
                semantics,
                cel_exceptions: CelExceptions::new(exceptions()),
                ..Settings::default()
            };
            let report = run_with(&[policy(By::Kyverno, "p", &spec)], object, settings);
            report.after.path(&["metadata", "labels"]).map(Value::to_json).unwrap_or_default()
        };
        assert_eq!(labels(CONFIG_MAP), r#"{"app":"x"}"#, "T62");
        assert_eq!(labels(POD), r#"{"app":"x","v":"one-two"}"#, "T62");
    }
}

#[test]
fn expressions_have_a_cost_limit() {
    let ten = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]";
    let all = ["a", "b", "c", "d", "e"].iter().rev();
    let expression =
        all.fold("a + b + c + d + e >= 0".to_owned(), |inner, name| format!("{ten}.all({name}, {inner})"));
    for by in BOTH {
        let patch =
            format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/a\", value: string({expression})}}");
        let found = result(by, &mutations(&[&patch]), POD, "");
        assert!(found.contains("cost limit"), "T63 {by:?}: {found}");
    }
}

#[test]
fn or_value_does_not_rescue_a_missing_field() {
    let spec = |text: &str| format!("mutations: [{}]", apply(&label("a", text)));
    let found = result(By::Kyverno, &spec("string(object.nope.orValue(\"d\"))"), POD, "metadata.labels.a");
    assert_eq!(found, "no such key: nope", "T64");
    for by in BOTH {
        let found = result(by, &spec("string(object.?nope.orValue(\"d\"))"), POD, "metadata.labels.a");
        assert_eq!(found, "\"d\"", "T64 {by:?}");
    }
}
