//! What a cluster knows, as the engine asks for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::engine::{
    Lookup, LookupError, LookupSource, TargetAccess, TargetLookup, TargetRefusal, World,
};
use crate::resources::{ApiResource, KindScope};
use crate::secrets::Secrets;
use crate::value::{GroupVersionKind, Text, Value};

use super::answers::Answers;
use super::globals::Globals;
use super::missed::Misses;
use super::{Cluster, ClusterError, ListQuery, Missed, Rights, globals, targets};

/// The labels of one namespace, asked for by the first thread that wants them.
type Labels = Arc<OnceLock<Option<Value>>>;

/// The objects that a target stands for, asked for by the first thread that wants them.
type Found = Arc<OnceLock<Result<Vec<Value>, LookupError>>>;

/// A target with its variables replaced: kind, namespace, name and labels as they are written.
type TargetKey = (Text, Text, Text, String);

/// A world on top of a cluster, if there is one: it answers what the given world does not know.
pub struct ClusterWorld<W> {
    given: W,
    cluster: Option<Arc<dyn Cluster>>,
    /// Whether some policy looks at the labels of namespaces; if none does, nobody asks for them.
    labels_wanted: bool,
    namespaces: Mutex<BTreeMap<Text, Labels>>,
    /// The labels of all namespaces in one list, where objects of all of them are evaluated; `None` if they may not be
    /// listed.
    listed: Option<OnceLock<Option<BTreeMap<Text, Value>>>>,
    /// The answers so far. One that may be recorded is kept apart from one that may not.
    answers: Answers<(Question, bool), Result<Value, LookupError>>,
    targets: Mutex<BTreeMap<TargetKey, Found>>,
    /// So many objects may be one target.
    most_targets: usize,
    /// Whose right to change targets is asked for, if anybody's.
    rights: Option<Rights>,
    /// Whether values of Secrets may be shown.
    shows_secrets: bool,
    misses: Misses,
}

/// So many namespaces are read at once.
const NAMESPACES: u32 = 500;

/// So many bytes of answers, as JSON, are kept for whoever asks again, and once more that.
const KEPT: usize = 1 << 20;

/// What a context entry asks a cluster for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Question {
    /// The namespace and name of a `ConfigMap`.
    ConfigMap(Text, Text),
    /// A path of the API server.
    Path(Text),
    /// What a global context entry says of itself, by its name.
    Entry(Text),
    /// The data of a global context entry.
    Global(Text),
}

impl<W> std::fmt::Debug for ClusterWorld<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").field("misses", &self.misses).finish_non_exhaustive()
    }
}

impl<W: World> ClusterWorld<W> {
    /// A world that asks `given` first.
    pub fn new(given: W, cluster: Option<Arc<dyn Cluster>>, labels_wanted: bool) -> Self {
        Self {
            given,
            cluster,
            labels_wanted,
            namespaces: Mutex::new(BTreeMap::new()),
            listed: None,
            answers: Answers::new(KEPT),
            targets: Mutex::new(BTreeMap::new()),
            most_targets: usize::MAX,
            rights: None,
            shows_secrets: false,
            misses: Misses::default(),
        }
    }

    /// Lets values of Secrets be shown that are asked with.
    #[must_use]
    pub fn with_secrets_shown(self, shows_secrets: bool) -> Self {
        Self { shows_secrets, ..self }
    }

    /// Reads the labels of all namespaces at once, as soon as those of one are asked for.
    #[must_use]
    pub fn with_all_namespaces(self, all: bool) -> Self {
        Self { listed: all.then(OnceLock::new), ..self }
    }

    /// Lets a target be so many objects at most.
    #[must_use]
    pub fn with_most_targets(self, most_targets: usize) -> Self {
        Self { most_targets, ..self }
    }

    /// Asks for somebody's rights before targets are changed.
    #[must_use]
    pub fn with_rights(self, rights: Option<Rights>) -> Self {
        Self { rights, ..self }
    }

    /// What the cluster did not answer so far: an evaluation that asked for it failed, or went on without.
    pub fn take_missed(&self) -> Vec<Missed> {
        let mut missed = self.misses.take();
        missed.extend(self.rights.iter().flat_map(Rights::take_missed));
        missed
    }

