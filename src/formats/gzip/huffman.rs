//! Huffman codes of limited length.

/// A code, its first bit the lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) bits: u16,
    /// How many bits; 0 for a symbol without a code.
    pub(super) len: u8,
}

impl Code {
    /// From bits of which the first is the highest.
    pub(super) const fn new(bits: u16, len: u8) -> Self {
        Self { bits: bits.reverse_bits() >> (u16::BITS - len as u32), len }
    }
}

/// The codes for symbols with these frequencies, at most `limit` bits long.
pub(super) fn codes(frequencies: &[u32], limit: usize) -> Vec<Code> {
    let mut codes = vec![Code::default(); frequencies.len()];
    let mut symbols: Vec<usize> = (0..frequencies.len()).filter(|symbol| frequencies[*symbol] > 0).collect();
    if symbols.len() <= 2 {
        for (bits, symbol) in (0..).zip(symbols) {
            codes[symbol] = Code::new(bits, 1);
        }
        return codes;
    }
    symbols.sort_by_key(|symbol| frequencies[*symbol]);
    let weights: Vec<u64> = symbols.iter().map(|symbol| frequencies[*symbol].into()).collect();
    // The most frequent symbols have the shortest codes; codes of one length are in the order of the symbols.
    let (mut bits, mut end) = (0, symbols.len());
    for (len, count) in (1..).zip(counts(&weights, limit)) {
        bits <<= 1;
        let start = end - count;
        let chunk = &mut symbols[start..end];
        chunk.sort_unstable();
        for symbol in chunk {
            codes[*symbol] = Code::new(bits, len);
            bits += 1;
        }
        end = start;
    }
    codes
}

/// How many symbols have codes of 1 bit, 2 bits and so on, given the sorted weights of three or more: those that make the
/// text shortest, found by package-merge. Of equal weights packages come before symbols.
fn counts(weights: &[u64], limit: usize) -> Vec<usize> {
    let levels = limit.min(weights.len() - 1);
    // Of each level, whether its items are symbols.
    let mut kinds: Vec<Vec<bool>> = Vec::with_capacity(levels);
    let mut items: Vec<u64> = Vec::new();
    for _ in 0..levels {
        let mut packages = items.chunks_exact(2).map(|pair| pair[0] + pair[1]).peekable();
        let mut symbols = weights.iter().copied().peekable();
        let (mut merged, mut kind) = (Vec::new(), Vec::new());
        loop {
            let is_symbol = match (symbols.peek(), packages.peek()) {
                (Some(symbol), Some(package)) => symbol < package,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            merged.extend(if is_symbol { symbols.next() } else { packages.next() });
            kind.push(is_symbol);
        }
        items = merged;
        kinds.push(kind);
    }
    // Of the last level all items count that a tree has; of the others those that the packages above hold.
    let mut taken = 2 * weights.len() - 2;
    let mut of_levels = Vec::with_capacity(levels + 1);
    for kind in kinds.iter().rev() {
        let symbols = kind.iter().take(taken).filter(|is_symbol| **is_symbol).count();
        taken = 2 * (taken - symbols);
        of_levels.push(symbols);
    }
    of_levels.push(0);
    of_levels.windows(2).map(|pair| pair[0] - pair[1]).collect()
}
