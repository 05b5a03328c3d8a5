//! The two readings of a policy and the closed table of where they part.
//!
//! Kyverno's documentation and Kyverno's controllers do not always agree. Every such corner is one
//! [`Difference`]; code that reaches one asks the [`Reading`] of the evaluation which side to take, and
//! by asking leaves a mark, so that the report can say which corners an object came through.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod table;

use std::cell::Cell;
use std::fmt;

pub use table::Difference;

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
pub enum Legacy {
    /// As the documentation of the time says.
    #[default]
    Documented,
    /// As Kyverno 1.1.0 did, defects included.
    Native,
    /// As `patchStrategicMerge` and `patchesJson6902`, which the releases up to 1.5 took it for.
    Later,
}

impl Legacy {
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
    pub legacy: Legacy,
}

impl From<Semantics> for Dialect {
    fn from(semantics: Semantics) -> Self {
        Self { semantics, legacy: Legacy::default() }
    }
}

/// A set of [`Difference`]s, listed in the order of their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corners(u128);

impl Corners {
    /// The set without members.
    pub const NONE: Self = Self(0);

    /// Adds one difference.
    pub const fn insert(&mut self, difference: Difference) {
        self.0 |= 1 << difference.number();
    }

    /// Takes one difference out.
    pub const fn remove(&mut self, difference: Difference) {
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
    pub const fn contains(self, difference: Difference) -> bool {
        self.0 & (1 << difference.number()) != 0
    }

    /// The members, in the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Difference> {
        Difference::ALL.iter().copied().filter(move |difference| self.contains(*difference))
    }
}

/// How one evaluation reads its policy, and the corners it came through so far.
#[derive(Debug, Default)]
pub struct Reading {
    semantics: Semantics,
    reached: Cell<Corners>,
}

impl Reading {
    /// A reading that has come through no corner yet.
    pub const fn new(semantics: Semantics) -> Self {
        Self { semantics, reached: Cell::new(Corners::NONE) }
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
    pub fn documented(&self, difference: Difference) -> bool {
        self.reach(difference);
        self.semantics == Semantics::Documented
    }

    /// Marks the difference as reached.
    pub fn reach(&self, difference: Difference) {
        let mut reached = self.reached.get();
        reached.insert(difference);
        self.reached.set(reached);
    }

    /// Marks differences as reached.
    pub fn reach_all(&self, differences: Corners) {
        let mut reached = self.reached.get();
        reached.extend(differences);
        self.reached.set(reached);
    }

    /// The differences reached so far.
    pub fn reached(&self) -> Corners {
        self.reached.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_for_a_side_leaves_a_mark() {
        let reading = Reading::new(Semantics::Kyverno);
        assert!(reading.reached().is_empty());
        assert!(!reading.documented(Difference::ReplaceOfMissing));
        assert_eq!(reading.reached().iter().collect::<Vec<_>>(), [Difference::ReplaceOfMissing]);
    }

    #[test]
    fn numbers_are_unique_and_fit_the_set() {
        let mut seen = Corners::NONE;
        for difference in Difference::ALL {
            assert!(difference.number() < 128);
            assert!(!seen.contains(*difference), "{difference} stands twice");
            seen.insert(*difference);
        }
    }
}
