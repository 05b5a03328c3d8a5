//! `ApplyConfiguration`. The API server and Kyverno agree in all of it, except for what is replaced as a whole.

use super::{By, CONFIG_MAP, policy, result, run};
use crate::report::Outcome;

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {app: x}, annotations: {k1: v1, a/b: s}, \
     finalizers: [celspec.io/f1]}, spec: {nodeSelector: {n1: v1}, tolerations: [{key: t}], containers: [{name: a, \
     image: 'nginx:1', args: [one, two], env: [{name: FOO, value: '1'}, {name: BAR, value: '2'}], ports: \
     [{containerPort: 80}], resources: {limits: {cpu: 500m}}}, {name: b, image: busybox}]}}";

const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {replicas: 2, \
     selector: {matchLabels: {app: x}}}}";

/// The spec with one configuration.
fn spec(configuration: &str) -> String {
    let configuration = configuration.replace('\'', "''");
    format!(
        "mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: '{configuration}'}}}}]"
    )
}

fn labels(entries: &str) -> String {
    format!("Object{{metadata: Object.metadata{{labels: {{{entries}}}}}}}")
}

fn pod_spec(fields: &str) -> String {
    format!("Object{{spec: Object.spec{{{fields}}}}}")
}

fn container(fields: &str) -> String {
    pod_spec(&format!(r#"containers: [Object.spec.containers{{name: "a", {fields}}}]"#))
}

/// Checks the value at a dotted path after a configuration, or the error.
fn check(id: &str, configuration: &str, object: &str, at: &str, expected: &str) {
    for by in [By::ApiServer, By::Kyverno] {
        let found = result(by, &spec(configuration), object, at);
        assert_eq!(found, expected, "{id} {by:?} {configuration}");
    }
}

/// The names of the containers after a configuration.
fn check_containers(id: &str, containers: &str, expected: &str) {
    let configuration = pod_spec(&format!("containers: {containers}"));
    for by in [By::ApiServer, By::Kyverno] {
        let found = result(by, &spec(&configuration), POD, "spec.containers");
        let names: Vec<&str> =
            found.split(r#""name":""#).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let names: Vec<&str> = names.into_iter().filter(|name| name.len() == 1 || *name == "new").collect();
        assert_eq!(names.join(" "), expected, "{id} {by:?} {containers}: {found}");
    }
}

#[test]
fn fields_are_merged() {
    check("T01", &labels(r#""a": "b""#), POD, "metadata.labels", r#"{"app":"x","a":"b"}"#);
    check(
        "T14",
        r#"Object{metadata: Object.metadata{finalizers: ["celspec.io/f2", "celspec.io/f1"]}}"#,
        POD,
        "metadata.finalizers",
        r#"["celspec.io/f2","celspec.io/f1"]"#,
    );
    check("T22", &pod_spec("activeDeadlineSeconds: 5"), POD, "spec.activeDeadlineSeconds", "5");
    check("T23", &pod_spec("?nodeName: optional.none()"), POD, "spec.nodeName", "");
    check(
        "T23",
        &labels(r#"?"a": optional.none(), ?"b": optional.of("c")"#),
        POD,
        "metadata.labels",
        r#"{"app":"x","b":"c"}"#,
    );
    check("T25", r#"Object{kind: "Foo", apiVersion: "x/v1"}"#, POD, "kind", r#""Pod""#);
    check(
        "T26",
        r#"Object{metadata: Object.metadata{name: "renamed"}}"#,
        POD,
        "metadata.name",
        r#""renamed""#,
    );
    check("T27", &pod_spec("replicas: object.spec.replicas + 1"), DEPLOYMENT, "spec.replicas", "3");
    check(
        "T28",
        r#"Object{metadata: Object.metadata{labels: {"a": "b"}}, metadata: Object.metadata{labels: {"c": "d"}}}"#,
        POD,
        "metadata.labels",
        r#"{"app":"x","c":"d"}"#,
    );
    check("data", r#"Object{data: Object.data{k2: "v2"}}"#, CONFIG_MAP, "data", r#"{"k":"v","k2":"v2"}"#);
}

#[test]
fn containers_are_merged_by_name() {
    let (a, b, n) = (
        "Object.spec.containers{name: \"a\"}",
        "Object.spec.containers{name: \"b\"}",
        "Object.spec.containers{name: \"n\"}",
    );
    check_containers("T02", r#"[Object.spec.containers{name: "a", imagePullPolicy: "Always"}]"#, "a b");
    check_containers("T03", r#"[Object.spec.containers{name: "new", image: "i"}]"#, "a b new");
    check_containers("T05", &format!("[{b}, {a}]"), "b a");
    check_containers("T06", &format!("[{a}, {n}, {b}]"), "a n b");
    check_containers("T07", &format!("[{a}] + [{b}]"), "a b");
    let map =
        r#"object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: "Always"})"#;
    for by in [By::ApiServer, By::Kyverno] {
        let containers = result(by, &spec(&pod_spec(&format!("containers: {map}"))), POD, "spec.containers");
        assert_eq!(containers.matches(r#""imagePullPolicy":"Always""#).count(), 2, "T04 {containers}");
        let containers = result(by, &spec(&container("imagePullPolicy: \"Always\"")), POD, "spec.containers");
        for kept in [r#""args":["one","two"]"#, r#"{"name":"b","image":"busybox"}"#, r#""image":"nginx:1""#] {
            assert!(containers.contains(kept), "T02 {containers}");
        }
        for (id, field, expected) in [
            (
                "T12",
                r#"ports: [Object.spec.containers.ports{containerPort: 80, name: "http"}]"#,
                r#""ports":[{"containerPort":80,"name":"http"}]"#,
            ),
            (
                "T13",
                r#"ports: [Object.spec.containers.ports{containerPort: 80, protocol: "UDP"}]"#,
                r#""ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}]"#,
            ),
            (
                "T15",
                r#"env: [Object.spec.containers.env{name: "FOO", value: "9"}, Object.spec.containers.env{name: "NEW", value: "1"}]"#,
                r#""env":[{"name":"FOO","value":"9"},{"name":"BAR","value":"2"},{"name":"NEW","value":"1"}]"#,
            ),
        ] {
            let containers = result(by, &spec(&container(field)), POD, "spec.containers");
            assert!(containers.contains(expected), "{id} {containers}");
        }
    }
}

#[test]
fn what_is_replaced_as_a_whole_needs_a_policy_that_allows_it() {
    let atomic = |paths: &str| {
        format!(
            "an apply configuration may not set lists, maps and structs that are replaced as a whole: {paths}"
        )
    };
    let args = container(r#"args: ["x"]"#);
    check("T08", &args, POD, "", &atomic("spec.containers[0].args"));
    check("T10", &pod_spec(r#"nodeSelector: {"z": "1"}"#), POD, "", &atomic("spec.nodeSelector"));
    check(
        "T10",
        &pod_spec(r#"tolerations: [Object.spec.tolerations{key: "k"}]"#),
        POD,
        "",
        &atomic("spec.tolerations"),
    );
    check(
        "T10b",
        &pod_spec(r#"imagePullSecrets: [Object.spec.imagePullSecrets{name: "s"}]"#),
        POD,
        "",
        &atomic("spec.imagePullSecrets[0]"),
    );
    check(
        "T11",
        &pod_spec(r#"selector: Object.spec.selector{matchLabels: {"z": "1"}}"#),
        DEPLOYMENT,
        "",
        &atomic("spec.selector"),
    );
    // T09
    let allowed = format!("evaluation: {{useServerSideApply: true}}, {}", spec(&args));
    let containers = result(By::Kyverno, &allowed, POD, "spec.containers");
    assert!(containers.contains(r#""args":["x"]"#), "{containers}");
}

#[test]
fn values_that_do_not_fit_are_errors() {
    let invalid = |text: &str| format!("invalid apply configuration: {text}");
    let null = "null is no value here, and it removes nothing: leave the field out";
    check(
        "T16",
        "Object{spec: Object.wrong{}}",
        POD,
        "",
        r#"type mismatch: unexpected type name "Object.wrong", expected "Object.spec""#,
    );
    check(
        "T17",
        &pod_spec(r#"containers: [{"name": "a", "image": "i1"}]"#),
        POD,
        "",
        &invalid(
            "spec.containers[0]: a map inside of a map or list is not converted: write `Object.spec.containers{…}`",
        ),
    );
    check(
        "T18",
        r#"Object{metadata: {"labels": {"z": "b"}}}"#,
        POD,
        "",
        &invalid(
            "metadata.labels: a map inside of a map or list is not converted: write `Object.metadata.labels{…}`",
        ),
    );
    check("T19", &labels(r#""app": null"#), POD, "", &invalid(&format!("metadata.labels.app: {null}")));
    check("T20", &pod_spec("nosuch: 1"), POD, "", &invalid("spec.nosuch: unknown field"));
    check("T21", &labels(r#""a": 1"#), POD, "", &invalid("metadata.labels.a: expected string, found number"));
    check(
        "T22",
        &pod_spec("activeDeadlineSeconds: 5u"),
        POD,
        "",
        &invalid(
            "spec.activeDeadlineSeconds: an unsigned integer is no value here: write an integer, or `int(…)`",
        ),
    );
    check(
        "T22",
        &pod_spec(r#"activeDeadlineSeconds: "5""#),
        POD,
        "",
        &invalid("spec.activeDeadlineSeconds: expected number, found string"),
    );
    check(
        "T24",
        "object.kind == \"Node\" ? Object{} : null",
        POD,
        "",
        "an apply configuration must be an `Object{…}`, found null_type",
    );
    check("T29", &labels(r#""a": object.metadata.nope"#), POD, "", "no such key: nope");
}

#[test]
fn a_kind_without_a_schema_is_an_error() {
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}";
    check(
        "no schema",
        "Object{}",
        widget,
        "",
        "the schema of example.com/v1/Widget is not known; `--crds` reads its CustomResourceDefinition",
    );
    let report = run(&[policy(By::Kyverno, "p", &spec("Object{}"))], POD);
    assert!(matches!(report.policies[0].rules[0].outcome, Outcome::NoChange));
}
