//! Which requests constraints select, and why not.

use crate::policy::cel::{CelPolicyKind, MatchConstraints};
use crate::policy::{Candidate, Operation, PolicyFamily as _};
use crate::resources::plural;
use crate::value::{GroupVersionKind, Text};

use super::*;

fn constraints(text: &str, kind: CelPolicyKind) -> MatchConstraints {
    MatchConstraints::read(&yaml::parse_value(text).unwrap(), kind)
}

fn object(text: &str) -> Value {
    yaml::parse_value(text).unwrap()
}

const MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop, labels: {app: x}}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: shop}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: a}}}";
const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n}}";
const GENERATED: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: named-x-, namespace: shop}}";

/// A rule, an object, the subresource, and part of why it is not selected; empty if it is.
const ROWS: &[(&str, &str, &str, &str)] = &[
    ("resources: [configmaps]", MAP, "", ""),
    ("resources: ['*']", MAP, "", ""),
    ("resources: ['*/*']", MAP, "", ""),
    ("resources: ['*/*']", DEPLOYMENT, "scale", ""),
    ("resources: [configmaps/status]", MAP, "", "resource is `configmaps`, expected `configmaps/status`"),
    ("resources: [deployments]", DEPLOYMENT, "scale", "resource is `deployments/scale`"),
    ("resources: [deployments/*]", DEPLOYMENT, "scale", ""),
    ("resources: [deployments/*]", DEPLOYMENT, "", ""),
    ("resources: ['*/scale']", DEPLOYMENT, "scale", ""),
    ("resources: ['*']", DEPLOYMENT, "scale", "resource is `deployments/scale`, expected `*`"),
    ("apiGroups: ['']", DEPLOYMENT, "", "API group is `apps`, expected ``"),
    ("apiVersions: [v1beta1, v2]", MAP, "", "API version is `v1`, expected `v1beta1` or `v2`"),
    ("operations: [UPDATE, DELETE]", MAP, "", "operation is `CREATE`, expected `UPDATE` or `DELETE`"),
    ("operations: []", MAP, "", "operation is `CREATE`"),
    ("resourceNames: [c]", MAP, "", ""),
    ("resourceNames: [d]", MAP, "", "name is `c`, expected `d`"),
    ("scope: Cluster", MAP, "", "its scope is another"),
    ("scope: Cluster", NODE, "", ""),
    ("scope: Cluster", NAMESPACE, "", ""),
    ("scope: Namespaced", NODE, "", "its scope is another"),
    ("scope: Namespaced", MAP, "", ""),
];

fn rule(fields: &str) -> String {
    let name = fields.split(':').next().unwrap_or_default();
    let others =
        ["apiGroups", "apiVersions", "operations", "resources"].into_iter().filter(|one| *one != name);
    let others: Vec<String> = others.map(|field| format!("{field}: ['*']")).collect();
    // `*` is no subresource.
    format!("{{{}, {fields}}}", others.join(", "))
}

#[track_caller]
fn check(
    constraints: &MatchConstraints,
    object: &Value,
    subresource: &str,
    labels: Option<&Value>,
    expected: &str,
) {
    let kind = GroupVersionKind::of(object).unwrap();
    let resource = plural(&kind.group, &kind.kind);
    let candidate = Candidate {
        resource: &resource,
        subresource,
        namespace_labels: labels,
        ..Candidate::new(object, &kind, Operation::Create)
    };
    let reasons = constraints.mismatch(&candidate, None);
    assert_eq!(constraints.selects(&candidate, None), expected.is_empty(), "{constraints:?} {reasons:?}");
    assert_eq!(reasons.is_empty(), expected.is_empty(), "{reasons:?}");
    assert!(reasons.join("; ").contains(expected), "{reasons:?}");
}

#[test]
fn rules_select_requests() {
    for (fields, text, subresource, expected) in ROWS {
        let constraints =
            constraints(&format!("{{resourceRules: [{}]}}", rule(fields)), CelPolicyKind::MutatingPolicy);
        check(&constraints, &object(text), subresource, None, expected);
    }
}

