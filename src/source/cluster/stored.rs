//! Manifests' objects as a cluster stores them.

use std::sync::Arc;

use crate::value::{ObjectRef, Text, Value};

use super::missed::Misses;
use super::{Cluster, Missed};

/// Finds what a cluster stores for an object, which makes a request about it an update.
#[derive(Debug)]
pub struct StoredObjects {
    cluster: Arc<dyn Cluster>,
    /// The namespace of objects that name none.
    namespace: Text,
    misses: Misses,
}

impl StoredObjects {
    /// Starts without having asked for anything.
    pub fn new(cluster: Arc<dyn Cluster>, namespace: Text) -> Self {
        Self { cluster, namespace, misses: Misses::default() }
    }

    /// The stored state of an object; `None` if there is none, or if it cannot be read, which is
    /// remembered.
    pub fn find(&self, object: &Value) -> Option<Value> {
        let object = ObjectRef::of(object).filter(|object| !object.name.is_empty())?;
        let served = self.cluster.resources().ok()?;
        let resource = served.of_kind(&object.kind)?;
        let namespace = object.namespace.as_ref().unwrap_or(&self.namespace);
        let namespace = resource.is_namespaced.then_some(&**namespace);
        match self.cluster.get(resource, namespace, &object.name) {
            Ok(stored) => Some(stored),
            Err(error) => {
                if !error.is_not_found() {
                    let place = namespace.map_or_else(String::new, |namespace| format!(" in {namespace}"));
                    let what = format!("{} \"{}\"{place}", resource.full_name(), object.name);
                    self.misses.note(Missed { what, why: error, is_told: false });
                }
                None
            }
        }
    }

    /// What the cluster refused so far.
    pub fn take_missed(&self) -> Vec<Missed> {
        self.misses.take()
    }
}
