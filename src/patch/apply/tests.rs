//! What the API server makes of apply configurations.

use crate::admission::{KindSchemas, Schema};
use crate::value::{GroupVersionKind, Value};

use super::{ApplyError, Atomics, apply};

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "p", "labels": {"app": "x"}, "annotations": {"k1": "v1"}, "finalizers": ["f1"]},
    "spec": {"nodeSelector": {"n1": "v1"}, "tolerations": [{"key": "t"}],
        "containers": [
            {"name": "a", "image": "nginx:1", "args": ["one", "two"], "ports": [{"containerPort": 80}],
             "env": [{"name": "FOO", "value": "1"}, {"name": "BAR", "value": "2"}],
             "resources": {"limits": {"cpu": "500m"}}},
            {"name": "b", "image": "busybox"}]}}"#;
const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment",
    "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}}}"#;

fn json(text: &str) -> Value {
    Value::from_json(text).expect(text)
}

fn merged(object: &str, configuration: &str, atomics: Atomics) -> Result<Value, ApplyError> {
    let object = json(object);
    let kind = GroupVersionKind::of(&object).expect("an object");
    let schemas = KindSchemas::default();
    apply(&object, &json(configuration), schemas.of(&kind).expect("a built-in kind"), atomics)
}

/// The value at a path of the merged object.
fn at(object: &str, configuration: &str, path: &[&str]) -> String {
    let merged = merged(object, configuration, Atomics::Refused).expect(configuration);
    let names = |list: &Value| {
        let items = list.as_array()?;
        let names = items.iter().map(|item| item.get("name").and_then(Value::as_str));
        names.collect::<Option<Vec<_>>>().map(|names| names.join(" "))
    };
    merged.path(path).map_or_else(String::new, |value| names(value).unwrap_or_else(|| value.to_json()))
}

