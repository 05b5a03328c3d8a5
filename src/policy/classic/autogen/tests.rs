//! Which rules are generated, and what they say.

use crate::semantics::Semantics;

use super::*;

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap()
}

fn pod_rule(fields: &str) -> Value {
    json(&format!(r#"{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},{fields}}}"#))
}

const OVERLAY: &str = r#""mutate":{"patchStrategicMerge":{"spec":{"x":1}}}"#;

fn made(annotation: Option<&str>, rules: &[Value], semantics: Semantics) -> (Autogen, Vec<WrittenRule>) {
    let mut annotations = Value::empty_object();
    if let Some(annotation) = annotation {
        annotations.insert(ANNOTATION, Value::from(annotation));
    }
    let policy = Value::from_iter([("metadata", Value::from_iter([("annotations", annotations)]))]);
    let rules: Vec<_> = rules.iter().map(|rule| WrittenRule::new(rule.clone(), 0, semantics)).collect();
    (generate(&policy, &rules), rules)
}

fn rules(annotation: Option<&str>, rules: &[Value]) -> Vec<Value> {
    made(annotation, rules, Semantics::Documented).0.generated.into_iter().map(|made| made.rule).collect()
}

/// The kinds of `match`, separated by spaces.
fn kinds(rule: &Value) -> String {
    let kinds: Vec<_> = filters(rule, "match")
        .flat_map(|(_, filter)| crate::policy::classic::written::kinds(filter))
        .collect();
    kinds.join(" ")
}

#[test]
fn a_rule_for_pods_is_carried_to_all_controllers() {
    let made = rules(None, &[pod_rule(OVERLAY)]);
    let names: Vec<_> = made.iter().map(|rule| rule.get("name").unwrap().as_str().unwrap()).collect();
    assert_eq!(names, ["autogen-r", "autogen-cronjob-r"]);
    assert_eq!(
        kinds(&made[0]),
        "apps/v1/DaemonSet apps/v1/Deployment batch/v1/Job apps/v1/ReplicaSet v1/ReplicationController apps/v1/StatefulSet"
    );
    assert_eq!(kinds(&made[1]), "batch/v1/CronJob");
    assert_eq!(
        made[0].get("mutate").unwrap().to_json(),
        r#"{"patchStrategicMerge":{"spec":{"template":{"spec":{"x":1}}}}}"#
    );
    assert_eq!(
        made[1].get("mutate").unwrap().to_json(),
        r#"{"patchStrategicMerge":{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"x":1}}}}}}}"#
    );
}

#[test]
fn the_annotation_names_the_controllers() {
    for (annotation, expected) in [
        ("none", [].as_slice()),
        ("", &[]),
        ("Deployment", &["apps/v1/Deployment"]),
        ("StatefulSet,Deployment", &["apps/v1/Deployment apps/v1/StatefulSet"]),
        ("Deployment,CloneSet", &["apps/v1/Deployment"]),
        ("CloneSet", &["CloneSet"]),
        ("deployment", &["deployment"]),
        ("Deployment, Job", &["apps/v1/Deployment"]),
        ("CronJob", &["batch/v1/CronJob"]),
        ("Deployment,CronJob", &["apps/v1/Deployment", "batch/v1/CronJob"]),
        ("CloneSet,CronJob", &["CloneSet", "batch/v1/CronJob"]),
    ] {
        let made = rules(Some(annotation), &[pod_rule(OVERLAY)]);
        let found: Vec<_> = made.iter().map(kinds).collect();
        assert_eq!(found, expected, "{annotation}");
    }
    assert_eq!(rules(Some("all"), &[pod_rule(OVERLAY)]).len(), 2);
    let (dropped, _) = made(Some("Deployment,CloneSet"), &[pod_rule(OVERLAY)], Semantics::Documented);
    assert!(dropped.notes[0].text.contains("`CloneSet`"));
}

#[test]
fn one_rule_can_stop_the_whole_policy_and_is_named() {
    let overlay = pod_rule(OVERLAY);
    for (stopping, reason) in [
        (
            r#"{"name":"s","match":{"any":[{"resources":{"kinds":["Pod"],"name":"x"}}]},"mutate":{}}"#,
            "by name",
        ),
        (
            r#"{"name":"s","match":{"all":[{"resources":{"kinds":["Pod"],"names":["x"]}}]},"mutate":{}}"#,
            "by name",
        ),
        (r#"{"name":"s","match":{"resources":{"kinds":["Pod"],"selector":{}}},"validate":{}}"#, "by label"),
        (
            r#"{"name":"s","match":{},"exclude":{"any":[{"resources":{"annotations":{"a":"b"}}}]},"validate":{}}"#,
            "by annotation",
        ),
        (
            r#"{"name":"s","match":{"any":[{"resources":{"kinds":["Pod","Service"]}}]},"validate":{}}"#,
            "other kinds",
        ),
        (r#"{"name":"s","match":{},"generate":{"kind":"ConfigMap"}}"#, "generates"),
        (r#"{"name":"s","match":{},"mutate":{"patchesJson6902":"- op: add"}}"#, "patchesJson6902"),
        (
            r#"{"name":"s","match":{},"mutate":{"foreach":[{"list":"x","patchesJson6902":"- op: add"}]}}"#,
            "foreach",
        ),
    ] {
        let (made, _) = made(None, &[overlay.clone(), json(stopping)], Semantics::Kyverno);
        assert!(made.generated.is_empty(), "{stopping}");
        assert_eq!(made.notes.len(), 1, "{stopping}");
        assert_eq!(made.notes[0].rule.as_deref(), Some("s"));
        assert!(made.notes[0].text.contains(reason), "{}", made.notes[0].text);
    }
    // A policy that loses nothing by it says nothing, unless it asked for controllers.
    let alone = pod_rule(r#""mutate":{"patchesJson6902":"- op: add"}"#);
    assert!(made(None, std::slice::from_ref(&alone), Semantics::Documented).0.notes.is_empty());
    assert_eq!(made(Some("Job"), &[alone], Semantics::Documented).0.notes.len(), 1);
}

#[test]
fn only_rules_that_name_exactly_pod_are_carried_over() {
    for kind in ["v1/Pod", "*/Pod", "Po*", "*", "Pod/status", "Deployment"] {
        let rule = format!(r#"{{"name":"r","match":{{"resources":{{"kinds":["{kind}"]}}}},{OVERLAY}}}"#);
        assert!(rules(None, &[json(&rule)]).is_empty(), "{kind}");
    }
    let excluding = |kind: &str| {
        let fields = format!(r#"{OVERLAY},"exclude":{{"any":[{{"resources":{{"kinds":["{kind}"]}}}}]}}"#);
        rules(None, &[pod_rule(&fields)]).len()
    };
    assert_eq!((excluding("Pod"), excluding("Service")), (2, 0));
}

#[test]
fn filters_that_do_not_name_pod_are_set_only_for_cron_jobs() {
    let rule = json(&format!(
        r#"{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["Pod"],"namespaces":["a"]}}}},
            {{"resources":{{"kinds":["Service"]}}}}]}},
            "exclude":{{"any":[{{"subjects":[{{"kind":"User","name":"x"}}]}}]}},{OVERLAY}}}"#
    ));
    let made = rules(Some("Deployment,CronJob"), &[rule]);
    assert_eq!(kinds(&made[0]), "apps/v1/Deployment Service");
    assert_eq!(kinds(&made[1]), "batch/v1/CronJob batch/v1/CronJob");
    assert!(made[0].path(&["exclude", "any"]).unwrap().at(0).unwrap().get("resources").is_none());
    let excluded = made[1].path(&["exclude", "any"]).unwrap().at(0).unwrap();
    assert_eq!(excluded.get("resources").unwrap().to_json(), r#"{"kinds":["batch/v1/CronJob"]}"#);
    assert!(made[0].to_json().contains(r#""namespaces":["a"]"#));
}

#[test]
fn texts_speak_of_the_template() {
    let rule = pod_rule(
        r#""context":[{"name":"n","variable":{"jmesPath":"request.object.metadata.name"}}],
           "preconditions":{"all":[{"key":"{{ request.object.spec.x }}-{{request.oldObject.metadata.y}}","operator":"Equals",
           "value":"{{ request.\"object\".metadata.name }}"}]},
           "mutate":{"patchStrategicMerge":{"metadata":{"labels":{"{{request.object.metadata.name}}":"{{@}}"}}}}"#,
    );
    let made = rules(Some("Job,CronJob"), &[rule]);
    let text = made[0].to_json();
    for expected in [
        r#""jmesPath":"request.object.spec.template.metadata.name""#,
        r#"{{ request.object.spec.template.spec.x }}-{{request.oldObject.spec.template.metadata.y}}"#,
        r#"{{ request.\"object\".metadata.name }}"#,
        r#"{"spec":{"template":{"metadata":{"labels":{"{{request.object.spec.template.metadata.name}}":"{{@}}"}}}}}"#,
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    assert!(made[1].to_json().contains("request.object.spec.jobTemplate.spec.template.spec.x"));
}

#[test]
fn long_names_are_cut() {
    let mut rule = pod_rule(OVERLAY);
    rule.insert("name", Value::from("é".repeat(40)));
    for made in rules(None, &[rule]) {
        let name = made.get("name").unwrap().as_str().unwrap();
        assert!(name.len() <= 63 && name.starts_with("autogen-"), "{name}");
    }
}

#[test]
fn rules_with_targets_stay_as_they_are() {
    let rule = pod_rule(
        r#""mutate":{"targets":[],"mutateExistingOnPolicyUpdate":true,"patchStrategicMerge":{"a":1}}"#,
    );
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        let (alone, rules) = made(None, std::slice::from_ref(&rule), semantics);
        assert!(alone.generated.is_empty() && rules[0].autogen_tracker.reached().is_empty());
    }
    let beside = [rule, pod_rule(OVERLAY)];
    let (documented, rules) = made(None, &beside, Semantics::Documented);
    assert!(
        documented.generated.iter().all(|generated| generated.controller_only == (generated.source == 0))
    );
    assert!(rules[0].autogen_tracker.reached().contains(Divergence::AutogenTargets));
    let (kyverno, _) = made(None, &beside, Semantics::Kyverno);
    assert_eq!(
        kyverno.generated[0].rule.get("mutate").unwrap().to_json(),
        r#"{"patchStrategicMerge":{"spec":{"template":{"a":1}}}}"#
    );
}

#[test]
fn foreach_keeps_its_order_and_its_nested_entries() {
    let ordered = pod_rule(
        r#""mutate":{"foreach":[{"list":"request.object.spec.containers","order":"Ascending","patchStrategicMerge":{"a":1}}]}"#,
    );
    let nested = pod_rule(
        r#""mutate":{"foreach":[{"list":"x","foreach":[{"list":"element","patchStrategicMerge":{"a":1}}]}]}"#,
    );
    let json_leaf = pod_rule(
        r#""mutate":{"foreach":[{"list":"x","foreach":[{"list":"element","patchesJson6902":"- op: add"}]}]}"#,
    );
    let foreach = |rule: &Value, semantics| {
        let (made, rules) = made(Some("Job"), std::slice::from_ref(rule), semantics);
        assert!(rules[0].autogen_tracker.reached().contains(Divergence::AutogenForeach));
        made.generated.first().map(|made| made.rule.path(&["mutate", "foreach"]).unwrap().to_json())
    };
    let template = r#"{"spec":{"template":{"a":1}}}"#;
    let list = "request.object.spec.template.spec.containers";
    assert_eq!(
        foreach(&ordered, Semantics::Documented).unwrap(),
        format!(r#"[{{"list":"{list}","order":"Ascending","patchStrategicMerge":{template}}}]"#)
    );
    assert_eq!(
        foreach(&ordered, Semantics::Kyverno).unwrap(),
        format!(r#"[{{"list":"{list}","patchStrategicMerge":{template}}}]"#)
    );
    assert_eq!(
        foreach(&nested, Semantics::Documented).unwrap(),
        format!(r#"[{{"list":"x","foreach":[{{"list":"element","patchStrategicMerge":{template}}}]}}]"#)
    );
    assert_eq!(
        foreach(&nested, Semantics::Kyverno).unwrap(),
        r#"[{"list":"x","patchStrategicMerge":{"spec":{"template":null}}}]"#
    );
    assert_eq!(foreach(&json_leaf, Semantics::Documented), None);
    assert_eq!(
        foreach(&json_leaf, Semantics::Kyverno).unwrap(),
        r#"[{"list":"x","patchStrategicMerge":{"spec":{"template":null}}}]"#
    );
}
