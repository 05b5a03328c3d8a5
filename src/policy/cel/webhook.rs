//! The webhooks by which the API server calls Kyverno for its CEL policies.

use crate::policy::fields::{given, string};
use crate::value::{Text, Value};

/// Policies that share webhooks: one for those that fail, one for those that ignore failures. Kyverno evaluates all of
/// them for each of the two.
#[derive(Clone, Debug, PartialEq)]
pub struct SharedWebhooks {
    /// That of a namespaced policy.
    namespace: Option<Text>,
    /// `namespaceSelector` and `objectSelector`.
    selectors: [Value; 2],
}

impl SharedWebhooks {
    /// The webhooks of a policy of Kyverno whose conditions the API server does not know; `None` if it has one of its own,
    /// because of a timeout or an exact match policy.
    pub(super) fn of(spec: &Value, namespace: Option<&Text>) -> Option<Self> {
        let constraints = spec.get("matchConstraints").unwrap_or(&Value::Null);
        let has_timeout =
            spec.path(&["webhookConfiguration", "timeoutSeconds"]).is_some_and(|given| *given != Value::Null);
        if has_timeout || string(constraints, "matchPolicy") == "Exact" {
            return None;
        }
        let selector = |field| {
            let is_written =
                |selector: &&Value| selector.as_object().is_some_and(|members| !members.is_empty());
            given(constraints, field).filter(is_written).cloned().unwrap_or(Value::Null)
        };
        let namespace_selector =
            if namespace.is_some() { Value::Null } else { selector("namespaceSelector") };
        Some(Self {
            namespace: namespace.cloned(),
            selectors: [namespace_selector, selector("objectSelector")],
        })
    }
}
