//! Values that are computed once, by the first of many threads that needs them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// One value for each key.
#[derive(Debug)]
pub(super) struct OnceMap<K, V>(Mutex<BTreeMap<K, Arc<OnceLock<V>>>>);

impl<K, V> Default for OnceMap<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Ord, V: Clone> OnceMap<K, V> {
    /// The value of a key, computed by the first caller.
    pub(super) fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        let cell = Arc::clone(lock(&self.0).entry(key).or_default());
        cell.get_or_init(compute).clone()
    }

    /// Whether no value was needed so far.
    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// The keys whose value is computed and fulfils a condition.
    pub(super) fn keys_where(&self, condition: impl Fn(&V) -> bool) -> Vec<K> {
        let known = lock(&self.0);
        let found = known.iter().filter(|(_, cell)| cell.get().is_some_and(&condition));
        found.map(|(key, _)| key.clone()).collect()
    }
}

/// Locks a mutex, also after a thread panicked that had it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
