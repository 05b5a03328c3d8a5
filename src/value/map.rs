//! The members of an object.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, IndexMut};
use std::{slice, vec};

use super::key::Key;
use super::places::Places;
use super::tags::{TAGS, Tags};
use super::{Text, Value};

/// The members of an object, in written order, with unique keys.
///
/// Most Kubernetes objects have few members: small maps have a byte for each key, only large ones have a hash index.
#[derive(Clone)]
pub struct Map<V = Value> {
    members: Vec<(Text, V)>,
    search: Search,
}

/// How members are found.
#[derive(Clone)]
enum Search {
    /// A few.
    Tags(Tags),
    /// Many.
    Places(Box<Places>),
}

impl Search {
    fn of<V>(members: &[(Text, V)]) -> Self {
        if members.len() > TAGS {
            Self::Places(Box::new(Places::of(members)))
        } else {
            Self::Tags(Tags::of(members.iter().map(|(key, _)| key.as_str())))
        }
    }
}

impl Default for Search {
    fn default() -> Self {
        Self::Tags(Tags::default())
    }
}

impl<V> Map<V> {
    /// An empty map with this capacity.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { members: Vec::with_capacity(capacity), search: Search::default() }
    }

    /// The bytes of memory of the members and of their index, but for what these refer to.
    pub(super) fn held_bytes(&self) -> usize {
        let index = match &self.search {
            Search::Tags(_) => 0,
            Search::Places(places) => places.held_bytes(),
        };
        self.members.capacity() * size_of::<(Text, V)>() + index
    }

    /// Gives back the capacity that it does not use.
    pub fn shrink_to_fit(&mut self) {
        self.members.shrink_to_fit();
    }

    /// Reserves capacity for additional members, no more than that.
    pub fn reserve(&mut self, more: usize) {
        self.members.reserve_exact(more);
    }

    /// A copy with capacity for additional members.
    #[must_use]
    pub fn with_room(&self, more: usize) -> Self
    where
        V: Clone,
    {
        let mut members = Vec::with_capacity(self.members.len() + more);
        members.extend_from_slice(&self.members);
        Self { members, search: self.search.clone() }
    }

    /// A copy of the first members, with this capacity.
    #[must_use]
    pub fn first(&self, count: usize, capacity: usize) -> Self
    where
        V: Clone,
    {
        let mut map = Self::with_capacity(capacity);
        self.members.iter().take(count).for_each(|(key, value)| {
            map.push(key.clone(), value.clone());
        });
        map
    }

    /// The number of members.
    pub const fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether the map is empty.
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The index of a key.
    #[inline]
    pub fn get_index_of(&self, key: &(impl Key + ?Sized)) -> Option<usize> {
        // Short where this is inlined: most keys are at the first index with their tag, or nowhere.
        let Search::Tags(tags) = &self.search else { return self.search_places(key) };
        let index = tags.first(key.as_str(), self.members.len())?;
        let (known, _) = self.members.get(index)?;
        if key.is(known) { Some(index) } else { self.search_behind(index, key) }
    }

    #[inline(never)]
    fn search_places(&self, key: &(impl Key + ?Sized)) -> Option<usize> {
        let Search::Places(places) = &self.search else { return None };
        places.find(&self.members, key)
    }

    /// The index of a key that is behind another one with its tag.
    #[cold]
    #[inline(never)]
    fn search_behind(&self, index: usize, key: &(impl Key + ?Sized)) -> Option<usize> {
        let behind = self.members.get(index + 1..)?;
        behind.iter().position(|(known, _)| key.is(known)).map(|place| index + 1 + place)
    }

    /// The member at an index.
    pub fn get_index(&self, index: usize) -> Option<(&Text, &V)> {
        self.members.get(index).map(|(key, value)| (key, value))
    }

    /// Whether there is a member with this key.
    #[inline]
    pub fn contains_key(&self, key: &(impl Key + ?Sized)) -> bool {
        self.get_index_of(key).is_some()
    }

    /// The value of this key.
    #[inline]
    pub fn get(&self, key: &(impl Key + ?Sized)) -> Option<&V> {
        self.members.get(self.get_index_of(key)?).map(|(_, value)| value)
    }

    /// The value of this key, which likely is at this index.
    #[inline]
    pub fn get_near(&self, key: &Text, index: usize) -> Option<&V> {
        match self.members.get(index) {
            Some((known, value)) if known == key => Some(value),
            _ => self.get(key),
        }
    }

    /// The member at an index, with a mutable value.
    pub fn get_index_mut(&mut self, index: usize) -> Option<(&Text, &mut V)> {
        self.members.get_mut(index).map(|(key, value)| (&*key, value))
    }

    /// The member with this key, with its index and its key.
    pub fn get_full(&self, key: &(impl Key + ?Sized)) -> Option<(usize, &Text, &V)> {
        let index = self.get_index_of(key)?;
        self.get_index(index).map(|(key, value)| (index, key, value))
    }

    /// The member with this key, with its key.
    pub fn get_key_value(&self, key: &(impl Key + ?Sized)) -> Option<(&Text, &V)> {
        self.get_index(self.get_index_of(key)?)
    }

    /// The last member.
    pub fn last(&self) -> Option<(&Text, &V)> {
        self.members.last().map(|(key, value)| (key, value))
    }

    /// The mutable value of this key.
    pub fn get_mut(&mut self, key: &(impl Key + ?Sized)) -> Option<&mut V> {
        let index = self.get_index_of(key)?;
        self.members.get_mut(index).map(|(_, value)| value)
    }

    /// The entry of a key, for changes in place.
    pub fn entry(&mut self, key: Text) -> Entry<'_, V> {
        match self.get_index_of(&key) {
            Some(index) => Entry::Occupied(OccupiedEntry { map: self, index }),
            None => Entry::Vacant(VacantEntry { map: self, key }),
        }
    }

    /// Sets a member in place, or appends it; returns the old value.
    pub fn insert(&mut self, key: Text, value: V) -> Option<V> {
        match self.get_index_of(&key) {
            Some(index) => Some(std::mem::replace(&mut self.members[index].1, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    /// Sets a member and moves it to this index; returns the old value.
    pub fn shift_insert(&mut self, index: usize, key: Text, value: V) -> Option<V> {
        let before = self.shift_remove(&key);
        let index = index.min(self.members.len());
        self.members.insert(index, (key, value));
        self.search = Search::of(&self.members);
        before
    }

    /// Appends a member whose key is new; returns its index.
    pub(crate) fn push(&mut self, key: Text, value: V) -> usize {
        let index = self.members.len();
        self.members.push((key, value));
        match &mut self.search {
            Search::Tags(tags) if index < TAGS => tags.set(index, &self.members[index].0),
            Search::Tags(_) => self.search = Search::of(&self.members),
            Search::Places(places) => places.push(&self.members, index),
        }
        index
    }

    /// Removes a member and keeps the order of the others.
    pub fn shift_remove(&mut self, key: &(impl Key + ?Sized)) -> Option<V> {
        self.shift_remove_full(key).map(|(_, _, value)| value)
    }

    /// As [`Map::shift_remove`]; returns the index and the key too.
    pub fn shift_remove_full(&mut self, key: &(impl Key + ?Sized)) -> Option<(usize, Text, V)> {
        let index = self.get_index_of(key)?;
        match &mut self.search {
            Search::Tags(tags) => tags.remove(index),
            Search::Places(places) => places.remove(&self.members, index),
        }
        let (key, value) = self.members.remove(index);
        Some((index, key, value))
    }

    /// Keeps the members that satisfy the predicate.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut V) -> bool) {
        let before = self.members.len();
        self.members.retain_mut(|(key, value)| keep(key, value));
        if self.members.len() < before {
            self.search = Search::of(&self.members);
        }
    }

    /// The members in order.
    pub fn iter(&self) -> MapIter<'_, V> {
        MapIter(self.members.iter())
    }

    /// The members in order, with mutable values.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&Text, &mut V)> {
        self.members.iter_mut().map(|(key, value)| (&*key, value))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator + Clone {
        self.members.iter().map(|(key, _)| key)
    }

    /// The values in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.members.iter().map(|(_, value)| value)
    }

    /// The mutable values in order.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.members.iter_mut().map(|(_, value)| value)
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self { members: Vec::new(), search: Search::default() }
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Equal members in any order.
impl<V: PartialEq> PartialEq for Map<V> {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        // Fast path: usually the order is the same.
        let mut pairs = self.members.iter().zip(&other.members);
        pairs.all(
            |((key, value), (place, at))| {
                if key == place { value == at } else { other.get(key).is_some_and(|other| value == other) }
            },
        )
    }
}