#[test]
fn fields_are_merged_by_the_schema() {
    let containers = &["spec", "containers"];
    for (configuration, path, expected) in [
        (r#"{"metadata": {"labels": {"a": "b"}}}"#, &["metadata", "labels"][..], r#"{"app":"x","a":"b"}"#),
        (r#"{"kind": "Foo", "apiVersion": "x/v1"}"#, &["kind"], r#""Pod""#),
        (r#"{"metadata": {"name": "renamed"}}"#, &["metadata", "name"], r#""renamed""#),
        (r#"{"metadata": {"labels": {}, "finalizers": []}}"#, &["metadata", "finalizers"], r#"["f1"]"#),
        (r#"{"metadata": {"labels": null}}"#, &["metadata", "labels"], r#"{"app":"x"}"#),
        (r#"{"spec": {"nodeName": null}}"#, &["spec", "nodeName"], "null"),
        (r#"{"metadata": {"finalizers": ["f2", "f1"]}}"#, &["metadata", "finalizers"], r#"["f2","f1"]"#),
        (r#"{"metadata": {"finalizers": ["f0"]}}"#, &["metadata", "finalizers"], r#"["f1","f0"]"#),
        (r#"{"spec": {"containers": [{"name": "n"}]}}"#, containers, "a b n"),
        (r#"{"spec": {"containers": [{"name": "n"}, {"name": "a"}, {"name": "b"}]}}"#, containers, "n a b"),
        (r#"{"spec": {"containers": [{"name": "a"}, {"name": "n"}, {"name": "b"}]}}"#, containers, "a n b"),
        (r#"{"spec": {"containers": [{"name": "n"}, {"name": "b"}]}}"#, containers, "a n b"),
        (r#"{"spec": {"containers": [{"name": "b"}]}}"#, containers, "a b"),
        (r#"{"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}"#, containers, "b a"),
        (r#"{"spec": {"containers": [{"name": "b"}, {"name": "n"}, {"name": "a"}]}}"#, containers, "b n a"),
        (r#"{"spec": {"activeDeadlineSeconds": 1.0}}"#, &["spec", "activeDeadlineSeconds"], "1.0"),
    ] {
        assert_eq!(at(POD, configuration, path), expected, "{configuration}");
    }
    let replicas = r#"{"spec": {"replicas": 3}}"#;
    assert_eq!(at(DEPLOYMENT, replicas, &["spec", "replicas"]), "3");
}

#[test]
fn elements_merge_by_their_keys_and_defaults_of_keys() {
    for (container, field, expected) in [
        (r#""imagePullPolicy": "Always""#, "image", r#""nginx:1""#),
        (
            r#""env": [{"name": "FOO", "value": "9"}, {"name": "NEW", "value": "1"}]"#,
            "env",
            r#"[{"name":"FOO","value":"9"},{"name":"BAR","value":"2"},{"name":"NEW","value":"1"}]"#,
        ),
        (
            r#""ports": [{"containerPort": 80, "name": "http"}]"#,
            "ports",
            r#"[{"containerPort":80,"name":"http"}]"#,
        ),
        (
            r#""ports": [{"containerPort": 80, "protocol": "TCP"}]"#,
            "ports",
            r#"[{"containerPort":80,"protocol":"TCP"}]"#,
        ),
        (
            r#""ports": [{"containerPort": 80, "protocol": "UDP"}]"#,
            "ports",
            r#"[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]"#,
        ),
        (r#""resources": {"limits": {"memory": 2}}"#, "resources", r#"{"limits":{"cpu":"500m","memory":2}}"#),
    ] {
        let configuration = format!(r#"{{"spec": {{"containers": [{{"name": "a", {container}}}]}}}}"#);
        let merged = merged(POD, &configuration, Atomics::Refused).expect(&configuration);
        let containers = merged.path(&["spec", "containers"]).and_then(Value::as_array).expect("containers");
        assert_eq!(containers[0].get(field).expect(field).to_json(), expected, "{configuration}");
    }
    // The name of a container is a required field: as a key it is empty where it is missing.
    let configuration = r#"{"spec": {"containers": [{"image": "i"}]}}"#;
    let merged = merged(POD, configuration, Atomics::Refused).expect(configuration);
    assert_eq!(json_containers(&merged)[2].to_json(), r#"{"image":"i"}"#);
}

fn json_containers(object: &Value) -> &[Value] {
    object.path(&["spec", "containers"]).and_then(Value::as_array).expect("containers")
}

#[test]
fn values_that_do_not_fit_are_errors() {
    for (configuration, expected) in [
        (r#"{"spec": {"nosuch": 1}}"#, "spec.nosuch: unknown field"),
        (
            r#"{"spec": {"replica": 1, "contianers": []}}"#,
            "spec.replica: unknown field; spec.contianers: unknown field, did you mean `containers`?",
        ),
        (r#"{"metadata": {"labels": {"a": 1}}}"#, "metadata.labels.a: expected string, found number"),
        (r#"{"metadata": {"labels": "a"}}"#, "metadata.labels: expected object, found string"),
        (
            r#"{"spec": {"activeDeadlineSeconds": "5"}}"#,
            "spec.activeDeadlineSeconds: expected number, found string",
        ),
        (r#"{"spec": {"hostNetwork": "true"}}"#, "spec.hostNetwork: expected boolean, found string"),
        (r#"{"spec": {"containers": {}}}"#, "spec.containers: expected array, found object"),
        (
            r#"{"spec": {"containers": ["a", null]}}"#,
            "spec.containers[0]: expected object, found string; spec.containers[1]: expected object, found null",
        ),
        (r#"{"metadata": {"finalizers": [{}]}}"#, "metadata.finalizers[0]: expected scalar, found object"),
        (
            r#"{"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}"#,
            r#"spec.containers[1]: a second element with name="a""#,
        ),
        (
            r#"{"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}]}}"#,
            r#"spec.containers[0].ports[1]: a second element with containerPort=1, protocol="TCP""#,
        ),
        (
            r#"{"metadata": {"finalizers": ["f", "f"]}}"#,
            r#"metadata.finalizers[1]: a second element with "f""#,
        ),
        (
            r#"{"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": {}}}}]}}"#,
            "spec.containers[0].resources.limits.cpu: expected scalar, found object",
        ),
        ("[]", "the whole: expected object, found array"),
    ] {
        let error = merged(POD, configuration, Atomics::Refused).expect_err(configuration);
        assert_eq!(error.to_string(), format!("invalid apply configuration: {expected}"), "{configuration}");
    }
}

#[test]
fn an_element_needs_a_key_that_has_no_default() {
    let object = r#"{"apiVersion": "v1", "kind": "ServiceAccount"}"#;
    let error = merged(object, r#"{"secrets": [{"kind": "a"}]}"#, Atomics::Replaced).unwrap_err();
    let expected = "invalid apply configuration: secrets[0]: the element needs its key `name`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn what_is_replaced_as_a_whole_is_refused_or_replaced() {
    for (object, configuration, expected) in [
        (POD, r#"{"spec": {"containers": [{"name": "a", "args": ["x"]}]}}"#, "spec.containers[0].args"),
        (
            POD,
            r#"{"spec": {"nodeSelector": {"z": "1"}, "tolerations": []}}"#,
            "spec.nodeSelector, spec.tolerations",
        ),
        (POD, r#"{"spec": {"imagePullSecrets": [{"name": "s"}]}}"#, "spec.imagePullSecrets[0]"),
        (DEPLOYMENT, r#"{"spec": {"selector": {"matchLabels": {"z": "1"}}}}"#, "spec.selector"),
    ] {
        let ApplyError::Atomic(found) =
            merged(object, configuration, Atomics::Refused).expect_err(configuration)
        else {
            panic!("{configuration}")
        };
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found.join(", "), expected, "{configuration}");
        let merged = merged(object, configuration, Atomics::Replaced).expect(configuration);
        let field = expected.split(", ").next().and_then(|path| path.strip_prefix("spec.")).expect("a path");
        let written = json(configuration);
        match field {
            "nodeSelector" | "selector" => {
                assert_eq!(merged.path(&["spec", field]), written.path(&["spec", field]));
            }
            "containers[0].args" => {
                assert_eq!(json_containers(&merged)[0].get("args"), json_containers(&written)[0].get("args"));
            }
            _ => {
                assert_eq!(
                    merged.path(&["spec", "imagePullSecrets"]).unwrap().to_json(),
                    r#"[{"name":"s"}]"#
                );
            }
        }
    }
}

#[test]
fn an_unchanged_object_keeps_its_storage() {
    let object = json(POD);
    let schemas = KindSchemas::default();
    let schema = schemas.of(&GroupVersionKind::new("v1", "Pod")).expect("a built-in kind");
    let labels = json(r#"{"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "b"}]}}"#);
    assert!(apply(&object, &labels, schema, Atomics::Refused).unwrap().same_storage(&object));
    let labels = json(r#"{"metadata": {"labels": {"app": "y"}}}"#);
    let changed = apply(&object, &labels, schema, Atomics::Refused).unwrap();
    assert!(changed.get("spec").unwrap().same_storage(object.get("spec").unwrap()));
}

#[test]
fn without_a_schema_maps_merge_and_lists_are_replaced() {
    let object = json(r#"{"a": {"b": [1, 2], "c": {"d": 1}}, "e": 1}"#);
    let configuration = json(r#"{"a": {"b": [{"x": 3}], "c": {"f": null}}, "e": {"g": 1}}"#);
    let merged = apply(&object, &configuration, Schema::FREE, Atomics::Refused).unwrap();
    assert_eq!(merged.to_json(), r#"{"a":{"b":[{"x":3}],"c":{"d":1,"f":null}},"e":{"g":1}}"#);
}

#[test]
fn an_object_that_does_not_fit_is_an_error_where_it_is_changed() {
    let object =
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": "x"}, "spec": {"containers": [1]}}"#;
    for (configuration, expected) in [
        (r#"{"metadata": {"labels": {"a": "b"}}}"#, "metadata.labels: expected object, found string"),
        (r#"{"spec": {"containers": [{"name": "a"}]}}"#, "spec.containers[0]: expected object, found number"),
    ] {
        let error = merged(object, configuration, Atomics::Refused).expect_err(configuration);
        assert_eq!(error.to_string(), format!("the object does not fit its schema: {expected}"));
    }
    assert!(merged(object, r#"{"metadata": {"name": "a"}}"#, Atomics::Refused).is_ok());
}
