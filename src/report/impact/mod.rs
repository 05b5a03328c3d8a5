//! What the change of an object means for a cluster: more than that it is another object.

mod immutable;
mod privilege;

use crate::value::{GroupVersionKind, Pointer, Value};

/// Kinds whose Pods are not replaced when their template changes: it is for Pods to come, or refused.
const WITHOUT_ROLLOUT: [&str; 4] = ["Job", "PodTemplate", "ReplicaSet", "ReplicationController"];

/// What a change means for a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Whether its Pods are replaced, because their template changes.
    pub rollout: bool,
    /// What changes and may not: the API server refuses the update.
    pub immutable: Vec<Pointer>,
    /// What gives somebody or something more power than before.
    pub privilege: Vec<Pointer>,
}

impl Impact {
    /// What it means that an object becomes another. Only what exists is rolled out or refused for what it was.
    pub fn of(before: &Value, after: &Value, is_update: bool) -> Self {
        let Some(kind) = GroupVersionKind::of(before).filter(|_| before != after) else {
            return Self::default();
        };
        Self {
            rollout: is_update && is_rolled_out(&kind, before, after),
            immutable: if is_update { immutable::changed(&kind, before, after) } else { Vec::new() },
            privilege: privilege::gained(&kind, before, after),
        }
    }

    /// Whether there is nothing to say.
    pub const fn is_none(&self) -> bool {
        !self.rollout && self.immutable.is_empty() && self.privilege.is_empty()
    }
}

/// Whether an update replaces the Pods of an object: its template changes, it has Pods, and it is not told to wait.
fn is_rolled_out(kind: &GroupVersionKind, before: &Value, after: &Value) -> bool {
    let template = |object: &Value| object.path(&["spec", "template"]).cloned();
    let has_pods = after.path(&["spec", "template", "spec", "containers"]).is_some();
    let waits = after.path(&["spec", "paused"]) == Some(&Value::Bool(true))
        || after.path(&["spec", "updateStrategy", "type"]).and_then(Value::as_str) == Some("OnDelete");
    has_pods && !waits && !WITHOUT_ROLLOUT.contains(&&*kind.kind) && template(before) != template(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rolled_out(kind: &str, before: &str, after: &str) -> bool {
        let object = |spec: &str| {
            let text = format!(r#"{{"apiVersion":"apps/v1","kind":"{kind}","spec":{spec}}}"#);
            Value::from_json(&text).unwrap()
        };
        Impact::of(&object(before), &object(after), true).rollout
    }

    #[test]
    fn a_changed_template_replaces_pods_unless_told_to_wait() {
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
        ] {
            assert_eq!(rolled_out(kind, &with(rest, "x"), &with(rest, "y")), expected, "{kind} {rest}");
            assert!(!rolled_out(kind, &with(rest, "x"), &with(rest, "x")), "{kind}");
        }
        assert!(!rolled_out("Deployment", &with("", "x"), &with(r#""replicas":2,"#, "x")));
    }

    #[test]
    fn what_does_not_exist_yet_is_neither_rolled_out_nor_refused() {
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
