//! Functions over objects.

use crate::jmespath::error::SearchResult;
use crate::jmespath::interpreter::sorted;
use crate::value::{Map, Number, Text, Value, float_text};

use super::collection::count;
use super::signature::{ARRAY, OBJECT, STRING, STRING_OR_NUMBER, Type};
use super::{Function, Invocation};

const COLLECTION: &[Type] = &[Type::Object, Type::Array];

pub(super) const FUNCTIONS: &[Function] = &[
    Function::own("items", &[COLLECTION, STRING, STRING], "array", items).describe(
        "a list with an object for each member or element, its key and its value under the two names",
    ),
    Function::standard("keys", &[OBJECT], "array", keys).describe("the keys of an object, sorted"),
    Function::own("label_match", &[OBJECT, OBJECT], "boolean", label_match)
        .describe("whether the second object has all members of the first"),
    Function::own("lookup", &[COLLECTION, STRING_OR_NUMBER], "any", lookup)
        .describe("the member or element at a key or an index, null if there is none"),
    Function::standard("merge", &[OBJECT], "object", merge)
        .describe("an object with the members of all arguments, those of later ones win")
        .repeating(),
    Function::own("object_from_lists", &[ARRAY, ARRAY], "object", object_from_lists)
        .describe("an object with the keys of the first list and the values of the second"),
    Function::standard("values", &[OBJECT], "array", values)
        .describe("the values of an object, sorted by their keys"),
];

fn items(call: &Invocation<'_>) -> SearchResult {
    let (key_name, value_name): (Text, Text) = (call.text(1).into(), call.text(2).into());
    // If both names are equal, the value wins.
    let item = |key: Value, value: &Value| {
        Value::from_iter([(key_name.clone(), key), (value_name.clone(), value.clone())])
    };
    let list = match call.value(0) {
        Value::Object(members) => {
            call.runtime.spend_for_sorting(members.len())?;
            sorted(members).into_iter().map(|(key, value)| item(key.clone().into(), value)).collect()
        }
        _ => {
            let numbered = call.list(0).iter().enumerate();
            numbered.map(|(index, value)| item(count(index).into(), value)).collect()
        }
    };
    call.runtime.allow(Value::array(list))
}

fn keys(call: &Invocation<'_>) -> SearchResult {
    let mut keys: Vec<_> = call.object(0).map(|(key, _)| key.clone()).collect();
    call.runtime.spend_for_sorting(keys.len())?;
    keys.sort_unstable();
    Ok(Value::array(keys.into_iter().map(Value::String).collect()))
}

fn values(call: &Invocation<'_>) -> SearchResult {
    call.runtime.spend_for_sorting(call.object(0).count())?;
    let members = call.value(0).as_object().map(sorted).unwrap_or_default();
    Ok(Value::array(members.into_iter().map(|(_, value)| value.clone()).collect()))
}

fn label_match(call: &Invocation<'_>) -> SearchResult {
    let labels = call.value(1);
    for (key, expected) in call.object(0) {
        match labels.get(key) {
            Some(found) if call.runtime.equal(expected, found)? => {}
            _ => return Ok(Value::Bool(false)),
        }
    }
    Ok(Value::Bool(true))
}

fn lookup(call: &Invocation<'_>) -> SearchResult {
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

/// The integer that a number is as a float.
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

fn merge(call: &Invocation<'_>) -> SearchResult {
    let mut merged = Map::default();
    for members in call.values().filter_map(Value::as_object) {
        // Insertion costs more than reading.
        call.runtime.spend_for(members.len() * 8)?;
        for (key, value) in members {
            merged.insert(key.clone(), value.clone());
        }
    }
    call.runtime.allow(Value::object(merged))
}

fn object_from_lists(call: &Invocation<'_>) -> SearchResult {
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
    call.runtime.allow(Value::object(object))
}
