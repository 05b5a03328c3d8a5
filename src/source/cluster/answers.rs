//! Answers that are kept for whoever asks the same again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The answer to one question, asked by the first thread that wants it.
type Cell<A> = Arc<OnceLock<A>>;

/// Answers to questions, each asked once by however many threads, as far as there is room: what was not wanted for
/// long is forgotten, and asked anew when it is wanted again.
///
/// Two generations: when the young one is full it becomes the old one, which is forgotten; what is wanted of the old
/// one becomes young again.
#[derive(Debug)]
pub(super) struct Answers<Q, A> {
    /// So much may be one generation; an answer alone may be more.
    room: usize,
    known: Mutex<Known<Q, A>>,
}

#[derive(Debug)]
struct Known<Q, A> {
    young: BTreeMap<Q, Cell<A>>,
    /// How much the young ones take.
    taken: usize,
    old: BTreeMap<Q, Cell<A>>,
}

impl<Q: Clone + Ord, A: Clone> Answers<Q, A> {
    /// No answers, and so much room for them, twice.
    pub(super) const fn new(room: usize) -> Self {
        let known = Known { young: BTreeMap::new(), taken: 0, old: BTreeMap::new() };
        Self { room, known: Mutex::new(known) }
    }

    /// The answer to a question, and how much it takes by `weigh`.
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
        let answers = Answers::new(100);
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
        let answers = Answers::new(100);
        let asked = RefCell::new(0);
        for _ in 0..10 {
            let ask = || *asked.borrow_mut() += 1;
            answers.get(&"large", ask, |()| 1000);
        }
        assert_eq!(*asked.borrow(), 1);
    }
}
