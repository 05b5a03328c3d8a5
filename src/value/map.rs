//! The members of an object.

use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Index, IndexMut};
use std::{slice, vec};

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::{Text, Value};

/// So many members are sooner compared with each other than looked up.
const FEW: usize = 16;

/// The members of an object, in their written order; each key stands once.
///
/// Objects of Kubernetes have few members in each place: what few members there are is looked through, and only
/// where there are many a table tells the place of a key.
#[derive(Clone)]
pub struct Map<V = Value> {
    members: Vec<(Text, V)>,
    /// The keys, at the same places, where there are many.
    places: Option<Box<IndexSet<Text, RandomState>>>,
}

impl<V> Map<V> {
    /// A map with room for so many members.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { members: Vec::with_capacity(capacity), places: None }
    }

    /// Makes room for so many more members.
    pub fn reserve(&mut self, more: usize) {
        self.members.reserve(more);
    }

    /// A copy with room for so many more members.
    #[must_use]
    pub fn with_room(&self, more: usize) -> Self
    where
        V: Clone,
    {
        let mut members = Vec::with_capacity(self.members.len() + more);
        members.extend_from_slice(&self.members);
        Self { members, places: self.places.clone() }
    }

    /// How many members there are.
    pub const fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The place of a key.
    pub fn get_index_of(&self, key: &str) -> Option<usize> {
        match &self.places {
            None => self.members.iter().position(|(known, _)| **known == *key),
            Some(places) => places.get_index_of(key),
        }
    }

    /// The member at a place.
    pub fn get_index(&self, index: usize) -> Option<(&Text, &V)> {
        self.members.get(index).map(|(key, value)| (key, value))
    }

    /// Whether there is a member of this name.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get_index_of(key).is_some()
    }

    /// The member of this name.
    pub fn get(&self, key: &str) -> Option<&V> {
        match &self.places {
            None => self.members.iter().find(|(known, _)| **known == *key).map(|(_, value)| value),
            Some(places) => self.members.get(places.get_index_of(key)?).map(|(_, value)| value),
        }
    }

    /// The member at a place, for a change of its value.
    pub fn get_index_mut(&mut self, index: usize) -> Option<(&Text, &mut V)> {
        self.members.get_mut(index).map(|(key, value)| (&*key, value))
    }

    /// The member of this name, with its place and its key.
    pub fn get_full(&self, key: &str) -> Option<(usize, &Text, &V)> {
        let index = self.get_index_of(key)?;
        self.get_index(index).map(|(key, value)| (index, key, value))
    }

    /// The member of this name, with its key.
    pub fn get_key_value(&self, key: &str) -> Option<(&Text, &V)> {
        self.get_index(self.get_index_of(key)?)
    }

    /// The last member.
    pub fn last(&self) -> Option<(&Text, &V)> {
        self.members.last().map(|(key, value)| (key, value))
    }

    /// The member of this name, for a change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        let index = self.get_index_of(key)?;
        self.members.get_mut(index).map(|(_, value)| value)
    }

    /// The place of a key, for a change of what stands there.
    pub fn entry(&mut self, key: Text) -> Entry<'_, V> {
        match self.get_index_of(&key) {
            Some(index) => Entry::Occupied(OccupiedEntry { map: self, index }),
            None => Entry::Vacant(VacantEntry { map: self, key }),
        }
    }

    /// Sets a member, in its place or last; what it was before.
    pub fn insert(&mut self, key: Text, value: V) -> Option<V> {
        match self.get_index_of(&key) {
            Some(index) => Some(std::mem::replace(&mut self.members[index].1, value)),
            None => {
                self.push(key, value);
                None
            }
        }
    }

    /// Sets a member in this place, wherever it stood before; what it was before.
    pub fn shift_insert(&mut self, index: usize, key: Text, value: V) -> Option<V> {
        let before = self.shift_remove(&key);
        let index = index.min(self.members.len());
        self.members.insert(index, (key, value));
        self.places = (self.members.len() > FEW).then(|| Box::new(self.keys().cloned().collect()));
        before
    }

    /// Puts a member last that is not there; its place.
    fn push(&mut self, key: Text, value: V) -> usize {
        let index = self.members.len();
        if let Some(places) = &mut self.places {
            places.insert(key.clone());
        } else if index == FEW {
            let keys = self.members.iter().map(|(key, _)| key);
            self.places = Some(Box::new(keys.chain([&key]).cloned().collect()));
        }
        self.members.push((key, value));
        index
    }

    /// Removes a member, the order of the others kept.
    pub fn shift_remove(&mut self, key: &str) -> Option<V> {
        self.shift_remove_full(key).map(|(_, _, value)| value)
    }

    /// The same; gives the place where it stood and its key too.
    pub fn shift_remove_full(&mut self, key: &str) -> Option<(usize, Text, V)> {
        let index = self.get_index_of(key)?;
        if let Some(places) = &mut self.places {
            places.shift_remove_index(index);
        }
        let (key, value) = self.members.remove(index);
        Some((index, key, value))
    }

    /// Keeps the members that fit.
    pub fn retain(&mut self, mut keep: impl FnMut(&Text, &mut V) -> bool) {
        self.members.retain_mut(|(key, value)| keep(key, value));
        if self.places.is_some() {
            self.places = Some(Box::new(self.keys().cloned().collect()));
        }
    }

    /// The members, in their order.
    pub fn iter(&self) -> MapIter<'_, V> {
        MapIter(self.members.iter())
    }

    /// The members, in their order, for a change of their values.
    pub fn iter_mut(&mut self) -> MapIterMut<'_, V> {
        MapIterMut(self.members.iter_mut())
    }

    /// The keys, in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &Text> + ExactSizeIterator + Clone {
        self.members.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.members.iter().map(|(_, value)| value)
    }

    /// The values, in the order of their keys, for a change.
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.members.iter_mut().map(|(_, value)| value)
    }
}

