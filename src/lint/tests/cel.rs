//! Policies in CEL.

use super::*;

#[test]
fn a_cel_patch_that_appends_is_found() {
    let of = |operations: &str, more: &str, expression: &str| {
        let text = format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{{more} matchConstraints: \
             {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [{operations}], resources: [services]}}]}}, \
             mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: \"{expression}\"}}}}]}}}}"
        );
        lint(&parse_value(&text).unwrap(), &[]).into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    let patch = "[JSONPatch{op: 'add', path: '/spec/ports/-', value: Object.spec.ports{port: 1}}]";
    assert_eq!(of("CREATE, UPDATE", "", patch), [Code::AddsAgain]);
    assert_eq!(of("CREATE", "", patch), []);
    let condition = "matchConditions: [{name: a, expression: 'size(object.spec.ports) < 2'}],";
    assert_eq!(of("UPDATE", condition, patch), []);
    assert_eq!(of("UPDATE", "", &format!("object.spec.ports.exists(p, p.port == 1) ? [] : {patch}")), []);
}

#[test]
fn a_mutation_of_another_name_or_of_all_labels_is_found() {
    let of = |kind: &str, conditions: &str, expression: &str| {
        let text = format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {{name: p}}, spec: {{{conditions} mutations: \
             [{{patchType: A, {kind}: {{expression: '{}'}}}}]}}}}",
            expression.replace('\'', "''")
        );
        let all = lint(&parse_value(&text).unwrap(), &[]).into_iter();
        all.map(|one| format!("{} {}", one.code, one.pointer.to_json_pointer())).collect::<Vec<_>>()
    };
    let at = |code: &str, kind: &str| vec![format!("{code} /spec/mutations/0/{kind}/expression")];
    let patch = |path: &str| format!("[JSONPatch{{op: \"add\", path: \"{path}\", value: {{\"a\": \"b\"}}}}]");
    for (expression, expected) in [
        ("Object{metadata: Object.metadata{name: 'x'}}", at("KYV914", "applyConfiguration")),
        ("Object{metadata: Object.metadata{name: object.metadata.name}}", vec![]),
        ("Object{metadata: Object.metadata{labels: {'name': 'x'}}}", vec![]),
    ] {
        assert_eq!(of("applyConfiguration", "", expression), expected, "{expression}");
    }
    assert_eq!(of("jsonPatch", "", &patch("/metadata/namespace")), at("KYV914", "jsonPatch"));
    assert_eq!(of("jsonPatch", "", &patch("/metadata/labels")), at("KYV907", "jsonPatch"));
    assert_eq!(of("jsonPatch", "", &patch("/metadata/labels/a")), Vec::<String>::new());
    let guarded = format!("has(object.metadata.labels) ? [] : {}", patch("/metadata/labels"));
    assert_eq!(of("jsonPatch", "", &guarded), Vec::<String>::new());
    let tested =
        "matchConditions: [{name: n, expression: object.metadata.name == 'x'}],".replace("'x'", "\"x\"");
    let tested = tested.replace("expression: object", "expression: 'object").replace("\"x\"}", "\"x\"'}");
    assert_eq!(
        of("applyConfiguration", &tested, "Object{metadata: Object.metadata{name: 'x'}}"),
        Vec::<String>::new()
    );
}

#[test]
fn a_cel_condition_without_variables_is_constant() {
    let of = |expression: &str| {
        let text = format!(
            "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConditions:\n  - {{name: c, expression: \"{expression}\"}}\n"
        );
        let all = lint(&parse_value(&text).unwrap(), &[]).into_iter();
        all.map(|one| format!("{} {}", one.code, one.message)).collect::<Vec<_>>()
    };
    assert_eq!(of("1 > 2"), ["KYV901 the condition `c` is always false: the policy never runs"]);
    assert_eq!(of("true"), ["KYV909 the condition `c` is always true: it has no effect"]);
    for expression in
        ["object.metadata.name == 'a'", "has(object.spec)", "1 +", "1", "request.operation == 'UPDATE'"]
    {
        assert_eq!(of(expression), Vec::<String>::new(), "{expression}");
    }
    let of_creation = parse_value(
        "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {name: p}\nspec:\n  matchConstraints: {resourceRules: \
         [{operations: [CREATE]}]}\n  matchConditions: [{name: c, expression: \"request.operation == 'UPDATE'\"}]\n",
    );
    assert_eq!(lint(&of_creation.unwrap(), &[])[0].code, Code::NeverHolds);
}
