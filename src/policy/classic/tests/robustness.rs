//! Whatever a policy contains: errors or a policy, never a panic.

use crate::semantics::{Dialect, LegacyMode};
use crate::value::{Pointer, Segment};

use super::*;

/// A policy that uses every field.
const RICH: &str = r#"{
  "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy",
  "metadata": {"name": "p", "labels": {"a": "b"}, "annotations": {"pod-policies.kyverno.io/autogen-controllers": "Deployment,CronJob"}},
  "spec": {
    "admission": true, "background": false, "applyRules": "One", "failurePolicy": "Ignore", "emitWarning": true,
    "schemaValidation": false, "useServerSideApply": false, "generateExisting": false, "mutateExistingOnPolicyUpdate": false,
    "validationFailureAction": "Audit", "webhookTimeoutSeconds": 10,
    "validationFailureActionOverrides": [{"action": "Audit", "namespaces": ["a"], "namespaceSelector": {"matchLabels": {"a": "b"}}}],
    "webhookConfiguration": {"failurePolicy": "Fail", "timeoutSeconds": 3, "matchConditions": [{"name": "a", "expression": "true"}]},
    "rules": [
      {"name": "one", "skipBackgroundRequests": true, "reportProperties": {"a": "b"},
       "match": {"any": [{"resources": {"kinds": ["Pod"], "namespaces": ["a"], "operations": ["CREATE"],
          "namespaceSelector": {"matchLabels": {"a": "*"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
          "roles": ["a:b"], "clusterRoles": ["c"], "subjects": [{"kind": "ServiceAccount", "name": "a", "namespace": "b", "apiGroup": ""}]}]},
       "exclude": {"all": [{"resources": {"kinds": ["Pod"]}}]},
       "context": [{"name": "c", "configMap": {"name": "a", "namespace": "b"}},
          {"name": "d", "apiCall": {"urlPath": "/api", "method": "GET", "data": [{"key": "a", "value": 1}], "jmesPath": "a", "default": 1}},
          {"name": "e", "apiCall": {"service": {"url": "http://a", "caBundle": "b", "headers": [{"key": "a", "value": "b"}]}}},
          {"name": "f", "imageRegistry": {"reference": "a", "jmesPath": "b", "imageRegistryCredentials": {"allowInsecureRegistry": true, "providers": ["default"], "secrets": ["a"]}}},
          {"name": "g", "variable": {"value": {"a": 1}, "jmesPath": "a", "default": 1}},
          {"name": "h", "globalReference": {"name": "a", "jmesPath": "b"}}],
       "preconditions": {"any": [{"key": "{{ request.operation }}", "operator": "AnyIn", "value": ["CREATE"], "message": "m"}],
          "all": [{"key": "{{ g.a }}", "operator": "GreaterThan", "value": 1}]},
       "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"+(a)": "{{ request.object.metadata.name }}"}, "annotations": {"b": "c"}},
          "spec": {"containers": [{"(name)": "*", "image": "{{@}}"}], "x": {"<(y)": 1}}}}},
      {"name": "two", "match": {"resources": {"kinds": ["ConfigMap"], "name": "a*", "annotations": {"a": "b"}, "selector": {"matchLabels": {"a": "b"}}}},
       "preconditions": [{"key": "a", "operator": "Equals", "value": "a"}],
       "mutate": {"foreach": [{"list": "request.object.a", "order": "Descending", "context": [{"name": "c", "variable": {"value": 1}}],
          "preconditions": {"all": []}, "patchStrategicMerge": {"metadata": {"labels": {"a": "{{ element }}"}}}},
          {"list": "request.object.b", "foreach": [{"list": "element.c", "patchesJson6902": "- {op: add, path: '/a/{{elementIndex}}', value: b}"}]}]}},
      {"name": "three", "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["a"]}}]},
       "mutate": {"patchesJson6902": "- {op: add, path: /data/a, value: b}\n- {op: remove, path: /data/b}"}},
      {"name": "four", "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
       "mutate": {"mutateExistingOnPolicyUpdate": true, "targets": [{"apiVersion": "v1", "kind": "Secret", "namespace": "a", "name": "b", "uid": "c",
          "selector": {"matchLabels": {"a": "b"}}, "context": [{"name": "c", "variable": {"value": 1}}], "preconditions": {"all": []}}],
          "patchStrategicMerge": {"metadata": {"labels": {"a": "{{ target.metadata.name }}"}}}}},
      {"name": "five", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "mutate": {"overlay": {"metadata": {"labels": {"a": "b"}}}, "patches": [{"op": "add", "path": "/a", "value": 1}]}},
      {"name": "six", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "validate": {"message": "m", "pattern": {"a": "b"}}},
      {"name": "seven", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "generate": {"kind": "Secret", "name": "a"}},
      {"name": "eight", "match": {"any": [{"resources": {"kinds": ["Pod"]}}]}, "imageExtractors": {"a": [{"path": "/a", "value": "b", "name": "c", "key": "d", "jmesPath": "e"}]},
       "verifyImages": [{"imageReferences": ["*"]}]}
    ]
  },
  "status": {"ready": true}
}"#;

