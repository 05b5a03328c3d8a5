//! Changes that give somebody or something more power.

use std::collections::BTreeMap;

use crate::value::{GroupVersionKind, Pointer, Value};

const RBAC: &str = "rbac.authorization.k8s.io";

/// The levels of Pod security, the strictest first.
const LEVELS: [&str; 3] = ["restricted", "baseline", "privileged"];

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

/// The types of processes that Pod security lets choose.
const SELINUX: [&str; 4] = ["container_t", "container_init_t", "container_kvm_t", "container_engine_t"];

const AGGREGATED: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// Where a Pod is described, by kind.
const PODS: [&[&str]; 3] =
    [&["spec", "jobTemplate", "spec", "template", "spec"], &["spec", "template", "spec"], &["spec"]];

/// The places of an object by which more is allowed than before.
pub(super) fn gained(kind: &GroupVersionKind, before: &Value, after: &Value) -> Vec<Pointer> {
    let mut gains = Gains { found: Vec::new() };
    match (&*kind.group, &*kind.kind) {
        (RBAC, "Role" | "ClusterRole") => {
            gains.rules(before, after);
            gains.other(before, after, &Pointer::ROOT, "aggregationRule");
            gains.aggregated(before, after);
        }
        (RBAC, "RoleBinding" | "ClusterRoleBinding") => {
            gains.more(before, after, &Pointer::ROOT, "subjects");
            gains.other(before, after, &Pointer::ROOT, "roleRef");
        }
        ("", "ServiceAccount") => {
            gains.undone(before, after, &Pointer::ROOT, "automountServiceAccountToken", false);
        }
        ("", "Namespace") => gains.level(before, after),
        _ => {
            let has_pod =
                |path: &&&[&str]| after.path(path).is_some_and(|spec| spec.get("containers").is_some());
            if let Some(path) = PODS.iter().find(has_pod) {
                let at = path.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
                let none = Value::Null;
                let (old, new) = (before.path(path).unwrap_or(&none), after.path(path).unwrap_or(&none));
                if !old.same_storage(new) {
                    gains.pod(old, new, &at);
                }
            }
        }
    }
    gains.found
}

/// What was found so far.
struct Gains {
    found: Vec<Pointer>,
}

