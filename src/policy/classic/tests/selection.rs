//! Which objects rules select, and why not.

use crate::policy::{Candidate, Operation, Rule, UserInfo};
use crate::value::GroupVersionKind;

use super::*;

/// A rule with these blocks, in a policy for admission only.
fn rule(blocks: &str) -> Rule {
    let document = policy(&format!("background: false, rules: [{{name: r, {blocks}, {PATCH}}}]"));
    load(&document).rules.swap_remove(0)
}

fn kind_of(object: &Value) -> GroupVersionKind {
    GroupVersionKind::of(object).unwrap()
}

/// Why the rule does not select the object; empty if it does.
fn reasons(rule: &Rule, candidate: &Candidate<'_>) -> String {
    let mismatch = rule.mismatch(candidate);
    assert_eq!(rule.selects(candidate), mismatch.is_none());
    mismatch.map(|mismatch| mismatch.reasons.join("; ")).unwrap_or_default()
}

/// The same for an object that an unknown user creates.
fn created(blocks: &str, object: &str) -> String {
    let object = value(object);
    reasons(&rule(blocks), &Candidate::new(&object, &kind_of(&object), Operation::Create))
}

/// Whether a text begins with another, which is empty only if the text is.
fn begins(text: &str, expected: &str) -> bool {
    text.starts_with(expected) && text.is_empty() == expected.is_empty()
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: hello-world, namespace: default, \
                   labels: {name: hello-world, dns: 'yes'}, annotations: {a/b: c}}}";
const GENERATED: &str =
    "{apiVersion: v1, kind: Pod, metadata: {generateName: hello-world-, namespace: default}}";
const DEPLOYMENT: &str =
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: qos-demo, labels: {test: qos}}}";

const EXCLUDED: &str = "resource excluded since one of the criteria excluded it";

