//! Merge keys: how the elements of a list are identified.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::patch::scalar::{has_key_text, key_text};
use crate::semantics::Divergence;
use crate::value::{Value, equal_ends_by};

/// Up to this length, comparing elements pairwise is faster than hashing them.
pub(super) const SHORT_LIST: usize = 8;

/// The keys that identify the elements of a list, the primary key first.
#[derive(Clone, Copy, Debug)]
pub(super) struct MergeKeys<'k> {
    names: &'k [&'k str],
}

/// Where the elements of a list were before one moved to the front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EarlierPlaces {
    to: usize,
    from: usize,
}

impl EarlierPlaces {
    /// Where the element at an index was.
    pub(super) const fn of(self, index: usize) -> usize {
        let Self { to, from } = self;
        if index == to {
            from
        } else if index > to && index <= from {
            index - 1
        } else {
            index
        }
    }
}

impl<'k> MergeKeys<'k> {
    #[inline]
    pub(super) const fn new(names: &'k [&'k str]) -> Self {
        Self { names }
    }

    #[inline]
    pub(super) const fn names(self) -> &'k [&'k str] {
        self.names
    }

    /// The first key.
    #[inline]
    pub(super) fn primary(self) -> &'k str {
        self.names.first().copied().unwrap_or_default()
    }

    /// The keys after the first one.
    #[inline]
    pub(super) fn secondary(self) -> &'k [&'k str] {
        self.names.get(1..).unwrap_or_default()
    }

    /// The index of the first element of `found` with the keys of `element`.
    pub(super) fn counterpart(self, element: &Value, found: &[Value]) -> Option<usize> {
        let primary = text_of(element, self.primary())?;
        let is_same = |other: &Value| {
            let secondary = |key: &&str| match (text_of(element, key), text_of(other, key)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            text_of(other, self.primary()).as_ref() == Some(&primary)
                && self.secondary().iter().all(secondary)
        };
        found.iter().position(is_same)
    }

    /// Where the elements of a list were in an earlier one, if both have the same keys, of which those of one element may
    /// have moved to the front: a patched element does.
    pub(super) fn earlier_places(self, list: &[Value], earlier: &[Value]) -> Option<EarlierPlaces> {
        let is_same = |one: &Value, other: &Value| {
            one.same_storage(other) || self.names.iter().all(|key| text_of(one, key) == text_of(other, key))
        };
        let are_same = |list: &[Value], earlier: &[Value]| {
            list.iter().zip(earlier).all(|(one, other)| is_same(one, other))
        };
        if list.len() != earlier.len() {
            return None;
        }
        let (front, back) = equal_ends_by(list, earlier, is_same);
        let [list, earlier] = [list, earlier].map(|list| &list[front..list.len() - back]);
        let (Some((first, list)), Some((last, earlier))) = (list.split_first(), earlier.split_last()) else {
            return Some(EarlierPlaces { to: 0, from: 0 });
        };
        let has_moved = is_same(first, last) && are_same(list, earlier);
        has_moved.then_some(EarlierPlaces { to: front, from: front + earlier.len() })
    }

    /// Why Kyverno would change a list that is not in the patch; `None` if it would not.
    #[inline]
    pub(super) fn irregularity(self, list: &[Value]) -> Option<Divergence> {
        if list.len() <= SHORT_LIST && self.names.len() <= 2 {
            return self.irregularity_of_short(list);
        }
        self.irregularity_of_long(list)
    }

    fn irregularity_of_long(self, list: &[Value]) -> Option<Divergence> {
        let mut partial = false;
        let mut complete = false;
        let mut known: IndexSet<Cow<'_, str>, RandomState> = IndexSet::default();
        let mut seen: IndexSet<Vec<Cow<'_, str>>, RandomState> = IndexSet::default();
        for element in list {
            let Some(primary) = text_of(element, self.primary()) else {
                return Some(Divergence::MissingMergeKey);
            };
            if self.secondary().is_empty() {
                if !known.insert(primary) {
                    return Some(Divergence::DuplicateMergeKey);
                }
                continue;
            }
            let tuple: Vec<_> =
                self.names.iter().map(|key| text_of(element, key).unwrap_or_default()).collect();
            partial |= tuple.iter().any(|text| text.is_empty());
            complete |= tuple.iter().skip(1).any(|text| !text.is_empty());
            if !seen.insert(tuple) {
                return Some(Divergence::DuplicateMergeKey);
            }
        }
        (partial && complete).then_some(Divergence::PartialMergeKey)
    }

    /// As [`MergeKeys::irregularity`], for a short list and at most two keys.
    fn irregularity_of_short(self, list: &[Value]) -> Option<Divergence> {
        let secondary = self.secondary().first();
        let mut partial = false;
        let mut complete = false;
        let mut known: [[Option<&Value>; 2]; SHORT_LIST] = Default::default();
        for (index, element) in list.iter().enumerate() {
            let text = |key: &str| element.get(key).filter(|value| has_key_text(value));
            let keys = [text(self.primary()), secondary.and_then(|key| text(key))];
            if keys[0].is_none() {
                return Some(Divergence::MissingMergeKey);
            }
            partial |= secondary.is_some() && keys[1].is_none();
            complete |= keys[1].is_some();
            let is_same = |one: Option<&Value>, other: Option<&Value>| match (one, other) {
                (Some(Value::String(one)), Some(Value::String(other))) => one == other,
                (Some(one), Some(other)) => key_text(one) == key_text(other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let mut before = known.iter().take(index);
            if before.any(|other| is_same(keys[0], other[0]) && is_same(keys[1], other[1])) {
                return Some(Divergence::DuplicateMergeKey);
            }
            if let Some(slot) = known.get_mut(index) {
                *slot = keys;
            }
        }
        (partial && complete).then_some(Divergence::PartialMergeKey)
    }
}

/// The text of an element's merge key, if it has one.
#[inline]
pub(super) fn text_of<'v>(element: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    key_text(element.get(key)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_that_moved_to_the_front_is_found() {
        let list = |text: &str| -> Vec<Value> {
            text.chars().map(|name| Value::from_iter([("name", Value::from(name.to_string()))])).collect()
        };
        let places = |earlier: &str, text: &str| {
            let (earlier, list) = (list(earlier), list(text));
            let found = MergeKeys::new(&["name"]).earlier_places(&list, &earlier)?;
            Some((0..list.len()).map(|index| found.of(index)).collect::<Vec<_>>())
        };
        assert_eq!(places("abcd", "abcd"), Some(vec![0, 1, 2, 3]));
        assert_eq!(places("abcd", "cabd"), Some(vec![2, 0, 1, 3]));
        assert_eq!(places("abcd", "acbd"), Some(vec![0, 2, 1, 3]));
        assert_eq!(places("abcd", "dabc"), Some(vec![3, 0, 1, 2]));
        assert_eq!(places("", ""), Some(vec![]));
        for other in ["bcda", "abce", "aabc", "abc", "abcde", "cbad"] {
            assert_eq!(places("abcd", other), None, "{other}");
        }
    }

    #[test]
    fn short_and_long_lists_have_the_same_irregularities() {
        let elements = [
            "{}",
            "1",
            r#"{"a":""}"#,
            r#"{"a":"x"}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
            r#"{"a":"x","b":"y"}"#,
            r#"{"a":"x","b":""}"#,
            r#"{"a":"x","b":[]}"#,
            r#"{"a":"z","b":"y"}"#,
            r#"{"a":true,"b":"y"}"#,
        ]
        .map(|text| Value::from_json(text).unwrap());
        let mut irregular = 0;
        for keys in [&["a"][..], &["a", "b"]].map(MergeKeys::new) {
            for one in &elements {
                for other in &elements {
                    for list in [vec![one, other], vec![one, other, one], vec![&elements[9], one, other]] {
                        let list: Vec<Value> = list.into_iter().cloned().collect();
                        assert_eq!(
                            keys.irregularity_of_short(&list),
                            keys.irregularity_of_long(&list),
                            "{list:?}"
                        );
                        irregular += usize::from(keys.irregularity(&list).is_some());
                    }
                }
            }
        }
        assert!(irregular > 0);
    }
}
