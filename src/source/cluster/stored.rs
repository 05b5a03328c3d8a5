//! Manifests' objects as a cluster stores them.

use std::sync::{Arc, Mutex, PoisonError};

use crate::value::{ObjectRef, Text, Value};

use super::{Cluster, ClusterError};

/// Finds what a cluster stores for an object, which makes a request about it an update.
#[derive(Debug)]
pub struct StoredObjects {
    cluster: Arc<dyn Cluster>,
    /// The namespace of objects that name none.
    namespace: Text,
    faults: Mutex<Vec<ClusterError>>,
}

impl StoredObjects {
    /// Starts without having asked for anything.
    pub fn new(cluster: Arc<dyn Cluster>, namespace: Text) -> Self {
        Self { cluster, namespace, faults: Mutex::default() }
    }

    /// The stored state of an object; `None` if there is none, or if it cannot be read, which is kept as a
    /// fault.
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
                    self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                }
                None
            }
        }
    }

    /// What the cluster refused so far.
    pub fn take_faults(&self) -> Vec<ClusterError> {
        std::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
