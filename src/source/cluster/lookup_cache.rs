//! A cache of the results of lookups.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::once_map::lock;

/// The result of one lookup, sent by the first thread that needs it.
type Cell<V> = Arc<OnceLock<V>>;

/// Results of lookups, each of which is sent once, however many threads need it. When the cache is full it forgets those
/// that were not used recently.
///
/// There are two generations: when the young one is full it replaces the old one; a result that is used moves from the
/// old one to the young one.
#[derive(Debug)]
pub(super) struct LookupCache<K, V> {
    /// The most bytes of a generation; a single result may be larger.
    capacity: usize,
    known: Mutex<Known<K, V>>,
}

#[derive(Debug)]
struct Known<K, V> {
    young: BTreeMap<K, Cell<V>>,
    /// The bytes of the young generation.
    size: usize,
    old: BTreeMap<K, Cell<V>>,
}

impl<K: Clone + Ord, V: Clone> LookupCache<K, V> {
    /// An empty cache. The capacity is that of each of its two generations.
    pub(super) const fn new(capacity: usize) -> Self {
        let known = Known { young: BTreeMap::new(), size: 0, old: BTreeMap::new() };
        Self { capacity, known: Mutex::new(known) }
    }

    /// The result of a lookup, which `send` sends if it is not cached. `size` is the memory that a result takes.
    pub(super) fn get(&self, key: &K, send: impl FnOnce() -> V, size: impl Fn(&V) -> usize) -> V {
        let (cell, is_young) = {
            let mut known = lock(&self.known);
            let young = known.young.get(key).map(Arc::clone);
            let is_young = young.is_some();
            let cell = young.or_else(|| known.old.remove(key)).unwrap_or_default();
            if !is_young {
                known.young.insert(key.clone(), Arc::clone(&cell));
            }
            (cell, is_young)
        };
        let result = cell.get_or_init(send).clone();
        if !is_young {
            let mut known = lock(&self.known);
            known.size += size(&result);
            if known.size > self.capacity {
                known.old = std::mem::take(&mut known.young);
                known.size = 0;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn results_that_are_used_often_are_kept() {
        let cache = LookupCache::new(100);
        let sent = RefCell::new(Vec::new());
        let get = |number: usize| {
            let send = || {
                sent.borrow_mut().push(number);
                number
            };
            assert_eq!(cache.get(&number, send, |_| 10), number);
        };
        for number in 1..1000 {
            get(number);
            get(0);
        }
        assert_eq!(sent.borrow().iter().filter(|number| **number == 0).count(), 1);
        assert_eq!(sent.borrow().len(), 1000);
        let known = cache.known.lock().unwrap();
        assert!(known.young.len() + known.old.len() <= 22, "{known:?}");
        drop(known);
        get(1);
        assert_eq!(sent.borrow().len(), 1001);
    }

    #[test]
    fn a_result_above_the_capacity_is_kept_while_it_is_used() {
        let cache = LookupCache::new(100);
        let sent = RefCell::new(0);
        for _ in 0..10 {
            let send = || *sent.borrow_mut() += 1;
            cache.get(&"large", send, |()| 1000);
        }
        assert_eq!(*sent.borrow(), 1);
    }
}
