//! Which objects rules take, and why not.

use crate::policy::{Candidate, Operation, Rule, UserInfo};
use crate::value::GroupVersionKind;

use super::*;

/// A rule with these blocks, in a policy for admission alone.
fn rule(blocks: &str) -> Rule {
    let document = policy(&format!(r#""background":false,"rules":[{{"name":"r",{blocks},{PATCH}}}]"#));
    load(&document).rules.swap_remove(0)
}

fn kind_of(object: &Value) -> GroupVersionKind {
    GroupVersionKind::of(object).unwrap()
}

/// Why the rule does not take the object; empty if it does.
fn reasons(rule: &Rule, candidate: &Candidate<'_>) -> String {
    let mismatch = rule.mismatch(candidate);
    assert_eq!(rule.selects(candidate), mismatch.is_none());
    mismatch.map(|mismatch| mismatch.reasons.join("; ")).unwrap_or_default()
}

/// The same for an object that nobody known creates.
fn created(blocks: &str, object: &str) -> String {
    let object = json(object);
    reasons(&rule(blocks), &Candidate::new(&object, &kind_of(&object), Operation::Create))
}

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"hello-world","namespace":"default","labels":{"name":"hello-world","dns":"yes"},"annotations":{"a/b":"c"}}}"#;
const GENERATED: &str =
    r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"hello-world-","namespace":"default"}}"#;
const DEPLOYMENT: &str =
    r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"qos-demo","labels":{"test":"qos"}}}"#;

const KIND: &str = "kind does not match";
const EXCLUDED: &str = "resource excluded since one of the criteria excluded it";

