//! The merge keys of an element, as texts.

use std::ops::Deref;

use crate::value::Text;

/// The texts of an element's merge keys; empty where a key is missing. Most lists have one key: it is stored in place.
#[derive(Clone, Debug)]
pub(super) enum KeyTuple {
    One(Text),
    Many(Vec<Text>),
}

impl Deref for KeyTuple {
    type Target = [Text];

    fn deref(&self) -> &[Text] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl FromIterator<Text> for KeyTuple {
    fn from_iter<I: IntoIterator<Item = Text>>(texts: I) -> Self {
        let mut texts = texts.into_iter();
        match (texts.next(), texts.next()) {
            (Some(text), None) => Self::One(text),
            (first, second) => Self::Many(first.into_iter().chain(second).chain(texts).collect()),
        }
    }
}

impl PartialEq for KeyTuple {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for KeyTuple {}

impl std::hash::Hash for KeyTuple {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl PartialOrd for KeyTuple {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyTuple {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (**self).cmp(&**other)
    }
}
