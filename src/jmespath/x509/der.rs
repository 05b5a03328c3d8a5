//! Just enough of DER to walk through extensions.

pub(super) const BOOLEAN: u8 = 1;
pub(super) const INTEGER: u8 = 2;
pub(super) const BIT_STRING: u8 = 3;
pub(super) const OCTET_STRING: u8 = 4;
pub(super) const OBJECT_IDENTIFIER: u8 = 6;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The tag of a part that its context names by a number.
pub(super) const fn context(number: u8) -> u8 {
    0x80 | number
}

/// The same for a part that has parts itself.
pub(super) const fn constructed(number: u8) -> u8 {
    0xa0 | number
}

/// The elements of an encoding, one after the other.
#[derive(Clone, Copy)]
pub(super) struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub(super) const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The tag and the content of the next element.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = if *first < 0x80 {
            (usize::from(*first), rest)
        } else {
            let (length, rest) = rest.split_at_checked(usize::from(*first & 0x7f))?;
            if length.is_empty() || length.len() > 4 {
                return None;
            }
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, content))
    }

    /// The content of the next element if it has this tag; otherwise it stays the next.
    pub(super) fn next_of(&mut self, tag: u8) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (_, content) = ahead.next().filter(|(found, _)| *found == tag)?;
        *self = ahead;
        Some(content)
    }
}

/// The numbers of an object identifier.
pub(super) fn oid_numbers(bytes: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    let mut number = 0u64;
    for byte in bytes {
        number = number.wrapping_shl(7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.extend([first, number - first * 40]);
            } else {
                numbers.push(number);
            }
            number = 0;
        }
    }
    numbers
}

/// An identifier as text.
pub(super) fn dotted(oid: &[u64]) -> String {
    oid.iter().map(u64::to_string).collect::<Vec<_>>().join(".")
}

/// A small integer.
pub(super) fn integer(content: &[u8]) -> Option<i64> {
    if content.is_empty() || content.len() > 8 {
        return None;
    }
    let negative = content.first().is_some_and(|byte| *byte >= 0x80);
    Some(content.iter().fold(if negative { -1 } else { 0 }, |sum, byte| sum << 8 | i64::from(*byte)))
}
