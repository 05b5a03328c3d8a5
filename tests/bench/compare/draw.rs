//! Random numbers that are the same in every run.

use test_support::random::SplitMix64;

/// The seed of all objects.
const SEED: u64 = 0x6b79_7620_6265_6e63;

/// A source of numbers.
pub(crate) struct Draw(SplitMix64);

impl Draw {
    /// A source of its own for each number.
    pub(crate) fn new(number: u64) -> Self {
        Self(SplitMix64(SEED ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)))
    }

    /// A number below another.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// Whether something happens that happens in so many of a hundred cases.
    pub(crate) fn random(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub(crate) fn of(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len() as u64) as usize]
    }

    /// One of several, by how many of each there are.
    pub(crate) fn weighted(&mut self, all: &[(&'static str, u64)]) -> &'static str {
        let mut left = self.below(all.iter().map(|(_, weight)| weight).sum());
        for (what, weight) in all {
            match left.checked_sub(*weight) {
                Some(rest) => left = rest,
                None => return what,
            }
        }
        unreachable!("less than the sum of all weights is drawn")
    }
}
