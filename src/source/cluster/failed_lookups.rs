//! Failed lookups.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::ClusterError;
use super::once_map::lock;

/// The most that are kept.
const MAX_KEPT: usize = 1000;

/// A failed lookup, without which the evaluation went on.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedLookup {
    /// What was looked up: a kind with a name, or a path.
    pub what: String,
    /// Why it failed.
    pub why: ClusterError,
    /// Whether a rule failed because of it, and its error says so.
    pub is_reported: bool,
}

/// Failed lookups, each once. Of too many the first by name are kept, so that the order of threads does not matter.
#[derive(Debug, Default)]
pub(super) struct FailedLookups(Mutex<BTreeMap<String, FailedLookup>>);

impl FailedLookups {
    /// Adds a lookup.
    pub(super) fn note(&self, missed: FailedLookup) {
        let mut known = lock(&self.0);
        known.entry(missed.what.clone()).or_insert(missed);
        if known.len() > MAX_KEPT {
            known.pop_last();
        }
    }

    /// Adds a lookup that a rule failed because of, unless the server says that the request is wrong.
    pub(super) fn note_reported(&self, what: impl FnOnce() -> String, why: &ClusterError) {
        if why.withholds() {
            let is_reported = !why.is_of_the_recording();
            self.note(FailedLookup { what: what(), why: why.clone(), is_reported });
        }
    }

    /// Removes and returns all of them.
    pub(super) fn take(&self) -> Vec<FailedLookup> {
        let known = std::mem::take(&mut *lock(&self.0));
        known.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_first_by_name_are_kept() {
        let failed_lookups = FailedLookups::default();
        for number in (0..2 * MAX_KEPT).rev().chain(0..10) {
            let what = format!("{number:04}");
            failed_lookups.note(FailedLookup { what, why: ClusterError::Interrupted, is_reported: false });
        }
        let taken = failed_lookups.take();
        assert_eq!((taken.len(), &*taken[0].what, &*taken[MAX_KEPT - 1].what), (MAX_KEPT, "0000", "0999"));
        assert!(failed_lookups.take().is_empty());
    }

    #[test]
    fn only_withheld_answers_are_kept() {
        let failed_lookups = FailedLookups::default();
        for (reason, is_missed) in [("NotFound", false), ("BadRequest", false), ("Forbidden", true)] {
            let why = ClusterError::Refused { reason: reason.into(), message: "x".into() };
            failed_lookups.note_reported(|| "a".into(), &why);
            assert_eq!(failed_lookups.take().len(), usize::from(is_missed), "{reason}");
        }
    }
}
