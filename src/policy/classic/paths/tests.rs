//! Rules with what they read and write.

use crate::policy::{Policy, parse};
use crate::yaml;

use super::*;
use crate::semantics::Semantics;

/// Reads and writes of a rule for Pods, given its fields beside `name` and `match`.
fn paths(fields: &str) -> [String; 2] {
    paths_of("kinds: [Pod]", fields)
}

fn paths_of(resources: &str, fields: &str) -> [String; 2] {
    let document = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, \
         rules: [{{name: r, match: {{any: [{{resources: {{{resources}}}}}]}}, {fields}}}]}}}}"
    );
    let policy = parse(&yaml::parse_value(&document).unwrap(), Semantics::Documented);
    let Ok(Policy::Classic(policy)) = policy else { panic!("{fields}: {policy:?}") };
    let RulePaths { reads, writes, .. } = policy.rules[0].paths();
    [reads, writes].map(ToString::to_string)
}

const LABEL: &str = "mutate: {patchStrategicMerge: {metadata: {labels: {l: v}}}}";

#[test]
fn selections_read_names_labels_and_annotations() {
    for (resources, reads) in [
        ("kinds: [Pod]", "nothing"),
        ("kinds: [Pod], names: [a]", "metadata.generateName, metadata.name"),
        ("kinds: [Pod], name: a", "metadata.generateName, metadata.name"),
        ("kinds: [Pod], namespaces: [a]", "kind, metadata.generateName, metadata.name"),
        ("kinds: [Pod], selector: {matchLabels: {a: b}}", "metadata.labels.a"),
        ("kinds: [Pod], selector: {matchLabels: {'a*': b}}", "metadata.labels"),
        ("kinds: [Pod], selector: {matchExpressions: [{key: a, operator: Exists}]}", "metadata.labels.a"),
        ("kinds: [Pod], annotations: {a: '*', 'b/*': c}", "metadata.annotations"),
        ("kinds: [Pod], annotations: {a: '*'}", "metadata.annotations.a"),
        ("kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}", "kind"),
    ] {
        assert_eq!(paths_of(resources, LABEL), [reads, "metadata.labels.l"], "{resources}");
    }
    let excluded =
        format!("exclude: {{any: [{{resources: {{kinds: [Pod], annotations: {{a: b}}}}}}]}}, {LABEL}");
    assert_eq!(paths(&excluded)[0], "metadata.annotations.a");
}

#[test]
fn variables_read_what_their_expressions_name() {
    for (fields, reads) in [
        (
            "preconditions: {all: [{key: '{{ request.object.spec.a }}', operator: Equals, value: x}]}",
            "spec.a",
        ),
        (
            "preconditions: {all: [{key: x, operator: AnyIn, value: '{{ request.object.spec.l[].i }}'}]}",
            "spec.l[].i, spec.l[][].i",
        ),
        (
            "preconditions: {all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}",
            "nothing",
        ),
        ("preconditions: {all: [{key: '{{ request }}', operator: Equals, value: x}]}", "everything"),
        (
            "preconditions: {all: [{key: '{{ request.object.metadata.labels.{{ request.object.x }} }}', operator: Equals, value: x}]}",
            "everything",
        ),
        (
            "preconditions: {all: [{key: '{{ images.containers.*.registry }}', operator: AnyIn, value: x}]}",
            "spec.containers[].image, spec.containers[].name, spec.ephemeralContainers[].image, \
          spec.ephemeralContainers[].name, spec.initContainers[].image, spec.initContainers[].name, \
          spec.jobTemplate.spec.template.spec.containers[].image, spec.jobTemplate.spec.template.spec.containers[].name, \
          spec.jobTemplate.spec.template.spec.ephemeralContainers[].image, \
          spec.jobTemplate.spec.template.spec.ephemeralContainers[].name, \
          spec.jobTemplate.spec.template.spec.initContainers[].image, \
          spec.jobTemplate.spec.template.spec.initContainers[].name, spec.template.spec.containers[].image, \
          spec.template.spec.containers[].name, spec.template.spec.ephemeralContainers[].image, \
          spec.template.spec.ephemeralContainers[].name, spec.template.spec.initContainers[].image, \
          spec.template.spec.initContainers[].name",
        ),
        (
            "context: [{name: c, variable: {jmesPath: 'request.object.spec.a'}}], preconditions: {all: [{key: '{{ c.b }}', operator: Equals, value: x}]}",
            "spec.a.b",
        ),
        ("context: [{name: c, variable: {value: '{{ request.object.spec.a }}', jmesPath: b}}]", "spec.a"),
        ("context: [{name: c, variable: {jmesPath: '{{ request.object.spec.a }}'}}]", "everything"),
        (
            "context: [{name: c, configMap: {name: '{{ request.object.spec.a }}', namespace: x}}], preconditions: {all: [{key: '{{ c.data.x }}', operator: Equals, value: x}]}",
            "spec.a",
        ),
        (
            "context: [{name: c, apiCall: {urlPath: '/api/v1/namespaces/{{ request.namespace }}', jmesPath: 'metadata.x'}}]",
            "nothing",
        ),
    ] {
        assert_eq!(paths(&format!("{fields}, {LABEL}")), [reads, "metadata.labels.l"], "{fields}");
    }
}

