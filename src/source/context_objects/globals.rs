//! Global context entries.

use std::collections::BTreeMap;

use crate::value::{Text, Value};

use super::request::Resource;

/// Global context entries by their names.
#[derive(Debug, Default)]
pub(super) struct Globals(BTreeMap<Text, Global>);

/// What a `GlobalContextEntry` says.
#[derive(Debug)]
pub(super) struct Global {
    pub(super) origin: Origin,
    /// What it says.
    pub(super) spec: Value,
}

/// Where the data of an entry comes from.
#[derive(Debug)]
pub(in crate::source) enum Origin {
    /// The objects of a resource, of a namespace or of all.
    Resource {
        /// Their resource.
        resource: Resource,
        /// Their namespace; empty for all.
        namespace: Text,
    },
    /// A GET at the API server.
    Call {
        /// Its path.
        path: Text,
    },
    /// The data itself, as a test suite gives it: its members are the projections. In words why there is
    /// none.
    Data(Result<Value, String>),
    /// Calls of a kind that are never sent.
    Elsewhere(&'static str),
}

impl Origin {
    /// Where a stored entry takes its data from.
    ///
    /// # Errors
    ///
    /// What is missing or too much.
    pub(in crate::source) fn of(spec: &Value) -> Result<Self, &'static str> {
        let part = |name| spec.get(name).filter(|part: &&Value| !part.is_null());
        let text = |part: &Value, name| part.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        match (part("kubernetesResource"), part("apiCall")) {
            (Some(objects), None) => {
                let [group, version, plural] =
                    ["group", "version", "resource"].map(|name| text(objects, name));
                if version.is_empty() || plural.is_empty() {
                    return Err("its resource needs a version and a name");
                }
                let namespace = text(objects, "namespace").into();
                Ok(Self::Resource { resource: (group, version, plural), namespace })
            }
            (None, Some(call)) => {
                let is_service = call.get("service").is_some_and(|service| !service.is_null());
                Ok(match (is_service, &*text(call, "method")) {
                    (true, _) => Self::Elsewhere("calls of services"),
                    (false, "POST") => Self::Elsewhere("POST calls"),
                    (false, _) => Self::Call { path: text(call, "urlPath").into() },
                })
            }
            _ => Err("exactly one of kubernetesResource, apiCall is needed"),
        }
    }
}

impl Globals {
    /// Adds an entry; false if one of its name is there already.
    pub(super) fn add(&mut self, name: Text, global: Global) -> bool {
        self.0.insert(name, global).is_none()
    }

    pub(super) fn origin(&self, name: &str) -> Option<&Origin> {
        self.0.get(name).map(|global| &global.origin)
    }

    pub(super) fn origins(&self) -> impl Iterator<Item = &Origin> {
        self.0.values().map(|global| &global.origin)
    }

    pub(super) fn spec(&self, name: &str) -> Option<&Value> {
        self.0.get(name).map(|global| &global.spec)
    }
}
