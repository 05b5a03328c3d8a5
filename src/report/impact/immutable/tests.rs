//! Immutable fields by kind. `tests/cluster/impact` compares them with the API server.

use super::*;

/// The paths of changed immutable fields, separated by spaces.
fn found(api_version: &str, kind: &str, before: &str, after: &str) -> String {
    let object = |spec: &str| Value::from_json(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
    let kind = GroupVersionKind::new(api_version, kind);
    joined(&changed(&kind, &object(before), &object(after)))
}

fn joined(found: &[Pointer]) -> String {
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn images_tolerations_and_shorter_deadlines_of_pods_are_mutable() {
    let before = r#"{"containers":[{"name":"a","image":"i:1"}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#;
    for (after, expected) in [
        (
            r#"{"containers":[{"name":"a","image":"i:2"}],"tolerations":[{"key":"x"},{"key":"y"}],"activeDeadlineSeconds":8}"#,
            "",
        ),
        (
            r#"{"containers":[{"name":"a","image":"i:1"}],"tolerations":[{"key":"y"}],"activeDeadlineSeconds":10}"#,
            "spec.tolerations spec.activeDeadlineSeconds",
        ),
        (
            r#"{"containers":[{"name":"a","image":"i:1"},{"name":"b"}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#,
            "spec.containers[1]",
        ),
        (
            r#"{"containers":[{"name":"a","image":"i:1","env":[]}],"tolerations":[{"key":"x"}],"activeDeadlineSeconds":9}"#,
            "",
        ),
    ] {
        assert_eq!(found("v1", "Pod", before, after), expected, "{after}");
    }
}

#[test]
fn node_selection_of_gated_pods_can_be_narrowed() {
    let pod = |fields: &str| {
        format!(r#"{{"schedulingGates":[{{"name":"g"}},{{"name":"h"}}],"containers":[]{fields}}}"#)
    };
    let affinity = |expressions: &str| {
        let required = "requiredDuringSchedulingIgnoredDuringExecution";
        format!(
            r#","affinity":{{"nodeAffinity":{{"{required}":{{"nodeSelectorTerms":[{{"matchExpressions":[{expressions}]}}]}}}}}}"#
        )
    };
    let (a, b) = (r#"{"key":"a","operator":"Exists"}"#, r#"{"key":"b","operator":"Exists"}"#);
    for (before, after, expected) in [
        (pod(""), r#"{"containers":[]}"#.to_owned(), ""),
        (pod(r#","nodeSelector":{"a":"b"}"#), pod(r#","nodeSelector":{"a":"b","c":"d"}"#), ""),
        (pod(r#","nodeSelector":{"a":"b"}"#), pod(r#","nodeSelector":{"a":"c"}"#), "spec.nodeSelector"),
        (pod(r#","nodeSelector":{"a":"b"}"#), pod(""), "spec.nodeSelector"),
        (pod(""), pod(&affinity(a)), ""),
        (pod(&affinity(a)), pod(&affinity(&format!("{a},{b}"))), ""),
        (pod(&affinity(a)), pod(&affinity(b)), "spec.affinity.nodeAffinity"),
        (pod(&affinity(a)), pod(""), "spec.affinity.nodeAffinity"),
        (pod(""), pod(r#","tolerations":[{"key":"a"}]"#), ""),
        (pod(""), pod(r#","priority":0,"hostNetwork":true"#), "spec.priority spec.hostNetwork"),
        (r#"{"containers":[]}"#.into(), pod(""), "spec.schedulingGates"),
        (
            r#"{"containers":[]}"#.into(),
            r#"{"containers":[],"nodeSelector":{"a":"b"}}"#.into(),
            "spec.nodeSelector",
        ),
    ] {
        assert_eq!(found("v1", "Pod", &before, &after), expected, "{after}");
    }
}

#[test]
fn scheduling_and_resources_of_suspended_jobs_are_mutable() {
    let job = |suspend: bool, template: &str| {
        format!(
            r#"{{"suspend":{suspend},"template":{{"metadata":{{"labels":{{"a":"b"}}}},"spec":{{"containers":[{{"name":"a"{template}}}}}}}"#
        )
    };
    let plain = "}]";
    for (suspend, after, is_refused) in [
        (true, r#","resources":{"limits":{"cpu":"1"}}}]"#, false),
        (false, r#","resources":{"limits":{"cpu":"1"}}}]"#, true),
        (
            true,
            r#"}],"nodeSelector":{"a":"b"},"tolerations":[{"key":"a"}],"schedulingGates":[{"name":"g"}]"#,
            false,
        ),
        (false, r#"}],"nodeSelector":{"a":"b"}"#, true),
        (true, r#"}],"affinity":{"nodeAffinity":{}}"#, false),
        (true, r#"}],"affinity":{"podAffinity":{}}"#, true),
        (true, r#","image":"i"}]"#, true),
        (true, r#","env":[]}],"restartPolicy":"Always""#, false),
    ] {
        let found = found("batch/v1", "Job", &job(suspend, plain), &job(suspend, after));
        assert_eq!(!found.is_empty(), is_refused, "{suspend} {after}: {found:?}");
    }
}

#[test]
fn the_identity_is_immutable() {
    let object = |metadata: &str, rest: &str| {
        Value::from_json(&format!(r#"{{"apiVersion":"v1","kind":"Wheel","metadata":{{{metadata}}}{rest}}}"#))
            .unwrap()
    };
    let kind = GroupVersionKind::new("example.com/v1", "Wheel");
    let named = r#""name":"a","namespace":"n","uid":"u""#;
    for (before, after, expected) in [
        (named, r#""name":"b","namespace":"n","uid":"u""#, "metadata.name"),
        (named, r#""name":"a","namespace":"m","uid":"v""#, "metadata.namespace metadata.uid"),
        (named, r#""name":"a""#, ""),
        (
            named,
            r#""name":"a","uid":"u","deletionGracePeriodSeconds":0"#,
            "metadata.deletionGracePeriodSeconds",
        ),
        (r#""name":"a""#, r#""name":"a","finalizers":["f"],"labels":{"a":"b"}"#, ""),
        (
            r#""name":"a","deletionTimestamp":"t","finalizers":["f"]"#,
            r#""name":"a","finalizers":["f","g"]"#,
            "metadata.finalizers",
        ),
    ] {
        let found = changed(&kind, &object(before, ""), &object(after, ""));
        assert_eq!(joined(&found), expected, "{after}");
    }
    let mut other = object(named, "");
    other.insert("kind", Value::from("Barrow"));
    assert_eq!(changed(&kind, &object(named, ""), &other).len(), 1);
}

#[test]
fn conditionally_immutable_fields() {
    for (api_version, kind, before, after, expected) in [
        ("v1", "Service", r#"{"clusterIP":"10.0.0.1"}"#, r#"{"clusterIP":"10.0.0.2"}"#, "spec.clusterIP"),
        ("v1", "Service", r#"{"clusterIP":"10.0.0.1"}"#, "{}", ""),
        (
            "v1",
            "Service",
            r#"{"type":"LoadBalancer"}"#,
            r#"{"type":"LoadBalancer","loadBalancerClass":"a"}"#,
            "spec.loadBalancerClass",
        ),
        (
            "v1",
            "Service",
            r#"{"clusterIP":"10.0.0.1"}"#,
            r#"{"type":"ExternalName","clusterIP":"10.0.0.1"}"#,
            "",
        ),
        (
            "v1",
            "ResourceQuota",
            r#"{"scopes":["BestEffort"]}"#,
            r#"{"scopes":["Terminating"]}"#,
            "spec.scopes[0]",
        ),
        ("v1", "ResourceQuota", r#"{"scopes":["A","B"]}"#, r#"{"scopes":["B","A"]}"#, ""),
        ("v1", "PersistentVolumeClaim", "{}", r#"{"storageClassName":"a"}"#, ""),
        (
            "v1",
            "PersistentVolumeClaim",
            r#"{"storageClassName":"a"}"#,
            r#"{"storageClassName":"b"}"#,
            "spec.storageClassName",
        ),
        (
            "v1",
            "PersistentVolumeClaim",
            r#"{"volumeName":"v","resources":{"requests":{"storage":"2Gi"}}}"#,
            r#"{"volumeName":"v","resources":{"requests":{"storage":"1Gi"}}}"#,
            "spec.resources.requests.storage",
        ),
        ("batch/v1", "Job", r#"{"completions":1}"#, r#"{"completions":2}"#, "spec.completions"),
        (
            "batch/v1",
            "Job",
            r#"{"completionMode":"Indexed","completions":1,"parallelism":1}"#,
            r#"{"completionMode":"Indexed","completions":2,"parallelism":2}"#,
            "",
        ),
        (
            "batch/v1",
            "Job",
            r#"{"completionMode":"Indexed","completions":1}"#,
            r#"{"completionMode":"Indexed","completions":2}"#,
            "spec.completions",
        ),
        ("v1", "Node", "{}", r#"{"providerID":"a"}"#, ""),
        ("v1", "Node", r#"{"providerID":"a"}"#, r#"{"providerID":"b"}"#, "spec.providerID"),
        ("batch/v1", "Job", r#"{"parallelism":1}"#, r#"{"parallelism":2}"#, ""),
        (
            "apps/v1",
            "StatefulSet",
            r#"{"serviceName":"a","replicas":1}"#,
            r#"{"serviceName":"b","replicas":2}"#,
            "spec.serviceName",
        ),
        ("example.com/v1", "Pod", r#"{"a":1}"#, r#"{"a":2}"#, ""),
    ] {
        assert_eq!(found(api_version, kind, before, after), expected, "{kind} {after}");
    }
}
