//! Values of CEL, over the JSON values of manifests.

pub(super) mod number;

/// How often elements were read and values compared, for tests of what is charged.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count() {
        STEPS.set(STEPS.get() + 1);
    }

    /// The steps since the last call.
    pub(in crate::cel) fn take() -> u64 {
        STEPS.replace(0)
    }
}

use std::cmp::Ordering;
use std::sync::Arc;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::value::{Map, Number, Text, Value};

use crate::cel::error::EvalError;
use crate::cel::meter::Meter;
use crate::cel::opaque::Opaque;
use crate::cel::stamp::Stamp;
use crate::cel::types::Type;

/// What the numbers of manifests are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// Integers are ints, as in the API server and Kyverno's controllers.
    #[default]
    Exact,
    /// All are doubles, as in the Kyverno CLI.
    Doubles,
}

/// A value of CEL. Clones share their contents.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Val {
    /// Null.
    Null,
    /// A boolean.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A floating-point number.
    Double(f64),
    /// A text.
    String(Text),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Stamp),
    /// A type.
    Type(Arc<Type>),
    /// A value that may be absent.
    Optional(Option<Arc<Self>>),
    /// A list.
    List(List),
    /// A map.
    Map(Mapping),
    /// A constructed message, such as `Object{…}`.
    Message(Arc<MessageVal>),
    /// A value of a library.
    Opaque(Arc<Opaque>),
}

/// A list of a manifest, or one that was made.
#[derive(Clone, Debug)]
pub enum List {
    /// Of a manifest.
    Json(Arc<Vec<Value>>, Numbers),
    /// Made by an expression.
    Made(Arc<Vec<Val>>),
    /// Joined of two lists with `+`.
    Joined(Arc<Vec<Val>>),
}

/// A map of a manifest, or one that was made.
#[derive(Clone, Debug)]
pub enum Mapping {
    /// Of a manifest.
    Json(Arc<Map>, Numbers),
    /// Made by an expression.
    Made(Arc<Entries>),
}

/// The entries of a map that was made, in the order in which they were inserted.
pub type Entries = IndexMap<Key, Val, RandomState>;

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A boolean.
    Bool(bool),
    /// A signed number.
    Int(i64),
    /// An unsigned number.
    Uint(u64),
    /// A text.
    String(Text),
}

/// A constructed message.
#[derive(Clone, Debug)]
pub struct MessageVal {
    /// The name of its type.
    pub name: Text,
    /// Its fields in the order of the source.
    pub fields: IndexMap<Text, Val, RandomState>,
}

impl Val {
    pub(super) fn string(text: impl Into<Text>) -> Self {
        Self::String(text.into())
    }

    pub(super) fn bytes(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::Bytes(bytes.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Made(Arc::new(items)))
    }

    pub(super) fn map(entries: Entries) -> Self {
        Self::Map(Mapping::Made(Arc::new(entries)))
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    pub(super) const NONE: Self = Self::Optional(None);

    /// The value of a part of a manifest.
    pub fn from_json(value: &Value, numbers: Numbers) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => number_value(number, numbers),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(items) => Self::List(List::Json(items.clone(), numbers)),
            Value::Object(members) => Self::Map(Mapping::Json(members.clone(), numbers)),
        }
    }

    /// The name of the type as messages and `type()` have it.
    pub fn type_name(&self) -> &str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Message(message) => &message.name,
            Self::Opaque(opaque) => opaque.type_name(),
        }
    }

    /// What `type()` makes of it.
    pub(super) fn type_of(&self) -> Type {
        match self {
            Self::Null => Type::Null,
            Self::Bool(_) => Type::Bool,
            Self::Int(_) => Type::Int,
            Self::Uint(_) => Type::Uint,
            Self::Double(_) => Type::Double,
            Self::String(_) => Type::String,
            Self::Bytes(_) => Type::Bytes,
            Self::Duration(_) => Type::Duration,
            Self::Timestamp(_) => Type::Timestamp,
            Self::Type(_) => Type::Type(None),
            Self::Optional(_) => Type::optional(Type::Dyn),
            Self::List(_) => Type::list(Type::Dyn),
            Self::Map(_) => Type::map(Type::Dyn, Type::Dyn),
            Self::Message(_) => Type::Type(None),
            Self::Opaque(opaque) => Type::named(opaque.type_name()),
        }
    }

    /// The number of characters, bytes, elements or entries; of others 1.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::String(text) => chars(text),
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(list) => list.len() as u64,
            Self::Map(map) => map.len() as u64,
            _ => 1,
        }
    }

    /// As a key of a map.
    pub(super) fn key(&self) -> Option<Key> {
        Some(match self {
            Self::Bool(value) => Key::Bool(*value),
            Self::Int(value) => Key::Int(*value),
            Self::Uint(value) => Key::Uint(*value),
            Self::String(text) => Key::String(text.clone()),
            _ => return None,
        })
    }

    /// As messages write it.
    pub(super) fn display(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Uint(value) => value.to_string(),
            Self::Double(value) => number::double_text(*value),
            Self::String(text) => text.to_string(),
            other => other.type_name().to_owned(),
        }
    }
}

