//! A cluster as a world of the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::engine::{
    Lookup, LookupError, LookupSource, TargetAccess, TargetLookup, TargetRefusal, World, kinds_of,
};
use crate::policy::ResourceRule;
use crate::resources::{ApiResource, KindResource};
use crate::secrets::Secrets;
use crate::value::{GroupVersionKind, Text, Value};

use super::failed_lookups::FailedLookups;
use super::globals::Globals;
use super::lookup_cache::LookupCache;
use super::once_map::OnceMap;
use super::{Cluster, ClusterError, FailedLookup, ListQuery, Rights, globals, targets};

/// A target with its variables replaced: kind, namespace, name and labels as written.
type TargetKey = (Text, Text, Text, String);

/// A world on top of a cluster, if there is one: the cluster is used for what the inner world does not know.
pub struct ClusterWorld<W> {
    inner: W,
    cluster: Option<Arc<dyn Cluster>>,
    /// Whether some policy selects by the labels of namespaces; if none does, they are not read.
    uses_namespace_labels: bool,
    namespaces: OnceMap<Text, Option<Value>>,
    /// The labels of all namespaces in one list, for runs over all namespaces; `None` if the list is forbidden.
    listed: Option<OnceLock<Option<BTreeMap<Text, Value>>>>,
    /// The results so far, by whether they must not be recorded.
    results: LookupCache<(LookupKey, bool), Result<Value, LookupError>>,
    targets: OnceMap<TargetKey, Result<Vec<Value>, LookupError>>,
    /// The most objects of one target.
    max_targets: usize,
    /// The rights on targets, if they are checked.
    rights: Option<Rights>,
    /// Whether values of Secrets may be shown.
    shows_secrets: bool,
    failed_lookups: FailedLookups,
}

/// Namespaces per request.
const NAMESPACE_PAGE_SIZE: u32 = 500;

/// Bytes of cached results, as JSON, in each of the two generations of the cache.
const CACHE_BYTES: usize = 1 << 20;

/// A lookup of a context entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LookupKey {
    /// The namespace and name of a `ConfigMap`.
    ConfigMap(Text, Text),
    /// A path of the API server.
    Path(Text),
    /// The `spec` of a global context entry, by its name.
    Entry(Text),
    /// The data of a global context entry.
    Global(Text),
}

impl<W> std::fmt::Debug for ClusterWorld<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").field("failed_lookups", &self.failed_lookups).finish_non_exhaustive()
    }
}

impl<W: World> ClusterWorld<W> {
    /// A world that uses `inner` first.
    pub fn new(inner: W, cluster: Option<Arc<dyn Cluster>>, uses_namespace_labels: bool) -> Self {
        Self {
            inner,
            cluster,
            uses_namespace_labels,
            namespaces: OnceMap::default(),
            listed: None,
            results: LookupCache::new(CACHE_BYTES),
            targets: OnceMap::default(),
            max_targets: usize::MAX,
            rights: None,
            shows_secrets: false,
            failed_lookups: FailedLookups::default(),
        }
    }

    /// Sets whether messages may show values of Secrets.
    #[must_use]
    pub fn with_secrets_shown(self, shows_secrets: bool) -> Self {
        Self { shows_secrets, ..self }
    }

    /// Sets whether the labels of all namespaces are read at once, when the first are needed.
    #[must_use]
    pub fn with_all_namespaces(self, all: bool) -> Self {
        Self { listed: all.then(OnceLock::new), ..self }
    }

    /// Sets the most objects of one target.
    #[must_use]
    pub fn with_max_targets(self, max_targets: usize) -> Self {
        Self { max_targets, ..self }
    }

    /// Sets the rights that are checked before targets are changed.
    #[must_use]
    pub fn with_rights(self, rights: Option<Rights>) -> Self {
        Self { rights, ..self }
    }

    /// The world of the inputs.
    pub const fn inner(&self) -> &W {
        &self.inner
    }

    /// Removes and returns the failed lookups.
    pub fn take_failed_lookups(&self) -> Vec<FailedLookup> {
        let mut missed = self.failed_lookups.take();
        missed.extend(self.rights.iter().flat_map(Rights::take_failed_lookups));
        missed
    }

