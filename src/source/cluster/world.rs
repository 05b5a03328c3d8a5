//! What a cluster knows, as the engine asks for it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use jiff::Timestamp;

use crate::engine::{KindScope, Lookup, LookupError, World};
use crate::policy::TargetSelector;
use crate::value::{GroupVersionKind, Text, Value};

use super::{Cluster, ClusterError, Resource};

/// The labels of one namespace, asked for by the first thread that wants them.
type Labels = Arc<OnceLock<Option<Value>>>;

/// A world on top of a cluster: it answers what the given world does not know.
pub struct ClusterWorld<W> {
    given: W,
    cluster: Arc<dyn Cluster>,
    /// Whether some policy looks at the labels of namespaces; if none does, nobody asks for them.
    labels_wanted: bool,
    namespaces: Mutex<BTreeMap<Text, Labels>>,
    faults: Mutex<Vec<ClusterError>>,
}

impl<W> std::fmt::Debug for ClusterWorld<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterWorld").field("faults", &self.faults).finish_non_exhaustive()
    }
}

impl<W: World> ClusterWorld<W> {
    /// A world that asks `given` first.
    pub const fn new(given: W, cluster: Arc<dyn Cluster>, labels_wanted: bool) -> Self {
        Self {
            given,
            cluster,
            labels_wanted,
            namespaces: Mutex::new(BTreeMap::new()),
            faults: Mutex::new(Vec::new()),
        }
    }

    /// What the cluster refused so far: an evaluation that asked for it went on without.
    pub fn take_faults(&self) -> Vec<ClusterError> {
        std::mem::take(&mut *self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ask(&self, namespace: &str) -> Option<Value> {
        match self.cluster.get(&Resource::namespaces(), None, namespace) {
            Ok(object) => {
                Some(object.path(&["metadata", "labels"]).cloned().unwrap_or_else(Value::empty_object))
            }
            Err(error) => {
                self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(error);
                None
            }
        }
    }
}

impl<W: World> World for ClusterWorld<W> {
    fn now(&self) -> Timestamp {
        self.given.now()
    }

    fn chance(&self, key: &str, call: u64) -> u64 {
        self.given.chance(key, call)
    }

    fn namespace_labels(&self, namespace: &str) -> Option<Value> {
        if let Some(labels) = self.given.namespace_labels(namespace) {
            return Some(labels);
        }
        if !self.labels_wanted || namespace.is_empty() {
            return None;
        }
        let labels = {
            let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry(namespace.into()).or_default())
        };
        labels.get_or_init(|| self.ask(namespace)).clone()
    }

    fn scope(&self, kind: &GroupVersionKind) -> KindScope {
        // The kinds were read before the first object; a failure was told then.
        match self.cluster.resources().map(|served| served.scope(kind)) {
            Ok(KindScope::Unknown) | Err(_) => self.given.scope(kind),
            Ok(scope) => scope,
        }
    }

    fn targets(&self, selector: &TargetSelector) -> Result<Vec<Value>, LookupError> {
        match self.given.targets(selector) {
            Err(LookupError::NotGiven) => Err(LookupError::Unanswerable(format!(
                "the target {selector} is not read from the cluster by this version: `--targets FILE` gives objects"
            ))),
            answer => answer,
        }
    }

    fn lookup(&self, lookup: &Lookup<'_>) -> Result<Value, LookupError> {
        self.given.lookup(lookup)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use crate::engine::EmptyWorld;
    use crate::source::cluster::{ListQuery, Page, Resources};

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

        fn get(&self, _: &Resource, _: Option<&str>, name: &str) -> Result<Value, ClusterError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match name {
                "bare" => Ok(Value::from_json(r#"{"metadata":{"name":"bare"}}"#).unwrap()),
                "web" => Ok(Value::from_json(r#"{"metadata":{"labels":{"tier":"front"}}}"#).unwrap()),
                _ => Err(ClusterError::Refused { reason: "Forbidden".into(), message: "no".into() }),
            }
        }

        fn default_namespace(&self) -> &'static str {
            "default"
        }
    }

    #[test]
    fn a_namespace_is_asked_for_once_by_all_threads() {
        let cluster = Arc::new(Counted::default());
        let world = ClusterWorld::new(EmptyWorld, cluster.clone(), true);
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
        let world = ClusterWorld::new(EmptyWorld, Arc::new(Counted::default()), true);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(world.take_faults().len(), 1);
        assert!(world.take_faults().is_empty());
    }

    #[test]
    fn nobody_asks_for_labels_that_no_policy_looks_at() {
        let cluster = Arc::new(Counted::default());
        let world = ClusterWorld::new(EmptyWorld, cluster.clone(), false);
        assert_eq!(world.namespace_labels("hidden"), None);
        assert_eq!(cluster.0.load(Ordering::Relaxed), 0);
        assert!(world.take_faults().is_empty());
    }
}
