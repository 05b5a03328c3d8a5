//! Random numbers that are the same everywhere.

/// A source of numbers by a seed: `SplitMix64`, which needs no library.
pub struct SplitMix64(pub u64);

impl SplitMix64 {
    /// A number below another, or 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end.max(1)
    }

    /// The index of one of so many.
    #[expect(clippy::cast_possible_truncation, reason = "below a usize")]
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }
}