impl Gains {
    fn pod(&mut self, before: &Value, after: &Value, at: &Pointer) {
        for field in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace"] {
            self.switched_on(before, after, at, field);
        }
        for field in ["hostUsers", "automountServiceAccountToken"] {
            self.undone(before, after, at, field, false);
        }
        self.other(before, after, at, "serviceAccountName");
        let none = Value::Null;
        let (old, new) = (before.get("securityContext"), after.get("securityContext"));
        self.context(old.unwrap_or(&none), new.unwrap_or(&none), &at.key("securityContext"));
        self.volumes(before, after, &at.key("volumes"));
        for field in ["containers", "initContainers", "ephemeralContainers"] {
            let known = by_name(before.get(field));
            for (index, container) in elements(after.get(field)).iter().enumerate() {
                let old = name(container).and_then(|name| known.get(name));
                self.host_ports(old.copied().unwrap_or(&none), container, &at.key(field).index(index));
                let old = old.and_then(|old| old.get("securityContext"));
                let new = container.get("securityContext").unwrap_or(&none);
                self.context(old.unwrap_or(&none), new, &at.key(field).index(index).key("securityContext"));
            }
        }
    }

    /// The security context of a Pod or a container.
    fn context(&mut self, before: &Value, after: &Value, at: &Pointer) {
        self.switched_on(before, after, at, "privileged");
        self.undone(before, after, at, "allowPrivilegeEscalation", false);
        self.undone(before, after, at, "runAsNonRoot", true);
        self.undone(before, after, at, "readOnlyRootFilesystem", true);
        let number = |context: &Value, field| context.get(field).map(Value::to_json);
        for field in ["runAsUser", "runAsGroup"] {
            let (old, new) = (number(before, field), number(after, field));
            let was_other = old.as_deref().is_some_and(|old| old != "0");
            if old != new && (new.as_deref() == Some("0") || new.is_none() && was_other) {
                self.found.push(at.key(field));
            }
        }
        for field in ["seccompProfile", "appArmorProfile", "seLinuxOptions"] {
            let is_open = |context: &Value| {
                let profile = context.get(field);
                profile.and_then(|profile| profile.get("type")).and_then(Value::as_str) == Some("Unconfined")
            };
            let is_dropped = before.get(field).is_some() && after.get(field).is_none() && !is_open(before);
            if is_dropped || is_open(after) && !is_open(before) {
                self.found.push(at.key(field));
            }
        }
        let selinux = |context: &Value| {
            let kind = context.path(&["seLinuxOptions", "type"]).and_then(Value::as_str);
            kind.filter(|kind| !SELINUX.contains(kind)).map(str::to_owned)
        };
        if selinux(after).is_some() && selinux(after) != selinux(before) {
            self.found.push(at.key("seLinuxOptions").key("type"));
        }
        self.more(before, after, at, "sysctls");
        if after.get("procMount").and_then(Value::as_str) == Some("Unmasked") {
            self.other(before, after, at, "procMount");
        }
        let none = Value::Null;
        let (old, new) =
            (before.get("capabilities").unwrap_or(&none), after.get("capabilities").unwrap_or(&none));
        self.more(old, new, &at.key("capabilities"), "add");
        // Less is dropped than before.
        self.less(old, new, &at.key("capabilities"), "drop");
    }

    /// Ports of the host.
    fn host_ports(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let port = |port: &Value| port.get("hostPort").filter(|port| port.to_json() != "0").cloned();
        let known: Vec<Value> = elements(before.get("ports")).iter().filter_map(port).collect();
        for (index, one) in elements(after.get("ports")).iter().enumerate() {
            if port(one).is_some_and(|port| !known.contains(&port)) {
                self.found.push(at.key("ports").index(index).key("hostPort"));
            }
        }
    }

    /// Rules that no rule of before grants by itself.
    fn rules(&mut self, before: &Value, after: &Value) {
        let old = elements(before.get("rules"));
        let is_new = |rule: &Value| !old.contains(rule) && !old.iter().any(|old| grants(old, rule));
        self.note(elements(after.get("rules")).iter().any(is_new), &Pointer::ROOT, "rules");
    }

    /// Labels by which other roles take in the rules of this one.
    fn aggregated(&mut self, before: &Value, after: &Value) {
        let labels = |object: &Value| object.path(&["metadata", "labels"]).cloned().unwrap_or_default();
        let (old, new) = (labels(before), labels(after));
        for (key, value) in new.as_object().into_iter().flat_map(|labels| labels.iter()) {
            if key.starts_with(AGGREGATED) && value.as_str() == Some("true") && old.get(key) != Some(value) {
                self.found.push(Pointer::ROOT.key("metadata").key("labels").key(key.clone()));
            }
        }
    }

    /// Volumes of the host, and tokens.
    fn volumes(&mut self, before: &Value, after: &Value, at: &Pointer) {
        let known = by_name(before.get("volumes"));
        for (index, volume) in elements(after.get("volumes")).iter().enumerate() {
            let old = name(volume).and_then(|name| known.get(name)).copied();
            let host = |volume: &Value| volume.path(&["hostPath", "path"]).cloned();
            if host(volume).is_some() && old.and_then(host) != host(volume) {
                self.found.push(at.index(index).key("hostPath"));
            }
            let tokens = |volume: &Value| {
                let sources = elements(volume.path(&["projected", "sources"])).iter();
                sources.filter(|source| source.get("serviceAccountToken").is_some()).count()
            };
            if tokens(volume) > old.map_or(0, tokens) {
                self.found.push(at.index(index).key("projected"));
            }
        }
    }

    fn level(&mut self, before: &Value, after: &Value) {
        let level = |object: &Value| {
            let label =
                object.path(&["metadata", "labels", ENFORCE]).and_then(Value::as_str).unwrap_or("privileged");
            LEVELS.iter().position(|level| *level == label).unwrap_or(LEVELS.len())
        };
        if level(after) > level(before) {
            self.found.push(Pointer::ROOT.key("metadata").key("labels").key(ENFORCE));
        }
    }

    /// A field that becomes true.
    fn switched_on(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        let is_on = |value: &Value| value.get(field) == Some(&Value::Bool(true));
        self.note(is_on(after) && !is_on(before), at, field);
    }

    /// A field that was set to be safe and is no more.
    fn undone(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str, safe: bool) {
        let is_safe = |value: &Value| value.get(field) == Some(&Value::Bool(safe));
        self.note(is_safe(before) && !is_safe(after), at, field);
    }

    /// A field that becomes another one.
    fn other(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        self.note(after.get(field).is_some() && before.get(field) != after.get(field), at, field);
    }

    /// A list that has elements which it had not.
    fn more(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        let old = elements(before.get(field));
        self.note(elements(after.get(field)).iter().any(|element| !old.contains(element)), at, field);
    }

    /// A list that lacks elements which it had.
    fn less(&mut self, before: &Value, after: &Value, at: &Pointer, field: &str) {
        self.more(after, before, at, field);
    }

    fn note(&mut self, is_gain: bool, at: &Pointer, field: &str) {
        let place = at.key(field);
        if is_gain && !self.found.contains(&place) {
            self.found.push(place);
        }
    }
}

/// Whether a rule of a role allows all that another one does.
fn grants(old: &Value, new: &Value) -> bool {
    let holds = |field: &str| {
        let allowed = elements(old.get(field));
        let is_allowed = |one: &Value| {
            allowed.contains(one) || field != "resourceNames" && allowed.contains(&Value::from("*"))
        };
        elements(new.get(field)).iter().all(is_allowed)
    };
    let names = |rule: &Value| elements(rule.get("resourceNames")).len();
    let by_name = names(old) == 0 || names(new) > 0 && holds("resourceNames");
    by_name && ["verbs", "apiGroups", "resources", "nonResourceURLs"].into_iter().all(holds)
}

fn elements(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).unwrap_or_default()
}

fn name(element: &Value) -> Option<&str> {
    element.get("name").and_then(Value::as_str)
}

fn by_name(list: Option<&Value>) -> BTreeMap<&str, &Value> {
    elements(list).iter().filter_map(|element| Some((name(element)?, element))).collect()
}

#[cfg(test)]
mod tests {
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
    fn a_pod_that_is_held_less_tightly_is_told() {
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
        let namespace = |level: &str| format!(r#"{{"metadata":{{"labels":{{"{ENFORCE}":"{level}"}}}}}}"#);
        assert_eq!(found("Namespace", &namespace("restricted"), &namespace("baseline")).len(), 1);
        assert!(found("Namespace", &namespace("baseline"), &namespace("restricted")).is_empty());
        assert!(found("Namespace", "{}", &namespace("baseline")).is_empty());
    }
}