#[test]
fn patches_read_conditions_and_write_paths() {
    let json = |operations: &str| format!("mutate: {{patchesJson6902: '[{operations}]'}}");
    for (fields, reads, writes) in [
        ("mutate: {patchStrategicMerge: {spec: {+(a): 1, b: '{{ request.object.spec.c }}'}}}".to_owned(), "spec.a, spec.c", "spec.a, spec.b"),
        ("mutate: {patchStrategicMerge: {spec: {a: '{{ @ }}-x'}}}".to_owned(), "spec.a", "spec.a"),
        ("mutate: {patchStrategicMerge: {spec: {containers: [{(image): '*', image: 'x/{{ @ }}'}]}}}".to_owned(), "spec.containers[].image", "spec.containers[].image"),
        (json(r#"{"op":"add","path":"/spec/a","value":"{{ request.object.spec.b }}"}"#), "spec.b", "spec.a"),
        (json(r#"{"op":"replace","path":"/spec/a~1b","value":1}"#), "spec.a/b", "spec.a/b"),
        (json(r#"{"op":"test","path":"/spec/a","value":1}"#), "spec.a", "nothing"),
        (json(r#"{"op":"remove","path":"/spec/a"}"#), "nothing", "spec.a"),
        (json(r#"{"op":"move","from":"/spec/a","path":"/spec/b"}"#), "spec.a", "spec.a, spec.b"),
        (json(r#"{"op":"copy","from":"/spec/a","path":"/spec/b"}"#), "spec.a", "spec.b"),
        (json(r#"{"op":"add","path":"/spec/containers/-","value":{}}"#), "spec.containers", "spec.containers"),
        (json(r#"{"op":"remove","path":"/spec/containers/0"}"#), "spec.containers", "spec.containers"),
        (json(r#"{"op":"add","path":"/spec/containers/0/x","value":1}"#), "spec.containers.0, spec.containers[]", "spec.containers.0.x, spec.containers[].x"),
        (
            "mutate: {foreach: [{list: x, patchesJson6902: '{{ element.a }}'}]}".to_owned(),
            "everything",
            "everything",
        ),
        ("mutate: {patchesJson6902: \"- op: add\\n  path: /spec/a\\n  value: {{ request.object.spec.b }}\"}".to_owned(), "spec.b", "spec.a"),
    ] {
        assert_eq!(paths(&fields), [reads, writes], "{fields}");
    }
}

#[test]
fn loops_read_their_elements() {
    let each = |list: &str, body: &str| format!("mutate: {{foreach: [{{list: '{list}', {body}}}]}}");
    let containers = "request.object.spec.containers";
    for (fields, reads, writes) in [
        (
            each(
                containers,
                "patchStrategicMerge: {spec: {containers: [{(name): '{{ element.name }}', x: '{{ element.y }}'}]}}",
            ),
            "spec.containers.name, spec.containers.y, spec.containers[].name, spec.containers[].y",
            "spec.containers[].name, spec.containers[].x",
        ),
        (
            each(
                containers,
                r#"patchesJson6902: '[{"op":"add","path":"/spec/containers/{{elementIndex}}/x","value":"a"}]'"#,
            ),
            "spec.containers[]",
            "spec.containers[].x",
        ),
        (
            each(
                containers,
                r#"patchesJson6902: '[{"op":"add","path":"/metadata/labels/{{element.name}}","value":"a"}]'"#,
            ),
            "spec.containers.name, spec.containers[].name",
            "metadata.labels",
        ),
        (
            each(
                "request.object.spec.[a, b][]",
                "preconditions: {all: [{key: '{{ element.x }}', operator: Equals, value: y}]}, patchStrategicMerge: {spec: {z: 1}}",
            ),
            "spec.a.x, spec.a[].x, spec.b.x, spec.b[].x",
            "spec.z",
        ),
        (
            each(
                containers,
                "foreach: [{list: 'element.ports', patchStrategicMerge: {spec: {z: '{{ element0.name }}-{{ element.port }}'}}}]",
            ),
            "spec.containers.name, spec.containers.ports.port, spec.containers.ports[].port, \
             spec.containers[].name, spec.containers[].ports.port, spec.containers[].ports[].port",
            "spec.z",
        ),
    ] {
        assert_eq!(paths(&fields), [reads, writes], "{fields}");
    }
}

#[test]
fn rules_with_targets_write_other_objects() {
    let targets = "mutate: {targets: [{apiVersion: v1, kind: Secret, name: '{{ request.object.spec.a }}'}], \
                   patchStrategicMerge: {data: {(x): '{{ request.object.spec.b }}'}}}";
    assert_eq!(paths(targets), ["spec.a, spec.b", "nothing"]);
}
