//! Equality and order of operands.

use std::cmp::Ordering;

use super::matches;
use super::numeric::{compare_numbers, float_of_text, number_in_text, same_number};
use crate::value::{GoDuration, Number, Quantity, Value, Version};

/// Whether the operands are equal, depending on the type of the key. Null equals nothing.
pub(super) fn equals(key: &Value, value: &Value) -> bool {
    match (key, value) {
        (Value::Bool(key), Value::Bool(value)) => key == value,
        (Value::Number(key), Value::Number(value)) => same_number(key, value),
        (Value::Number(key), Value::String(value)) => number_in_text(value, key),
        (Value::String(text), _) => text_equals(text, key, value),
        (Value::Array(_), Value::Array(_)) | (Value::Object(_), Value::Object(_)) => key == value,
        _ => false,
    }
}

/// A string is compared as duration if possible, else as quantity, else as text with wildcards.
fn text_equals(text: &str, key: &Value, value: &Value) -> bool {
    if let Some((key, value)) = durations(key, value) {
        return key == value;
    }
    let Some(pattern) = value.as_str() else { return false };
    match Quantity::parse(text) {
        Ok(quantity) => Quantity::parse(pattern).is_ok_and(|value| value == quantity),
        Err(_) => matches(pattern, text),
    }
}

/// The order of the operands; `None` if they are not comparable.
pub(super) fn order(key: &Value, value: &Value) -> Option<Ordering> {
    match key {
        Value::Number(number) => order_of_number(number, key, value),
        Value::String(text) => order_of_text(text, key, value),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn order_of_number(number: &Number, key: &Value, value: &Value) -> Option<Ordering> {
    match value {
        Value::Number(value) => compare_numbers(number, value),
        Value::String(text) => match durations(key, value) {
            Some((key, value)) => key.partial_cmp(&value),
            None => number.as_f64().partial_cmp(&float_of_text(text)?),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn order_of_text(text: &str, key: &Value, value: &Value) -> Option<Ordering> {
    if let Some((key, value)) = durations(key, value) {
        return key.partial_cmp(&value);
    }
    if let Some(other) = value.as_str()
        && let (Ok(key), Ok(value)) = (Quantity::parse(text), Quantity::parse(other))
    {
        return Some(key.cmp(&value));
    }
    if let Some(number) = float_of_text(text) {
        return order_of_float(number, value);
    }
    let (key, value) = (Version::parse(text).ok()?, Version::parse(value.as_str()?).ok()?);
    Some(key.cmp(&value))
}

/// The order of a number written as text, which may be infinite.
fn order_of_float(key: f64, value: &Value) -> Option<Ordering> {
    match value {
        Value::Number(value) => key.partial_cmp(&value.as_f64()),
        Value::String(text) => match duration_text(text) {
            Some(duration) => {
                GoDuration::from_whole_seconds(key).as_seconds().partial_cmp(&duration.as_seconds())
            }
            None => key.partial_cmp(&float_of_text(text)?),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The order of two durations; a number is a duration in whole seconds. `None` for anything else.
pub(super) fn duration_order(key: &Value, value: &Value) -> Option<Ordering> {
    let duration = |side: &Value| match side {
        Value::Number(number) => Some(seconds(number)),
        Value::String(text) => GoDuration::read(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Some(duration(key)?.cmp(&duration(value)?))
}

/// Both operands in seconds, if one is a duration string and the other a duration string or a number.
fn durations(key: &Value, value: &Value) -> Option<(f64, f64)> {
    let written = |side: &Value| side.as_str().and_then(duration_text);
    let counted = |side: &Value| side.as_number().map(seconds);
    let (key, value) = match (written(key), written(value)) {
        (Some(key), Some(value)) => (key, value),
        (Some(key), None) => (key, counted(value)?),
        (None, Some(value)) => (counted(key)?, value),
        (None, None) => return None,
    };
    Some((key.as_seconds(), value.as_seconds()))
}

/// The duration in a string; `0` is a number.
fn duration_text(text: &str) -> Option<GoDuration> {
    GoDuration::read(text).filter(|_| text != "0")
}

fn seconds(number: &Number) -> GoDuration {
    GoDuration::from_whole_seconds(number.as_f64())
}