#[test]
fn generated_names_match_by_their_beginning_in_kyverno_alone() {
    let text = format!("{{resourceRules: [{}]}}", rule("resourceNames: [named]"));
    for (kind, expected) in [
        (CelPolicyKind::MutatingPolicy, ""),
        (CelPolicyKind::MutatingAdmissionPolicy, "name is `named-x-`, expected `named`"),
    ] {
        check(&constraints(&text, kind), &object(GENERATED), "", None, expected);
    }
}

#[test]
fn selectors_and_exclusions_restrict_rules() {
    let labels = object("{team: a}");
    for (more, text, labels, expected) in [
        ("namespaceSelector: {matchLabels: {team: a}}", MAP, Some(&labels), ""),
        ("namespaceSelector: {matchLabels: {team: b}}", MAP, Some(&labels), "namespace: label `team` is `a`"),
        ("namespaceSelector: {matchLabels: {team: a}}", MAP, None, "namespace: label `team` is missing"),
        ("namespaceSelector: {matchLabels: {team: a}}", NAMESPACE, None, ""),
        ("namespaceSelector: {matchLabels: {team: a}}", NODE, None, ""),
        ("objectSelector: {matchLabels: {app: x}}", MAP, None, ""),
        ("objectSelector: {matchLabels: {app: z}}", MAP, None, "label `app` is `x`, expected `z`"),
        ("excludeResourceRules: [RULE]", MAP, None, "excludeResourceRules"),
    ] {
        let more = more.replace("RULE", &rule("resources: [configmaps]"));
        let text_of = format!("{{resourceRules: [{}], {more}}}", rule("resources: ['*']"));
        check(&constraints(&text_of, CelPolicyKind::MutatingPolicy), &object(text), "", labels, expected);
    }
    let two = format!("{{resourceRules: [{0}, {0}]}}", rule("resources: [pods]"));
    check(
        &constraints(&two, CelPolicyKind::MutatingPolicy),
        &object(MAP),
        "",
        None,
        "none of its 2 resource rules",
    );
    // Without rules, as a binding may have: everything.
    check(&constraints("{}", CelPolicyKind::MutatingAdmissionPolicy), &object(MAP), "", None, "");
    // The stored object of an update may have the labels.
    let (after, before) = (object(DEPLOYMENT), object("{metadata: {labels: {app: x}}}"));
    let kind = GroupVersionKind::of(&after).unwrap();
    let selector = "{objectSelector: {matchLabels: {app: x}}}";
    let selector = constraints(selector, CelPolicyKind::MutatingPolicy);
    assert!(selector.selects(&Candidate::new(&after, &kind, Operation::Update), Some(&before)));
}

const AUTOSCALER: &str =
    "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: h, namespace: shop}}";
const EVENT: &str = "{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: shop}}";
const REVIEW: &str = "{apiVersion: authorization.k8s.io/v1, kind: SubjectAccessReview, metadata: {}}";
const CUSTOM: &str = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}";

#[test]
fn an_api_server_excludes_other_versions_and_hides_reviews() {
    const BOTH: [CelPolicyKind; 2] = [CelPolicyKind::MutatingAdmissionPolicy, CelPolicyKind::MutatingPolicy];
    for (excluded, text, more, expected) in [
        ("apiGroups: [autoscaling], apiVersions: [v2]", AUTOSCALER, "", [false, true]),
        ("apiGroups: [autoscaling], apiVersions: [v2]", AUTOSCALER, "matchPolicy: Exact, ", [true, true]),
        ("apiGroups: [autoscaling], apiVersions: [v3]", AUTOSCALER, "", [true, true]),
        ("apiGroups: [''], apiVersions: [v1]", EVENT, "", [false, true]),
        ("apiGroups: [apps], apiVersions: [v1]", EVENT, "", [true, true]),
        ("apiGroups: [example.com], apiVersions: [v2]", CUSTOM, "", [false, true]),
        ("apiGroups: [apps], apiVersions: [v1]", REVIEW, "", [false, true]),
    ] {
        let rules = format!(
            "{{{more}resourceRules: [{}], excludeResourceRules: [{{{excluded}, operations: ['*'], resources: ['*']}}]}}",
            rule("resources: ['*']")
        );
        let object = object(text);
        let kind = GroupVersionKind::of(&object).unwrap();
        let resource = plural(&kind.group, &kind.kind);
        let candidate =
            Candidate { resource: &resource, ..Candidate::new(&object, &kind, Operation::Create) };
        let found = BOTH.map(|kind| {
            let constraints = constraints(&rules, kind);
            let is_selected = constraints.selects(&candidate, None);
            assert_eq!(is_selected, constraints.mismatch(&candidate, None).is_empty(), "{excluded} {text}");
            assert_eq!(constraints.converted_to(&candidate, None), None, "{excluded} {text}");
            is_selected
        });
        assert_eq!(found, expected, "{excluded} {text}");
    }
}

