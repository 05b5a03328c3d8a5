//! Values as JSON.

use crate::value::{Map, Number, Text, Value};

use super::error::EvalError;
use super::functions::to_text as conversion_text;
use super::meter::Meter;
use super::value::{Key, List, Mapping, Val};

/// The deepest value that is written.
const MAX_DEPTH: usize = 1_000;

/// A value as JSON: messages are objects, empty optional values null, durations and timestamps texts, bytes base64.
///
/// # Errors
///
/// Infinities and NaN, types, values of libraries, values nested deeper than 1000 levels; more values and bytes than
/// the meter allows, where one that occurs in several places counts in each.
pub fn to_json(value: &Val, meter: &mut Meter) -> Result<Value, EvalError> {
    match value {
        // Nothing is made.
        Val::List(List::Json(items, _)) => Ok(Value::Array(items.clone())),
        Val::Map(Mapping::Json(members, _)) => Ok(Value::Object(members.clone())),
        _ => converted(meter, value, 0),
    }
}

/// A value inside of another one as JSON, which counts also if nothing is made.
///
/// # Errors
///
/// As of [`to_json`].
pub fn part_to_json(value: &Val, meter: &mut Meter) -> Result<Value, EvalError> {
    converted(meter, value, 0)
}

fn converted(meter: &mut Meter, value: &Val, depth: usize) -> Result<Value, EvalError> {
    if depth > MAX_DEPTH {
        return Err(EvalError::failed("the value is nested too deeply"));
    }
    let shared = match value {
        Val::List(List::Json(items, _)) => Some(Value::Array(items.clone())),
        Val::Map(Mapping::Json(members, _)) => Some(Value::Object(members.clone())),
        _ => None,
    };
    if let Some(shared) = shared {
        meter.make_all_json(&shared)?;
        return Ok(shared);
    }
    meter.make_json(match value {
        Val::String(text) => text.len(),
        Val::Bytes(bytes) => bytes.len() * 2,
        _ => 0,
    })?;
    Ok(match value {
        Val::Null | Val::Optional(None) => Value::Null,
        Val::Bool(value) => Value::Bool(*value),
        Val::Int(value) => Value::from(*value),
        Val::Uint(value) => number(&value.to_string())?,
        Val::Double(value) => {
            let number = Number::from_f64(*value);
            Value::Number(number.ok_or_else(|| EvalError::failed("infinities and NaN are no JSON"))?)
        }
        Val::String(text) => Value::String(text.clone()),
        Val::Bytes(bytes) => {
            use base64::Engine as _;
            Value::from(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        Val::Optional(Some(inner)) => converted(meter, inner, depth + 1)?,
        Val::List(list) => {
            let items: Result<Vec<Value>, EvalError> =
                list.iter().map(|item| converted(meter, &item, depth + 1)).collect();
            Value::array(items?)
        }
        Val::Map(Mapping::Json(members, _)) => Value::Object(members.clone()),
        Val::Map(Mapping::Made(entries)) => {
            let mut members = Map::default();
            for (key, value) in entries.iter() {
                let key = key_text(key);
                meter.make(key.len())?;
                members.insert(key, converted(meter, value, depth + 1)?);
            }
            Value::object(members)
        }
        Val::Message(message) => {
            let mut members = Map::default();
            for (name, value) in &message.fields {
                meter.make(name.len())?;
                members.insert(name.clone(), converted(meter, value, depth + 1)?);
            }
            Value::object(members)
        }
        Val::Duration(_) | Val::Timestamp(_) => Value::from(conversion_text(value)?.unwrap_or_default()),
        Val::Type(t) => Value::from(super::value::type_name(t)),
        Val::Opaque(opaque) => {
            return Err(EvalError::failed(format!("a value of type {} is no JSON", opaque.type_name())));
        }
    })
}

fn number(text: &str) -> Result<Value, EvalError> {
    Number::parse(text).map(Value::Number).ok_or_else(|| EvalError::failed("the number is no JSON"))
}

fn key_text(key: &Key) -> Text {
    match key {
        Key::String(text) => text.clone(),
        Key::Bool(value) => value.to_string().into(),
        Key::Int(value) => value.to_string().into(),
        Key::Uint(value) => value.to_string().into(),
    }
}

/// As Kyverno's `json.marshal` writes a value: keys sorted, `<`, `>` and `&` escaped. A null is
/// written as 0, alone and in lists and maps that an expression made; other such maps inside are refused.
pub(super) fn marshal(value: &Val, meter: &mut Meter) -> Result<String, EvalError> {
    let or_zero = |value: &Val, meter: &mut Meter| match value {
        Val::Null => Ok(Value::from(0)),
        value => converted(meter, value, 0),
    };
    let json = match value {
        Val::Map(Mapping::Made(entries)) => {
            meter.visit_items(entries.len())?;
            if entries.values().any(|value| matches!(value, Val::Map(Mapping::Made(_)))) {
                return Err(EvalError::failed("json: unsupported type: map[interface {}]interface {}"));
            }
            let mut members = Map::default();
            for (key, value) in entries.iter() {
                members.insert(key_text(key), or_zero(value, meter)?);
            }
            Value::object(members)
        }
        Val::List(List::Made(items) | List::Joined(items)) => {
            let items: Result<Vec<Value>, EvalError> =
                items.iter().map(|item| or_zero(item, meter)).collect();
            Value::array(items?)
        }
        other => or_zero(other, meter)?,
    };
    let mut text = String::new();
    go_json(&json, &mut text);
    // Escapes may make it longer than what was counted.
    meter.make(text.len())?;
    Ok(text)
}

fn go_json(value: &Value, out: &mut String) {
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                go_json(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<(&Text, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (index, (name, member)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(&go_text(name));
                out.push(':');
                go_json(member, out);
            }
            out.push('}');
        }
        Value::String(text) => out.push_str(&go_text(text)),
        other => out.push_str(&other.to_json()),
    }
}

fn go_text(text: &str) -> String {
    let plain = Value::from(text).to_json();
    plain
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
