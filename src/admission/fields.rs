//! Fields of objects: reading them, and setting those that are not set.

use crate::value::{Map, Number, Text, Value};

/// A function that changes the JSON of a Go type: its defaults, or its conversion.
pub(super) type Setter = fn(&mut Value);

/// Whether a field of Go's pointers, lists and maps is not set, or a field that is omitted if it is zero is zero.
pub(super) fn unset(object: &Value, field: &str) -> bool {
    object.get(field).is_none_or(Value::is_null)
}

/// The name of a field, without a copy on the heap.
fn key(field: &'static str) -> Text {
    const MAX_INLINE_BYTES: usize = 23;
    if field.len() > MAX_INLINE_BYTES { Text::new_static(field) } else { Text::new(field) }
}

/// Sets a field that is not set.
pub(super) fn set(object: &mut Value, field: &'static str, value: impl FnOnce() -> Value) {
    let key = key(field);
    let written = object.get(&key).map(Value::is_null);
    if written == Some(false) {
        return;
    }
    let Some(members) = object.as_object_mut() else { return };
    if written.is_some() {
        members.insert(key, value());
    } else {
        members.push(key, value());
    }
}

pub(super) fn set_text(object: &mut Value, field: &'static str, text: &str) {
    set(object, field, || Value::from(text));
}

pub(super) fn set_number(object: &mut Value, field: &'static str, number: i64) {
    set(object, field, || Value::from(number));
}

pub(super) fn set_bool(object: &mut Value, field: &'static str, flag: bool) {
    set(object, field, || Value::from(flag));
}

/// Sets a field that is not set to an object without members.
pub(super) fn set_object(object: &mut Value, field: &'static str) {
    set(object, field, Value::empty_object);
}

/// Sets a text that is always written, if it is empty.
pub(super) fn set_empty_text(object: &mut Value, field: &str, text: &str) {
    if text_of(object, field).is_empty() {
        object.insert(field, Value::from(text));
    }
}

/// Sets a number that is always written, if it is zero.
pub(super) fn set_zero(object: &mut Value, field: &str, number: i64) {
    if number_of(object, field) == 0 {
        object.insert(field, Value::from(number));
    }
}

/// A text, or `""`.
pub(super) fn text_of<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// An integer, or 0.
pub(super) fn number_of(object: &Value, field: &str) -> i64 {
    object.get(field).and_then(Value::as_number).and_then(Number::as_i64).unwrap_or_default()
}

/// The elements of a list, or none.
pub(super) fn items<'v>(object: &'v Value, field: &str) -> &'v [Value] {
    object.get(field).and_then(Value::as_array).unwrap_or_default()
}

/// Whether a list or map has no elements.
pub(super) fn is_empty(object: &Value, field: &str) -> bool {
    items(object, field).is_empty() && object.get(field).and_then(Value::as_object).is_none_or(Map::is_empty)
}

/// A field, for changes.
pub(super) fn field_mut<'v>(object: &'v mut Value, field: &str) -> Option<&'v mut Value> {
    object.as_object_mut()?.get_mut(field)
}

/// The elements of a list, for changes.
pub(super) fn items_mut<'v>(object: &'v mut Value, field: &str) -> &'v mut [Value] {
    field_mut(object, field).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Adds those entries of a map that another one lacks.
pub(super) fn add_missing(map: &mut Value, from: &Value) {
    for (key, value) in from.as_object().into_iter().flat_map(Map::iter) {
        if map.get(key).is_none() {
            map.insert(key.clone(), value.clone());
        }
    }
}

/// Adds to a field, a map, those entries that another map has and it lacks.
pub(super) fn add_missing_to(object: &mut Value, field: &str, from: Option<&Value>) {
    let Some(from) = from.filter(|from| from.as_object().is_some_and(|from| !from.is_empty())) else {
        return;
    };
    match field_mut(object, field) {
        Some(map) if !map.is_null() => add_missing(map, from),
        _ => object.insert(field, from.clone()),
    }
}