    /// Whether somebody's rights were asked for.
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
            // A manifest may live in a namespace that is made together with it.
            Err(error) if error.is_not_found() => None,
            Err(why) => {
                let what = format!("namespaces \"{namespace}\"");
                self.misses.note(Missed { what, why, is_told: false });
                None
            }
        }
    }

    /// Asks the cluster once, however many threads need the answer.
    fn answer(
        &self,
        cluster: &dyn Cluster,
        question: Question,
        tainted: Option<&Secrets>,
        ask: impl FnOnce(&dyn Cluster, &dyn Fn(ClusterError) -> LookupError) -> Result<Value, LookupError>,
    ) -> Result<Value, LookupError> {
        let failed = |error: ClusterError| {
            self.note_missed(question.to_string(), &question.texts(), &error, tainted);
            lookup_error(error)
        };
        let key = (question.clone(), tainted.is_some());
        let ask = || ask(for_lookup(cluster, tainted), &failed);
        // An error takes memory, too.
        self.answers.get(&key, ask, |answer| 100 + answer.as_ref().map_or(0, Value::weight))
    }

    /// Notes a lookup that the cluster did not answer, with the secrets masked that it was made of.
    fn note_missed(&self, what: String, texts: &[&str], why: &ClusterError, tainted: Option<&Secrets>) {
        match tainted {
            // The engine reports a rule that cannot be replayed.
            Some(_) if matches!(why, ClusterError::NotRecorded(_)) => {}
            Some(secrets) if !self.shows_secrets => {
                let hide = |text: &str| secrets.hide_in(text, texts);
                self.misses.note_told(|| hide(&what), &why.clone().with_words(hide));
            }
            _ => self.misses.note_told(|| what, why),
        }
    }

    /// The data of a global context entry, which may be one of the cluster or one that was given.
    fn global(
        &self,
        cluster: &dyn Cluster,
        name: &str,
        failed: &dyn Fn(ClusterError) -> LookupError,
    ) -> Result<Value, LookupError> {
        let spec = self.lookup(&LookupSource::GlobalEntry(name).into())?;
        let source = Globals { cluster, most: self.most_targets, unanswered: failed };
        source.data(&spec, |path| self.lookup(&LookupSource::Api(path).into()))
    }
}

impl Question {
    /// The texts that a rule may have made of secrets.
    fn texts(&self) -> Vec<&str> {
        match self {
            Self::ConfigMap(namespace, name) => vec![namespace, name],
            Self::Path(path) => vec![path],
            Self::Entry(_) | Self::Global(_) => Vec::new(),
        }
    }
}

/// The cluster that answers a lookup.
fn for_lookup<'c>(cluster: &'c dyn Cluster, tainted: Option<&Secrets>) -> &'c dyn Cluster {
    tainted.and_then(|_| cluster.unrecorded()).unwrap_or(cluster)
}

impl std::fmt::Display for Question {
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

/// The labels of all namespaces; `None` if not all of them can be listed: then each is asked for.
fn all_labels(cluster: &dyn Cluster) -> Option<BTreeMap<Text, Value>> {
    let resource = ApiResource::namespaces();
    let mut all = BTreeMap::new();
    let mut after = None;
    loop {
        let query = ListQuery {
            resource,
            namespace: None,
            labels: None,
            fields: None,
            limit: NAMESPACES,
            after: after.as_deref(),
        };
        let page = cluster.list(&query).ok()?;
        for object in &page.objects {
            let name = object.path(&["metadata", "name"]).and_then(Value::as_text);
            all.extend(name.map(|name| (name.clone(), labels_of(object))));
        }
        if page.next.is_none() || page.next == after {
            return Some(all);
        }
        after = page.next;
    }
}

/// Refuses paths that lead further than to what the API server stores: to the inside of a container, or
/// through the server to whatever else listens.
fn check_path(path: &str) -> Result<(), LookupError> {
    const LEADING_ON: [&str; 4] = ["attach", "exec", "portforward", "proxy"];
    let bare = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = bare.split('/').filter(|part| !part.is_empty()).collect();
    let fault = |text: &str| Err(LookupError::Unanswerable(text.to_owned()));
    if !path.starts_with('/') {
        return fault("the path of a call to the API server starts with a slash");
    }
    if path.chars().any(|c| c.is_whitespace() || c.is_control() || c == '#')
        || parts.iter().any(|part| matches!(*part, "." | ".."))
    {
        return fault("this is no path of the API server");
    }
    // …/pods/NAME/exec, and not a Pod that is called so.
    let from = if parts.contains(&"namespaces") { 6 } else { 4 };
    if parts.iter().skip(from).any(|part| LEADING_ON.contains(part) || part.contains('%')) {
        return fault("calls through the API server to something else are never sent");
    }
    Ok(())
}

impl<W: World> World for ClusterWorld<W> {
    fn now(&self) -> Timestamp {
        self.given.now()
    }