impl<V> Default for Map<V> {
    fn default() -> Self {
        Self { members: Vec::new(), places: None }
    }
}

impl<V: fmt::Debug> fmt::Debug for Map<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// The same members, whatever their order.
impl<V: PartialEq> PartialEq for Map<V> {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        // Mostly the order is the same.
        let mut pairs = self.members.iter().zip(&other.members);
        pairs.all(
            |((key, value), (place, at))| {
                if key == place { value == at } else { other.get(key).is_some_and(|other| value == other) }
            },
        )
    }
}

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

/// The members of a [`Map`], in their order.
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

/// The members of a [`Map`], in their order, for a change of their values.
#[derive(Debug)]
pub struct MapIterMut<'a, V = Value>(slice::IterMut<'a, (Text, V)>);

impl<'a, V> Iterator for MapIterMut<'a, V> {
    type Item = (&'a Text, &'a mut V);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, V> IntoIterator for &'a mut Map<V> {
    type Item = (&'a Text, &'a mut V);
    type IntoIter = MapIterMut<'a, V>;

    fn into_iter(self) -> MapIterMut<'a, V> {
        self.iter_mut()
    }
}

impl<V> IntoIterator for Map<V> {
    type Item = (Text, V);
    type IntoIter = vec::IntoIter<(Text, V)>;

    fn into_iter(self) -> Self::IntoIter {
        self.members.into_iter()
    }
}

/// The place of a key in a [`Map`].
#[derive(Debug)]
pub enum Entry<'a, V = Value> {
    /// A member stands there.
    Occupied(OccupiedEntry<'a, V>),
    /// None does.
    Vacant(VacantEntry<'a, V>),
}

/// A member that is there.
#[derive(Debug)]
pub struct OccupiedEntry<'a, V = Value> {
    map: &'a mut Map<V>,
    index: usize,
}

/// A member that may be put last.
#[derive(Debug)]
pub struct VacantEntry<'a, V = Value> {
    map: &'a mut Map<V>,
    key: Text,
}

impl<'a, V> Entry<'a, V> {
    /// The value that is there, or this one.
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }

    /// The value that is there, or one that is made.
    pub fn or_insert_with(self, make: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(make()),
        }
    }

    /// The value that is there, or the default of values.
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
}

impl<'a, V> OccupiedEntry<'a, V> {
    /// Its place.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The value.
    pub fn into_mut(self) -> &'a mut V {
        &mut self.map.members[self.index].1
    }

    /// Sets the value; what it was before.
    pub fn insert(&mut self, value: V) -> V {
        std::mem::replace(&mut self.map.members[self.index].1, value)
    }
}

impl<'a, V> VacantEntry<'a, V> {
    /// Puts the member last.
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

    fn keys(map: &Map) -> Vec<usize> {
        map.keys().map(|key| key.parse().unwrap()).collect()
    }

    /// The members of a map are found where they stand, and no others.
    fn check(map: &Map) {
        for (index, (key, value)) in map.iter().enumerate() {
            assert_eq!(map.get_full(key), Some((index, key, value)));
        }
        assert!(!map.contains_key("none") && map.get("").is_none());
    }

    #[test]
    fn few_and_many_members_behave_alike() {
        for size in [0, 1, FEW - 1, FEW, FEW + 1, 10 * FEW] {
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
    fn a_member_removed_from_the_middle_leaves_the_order() {
        for size in [4, 4 * FEW] {
            let mut map = of(0..size);
            map.shift_remove("1");
            map.insert("1".into(), Value::Null);
            check(&map);
            assert_eq!(keys(&map), [0].into_iter().chain(2..size).chain([1]).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_member_is_put_in_the_place_that_is_asked_for() {
        for size in [4, FEW, 4 * FEW] {
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
    fn the_order_does_not_count_and_the_keys_do() {
        for size in [3, 3 * FEW] {
            assert_eq!(of(0..size), of((0..size).rev()));
            assert_ne!(of(0..size), of(1..=size));
            assert_ne!(of(0..size), of(0..=size));
        }
    }

    #[test]
    fn a_key_that_comes_twice_keeps_its_first_place_and_its_last_value() {
        let twice = [("a", 1), ("b", 2), ("a", 3)].map(|(key, value)| (Text::from(key), Value::from(value)));
        let map = Map::from_iter(twice);
        assert_eq!(format!("{:?}", map.keys().collect::<Vec<_>>()), r#"["a", "b"]"#);
        assert_eq!(map.get("a"), Some(&Value::from(3)));
    }
}