impl<V: Eq> Eq for Map<V> {}

impl<V> Index<&str> for Map<V> {
    type Output = V;

    fn index(&self, key: &str) -> &V {
        self.get(key).expect("only tests ask for a member that may be missing")
    }
}

impl<V> IndexMut<&str> for Map<V> {
    fn index_mut(&mut self, key: &str) -> &mut V {
        self.get_mut(key).expect("only tests ask for a member that may be missing")
    }
}

impl<V> Extend<(Text, V)> for Map<V> {
    fn extend<I: IntoIterator<Item = (Text, V)>>(&mut self, members: I) {
        let members = members.into_iter();
        self.members.reserve(members.size_hint().0);
        for (key, value) in members {
            self.insert(key, value);
        }
    }
}

impl<V> FromIterator<(Text, V)> for Map<V> {
    fn from_iter<I: IntoIterator<Item = (Text, V)>>(members: I) -> Self {
        let mut map = Self::default();
        map.extend(members);
        map
    }
}

/// An iterator over the members of a [`Map`].
#[derive(Debug)]
pub struct MapIter<'a, V = Value>(slice::Iter<'a, (Text, V)>);

impl<V> Clone for MapIter<'_, V> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'a, V> Iterator for MapIter<'a, V> {
    type Item = (&'a Text, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<V> DoubleEndedIterator for MapIter<'_, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<V> ExactSizeIterator for MapIter<'_, V> {}

impl<V> FusedIterator for MapIter<'_, V> {}

impl<'a, V> IntoIterator for &'a Map<V> {
    type Item = (&'a Text, &'a V);
    type IntoIter = MapIter<'a, V>;

    fn into_iter(self) -> MapIter<'a, V> {
        self.iter()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Text, V);
    type IntoIter = vec::IntoIter<(Text, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// The entry of a key in a [`Map`].
#[derive(Debug)]
pub enum Entry<'a, V = Value> {
    /// The key exists.
    Occupied(OccupiedEntry<'a, V>),
    /// The key does not exist.
    Vacant(VacantEntry<'a, V>),
}

/// An existing member.
#[derive(Debug)]
pub struct OccupiedEntry<'a, V = Value> {
    map: &'a mut Map<V>,
    index: usize,
}

/// A member that may be appended.
#[derive(Debug)]
pub struct VacantEntry<'a, V = Value> {
    map: &'a mut Map<V>,
    key: Text,
}

impl<'a, V> Entry<'a, V> {
    /// The existing value, or else this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The existing value, or else a computed one.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The existing value, or else the default.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<'a, V> OccupiedEntry<'a, V> {
    /// Its index.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The value.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.members[self.index].1
    }

    /// Sets the value; returns the old one.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(&mut self.map.members[self.index].1, value)
    }
}

