//! The stored objects of manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use crate::resources::{ApiResource, Resources, UnavailableVersion};
use crate::source::crds::is_definition;
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::failed_lookups::FailedLookups;
use super::once_map::{OnceMap, lock};
use super::{Cluster, ClusterError, FailedLookup, object_name};

/// Reads the stored object of a manifest, which makes its request an update.
#[derive(Debug)]
pub struct StoredObjects {
    cluster: Arc<dyn Cluster>,
    /// The namespace of objects without one.
    namespace: Text,
    failed_lookups: FailedLookups,
    /// Whether namespaces exist; `None` if the request failed.
    namespaces: OnceMap<Text, Option<bool>>,
    seen: Mutex<Seen>,
}

/// What was seen in the manifests so far.
#[derive(Debug, Default)]
struct Seen {
    /// The kinds that the cluster does not serve, by group and kind, with their names in messages.
    unserved: BTreeMap<(Text, Text), String>,
    /// The custom kinds that the manifests define, by group and kind.
    defined: BTreeSet<(Text, Text)>,
    /// The served kinds of the objects, in the versions of the manifests.
    kinds: BTreeMap<GroupVersionKind, ApiResource>,
    /// The namespaces that the manifests create.
    created_namespaces: BTreeSet<Text>,
}

/// What a cluster does not have at all, of what manifests name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingInCluster {
    /// Kinds that the manifests do not define either, as `Widget (example.com/v1)`.
    pub kinds: Vec<String>,
    /// Kinds that they define: as above, with group and kind.
    pub defined: Vec<(Text, Text, String)>,
    /// Namespaces that the manifests do not create either.
    pub namespaces: Vec<Text>,
}

impl StoredObjects {
    /// Sends nothing yet.
    pub fn new(cluster: Arc<dyn Cluster>, namespace: Text) -> Self {
        let (failed_lookups, namespaces) = (FailedLookups::default(), OnceMap::default());
        Self { cluster, namespace, failed_lookups, namespaces, seen: Mutex::default() }
    }

    /// The stored state of an object; `None` if there is none, or if the lookup failed.
    pub fn find(&self, object: &Value) -> Option<Value> {
        let kind = GroupVersionKind::of(object)?;
        self.note_created(&kind, object);
        let served = self.cluster.resources().ok()?;
        self.note_kind(&kind, &served);
        let Some(resource) = served.of_kind(&kind) else {
            match down(&kind, &served) {
                Some(down) => {
                    let why = ClusterError::UnknownKinds(kind.api_version(), down.why.clone());
                    self.failed_lookups.note(FailedLookup { what: shown(&kind), why, is_reported: false });
                }
                None => self.note_unserved(&kind),
            }
            return None;
        };
        let metadata = |field| object.path(&["metadata", field]).and_then(Value::as_text);
        let namespace = metadata("namespace").filter(|namespace| !namespace.is_empty());
        let namespace = namespace.unwrap_or(&self.namespace);
        let namespace = resource.is_namespaced.then_some(namespace);
        let name = ObjectRef::of(object).map(|object| object.name).filter(|name| !name.is_empty());
        let Some(name) = name else {
            self.note_namespace(namespace);
            return None;
        };
        match self.cluster.get(resource, namespace.map(|namespace| &**namespace), &name) {
            Ok(stored) => Some(stored),
            Err(error) if error.is_not_found() => {
                self.note_namespace(namespace);
                None
            }
            Err(why) => {
                let what = object_name(resource, namespace.map(|namespace| &**namespace), &name);
                self.failed_lookups.note(FailedLookup { what, why, is_reported: false });
                None
            }
        }
    }

    /// Removes and returns the lookups that failed.
    pub fn take_failed_lookups(&self) -> Vec<FailedLookup> {
        self.failed_lookups.take()
    }

    /// What the cluster is known not to have.
    pub fn missing(&self) -> MissingInCluster {
        let seen = lock(&self.seen);
        let mut missing = MissingInCluster {
            namespaces: self.namespaces.keys_where(|exists| *exists == Some(false)),
            ..MissingInCluster::default()
        };
        missing.namespaces.retain(|name| !seen.created_namespaces.contains(name));
        for (key, shown) in &seen.unserved {
            if seen.defined.contains(key) {
                missing.defined.push((key.0.clone(), key.1.clone(), shown.clone()));
            } else {
                missing.kinds.push(shown.clone());
            }
        }
        missing
    }

    /// Notes an object whose stored state does not matter, and sends nothing.
    pub fn pass(&self, object: &Value) {
        let Some(kind) = GroupVersionKind::of(object) else { return };
        self.note_created(&kind, object);
        let Ok(served) = self.cluster.resources() else { return };
        self.note_kind(&kind, &served);
        if served.of_kind(&kind).is_none() && down(&kind, &served).is_none() {
            self.note_unserved(&kind);
        }
    }

    /// The kinds of the objects so far, in the versions in which they are written, of those that the cluster serves.
    pub fn kinds(&self) -> Vec<ApiResource> {
        lock(&self.seen).kinds.values().cloned().collect()
    }

    /// Notes a kind that the cluster serves in this version.
    fn note_kind(&self, kind: &GroupVersionKind, served: &Resources) {
        let kinds = &mut lock(&self.seen).kinds;
        if !kinds.contains_key(kind)
            && let Some(resource) = served.of_kind(kind).filter(|resource| resource.kind == *kind)
        {
            kinds.insert(kind.clone(), resource.clone());
        }
    }

    /// Notes a kind that the object defines, or a namespace that it creates.
    fn note_created(&self, kind: &GroupVersionKind, object: &Value) {
        let text = |path: &[&str]| object.path(path).and_then(Value::as_text).cloned();
        if is_definition(object) {
            let names = text(&["spec", "group"]).zip(text(&["spec", "names", "kind"]));
            lock(&self.seen).defined.extend(names);
        } else if *kind == ApiResource::namespaces().kind {
            let name = ObjectRef::of(object).map(|object| object.name).filter(|name| !name.is_empty());
            lock(&self.seen).created_namespaces.extend(name);
        }
    }

    /// Notes a kind that is not served.
    fn note_unserved(&self, kind: &GroupVersionKind) {
        lock(&self.seen).unserved.insert((kind.group.clone(), kind.kind.clone()), shown(kind));
    }

    /// Checks whether a namespace exists in which an object was not found.
    fn note_namespace(&self, namespace: Option<&Text>) {
        let Some(name) = namespace else { return };
        self.namespaces.get(name.clone(), || match self.cluster.get(ApiResource::namespaces(), None, name) {
            Ok(_) => Some(true),
            Err(error) => error.is_not_found().then_some(false),
        });
    }
}

/// A kind in messages.
fn shown(kind: &GroupVersionKind) -> String {
    format!("{} ({})", kind.kind, kind.api_version())
}

/// The API that may serve a kind and is down.
fn down<'r>(kind: &GroupVersionKind, served: &'r Resources) -> Option<&'r UnavailableVersion> {
    served.unavailable().iter().find(|down| down.group == kind.group && down.version == kind.version)
}