#[test]
fn branches_combine_filters() {
    for (blocks, object, expected) in [
        // one of several filters is enough
        (r#""match":{"any":[{"resources":{"kinds":["Service"]}},{"resources":{"kinds":["Pod"]}}]}"#, POD, ""),
        (
            r#""match":{"any":[{"resources":{"kinds":["Service"]}},{"resources":{"kinds":["Pod"],"name":"x"}}]}"#,
            POD,
            "no resource matched",
        ),
        (
            r#""match":{"all":[{"resources":{"kinds":["Pod"]}},{"resources":{"kinds":["Pod"],"name":"hello*"}}]}"#,
            POD,
            "",
        ),
        (
            r#""match":{"all":[{"resources":{"kinds":["Service"]}},{"resources":{"kinds":["Pod"],"name":"x"}}]}"#,
            POD,
            "kind does not match [Service]; name does not match",
        ),
        (
            r#""match":{"resources":{"kinds":["Service","v1/Secret"]}}"#,
            POD,
            "kind does not match [Service v1/Secret]",
        ),
        // exclusion
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"any":[{"resources":{"name":"hello-*"}}]}"#,
            POD,
            EXCLUDED,
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"any":[{"resources":{"name":"bye-*"}}]}"#,
            POD,
            "",
        ),
        (r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"any":[{}]}"#, POD, ""),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"any":[{"resources":{"names":[]}}]}"#,
            POD,
            "",
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"resources":{"names":["x","hello-*"]}}"#,
            POD,
            EXCLUDED,
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"all":[{"resources":{"name":"hello-*"}},{"resources":{"namespaces":["default"]}}]}"#,
            POD,
            "resource excluded since the combination of all criteria exclude it",
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]},"exclude":{"all":[{"resources":{"name":"hello-*"}},{"resources":{"namespaces":["prod"]}}]}"#,
            POD,
            "",
        ),
        // names
        (r#""match":{"any":[{"resources":{"kinds":["Pod"],"names":["x","hello-*"]}}]}"#, POD, ""),
        (r#""match":{"resources":{"kinds":["Pod"],"names":["x","y"]}}"#, POD, "none of the names match"),
        (r#""match":{"resources":{"kinds":["Pod"],"name":"hello-world-"}}"#, GENERATED, ""),
        (
            r#""match":{"resources":{"kinds":["Pod"],"names":["hello-world-?*"]}}"#,
            GENERATED,
            "none of the names match",
        ),
        // kinds
        (r#""match":{"resources":{"kinds":["Service"]}}"#, POD, KIND),
        (r#""match":{"resources":{"kinds":["v1/Pod"]}}"#, POD, ""),
        (
            r#""match":{"resources":{"kinds":["apps/v1/Deployment"],"selector":{"matchLabels":{"test":"qos"}}}}"#,
            DEPLOYMENT,
            "",
        ),
        (r#""match":{"resources":{"kinds":["apps/v1beta1/Deployment"]}}"#, DEPLOYMENT, KIND),
        (
            r#""match":{"resources":{"kinds":["rbac.authorization.k8s.io/v1beta1/ClusterRole"]}}"#,
            r#"{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a"}}"#,
            KIND,
        ),
        (r#""match":{"resources":{"kinds":["pod"]}}"#, POD, KIND),
        (r#""match":{"resources":{"kinds":["apps/v1/deployment"]}}"#, DEPLOYMENT, KIND),
        // labels
        (
            r#""match":{"resources":{"kinds":["Pod"],"selector":{"matchExpressions":[{"key":"dns","operator":"NotIn","values":["yes"]}]}}}"#,
            POD,
            "selector does not match",
        ),
        (
            r#""match":{"resources":{"kinds":["Pod"],"selector":{"matchExpressions":[{"key":"dns","operator":"NotIn","values":["no"]}]}}}"#,
            POD,
            "",
        ),
        (
            r#""match":{"resources":{"kinds":["Pod"]}},"exclude":{"resources":{"selector":{"matchExpressions":[{"key":"dns","operator":"In","values":["yes"]}]}}}"#,
            POD,
            EXCLUDED,
        ),
        (
            r#""match":{"resources":{"kinds":["Pod"],"selector":{"matchLabels":{"a b*":"x"}}}}"#,
            POD,
            "failed to parse selector",
        ),
        (
            r#""match":{"resources":{"kinds":["Pod"]}},"exclude":{"resources":{"selector":{"matchLabels":{"a b*":"x"}}}}"#,
            POD,
            "",
        ),
        (r#""match":{"resources":{"kinds":["Pod"],"annotations":{"a/*":"c"}}}"#, POD, ""),
        (
            r#""match":{"resources":{"kinds":["Pod"],"annotations":{"a/*":"d"}}}"#,
            POD,
            "annotations does not match",
        ),
        // operations
        (
            r#""match":{"resources":{"kinds":["Service"],"operations":["UPDATE"]}}"#,
            POD,
            "operation does not match",
        ),
        (r#""match":{"resources":{"kinds":["Pod"],"operations":["UPDATE","CREATE"]}}"#, POD, ""),
    ] {
        let found = created(blocks, object);
        if expected.is_empty() {
            assert_eq!(found, "", "{blocks}");
        } else {
            assert!(found.starts_with(expected), "{blocks}: {found}");
        }
    }
}

#[test]
fn every_failed_attribute_gives_a_reason() {
    let blocks = r#""match":{"resources":{"kinds":["Service"],"name":"x","namespaces":["y"],"annotations":{"z":"*"},
        "selector":{"matchLabels":{"a":"b"}},"namespaceSelector":{"matchLabels":{"a":"b"}}}}"#;
    assert_eq!(
        created(blocks, POD),
        "kind does not match [Service]; name does not match; namespace does not match; annotations does not match; \
         selector does not match; namespace selector does not match labels"
    );
}

#[test]
fn namespaces_of_objects_and_namespaces_themselves() {
    let prod = r#""match":{"any":[{"resources":{"kinds":["*/*"],"namespaces":["prod*"]}}]}"#;
    for (object, namespace, expected) in [
        (r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}"#, "prod-1", true),
        (r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"prod"}}"#, "default", false),
        (r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"prod"}}"#, "", true),
        (r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"dev"}}"#, "", false),
        (r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"prod"}}"#, "", false),
    ] {
        let object = json(object);
        let kind = kind_of(&object);
        let candidate = Candidate { namespace, ..Candidate::new(&object, &kind, Operation::Create) };
        assert_eq!(rule(prod).selects(&candidate), expected, "{}", object.to_json());
    }
}

#[test]
fn namespace_selectors_ask_for_the_labels_of_the_namespace() {
    let blocks = |selector: &str| {
        format!(r#""match":{{"resources":{{"kinds":["*/*"],"namespaceSelector":{selector}}}}}"#)
    };
    let team = blocks(r#"{"matchLabels":{"team":"a*"}}"#);
    assert!(rule(&team).uses_namespace_labels());
    for (selector, object, labels, expected) in [
        (&team, POD, Some(r#"{"team":"alpha"}"#), ""),
        (&team, POD, Some(r#"{"team":"beta"}"#), "namespace selector does not match labels"),
        (&team, POD, None, "namespace selector does not match labels"),
        (&blocks("{}"), POD, None, ""),
        (&blocks(r#"{"matchExpressions":[{"key":"team","operator":"DoesNotExist"}]}"#), POD, None, ""),
        (
            &team,
            r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"team":"alpha"}}}"#,
            Some(r#"{"team":"alpha"}"#),
            "namespace selector is not applicable for namespace resource",
        ),
        (&team, r#"{"metadata":{"name":"x"}}"#, None, ""),
        (&blocks(r#"{"matchLabels":{"a b":"c"}}"#), POD, None, "failed to parse namespace selector"),
    ] {
        let object = json(object);
        let labels = labels.map(json);
        let kind = GroupVersionKind::of(&object).unwrap_or_else(|| GroupVersionKind::new("v1", "Pod"));
        let candidate = Candidate {
            namespace_labels: labels.as_ref(),
            ..Candidate::new(&object, &kind, Operation::Create)
        };
        let found = reasons(&rule(selector), &candidate);
        assert!(
            found.starts_with(expected) && found.is_empty() == expected.is_empty(),
            "{selector}: {found}"
        );
    }
}

#[test]
fn senders_are_matched_where_they_are_known() {
    let user = |text: &str| UserInfo::from_document(&json(text));
    let alice = user(
        r#"{"roles":["prod:edit"],"clusterRoles":["admin"],"userInfo":{"username":"alice","groups":["dev"]}}"#,
    );
    let bob = user(r#"{"userInfo":{"username":"bob"}}"#);
    let nobody = UserInfo::default();
    let matching =
        |users: &str| format!(r#""match":{{"any":[{{"resources":{{"kinds":["Pod"]}},{users}}}]}}"#);
    let direct = |users: &str| format!(r#""match":{{"resources":{{"kinds":["Pod"]}},{users}}}"#);
    let excluding = |users: &str| {
        format!(
            r#""match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},"exclude":{{"any":[{{"resources":{{"name":"hello*"}},{users}}}]}}"#
        )
    };
    let users_only = |users: &str| {
        format!(
            r#""match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},"exclude":{{"any":[{{{users}}}]}}"#
        )
    };
    const ADMIN: &str = r#""clusterRoles":["admin","root"]"#;
    const BOB: &str = r#""subjects":[{"kind":"User","name":"bo?"}]"#;
    for (blocks, user, expected) in [
        (matching(ADMIN), &alice, ""),
        (matching(ADMIN), &bob, "no resource matched"),
        (direct(ADMIN), &bob, "user info does not match clustersRoles for the given conditionBlock"),
        (direct(r#""roles":["prod:edit"]"#), &alice, ""),
        (
            direct(r#""roles":["prod:e*"]"#),
            &alice,
            "user info does not match roles for the given conditionBlock",
        ),
        (direct(BOB), &alice, "user info does not match subject for the given conditionBlock"),
        // All that is asked of the sender must hold.
        (direct(&format!("{ADMIN},{BOB}")), &alice, "user info does not match subject"),
        (direct(&format!("{ADMIN},{BOB}")), &bob, "user info does not match clustersRoles"),
        // Nothing is asked of a sender of whom nothing is known.
        (matching(ADMIN), &nobody, ""),
        (direct(BOB), &nobody, ""),
        // Exclusion: hit, missed, nobody known.
        (excluding(ADMIN), &alice, EXCLUDED),
        (excluding(ADMIN), &bob, ""),
        (excluding(ADMIN), &nobody, ""),
        (users_only(BOB), &bob, EXCLUDED),
        (users_only(BOB), &nobody, ""),
        (users_only(r#""subjects":[{"kind":"User","name":"*"}]"#), &nobody, EXCLUDED),
        (users_only(r#""subjects":[]"#), &nobody, EXCLUDED),
    ] {
        let object = json(POD);
        let kind = kind_of(&object);
        let candidate = Candidate { user: Some(user), ..Candidate::new(&object, &kind, Operation::Create) };
        let found = reasons(&rule(&blocks), &candidate);
        assert!(found.starts_with(expected) && found.is_empty() == expected.is_empty(), "{blocks}: {found}");
    }
}

#[test]
fn empty_objects_and_subresources() {
    let all = rule(r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]}"#);
    let kind = GroupVersionKind::new("v1", "Pod");
    let empty = Value::empty_object();
    assert_eq!(reasons(&all, &Candidate::new(&empty, &kind, Operation::Create)), "resource is empty");
    let pod = json(POD);
    for (subresource, expected) in [("", true), ("status", false), ("ephemeralcontainers", true)] {
        let candidate = Candidate { subresource, ..Candidate::new(&pod, &kind, Operation::Update) };
        assert_eq!(all.selects(&candidate), expected, "{subresource}");
    }
}

#[test]
fn generated_rules_are_selected_like_others() {
    let document = policy(&format!(
        r#""rules":[{{"name":"r","match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},{PATCH}}}]"#
    ));
    let policy = load(&document);
    let object = json(DEPLOYMENT);
    let kind = kind_of(&object);
    let candidate = Candidate::new(&object, &kind, Operation::Create);
    let taken: Vec<_> =
        policy.rules.iter().filter(|rule| rule.selects(&candidate)).map(|rule| &*rule.name).collect();
    assert_eq!(taken, ["autogen-r"]);
}

#[test]
fn a_namespaced_policy_admits_its_namespace_alone() {
    let document = |metadata: &str| {
        json(&format!(
            r#"{{"apiVersion":"kyverno.io/v1","kind":"Policy","metadata":{{{metadata}}},"spec":{{"rules":[{{"name":"r",{MATCH},{PATCH}}}]}}}}"#
        ))
    };
    for (metadata, namespace, expected) in [
        (r#""name":"p","namespace":"a""#, "a", true),
        (r#""name":"p","namespace":"a""#, "default", false),
        (r#""name":"p""#, "default", true),
        (r#""name":"p""#, "a", false),
        (r#""name":"p""#, "", false),
    ] {
        let policy = load(&document(metadata));
        let object = json(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}"#);
        let kind = kind_of(&object);
        let candidate = Candidate { namespace, ..Candidate::new(&object, &kind, Operation::Create) };
        assert_eq!(policy.meta.admits(&candidate), expected, "{metadata} {namespace}");
        let expected = if expected { "" } else { "policy and resource namespaces mismatch" };
        assert_eq!(reasons(&policy.rules[0], &candidate), expected);
    }
}

#[test]
fn a_mismatch_tells_what_the_rule_wants_and_the_object_has() {
    let details = |blocks: &str, object: &str| -> Vec<String> {
        let object = json(object);
        let kind = kind_of(&object);
        let mismatch = rule(blocks).mismatch(&Candidate::new(&object, &kind, Operation::Create));
        mismatch.map(|mismatch| mismatch.details).unwrap_or_default()
    };
    for (blocks, expected) in [
        (r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]}"#, &[][..]),
        (
            r#""match":{"resources":{"kinds":["Service","v1/Node"],"names":["a*","b"]}}"#,
            &[
                "match: kind is `v1/Pod`, wanted `Service` or `v1/Node`; name is `hello-world`, wanted `a*` or `b`",
            ],
        ),
        (
            r#""match":{"all":[{"resources":{"kinds":["Pod"]}},{"resources":{"kinds":["Pod"],"namespaces":["x"],"operations":["UPDATE"]}}]}"#,
            &["match.all[1]: operation is `CREATE`, wanted `UPDATE`; namespace is `default`, wanted `x`"],
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"],"annotations":{"a/b":"d"},"selector":{"matchLabels":{"dns":"n*"},"matchExpressions":[{"key":"x","operator":"Exists"},{"key":"dns","operator":"DoesNotExist"}]}}}]}"#,
            &[
                "match.any[0]: no annotation fits `a/b: d`; label `dns` is `yes`, wanted `n*`; label `x` is missing, wanted any; label `dns` is `yes`, wanted no such label",
            ],
        ),
        (
            r#""match":{"any":[{"resources":{"kinds":["Pod"],"namespaceSelector":{"matchLabels":{"tier":"gold"}}}}]}"#,
            &[
                "match.any[0]: namespace `default`: label `tier` is missing, wanted `gold` (its labels are not known: give the Namespace with -f, or --values)",
            ],
        ),
        (
            r#""match":{"resources":{"kinds":["Pod"]}},"exclude":{"all":[{"resources":{"namespaces":["def*"]}},{"resources":{"name":"hello-*"}}]}"#,
            &["exclude.all[0] takes it out: namespace `def*`", "exclude.all[1] takes it out: name `hello-*`"],
        ),
    ] {
        assert_eq!(details(blocks, POD), expected, "{blocks}");
    }
}