    fn random(&self, key: &str, call: u64) -> u64 {
        self.given.random(key, call)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        if let Some(labels) = self.given.namespace_labels(namespace) {
            return Some(labels);
        }
        let cluster = self.cluster.as_deref().filter(|_| self.labels_wanted && !namespace.is_empty())?;
        let labels = {
            let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(namespace.into()).or_default())
        };
        labels.get_or_init(|| self.labels(cluster, namespace)).clone()
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        // The kinds were read before the first object; a failure was told then.
        let served = self.cluster.as_ref().and_then(|cluster| cluster.resources().ok());
        match served.map_or(KindScope::Unknown, |served| served.scope(kind)) {
            KindScope::Unknown => self.given.scope(kind),
            scope => scope,
        }
    }

    fn targets(&self, lookup: &TargetLookup<'_>) -> Result<Vec<Value>, LookupError> {
        let TargetLookup { selector, tainted } = *lookup;
        let given = self.given.targets(lookup);
        let (Some(cluster), Err(LookupError::NotGiven)) = (self.cluster.as_deref(), &given) else {
            return given;
        };
        let find = || {
            targets::find(for_lookup(cluster, tainted), selector, self.most_targets, &|error| {
                self.note_missed(format!("targets {selector}"), &selector.texts(), error, tainted);
            })
        };
        if tainted.is_some() {
            return find();
        }
        let labels = selector.labels.as_ref().map(Value::to_json).unwrap_or_default();
        let key = (selector.kind.text.clone(), selector.namespace.clone(), selector.name.clone(), labels);
        let found = {
            let mut known = self.targets.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(key).or_default())
        };
        found.get_or_init(find).clone()
    }

    fn refusal(&self, access: &TargetAccess<'_>) -> Option<TargetRefusal> {
        self.rights.as_ref()?.refusal(self.cluster.as_deref()?, access)
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        let given = self.given.lookup(lookup);
        let Some(cluster) = self.cluster.as_deref() else { return given };
        let tainted = lookup.tainted;
        match (&given, lookup.source) {
            (
                Err(LookupError::NotGiven | LookupError::NotFound),
                LookupSource::ConfigMap { namespace, name },
            ) => {
                let question = Question::ConfigMap(namespace.into(), name.into());
                self.answer(cluster, question, tainted, |cluster, failed| {
                    cluster.get(ApiResource::config_maps(), Some(namespace), name).map_err(failed)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::Api(path)) => {
                check_path(path)?;
                self.answer(cluster, Question::Path(path.into()), tainted, |cluster, failed| {
                    cluster.ask(path).map_err(failed)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::GlobalEntry(name)) => {
                self.answer(cluster, Question::Entry(name.into()), tainted, |cluster, failed| {
                    globals::spec(cluster, name).map_err(failed)?.ok_or(LookupError::NotGiven)
                })
            }
            (Err(LookupError::NotGiven), LookupSource::Global(name)) => {
                self.answer(cluster, Question::Global(name.into()), tainted, |cluster, failed| {
                    self.global(cluster, name, failed)
                })
            }
            _ => given,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use crate::engine::EmptyWorld;
    use crate::resources::Resources;
    use crate::source::cluster::Page;

    use super::*;

    #[derive(Debug, Default)]
    struct Counted(AtomicUsize);

    impl Cluster for Counted {
        fn resources(&self) -> Result<Arc<Resources>, ClusterError> {
            Ok(Arc::default())
        }

        fn list(&self, _: &ListQuery<'_>) -> Result<Page, ClusterError> {
            Ok(Page::default())
        }

        fn get(&self, _: &ApiResource, _: Option<&str>, name: &str) -> Result<Value, ClusterError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match name {
                "bare" => Ok(Value::from_json(r#"{"metadata":{"name":"bare"}}"#).unwrap()),
                "web" => Ok(Value::from_json(r#"{"metadata":{"labels":{"tier":"front"}}}"#).unwrap()),
                _ => Err(ClusterError::Refused { reason: "Forbidden".into(), message: "no".into() }),
            }
        }

        fn ask(&self, path: &str) -> Result<Value, ClusterError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(Value::from(path))
        }

        fn default_namespace(&self) -> &'static str {
            "default"
        }
    }

    #[test]
    fn a_namespace_is_asked_for_once_by_all_threads() {
        let cluster = Arc::new(Counted::default());
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
    fn a_refusal_is_kept_and_told_once() {
        let world = ClusterWorld::new(EmptyWorld, Some(Arc::new(Counted::default())), true);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.take_missed().len(), 1);
        assert!(world.take_missed().is_empty());
    }

    #[test]
    fn nobody_asks_for_labels_that_no_policy_looks_at() {
        let cluster = Arc::new(Counted::default());
        let world = ClusterWorld::new(EmptyWorld, Some(cluster.clone()), false);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(cluster.0.load(Ordering::Relaxed), 0);
        assert!(world.take_missed().is_empty());
    }

    #[test]
    fn equal_calls_are_made_once() {
        let cluster = Arc::new(Counted::default());
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
    fn calls_lead_to_what_the_server_stores_and_no_further() {
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
