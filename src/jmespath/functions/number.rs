//! Functions over numbers.

use crate::jmespath::error::SearchResult;
use crate::value::{Number, Value};

use super::signature::{NUMBER, Type};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::standard("abs", &[NUMBER], "number", abs).describe("the number without its sign"),
    Function::standard("avg", &[&[Type::Numbers]], "number", avg)
        .describe("the mean of a list of numbers, null if it is empty"),
    Function::standard("ceil", &[NUMBER], "number", ceil).describe("the next integer upwards"),
    Function::standard("floor", &[NUMBER], "number", floor).describe("the next integer downwards"),
    Function::own("round", &[NUMBER, NUMBER], "number", round)
        .describe("a number rounded to so many places after the point"),
];

fn abs(call: &Invocation<'_>) -> SearchResult {
    let number = call.number(0);
    let text = number.to_string();
    Ok(text.strip_prefix('-').and_then(Number::parse).unwrap_or(number).into())
}

fn avg(call: &Invocation<'_>) -> SearchResult {
    let numbers = call.list(0);
    if numbers.is_empty() {
        return Ok(Value::Null);
    }
    let sum: f64 = numbers.iter().filter_map(Value::as_number).map(Number::as_f64).sum();
    #[expect(clippy::cast_precision_loss, reason = "no list has 2^53 elements")]
    call.number_result(sum / numbers.len() as f64)
}

fn ceil(call: &Invocation<'_>) -> SearchResult {
    integral(call, f64::ceil)
}

fn floor(call: &Invocation<'_>) -> SearchResult {
    integral(call, f64::floor)
}

/// An integer stays exactly what it is.
fn integral(call: &Invocation<'_>, round: fn(f64) -> f64) -> SearchResult {
    let number = call.number(0);
    if number.is_integer() { Ok(number.into()) } else { call.number_result(round(number.as_f64())) }
}

fn round(call: &Invocation<'_>) -> SearchResult {
    let (number, places) = (call.number(0), call.number(1).as_f64());
    if places.fract() != 0.0 {
        return Err(call.fail("Non-integer argument(s) passed for round off"));
    }
    if places < 0.0 {
        return Err(call.fail("argument #2 is out of bounds"));
    }
    let shift = 10f64.powf(places);
    // Half away from zero.
    call.number_result((number.as_f64() * shift).round() / shift)
}
