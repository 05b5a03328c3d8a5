//! A cache of the answers to lookups.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The answer to one lookup, sent by the first thread that needs it.
type Cell<A> = Arc<OnceLock<A>>;

/// Answers to lookups, each sent once by however many threads. Of more than fit into memory the least recently used are
/// dropped, and sent again when they are needed.
///
/// There are two generations: when the young one is full it replaces the old one; an answer that is used moves from the
/// old one to the young one.
#[derive(Debug)]
pub(super) struct LookupCache<Q, A> {
    /// The most that one generation weighs; a single answer may weigh more.
    room: usize,
    known: Mutex<Known<Q, A>>,
}

#[derive(Debug)]
struct Known<Q, A> {
    young: BTreeMap<Q, Cell<A>>,
    /// The weight of the young generation.
    taken: usize,
    old: BTreeMap<Q, Cell<A>>,
}

impl<Q: Clone + Ord, A: Clone> LookupCache<Q, A> {
    /// An empty cache; each of its two generations weighs as much at most.
    pub(super) const fn new(room: usize) -> Self {
        let known = Known { young: BTreeMap::new(), taken: 0, old: BTreeMap::new() };
        Self { room, known: Mutex::new(known) }
    }

    /// The answer to a lookup, which `ask` sends if it is not cached. `weigh` is the memory that it takes.
    pub(super) fn get(&self, question: &Q, ask: impl FnOnce() -> A, weigh: impl Fn(&A) -> usize) -> A {
        let (cell, is_young) = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let young = known.young.get(question).map(Arc::clone);
            let is_young = young.is_some();
            let cell = young.or_else(|| known.old.remove(question)).unwrap_or_default();
            if !is_young {
                known.young.insert(question.clone(), Arc::clone(&cell));
            }
            (cell, is_young)
        };
        let answer = cell.get_or_init(ask).clone();
        if !is_young {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.taken += weigh(&answer);
            if known.taken > self.room {
                known.old = std::mem::take(&mut known.young);
                known.taken = 0;
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn what_is_wanted_again_and_again_is_kept_and_the_rest_is_not() {
        let answers = LookupCache::new(100);
        let asked = RefCell::new(Vec::new());
        let get = |number: usize| {
            let ask = || {
                asked.borrow_mut().push(number);
                number
            };
            assert_eq!(answers.get(&number, ask, |_| 10), number);
        };
        for number in 1..1000 {
            get(number);
            get(0);
        }
        assert_eq!(asked.borrow().iter().filter(|number| **number == 0).count(), 1);
        assert_eq!(asked.borrow().len(), 1000);
        let known = answers.known.lock().unwrap();
        assert!(known.young.len() + known.old.len() <= 22, "{known:?}");
        drop(known);
        get(1);
        assert_eq!(asked.borrow().len(), 1001);
    }

    #[test]
    fn what_is_larger_than_the_room_is_kept_while_it_is_wanted() {
        let answers = LookupCache::new(100);
        let asked = RefCell::new(0);
        for _ in 0..10 {
            let ask = || *asked.borrow_mut() += 1;
            answers.get(&"large", ask, |()| 1000);
        }
        assert_eq!(*asked.borrow(), 1);
    }
}
