//! How bytes become an input.
//!
//! Bytes that start below 0x80 are text: parts with a NUL between them, in which a repetition mark (the
//! byte 1, a power of two, a length) stands for so many copies of the bytes behind it. Small inputs can so
//! become large ones, and what takes more than its share of time on large ones shows. All other bytes are
//! choices, read one after the other by [`Choices`].

use arbitrary::Unstructured;

/// The byte that starts a repetition mark.
pub const MARK: u8 = 1;

/// How large a text grows by repetition.
const LARGEST: usize = 96 * 1024;

/// An input.
pub enum Input<'a> {
    /// Parts of text.
    Text(Parts),
    /// Choices, for targets that build their input themselves.
    Choices(Choices<'a>),
}

impl<'a> Input<'a> {
    /// Reads an input.
    pub fn new(data: &'a [u8]) -> Self {
        match data.split_first() {
            Some((first, rest)) if *first >= 0x80 => Self::Choices(Choices(Unstructured::new(rest))),
            _ => Self::Text(Parts::new(data)),
        }
    }
}

/// The parts of a text input.
pub struct Parts(Vec<String>);

impl Parts {
    fn new(data: &[u8]) -> Self {
        let text = String::from_utf8_lossy(&expand(data)).into_owned();
        Self(text.split('\0').map(str::to_owned).collect())
    }

    /// The part of this number; empty where the input is shorter.
    pub fn at(&self, index: usize) -> &str {
        self.0.get(index).map_or("", String::as_str)
    }
}

/// Carries out the repetition marks.
pub fn expand(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut rest = data;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (*first, behind) {
            (MARK, [power, length, behind @ ..]) => {
                let unit = &behind[..usize::from(*length).min(behind.len())];
                let room = LARGEST.saturating_sub(out.len()) / unit.len().max(1);
                let times = (1_usize << (power % 15)).min(room).max(1);
                for _ in 0..times {
                    out.extend_from_slice(unit);
                }
                rest = &behind[unit.len()..];
            }
            _ => out.push(*first),
        }
    }
    out
}

/// A source of choices; once it has run dry, every choice is the first.
pub struct Choices<'a>(Unstructured<'a>);

impl<'a> Choices<'a> {
    /// The choices that these bytes make.
    pub fn of(data: &'a [u8]) -> Self {
        Self(Unstructured::new(data))
    }
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        if bound < 2 {
            return 0;
        }
        self.0.int_in_range(0..=bound - 1).unwrap_or(0)
    }

    /// Whether, in one case of so many.
    pub fn once_in(&mut self, cases: usize) -> bool {
        self.below(cases) == cases - 1
    }

    /// One of several.
    pub fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    /// A number of any size.
    pub fn number(&mut self) -> i64 {
        self.0.arbitrary().unwrap_or(0)
    }

    /// A short text of any characters.
    pub fn text(&mut self) -> String {
        let text: String = self.0.arbitrary().unwrap_or_default();
        text.chars().take(64).collect()
    }

    /// Whether anything is left to choose from.
    pub fn is_dry(&self) -> bool {
        self.0.is_empty()
    }
}