#[test]
fn a_cluster_converts_objects_to_the_version_of_a_rule() {
    for (fields, text, expected) in [
        ("apiVersions: [v2]", AUTOSCALER, Some("v2")),
        ("apiVersions: [v3]", AUTOSCALER, None),
        ("apiVersions: [v1, v2]", AUTOSCALER, None),
        ("apiVersions: [v1, v2], resourceNames: [x]", AUTOSCALER, None),
        ("apiVersions: [v2], resourceNames: [x]", AUTOSCALER, None),
        ("apiGroups: ['']", EVENT, Some("v1")),
        (
            "apiGroups: [events.k8s.io]",
            "{apiVersion: v1, kind: Event, metadata: {name: e}}",
            Some("events.k8s.io/v1"),
        ),
        ("apiGroups: [apps]", EVENT, None),
        ("apiVersions: [v2]", CUSTOM, Some("v2")),
        // The name is only that of Kyverno's reading, which is no matter of versions.
        ("apiVersions: [v1], resourceNames: [named]", GENERATED, None),
    ] {
        let constraints =
            constraints(&format!("{{resourceRules: [{}]}}", rule(fields)), CelPolicyKind::MutatingPolicy);
        let object = object(text);
        let kind = GroupVersionKind::of(&object).unwrap();
        let resource = plural(&kind.group, &kind.kind);
        let candidate =
            Candidate { resource: &resource, ..Candidate::new(&object, &kind, Operation::Create) };
        assert_eq!(constraints.converted_to(&candidate, None).as_deref(), expected, "{fields} {text}");
    }
}

#[test]
fn parts_have_resources_and_names() {
    let policy = |kind: &str, rule: &str| {
        let never = if kind == "MutatingAdmissionPolicy" { ", reinvocationPolicy: Never" } else { "" };
        load(&document(
            kind,
            &format!("matchConstraints: {{resourceRules: [{{{rule}}}]}}, mutations: [{MUTATION}]{never}"),
        ))
    };
    let rule = "apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [secrets, configmaps/x]";
    let shown = |policy: &CelPolicy| format!("{:?}", policy.parts()[0]);
    let plain = policy("MutatingPolicy", rule);
    assert!(shown(&plain).contains("[\"configmaps\", \"secrets\"]") && plain.parts()[0].keys.is_none());
    let named = policy("MutatingPolicy", &format!("{rule}, resourceNames: [a]"));
    assert!(shown(&named).contains("Name(\"a*\")"), "{}", shown(&named));
    let named = policy("MutatingAdmissionPolicy", &format!("{rule}, resourceNames: [a]"));
    assert!(shown(&named).contains("Name(\"a\")"), "{}", shown(&named));
    let any = policy("MutatingPolicy", &rule.replace("secrets", "'*'"));
    assert!(shown(&any).contains("Any"), "{}", shown(&any));
    let [secret, pod] = ["Secret", "Pod"].map(|kind| GroupVersionKind::new("v1", kind));
    let may = |policy: &CelPolicy, kind: &GroupVersionKind| policy.may_change(kind, (kind, ""));
    assert!(may(&plain, &secret) && !may(&plain, &pod) && may(&any, &pod));
    assert!(!plain.uses_namespace_labels());
    let of_namespace: Text = "default".into();
    assert_eq!(policy("NamespacedMutatingPolicy", rule).meta.namespace, Some(of_namespace));
}
