//! CEL policies on objects. `T` numbers are those of the acceptance cases, checked with the API server and Kyverno.

mod acceptance;
mod apply;
mod limits;
mod values;

use crate::engine::{EmptyWorld, Engine, Settings, Targets};
use crate::policy::{PolicySet, parse};
use crate::report::{ObjectReport, Outcome, SkipReason};
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml::parse_value;

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop, labels: {app: x}, \
     annotations: {k1: v1, a/b: s}}, spec: {containers: [{name: a, image: 'nginx:1', env: [{name: FOO, \
     value: '1'}, {name: BAR, value: '2'}]}, {name: b, image: busybox}]}}";

const CONFIG_MAP: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {app: x}}, data: {k: v}}";

/// The kinds that run the same spec.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    ApiServer,
    Kyverno,
}

/// The `spec` with these members, for any object.
fn policy(by: By, name: &str, spec: &str) -> String {
    let (api_version, kind, more) = match by {
        By::ApiServer => {
            ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", "reinvocationPolicy: Never, ")
        }
        By::Kyverno => ("policies.kyverno.io/v1", "MutatingPolicy", ""),
    };
    format!(
        "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: {name}}}, spec: {{{more}matchConstraints: \
         {{resourceRules: [{{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}}]}}, {spec}}}}}"
    )
}

fn json_patch(operations: &str) -> String {
    let operations = operations.replace('\'', "''");
    format!("{{patchType: JSONPatch, jsonPatch: {{expression: '[{operations}]'}}}}")
}

fn mutations(patches: &[&str]) -> String {
    let patches: Vec<String> = patches.iter().map(|patch| json_patch(patch)).collect();
    format!("mutations: [{}]", patches.join(", "))
}

fn run(policies: &[String], object: &str) -> ObjectReport {
    run_with(policies, object, Settings { semantics: Semantics::Kyverno, ..Settings::default() })
}

fn run_with(policies: &[String], object: &str, settings: Settings) -> ObjectReport {
    let read = |text: &String| {
        let document = parse_value(text).unwrap();
        parse(&document, settings.semantics).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
    };
    let engine = Engine::new(PolicySet::new(policies.iter().map(read).collect()), settings);
    engine.mutate(&parse_value(object).unwrap(), None, &EmptyWorld)
}

/// The value at a dotted path of the changed object, or the error: the same under both semantics.
fn result(by: By, spec: &str, object: &str, at: &str) -> String {
    let [documented, kyverno] = [Semantics::Documented, Semantics::Kyverno]
        .map(|semantics| result_under(semantics, by, spec, object, at));
    assert_eq!(documented, kyverno, "{spec}");
    kyverno
}

fn result_under(semantics: Semantics, by: By, spec: &str, object: &str, at: &str) -> String {
    let settings = Settings { semantics, ..Settings::default() };
    let report = run_with(&[policy(by, "p", spec)], object, settings);
    match &report.policies[0].rules[0].outcome {
        Outcome::Error(error) => {
            assert_eq!(report.after.get("metadata"), report.before.get("metadata"), "{spec}");
            let words = error.words_of_kyverno();
            words.split_once(": ").map(|(_, message)| message.to_owned()).unwrap_or_default()
        }
        Outcome::Skipped(reason) => reason.to_string(),
        _ => {
            let keys: Vec<&str> = at.split('.').collect();
            report.after.path(&keys).map(Value::to_json).unwrap_or_default()
        }
    }
}

fn add(path: &str, value: &str) -> String {
    format!("JSONPatch{{op: \"add\", path: {path}, value: {value}}}")
}

/// Each is a name, a patch, an object, a path, and what is there afterwards or the error.
fn check_patches<const N: usize>(cases: [(&str, String, &str, &str, &str); N]) {
    for (id, patch, object, at, expected) in cases {
        for by in [By::ApiServer, By::Kyverno] {
            assert_eq!(result(by, &mutations(&[&patch]), object, at), expected, "{id} {by:?}");
        }
    }
}

