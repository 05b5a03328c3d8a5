//! Blocks of a deflated text: stored, with fixed codes, or with codes of their own.

use std::sync::LazyLock;

use super::huffman::{Code, codes};

const LITERALS: usize = 286;
const OFFSETS: usize = 30;
/// The symbol at the end of a block; the first for the length of a match is the next one.
const END: usize = 256;
const MAX_STORED_BYTES: usize = 65_535;
const MAX_CODE_BITS: usize = 15;
const MAX_LENGTH_CODE_BITS: usize = 7;

/// The order in which the lengths of the codes of lengths are written.
const LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
/// How many bits follow the symbols of lengths from 16 on.
const REPEAT_BITS: [(usize, u8); 3] = [(16, 2), (17, 3), (18, 7)];

/// A byte, or a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Byte(u8),
    /// Its length without the least one of 3, and how far back it is, without the least distance of 1.
    Match(u8, u16),
}

impl Token {
    pub(super) const fn of_byte(byte: u8) -> Self {
        Self::Byte(byte)
    }

    /// A match of at most 258 bytes, at most 32 KiB back.
    pub(super) fn of_match(len: usize, offset: usize) -> Self {
        let of = |number: usize, least: usize| number.saturating_sub(least);
        Self::Match(
            u8::try_from(of(len, 3)).unwrap_or(u8::MAX),
            u16::try_from(of(offset, 1)).unwrap_or(u16::MAX),
        )
    }
}

/// A symbol and the bits behind it.
#[derive(Clone, Copy)]
struct Symbol {
    number: usize,
    extra: u16,
    extra_bits: u8,
}

/// The symbol of a number: the first 2^`free` ones have one each, then 2^(`free` - 1) symbols share twice as many each time.
const fn symbol(number: u16, free: u32) -> Symbol {
    let bits = u16::BITS - number.leading_zeros();
    if bits <= free {
        return Symbol { number: number as usize, extra: 0, extra_bits: 0 };
    }
    let extra_bits = bits - free;
    let group = (number >> extra_bits) as usize;
    let number_of = group + ((extra_bits as usize) << (free - 1));
    Symbol { number: number_of, extra: number & ((1 << extra_bits) - 1), extra_bits: extra_bits as u8 }
}

fn length_symbol(len: u8) -> Symbol {
    let symbol = if len == u8::MAX {
        // The longest match has a symbol of its own.
        Symbol { number: 28, extra: 0, extra_bits: 0 }
    } else {
        symbol(len.into(), 3)
    };
    Symbol { number: END + 1 + symbol.number, ..symbol }
}

const fn offset_symbol(offset: u16) -> Symbol {
    symbol(offset, 2)
}

static FIXED: LazyLock<(Vec<Code>, Vec<Code>)> = LazyLock::new(|| {
    let literal = |number: u16| match number {
        0..144 => Code::new(number + 48, 8),
        144..256 => Code::new(number + 256, 9),
        256..280 => Code::new(number - 256, 7),
        _ => Code::new(number - 88, 8),
    };
    ((0..286).map(literal).collect(), (0..30).map(|number| Code::new(number, 5)).collect())
});

/// The codes of a block with codes of its own, and how they are written.
struct Own {
    literals: Vec<Code>,
    offsets: Vec<Code>,
    /// The numbers of symbols that are written.
    counts: (usize, usize),
    /// The lengths of the codes, run by run.
    runs: Vec<(usize, u8)>,
    /// The codes of these lengths, and how many of them are written.
    lengths: Vec<Code>,
    written_lengths: usize,
    /// The bits before the text.
    header_bits: usize,
}

/// Writes bits and blocks.
pub(super) struct Writer {
    bytes: Vec<u8>,
    bits: u64,
    count: u8,
}

