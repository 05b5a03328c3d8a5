//! The impact of a change on a cluster.

mod defaulting;
mod immutable;
mod privilege;
mod rollout;

use crate::value::{GroupVersionKind, Pointer, Value};

/// The impact of a change on a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Whether something is restarted: Pods because their template changes, or containers of a Pod because their image
    /// changes.
    pub rollout: bool,
    /// Changed immutable fields: the API server refuses the update.
    pub immutable: Vec<Pointer>,
    /// Fields that grant more privileges than before.
    pub privilege: Vec<Pointer>,
}

impl Impact {
    /// The impact of changing an object. Rollouts and immutable fields concern only objects that exist.
    pub fn of(before: &Value, after: &Value, is_update: bool) -> Self {
        let Some(kind) = GroupVersionKind::of(before).filter(|_| before != after) else {
            return Self::default();
        };
        Self {
            rollout: is_update && rollout::restarts(&kind, before, after),
            immutable: if is_update { immutable::changed(&kind, before, after) } else { Vec::new() },
            privilege: privilege::gained(&kind, before, after),
        }
    }

    /// Whether there is no impact.
    pub const fn is_none(&self) -> bool {
        !self.rollout && self.immutable.is_empty() && self.privilege.is_empty()
    }
}

/// The elements of a list; none if there is no list.
fn list<'v>(object: &'v Value, path: &[&str]) -> &'v [Value] {
    object.path(path).and_then(Value::as_array).unwrap_or_default()
}

fn text<'v>(object: &'v Value, path: &[&str]) -> Option<&'v str> {
    object.path(path).and_then(Value::as_str)
}

