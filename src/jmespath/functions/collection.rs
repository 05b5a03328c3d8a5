//! Functions over values of any type and over lists.

use std::sync::Arc;

use crate::jmespath::error::EvalError;
use crate::jmespath::print;
use crate::value::{Number, Value};

use super::signature::{ANY, ARRAY, EXPRESSION, STRING, Type};
use super::{Function, Invocation};

type Answer = Result<Value, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::standard(
        "contains",
        &[&[Type::Array, Type::String], ANY],
        "boolean",
        "whether a list has an equal element, or a text a part",
        contains,
    ),
    Function::standard(
        "join",
        &[STRING, &[Type::Strings]],
        "string",
        "the texts of a list, the first argument between them",
        join,
    ),
    Function::standard(
        "length",
        &[&[Type::String, Type::Array, Type::Object]],
        "number",
        "the number of characters, elements or members",
        length,
    ),
    Function::standard(
        "map",
        &[EXPRESSION, ARRAY],
        "array",
        "the results of an expression on each element, null included",
        map,
    ),
    Function::standard("not_null", &[ANY], "any", "the first argument that is not null", not_null)
        .repeating(),
    Function::standard(
        "reverse",
        &[&[Type::Array, Type::String]],
        "array|string",
        "a list or a text from its end to its start",
        reverse,
    ),
    Function::standard(
        "to_array",
        &[ANY],
        "array",
        "a list as it is, anything else as a list of one element",
        to_array,
    ),
    Function::standard(
        "to_number",
        &[ANY],
        "number",
        "the number that a text spells, null if it spells none",
        to_number,
    ),
    Function::standard("to_string", &[ANY], "string", "a text as it is, anything else as JSON", to_string),
    Function::standard("type", &[ANY], "string", "the name of the type", type_name),
];

fn contains(call: &Invocation<'_>) -> Answer {
    let wanted = call.value(1);
    if let Value::String(text) = call.value(0) {
        return Ok(Value::Bool(wanted.as_str().is_some_and(|part| text.contains(part))));
    }
    for item in call.list(0) {
        if call.runtime().equal(item, wanted)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn join(call: &Invocation<'_>) -> Answer {
    let between = call.text(0);
    let mut joined = String::new();
    for (index, item) in call.list(1).iter().enumerate() {
        if index > 0 {
            joined.push_str(between);
        }
        joined.push_str(item.as_str().unwrap_or_default());
        if joined.len() > call.runtime().limits.result_bytes {
            break;
        }
    }
    call.text_result(joined)
}

fn length(call: &Invocation<'_>) -> Answer {
    let length = match call.value(0) {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    Ok(Value::Number(count(length)))
}

/// A number of things.
pub(super) fn count(number: usize) -> Number {
    Number::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn map(call: &Invocation<'_>) -> Answer {
    let mut results = Vec::new();
    for item in call.list(1) {
        results.push(call.apply(0, item)?);
    }
    call.runtime().allow(Value::array(results))
}

fn not_null(call: &Invocation<'_>) -> Answer {
    Ok(call.values().find(|value| !value.is_null()).cloned().unwrap_or_default())
}

fn reverse(call: &Invocation<'_>) -> Answer {
    match call.value(0) {
        Value::String(text) => call.text_result(text.chars().rev().collect::<String>()),
        _ => Ok(Value::array(call.list(0).iter().rev().cloned().collect())),
    }
}

fn to_array(call: &Invocation<'_>) -> Answer {
    match call.value(0) {
        Value::Array(items) => Ok(Value::Array(Arc::clone(items))),
        other => call.runtime().allow(Value::array(vec![other.clone()])),
    }
}

fn to_number(call: &Invocation<'_>) -> Answer {
    Ok(match call.value(0) {
        Value::Number(number) => Value::Number(number.clone()),
        Value::String(text) => go_float(text).map_or(Value::Null, Value::Number),
        _ => Value::Null,
    })
}

/// Reads a number as Go reads one; infinities and NaN, which no JSON can hold, are none.
fn go_float(text: &str) -> Option<Number> {
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b'_')) {
        return None;
    }
    let bytes = text.as_bytes();
    let digit = |index: Option<usize>| index.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let parted = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'_' && !parted(at)) {
        return None;
    }
    let text = text.replace('_', "");
    match Number::parse(&text) {
        Some(number) => Some(number),
        None => Number::from_f64(text.parse().ok()?),
    }
}

fn to_string(call: &Invocation<'_>) -> Answer {
    match call.value(0) {
        Value::String(text) => Ok(Value::String(text.clone())),
        other => Ok(print::json(other, call.runtime())?.into()),
    }
}

fn type_name(call: &Invocation<'_>) -> Answer {
    Ok(call.value(0).type_name().into())
}
