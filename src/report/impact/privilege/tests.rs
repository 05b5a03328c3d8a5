//! Escalations of privileges by kind.

use super::*;

/// The paths of fields that grant more privileges, separated by spaces.
fn found(kind: &str, before: &str, after: &str) -> String {
    let api_version = match kind {
        "Role" | "ClusterRole" | "RoleBinding" => "rbac.authorization.k8s.io/v1",
        "ValidatingWebhookConfiguration" => "admissionregistration.k8s.io/v1",
        "ResourceClaim" => "resource.k8s.io/v1",
        _ => "v1",
    };
    let [before, after] = [before, after].map(|text| Value::from_json(text).unwrap());
    let gained = gained(&GroupVersionKind::new(api_version, kind), &before, &after);
    gained.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// A Pod with these fields, its container with those.
fn pod(fields: &str, container: &str) -> String {
    format!(r#"{{"spec":{{{fields}"containers":[{{"name":"a","securityContext":{{{container}}}}}]}}}}"#)
}

#[test]
fn less_restricted_pods_are_found() {
    let c = "spec.containers[0].securityContext";
    for (before, after, expected) in [
        (("", ""), (r#""hostNetwork":true,"hostPID":true,"#, ""), "spec.hostNetwork spec.hostPID"),
        (("", ""), ("", r#""privileged":true"#), "{c}.privileged"),
        (("", r#""privileged":true"#), ("", ""), ""),
        (("", ""), ("", r#""allowPrivilegeEscalation":true"#), ""),
        (
            ("", ""),
            (r#""shareProcessNamespace":true,"#, r#""seLinuxOptions":{"type":"spc_t"}"#),
            "spec.shareProcessNamespace {c}.seLinuxOptions.type",
        ),
        (
            ("", r#""runAsNonRoot":true,"allowPrivilegeEscalation":false"#),
            ("", ""),
            "{c}.allowPrivilegeEscalation {c}.runAsNonRoot",
        ),
        (
            ("", r#""capabilities":{"drop":["ALL"]}"#),
            ("", r#""capabilities":{"add":["NET_ADMIN"]}"#),
            "{c}.capabilities.add {c}.capabilities.drop",
        ),
        (("", ""), ("", r#""capabilities":{"drop":["ALL"]},"runAsNonRoot":true"#), ""),
        (
            ("", r#""capabilities":{"drop":["CHOWN"]}"#),
            ("", r#""capabilities":{"drop":["KILL"]}"#),
            "{c}.capabilities.drop",
        ),
        (("", r#""capabilities":{"drop":["CHOWN"]}"#), ("", r#""capabilities":{"drop":["ALL"]}"#), ""),
        (("", r#""runAsUser":1000"#), ("", r#""runAsUser":0"#), "{c}.runAsUser"),
        (("", ""), (r#""volumes":[{"name":"h","hostPath":{"path":"/"}}],"#, ""), "spec.volumes[0].hostPath"),
        ((r#""automountServiceAccountToken":false,"#, ""), ("", ""), "spec.automountServiceAccountToken"),
        (
            (r#""securityContext":{"seccompProfile":{"type":"RuntimeDefault"}},"#, ""),
            ("", ""),
            "spec.securityContext.seccompProfile",
        ),
    ] {
        let [before, after] = [before, after].map(|(fields, container)| pod(fields, container));
        assert_eq!(found("Pod", &before, &after), expected.replace("{c}", c), "{after}");
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
    for (before, after, expected) in [
        (
            pod("", ""),
            pod("", r#""windowsOptions":{"hostProcess":true}"#),
            "{c}.securityContext.windowsOptions.hostProcess",
        ),
        (
            pod("", ""),
            pod("", r#""seLinuxOptions":{"user":"u","role":"r","type":"container_t"}"#),
            "{c}.securityContext.seLinuxOptions.user {c}.securityContext.seLinuxOptions.role",
        ),
        (
            pod("", ""),
            pod(r#""securityContext":{"sysctls":[{"name":"net.ipv4.tcp_syncookies","value":"1"}]},"#, ""),
            "",
        ),
        (
            pod("", ""),
            pod(r#""securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]},"#, ""),
            "spec.securityContext.sysctls",
        ),
        (pod("", ""), pod("", r#""procMount":"Unmasked""#), "{c}.securityContext.procMount"),
        (
            container(""),
            container(
                r#","livenessProbe":{"httpGet":{"host":"10.0.0.1","port":1}},"lifecycle":{"preStop":{"tcpSocket":{"host":"h"}}}"#,
            ),
            "{c}.livenessProbe.httpGet.host {c}.lifecycle.preStop.tcpSocket.host",
        ),
        (
            container(""),
            container(r#","ports":[{"containerPort":80,"hostPort":80}]"#),
            "{c}.ports[0].hostPort",
        ),
        (
            pod("", ""),
            pod(r#""volumes":[{"name":"n","nfs":{"path":"/"}},{"name":"e","emptyDir":{}}],"#, ""),
            "spec.volumes[0].nfs",
        ),
        (pod(r#""serviceAccountName":"a","#, ""), pod(r#""serviceAccount":"b","#, ""), "spec.serviceAccount"),
        (pod(r#""serviceAccountName":"a","#, ""), pod(r#""serviceAccount":"a","#, ""), ""),
        (
            annotated(&format!(r#""{armor}":"runtime/default""#)),
            annotated(""),
            r#"metadata.annotations["{armor}"]"#,
        ),
        (
            annotated(""),
            annotated(&format!(r#""{armor}":"unconfined""#)),
            r#"metadata.annotations["{armor}"]"#,
        ),
        (annotated(&format!(r#""{armor}":"unconfined""#)), annotated(""), ""),
        (annotated(""), annotated(&format!(r#""{armor}":"localhost/x""#)), ""),
        (
            annotated(&format!(r#""{seccomp}":"docker/default""#)),
            annotated(&format!(r#""{seccomp}":"unconfined""#)),
            r#"metadata.annotations["{seccomp}"]"#,
        ),
    ] {
        let expected = [("{c}", c), ("{armor}", armor), ("{seccomp}", seccomp)]
            .iter()
            .fold(expected.to_owned(), |expected, (name, text)| expected.replace(name, text));
        assert_eq!(found("Pod", &before, &after), expected, "{after}");
    }
    let ephemeral = r#"{"spec":{"containers":[],"ephemeralContainers":[{"name":"d","securityContext":{"privileged":true}}]}}"#;
    assert_eq!(
        found("Pod", r#"{"spec":{"containers":[]}}"#, ephemeral),
        "spec.ephemeralContainers[0].securityContext.privileged"
    );
}

#[test]
fn webhooks_and_devices_can_grant_more() {
    let webhook = |fields: &str| format!(r#"{{"webhooks":[{{"name":"a"{fields}}}]}}"#);
    for (before, after, expected) in [
        (webhook(""), webhook(r#","failurePolicy":"Ignore""#), "webhooks[0].failurePolicy"),
        (webhook(""), webhook(r#","clientConfig":{"url":"https://x"}"#), "webhooks[0].clientConfig"),
        (webhook(""), r#"{"webhooks":[]}"#.to_owned(), "webhooks"),
        (webhook(r#","failurePolicy":"Ignore""#), webhook(r#","failurePolicy":"Fail""#), ""),
    ] {
        let found = found("ValidatingWebhookConfiguration", &before, &after);
        assert_eq!(found, expected, "{after}");
    }
    let claim = |access: &str| {
        format!(r#"{{"spec":{{"devices":{{"requests":[{{"name":"a","exactly":{{{access}}}}}]}}}}}}"#)
    };
    assert_eq!(
        found("ResourceClaim", &claim(""), &claim(r#""adminAccess":true"#)),
        "spec.devices.requests[0].exactly.adminAccess"
    );
}

#[test]
fn roles_bindings_and_namespaces_can_grant_more() {
    for (kind, before, after, expected) in [
        (
            "Role",
            r#"{"rules":[{"verbs":["get"]}]}"#,
            r#"{"rules":[{"verbs":["get"]},{"verbs":["*"]}]}"#,
            "rules",
        ),
        ("Role", r#"{"rules":[{"verbs":["get"]}]}"#, r#"{"rules":[]}"#, ""),
        (
            "Role",
            r#"{"rules":[{"verbs":["get","list"],"resources":["*"]}]}"#,
            r#"{"rules":[{"verbs":["list"],"resources":["pods"],"resourceNames":["a"]}]}"#,
            "",
        ),
        (
            "Role",
            r#"{"rules":[{"verbs":["get"],"resources":["pods"],"resourceNames":["a"]}]}"#,
            r#"{"rules":[{"verbs":["get"],"resources":["pods"]}]}"#,
            "rules",
        ),
        (
            "ClusterRole",
            "{}",
            r#"{"metadata":{"labels":{"rbac.authorization.k8s.io/aggregate-to-edit":"true"}}}"#,
            r#"metadata.labels["rbac.authorization.k8s.io/aggregate-to-edit"]"#,
        ),
        ("RoleBinding", r#"{"subjects":[]}"#, r#"{"subjects":[{"name":"a"}]}"#, "subjects"),
        (
            "ServiceAccount",
            r#"{"automountServiceAccountToken":false}"#,
            r#"{"automountServiceAccountToken":true}"#,
            "automountServiceAccountToken",
        ),
    ] {
        assert_eq!(found(kind, before, after), expected, "{kind} {after}");
    }
    let version = |version: &str| {
        format!(r#"{{"metadata":{{"labels":{{"{ENFORCE}":"baseline","{ENFORCE_VERSION}":"{version}"}}}}}}"#)
    };
    for (before, after, expected) in [
        ("latest", "v1.9", true),
        ("v1.30", "v1.9", true),
        ("v1.9", "v1.30", false),
        ("v1.9", "latest", false),
        ("", "v1.20", true),
    ] {
        let expected =
            if expected { format!(r#"metadata.labels["{ENFORCE_VERSION}"]"#) } else { String::new() };
        assert_eq!(found("Namespace", &version(before), &version(after)), expected, "{before} {after}");
    }
    let namespace = |level: &str| format!(r#"{{"metadata":{{"labels":{{"{ENFORCE}":"{level}"}}}}}}"#);
    let enforce = format!(r#"metadata.labels["{ENFORCE}"]"#);
    assert_eq!(found("Namespace", &namespace("restricted"), &namespace("baseline")), enforce);
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
        (restricted_pod(r#","runAsNonRoot":false"#, ""), "{a}.runAsNonRoot"),
        (restricted_pod(r#","seccompProfile":{"type":"Unconfined"}"#, ""), "{a}.seccompProfile"),
        (added(""), "{b}.allowPrivilegeEscalation {b}.capabilities"),
        (
            added(
                r#","securityContext":{"allowPrivilegeEscalation":true,"capabilities":{"drop":["CHOWN"]}}"#,
            ),
            "{b}.allowPrivilegeEscalation {b}.capabilities",
        ),
        (added(whole), ""),
        (before.replace(r#""runAsNonRoot":true,"#, ""), "spec.securityContext.runAsNonRoot"),
    ] {
        let expected = expected.replace("{a}", a).replace("{b}", b);
        assert_eq!(found("Pod", &before, &after), expected, "{after}");
    }
    // A Pod that did not meet the level before has only its own escalations.
    let pod = |context: &str, container: &str| {
        format!(r#"{{"spec":{{"securityContext":{{{context}}},"containers":[{{"name":"a"{container}}}]}}}}"#)
    };
    let kept = r#""runAsNonRoot":true"#;
    let rooted = r#","securityContext":{"runAsNonRoot":false}"#;
    assert_eq!(found("Pod", &pod(kept, ""), &pod(kept, rooted)), format!("{a}.runAsNonRoot"));
    assert_eq!(found("Pod", &pod("", ""), &pod("", rooted)), "");
    assert_eq!(found("Pod", &pod(kept, rooted), &pod(kept, rooted)), "");
    let two = r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}"#;
    assert_eq!(found("Pod", &pod("", ""), two), "");
}
