//! Policies on Pods for Pod controllers, in Kyverno's words and in those of the documentation.

use crate::policy::CelPatch;
use crate::policy::cel::autogen::generate;

use super::*;

fn spec(fields: &str) -> Value {
    let text = format!("{{matchConstraints: {{resourceRules: [{{{RULE}}}]}}, {fields}}}");
    yaml::parse_value(&text).unwrap()
}

/// The rewritten expression of the only mutation, for `Deployments` and for `CronJobs`.
fn rewritten(expression: &str, semantics: Semantics) -> [String; 2] {
    let block = if expression.starts_with('[') { "jsonPatch" } else { "applyConfiguration" };
    let mut document = spec("mutations: [{patchType: X}]");
    let mutation = Value::from_iter([("expression", Value::from(expression))]);
    let mutations = Value::from_iter([(block, mutation)]);
    document.insert("mutations", Value::Array(vec![mutations].into()));
    let of = |prefix: &str| {
        let found = generate(&document, semantics).into_iter().find(|one| one.prefix == prefix).unwrap();
        let expression = found.spec.get("mutations").unwrap().at(0).unwrap().path(&[block, "expression"]);
        expression.unwrap().as_str().unwrap().to_owned()
    };
    ["autogen-", "autogen-cronjob-"].map(of)
}

/// An expression; in Kyverno for Deployments; as documented, where that differs.
const EXPRESSIONS: &[(&str, &str, Option<&str>)] = &[
    (
        "Object{spec: Object.spec{hostname: \"h\"}}",
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{hostname: \"h\"}}}}",
        None,
    ),
    (
        "Object {spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})}}",
        "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: \
         object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name})}}}}",
        None,
    ),
    (
        "Object{metadata: Object.metadata{labels: Object.metadata.labels{a: \"b\"}}}",
        "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.metadata{labels: \
         Object.spec.template.metadata.labels{a: \"b\"}}}}}",
        Some(
            "Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: \
             Object.spec.template.metadata.labels{a: \"b\"}}}}}",
        ),
    ),
    (
        "has(object.spec.x) ? Object{} : Object{spec: Object.spec{x: \"}\"}}",
        "has(object.spec.template.spec.x) ? Object{} : Object{spec: Object.spec.template.spec{x: \"}\"}}",
        Some(
            "has(object.spec.template.spec.x) ? Object{} : Object{spec: Object.spec{template: \
             Object.spec.template{spec: Object.spec.template.spec{x: \"}\"}}}}",
        ),
    ),
    ("Object{}", "Object{}", None),
    (
        "namespaceObject.spec == object.metadata.name ? oldObject.spec : object.metadata.labels",
        "namespaceObject.spec == object.metadata.name ? oldObject.spec.template.spec : \
         object.spec.template.metadata.labels",
        None,
    ),
    (
        "object.metadata.?labels.?a.hasValue() ? object.?spec.hostname : object.?metadata.?annotations.?a",
        "object.metadata.?labels.?a.hasValue() ? object.?spec.hostname : object.?metadata.?annotations.?a",
        Some(
            "object.spec.template.?metadata.?labels.?a.hasValue() ? object.spec.template.?spec.hostname : \
             object.spec.template.?metadata.?annotations.?a",
        ),
    ),
    (
        "[JSONPatch{op: \"add\", path: \"/spec/x\", value: object.spec.y}]",
        "[JSONPatch{op: \"add\", path: \"/spec/x\", value: object.spec.y}]",
        Some("[JSONPatch{op: \"add\", path: \"/spec/template/spec/x\", value: object.spec.template.spec.y}]"),
    ),
];

#[test]
fn texts_are_rewritten_for_the_template() {
    for (expression, kyverno, documented) in EXPRESSIONS {
        assert_eq!(rewritten(expression, Semantics::Kyverno)[0], *kyverno, "{expression}");
        let documented = documented.unwrap_or(kyverno);
        assert_eq!(rewritten(expression, Semantics::Documented)[0], documented, "{expression}");
    }
    let [_, of_cron_jobs] = rewritten(EXPRESSIONS[0].0, Semantics::Kyverno);
    let expected = "Object{spec: Object.spec{jobTemplate: Object.spec.jobTemplate{spec: \
        Object.spec.jobTemplate.spec{template: Object.spec.jobTemplate.spec.template{spec: \
        Object.spec.jobTemplate.spec.template.spec{hostname: \"h\"}}}}}}";
    assert_eq!(of_cron_jobs, expected);
}

#[test]
fn policies_on_all_pods_have_variants() {
    let variants = |document: &Value| -> Vec<String> {
        load(document).variants.iter().map(|variant| variant.name.to_string()).collect()
    };
    let of = |constraints: &str, more: &str| {
        variants(&document(
            "MutatingPolicy",
            &format!("matchConstraints: {constraints}, mutations: [{MUTATION}]{more}"),
        ))
    };
    let pods = format!("{{resourceRules: [{{{RULE}}}]}}");
    assert_eq!(of(&pods, ""), ["p", "autogen-cronjob-p", "autogen-p"]);
    let chosen =
        |names: &str| of(&pods, &format!(", autogen: {{podControllers: {{controllers: [{names}]}}}}"));
    assert_eq!(chosen("jobs, nope"), ["p", "autogen-p"]);
    assert_eq!(chosen("cronjobs"), ["p", "autogen-cronjob-p"]);
    assert_eq!(chosen(""), ["p"]);
    for constraints in [
        format!("{{resourceRules: [{{{RULE}}}, {{{RULE}}}]}}"),
        format!("{{resourceRules: [{{{RULE}, resourceNames: [a]}}]}}"),
        format!("{{resourceRules: [{{{}}}]}}", RULE.replace("[pods]", "[pods, services]")),
        format!("{{resourceRules: [{{{}}}]}}", RULE.replace("[v1]", "['*']")),
        format!("{{resourceRules: [{{{RULE}}}], objectSelector: {{matchLabels: {{a: b}}}}}}"),
        format!("{{resourceRules: [{{{RULE}}}], excludeResourceRules: [{{{RULE}}}]}}"),
    ] {
        assert_eq!(of(&constraints, ""), ["p"], "{constraints}");
    }
    let (spec, kind) =
        (format!("matchConstraints: {pods}, mutations: [{MUTATION}]"), "MutatingAdmissionPolicy");
    assert_eq!(variants(&document(kind, &format!("{spec}, reinvocationPolicy: Never"))), ["p"]);
}

#[test]
fn a_generated_policy_that_does_not_compile_has_an_error() {
    // The braces of strings are counted as well.
    let expression = "Object{spec: Object.spec{hostname: \"}}\"}}";
    let document = document(
        "MutatingPolicy",
        &format!(
            "matchConstraints: {{resourceRules: [{{{RULE}}}]}}, \
             mutations: [{{patchType: ApplyConfiguration, applyConfiguration: {{expression: '{expression}'}}}}]"
        ),
    );
    let errors = |semantics| match parse(&document, semantics) {
        Ok(Policy::Cel(policy)) => {
            policy.variants.iter().map(|variant| variant.error.is_some()).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(errors(Semantics::Kyverno), [false, true, true]);
    assert_eq!(errors(Semantics::Documented), [false, false, false]);
    let policy = load(&document);
    assert!(matches!(policy.variants[2].mutations[0].patch, CelPatch::ApplyConfiguration(_)));
}
