//! Repetitions in a text, found as Go's `compress/flate` finds them.
//!
//! Go looks at a window of 64 KiB that moves on by its half. Here the whole text is at hand, and `shift` is where the
//! window begins.

use super::blocks::{Token, Writer};

/// How far back a repetition may be.
const WINDOW: usize = 1 << 15;
const MIN_MATCH: usize = 4;
const MAX_MATCH: usize = 258;
const HASH_BITS: u32 = 17;
/// With so many bytes ahead every match is seen whole.
const LOOKAHEAD: usize = MIN_MATCH + MAX_MATCH;

// The default level.
/// After a match as long as this a better one is not looked for.
const LAZY: usize = 16;
/// A match as long as this ends the search.
const NICE: usize = 128;
/// How many earlier places are looked at.
const CHAIN: usize = 128;
/// A match of the least length is not worth while farther back.
const NEAR: usize = 4096;

/// The tokens of one block.
const BLOCK_TOKENS: usize = 1 << 14;

/// A match: its length, and how far back it is.
#[derive(Clone, Copy)]
struct Match {
    len: usize,
    offset: usize,
}

/// What stands for no match.
const NONE: Match = Match { len: MIN_MATCH - 1, offset: 0 };

/// Goes through a text.
pub(super) struct Matcher<'t> {
    text: &'t [u8],
    shift: usize,
    /// The end of the window.
    end: usize,
    index: usize,
    /// Where the current block begins, if that is still in the window.
    block: Option<usize>,
    tokens: Vec<Token>,
    /// The match at the last index.
    last: Match,
    /// Whether the byte before the index is in no token yet.
    is_pending: bool,
    /// By hash one more than the last place with it.
    heads: Vec<usize>,
    /// The places before these.
    chain: Vec<usize>,
    head: usize,
}

impl<'t> Matcher<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            shift: 0,
            end: 0,
            index: 0,
            block: Some(0),
            tokens: Vec::new(),
            last: NONE,
            is_pending: false,
            heads: vec![0; 1 << HASH_BITS],
            chain: vec![0; WINDOW],
            head: 0,
        }
    }

    /// Writes all blocks.
    pub(super) fn run(mut self, writer: &mut Writer) {
        while self.end < self.text.len() {
            self.step(writer, false);
            if self.index - self.shift >= 2 * WINDOW - LOOKAHEAD {
                self.shift += WINDOW;
                self.block = self.block.filter(|block| *block >= self.shift);
            }
            self.end = self.text.len().min(self.shift + 2 * WINDOW);
        }
        self.step(writer, true);
    }

    /// Goes on while enough of the window is ahead, or up to its end.
    fn step(&mut self, writer: &mut Writer, is_last: bool) {
        while self.end - self.index >= LOOKAHEAD || is_last && self.index < self.end {
            self.insert(self.index, true);
            let ahead = self.end - self.index;
            let last = std::mem::replace(&mut self.last, NONE);
            let found = (self.head > self.lowest() && ahead > last.len && last.len < LAZY)
                .then(|| self.find(self.head - 1, ahead))
                .flatten();
            self.last = found.unwrap_or(NONE);
            if last.len >= MIN_MATCH && self.last.len <= last.len {
                self.tokens.push(Token::of_match(last.len, last.offset));
                let end = self.index + last.len - 1;
                for index in self.index + 1..end {
                    self.insert(index, false);
                }
                self.index = end;
                self.is_pending = false;
                self.last = NONE;
                self.flush_full(writer, self.index);
            } else {
                if self.is_pending {
                    self.literal();
                    self.flush_full(writer, self.index);
                }
                self.index += 1;
                self.is_pending = true;
            }
        }
        if is_last {
            if self.is_pending {
                self.literal();
            }
            if !self.tokens.is_empty() {
                self.flush(writer, self.index);
            }
        }
    }

    fn literal(&mut self) {
        self.tokens.push(Token::of_byte(self.text[self.index - 1]));
    }

    /// The first place in reach.
    fn lowest(&self) -> usize {
        self.shift.max(self.index.saturating_sub(WINDOW))
    }

    /// Adds a place to the chain of its hash; the last places of the window are not added.
    fn insert(&mut self, index: usize, is_current: bool) {
        const FACTOR: u32 = 0x1e35_a7bd;
        let bytes = self.text.get(index..self.end).and_then(<[u8]>::first_chunk::<MIN_MATCH>);
        let Some(bytes) = bytes else { return };
        let hash = u32::from_be_bytes(*bytes).wrapping_mul(FACTOR) >> (32 - HASH_BITS);
        let head = &mut self.heads[hash as usize];
        self.chain[index % WINDOW] = *head;
        if is_current {
            self.head = *head;
        }
        *head = index + 1;
    }

    /// The longest match at the index, beginning with a place and going back.
    fn find(&self, first: usize, ahead: usize) -> Option<Match> {
        let limit = ahead.min(MAX_MATCH);
        let here = &self.text[self.index..self.index + limit];
        let nice = limit.min(NICE);
        let mut best = NONE;
        let mut place = first;
        for _ in 0..CHAIN {
            let there = &self.text[place..];
            if here[best.len] == there[best.len] {
                let len = here.iter().zip(there).take_while(|(one, other)| one == other).count();
                let offset = self.index - place;
                if len > best.len && (len > MIN_MATCH || offset <= NEAR) {
                    best = Match { len, offset };
                    if len >= nice {
                        break;
                    }
                }
            }
            if place + WINDOW == self.index {
                break;
            }
            match self.chain[place % WINDOW] {
                next if next > self.lowest() => place = next - 1,
                _ => break,
            }
        }
        (best.offset > 0).then_some(best)
    }

    fn flush_full(&mut self, writer: &mut Writer, end: usize) {
        if self.tokens.len() == BLOCK_TOKENS {
            self.flush(writer, end);
        }
    }

    /// Writes a block that ends before an index.
    fn flush(&mut self, writer: &mut Writer, end: usize) {
        let text = self.block.filter(|block| *block <= end).map(|block| &self.text[block..end]);
        self.block = Some(end);
        writer.block(&self.tokens, text);
        self.tokens.clear();
    }
}
