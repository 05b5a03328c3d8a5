//! Arithmetic over numbers, quantities and durations.

use crate::jmespath::error::{EvalError, SearchResult};
use crate::value::{GoDuration, Number, Quantity, Value};

use super::signature::{ANY, ARRAY};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("add", &[ANY, ANY], "any", |call| sum_of(call, call.value(0), call.value(1)))
        .describe("the sum of two numbers, quantities or durations"),
    Function::own("divide", &[ANY, ANY], "any", divide)
        .describe("the quotient of numbers, quantities and durations"),
    Function::own("modulo", &[ANY, ANY], "any", modulo)
        .describe("the rest of a division of whole numbers, whole quantities or durations"),
    Function::own("multiply", &[ANY, ANY], "any", multiply)
        .describe("the product of two numbers, or of a number and a quantity or duration"),
    Function::own("subtract", &[ANY, ANY], "any", subtract)
        .describe("the difference of two numbers, quantities or durations"),
    Function::own("sum", &[ARRAY], "any", sum)
        .describe("the sum of a list of numbers, quantities or durations"),
];

enum Operand {
    Number(Number),
    Quantity(Quantity),
    Duration(GoDuration),
}

/// A text is a quantity if possible, else a duration.
fn operand(call: &Invocation<'_>, value: &Value) -> Result<Operand, EvalError> {
    let operand = match value {
        Value::Number(number) => {
            call.runtime.note_number();
            (!number.is_typed_integer()).then(|| Operand::Number(number.clone()))
        }
        Value::String(text) => match Quantity::parse(text) {
            Ok(quantity) => Some(Operand::Quantity(quantity)),
            Err(_) => GoDuration::read(text).map(Operand::Duration),
        },
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    operand.ok_or_else(|| call.fail("invalid operand"))
}

fn operands(call: &Invocation<'_>) -> Result<(Operand, Operand), EvalError> {
    Ok((operand(call, call.value(0))?, operand(call, call.value(1))?))
}

fn mismatch(call: &Invocation<'_>) -> EvalError {
    call.fail("Types mismatch")
}

fn quantity(call: &Invocation<'_>, result: Option<Quantity>) -> SearchResult {
    match result {
        Some(quantity) => call.text_result(quantity.to_string()),
        None => Err(call.fail("the result has too many digits")),
    }
}

fn duration(call: &Invocation<'_>, result: Option<GoDuration>) -> SearchResult {
    match result {
        Some(duration) => call.text_result(duration.to_string()),
        None => Err(call.fail("the result is longer than a duration can be")),
    }
}

/// The result of two 64-bit integers is exact if it is an integer; every other result is a float.
fn number(
    call: &Invocation<'_>,
    left: &Number,
    right: &Number,
    exact: fn(i128, i128) -> Option<i128>,
    float: fn(f64, f64) -> f64,
) -> SearchResult {
    let integers = left.as_i64().zip(right.as_i64());
    let exact = integers.and_then(|(left, right)| exact(left.into(), right.into()));
    match exact.and_then(|exact| Number::parse(&exact.to_string())) {
        Some(exact) => Ok(exact.into()),
        None => call.number_result(float(left.as_f64(), right.as_f64())),
    }
}

fn sum_of(call: &Invocation<'_>, left: &Value, right: &Value) -> SearchResult {
    match (operand(call, left)?, operand(call, right)?) {
        (Operand::Quantity(left), Operand::Quantity(right)) => quantity(call, left.checked_add(&right)),
        (Operand::Duration(left), Operand::Duration(right)) => duration(call, left.checked_add(right)),
        (Operand::Number(left), Operand::Number(right)) => {
            number(call, &left, &right, i128::checked_add, |left, right| left + right)
        }
        _ => Err(mismatch(call)),
    }
}

/// A single element is returned as it is.
fn sum(call: &Invocation<'_>) -> SearchResult {
    let Some((first, rest)) = call.list(0).split_first() else {
        return Err(call.fail("at least one element in the array is required"));
    };
    rest.iter().try_fold(first.clone(), |sum, item| sum_of(call, &sum, item))
}

fn subtract(call: &Invocation<'_>) -> SearchResult {
    match operands(call)? {
        (Operand::Quantity(left), Operand::Quantity(right)) => quantity(call, left.checked_sub(&right)),
        (Operand::Duration(left), Operand::Duration(right)) => duration(call, left.checked_sub(right)),
        (Operand::Number(left), Operand::Number(right)) => {
            number(call, &left, &right, i128::checked_sub, |left, right| left - right)
        }
        _ => Err(mismatch(call)),
    }
}

fn multiply(call: &Invocation<'_>) -> SearchResult {
    match operands(call)? {
        (Operand::Quantity(factor), Operand::Number(by))
        | (Operand::Number(by), Operand::Quantity(factor)) => {
            quantity(call, as_quantity(call, &by)?.and_then(|by| factor.checked_mul(&by)))
        }
        (Operand::Duration(factor), Operand::Number(by))
        | (Operand::Number(by), Operand::Duration(factor)) => {
            duration(call, GoDuration::from_seconds(factor.as_seconds() * by.as_f64()))
        }
        (Operand::Number(left), Operand::Number(right)) => {
            number(call, &left, &right, i128::checked_mul, |left, right| left * right)
        }
        _ => Err(mismatch(call)),
    }
}

/// A number as quantity, rounded to nanos.
fn as_quantity(call: &Invocation<'_>, number: &Number) -> Result<Option<Quantity>, EvalError> {
    Quantity::from_f64(number.as_f64()).map(Some).map_err(|error| call.fail(error))
}

fn divide(call: &Invocation<'_>) -> SearchResult {
    let zero = || call.fail("Zero divisor passed");
    match operands(call)? {
        (Operand::Quantity(_), Operand::Quantity(by)) if by.is_zero() => Err(zero()),
        (Operand::Duration(_), Operand::Duration(GoDuration::ZERO)) => Err(zero()),
        (_, Operand::Number(by)) if by.as_f64() == 0.0 => Err(zero()),
        (Operand::Quantity(left), Operand::Quantity(right)) => {
            call.number_result(left.as_f64() / right.as_f64())
        }
        (Operand::Quantity(left), Operand::Number(by)) => {
            quantity(call, as_quantity(call, &by)?.and_then(|by| left.checked_div(&by)))
        }
        (Operand::Duration(left), Operand::Duration(right)) => {
            call.number_result(left.as_seconds() / right.as_seconds())
        }
        (Operand::Duration(left), Operand::Number(by)) => {
            duration(call, GoDuration::from_seconds(left.as_seconds() / by.as_f64()))
        }
        (Operand::Number(left), Operand::Number(right)) => {
            let exact = |left: i128, right: i128| {
                if left.checked_rem(right) == Some(0) { left.checked_div(right) } else { None }
            };
            number(call, &left, &right, exact, |left, right| left / right)
        }
        _ => Err(mismatch(call)),
    }
}

fn modulo(call: &Invocation<'_>) -> SearchResult {
    let zero = || call.fail("Zero divisor passed");
    let fraction = || call.fail("Non-integer argument(s) passed for modulo");
    match operands(call)? {
        (Operand::Quantity(left), Operand::Quantity(right)) => {
            if !left.is_integer() || !right.is_integer() {
                return Err(fraction());
            }
            if right.is_zero() {
                return Err(zero());
            }
            quantity(call, left.checked_rem(&right))
        }
        (Operand::Duration(left), Operand::Duration(right)) => {
            if right == GoDuration::ZERO {
                return Err(zero());
            }
            duration(call, left.checked_rem(right))
        }
        (Operand::Number(left), Operand::Number(right)) => {
            if !left.is_integer() || !right.is_integer() {
                return Err(fraction());
            }
            if right.as_f64() == 0.0 {
                return Err(zero());
            }
            number(call, &left, &right, i128::checked_rem, |left, right| left % right)
        }
        _ => Err(mismatch(call)),
    }
}

#[cfg(test)]
mod tests {
    use crate::jmespath::testing::check;

    #[test]
    fn integers_are_exact_and_what_is_out_of_range_is_an_error() {
        check(&[
            ("add(`9007199254740993`, `1`)", "9007199254740994"),
            ("multiply(`3037000500`, `3037000500`)", "9223372037000250000"),
            ("add(`9223372036854775807`, `1`)", "9223372036854775808"),
            ("divide(`9007199254740993`, `3`)", "3002399751580331"),
            ("modulo(`-9223372036854775808`, `-1`)", "0"),
            ("multiply(`1e300`, `1e300`)", "error: JMESPath function 'multiply': the result is no finite"),
            ("add('2562047h', '2562047h')", "error: JMESPath function 'add': the result is longer"),
            ("round(`23.5`, `400`)", "error: JMESPath function 'round': the result is no finite number"),
            ("round(`14`, `-2`)", "error: JMESPath function 'round': argument #2 is out of bounds"),
            ("add('1e2000000000', '1')", "error: JMESPath function 'add': invalid operand"),
        ]);
    }
}