impl<'a, V> VacantEntry<'a, V> {
    /// Appends the member.
    pub fn insert(self, value: V) -> &'a mut V {
        let index = self.map.push(self.key, value);
        &mut self.map.members[index].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: impl IntoIterator<Item = usize>) -> Map {
        keys.into_iter()
            .map(|key| (key.to_string().into(), Value::from(i64::try_from(key).unwrap())))
            .collect()
    }

    #[test]
    fn keys_with_the_same_tag_are_told_apart() {
        for size in 1..=TAGS + 1 {
            let key = |number: usize| Text::from(format!("a{number:06}z"));
            let mut map: Map = (0..size).map(|number| (key(number), Value::Null)).collect();
            assert!((0..size).all(|number| map.get_index_of(&key(number)) == Some(number)), "{size}");
            assert_eq!(map.get_index_of(&key(size)), None);
            map.shift_remove(&key(0));
            assert!(
                (0..size).all(|number| map.get_index_of(&key(number)) == number.checked_sub(1)),
                "{size}"
            );
        }
    }

    fn keys(map: &Map) -> Vec<usize> {
        map.keys().map(|key| key.parse().unwrap()).collect()
    }

    /// The members of a map are found, and no others.
    fn check(map: &Map) {
        for (index, (key, value)) in map.iter().enumerate() {
            assert_eq!(map.get_full(key), Some((index, key, value)));
        }
        assert!(!map.contains_key("none") && map.get("").is_none());
    }

    #[test]
    fn few_and_many_members_behave_alike() {
        for size in [0, 1, TAGS - 1, TAGS, TAGS + 1, 10 * TAGS] {
            let mut map = of(0..size);
            check(&map);
            assert_eq!(map.len(), size);
            assert_eq!(map.insert("x".into(), Value::Null), None);
            assert_eq!(map.insert("x".into(), Value::from(1)), Some(Value::Null));
            assert_eq!(map.shift_remove_full("x"), Some((size, "x".into(), Value::from(1))));
            assert_eq!(map.shift_remove("x"), None);
            check(&map);
            *map.entry("y".into()).or_default() = Value::from(2);
            assert_eq!(map.entry("y".into()).or_insert(Value::Null), &Value::from(2));
            assert_eq!(map.get_index_of("y"), Some(size));
            map.retain(|key, _| key.parse::<usize>().is_ok_and(|key| key % 3 == 1));
            check(&map);
            assert_eq!(keys(&map), (0..size).filter(|key| key % 3 == 1).collect::<Vec<_>>());
        }
    }

    #[test]
    fn removing_a_member_keeps_the_order() {
        for size in [4, 4 * TAGS] {
            let mut map = of(0..size);
            map.shift_remove("1");
            map.insert("1".into(), Value::Null);
            check(&map);
            assert_eq!(keys(&map), [0].into_iter().chain(2..size).chain([1]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_member_is_inserted_at_an_index() {
        for size in [4, TAGS, 4 * TAGS] {
            let mut map = of(0..size);
            map.shift_insert(1, "3".into(), Value::Null);
            map.shift_insert(1, "x".into(), Value::Null);
            assert_eq!(
                (map.get_index_of("x"), map.get_index_of("3"), map.len()),
                (Some(1), Some(2), size + 1)
            );
            check(&map);
        }
    }

    #[test]
    fn maps_are_equal_in_any_order() {
        for size in [3, 3 * TAGS] {
            assert_eq!(of(0..size), of((0..size).rev()));
            assert_ne!(of(0..size), of(1..=size));
            assert_ne!(of(0..size), of(0..=size));
        }
    }

    #[test]
    fn a_duplicate_key_keeps_its_first_place_and_its_last_value() {
        let twice = [("a", 1), ("b", 2), ("a", 3)].map(|(key, value)| (Text::from(key), Value::from(value)));
        let map = Map::from_iter(twice);
        assert_eq!(format!("{:?}", map.keys().collect::<Vec<_>>()), r#"["a", "b"]"#);
        assert_eq!(map.get("a"), Some(&Value::from(3)));
    }
}
