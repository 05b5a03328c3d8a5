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

    /// The first index below a length that may be that of a key, and for which this holds.
    #[inline]
    pub(super) fn find(&self, key: &str, length: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let wanted = u64::from(tag(key)).wrapping_mul(LOW_BITS);
        let (words, _) = self.0.as_chunks::<WORD>();
        for (number, word) in words.iter().enumerate() {
            let start = number * WORD;
            if start >= length {
                break;
            }
            // The high bit of each byte that is zero here; rarely of one behind such a byte, too.
            let differing = u64::from_le_bytes(*word) ^ wanted;
            let mut equal = differing.wrapping_sub(LOW_BITS) & !differing & HIGH_BITS;
            while equal != 0 {
                let index = start + equal.trailing_zeros() as usize / 8;
                if index >= length {
                    return None;
                }
                if is(index) {
                    return Some(index);
                }
                equal &= equal - 1;
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
    fn each_key_is_found_at_its_index() {
        // Those of eight characters with the same ends have the same byte.
        let keys: Vec<String> = (0..TAGS).map(|number| format!("a{number:06}z")).collect();
        let mut tags = Tags::of(keys.iter().map(String::as_str));
        let find = |tags: &Tags, keys: &[String], key: &str| {
            tags.find(key, keys.len(), |index| keys.get(index).is_some_and(|known| known == key))
        };
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(find(&tags, &keys, key), Some(index));
            assert_eq!(find(&tags, &keys[..index], key), None);
        }
        assert_eq!(find(&tags, &keys, "b000000z"), None);
        assert_eq!(find(&tags, &keys, ""), None);
        tags.remove(3);
        let keys = [&keys[..3], &keys[4..]].concat();
        assert!(keys.iter().enumerate().all(|(index, key)| find(&tags, &keys, key) == Some(index)));
    }
}
