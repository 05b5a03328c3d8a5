//! The two semantics, and the table of divergences between them.
//!
//! Kyverno's documentation and its controllers do not always agree. Each such case is a [`Divergence`]. The
//! [`DivergenceTracker`] of an evaluation decides which side applies, and records the divergence for the report.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod table;

use std::cell::Cell;
use std::fmt;

pub use table::Divergence;

/// Which side applies if the documentation and Kyverno 1.19's controllers differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// As documented.
    #[default]
    Documented,
    /// As in Kyverno 1.19's controllers, with their defects.
    Kyverno,
}

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Documented => "documented",
            Self::Kyverno => "kyverno",
        })
    }
}

/// The meaning of the legacy syntax of mutate rules, `overlay` and `patches`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyMode {
    /// As documented for these releases.
    #[default]
    Documented,
    /// As in Kyverno 1.1.0, with its defects.
    Native,
    /// As `patchStrategicMerge` and `patchesJson6902`, like the releases up to 1.5.
    Later,
}

impl LegacyMode {
    /// The modes with their names in `--legacy`.
    pub const ALL: [(&'static str, Self); 3] =
        [("doc", Self::Documented), ("native", Self::Native), ("smp", Self::Later)];
}

/// The semantics of policies, and of their legacy syntax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The semantics.
    pub semantics: Semantics,
    /// The meaning of the legacy syntax.
    pub legacy: LegacyMode,
}

impl From<Semantics> for Dialect {
    fn from(semantics: Semantics) -> Self {
        Self { semantics, legacy: LegacyMode::default() }
    }
}

/// A set of divergences, ordered by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DivergenceSet(u128);

impl DivergenceSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Adds a divergence.
    pub const fn insert(&mut self, divergence: Divergence) {
        self.0 |= 1 << divergence.number();
    }

    /// Removes a divergence.
    pub const fn remove(&mut self, divergence: Divergence) {
        self.0 &= !(1 << divergence.number());
    }

    /// Adds all divergences of another set.
    pub const fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set contains a divergence.
    pub const fn contains(self, divergence: Divergence) -> bool {
        self.0 & (1 << divergence.number()) != 0
    }

    /// The divergences, ordered by their numbers.
    pub fn iter(self) -> impl Iterator<Item = Divergence> {
        Divergence::ALL.iter().copied().filter(move |divergence| self.contains(*divergence))
    }
}

/// The semantics of one evaluation, and the divergences that it reached.
#[derive(Debug, Default)]
pub struct DivergenceTracker {
    semantics: Semantics,
    is_idle: bool,
    reached: Cell<DivergenceSet>,
}

impl DivergenceTracker {
    /// A tracker without divergences.
    pub const fn new(semantics: Semantics) -> Self {
        Self { semantics, is_idle: false, reached: Cell::new(DivergenceSet::NONE) }
    }

    /// A tracker whose divergences nobody asks for: what is evaluated only to find them need not be.
    pub const fn idle(semantics: Semantics) -> Self {
        Self { is_idle: true, ..Self::new(semantics) }
    }

    /// A tracker for a part of the evaluation.
    #[must_use]
    pub const fn for_part(&self) -> Self {
        Self { is_idle: self.is_idle, ..Self::new(self.semantics) }
    }

    /// Whether nobody asks for the divergences.
    pub const fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// The semantics of the evaluation.
    pub const fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Records a divergence, and returns whether the documented side applies.
    ///
    /// Call it only if the results of the two sides differ for the actual data, because the report names the divergence.
    #[must_use]
    pub fn documented(&self, divergence: Divergence) -> bool {
        self.reach(divergence);
        self.semantics == Semantics::Documented
    }

    /// Records a divergence.
    pub fn reach(&self, divergence: Divergence) {
        let mut reached = self.reached.get();
        reached.insert(divergence);
        self.reached.set(reached);
    }

    /// Records divergences.
    pub fn reach_all(&self, divergences: DivergenceSet) {
        let mut reached = self.reached.get();
        reached.extend(divergences);
        self.reached.set(reached);
    }

    /// Runs something, and returns the divergences that it reached, too.
    pub fn during<T>(&self, run: impl FnOnce() -> T) -> (T, DivergenceSet) {
        let before = self.reached.take();
        let result = run();
        let during = self.reached.get();
        self.reach_all(before);
        (result, during)
    }

    /// The recorded divergences.
    pub fn reached(&self) -> DivergenceSet {
        self.reached.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decided_divergence_is_recorded() {
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        assert!(tracker.reached().is_empty());
        assert!(!tracker.documented(Divergence::ReplaceOfMissing));
        assert_eq!(tracker.reached().iter().collect::<Vec<_>>(), [Divergence::ReplaceOfMissing]);
    }

    #[test]
    fn divergences_of_a_part_are_known() {
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        tracker.reach(Divergence::ReplaceOfMissing);
        let ((), during) = tracker.during(|| tracker.reach(Divergence::FailedRule));
        assert_eq!(during.iter().collect::<Vec<_>>(), [Divergence::FailedRule]);
        assert_eq!(tracker.reached().iter().count(), 2);
        let ((), during) = tracker.during(|| tracker.reach(Divergence::FailedRule));
        assert!(!during.is_empty());
    }

    #[test]
    fn numbers_are_unique_and_fit_the_set() {
        let mut seen = DivergenceSet::NONE;
        for divergence in Divergence::ALL {
            assert!(divergence.number() < 128);
            assert!(!seen.contains(*divergence), "{divergence} is repeated");
            seen.insert(*divergence);
        }
    }
}