impl Writer {
    /// After these bytes.
    pub(super) const fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, bits: 0, count: 0 }
    }

    /// Writes an empty last block.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.stored(&[], true);
        self.bytes
    }

    /// Writes a block in its shortest form; without its text it is not stored.
    pub(super) fn block(&mut self, tokens: &[Token], text: Option<&[u8]>) {
        let (literals, offsets) = frequencies(tokens);
        let own = own_codes(&literals, &offsets);
        let sizes = |(literal_codes, offset_codes): (&[Code], &[Code])| {
            bit_len(&literals, literal_codes) + bit_len(&offsets, offset_codes)
        };
        let text = text.filter(|text| text.len() <= MAX_STORED_BYTES);
        // The bits behind symbols only count beside a stored text.
        let extra = if text.is_some() { extra_bits(tokens) } else { 0 };
        let fixed_size = 3 + sizes((&FIXED.0, &FIXED.1)) + extra;
        let own_size = own.header_bits + sizes((&own.literals, &own.offsets)) + extra;
        if let Some(text) = text.filter(|text| (text.len() + 5) * 8 < own_size.min(fixed_size)) {
            return self.stored(text, false);
        }
        if own_size < fixed_size {
            self.own_header(&own);
            self.tokens(tokens, (&own.literals, &own.offsets));
        } else {
            self.put(2, 3);
            self.tokens(tokens, (&FIXED.0, &FIXED.1));
        }
    }

    fn stored(&mut self, text: &[u8], is_last: bool) {
        self.put(u16::from(is_last), 3);
        self.align();
        let len = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.bytes.extend(len.to_le_bytes());
        self.bytes.extend((!len).to_le_bytes());
        self.bytes.extend(text);
    }

    fn own_header(&mut self, own: &Own) {
        let number = |count: usize, least: usize| u16::try_from(count - least).unwrap_or(0);
        self.put(4, 3);
        self.put(number(own.counts.0, 257), 5);
        self.put(number(own.counts.1, 1), 5);
        self.put(number(own.written_lengths, 4), 4);
        for length in &LENGTH_ORDER[..own.written_lengths] {
            self.put(own.lengths[*length].len.into(), 3);
        }
        for (symbol, repeat) in &own.runs {
            self.code(own.lengths[*symbol]);
            if let Some((_, bits)) = REPEAT_BITS.iter().find(|(repeated, _)| repeated == symbol) {
                self.put((*repeat).into(), *bits);
            }
        }
    }

    fn tokens(&mut self, tokens: &[Token], (literals, offsets): (&[Code], &[Code])) {
        for token in tokens {
            match token {
                Token::Byte(byte) => self.code(literals[usize::from(*byte)]),
                Token::Match(len, offset) => {
                    for (symbol, codes) in
                        [(length_symbol(*len), literals), (offset_symbol(*offset), offsets)]
                    {
                        self.code(codes[symbol.number]);
                        self.put(symbol.extra, symbol.extra_bits);
                    }
                }
            }
        }
        self.code(literals[END]);
    }

    fn code(&mut self, code: Code) {
        self.put(code.bits, code.len);
    }

    fn put(&mut self, bits: u16, count: u8) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.bits.to_le_bytes()[0]);
            self.bits >>= 8;
            self.count -= 8;
        }
    }

    /// Fills the last byte up.
    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}

/// How often the symbols of bytes and lengths, and those of offsets, occur.
fn frequencies(tokens: &[Token]) -> (Vec<u32>, Vec<u32>) {
    let (mut literals, mut offsets) = (vec![0; LITERALS], vec![0; OFFSETS]);
    literals[END] = 1;
    for token in tokens {
        match token {
            Token::Byte(byte) => literals[usize::from(*byte)] += 1,
            Token::Match(len, offset) => {
                literals[length_symbol(*len).number] += 1;
                offsets[offset_symbol(*offset).number] += 1;
            }
        }
    }
    // A code for offsets is written in any case.
    if offsets.iter().all(|frequency| *frequency == 0) {
        offsets[0] = 1;
    }
    (literals, offsets)
}

fn extra_bits(tokens: &[Token]) -> usize {
    let bits = |token: &Token| match token {
        Token::Byte(_) => 0,
        Token::Match(len, offset) => {
            usize::from(length_symbol(*len).extra_bits) + usize::from(offset_symbol(*offset).extra_bits)
        }
    };
    tokens.iter().map(bits).sum()
}

fn bit_len(frequencies: &[u32], codes: &[Code]) -> usize {
    frequencies.iter().zip(codes).map(|(frequency, code)| *frequency as usize * usize::from(code.len)).sum()
}

fn own_codes(literals: &[u32], offsets: &[u32]) -> Own {
    let used = |frequencies: &[u32]| {
        frequencies.iter().rposition(|frequency| *frequency > 0).map_or(0, |last| last + 1)
    };
    let counts = (used(literals), used(offsets));
    let (literals, offsets) = (codes(literals, MAX_CODE_BITS), codes(offsets, MAX_CODE_BITS));
    let written = literals[..counts.0].iter().chain(&offsets[..counts.1]);
    let runs = runs(&written.map(|code| code.len).collect::<Vec<_>>());
    let mut frequencies = [0; LENGTH_ORDER.len()];
    for (symbol, _) in &runs {
        frequencies[*symbol] += 1;
    }
    let lengths = codes(&frequencies, MAX_LENGTH_CODE_BITS);
    let last = LENGTH_ORDER.iter().rposition(|symbol| frequencies[*symbol] > 0);
    let written_lengths = last.map_or(0, |last| last + 1).max(4);
    let repeats = REPEAT_BITS.iter().map(|(symbol, bits)| frequencies[*symbol] as usize * usize::from(*bits));
    let header_bits =
        3 + 5 + 5 + 4 + 3 * written_lengths + bit_len(&frequencies, &lengths) + repeats.sum::<usize>();
    Own { literals, offsets, counts, runs, lengths, written_lengths, header_bits }
}

/// Lengths of codes as symbols: up to 15 for one length, 16 for the last one repeated, 17 and 18 for zeros, with the
/// number that follows.
fn runs(lengths: &[u8]) -> Vec<(usize, u8)> {
    let mut found = Vec::new();
    for run in lengths.chunk_by(|one, other| one == other) {
        let length = usize::from(run[0]);
        let mut count = run.len();
        let repeats: &[(usize, usize, usize)] =
            if length == 0 { &[(18, 11, 138), (17, 3, 10)] } else { &[(16, 3, 6)] };
        if length > 0 {
            found.push((length, 0));
            count -= 1;
        }
        for (symbol, least, most) in repeats {
            while count >= *least {
                let taken = count.min(*most);
                found.push((*symbol, u8::try_from(taken - least).unwrap_or(0)));
                count -= taken;
            }
        }
        found.extend(std::iter::repeat_n((length, 0), count));
    }
    found
}
