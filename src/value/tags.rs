//! A byte for each key of a small map: most keys that are not the wanted one are told apart by it.

/// So many keys have one.
pub(super) const TAGS: usize = 16;

const WORD: usize = 8;
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The bytes of the keys, by their indexes.
#[derive(Clone, Copy, Default)]
pub(super) struct Tags([u8; TAGS]);

impl Tags {
    pub(super) fn of<'k>(keys: impl Iterator<Item = &'k str>) -> Self {
        let mut tags = Self::default();
        keys.enumerate().for_each(|(index, key)| tags.set(index, key));
        tags
    }

    #[inline]
    pub(super) fn set(&mut self, index: usize, key: &str) {
        if let Some(place) = self.0.get_mut(index) {
            *place = tag(key);
        }
    }

    /// Removes the byte of a key; those after it move up.
    pub(super) fn remove(&mut self, index: usize) {
        if index < TAGS {
            self.0.copy_within(index + 1.., index);
        }
    }

    /// The first index that may be that of a key, among so many keys. It may be behind the last one.
    #[inline]
    pub(super) fn first(&self, key: &str, keys: usize) -> Option<usize> {
        let wanted = u64::from(tag(key)).wrapping_mul(LOW_BITS);
        let (words, _) = self.0.as_chunks::<WORD>();
        let mut start = 0;
        for word in words {
            // The high bit of the first byte that is zero here, and of no byte before it.
            let differing = u64::from_le_bytes(*word) ^ wanted;
            let equal = differing.wrapping_sub(LOW_BITS) & !differing & HIGH_BITS;
            if equal != 0 {
                return Some(start + equal.trailing_zeros() as usize / 8);
            }
            start += WORD;
            if start >= keys {
                return None;
            }
        }
        None
    }
}

/// Of the length, the first and the last byte.
#[inline]
fn tag(key: &str) -> u8 {
    let bytes = key.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return 0 };
    bytes.len().to_le_bytes()[0].wrapping_mul(37) ^ first.rotate_left(3) ^ *last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_with_the_tag_is_found() {
        let letters: Vec<String> = ('a'..='p').map(String::from).collect();
        assert_eq!(letters.len(), TAGS);
        let mut tags = Tags::of(letters.iter().map(String::as_str));
        let places = |tags: &Tags| letters.iter().map(|key| tags.first(key, TAGS)).collect::<Vec<_>>();
        assert_eq!(places(&tags), (0..TAGS).map(Some).collect::<Vec<_>>());
        assert_eq!(tags.first("q", TAGS), None);
        tags.remove(3);
        assert_eq!(places(&tags)[2..5], [Some(2), None, Some(3)]);
        // Of the same length and with the same ends.
        assert_eq!(Tags::of(["b", "a00z", "a01z"].into_iter()).first("a01z", TAGS), Some(1));
    }
}
