//! Fields in expressions that no kind of a policy has.

use crate::policy::{Policy, parse};
use crate::semantics::Semantics;
use crate::yaml::parse_value;

/// The warnings of a policy for resources, given the rest of its `spec`.
fn warnings(resources: &str, spec: &str) -> Vec<String> {
    let text = format!(
        "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{matchConstraints: {{resourceRules: \
         [{{apiGroups: ['', apps], apiVersions: [v1], operations: [CREATE], resources: [{resources}]}}]}}, {spec}}}}}"
    );
    let policy = parse(&parse_value(&text).unwrap(), Semantics::Documented);
    let Ok(Policy::Cel(policy)) = policy else { panic!("{text}: {policy:?}") };
    policy.meta.warnings.iter().map(|warning| format!("{}: {}", warning.pointer, warning.cause)).collect()
}

const NOTHING: &str =
    "mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}]";

fn of_condition(resources: &str, expression: &str) -> Vec<String> {
    warnings(resources, &format!("{NOTHING}, matchConditions: [{{name: c, expression: \"{expression}\"}}]"))
}

#[test]
fn unknown_fields_are_found_in_each_expression() {
    let condition = "spec.matchConditions[0].expression";
    assert_eq!(
        of_condition("deployments", "object.spec.foo == 'x'"),
        [format!("{condition}: `spec.foo` is no field of `Deployment`")]
    );
    assert_eq!(
        of_condition("pods", "object.spec.containers.exists(c, c.nam == 'a')"),
        [format!("{condition}: `spec.containers[].nam` is no field of `Pod`; did you mean `name`?")]
    );
    let variable = format!(
        "{NOTHING}, variables: [{{name: v, expression: \"object.spec.containers.filter(c, c.img == 'a')\"}}]"
    );
    assert_eq!(
        warnings("pods", &variable),
        ["spec.variables[0].expression: `spec.containers[].img` is no field of `Pod`"]
    );
    let patch = |kind: &str, field: &str, expression: &str| {
        warnings(
            "deployments",
            &format!("mutations: [{{patchType: {kind}, {field}: {{expression: \"{expression}\"}}}}]"),
        )
    };
    assert_eq!(
        patch("ApplyConfiguration", "applyConfiguration", "Object{spec: Object.spec{replcas: 4}}"),
        ["spec.mutations[0]: `spec.replcas` is no field of `Deployment`; did you mean `replicas`?"]
    );
    assert_eq!(
        patch(
            "JSONPatch",
            "jsonPatch",
            "[JSONPatch{op: 'add', path: '/spec/template/spec/nodeNam', value: 'x'}]"
        ),
        [
            "spec.mutations[0]: `spec.template.spec.nodeNam` is no field of `Deployment`; did you mean `nodeName`?"
        ]
    );
}

#[test]
fn what_may_be_right_is_silent() {
    for (resources, expression) in [
        ("pods", "object.metadata.labels['app'] == 'a' && object.metadata.?labels.app.orValue('') == 'b'"),
        ("pods", "object.kind == 'Pod' && object.apiVersion == 'v1'"),
        // One of the kinds has it.
        ("pods, deployments", "has(object.spec.replicas)"),
        // Nothing is known of all kinds.
        ("'*'", "object.spec.foo == 'x'"),
        ("configmaps", "object.data.foo == 'x'"),
        ("pods", "object.spec.containers.all(c, c.resources.limits.cpu == '1')"),
    ] {
        assert_eq!(of_condition(resources, expression), [""; 0], "{resources} {expression}");
    }
}
