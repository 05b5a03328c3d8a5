//! Functions that order the elements of a list.

use std::cmp::Ordering;

use crate::jmespath::error::{EvalError, SearchResult};
use crate::value::Value;

use super::signature::{ARRAY, EXPRESSION, Type};
use super::{Function, Invocation};

pub(super) const FUNCTIONS: &[Function] = &[
    Function::standard("max", &[&[Type::Numbers, Type::Strings]], "any", |call| {
        Ok(extreme(call, Ordering::Greater))
    })
    .describe("the greatest element, null if there is none"),
    Function::standard("max_by", &[ARRAY, EXPRESSION], "any", |call| extreme_by(call, Ordering::Greater))
        .describe("the element on which an expression gives the greatest result"),
    Function::standard("min", &[&[Type::Numbers, Type::Strings]], "any", |call| {
        Ok(extreme(call, Ordering::Less))
    })
    .describe("the least element, null if there is none"),
    Function::standard("min_by", &[ARRAY, EXPRESSION], "any", |call| extreme_by(call, Ordering::Less))
        .describe("the element on which an expression gives the least result"),
    Function::standard("sort", &[&[Type::Strings, Type::Numbers]], "array", sort)
        .describe("a list in ascending order"),
    Function::standard("sort_by", &[ARRAY, EXPRESSION], "array", sort_by)
        .describe("a list in ascending order of the results of an expression"),
];

/// The order of two numbers or two strings; `None` for other values.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            (!left.is_typed_integer() && !right.is_typed_integer()).then(|| left.cmp(right))
        }
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn sort(call: &Invocation<'_>) -> SearchResult {
    call.runtime.spend_for_sorting(call.list(0).len())?;
    let mut sorted = call.list(0).to_vec();
    sorted.sort_by(|left, right| order(left, right).unwrap_or(Ordering::Equal));
    Ok(Value::array(sorted))
}

fn sort_by(call: &Invocation<'_>) -> SearchResult {
    let mut keyed = keyed(call)?;
    call.runtime.spend_for_sorting(keyed.len())?;
    if let [(first, _), rest @ ..] = keyed.as_slice()
        && !rest.is_empty()
    {
        if order(first, first).is_none() {
            return Err(call.fail("invalid type, must be number of string"));
        }
        if rest.iter().any(|(key, _)| order(first, key).is_none()) {
            return Err(call.fail("error in sort_by comparison"));
        }
    }
    keyed.sort_by(|left, right| order(&left.0, &right.0).unwrap_or(Ordering::Equal));
    Ok(Value::array(keyed.into_iter().map(|(_, item)| item.clone()).collect()))
}

/// Each element with the result of the expression on it.
fn keyed<'a>(call: &'a Invocation<'_>) -> Result<Vec<(Value, &'a Value)>, EvalError> {
    let items = call.list(0);
    if let [item] = items {
        // A single element needs no key.
        return Ok(vec![(Value::Null, item)]);
    }
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        let key = call.apply(1, item)?;
        if key.as_number().is_some() {
            call.runtime.note_number();
        }
        keyed.push((key, item));
    }
    Ok(keyed)
}

fn extreme(call: &Invocation<'_>, preferred: Ordering) -> Value {
    let better = |best, item| if order(item, best) == Some(preferred) { item } else { best };
    call.list(0).iter().reduce(better).cloned().unwrap_or_default()
}

fn extreme_by(call: &Invocation<'_>, preferred: Ordering) -> SearchResult {
    let keyed = keyed(call)?;
    let Some((mut best, rest)) = keyed.split_first() else { return Ok(Value::Null) };
    let must_be = match &best.0 {
        Value::Number(number) if !number.is_typed_integer() => "invalid type, must be number",
        Value::String(_) => "invalid type, must be string",
        _ => "invalid type, must be number of string",
    };
    for next in rest {
        match order(&next.0, &best.0) {
            None => return Err(call.fail(must_be)),
            Some(order) if order == preferred => best = next,
            Some(_) => {}
        }
    }
    Ok(best.1.clone())
}