#[test]
fn json_patches_change_the_object() {
    check_patches([
        (
            "T30",
            add("\"/metadata/annotations/x\"", "\"1\""),
            CONFIG_MAP,
            "",
            "add operation does not apply: doc is missing path: /metadata/annotations/x: missing value",
        ),
        (
            "T31",
            "JSONPatch{op: \"replace\", path: \"/metadata/annotations/zz\", value: \"1\"}".to_owned(),
            POD,
            "metadata.annotations.zz",
            "\"1\"",
        ),
        (
            "T33",
            format!(
                "{}, JSONPatch{{op: \"test\", path: \"/metadata/labels/app\", value: \"NO\"}}, {}",
                add("\"/metadata/labels/x\"", "\"1\""),
                add("\"/metadata/labels/y\"", "\"1\"")
            ),
            POD,
            "metadata.labels",
            r#"{"app":"x"}"#,
        ),
        (
            "T34",
            "JSONPatch{op: \"replace\", path: \"/metadata/annotations/\" + jsonpatch.escapeKey(\"a/b\"), value: \"n\"}"
                .to_owned(),
            POD,
            "metadata.annotations",
            r#"{"k1":"v1","a/b":"n"}"#,
        ),
        (
            "T36",
            "JSONPatch{op: \"copy\", from: \"/metadata/labels/zz\", path: \"/metadata/labels/c\"}".to_owned(),
            POD,
            "metadata.labels.c",
            "null",
        ),
        (
            "T37",
            add("\"/metadata/labels/n\"", "9007199254740993"),
            POD,
            "metadata.labels.n",
            "\"9007199254740993\"",
        ),
        (
            "T38",
            add("\"/spec/containers\"", "[Object.spec.containers{name: \"z\"}]"),
            POD,
            "",
            "the value is a list or map with an `Object{…}`, on which the API server and Kyverno crash; write maps, \
             or add a list to an existing one",
        ),
        (
            "T39",
            add(
                "\"/spec/containers/0/env\"",
                "object.spec.containers[0].env + [{\"name\": \"Z\", \"value\": \"9\"}]",
            ),
            POD,
            "spec.containers",
            r#"[{"name":"a","image":"nginx:1","env":[{"name":"FOO","value":"1"},{"name":"BAR","value":"2"},{"name":"Z","value":"9"}]},{"name":"b","image":"busybox"}]"#,
        ),
    ]);
}

#[test]
fn values_of_json_patches_are_checked() {
    check_patches([
        (
            "T40",
            "JSONPatch{op: \"foo\", path: \"/a\"}".to_owned(),
            POD,
            "",
            "`foo` is no operation of a JSON patch; expected `add`, `remove`, `replace`, `move`, `copy` or `test`",
        ),
        (
            "T40",
            "JSONPatch{path: \"/a\"}".to_owned(),
            POD,
            "",
            "the operation of a JSON patch has no `op`; expected `add`, `remove`, `replace`, `move`, `copy` or `test`",
        ),
        (
            "none",
            add("\"/metadata/labels/x\"", "optional.none()"),
            POD,
            "",
            "the value is optional.none(); write `?value:` to leave it out",
        ),
        ("of", add("\"/metadata/labels/x\"", "optional.of(\"o\")"), POD, "metadata.labels.x", "\"o\""),
        (
            "?value",
            "JSONPatch{op: \"add\", path: \"/metadata/labels/x\", ?value: optional.none()}".to_owned(),
            POD,
            "metadata.labels.x",
            "null",
        ),
        (
            "kind",
            "JSONPatch{op: \"remove\", path: \"/kind\"}".to_owned(),
            POD,
            "",
            "the patched object has no `apiVersion` or no `kind`, which a cluster refuses",
        ),
        (
            "names",
            add("\"/spec/securityContext\"", "Object.wrong{a: Object.bad{}}"),
            POD,
            "",
            "the type `Object.bad` does not fit its place, expected `Object.wrong.a`",
        ),
    ]);
}