    /// Whether rights were checked.
    pub fn has_asked_for_rights(&self) -> bool {
        self.rights.as_ref().is_some_and(Rights::is_used)
    }

    fn labels(&self, cluster: &dyn Cluster, namespace: &str) -> Option<Value> {
        let listed =
            self.listed.as_ref().and_then(|listed| listed.get_or_init(|| all_labels(cluster)).as_ref());
        if let Some(labels) = listed.and_then(|listed| listed.get(namespace)) {
            return Some(labels.clone());
        }
        match cluster.get(ApiResource::namespaces(), None, namespace) {
            Ok(object) => Some(labels_of(&object)),
            // A manifest may come with its namespace.
            Err(error) if error.is_not_found() => None,
            Err(why) => {
                let what = format!("namespaces \"{namespace}\"");
                self.failed_lookups.note(FailedLookup { what, why, is_reported: false });
                None
            }
        }
    }

    /// Looks up once, however many threads need the result.
    fn look_up(
        &self,
        cluster: &dyn Cluster,
        key: LookupKey,
        tainted: Option<&Secrets>,
        send: impl FnOnce(&dyn Cluster, &dyn Fn(ClusterError) -> LookupError) -> Result<Value, LookupError>,
    ) -> Result<Value, LookupError> {
        let failed = |error: ClusterError| {
            self.note_failed(key.to_string(), &key.texts(), &error, tainted);
            lookup_error(error)
        };
        let cache_key = (key.clone(), tainted.is_some());
        let send = || send(for_lookup(cluster, tainted), &failed);
        // An error takes memory, too.
        self.results.get(&cache_key, send, |result| 100 + result.as_ref().map_or(0, Value::weight))
    }

    /// Notes a failed lookup, with the secrets masked that it was made of.
    fn note_failed(&self, what: String, texts: &[&str], why: &ClusterError, tainted: Option<&Secrets>) {
        match tainted {
            // The engine reports a rule that cannot be replayed.
            Some(_) if matches!(why, ClusterError::NotRecorded(_)) => {}
            Some(secrets) if !self.shows_secrets => {
                let hide = |text: &str| secrets.redact_message(text, texts);
                self.failed_lookups.note_reported(|| hide(&what), &why.clone().with_words(hide));
            }
            _ => self.failed_lookups.note_reported(|| what, why),
        }
    }

    /// The data of a global context entry, of the inner world or the cluster.
    fn global(
        &self,
        cluster: &dyn Cluster,
        name: &str,
        failed: &dyn Fn(ClusterError) -> LookupError,
    ) -> Result<Value, LookupError> {
        let spec = self.lookup(&LookupSource::GlobalEntry(name).into())?;
        let source = Globals { cluster, most: self.max_targets, unanswered: failed };
        source.data(&spec, |path| self.lookup(&LookupSource::Api(path).into()))
    }
}

impl LookupKey {
    /// The texts that a rule may have made of secrets.
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::ConfigMap(namespace, name) => vec![namespace, name],
            Self::Path(path) => vec![path],
            Self::Entry(_) | Self::Global(_) => Vec::new(),
        }
    }
}

/// The cluster of a lookup.
fn for_lookup<'c>(cluster: &'c dyn Cluster, tainted: Option<&Secrets>) -> &'c dyn Cluster {
    tainted.and_then(|_| cluster.unrecorded()).unwrap_or(cluster)
}

impl std::fmt::Display for LookupKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ConfigMap(namespace, name) => write!(f, "configmaps \"{name}\" in {namespace}"),
            Self::Path(path) => f.write_str(path),
            Self::Entry(name) => write!(f, "globalcontextentries.kyverno.io \"{name}\""),
            Self::Global(name) => write!(f, "data of globalcontextentries.kyverno.io \"{name}\""),
        }
    }
}

fn lookup_error(error: ClusterError) -> LookupError {
    match error {
        error if error.is_not_found() => LookupError::NotFound,
        ClusterError::Refused { message, .. } => LookupError::Unanswerable(message),
        error => LookupError::Unanswerable(error.to_string()),
    }
}

fn labels_of(namespace: &Value) -> Value {
    namespace.path(&["metadata", "labels"]).cloned().unwrap_or_else(Value::empty_object)
}

