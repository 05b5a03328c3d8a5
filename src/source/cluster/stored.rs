//! The stored objects of manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::resources::{ApiResource, Resources, UnavailableVersion};
use crate::value::{GroupVersionKind, ObjectRef, Text, Value};

use super::failed_lookups::FailedLookups;
use super::{Cluster, ClusterError, FailedLookup};

/// Whether a namespace exists, checked by the first thread that needs to know; `None` if the request failed.
type Known = Arc<OnceLock<Option<bool>>>;

/// Reads the stored object of a manifest, which makes its request an update.
#[derive(Debug)]
pub struct StoredObjects {
    cluster: Arc<dyn Cluster>,
    /// The namespace of objects that name none.
    namespace: Text,
    failed_lookups: FailedLookups,
    /// The kinds that the cluster does not serve, by group and kind, and what they are told as.
    unserved: Mutex<BTreeMap<(Text, Text), String>>,
    /// The custom kinds that the manifests themselves define, by group and kind.
    defined: Mutex<BTreeSet<(Text, Text)>>,
    /// The kinds of the objects, as they are written, of those that the cluster serves.
    kinds: Mutex<BTreeMap<GroupVersionKind, ApiResource>>,
    namespaces: Mutex<BTreeMap<Text, Known>>,
    /// The namespaces that the manifests themselves make.
    made: Mutex<BTreeSet<Text>>,
}

/// What a cluster does not have at all, of what manifests name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingInCluster {
    /// Kinds that the manifests do not define either, as `Widget (example.com/v1)`.
    pub kinds: Vec<String>,
    /// Kinds that they define: as above, with group and kind.
    pub defined: Vec<(Text, Text, String)>,
    /// Namespaces that the manifests do not make either.
    pub namespaces: Vec<Text>,
}

impl StoredObjects {
    /// Sends nothing yet.
    pub fn new(cluster: Arc<dyn Cluster>, namespace: Text) -> Self {
        Self {
            cluster,
            namespace,
            failed_lookups: FailedLookups::default(),
            unserved: Mutex::default(),
            defined: Mutex::default(),
            kinds: Mutex::default(),
            namespaces: Mutex::default(),
            made: Mutex::default(),
        }
    }

    /// The stored state of an object; `None` if there is none, or if it cannot be read, which is
    /// remembered.
    pub fn find(&self, object: &Value) -> Option<Value> {
        let kind = GroupVersionKind::of(object)?;
        self.note_made(&kind, object);
        let served = self.cluster.resources().ok()?;
        self.note_kind(&kind, &served);
        let Some(resource) = served.of_kind(&kind) else {
            match down(&kind, &served) {
                Some(down) => {
                    let why = ClusterError::UnknownKinds(kind.api_version(), down.why.clone());
                    self.failed_lookups.note(FailedLookup { what: told(&kind), why, is_reported: false });
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
                let place = namespace.map_or_else(String::new, |namespace| format!(" in {namespace}"));
                let what = format!("{} \"{name}\"{place}", resource.full_name());
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
        let kinds = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = known
            .iter()
            .filter(|(name, is_there)| is_there.get() == Some(&Some(false)) && !made.contains(*name));
        let defined = self.defined.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, foreign): (Vec<_>, Vec<_>) = kinds.iter().partition(|(kind, _)| defined.contains(*kind));
        MissingInCluster {
            kinds: foreign.into_iter().map(|(_, told)| told.clone()).collect(),
            defined: own
                .into_iter()
                .map(|((group, kind), told)| (group.clone(), kind.clone(), told.clone()))
                .collect(),
            namespaces: absent.map(|(name, _)| name.clone()).collect(),
        }
    }

    /// Remembers the kind that a definition among the manifests makes.
    fn note_definition(&self, kind: &GroupVersionKind, object: &Value) {
        if (&*kind.group, &*kind.kind) != ("apiextensions.k8s.io", "CustomResourceDefinition") {
            return;
        }
        let text = |path: &[&str]| object.path(path).and_then(Value::as_text).cloned();
        if let (Some(group), Some(kind)) = (text(&["spec", "group"]), text(&["spec", "names", "kind"])) {
            self.defined.lock().unwrap_or_else(PoisonError::into_inner).insert((group, kind));
        }
    }

    /// Notes an object whose stored state does not matter, and sends nothing.
    pub fn pass(&self, object: &Value) {
        let Some(kind) = GroupVersionKind::of(object) else { return };
        self.note_made(&kind, object);
        let Ok(served) = self.cluster.resources() else { return };
        self.note_kind(&kind, &served);
        if served.of_kind(&kind).is_none() && down(&kind, &served).is_none() {
            self.note_unserved(&kind);
        }
    }

    /// The kinds of the objects so far, in the versions in which they are written, of those that the cluster serves.
    pub fn kinds(&self) -> Vec<ApiResource> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Remembers a kind that the cluster serves in this very version.
    fn note_kind(&self, kind: &GroupVersionKind, served: &Resources) {
        let mut kinds = self.kinds.lock().unwrap_or_else(PoisonError::into_inner);
        if !kinds.contains_key(kind)
            && let Some(resource) = served.of_kind(kind).filter(|resource| resource.kind == *kind)
        {
            kinds.insert(kind.clone(), resource.clone());
        }
    }

    /// Remembers a kind or a namespace that the object makes.
    fn note_made(&self, kind: &GroupVersionKind, object: &Value) {
        self.note_definition(kind, object);
        if *kind == ApiResource::namespaces().kind {
            let name = ObjectRef::of(object).map(|object| object.name).filter(|name| !name.is_empty());
            self.made.lock().unwrap_or_else(PoisonError::into_inner).extend(name);
        }
    }

    /// Remembers a kind that is not served.
    fn note_unserved(&self, kind: &GroupVersionKind) {
        let mut unserved = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        unserved.insert((kind.group.clone(), kind.kind.clone()), told(kind));
    }

    /// Checks once whether a namespace exists in which something was not found.
    fn note_namespace(&self, namespace: Option<&Text>) {
        let Some(name) = namespace else { return };
        let known = {
            let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(name.clone()).or_default())
        };
        known.get_or_init(|| match self.cluster.get(ApiResource::namespaces(), None, name) {
            Ok(_) => Some(true),
            Err(error) => error.is_not_found().then_some(false),
        });
    }
}

/// A kind in messages.
fn told(kind: &GroupVersionKind) -> String {
    format!("{} ({})", kind.kind, kind.api_version())
}

/// The API that may serve a kind and is down.
fn down<'r>(kind: &GroupVersionKind, served: &'r Resources) -> Option<&'r UnavailableVersion> {
    served.unavailable().iter().find(|down| down.group == kind.group && down.version == kind.version)
}
