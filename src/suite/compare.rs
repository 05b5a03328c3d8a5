//! When an object is as expected.

use crate::value::Value;

const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
const GENERATED: &str = "generate.kyverno.io/";

/// Whether two states of an object are equal for a test: with the order of lists, but without noise.
pub fn is_same(expected: &Value, actual: &Value) -> bool {
    without_noise(expected) == without_noise(actual)
}

/// The object without nulls, empty maps and empty lists, and without the labels that Kyverno sets on objects that it
/// generates.
pub(super) fn without_noise(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(labels) = object
        .as_object_mut()
        .and_then(|members| members.get_mut("metadata"))
        .and_then(|metadata| metadata.as_object_mut()?.get_mut("labels"))
        .and_then(Value::as_object_mut)
    {
        labels.retain(|name, value| {
            !name.starts_with(GENERATED) && (&**name != MANAGED_BY || value.as_str() != Some("kyverno"))
        });
    }
    tidied(&object).unwrap_or_else(Value::empty_object)
}

fn tidied(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(tidied).collect();
            (!items.is_empty()).then(|| Value::array(items))
        }
        Value::Object(members) => {
            let members: Vec<_> =
                members.iter().filter_map(|(key, member)| Some((key.clone(), tidied(member)?))).collect();
            (!members.is_empty()).then(|| members.into_iter().collect())
        }
    }
}

/// The same value with the keys of its objects in the order of another value; keys that only it has come last.
pub fn in_order_of(model: &Value, value: &Value) -> Value {
    match (model, value) {
        (Value::Object(model), Value::Object(members)) => {
            let known =
                model.iter().filter_map(|(key, model)| Some((key, in_order_of(model, members.get(key)?))));
            let new = members.iter().filter(|(key, _)| !model.contains_key(key));
            let new = new.map(|(key, member)| (key, member.clone()));
            known.chain(new).map(|(key, member)| (key.clone(), member)).collect()
        }
        (Value::Array(model), Value::Array(items)) => {
            let ordered = items.iter().enumerate().map(|(index, item)| match model.get(index) {
                Some(model) => in_order_of(model, item),
                None => item.clone(),
            });
            Value::array(ordered.collect())
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_emptiness_and_kyvernos_labels_is_overlooked() {
        let json = |text| Value::from_json(text).unwrap();
        for (expected, actual, same) in [
            (r#"{"a":1}"#, r#"{"a":1.0,"b":null,"c":{},"d":[{"e":[]}]}"#, true),
            (r#"{"a":""}"#, "{}", false),
            (r#"{"a":0}"#, "{}", false),
            (r#"{"a":false}"#, "{}", false),
            (r#"{"a":"1"}"#, r#"{"a":1}"#, false),
            (r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, false),
            (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, false),
            (r#"{"status":{"a":1}}"#, "{}", false),
            (
                r#"{"metadata":{"name":"a","labels":{"app.kubernetes.io/managed-by":"kyverno","generate.kyverno.io/x":"y"}}}"#,
                r#"{"metadata":{"name":"a"}}"#,
                true,
            ),
            (
                r#"{"metadata":{"labels":{"app.kubernetes.io/managed-by":"Helm"}}}"#,
                r#"{"metadata":{}}"#,
                false,
            ),
        ] {
            assert_eq!(is_same(&json(expected), &json(actual)), same, "{expected} and {actual}");
        }
    }

    #[test]
    fn keys_take_the_order_of_another_value() {
        let json = |text| Value::from_json(text).unwrap();
        let ordered = in_order_of(
            &json(r#"{"b":[{"d":1,"c":1}],"a":1}"#),
            &json(r#"{"x":0,"a":2,"b":[{"c":1,"d":2},{}]}"#),
        );
        assert_eq!(ordered.to_json(), r#"{"b":[{"d":2,"c":1},{}],"a":2,"x":0}"#);
    }
}