/// The labels of all namespaces; `None` if not all of them can be listed: then each is read alone.
fn all_labels(cluster: &dyn Cluster) -> Option<BTreeMap<Text, Value>> {
    let mut all = BTreeMap::new();
    for page in ListQuery::all(ApiResource::namespaces(), NAMESPACE_PAGE_SIZE).pages(cluster) {
        for object in page.ok()?.objects {
            let name = object.path(&["metadata", "name"]).and_then(Value::as_text);
            all.extend(name.map(|name| (name.clone(), labels_of(&object))));
        }
    }
    Some(all)
}

/// Refuses paths that lead beyond what the API server stores: into a container, or through the server's proxy.
fn check_path(path: &str) -> Result<(), LookupError> {
    const PROXYING: [&str; 4] = ["attach", "exec", "portforward", "proxy"];
    let bare = path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = bare.split('/').filter(|segment| !segment.is_empty()).collect();
    let refuse = |message: &str| Err(LookupError::Unanswerable(message.to_owned()));
    if !path.starts_with('/') {
        return refuse("the path of a call to the API server starts with a slash");
    }
    if path.chars().any(|c| c.is_whitespace() || c.is_control() || c == '#')
        || segments.iter().any(|segment| matches!(*segment, "." | ".."))
    {
        return refuse("this is no path of the API server");
    }
    // …/pods/NAME/exec, and not a Pod of this name.
    let from = if segments.contains(&"namespaces") { 6 } else { 4 };
    if segments.iter().skip(from).any(|segment| PROXYING.contains(segment) || segment.contains('%')) {
        return refuse("calls through the API server to something else are never sent");
    }
    Ok(())
}