#[test]
fn a_policy_with_everything_loads() {
    for semantics in [Semantics::Documented, Semantics::Kyverno] {
        let policy = load_as(&value(RICH), semantics);
        // A cluster refuses a policy with legacy fields as a whole.
        let expected: &[_] = match semantics {
            Semantics::Documented => &["one", "two", "three", "four", "five"],
            Semantics::Kyverno => &["five"],
        };
        assert_eq!(policy.rules.iter().map(|rule| &*rule.name).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn legacy_fields_may_be_anything() {
    let others = [
        "null",
        "true",
        r#""""#,
        r#""{{ x""#,
        r#""{{ request.object.x }}""#,
        "[]",
        r#"[null,1,"a",[],{},{"op":"add"},{"op":1,"path":"{{ request.object.x }}","value":[]}]"#,
        r#"{"":null,"(a)":[{}],"{{ request.object.x }}":{"+(b)":[]}}"#,
        r#"{"(a)":{"(b)":{"+(c)":null}}," (d) ":1,"X(e)":2}"#,
    ];
    for (overlay, patches) in others.iter().flat_map(|one| others.iter().map(move |other| (one, other))) {
        let document = with_rule(&format!(r#""mutate":{{"overlay":{overlay},"patches":{patches}}}"#));
        for semantics in [Semantics::Documented, Semantics::Kyverno] {
            for (_, legacy) in LegacyMode::ALL {
                let _parsed = parse(&document, Dialect { semantics, legacy });
            }
        }
    }
}

#[test]
fn every_node_may_be_anything() {
    let document = value(RICH);
    let others = [
        Value::Null,
        Value::from(true),
        Value::from(7),
        Value::from(""),
        Value::from("{{ x"),
        Value::from("{{ request.object.x }}"),
        value("[]"),
        value(r#"[null,1,"a",[],{}]"#),
        value("{}"),
        value(r#"{"":null,"{{ a }}":[{}]}"#),
    ];
    let mut places = Vec::new();
    all_places(&document, &mut Pointer::default(), &mut places);
    assert!(places.len() > 250, "{}", places.len());
    let mut refused = 0;
    for place in &places {
        for other in &others {
            let mut changed = document.clone();
            *node(&mut changed, place) = other.clone();
            // Each side in turn: they share most of the code.
            let semantics = if refused % 2 == 0 { Semantics::Documented } else { Semantics::Kyverno };
            if let Err(errors) = parse(&changed, semantics) {
                assert!(!errors.is_empty() && errors.iter().all(|error| !error.message.is_empty()));
                refused += 1;
            }
        }
    }
    assert!(refused > places.len() * others.len() / 2, "{refused} of {}", places.len() * others.len());
}

#[test]
fn every_member_may_be_missing() {
    let document = value(RICH);
    let mut places = Vec::new();
    all_places(&document, &mut Pointer::default(), &mut places);
    for place in &places {
        if let Some(Segment::Key(key)) = place.segments().last() {
            let mut changed = document.clone();
            node(&mut changed, &place.parent()).remove(key);
            if let Err(errors) = parse(&changed, Semantics::Documented) {
                assert!(!errors.is_empty(), "{place}");
            }
        }
    }
}

#[test]
fn an_error_in_each_of_many_rules_is_found_in_time() {
    let mut document = with_rule(PATCH);
    let rules: Vec<Value> = (0..10_000).map(|_| value(r#"{"name":"r","mutat":{}}"#)).collect();
    *node(&mut document, &Pointer::ROOT.key("spec").key("rules")) = rules.into();
    assert!(errors(&document, Semantics::Documented).len() > 10_000);
}

#[test]
fn deep_documents_are_refused() {
    let deep = (0..5_000).fold(Value::Null, |inner, _| Value::array(vec![inner]));
    let mut document = with_rule(PATCH);
    document.insert("status", deep);
    let found = errors(&document, Semantics::Documented);
    assert!(found[0].message.contains("nested deeper than"));
    // Dropped level by level: the destructor of a nested value uses the stack.
    let mut rest = document.remove("status").unwrap();
    while let Some(inner) = rest.as_array_mut().and_then(Vec::pop) {
        rest = inner;
    }
}

fn all_places(value: &Value, at: &mut Pointer, places: &mut Vec<Pointer>) {
    places.push(at.clone());
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                all_places(item, at, places);
                at.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter() {
                at.push_key(key.clone());
                all_places(member, at, places);
                at.pop();
            }
        }
        _ => {}
    }
}

fn node<'v>(value: &'v mut Value, place: &Pointer) -> &'v mut Value {
    place.segments().iter().fold(value, |node, segment| match segment {
        Segment::Key(key) => &mut node.as_object_mut().unwrap()[key],
        Segment::Index(index) => &mut node.as_array_mut().unwrap()[*index],
    })
}