/// The number of characters.
pub(super) fn chars(text: &str) -> u64 {
    if text.is_ascii() { text.len() as u64 } else { text.chars().count() as u64 }
}

fn number_value(number: &Number, numbers: Numbers) -> Val {
    if numbers == Numbers::Exact
        && number.is_written_as_integer()
        && let Some(value) = number.as_i64()
    {
        return Val::Int(value);
    }
    Val::Double(number.as_f64())
}

impl List {
    /// The number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(items, _) => items.len(),
            Self::Made(items) | Self::Joined(items) => items.len(),
        }
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// An element.
    pub fn get(&self, index: usize) -> Option<Val> {
        #[cfg(test)]
        steps::count();
        match self {
            Self::Json(items, numbers) => items.get(index).map(|item| Val::from_json(item, *numbers)),
            Self::Made(items) | Self::Joined(items) => items.get(index).cloned(),
        }
    }

    /// The elements.
    pub fn iter(&self) -> impl Iterator<Item = Val> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl Mapping {
    /// The number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(members, _) => members.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a text key.
    pub fn get(&self, key: &Text) -> Option<Val> {
        match self {
            Self::Json(members, numbers) => members.get(key).map(|value| Val::from_json(value, *numbers)),
            Self::Made(entries) => entries.get(&Key::String(key.clone())).cloned(),
        }
    }

    /// The value of a key; numbers are found by their value.
    pub(super) fn find(&self, key: &Val) -> Option<Val> {
        if let Val::String(text) = key {
            return self.get(text);
        }
        let Self::Made(entries) = self else { return None };
        match key {
            Val::Bool(value) => entries.get(&Key::Bool(*value)),
            Val::Int(_) | Val::Uint(_) | Val::Double(_) => {
                let int = number::lossless_int(key).and_then(|int| entries.get(&Key::Int(int)));
                int.or_else(|| number::lossless_uint(key).and_then(|uint| entries.get(&Key::Uint(uint))))
            }
            _ => None,
        }
        .cloned()
    }

    /// The entry at a position.
    pub(super) fn at(&self, index: usize) -> Option<(Val, Val)> {
        #[cfg(test)]
        steps::count();
        match self {
            Self::Json(members, numbers) => members
                .get_index(index)
                .map(|(key, value)| (Val::String(key.clone()), Val::from_json(value, *numbers))),
            Self::Made(entries) => entries.get_index(index).map(|(key, value)| (key.value(), value.clone())),
        }
    }

    /// The entries in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Val, Val)> + '_ {
        (0..self.len()).filter_map(|index| self.at(index))
    }
}

impl Key {
    /// The key as a value.
    pub fn value(&self) -> Val {
        match self {
            Self::Bool(value) => Val::Bool(*value),
            Self::Int(value) => Val::Int(*value),
            Self::Uint(value) => Val::Uint(*value),
            Self::String(text) => Val::String(text.clone()),
        }
    }
}

