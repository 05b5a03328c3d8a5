//! Functions over objects.

use crate::jmespath::error::EvalError;
use crate::jmespath::interpreter::sorted;
use crate::value::{Map, Number, Text, Value, float_text};

use super::collection::count;
use super::signature::{ARRAY, OBJECT, STRING, STRING_OR_NUMBER, Type};
use super::{Function, Invocation};

type Answer = Result<Value, EvalError>;

const COLLECTION: &[Type] = &[Type::Object, Type::Array];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own(
        "items",
        &[COLLECTION, STRING, STRING],
        "array",
        "a list with an object for each member or element, its key and its value under the two names",
        items,
    ),
    Function::standard("keys", &[OBJECT], "array", "the keys of an object, sorted", keys),
    Function::own(
        "label_match",
        &[OBJECT, OBJECT],
        "boolean",
        "whether the second object has all members of the first",
        label_match,
    ),
    Function::own(
        "lookup",
        &[COLLECTION, STRING_OR_NUMBER],
        "any",
        "the member or element at a key or an index, null if there is none",
        lookup,
    ),
    Function::standard(
        "merge",
        &[OBJECT],
        "object",
        "an object with the members of all arguments, those of later ones win",
        merge,
    )
    .repeating(),
    Function::own(
        "object_from_lists",
        &[ARRAY, ARRAY],
        "object",
        "an object with the keys of the first list and the values of the second",
        object_from_lists,
    ),
    Function::standard("values", &[OBJECT], "array", "the values of an object, sorted by their keys", values),
];

fn items(call: &Invocation<'_>) -> Answer {
    let (key_name, value_name): (Text, Text) = (call.text(1).into(), call.text(2).into());
    // Where both names are the same, the value wins.
    let item = |key: Value, value: &Value| {
        Value::from_iter([(key_name.clone(), key), (value_name.clone(), value.clone())])
    };
    let list = match call.value(0) {
        Value::Object(members) => {
            sorted(members).into_iter().map(|(key, value)| item(key.clone().into(), value)).collect()
        }
        _ => {
            let numbered = call.list(0).iter().enumerate();
            numbered.map(|(index, value)| item(count(index).into(), value)).collect()
        }
    };
    call.runtime().allow(Value::array(list))
}

fn keys(call: &Invocation<'_>) -> Answer {
    let mut keys: Vec<_> = call.object(0).map(|(key, _)| key.clone()).collect();
    keys.sort_unstable();
    Ok(Value::array(keys.into_iter().map(Value::String).collect()))
}

fn values(call: &Invocation<'_>) -> Answer {
    let members = call.value(0).as_object().map(sorted).unwrap_or_default();
    Ok(Value::array(members.into_iter().map(|(_, value)| value.clone()).collect()))
}

fn label_match(call: &Invocation<'_>) -> Answer {
    let labels = call.value(1);
    for (key, wanted) in call.object(0) {
        match labels.get(key) {
            Some(found) if call.runtime().equal(wanted, found)? => {}
            _ => return Ok(Value::Bool(false)),
        }
    }
    Ok(Value::Bool(true))
}

fn lookup(call: &Invocation<'_>) -> Answer {
    let found = match (call.value(0), call.value(1)) {
        (Value::Object(members), Value::String(key)) => members.get(key),
        (Value::Object(_), _) => return Err(call.fail("argument #2 is not of type String")),
        (list, Value::Number(index)) if !index.is_typed_integer() => {
            let index = integer(index).map_err(|why| call.fail(format_args!("argument #2: {why}")))?;
            usize::try_from(index).ok().and_then(|index| list.at(index))
        }
        _ => return Err(call.fail("argument #2 is not of type Number")),
    };
    Ok(found.cloned().unwrap_or_default())
}

/// The integer a number is, once it is a float.
fn integer(number: &Number) -> Result<i64, String> {
    let value = number.as_f64();
    if value.fract() != 0.0 {
        return Err(format!("expected an integer number but got: {}", float_text(value)));
    }
    const EDGE: f64 = 9_223_372_036_854_775_808.0;
    if !(-EDGE..EDGE).contains(&value) {
        return Err(format!("number is outside the range of integer numbers: {}", float_text(value)));
    }
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    Ok(value as i64)
}

fn merge(call: &Invocation<'_>) -> Answer {
    let mut merged = Map::default();
    for members in call.values().filter_map(Value::as_object) {
        // To insert costs more than to look at.
        call.runtime().spend_for(members.len() * 8)?;
        for (key, value) in members {
            merged.insert(key.clone(), value.clone());
        }
    }
    call.runtime().allow(Value::object(merged))
}

fn object_from_lists(call: &Invocation<'_>) -> Answer {
    let mut object = Map::default();
    let mut values = call.list(1).iter();
    for key in call.list(0) {
        let key: Text = match key {
            Value::String(text) => text.clone(),
            Value::Number(number) => call.number_text(number).into(),
            Value::Bool(value) => value.to_string().into(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(call.fail("argument #1 is not of type StringArray"));
            }
        };
        object.insert(key, values.next().cloned().unwrap_or_default());
    }
    call.runtime().allow(Value::object(object))
}
