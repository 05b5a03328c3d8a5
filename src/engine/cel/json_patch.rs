//! From `JSONPatch{…}` to operations.
//!
//! Values become JSON as in the API server and Kyverno, by way of protobuf. Fields of an `Object{…}` are converted in
//! another way than everything else: there maps and lists that the expression made do not nest, and null, durations and
//! timestamps are no values.

use crate::cel::{Entries, EvalError, Key, List, Mapping, MessageVal, Meter, Val, part_to_json};
use crate::patch::ComputedOperation;
use crate::value::{Map, Number, Value};

use super::failure::MutationError;
use super::type_names;

/// The largest whole number that stays one on the way through a double.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The deepest value that is converted.
const MAX_DEPTH: usize = 1_000;

type Converted = Result<Value, MutationError>;

/// The operations of a list of `JSONPatch`.
///
/// # Errors
///
/// Values that are no JSON, or whose type names do not fit their places; values on which the API server and Kyverno
/// crash.
pub(super) fn operations(patch: &Val) -> Result<Vec<ComputedOperation>, MutationError> {
    let Val::List(list) = patch else {
        return Err(EvalError::NoSuchOverload(String::new()).into());
    };
    // One value may occur in several places and operations.
    let mut meter = Meter::default();
    list.iter().map(|item| operation(&mut meter, &item)).collect()
}

fn operation(meter: &mut Meter, item: &Val) -> Result<ComputedOperation, MutationError> {
    let Val::Message(message) = unwrapped(item) else {
        return Err(EvalError::NoSuchOverload(String::new()).into());
    };
    let text = |name: &str| match message.fields.get(name).map(unwrapped) {
        Some(Val::String(text)) => text.clone(),
        _ => "".into(),
    };
    let value = message.fields.get("value").map(|found| value(meter, found)).transpose()?;
    Ok(ComputedOperation { op: text("op"), path: text("path"), from: text("from"), value })
}

fn unwrapped(value: &Val) -> &Val {
    match value {
        Val::Optional(Some(inner)) => unwrapped(inner),
        other => other,
    }
}

fn value(meter: &mut Meter, value: &Val) -> Converted {
    match unwrapped(value) {
        Val::Message(message) if is_object(message) => {
            if let Some(error) = type_names::mismatch(meter, message)? {
                return Err(error.into());
            }
            fields(meter, message, true, 0)
        }
        other => plain(meter, other, 0),
    }
}

/// Whether it is an `Object{…}`.
fn is_object(message: &MessageVal) -> bool {
    message.name.split('.').next() == Some("Object")
}

/// A value that is not in an `Object{…}`.
fn plain(meter: &mut Meter, value: &Val, depth: usize) -> Converted {
    let depth = deeper(meter, depth)?;
    match unwrapped(value) {
        Val::Optional(_) => Err(MutationError::AbsentValue),
        Val::Message(message) if is_object(message) => Err(MutationError::CrashesOnObjects),
        Val::List(List::Made(items)) => all(items, |item| plain(meter, item, depth)),
        Val::List(List::Joined(items)) => all(items, |item| inside(meter, item, false, depth)),
        Val::Map(Mapping::Made(entries)) => members(entries, |value| plain(meter, value, depth)),
        other @ (Val::Message(_) | Val::Type(_)) => Err(no_value(other)),
        other @ Val::Double(_) => Ok(part_to_json(other, meter)?),
        other => Ok(with_numbers(part_to_json(other, meter)?, is_unsafe, as_text)),
    }
}

/// The fields of an `Object{…}`. `is_strict`: not in a list that was joined.
fn fields(meter: &mut Meter, message: &MessageVal, is_strict: bool, depth: usize) -> Converted {
    let depth = deeper(meter, depth)?;
    let mut field = |value: &Val| match unwrapped(value) {
        Val::List(List::Made(items)) => all(items, |item| inside(meter, item, is_strict, depth)),
        Val::Map(Mapping::Made(entries)) => members(entries, |value| inside(meter, value, is_strict, depth)),
        other => inside(meter, other, is_strict, depth),
    };
    let converted: Result<Map, _> =
        message.fields.iter().map(|(name, value)| Ok((name.clone(), field(value)?))).collect();
    converted.map(Value::object)
}

/// A value in a field of an `Object{…}`, or in a list that was joined.
fn inside(meter: &mut Meter, value: &Val, is_strict: bool, depth: usize) -> Converted {
    let depth = deeper(meter, depth)?;
    match unwrapped(value) {
        Val::Optional(_) => Ok(Value::Null),
        Val::Message(message) if is_object(message) => fields(meter, message, is_strict, depth),
        Val::List(List::Joined(items)) => all(items, |item| inside(meter, item, is_strict, depth)),
        other @ Val::Type(_) => Ok(part_to_json(other, meter)?),
        other @ (Val::List(List::Json(..)) | Val::Map(Mapping::Json(..)) | Val::Int(_) | Val::Uint(_))
            if is_strict =>
        {
            Ok(with_numbers(part_to_json(other, meter)?, is_unsafe, rounded))
        }
        other @ (Val::Bool(_) | Val::Double(_) | Val::String(_) | Val::Bytes(_)) => {
            Ok(part_to_json(other, meter)?)
        }
        other if is_strict => Err(no_value(other)),
        other => plain(meter, other, depth),
    }
}

fn all(items: &[Val], mut convert: impl FnMut(&Val) -> Converted) -> Converted {
    items.iter().map(&mut convert).collect::<Result<Vec<_>, _>>().map(Value::array)
}

fn members(entries: &Entries, mut convert: impl FnMut(&Val) -> Converted) -> Converted {
    let member = |(key, value): (&Key, &Val)| match key {
        Key::String(key) => Ok((key.clone(), convert(value)?)),
        _ => Err(MutationError::NoTextKey),
    };
    entries.iter().map(member).collect::<Result<Map, _>>().map(Value::object)
}

fn no_value(value: &Val) -> MutationError {
    MutationError::NoValue(value.type_name().to_owned())
}

/// Counts a value, and the level that it is on.
fn deeper(meter: &mut Meter, depth: usize) -> Result<usize, MutationError> {
    meter.visit(1)?;
    if depth >= MAX_DEPTH {
        return Err(MutationError::TooDeep);
    }
    Ok(depth + 1)
}

/// Whether a double cannot have it.
fn is_unsafe(number: &Number) -> bool {
    let is_safe = |number: i64| number.unsigned_abs() <= MAX_SAFE_INTEGER;
    number.is_written_as_integer() && !number.as_i64().is_some_and(is_safe)
}

fn as_text(number: &Number) -> Value {
    Value::from(number.to_string())
}

fn rounded(number: &Number) -> Value {
    Number::from_f64(number.as_f64()).map_or(Value::Null, Value::Number)
}

/// The value with other numbers.
fn with_numbers(value: Value, is_other: fn(&Number) -> bool, other: fn(&Number) -> Value) -> Value {
    let mut value = value;
    let mut open = vec![&mut value];
    while let Some(node) = open.pop() {
        match node {
            Value::Number(number) if is_other(number) => *node = other(number),
            Value::Array(items) if items.iter().any(has_numbers) => {
                open.extend(node.as_array_mut().into_iter().flatten());
            }
            Value::Object(members) if members.values().any(has_numbers) => {
                open.extend(node.as_object_mut().into_iter().flat_map(|members| members.values_mut()));
            }
            _ => {}
        }
    }
    value
}

fn has_numbers(value: &Value) -> bool {
    matches!(value, Value::Number(_) | Value::Array(_) | Value::Object(_))
}