/// The blocks of a rule, an object, and how the reason begins why the rule does not select it.
const SELECTED: &str = "
    match: {any: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod]}}]} => pod => selected
    match: {any: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod], name: x}}]} => pod => no resource matched
    match: {all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], name: hello*}}]} => pod => selected
    match: {all: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod], name: x}}]} => pod => kind does not match [Service]; name does not match
    match: {resources: {kinds: [Service, v1/Secret]}} => pod => kind does not match [Service v1/Secret]

    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {name: hello-*}}]} => pod => resource excluded since one
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {name: bye-*}}]} => pod => selected
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{}]} => pod => selected
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {names: []}}]} => pod => selected
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {resources: {names: [x, hello-*]}} => pod => resource excluded since one
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {all: [{resources: {name: hello-*}}, {resources: {namespaces: [default]}}]} => pod => resource excluded since the combination
    match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {all: [{resources: {name: hello-*}}, {resources: {namespaces: [prod]}}]} => pod => selected

    match: {any: [{resources: {kinds: [Pod], names: [x, hello-*]}}]} => pod => selected
    match: {resources: {kinds: [Pod], names: [x, 'y']}} => pod => none of the names match
    match: {resources: {kinds: [Pod], name: hello-world-}} => generated => selected
    match: {resources: {kinds: [Pod], names: [hello-world-?*]}} => generated => none of the names match

    match: {resources: {kinds: [Service]}} => pod => kind does not match
    match: {resources: {kinds: [v1/Pod]}} => pod => selected
    match: {resources: {kinds: [apps/v1/Deployment], selector: {matchLabels: {test: qos}}}} => deployment => selected
    match: {resources: {kinds: [apps/v1beta1/Deployment]}} => deployment => kind does not match
    match: {resources: {kinds: [rbac.authorization.k8s.io/v1beta1/ClusterRole]}} => role => kind does not match
    match: {resources: {kinds: [pod]}} => pod => kind does not match
    match: {resources: {kinds: [apps/v1/deployment]}} => deployment => kind does not match

    match: {resources: {kinds: [Pod], selector: {matchExpressions: [{key: dns, operator: NotIn, values: ['yes']}]}}} => pod => selector does not match
    match: {resources: {kinds: [Pod], selector: {matchExpressions: [{key: dns, operator: NotIn, values: ['no']}]}}} => pod => selected
    match: {resources: {kinds: [Pod]}}, exclude: {resources: {selector: {matchExpressions: [{key: dns, operator: In, values: ['yes']}]}}} => pod => resource excluded since one
    match: {resources: {kinds: [Pod], selector: {matchLabels: {a b*: x}}}} => pod => failed to parse selector
    match: {resources: {kinds: [Pod]}}, exclude: {resources: {selector: {matchLabels: {a b*: x}}}} => pod => selected
    match: {resources: {kinds: [Pod], annotations: {a/*: c}}} => pod => selected
    match: {resources: {kinds: [Pod], annotations: {a/*: d}}} => pod => annotations does not match

    match: {resources: {kinds: [Service], operations: [UPDATE]}} => pod => operation does not match
    match: {resources: {kinds: [Pod], operations: [UPDATE, CREATE]}} => pod => selected
";

#[test]
fn filters_are_combined() {
    for [blocks, object, expected] in rows(SELECTED) {
        let object = match object {
            "pod" => POD,
            "generated" => GENERATED,
            "deployment" => DEPLOYMENT,
            _ => "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a}}",
        };
        let expected = if expected == "selected" { "" } else { expected };
        let found = created(blocks, object);
        assert!(begins(&found, expected), "{blocks}: {found}");
    }
}

#[test]
fn every_failed_condition_has_a_reason() {
    let blocks = "match: {resources: {kinds: [Service], name: x, namespaces: ['y'], annotations: {z: '*'}, \
                  selector: {matchLabels: {a: b}}, namespaceSelector: {matchLabels: {a: b}}}}";
    assert_eq!(
        created(blocks, POD),
        "kind does not match [Service]; name does not match; namespace does not match; annotations does not match; \
         selector does not match; namespace selector does not match labels"
    );
}

#[test]
fn namespaces_of_objects_and_namespaces_themselves() {
    let prod = rule("match: {any: [{resources: {kinds: ['*/*'], namespaces: [prod*]}}]}");
    for (kind, name, namespace, expected) in [
        ("Pod", "a", "prod-1", true),
        ("Pod", "prod", "default", false),
        ("Namespace", "prod", "", true),
        ("Namespace", "dev", "", false),
        ("Node", "prod", "", false),
    ] {
        let object = value(&format!("{{apiVersion: v1, kind: {kind}, metadata: {{name: {name}}}}}"));
        let gvk = kind_of(&object);
        let candidate = Candidate { namespace, ..Candidate::new(&object, &gvk, Operation::Create) };
        assert_eq!(prod.selects(&candidate), expected, "{kind} {name}");
    }
}

/// A `namespaceSelector`, an object, the labels of its namespace if known, and how the reason begins why a rule with the
/// selector does not select the object.
const NAMESPACE_SELECTORS: &str = "
    {matchLabels: {team: a*}} => pod => {team: alpha} => selected
    {matchLabels: {team: a*}} => pod => {team: beta} => namespace selector does not match labels
    {matchLabels: {team: a*}} => pod => null => namespace selector does not match labels
    {} => pod => null => selected
    {matchExpressions: [{key: team, operator: DoesNotExist}]} => pod => null => selected
    {matchLabels: {team: a*}} => namespace => {team: alpha} => namespace selector is not applicable for namespace resource
    {matchLabels: {team: a*}} => untyped => null => selected
    {matchLabels: {a b: c}} => pod => null => failed to parse namespace selector
";

#[test]
fn namespace_selectors_use_the_labels_of_the_namespace() {
    for [selector, object, labels, expected] in rows(NAMESPACE_SELECTORS) {
        let object = value(match object {
            "namespace" => "{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: alpha}}}",
            "untyped" => "{metadata: {name: x}}",
            _ => POD,
        });
        let labels = Some(value(labels)).filter(|labels| !labels.is_null());
        let kind = GroupVersionKind::of(&object).unwrap_or_else(|| GroupVersionKind::new("v1", "Pod"));
        let candidate = Candidate {
            namespace_labels: labels.as_ref(),
            ..Candidate::new(&object, &kind, Operation::Create)
        };
        let rule = rule(&format!("match: {{resources: {{kinds: ['*/*'], namespaceSelector: {selector}}}}}"));
        assert!(rule.uses_namespace_labels());
        let found = reasons(&rule, &candidate);
        let expected = if expected == "selected" { "" } else { expected };
        assert!(begins(&found, expected), "{selector}: {found}");
    }
}

#[test]
fn users_are_matched_if_known() {
    let user = |text: &str| UserInfo::from_document(&value(text));
    let alice =
        user("{roles: ['prod:edit'], clusterRoles: [admin], userInfo: {username: alice, groups: [dev]}}");
    let bob = user("{userInfo: {username: bob}}");
    let nobody = UserInfo::default();
    let matching = |users: &str| format!("match: {{any: [{{resources: {{kinds: [Pod]}}, {users}}}]}}");
    let direct = |users: &str| format!("match: {{resources: {{kinds: [Pod]}}, {users}}}");
    let pods = "match: {any: [{resources: {kinds: [Pod]}}]}";
    let excluding =
        |users: &str| format!("{pods}, exclude: {{any: [{{resources: {{name: hello*}}, {users}}}]}}");
    let users_only = |users: &str| format!("{pods}, exclude: {{any: [{{{users}}}]}}");
    const ADMIN: &str = "clusterRoles: [admin, root]";
    const BOB: &str = "subjects: [{kind: User, name: bo?}]";
    for (blocks, user, expected) in [
        (matching(ADMIN), &alice, ""),
        (matching(ADMIN), &bob, "no resource matched"),
        (direct(ADMIN), &bob, "user info does not match clustersRoles for the given conditionBlock"),
        (direct("roles: ['prod:edit']"), &alice, ""),
        (direct("roles: ['prod:e*']"), &alice, "user info does not match roles for the given conditionBlock"),
        (direct(BOB), &alice, "user info does not match subject for the given conditionBlock"),
        // All conditions on users must hold.
        (direct(&format!("{ADMIN}, {BOB}")), &alice, "user info does not match subject"),
        (direct(&format!("{ADMIN}, {BOB}")), &bob, "user info does not match clustersRoles"),
        // They do not count if the user is not known.
        (matching(ADMIN), &nobody, ""),
        (direct(BOB), &nobody, ""),
        // In `exclude` they always do.
        (excluding(ADMIN), &alice, EXCLUDED),
        (excluding(ADMIN), &bob, ""),
        (excluding(ADMIN), &nobody, ""),
        (users_only(BOB), &bob, EXCLUDED),
        (users_only(BOB), &nobody, ""),
        (users_only("subjects: [{kind: User, name: '*'}]"), &nobody, EXCLUDED),
        (users_only("subjects: []"), &nobody, EXCLUDED),
    ] {
        let object = value(POD);
        let kind = kind_of(&object);
        let candidate = Candidate { user: Some(user), ..Candidate::new(&object, &kind, Operation::Create) };
        let found = reasons(&rule(&blocks), &candidate);
        assert!(begins(&found, expected), "{blocks}: {found}");
    }
}

#[test]
fn empty_objects_and_subresources() {
    let all = rule("match: {any: [{resources: {kinds: [Pod]}}]}");
    let kind = GroupVersionKind::new("v1", "Pod");
    let empty = Value::empty_object();
    assert_eq!(reasons(&all, &Candidate::new(&empty, &kind, Operation::Create)), "resource is empty");
    let pod = value(POD);
    for (subresource, expected) in [("", true), ("status", false), ("ephemeralcontainers", true)] {
        let candidate = Candidate { subresource, ..Candidate::new(&pod, &kind, Operation::Update) };
        assert_eq!(all.selects(&candidate), expected, "{subresource}");
    }
}

#[test]
fn generated_rules_are_selected_like_others() {
    let document =
        policy(&format!("rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, {PATCH}}}]"));
    let policy = load(&document);
    let object = value(DEPLOYMENT);
    let kind = kind_of(&object);
    let candidate = Candidate::new(&object, &kind, Operation::Create);
    let taken: Vec<_> =
        policy.rules.iter().filter(|rule| rule.selects(&candidate)).map(|rule| &*rule.name).collect();
    assert_eq!(taken, ["autogen-r"]);
}

#[test]
fn a_namespaced_policy_admits_its_namespace_alone() {
    for (metadata, namespace, expected) in [
        ("{name: p, namespace: a}", "a", true),
        ("{name: p, namespace: a}", "default", false),
        ("{name: p}", "default", true),
        ("{name: p}", "a", false),
        ("{name: p}", "", false),
    ] {
        let policy = load(&value(&format!(
            "{{apiVersion: kyverno.io/v1, kind: Policy, metadata: {metadata}, \
              spec: {{rules: [{{name: r, {MATCH}, {PATCH}}}]}}}}"
        )));
        let object = value("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}");
        let kind = kind_of(&object);
        let candidate = Candidate { namespace, ..Candidate::new(&object, &kind, Operation::Create) };
        assert_eq!(policy.meta.admits(&candidate), expected, "{metadata} {namespace}");
        let expected = if expected { "" } else { "policy and resource namespaces mismatch" };
        assert_eq!(reasons(&policy.rules[0], &candidate), expected);
    }
}

/// The blocks of a rule, and below them why it does not select the Pod.
const DETAILS: &str = "
    match: {any: [{resources: {kinds: [Pod]}}]}
    match: {resources: {kinds: [Service, v1/Node], names: [a*, b]}}
        match: kind is `v1/Pod`, expected `Service` or `v1/Node`; name is `hello-world`, expected `a*` or `b`
    match: {all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], namespaces: [x], operations: [UPDATE]}}]}
        match.all[1]: operation is `CREATE`, expected `UPDATE`; namespace is `default`, expected `x`
    match: {any: [{resources: {kinds: [Pod], annotations: {a/b: d}, selector: {matchLabels: {dns: n*}, matchExpressions: [{key: x, operator: Exists}, {key: dns, operator: DoesNotExist}]}}}]}
        match.any[0]: no annotation matches `a/b: d`; label `dns` is `yes`, expected `n*`; label `x` is missing, expected any; label `dns` is `yes`, expected no such label
    match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {tier: gold}}}}]}
        match.any[0]: namespace `default`: label `tier` is missing, expected `gold` (its labels are unknown: pass the Namespace with -f, or --values)
    match: {resources: {kinds: [Pod]}}, exclude: {all: [{resources: {namespaces: [def*]}}, {resources: {name: hello-*}}]}
        exclude.all[0] excludes it: namespace `def*`
        exclude.all[1] excludes it: name `hello-*`
";

#[test]
fn a_mismatch_says_what_the_rule_requires_and_the_object_has() {
    let mut lines = DETAILS.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    while let Some(blocks) = lines.next() {
        let expected: Vec<_> =
            std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("match: {"))).collect();
        let object = value(POD);
        let kind = kind_of(&object);
        let mismatch = rule(blocks).mismatch(&Candidate::new(&object, &kind, Operation::Create));
        let found = mismatch.map(|mismatch| mismatch.details).unwrap_or_default();
        assert_eq!(found, expected, "{blocks}");
    }
}
