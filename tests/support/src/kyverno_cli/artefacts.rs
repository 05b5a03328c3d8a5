//! What the Kyverno CLI changes in objects although no controller does, to be undone before a comparison.

use kyv::value::{Number, Value};

/// A change that the CLI makes and no controller does.
pub struct Artefact {
    pub name: &'static str,
    pub reason: &'static str,
    /// Turns the printed object into that of a controller; `given` is the input object.
    pub undo: fn(printed: Value, given: &Value) -> Value,
}

/// All of them.
pub const ARTEFACTS: &[Artefact] = &[
    Artefact {
        name: "nothing after an error",
        reason: "a patch that fails leaves `{}`; in a cluster the request is denied, and nothing changes",
        undo: |printed, given| if is_empty(&printed) { given.clone() } else { printed },
    },
    Artefact {
        name: "namespace default",
        reason: "the CLI writes it into every object that has none; the API server does so before admission",
        undo: |mut printed, given| {
            let namespace = |object: &Value| object.path(&["metadata", "namespace"]).cloned();
            if namespace(given).is_none() && namespace(&printed) == Some("default".into()) {
                member(&mut printed, "metadata").and_then(|metadata| metadata.remove("namespace"));
            }
            printed
        },
    },
    Artefact {
        name: "integers as floats",
        reason: "the CLI reads each number as a float, and prints it with an exponent from 1e+06 on",
        undo: |printed, _given| with_whole_numbers(printed),
    },
];

fn member<'v>(value: &'v mut Value, key: &str) -> Option<&'v mut Value> {
    value.as_object_mut()?.get_mut(key)
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.is_empty())
}

/// The value with each number that is whole written as an integer.
pub fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_integer() => {
            let text = number.integer_text();
            Value::Number(text.and_then(|text| Number::parse(&text)).unwrap_or(number))
        }
        Value::Array(items) => Value::array(items.iter().cloned().map(with_whole_numbers).collect()),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), with_whole_numbers(value.clone()))).collect()
        }
        other => other,
    }
}
