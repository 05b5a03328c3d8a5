//! Global context entries.

use std::collections::BTreeMap;

use crate::engine::LookupError;
use crate::value::{Text, Value};

use super::request::Resource;

/// Global context entries by their names.
#[derive(Debug, Default)]
pub(super) struct Globals(BTreeMap<Text, Global>);

/// What a `GlobalContextEntry` says.
#[derive(Debug)]
pub(super) struct Global {
    pub(super) origin: Origin,
    /// Expressions by their names.
    pub(super) projections: BTreeMap<Text, Text>,
}

/// Where the data of an entry comes from.
#[derive(Debug)]
pub(super) enum Origin {
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

    pub(super) fn projection(&self, entry: &str, name: &str) -> Result<Value, LookupError> {
        let global = self.0.get(entry).ok_or(LookupError::NotGiven)?;
        if let Origin::Data(Ok(data)) = &global.origin {
            // A quoted name takes the member.
            let member = data.get(name).map(|_| Value::from(Value::from(name).to_json()));
            return member.ok_or(LookupError::NotFound);
        }
        global.projections.get(name).map(|path| Value::String(path.clone())).ok_or(LookupError::NotFound)
    }
}