/// Whether two values are equal; values of different types are not, numbers by their value.
///
/// # Errors
///
/// The limit of visits: lists may have one value in many places.
pub(super) fn equal(meter: &mut Meter, a: &Val, b: &Val) -> Result<bool, EvalError> {
    meter.visit(1)?;
    Ok(match (a, b) {
        (Val::Null, Val::Null) => true,
        (Val::Bool(a), Val::Bool(b)) => a == b,
        (Val::String(a), Val::String(b)) => {
            meter.visit_text(a.len().min(b.len()))?;
            a == b
        }
        (Val::Bytes(a), Val::Bytes(b)) => {
            meter.visit_text(a.len().min(b.len()))?;
            a == b
        }
        (Val::Duration(a), Val::Duration(b)) => a == b,
        (Val::Timestamp(a), Val::Timestamp(b)) => a == b,
        (Val::Type(a), Val::Type(b)) => type_names_equal(a, b),
        (Val::Optional(None), Val::Optional(None)) => true,
        (Val::Optional(Some(a)), Val::Optional(Some(b))) => equal(meter, a, b)?,
        (Val::List(a), Val::List(b)) => {
            a.len() == b.len() && all(a.iter().zip(b.iter()), |(a, b)| equal(meter, &a, &b))?
        }
        (Val::Map(a), Val::Map(b)) => {
            a.len() == b.len()
                && all(a.iter(), |(key, value)| match find(meter, b, &key)? {
                    Some(other) => equal(meter, &value, &other),
                    None => Ok(false),
                })?
        }
        (Val::Message(a), Val::Message(b)) => {
            a.name == b.name
                && a.fields.len() == b.fields.len()
                && all(&a.fields, |(name, value)| match b.fields.get(name) {
                    Some(other) => equal(meter, value, other),
                    None => Ok(false),
                })?
        }
        (Val::Opaque(a), Val::Opaque(b)) => {
            meter.visit_text(a.text_bytes())?;
            a == b
        }
        _ => number::compare(a, b) == Some(Ordering::Equal),
    })
}

/// Whether a list has an element that is equal to a value.
pub(super) fn has(meter: &mut Meter, list: &List, item: &Val) -> Result<bool, EvalError> {
    for other in list.iter() {
        if equal(meter, item, &other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a map has under a key, whose text is read.
fn find(meter: &mut Meter, map: &Mapping, key: &Val) -> Result<Option<Val>, EvalError> {
    if let Val::String(text) = key {
        meter.visit_text(text.len())?;
    }
    Ok(map.find(key))
}

/// Whether all items fit.
fn all<T>(
    items: impl IntoIterator<Item = T>,
    mut fits: impl FnMut(T) -> Result<bool, EvalError>,
) -> Result<bool, EvalError> {
    for item in items {
        if !fits(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn type_names_equal(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::List(_), Type::List(_))
        | (Type::Map(_), Type::Map(_))
        | (Type::Optional(_), Type::Optional(_))
        | (Type::Type(_), Type::Type(_)) => true,
        _ => a == b,
    }
}

/// The name of a type without its parts, as `type()` prints it.
pub(super) fn type_name(t: &Type) -> String {
    match t {
        Type::List(_) => "list".to_owned(),
        Type::Map(_) => "map".to_owned(),
        Type::Optional(_) => "optional_type".to_owned(),
        Type::Type(_) => "type".to_owned(),
        Type::Null => "null_type".to_owned(),
        Type::Duration => "google.protobuf.Duration".to_owned(),
        Type::Timestamp => "google.protobuf.Timestamp".to_owned(),
        other => other.to_string(),
    }
}

/// The order of two values of comparable types.
pub(super) fn compare(a: &Val, b: &Val) -> Result<Option<Ordering>, EvalError> {
    #[cfg(test)]
    steps::count();
    match (a, b) {
        (Val::Bool(a), Val::Bool(b)) => Ok(Some(a.cmp(b))),
        (Val::String(a), Val::String(b)) => Ok(Some(a.cmp(b))),
        (Val::Bytes(a), Val::Bytes(b)) => Ok(Some(a.cmp(b))),
        (Val::Duration(a), Val::Duration(b)) => Ok(Some(a.cmp(b))),
        (Val::Timestamp(a), Val::Timestamp(b)) => Ok(Some(a.cmp(b))),
        (Val::Int(_) | Val::Uint(_) | Val::Double(_), Val::Int(_) | Val::Uint(_) | Val::Double(_)) => {
            Ok(number::compare(a, b))
        }
        _ => Err(EvalError::no_overload()),
    }
}
