//! Values: the JSON data model as Kubernetes objects use it.
//!
//! Keys keep their order, numbers keep their exact value and text, and clones share their contents: cloning a [`Value`]
//! increments a counter, changing a clone copies only the changed path. Also identities of objects, pointers, changes,
//! quantities, durations and versions.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod change;
mod duration;
mod escape;
mod float;
mod hash;
mod json;
mod key;
mod map;
mod number;
mod object;
mod path_set;
mod places;
mod pointer;
mod quantity;
mod shortest;
mod tags;
mod typed_integers;
mod version;

use std::sync::Arc;

use smol_str::SmolStr;

pub use change::{Change, ChangeKind, changes, changes_within};
pub use duration::{DurationError, GoDuration};
pub use escape::{EscapeError, json_escape};
pub use float::{exponent_text, float_text};
pub use hash::distinct;
pub use json::{JsonError, JsonReader, MAX_DEPTH, Places};
pub use key::Key;
pub use map::{Entry, Map, MapIter, OccupiedEntry, VacantEntry};
pub use number::Number;
pub use object::{GroupVersionKind, ObjectRef};
pub use path_set::{PathSet, Step, are_aligned};
pub use pointer::{Pointer, Segment, escaped_token, unescaped_token};
pub use quantity::{Quantity, QuantityError};
pub use shortest::{aligned, shortest_changes};
pub use version::{Version, VersionError};

/// A string of an object, immutable. Short ones, as most names are, are stored in place: copies share no counter that
/// threads would contend for. Longer ones are shared.
pub type Text = SmolStr;

// A text is as large as a value: no more is copied with it.
const _: () = assert!(size_of::<Value>() == size_of::<Text>());

/// A text as a message quotes it: after `max_chars` characters it is cut, which `…` shows.
pub fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The leading ASCII digits of a text, and the rest.
fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// The numbers of equal elements at the start and at the end of two lists; no element counts for both.
pub fn equal_ends<T: PartialEq>(old: &[T], new: &[T]) -> (usize, usize) {
    equal_ends_by(old, new, PartialEq::eq)
}

/// The same for elements that are equal by a test.
pub fn equal_ends_by<T>(old: &[T], new: &[T], is_equal: impl Fn(&T, &T) -> bool) -> (usize, usize) {
    let head = old.iter().zip(new).take_while(|(was, is)| is_equal(was, is)).count();
    let rests = old[head..].iter().rev().zip(new[head..].iter().rev());
    (head, rests.take_while(|(was, is)| is_equal(was, is)).count())
}

/// One node of the JSON data model.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, exact.
    Number(Number),
    /// A string.
    String(Text),
    /// A list.
    Array(Arc<Vec<Self>>),
    /// An object.
    Object(Arc<Map>),
}

impl Value {
    /// A string.
    pub fn string(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    /// A list.
    pub fn array(items: Vec<Self>) -> Self {
        Self::Array(Arc::new(items))
    }

    /// An object.
    pub fn object(members: Map) -> Self {
        Self::Object(Arc::new(members))
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self::object(Map::default())
    }

    /// Parses JSON; duplicate members are an error.
    ///
    /// # Errors
    ///
    /// Text that is not JSON, or nested deeper than [`MAX_DEPTH`].
    pub fn from_json(text: &str) -> Result<Self, JsonError> {
        JsonReader::new(text).read()
    }

    /// The name of the JSON type: `null`, `boolean`, `number`, `string`, `array` or `object`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// Whether this is `null`.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean, if it is one.
    pub const fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if it is one.
    pub const fn as_number(&self) -> Option<&Number> {
        if let Self::Number(number) = self { Some(number) } else { None }
    }

    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The string as shared text, if it is one.
    pub const fn as_text(&self) -> Option<&Text> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The elements, if it is a list.
    pub fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(items) = self { Some(items) } else { None }
    }

    /// The members, if it is an object.
    pub fn as_object(&self) -> Option<&Map> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The mutable elements; copied first if shared.
    pub fn as_array_mut(&mut self) -> Option<&mut Vec<Self>> {
        if let Self::Array(items) = self { Some(Arc::make_mut(items)) } else { None }
    }

    /// Reserves capacity for additional members of an object, where the object is copied for changes too.
    pub fn reserve(&mut self, more: usize) {
        if let Self::Object(members) = self {
            match Arc::get_mut(members) {
                Some(members) => members.reserve(more),
                None => *members = Arc::new(members.with_room(more)),
            }
        }
    }

    /// The mutable members; copied first if shared.
    pub fn as_object_mut(&mut self) -> Option<&mut Map> {
        if let Self::Object(members) = self { Some(Arc::make_mut(members)) } else { None }
    }

    /// The member with this name; `None` if this is not an object.
    #[inline]
    pub fn get(&self, key: &(impl Key + ?Sized)) -> Option<&Self> {
        self.as_object()?.get(key)
    }

