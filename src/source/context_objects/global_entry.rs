//! Global context entries.

use crate::engine::LookupError;
use crate::resources::GroupVersionResource;
use crate::value::{Text, Value};

/// A `GlobalContextEntry`.
#[derive(Debug)]
pub(super) struct GlobalEntry {
    pub(super) source: EntrySource,
    pub(super) spec: Value,
}

/// Where the data of a global context entry comes from.
#[derive(Debug)]
pub(in crate::source) enum EntrySource {
    /// The objects of a resource.
    Resource {
        resource: GroupVersionResource,
        /// Their namespace; empty for all.
        namespace: Text,
    },
    /// A GET of this path of the API server.
    Call(Text),
    /// The data itself, as a test suite has it: its members are the projections.
    Data(Result<Value, LookupError>),
    /// Calls of a kind that are never sent.
    Unsupported(&'static str),
}

impl EntrySource {
    /// Reads the `spec` of an entry.
    ///
    /// # Errors
    ///
    /// What is missing or too much.
    pub(in crate::source) fn of(spec: &Value) -> Result<Self, &'static str> {
        let member = |name| spec.get(name).filter(|member: &&Value| !member.is_null());
        let text = |node: &Value, name| node.get(name).and_then(Value::as_text).cloned().unwrap_or_default();
        match (member("kubernetesResource"), member("apiCall")) {
            (Some(objects), None) => {
                let [group, version, plural] =
                    ["group", "version", "resource"].map(|name| text(objects, name));
                if version.is_empty() || plural.is_empty() {
                    return Err("its resource needs a version and a name");
                }
                let resource = GroupVersionResource { group, version, plural };
                Ok(Self::Resource { resource, namespace: text(objects, "namespace") })
            }
            (None, Some(call)) => {
                let is_service = call.get("service").is_some_and(|service| !service.is_null());
                Ok(match (is_service, &*text(call, "method")) {
                    (true, _) => Self::Unsupported("calls of services"),
                    (false, "POST") => Self::Unsupported("POST calls"),
                    (false, _) => Self::Call(text(call, "urlPath")),
                })
            }
            _ => Err("exactly one of kubernetesResource, apiCall is needed"),
        }
    }
}
