//! What adds privilege, by kind.

use super::*;

fn found(kind: &str, before: &str, after: &str) -> Vec<String> {
    let kind = GroupVersionKind::new(
        if kind.contains("Role") { "rbac.authorization.k8s.io/v1" } else { "v1" },
        kind,
    );
    let value = |text| Value::from_json(text).unwrap();
    gained(&kind, &value(before), &value(after)).iter().map(ToString::to_string).collect()
}

/// A Pod with these fields, its container with those.
fn pod(fields: &str, container: &str) -> String {
    format!(r#"{{"spec":{{{fields}"containers":[{{"name":"a","securityContext":{{{container}}}}}]}}}}"#)
}

#[test]
fn less_restricted_pods_are_found() {
    let c = "spec.containers[0].securityContext";
    for (before, after, expected) in [
        (
            pod("", ""),
            pod(r#""hostNetwork":true,"hostPID":true,"#, ""),
            vec!["spec.hostNetwork".to_owned(), "spec.hostPID".into()],
        ),
        (pod("", ""), pod("", r#""privileged":true"#), vec![format!("{c}.privileged")]),
        (pod("", r#""privileged":true"#), pod("", ""), vec![]),
        (pod("", ""), pod("", r#""allowPrivilegeEscalation":true"#), vec![]),
        (
            pod("", ""),
            pod(r#""shareProcessNamespace":true,"#, r#""seLinuxOptions":{"type":"spc_t"}"#),
            vec!["spec.shareProcessNamespace".into(), format!("{c}.seLinuxOptions.type")],
        ),
        (
            pod("", r#""runAsNonRoot":true,"allowPrivilegeEscalation":false"#),
            pod("", ""),
            vec![format!("{c}.allowPrivilegeEscalation"), format!("{c}.runAsNonRoot")],
        ),
        (
            pod("", r#""capabilities":{"drop":["ALL"]}"#),
            pod("", r#""capabilities":{"add":["NET_ADMIN"]}"#),
            vec![format!("{c}.capabilities.add"), format!("{c}.capabilities.drop")],
        ),
        (pod("", ""), pod("", r#""capabilities":{"drop":["ALL"]},"runAsNonRoot":true"#), vec![]),
        (pod("", r#""runAsUser":1000"#), pod("", r#""runAsUser":0"#), vec![format!("{c}.runAsUser")]),
        (
            pod("", ""),
            pod(r#""volumes":[{"name":"h","hostPath":{"path":"/"}}],"#, ""),
            vec!["spec.volumes[0].hostPath".into()],
        ),
        (
            pod(r#""automountServiceAccountToken":false,"#, ""),
            pod("", ""),
            vec!["spec.automountServiceAccountToken".into()],
        ),
        (
            pod(r#""securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},"#, ""),
            pod("", ""),
            vec!["spec.securityContext.seccompProfile".into()],
        ),
    ] {
        assert_eq!(found("Pod", &before, &after), expected, "{after}");
    }
}

#[test]
fn fields_against_pod_security_are_found() {
    let c = "spec.containers[0]";
    let container = |fields: &str| format!(r#"{{"spec":{{"containers":[{{"name":"a"{fields}}}]}}}}"#);
    let annotated = |annotations: &str| {
        format!(
            r#"{{"metadata":{{"annotations":{{{annotations}}}}},"spec":{{"containers":[{{"name":"a"}}]}}}}"#
        )
    };
    let armor = "container.apparmor.security.beta.kubernetes.io/a";
    let seccomp = "seccomp.security.alpha.kubernetes.io/pod";
    let at = |key: &str| vec![format!(r#"metadata.annotations["{key}"]"#)];
    for (before, after, expected) in [
        (
            pod("", ""),
            pod("", r#""windowsOptions":{"hostProcess":true}"#),
            vec![format!("{c}.securityContext.windowsOptions.hostProcess")],
        ),
        (
            pod("", ""),
            pod("", r#""seLinuxOptions":{"user":"u","role":"r","type":"container_t"}"#),
            vec![
                format!("{c}.securityContext.seLinuxOptions.user"),
                format!("{c}.securityContext.seLinuxOptions.role"),
            ],
        ),
        (
            pod("", ""),
            pod(r#""securityContext":{"sysctls":[{"name":"net.ipv4.tcp_syncookies","value":"1"}]},"#, ""),
            vec![],
        ),
        (
            pod("", ""),
            pod(r#""securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]},"#, ""),
            vec!["spec.securityContext.sysctls".to_owned()],
        ),
        (pod("", ""), pod("", r#""procMount":"Unmasked""#), vec![format!("{c}.securityContext.procMount")]),
        (
            container(""),
            container(
                r#","livenessProbe":{"httpGet":{"host":"10.0.0.1","port":1}},"lifecycle":{"preStop":{"tcpSocket":{"host":"h"}}}"#,
            ),
            vec![format!("{c}.livenessProbe.httpGet.host"), format!("{c}.lifecycle.preStop.tcpSocket.host")],
        ),
        (
            container(""),
            container(r#","ports":[{"containerPort":80,"hostPort":80}]"#),
            vec![format!("{c}.ports[0].hostPort")],
        ),
        (
            pod("", ""),
            pod(r#""volumes":[{"name":"n","nfs":{"path":"/"}},{"name":"e","emptyDir":{}}],"#, ""),
            vec!["spec.volumes[0].nfs".into()],
        ),
        (
            pod(r#""serviceAccountName":"a","#, ""),
            pod(r#""serviceAccount":"b","#, ""),
            vec!["spec.serviceAccount".into()],
        ),
        (pod(r#""serviceAccountName":"a","#, ""), pod(r#""serviceAccount":"a","#, ""), vec![]),
        (annotated(&format!(r#""{armor}":"runtime/default""#)), annotated(""), at(armor)),
        (annotated(""), annotated(&format!(r#""{armor}":"unconfined""#)), at(armor)),
        (annotated(&format!(r#""{armor}":"unconfined""#)), annotated(""), vec![]),
        (annotated(""), annotated(&format!(r#""{armor}":"localhost/x""#)), vec![]),
        (
            annotated(&format!(r#""{seccomp}":"docker/default""#)),
            annotated(&format!(r#""{seccomp}":"unconfined""#)),
            at(seccomp),
        ),
    ] {
        assert_eq!(found("Pod", &before, &after), expected, "{after}");
    }
    let ephemeral = r#"{"spec":{"containers":[],"ephemeralContainers":[{"name":"d","securityContext":{"privileged":true}}]}}"#;
    assert_eq!(
        found("Pod", r#"{"spec":{"containers":[]}}"#, ephemeral),
        ["spec.ephemeralContainers[0].securityContext.privileged"]
    );
}

#[test]
fn webhooks_and_devices_can_grant_more() {
    let gained = |api_version: &str, kind: &str, before: &str, after: &str| -> Vec<String> {
        let value = |text| Value::from_json(text).unwrap();
        let kind = GroupVersionKind::new(api_version, kind);
        gained(&kind, &value(before), &value(after)).iter().map(ToString::to_string).collect()
    };
    let webhook = |fields: &str| format!(r#"{{"webhooks":[{{"name":"a"{fields}}}]}}"#);
    for (before, after, expected) in [
        (webhook(""), webhook(r#","failurePolicy":"Ignore""#), vec!["webhooks[0].failurePolicy"]),
        (webhook(""), webhook(r#","clientConfig":{"url":"https://x"}"#), vec!["webhooks[0].clientConfig"]),
        (webhook(""), r#"{"webhooks":[]}"#.to_owned(), vec!["webhooks"]),
        (webhook(r#","failurePolicy":"Ignore""#), webhook(r#","failurePolicy":"Fail""#), vec![]),
    ] {
        let found =
            gained("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", &before, &after);
        assert_eq!(found, expected, "{after}");
    }
    let claim = |access: &str| {
        format!(r#"{{"spec":{{"devices":{{"requests":[{{"name":"a","exactly":{{{access}}}}}]}}}}}}"#)
    };
    assert_eq!(
        gained("resource.k8s.io/v1", "ResourceClaim", &claim(""), &claim(r#""adminAccess":true"#)),
        ["spec.devices.requests[0].exactly.adminAccess"]
    );
}

#[test]
fn roles_bindings_and_namespaces_can_grant_more() {
    for (kind, before, after, expected) in [
        (
            "Role",
            r#"{"rules":[{"verbs":["get"]}]}"#,
            r#"{"rules":[{"verbs":["get"]},{"verbs":["*"]}]}"#,
            &["rules"][..],
        ),
        ("Role", r#"{"rules":[{"verbs":["get"]}]}"#, r#"{"rules":[]}"#, &[]),
        (
            "Role",
            r#"{"rules":[{"verbs":["get","list"],"resources":["*"]}]}"#,
            r#"{"rules":[{"verbs":["list"],"resources":["pods"],"resourceNames":["a"]}]}"#,
            &[],
        ),
        (
            "Role",
            r#"{"rules":[{"verbs":["get"],"resources":["pods"],"resourceNames":["a"]}]}"#,
            r#"{"rules":[{"verbs":["get"],"resources":["pods"]}]}"#,
            &["rules"],
        ),
        (
            "ClusterRole",
            "{}",
            r#"{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}}"#,
            &[r#"metadata.labels["rbac.authorization.k8s.io/aggregate-to-edit"]"#],
        ),
        ("RoleBinding", r#"{"subjects":[]}"#, r#"{"subjects":[{"name":"a"}]}"#, &["subjects"]),
        (
            "ServiceAccount",
            r#"{"automountServiceAccountToken":false}"#,
            r#"{"automountServiceAccountToken":true}"#,
            &["automountServiceAccountToken"],
        ),
    ] {
        assert_eq!(found(kind, before, after), expected, "{kind} {after}");
    }
    let version = |version: &str| {
        format!(r#"{{"metadata":{{"labels":{{"{ENFORCE}":"baseline","{ENFORCE_VERSION}":"{version}"}}}}}}"#)
    };
    for (before, after, expected) in [
        ("latest", "v1.9", 1),
        ("v1.30", "v1.9", 1),
        ("v1.9", "v1.30", 0),
        ("v1.9", "latest", 0),
        ("", "v1.20", 1),
    ] {
        assert_eq!(found("Namespace", &version(before), &version(after)).len(), expected, "{before} {after}");
    }
    let namespace = |level: &str| format!(r#"{{"metadata":{{"labels":{{"{ENFORCE}":"{level}"}}}}}}"#);
    assert_eq!(found("Namespace", &namespace("restricted"), &namespace("baseline")).len(), 1);
    assert!(found("Namespace", &namespace("baseline"), &namespace("restricted")).is_empty());
    assert!(found("Namespace", "{}", &namespace("baseline")).is_empty());
}

/// A Pod whose containers meet the level `restricted`, with these fields and further containers.
fn restricted_pod(container: &str, more: &str) -> String {
    let pod = r#""securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}}"#;
    let own = r#""allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}"#;
    format!(
        r#"{{"spec":{{{pod},"containers":[{{"name":"a","securityContext":{{{own}{container}}}}}{more}]}}}}"#
    )
}

#[test]
fn new_violations_of_the_restricted_level_are_found() {
    let whole = r#","securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}"#;
    let added = |rest: &str| restricted_pod("", &format!(r#",{{"name":"b"{rest}}}"#));
    let (a, b) = ("spec.containers[0].securityContext", "spec.containers[1].securityContext");
    let before = restricted_pod("", "");
    for (after, expected) in [
        (restricted_pod(r#","runAsNonRoot":false"#, ""), vec![format!("{a}.runAsNonRoot")]),
        (
            restricted_pod(r#","seccompProfile":{"type":"Unconfined"}"#, ""),
            vec![format!("{a}.seccompProfile")],
        ),
        (added(""), vec![format!("{b}.allowPrivilegeEscalation"), format!("{b}.capabilities")]),
        (
            added(
                r#","securityContext":{"allowPrivilegeEscalation":true,"capabilities":{"drop":["CHOWN"]}}"#,
            ),
            vec![format!("{b}.allowPrivilegeEscalation"), format!("{b}.capabilities")],
        ),
        (added(whole), vec![]),
        (before.replace(r#""runAsNonRoot":true,"#, ""), vec!["spec.securityContext.runAsNonRoot".into()]),
    ] {
        assert_eq!(found("Pod", &before, &after), expected, "{after}");
    }
    // What never met the level cannot miss it, but who runs as root that might not is told.
    let pod = |context: &str, container: &str| {
        format!(r#"{{"spec":{{"securityContext":{{{context}}},"containers":[{{"name":"a"{container}}}]}}}}"#)
    };
    let kept = r#""runAsNonRoot":true"#;
    let rooted = r#","securityContext":{"runAsNonRoot":false}"#;
    assert_eq!(found("Pod", &pod(kept, ""), &pod(kept, rooted)), [format!("{a}.runAsNonRoot")]);
    assert_eq!(found("Pod", &pod("", ""), &pod("", rooted)), Vec::<String>::new());
    assert_eq!(found("Pod", &pod(kept, rooted), &pod(kept, rooted)), Vec::<String>::new());
    let two = r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}"#;
    assert_eq!(found("Pod", &pod("", ""), two), Vec::<String>::new());
}