#[test]
fn mutations_see_each_other() {
    let (first, second) = (
        "JSONPatch{op: \"add\", path: \"/metadata/labels/a\", value: string(variables.count)}",
        "JSONPatch{op: \"add\", path: \"/metadata/labels/b\", value: string(variables.count) + object.metadata.labels.a}",
    );
    let spec = format!(
        "variables: [{{name: count, expression: size(object.metadata.labels)}}], {}",
        mutations(&[first, second])
    );
    // T42: the API server evaluates variables again for each mutation, Kyverno once.
    assert_eq!(result(By::ApiServer, &spec, POD, "metadata.labels"), r#"{"app":"x","a":"1","b":"21"}"#);
    assert_eq!(result(By::Kyverno, &spec, POD, "metadata.labels"), r#"{"app":"x","a":"1","b":"11"}"#);
}

#[test]
fn a_failed_mutation_discards_the_policy_unless_the_failure_is_ignored() {
    let patch = |key: &str, value: &str| {
        format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/{key}\", value: {value}}}")
    };
    let all = mutations(&[&patch("a", "\"1\""), &patch("b", "object.nope"), &patch("c", "\"1\"")]);
    for (by, failure_policy, expected) in [
        (By::ApiServer, "Fail", "no such key: nope"),
        (By::Kyverno, "Fail", "no such key: nope"),
        (
            By::Kyverno,
            "Ignore",
            "the policy failed and has `failurePolicy: Ignore`: spec.mutations[1].jsonPatch.expression: no such key: nope",
        ),
        // T44
        (By::ApiServer, "Ignore", r#"{"app":"x","a":"1","c":"1"}"#),
    ] {
        let spec = format!("failurePolicy: {failure_policy}, {all}");
        assert_eq!(result(by, &spec, POD, "metadata.labels"), expected, "{by:?} {failure_policy}");
    }
    let spec = format!("failurePolicy: Ignore, {all}");
    let report = run(&[policy(By::ApiServer, "p", &spec)], POD);
    let ignored: Vec<_> =
        report.rules().flat_map(|(_, rule)| &rule.ignored).map(ToString::to_string).collect();
    assert_eq!(ignored, ["spec.mutations[1].jsonPatch.expression: no such key: nope"]);
}

#[test]
fn a_false_condition_decides_before_a_failed_one() {
    let patch = mutations(&["JSONPatch{op: \"add\", path: \"/metadata/labels/a\", value: \"1\"}"]);
    let (fails, is_false, is_true) =
        ("object.nope == 1", "object.kind == \"Node\"", "object.kind == \"Pod\"");
    for by in [By::ApiServer, By::Kyverno] {
        // T46
        for (conditions, expected) in [
            (vec![fails, is_false], "match condition `c1` is false"),
            (vec![is_false, fails], "match condition `c0` is false"),
            (vec![fails, is_true], "no such key: nope"),
            (vec![is_true], "\"1\""),
        ] {
            let conditions = conditions.iter().enumerate();
            let conditions: Vec<String> =
                conditions.map(|(index, text)| format!("{{name: c{index}, expression: '{text}'}}")).collect();
            let spec = format!("matchConditions: [{}], {patch}", conditions.join(", "));
            assert_eq!(result(by, &spec, POD, "metadata.labels.a"), expected, "{by:?} {conditions:?}");
        }
    }
}

#[test]
fn expressions_see_the_request_and_the_namespace() {
    let value = |by, expression: &str, object: &str| {
        let patch = format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/v\", value: {expression}}}");
        result(by, &mutations(&[&patch]), object, "metadata.labels.v")
    };
    for by in [By::ApiServer, By::Kyverno] {
        for (expression, expected) in [
            (
                "request.operation + \" \" + request.kind.kind + \" \" + request.resource.resource",
                "\"CREATE Pod pods\"",
            ),
            ("request.namespace + \"/\" + request.name", "\"shop/p\""),
            ("request.subResource", "no such key: subResource"),
            ("namespaceObject.metadata.name", "\"shop\""),
            ("request.userInfo.username", "no such key: username"),
        ] {
            assert_eq!(value(by, expression, POD), expected, "{by:?} {expression}");
        }
    }
    let patch = "JSONPatch{op: \"add\", path: \"/metadata/labels/v\", value: oldObject == null ? \"null\" : \"nonnull\"}";
    for (semantics, by, expected) in [
        (Semantics::Documented, By::ApiServer, "\"null\""),
        (Semantics::Kyverno, By::ApiServer, "\"null\""),
        (Semantics::Documented, By::Kyverno, "\"null\""),
        (Semantics::Kyverno, By::Kyverno, "\"nonnull\""),
    ] {
        let found = result_under(semantics, by, &mutations(&[patch]), POD, "metadata.labels.v");
        assert_eq!(found, expected, "T51 {semantics} {by:?}");
    }
    assert_eq!(value(By::Kyverno, "request.object.metadata.name", POD), "\"p\"");
    let spec = mutations(&[
        "JSONPatch{op: \"add\", path: \"/metadata/labels/v\", value: request.userInfo.username}",
    ]);
    let report = run(&[policy(By::Kyverno, "p", &spec)], POD);
    let Outcome::Error(error) = &report.policies[0].rules[0].outcome else { panic!() };
    assert_eq!(error.hint.as_deref(), Some("pass the user of the request with --userinfo FILE"));
}

#[test]
fn variables_are_evaluated_at_their_first_use() {
    for by in [By::ApiServer, By::Kyverno] {
        for (expression, expected) in [
            ("\"x\"", "\"x\""),
            // T45
            ("string(variables.count || true)", "\"true\""),
            ("string(has(variables.count))", "variables.count: no such key: nope"),
        ] {
            let patch =
                format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/v\", value: {expression}}}");
            let spec =
                format!("variables: [{{name: count, expression: object.nope}}], {}", mutations(&[&patch]));
            assert_eq!(result(by, &spec, POD, "metadata.labels.v"), expected, "{by:?} {expression}");
        }
    }
}

