//! Scalars as text, which conditions and merge keys compare.

use std::borrow::Cow;

use crate::value::{Number, Value};

/// The text that a scalar is compared as; `None` for lists and objects.
pub(super) fn scalar_text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Null => "null".into(),
        Value::Bool(true) => "true".into(),
        Value::Bool(false) => "false".into(),
        Value::Number(number) => match number.integer_text() {
            Some(text) if text.len() <= 21 => text.into(),
            // As Go writes a float.
            _ => {
                Number::from_f64(number.as_f64()).map_or_else(|| number.to_string(), |n| n.to_string()).into()
            }
        },
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(_) | Value::Object(_) => return None,
    })
}

/// The text of a merge key's value; `None` where it is null, empty or no scalar.
#[inline]
pub(super) fn key_text(value: &Value) -> Option<Cow<'_, str>> {
    if value.is_null() {
        return None;
    }
    scalar_text(value).filter(|text| !text.is_empty())
}

/// Whether [`key_text`] returns a text.
#[inline]
pub(super) fn has_key_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
