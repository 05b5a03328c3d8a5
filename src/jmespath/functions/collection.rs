//! Functions over values of any type and over lists.

use std::sync::Arc;

use crate::jmespath::error::SearchResult;
use crate::value::{Number, Value};

use super::signature::{ANY, ARRAY, EXPRESSION, STRING, Type};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::standard("contains", &[&[Type::Array, Type::String], ANY], "boolean", contains)
        .describe("whether a list has an equal element, or a text contains another"),
    Function::standard("join", &[STRING, &[Type::Strings]], "string", join)
        .describe("the texts of a list, the first argument between them"),
    Function::standard("length", &[&[Type::String, Type::Array, Type::Object]], "number", length)
        .describe("the number of characters, elements or members"),
    Function::standard("map", &[EXPRESSION, ARRAY], "array", map)
        .describe("the results of an expression on each element, null included"),
    Function::standard("not_null", &[ANY], "any", not_null)
        .describe("the first argument that is not null")
        .repeating(),
    Function::standard("reverse", &[&[Type::Array, Type::String]], "array|string", reverse)
        .describe("a list or a text from its end to its start"),
    Function::standard("to_array", &[ANY], "array", to_array)
        .describe("a list as it is, anything else as a list of one element"),
    Function::standard("to_number", &[ANY], "number", to_number)
        .describe("the number that a text spells, null if it spells none"),
    Function::standard("to_string", &[ANY], "string", to_string)
        .describe("a text as it is, anything else as JSON"),
    Function::standard("type", &[ANY], "string", type_name).describe("the name of the type"),
];

fn contains(call: &Invocation<'_>) -> SearchResult {
    let expected = call.value(1);
    if let Value::String(text) = call.value(0) {
        return Ok(Value::Bool(expected.as_str().is_some_and(|part| text.contains(part))));
    }
    for item in call.list(0) {
        if call.runtime.equal(item, expected)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

fn join(call: &Invocation<'_>) -> SearchResult {
    let between = call.text(0);
    let mut joined = String::new();
    for (index, item) in call.list(1).iter().enumerate() {
        if index > 0 {
            joined.push_str(between);
        }
        joined.push_str(item.as_str().unwrap_or_default());
        if joined.len() > call.runtime.limits.result_bytes {
            break;
        }
    }
    call.text_result(joined)
}

fn length(call: &Invocation<'_>) -> SearchResult {
    let length = match call.value(0) {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    Ok(Value::Number(count(length)))
}

pub(super) fn count(number: usize) -> Number {
    Number::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn map(call: &Invocation<'_>) -> SearchResult {
    let mut results = Vec::new();
    for item in call.list(1) {
        results.push(call.apply(0, item)?);
    }
    call.runtime.allow(Value::array(results))
}

fn not_null(call: &Invocation<'_>) -> SearchResult {
    Ok(call.values().find(|value| !value.is_null()).cloned().unwrap_or_default())
}

fn reverse(call: &Invocation<'_>) -> SearchResult {
    match call.value(0) {
        Value::String(text) => call.text_result(text.chars().rev().collect::<String>()),
        _ => Ok(Value::array(call.list(0).iter().rev().cloned().collect())),
    }
}

fn to_array(call: &Invocation<'_>) -> SearchResult {
    match call.value(0) {
        Value::Array(items) => Ok(Value::Array(Arc::clone(items))),
        other => call.runtime.allow(Value::array(vec![other.clone()])),
    }
}

fn to_number(call: &Invocation<'_>) -> SearchResult {
    Ok(match call.value(0) {
        Value::Number(number) => Value::Number(number.clone()),
        Value::String(text) => go_float(text).map_or(Value::Null, Value::Number),
        _ => Value::Null,
    })
}

/// Parses a number as Go does; `None` for infinities and NaN, which JSON does not have.
fn go_float(text: &str) -> Option<Number> {
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b'_')) {
        return None;
    }
    let bytes = text.as_bytes();
    let digit = |index: Option<usize>| index.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let is_between = |at: usize| digit(at.checked_sub(1)) && digit(Some(at + 1));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'_' && !is_between(at)) {
        return None;
    }
    let text = text.replace('_', "");
    match Number::parse(&text) {
        Some(number) => Some(number),
        None => Number::from_f64(text.parse().ok()?),
    }
}

fn to_string(call: &Invocation<'_>) -> SearchResult {
    match call.value(0) {
        Value::String(text) => Ok(Value::String(text.clone())),
        // Kyverno has all numbers as floats.
        other => call.text_result(other.to_go_float_json()),
    }
}

fn type_name(call: &Invocation<'_>) -> SearchResult {
    Ok(call.value(0).type_name().into())
}
