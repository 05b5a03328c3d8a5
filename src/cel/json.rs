//! Values as JSON.

use crate::value::{Map, Number, Text, Value};

use super::error::EvalError;
use super::functions::to_text as conversion_text;
use super::value::{Key, List, Mapping, Val};

/// The deepest value that is written.
const MAX_DEPTH: usize = 1_000;

/// A value as JSON: messages are objects, empty optional values null, durations and timestamps texts, bytes base64.
///
/// # Errors
///
/// Infinities and NaN, types, values of libraries, values nested deeper than 1000 levels.
pub fn to_json(value: &Val) -> Result<Value, EvalError> {
    converted(value, 0)
}

fn converted(value: &Val, depth: usize) -> Result<Value, EvalError> {
    if depth > MAX_DEPTH {
        return Err(EvalError::failed("the value is nested too deeply"));
    }
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
        Val::Optional(Some(inner)) => converted(inner, depth + 1)?,
        Val::List(List::Json(items, _)) => Value::Array(items.clone()),
        Val::List(List::Made(items) | List::Joined(items)) => {
            let items: Result<Vec<Value>, EvalError> =
                items.iter().map(|item| converted(item, depth + 1)).collect();
            Value::array(items?)
        }
        Val::Map(Mapping::Json(members, _)) => Value::Object(members.clone()),
        Val::Map(Mapping::Made(entries)) => {
            let mut members = Map::with_capacity(entries.len());
            for (key, value) in entries.iter() {
                members.insert(key_text(key), converted(value, depth + 1)?);
            }
            Value::object(members)
        }
        Val::Message(message) => {
            let mut members = Map::with_capacity(message.fields.len());
            for (name, value) in &message.fields {
                members.insert(name.clone(), converted(value, depth + 1)?);
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
pub(super) fn marshal(value: &Val) -> Result<String, EvalError> {
    if let Val::Map(Mapping::Made(entries)) = value {
        if entries.values().any(|value| matches!(value, Val::Map(Mapping::Made(_)))) {
            return Err(EvalError::failed("json: unsupported type: map[interface {}]interface {}"));
        }
        let mut members = Map::with_capacity(entries.len());
        for (key, value) in entries.iter() {
            let value = if matches!(value, Val::Null) { Value::from(0) } else { to_json(value)? };
            members.insert(key_text(key), value);
        }
        return Ok(go_json(&Value::object(members)));
    }
    if let Val::List(List::Made(items) | List::Joined(items)) = value {
        let null = |item: &Val| if matches!(item, Val::Null) { Ok(Value::from(0)) } else { to_json(item) };
        let items: Result<Vec<Value>, EvalError> = items.iter().map(null).collect();
        return Ok(go_json(&Value::array(items?)));
    }
    if matches!(value, Val::Null) {
        return Ok("0".to_owned());
    }
    Ok(go_json(&to_json(value)?))
}

fn go_json(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go_json).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(members) => {
            let mut members: Vec<(&Text, &Value)> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            let members: Vec<String> = members
                .into_iter()
                .map(|(name, value)| format!("{}:{}", go_text(name), go_json(value)))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Value::String(text) => go_text(text),
        other => other.to_json(),
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
