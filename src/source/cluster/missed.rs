//! Look-ups that a cluster did not answer.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::ClusterError;

/// So many are kept.
const MOST: usize = 1000;

/// A look-up that the cluster did not answer though there may be an answer: who was told to go on without it does
/// not know the whole truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Missed {
    /// What was asked for: a kind with a name, or a path.
    pub what: String,
    /// Why there is no answer.
    pub why: ClusterError,
    /// Whether a rule failed for it, and tells of it.
    pub is_told: bool,
}

/// Look-ups without an answer, each once. Of too many those are kept that come first by their names, so that it does
/// not matter in which order threads come.
#[derive(Debug, Default)]
pub(super) struct Misses(Mutex<BTreeMap<String, Missed>>);

impl Misses {
    /// Remembers a look-up.
    pub(super) fn note(&self, missed: Missed) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(missed.what.clone()).or_insert(missed);
        if known.len() > MOST {
            known.pop_last();
        }
    }

    /// Remembers a look-up that a rule failed for, unless it failed for what the cluster holds.
    pub(super) fn note_told(&self, what: impl FnOnce() -> String, why: &ClusterError) {
        if why.withholds() {
            let is_told = !why.is_of_the_recording();
            self.note(Missed { what: what(), why: why.clone(), is_told });
        }
    }

    /// All of them, which are forgotten.
    pub(super) fn take(&self) -> Vec<Missed> {
        let known = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        known.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_first_by_name_are_kept() {
        let misses = Misses::default();
        for number in (0..2 * MOST).rev().chain(0..10) {
            let what = format!("{number:04}");
            misses.note(Missed { what, why: ClusterError::Interrupted, is_told: false });
        }
        let taken = misses.take();
        assert_eq!((taken.len(), &*taken[0].what, &*taken[MOST - 1].what), (MOST, "0000", "0999"));
        assert!(misses.take().is_empty());
    }

    #[test]
    fn what_is_not_there_is_not_withheld() {
        let misses = Misses::default();
        for (reason, is_missed) in [("NotFound", false), ("BadRequest", false), ("Forbidden", true)] {
            let why = ClusterError::Refused { reason: reason.into(), message: "x".into() };
            misses.note_told(|| "a".into(), &why);
            assert_eq!(misses.take().len(), usize::from(is_missed), "{reason}");
        }
    }
}