    /// The element at this index; `None` if this is not a list.
    pub fn at(&self, index: usize) -> Option<&Self> {
        self.as_array()?.get(index)
    }

    /// The descendant at a path of member names.
    pub fn path(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    /// The node at a pointer.
    pub fn pointed(&self, pointer: &Pointer) -> Option<&Self> {
        pointer.segments().iter().try_fold(self, |node, segment| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.at(*index),
        })
    }

    /// The same, to be changed.
    pub fn pointed_mut(&mut self, pointer: &[Segment]) -> Option<&mut Self> {
        pointer.iter().try_fold(self, |node, segment| match segment {
            Segment::Key(key) => node.as_object_mut()?.get_mut(key),
            Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
        })
    }

    /// The approximate number of bytes as JSON.
    pub fn weight(&self) -> usize {
        /// The bytes of a scalar.
        fn weigh<'v>(node: &'v Value, open: &mut Vec<&'v Value>) -> usize {
            match node {
                Value::String(text) => text.len() + 2,
                Value::Null | Value::Bool(_) | Value::Number(_) => 4,
                Value::Array(_) | Value::Object(_) => {
                    open.push(node);
                    0
                }
            }
        }
        let mut open = Vec::with_capacity(16);
        let mut sum = weigh(self, &mut open);
        while let Some(node) = open.pop() {
            match node {
                Self::Array(items) => {
                    for item in items.iter() {
                        sum += weigh(item, &mut open);
                    }
                }
                Self::Object(members) => {
                    for (key, member) in members.iter() {
                        sum += key.len() + 4 + weigh(member, &mut open);
                    }
                }
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
            }
        }
        sum
    }

    /// The approximate bytes of memory that this value holds and an earlier state of it does not, counted to little more
    /// than `max`. What occurs in several places counts in each.
    pub fn bytes_beside(&self, earlier: &Self, max: usize) -> usize {
        /// Whether nothing is held for a node beside one that is likely its earlier state, or any other one.
        #[inline]
        fn is_free(node: &Value, near: Option<&Value>) -> bool {
            match (node, near) {
                (Value::Null | Value::Bool(_) | Value::Number(_), _) => true,
                (Value::String(text), _) if !text.is_heap_allocated() => true,
                (Value::String(text), Some(Value::String(near))) => text.as_ptr() == near.as_ptr(),
                (Value::Array(_) | Value::Object(_), Some(near)) => node.same_storage(near),
                _ => false,
            }
        }
        /// The bytes of a text. Lists and objects are left open.
        fn held<'v>(
            node: &'v Value,
            earlier: Option<&'v Value>,
            open: &mut Vec<(&'v Value, Option<&'v Value>)>,
        ) -> usize {
            if is_free(node, earlier) {
                return 0;
            }
            if let Value::String(text) = node {
                return text.len();
            }
            open.push((node, earlier));
            0
        }
        let mut open = Vec::with_capacity(16);
        let mut sum = held(self, Some(earlier), &mut open);
        while let Some((node, earlier)) = open.pop() {
            if sum > max {
                break;
            }
            match node {
                Self::Array(items) => {
                    sum += items.len() * size_of::<Self>();
                    let earlier = earlier.and_then(Self::as_array).unwrap_or_default();
                    for (index, item) in items.iter().enumerate() {
                        sum += held(item, earlier.get(index), &mut open);
                    }
                }
                Self::Object(members) => {
                    sum += size_of::<Map>() + members.held_bytes();
                    let earlier = earlier.and_then(Self::as_object);
                    for (index, (key, member)) in members.iter().enumerate() {
                        let near = earlier.and_then(|earlier| earlier.get_index(index));
                        if !is_free(member, near.map(|(_, near)| near)) {
                            let earlier = earlier.and_then(|earlier| earlier.get_near(key, index));
                            sum += held(member, earlier, &mut open);
                        }
                    }
                }
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
            }
        }
        sum
    }

    /// Sets a member; does nothing if this is not an object.
    pub fn insert(&mut self, key: impl Into<Text>, value: Self) {
        if let Some(members) = self.as_object_mut() {
            members.insert(key.into(), value);
        }
    }

    /// Removes a member and keeps the order of the others.
    pub fn remove(&mut self, key: &(impl Key + ?Sized)) -> Option<Self> {
        self.get(key)?;
        self.as_object_mut()?.shift_remove(key)
    }

    /// Whether two values share the same storage, or are equal strings.
    #[inline]
    pub fn same_storage(&self, other: &Self) -> bool {
        match (self.address(), other.address()) {
            (0, 0) => matches!((self, other), (Self::String(a), Self::String(b)) if a == b),
            (one, other) => one == other,
        }
    }

    /// Gives back the capacity that maps of this value do not use, where they are not shared.
    pub fn shrink_to_fit(&mut self) {
        match self {
            Self::Array(items) => {
                Arc::get_mut(items).into_iter().flatten().for_each(Self::shrink_to_fit);
            }
            Self::Object(members) => {
                if let Some(members) = Arc::get_mut(members) {
                    members.shrink_to_fit();
                    members.values_mut().for_each(Self::shrink_to_fit);
                }
            }
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
        }
    }

    /// Shares with another value what both have at the same place, written the same; keeps memory low. Nothing changes but
    /// where it is stored. Whether all is the same.
    pub fn share_with(&mut self, other: &Self) -> bool {
        let is_same = match (&mut *self, other) {
            (Self::Array(items), Self::Array(others)) => {
                let Some(items) = Arc::get_mut(items) else { return self.same_storage(other) };
                let mut is_same = items.len() == others.len();
                for (item, other) in items.iter_mut().zip(others.iter()) {
                    is_same &= item.share_with(other);
                }
                is_same
            }
            (Self::Object(members), Self::Object(others)) => {
                let Some(members) = Arc::get_mut(members) else { return self.same_storage(other) };
                let mut is_same = members.len() == others.len();
                for (index, (key, member)) in members.iter_mut().enumerate() {
                    let is_at_index = others.get_index(index).is_some_and(|(known, _)| known == key);
                    let known = others.get_near(key, index);
                    is_same &= known.is_some_and(|other| member.share_with(other)) && is_at_index;
                }
                is_same
            }
            (Self::Number(one), Self::Number(other)) => {
                return one.is_written_as_integer() && other.is_written_as_integer() && one == other;
            }
            (one, other) => return *one == *other,
        };
        if is_same {
            *self = other.clone();
        }
        is_same
    }

    /// The address of the elements or members; 0 for a scalar.
    #[inline]
    fn address(&self) -> usize {
        match self {
            Self::Array(items) => Arc::as_ptr(items).addr(),
            Self::Object(members) => Arc::as_ptr(members).addr(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => 0,
        }
    }

    /// The nesting depth: 0 for a scalar.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut open = vec![(self, 0)];
        while let Some((node, depth)) = open.pop() {
            deepest = deepest.max(depth);
            match node {
                Self::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Self::Object(members) => open.extend(members.values().map(|member| (member, depth + 1))),
                Self::Null | Self::Bool(_) | Self::Number(_) | Self::String(_) => {}
            }
        }
        deepest
    }
}