#[test]
fn a_policy_without_mutations_changes_nothing() {
    let report = run(&[policy(By::Kyverno, "p", "mutations: []")], POD);
    assert!(matches!(report.policies[0].rules[0].outcome, Outcome::NoChange));
    let spec = "matchConditions: [{name: never, expression: 'false'}], mutations: []";
    let report = run(&[policy(By::Kyverno, "p", spec)], POD);
    let never = SkipReason::MatchCondition("never".into());
    assert!(matches!(&report.policies[0].rules[0].outcome, Outcome::Skipped(reason) if *reason == never));
}

#[test]
fn the_api_server_runs_its_policies_before_webhooks() {
    let append = |by, name: &str| {
        let value = format!("object.metadata.labels.app + \"{name}\"");
        let patch = format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/app\", value: {value}}}");
        policy(by, name, &mutations(&[&patch]))
    };
    let policies = [append(By::Kyverno, "k"), append(By::ApiServer, "a"), append(By::Kyverno, "l")];
    let report = run(&policies, POD);
    assert_eq!(report.after.path(&["metadata", "labels", "app"]), Some(&"xakl".into()));
    // T54: after its own change and those of webhooks, once.
    let again =
        append(By::ApiServer, "a").replace("reinvocationPolicy: Never", "reinvocationPolicy: IfNeeded");
    let report = run(&[again.clone(), append(By::Kyverno, "k")], POD);
    assert_eq!(report.after.path(&["metadata", "labels", "app"]), Some(&"xaka".into()));
    assert_eq!(run(&[again], POD).after.path(&["metadata", "labels", "app"]), Some(&"xaa".into()));
}

/// T61, with names instead of an expression.
#[test]
fn targets_are_mutated_with_the_request_of_their_trigger() {
    let policy = |evaluation: &str| {
        let label = |name: &str, value: &str| {
            format!("JSONPatch{{op: \"add\", path: \"/metadata/labels/{name}\", value: {value}}}")
        };
        let patches =
            mutations(&[&label("trig", "request.name"), &label("self", "string(object.metadata.name)")]);
        let rules = |resource: &str, names: &str| {
            format!(
                "[{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [{resource}]{names}}}]"
            )
        };
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{{evaluation}, \
             matchConstraints: {{resourceRules: {}}}, targetMatchConstraints: {{resourceRules: {}}}, \
             targetMatchConditions: [{{name: old, expression: 'oldObject == null && namespaceObject == null'}}], {patches}}}}}",
            rules("configmaps", ""),
            rules("services", ", resourceNames: [a, c]"),
        )
    };
    let service =
        |name: &str| format!("{{apiVersion: v1, kind: Service, metadata: {{name: {name}, labels: {{}}}}}}");
    let run = |evaluation: &str, trigger: &str| {
        let policy = parse(&parse_value(&policy(evaluation)).unwrap(), Semantics::Kyverno).unwrap();
        let engine = Engine::new(PolicySet::new(vec![policy]), Settings::default());
        let mut targets = Targets::new();
        for name in ["a", "b", "c"] {
            targets.add(&engine, &parse_value(&service(name)).unwrap(), &EmptyWorld);
        }
        let trigger = parse_value(trigger).unwrap();
        assert_eq!(engine.mutate(&trigger, None, &EmptyWorld).after, trigger);
        let triggered = engine.mutate_targets((&trigger, &trigger), None, &mut targets, &EmptyWorld);
        let labels = (0..3).map(|number| {
            let target = targets.take(number)?;
            Some(target.after.path(&["metadata", "labels"])?.to_json())
        });
        (triggered.policies.len(), labels.map(Option::unwrap_or_default).collect::<Vec<_>>())
    };
    let by = |trigger: &str, name: &str| format!(r#"{{"trig":"{trigger}","self":"{name}"}}"#);
    let existing = "evaluation: {mutateExisting: {enabled: true}}";
    assert_eq!(run(existing, CONFIG_MAP), (1, vec![by("c", "a"), String::new(), by("c", "c")]));
    assert_eq!(run(existing, POD), (0, vec![String::new(); 3]));
    // Without admission each target is its own trigger.
    let scanned = "evaluation: {admission: {enabled: false}, mutateExisting: {enabled: true}}";
    assert_eq!(run(scanned, CONFIG_MAP), (0, vec![String::new(); 3]));
    assert_eq!(run(scanned, &service("a")), (1, vec![by("a", "a"), String::new(), String::new()]));
}
