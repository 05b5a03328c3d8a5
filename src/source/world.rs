//! The engine's world without a cluster.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;

use crate::engine::{Lookup, LookupError, LookupSource, World};
use crate::resources::{KindResource, Resources, builtin_resource};
use crate::value::{GroupVersionKind, Text, Value};

use super::{ContextObjects, CustomKind};

/// The label with its name that every namespace of a cluster has.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A world without a cluster: time and random numbers are fixed for the run, namespaces, kinds and objects come from the
/// inputs.
#[derive(Clone, Debug)]
pub struct OfflineWorld {
    now: Timestamp,
    seed: u64,
    namespaces: BTreeMap<Text, Value>,
    /// The kinds of the definitions among the inputs.
    custom: Resources,
    objects: ContextObjects,
    /// Whether the time was used.
    uses_time: Arc<AtomicBool>,
}

impl OfflineWorld {
    /// A world at this time, with a seed for random numbers.
    pub fn new(now: Timestamp, seed: u64) -> Self {
        Self {
            now,
            seed,
            namespaces: BTreeMap::new(),
            custom: Resources::default(),
            objects: ContextObjects::NONE,
            uses_time: Arc::default(),
        }
    }

    /// Whether an expression used the time, so that the outcome may depend on it.
    pub fn uses_time(&self) -> bool {
        self.uses_time.load(Ordering::Relaxed)
    }

    /// Sets the kinds besides the built-in ones. The last definition of a kind wins.
    pub fn set_kinds(&mut self, kinds: &[CustomKind]) {
        let versions = kinds.iter().rev().flat_map(|kind| kind.versions.iter().cloned());
        self.custom = Resources::new(versions.collect(), Vec::new());
    }

    /// Sets the objects that context entries are loaded from.
    pub fn set_objects(&mut self, objects: ContextObjects) {
        self.objects = objects;
    }

    /// Adds a Namespace object, with the label that every cluster adds.
    pub fn add_namespace(&mut self, namespace: &Value) {
        let Some(name) = namespace.path(&["metadata", "name"]).and_then(Value::as_text) else { return };
        self.namespaces.insert(name.clone(), labels_of(namespace, name.clone()));
    }

    /// Sets the labels of a namespace, in place of those of its object.
    pub fn set_namespace_labels(&mut self, name: Text, labels: Value) {
        self.namespaces.insert(name, labels);
    }
}

/// The labels of a Namespace object, with the one that every cluster adds.
fn labels_of(namespace: &Value, name: Text) -> Value {
    let labels = namespace.path(&["metadata", "labels"]).filter(|labels| labels.as_object().is_some());
    let mut labels = labels.cloned().unwrap_or_else(Value::empty_object);
    labels.insert(NAME_LABEL, Value::String(name));
    labels
}

impl World for OfflineWorld {
    fn now(&self) -> Timestamp {
        self.uses_time.store(true, Ordering::Relaxed);
        self.now
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        // FNV-1a, then the finalizer of SplitMix64: equal on every machine and in every release.
        let mut state = 0xcbf2_9ce4_8422_2325 ^ self.seed;
        for byte in key.bytes().chain(call.to_le_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        state ^ (state >> 31)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        self.namespaces.get(namespace).cloned().or_else(|| {
            let path = format!("/api/v1/namespaces/{namespace}");
            let found =
                self.objects.lookup(LookupSource::Api(&path)).ok().filter(|_| !namespace.is_empty())?;
            Some(labels_of(&found, namespace.into()))
        })
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        self.custom.of_kind(kind).map_or_else(|| builtin_resource(kind), KindResource::from)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        self.objects.lookup(lookup.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_depend_on_seed_key_and_call() {
        let world = |seed| OfflineWorld::new(Timestamp::UNIX_EPOCH, seed);
        let one = world(1).random("Pod/a: p/r", 0);
        assert_eq!(one, world(1).random("Pod/a: p/r", 0));
        for other in [
            world(2).random("Pod/a: p/r", 0),
            world(1).random("Pod/b: p/r", 0),
            world(1).random("Pod/a: p/r", 1),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_namespace_has_its_name_as_a_label() {
        let mut world = OfflineWorld::new(Timestamp::UNIX_EPOCH, 0);
        let json = |text| Value::from_json(text).unwrap();
        world.add_namespace(&json(r#"{"metadata":{"name":"a","labels":{"x":"y"}}}"#));
        assert_eq!(
            world.namespace_labels("a").unwrap(),
            json(r#"{"x":"y","kubernetes.io/metadata.name":"a"}"#)
        );
        world.set_namespace_labels("a".into(), json("{}"));
        assert_eq!(world.namespace_labels("a").unwrap(), json("{}"));
        assert!(world.namespace_labels("b").is_none());
    }
}