/// Equal content: numbers by value, objects in any order of keys.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Array(a), Self::Array(b)) => Arc::ptr_eq(a, b) || a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Null, Self::Null) => true,
            _ => false,
        }
    }
}

impl Eq for Value {}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(Number::from(value))
    }
}

impl From<Number> for Value {
    fn from(value: Number) -> Self {
        Self::Number(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.into())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into())
    }
}

impl From<Text> for Value {
    fn from(value: Text) -> Self {
        Self::String(value)
    }
}

impl From<Vec<Self>> for Value {
    fn from(items: Vec<Self>) -> Self {
        Self::array(items)
    }
}

impl<K: Into<Text>> FromIterator<(K, Self)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, Self)>>(members: I) -> Self {
        Self::object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn a_change_of_a_clone_leaves_the_original_alone() {
        let original = json(r#"{"a":{"b":1}}"#);
        let mut clone = original.clone();
        clone.as_object_mut().unwrap()["a"].insert("b", Value::from(2));
        assert_eq!(original, json(r#"{"a":{"b":1}}"#));
        assert_eq!(clone, json(r#"{"a":{"b":2}}"#));
    }

    #[test]
    fn values_share_what_is_written_the_same() {
        let other = json(r#"{"a":{"b":[1,{"c":"x"}]},"d":[2],"e":{"f":1,"g":2}}"#);
        let mut value = json(r#"{"a":{"b":[1,{"c":"x"}]},"d":[3],"e":{"g":2,"f":1},"h":[1.0]}"#);
        let before = value.to_json();
        assert!(!value.share_with(&other));
        assert_eq!(value.to_json(), before);
        let is_shared = |key: &str| value.get(key).unwrap().same_storage(other.get(key).unwrap());
        assert_eq!(["a", "d", "e"].map(is_shared), [true, false, false]);
        let mut same = json(&other.to_json());
        assert!(same.share_with(&other) && same.same_storage(&other));
    }

    #[test]
    fn the_order_of_keys_does_not_count_and_that_of_elements_does() {
        assert_eq!(json(r#"{"a":1,"b":2}"#), json(r#"{"b":2.0,"a":1}"#));
        assert_ne!(json("[1,2]"), json("[2,1]"));
        assert_ne!(json("1"), json(r#""1""#));
    }

    #[test]
    fn depth_counts_nested_collections() {
        assert_eq!(json("1").depth(), 0);
        assert_eq!(json(r#"{"a":[[]]}"#).depth(), 2);
    }

    #[test]
    fn a_value_is_three_words() {
        assert!(size_of::<Value>() <= 24);
    }
}