fn pointer(path: &[&str]) -> Pointer {
    path.iter().fold(Pointer::ROOT, |at, key| at.key(*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolled_out(kind: &str, before: &str, after: &str) -> bool {
        let object = |spec: &str| {
            let group = if kind == "Rollout" { "argoproj.io" } else { "apps" };
            let text = format!(r#"{{"apiVersion":"{group}/v1","kind":"{kind}","spec":{spec}}}"#);
            Value::from_json(&text).unwrap()
        };
        Impact::of(&object(before), &object(after), true).rollout
    }

    #[test]
    fn a_changed_template_replaces_pods_unless_paused() {
        let with = |rest: &str, label: &str| {
            format!(
                r#"{{{rest}"template":{{"metadata":{{"labels":{{"a":"{label}"}}}},"spec":{{"containers":[]}}}}}}"#
            )
        };
        for (kind, rest, expected) in [
            ("Deployment", "", true),
            ("Deployment", r#""paused":true,"#, false),
            ("DaemonSet", r#""updateStrategy":{"type":"RollingUpdate"},"#, true),
            ("StatefulSet", r#""updateStrategy":{"type":"OnDelete"},"#, false),
            ("ReplicaSet", "", false),
            ("Job", "", false),
            ("Rollout", "", true),
            ("Deployment", r#""replicas":0,"#, false),
            ("StatefulSet", r#""replicas":2,"updateStrategy":{"rollingUpdate":{"partition":2}},"#, false),
            ("StatefulSet", r#""replicas":3,"updateStrategy":{"rollingUpdate":{"partition":2}},"#, true),
        ] {
            assert_eq!(rolled_out(kind, &with(rest, "x"), &with(rest, "y")), expected, "{kind} {rest}");
            assert!(!rolled_out(kind, &with(rest, "x"), &with(rest, "x")), "{kind}");
        }
        assert!(!rolled_out("Deployment", &with("", "x"), &with(r#""replicas":2,"#, "x")));
    }

    #[test]
    fn explicit_defaults_replace_nothing() {
        let with = |pod: &str, container: &str| {
            format!(
                r#"{{"template":{{"spec":{{{pod}"containers":[{{"name":"a","image":"i:1"{container}}}]}}}}}}"#
            )
        };
        for (pod, container, expected) in [
            ("", r#","env":[]"#, false),
            ("", r#","ports":[]"#, false),
            ("", r#","imagePullPolicy":"IfNotPresent""#, false),
            ("", r#","imagePullPolicy":"Always""#, true),
            ("", r#","stdin":false"#, false),
            ("", r#","securityContext":{}"#, true),
            ("", r#","terminationMessagePolicy":"File""#, false),
            (r#""nodeSelector":{},"#, "", false),
            (r#""hostNetwork":false,"#, "", false),
            (r#""hostNetwork":true,"#, "", true),
            (r#""automountServiceAccountToken":false,"#, "", true),
            (r#""restartPolicy":"Always","#, "", false),
            (r#""terminationGracePeriodSeconds":30,"#, "", false),
            (r#""terminationGracePeriodSeconds":0,"#, "", true),
            (r#""volumes":[{"name":"a"}],"#, "", true),
        ] {
            let found = rolled_out("Deployment", &with("", ""), &with(pod, container));
            assert_eq!(found, expected, "{pod} {container}");
        }
        for (before, after, expected) in [
            (r#","resources":{"limits":{"cpu":"1"}}"#, r#","resources":{"limits":{"cpu":"1000m"}}"#, false),
            (r#","resources":{"limits":{"cpu":"1"}}"#, r#","resources":{"limits":{"cpu":1}}"#, false),
            (r#","resources":{"limits":{"cpu":"1"}}"#, r#","resources":{"limits":{"cpu":"2"}}"#, true),
            (
                r#","ports":[{"containerPort":1}]"#,
                r#","ports":[{"containerPort":1,"protocol":"TCP"}]"#,
                false,
            ),
            (r#","ports":[{"containerPort":1}]"#, r#","ports":[{"containerPort":1,"protocol":"UDP"}]"#, true),
            (r#","livenessProbe":{}"#, r#","livenessProbe":{"periodSeconds":10}"#, false),
            (r#","env":[{"name":"A"}]"#, r#","env":[{"name":"A","value":""}]"#, false),
        ] {
            for kind in ["Deployment", "DaemonSet", "StatefulSet"] {
                assert_eq!(rolled_out(kind, &with("", before), &with("", after)), expected, "{kind} {after}");
            }
        }
        // The semantics of other controllers are not known.
        assert!(rolled_out("Rollout", &with("", ""), &with("", r#","env":[]"#)));
    }

    #[test]
    fn another_image_restarts_containers_of_a_pod() {
        let pod = |first: &str, main: &str, gates: &str| {
            let text = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","spec":{{{gates}
                    "initContainers":[{{"name":"i","image":"{first}"}}],"containers":[{{"name":"a","image":"{main}"}}]}}}}"#,
                gates = if gates.is_empty() { "" } else { r#""schedulingGates":[{"name":"g"}],"# }
            );
            Value::from_json(&text).unwrap()
        };
        let restarts = |before: &Value, after: &Value| Impact::of(before, after, true).rollout;
        assert!(restarts(&pod("i", "m", ""), &pod("i", "n", "")));
        assert!(!restarts(&pod("i", "m", ""), &pod("j", "m", "")));
        assert!(!restarts(&pod("i", "m", "gated"), &pod("i", "n", "gated")));
    }

    #[test]
    fn new_objects_are_neither_rolled_out_nor_refused() {
        let object = |name: &str| {
            let text = format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","spec":{{"selector":{{"matchLabels":{{"a":"{name}"}}}},
                    "template":{{"spec":{{"hostNetwork":{},"containers":[]}}}}}}}}"#,
                name == "y"
            );
            Value::from_json(&text).unwrap()
        };
        let impact = Impact::of(&object("x"), &object("y"), false);
        assert!(!impact.rollout && impact.immutable.is_empty(), "{impact:?}");
        assert_eq!(impact.privilege.len(), 1);
        let impact = Impact::of(&object("x"), &object("y"), true);
        assert!(impact.rollout && impact.immutable.len() == 1, "{impact:?}");
    }
}
