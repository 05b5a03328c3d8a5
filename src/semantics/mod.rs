//! The two readings of a policy and the closed table of where they part.
//!
//! Kyverno's documentation and Kyverno's controllers do not always agree. Every such divergence is one
//! [`Divergence`]; code that reaches one asks the [`DivergenceTracker`] of the evaluation which side to take, and
//! by asking leaves a mark, so that the report can say which divergences an object came through.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod table;

use std::cell::Cell;
use std::fmt;

pub use table::Divergence;

/// Which side is taken where the documentation and Kyverno 1.19's controllers part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Semantics {
    /// What the documentation promises.
    #[default]
    Documented,
    /// What Kyverno 1.19's controllers do, defects included.
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

/// How the early syntax of mutate rules, `overlay` and `patches`, is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegacyMode {
    /// As the documentation of the time says.
    #[default]
    Documented,
    /// As Kyverno 1.1.0 did, defects included.
    Native,
    /// As `patchStrategicMerge` and `patchesJson6902`, which the releases up to 1.5 took it for.
    Later,
}

impl LegacyMode {
    /// Every reading with the name it is asked for by.
    pub const ALL: [(&'static str, Self); 3] =
        [("doc", Self::Documented), ("native", Self::Native), ("smp", Self::Later)];
}

/// How policies are read: which side is taken where documentation and controllers part, and what the early
/// syntax means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The side.
    pub semantics: Semantics,
    /// The reading of the early syntax.
    pub legacy: LegacyMode,
}

impl From<Semantics> for Dialect {
    fn from(semantics: Semantics) -> Self {
        Self { semantics, legacy: LegacyMode::default() }
    }
}

/// A set of [`Divergence`]s, listed in the order of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DivergenceSet(u128);

impl DivergenceSet {
    /// The set without members.
    pub const NONE: Self = Self(0);

    /// Adds one difference.
    pub const fn insert(&mut self, difference: Divergence) {
        self.0 |= 1 << difference.number();
    }

    /// Takes one difference out.
    pub const fn remove(&mut self, difference: Divergence) {
        self.0 &= !(1 << difference.number());
    }

    /// Adds all differences of another set.
    pub const fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether the set holds no difference.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set holds this difference.
    pub const fn contains(self, difference: Divergence) -> bool {
        self.0 & (1 << difference.number()) != 0
    }

    /// The members, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Divergence> {
        Divergence::ALL.iter().copied().filter(move |difference| self.contains(*difference))
    }
}

/// How one evaluation reads its policy, and the divergences it came through so far.
#[derive(Debug, Default)]
pub struct DivergenceTracker {
    semantics: Semantics,
    reached: Cell<DivergenceSet>,
}

impl DivergenceTracker {
    /// A reading that has come through no divergence yet.
    pub const fn new(semantics: Semantics) -> Self {
        Self { semantics, reached: Cell::new(DivergenceSet::NONE) }
    }

    /// The side this reading takes.
    pub const fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Marks the difference as reached and tells whether the documented side is taken.
    ///
    /// Call it only where the two sides give different results for the data at hand: the report names
    /// every difference that was asked for.
    #[must_use]
    pub fn documented(&self, difference: Divergence) -> bool {
        self.reach(difference);
        self.semantics == Semantics::Documented
    }

    /// Marks the difference as reached.
    pub fn reach(&self, difference: Divergence) {
        let mut reached = self.reached.get();
        reached.insert(difference);
        self.reached.set(reached);
    }

    /// Marks differences as reached.
    pub fn reach_all(&self, differences: DivergenceSet) {
        let mut reached = self.reached.get();
        reached.extend(differences);
        self.reached.set(reached);
    }

    /// The differences reached so far.
    pub fn reached(&self) -> DivergenceSet {
        self.reached.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_for_a_side_leaves_a_mark() {
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        assert!(tracker.reached().is_empty());
        assert!(!tracker.documented(Divergence::ReplaceOfMissing));
        assert_eq!(tracker.reached().iter().collect::<Vec<_>>(), [Divergence::ReplaceOfMissing]);
    }

    #[test]
    fn numbers_are_unique_and_fit_the_set() {
        let mut seen = DivergenceSet::NONE;
        for difference in Divergence::ALL {
            assert!(difference.number() < 128);
            assert!(!seen.contains(*difference), "{difference} stands twice");
            seen.insert(*difference);
        }
    }
}