impl<W: World> World for ClusterWorld<W> {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        self.inner.random(key, call)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        if let Some(labels) = self.inner.namespace_labels(namespace) {
            return Some(labels);
        }
        let cluster =
            self.cluster.as_deref().filter(|_| self.uses_namespace_labels && !namespace.is_empty())?;
        self.namespaces.get(namespace.into(), || self.labels(cluster, namespace))
    }

    fn resource(&self, kind: &GroupVersionKind) -> KindResource<'_> {
        // Discovery ran before the first object, and its failure was reported then.
        let served = self.cluster.as_ref().and_then(|cluster| cluster.resources().ok());
        let resource = served.and_then(|served| served.of_kind(kind).map(KindResource::from));
        resource.unwrap_or_else(|| self.inner.resource(kind))
    }

    fn kinds(&self, rule: &ResourceRule) -> Vec<GroupVersionKind> {
        let served = self.cluster.as_ref().and_then(|cluster| cluster.resources().ok());
        served.map_or_else(|| self.inner.kinds(rule), |served| kinds_of(&served, rule))
    }

    fn targets(&self, lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        let TargetLookup { selector, tainted } = *lookup;
        let inner = self.inner.targets(lookup);
        let (Some(cluster), Err(LookupError::NotGiven)) = (self.cluster.as_deref(), &inner) else {
            return inner;
        };
        let find = || {
            targets::find(for_lookup(cluster, tainted), selector, self.max_targets, &|error| {
                self.note_failed(format!("targets {selector}"), &selector.texts(), error, tainted);
            })
        };
        if tainted.is_some() {
            return find();
        }
        let labels = selector.labels.as_ref().map(Value::to_json).unwrap_or_default();
        let key = (selector.kind.text.clone(), selector.namespace.clone(), selector.name.clone(), labels);
        self.targets.get(key, find)
    }

    fn refusal(&self, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        self.rights.as_ref()?.refusal(self.cluster.as_deref()?, access)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let inner = self.inner.lookup(lookup);
        let Some(cluster) = self.cluster.as_deref() else { return inner };
        let tainted = lookup.tainted;
        match (&inner, lookup.source) {
            (
                Err(LookupError::NotGiven | LookupError::NotFound),
                LookupSource::ConfigMap { namespace, name },
            ) => {
                let key = LookupKey::ConfigMap(namespace.into(), name.into());
                self.look_up(cluster, key, tainted, |cluster, failed| {
                    cluster.get(ApiResource::config_maps(), Some(namespace), name).map_err(failed)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::Api(path)) => {
                check_path(path)?;
                self.look_up(cluster, LookupKey::Path(path.into()), tainted, |cluster, failed| {
                    cluster.get_path(path).map_err(failed)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::GlobalEntry(name)) => {
                self.look_up(cluster, LookupKey::Entry(name.into()), tainted, |cluster, failed| {
                    globals::spec(cluster, name).map_err(failed)?.ok_or(LookupError::NotGiven)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::Global(name)) => {
                self.look_up(cluster, LookupKey::Global(name.into()), tainted, |cluster, failed| {
                    self.global(cluster, name, failed)
                })
            }
            _ => inner,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use crate::engine::EmptyWorld;
    use crate::resources::Resources;
    use crate::source::cluster::{ClusterResult, Page};

    use super::*;

    #[derive(Debug, Default)]
    struct CountingCluster(AtomicUsize);

    impl Cluster for CountingCluster {
        fn resources(&self) -> ClusterResult<Arc<Resources>> {
            Ok(Arc::default())
        }

        fn list(&self, _: &ListQuery<'_>) -> ClusterResult<Page> {
            Ok(Page::default())
        }

        fn get(&self, _: &ApiResource, _: Option<&str>, name: &str) -> ClusterResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            match name {
                "bare" => Ok(Value::from_json(r#"{"metadata":{"name":"bare"}}"#).unwrap()),
                "web" => Ok(Value::from_json(r#"{"metadata":{"labels":{"tier":"front"}}}"#).unwrap()),
                _ => Err(ClusterError::Refused { reason: "Forbidden".into(), message: "no".into() }),
            }
        }

        fn get_path(&self, path: &str) -> ClusterResult {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Value::from(path))
        }

        fn default_namespace(&self) -> &'static str {
            "default"
        }
    }

    #[test]
    fn a_namespace_is_read_once_by_all_threads() {
        let cluster = Arc::new(CountingCluster::default());
        let world = ClusterWorld::new(EmptyWorld, Some(cluster.clone()), true);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let labels = world.namespace_labels("web").unwrap();
                    assert_eq!(labels.to_json(), r#"{"tier":"front"}"#);
                });
            }
        });
        assert_eq!(cluster.0.load(Ordering::Relaxed), 1);
        assert_eq!(world.namespace_labels("bare"), Some(Value::empty_object()));
    }

    #[test]
    fn a_refusal_is_cached_and_reported_once() {
        let world = ClusterWorld::new(EmptyWorld, Some(Arc::new(CountingCluster::default())), true);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.take_failed_lookups().len(), 1);
        assert!(world.take_failed_lookups().is_empty());
    }

    #[test]
    fn labels_that_no_policy_uses_are_not_read() {
        let cluster = Arc::new(CountingCluster::default());
        let world = ClusterWorld::new(EmptyWorld, Some(cluster.clone()), false);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(cluster.0.load(Ordering::Relaxed), 0);
        assert!(world.take_failed_lookups().is_empty());
    }

    #[test]
    fn equal_calls_are_sent_once() {
        let cluster = Arc::new(CountingCluster::default());
        let world = ClusterWorld::new(EmptyWorld, Some(cluster.clone()), false);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| world.lookup(&LookupSource::Api("/api/v1/nodes").into()).unwrap());
            }
        });
        assert_eq!(cluster.0.load(Ordering::Relaxed), 1);
        world.lookup(&LookupSource::Api("/api/v1/nodes?limit=1").into()).unwrap();
        world.lookup(&LookupSource::ConfigMap { namespace: "x", name: "web" }.into()).unwrap();
        assert_eq!(cluster.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn calls_beyond_stored_objects_are_refused() {
        for path in
            ["/api/v1/namespaces/x/pods/proxy", "/api/v1/nodes/exec", "/apis/a.b/v1/proxy", "/version"]
        {
            assert!(check_path(path).is_ok(), "{path}");
        }
        for path in [
            "api/v1/pods",
            "https://example.com/x",
            "/api/v1/namespaces/x/pods/p/exec?command=sh",
            "/api/v1/namespaces/x/services/s/proxy/admin",
            "/api/v1/namespaces/x/pods/p/%65xec",
            "/api/v1/nodes/n/proxy/run",
            "/api/v1/../v2",
            "/api/v1/pods HTTP/1.1",
        ] {
            assert!(check_path(path).is_err(), "{path}");
        }
    }
}
