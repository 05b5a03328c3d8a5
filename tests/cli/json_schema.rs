//! Validation by a JSON Schema, draft 7, with the keywords that the schemas here use. Any other keyword fails the test, so
//! that nothing is left unchecked.

use regex::Regex;
use serde_json::Value;

/// What is wrong with a value, each with its JSON pointer.
pub(crate) fn errors(schema: &Value, value: &Value) -> Vec<String> {
    let mut errors = Vec::new();
    check(schema, schema, value, "", &mut errors);
    errors
}

fn check(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    let Some(keywords) = schema.as_object() else {
        assert!(schema.is_boolean(), "a schema is an object or a boolean: {schema}");
        if schema == &Value::Bool(false) {
            errors.push(format!("{at}: not allowed"));
        }
        return;
    };
    if let Some(reference) = keywords.get("$ref") {
        let pointer =
            reference.as_str().and_then(|text| text.strip_prefix('#')).expect("a reference into the schema");
        let target = root.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not there"));
        return check(root, target, value, at, errors);
    }
    for (keyword, wanted) in keywords {
        let mut expect = |holds: bool| {
            if !holds {
                errors.push(format!("{at}: {keyword} {wanted}: {value}"));
            }
        };
        match &**keyword {
            "$schema" | "$id" | "title" | "description" | "default" | "definitions" | "format"
            | "examples" => {}
            "additionalProperties" | "properties" | "items" | "$comment" => {}
            "type" => {
                let names = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                expect(
                    names.iter().any(|name| is_of_type(value, name.as_str().expect("the name of a type"))),
                );
            }
            "enum" => expect(wanted.as_array().expect("a list").contains(value)),
            "const" => expect(wanted == value),
            "required" => {
                let names = wanted.as_array().expect("a list");
                let has = |name: &Value| value.get(name.as_str().expect("a name")).is_some();
                expect(!value.is_object() || names.iter().all(has));
            }
            "minItems" => expect(value.as_array().is_none_or(|items| items.len() as u64 >= count(wanted))),
            "maxItems" => expect(value.as_array().is_none_or(|items| items.len() as u64 <= count(wanted))),
            "minLength" => {
                expect(value.as_str().is_none_or(|text| text.chars().count() as u64 >= count(wanted)));
            }
            "minProperties" => {
                expect(value.as_object().is_none_or(|members| members.len() as u64 >= count(wanted)));
            }
            "uniqueItems" => {
                let is_unique =
                    |items: &Vec<Value>| (1..items.len()).all(|end| !items[..end].contains(&items[end]));
                expect(wanted == &Value::Bool(false) || value.as_array().is_none_or(is_unique));
            }
            "minimum" => {
                expect(value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")));
            }
            "maximum" => {
                expect(value.as_f64().is_none_or(|number| number <= wanted.as_f64().expect("a number")));
            }
            "pattern" => {
                let pattern = Regex::new(wanted.as_str().expect("a pattern")).expect("a regular expression");
                expect(value.as_str().is_none_or(|text| pattern.is_match(text)));
            }
            "anyOf" | "oneOf" => {
                let fits = |schema: &&Value| {
                    let mut inner = Vec::new();
                    check(root, schema, value, at, &mut inner);
                    inner.is_empty()
                };
                let number = wanted.as_array().expect("a list").iter().filter(fits).count();
                expect(if keyword == "anyOf" { number > 0 } else { number == 1 });
            }
            "allOf" => {
                for schema in wanted.as_array().expect("a list") {
                    check(root, schema, value, at, errors);
                }
            }
            "not" => {
                let mut inner = Vec::new();
                check(root, wanted, value, at, &mut inner);
                expect(!inner.is_empty());
            }
            _ => panic!("the keyword {keyword} is not known here"),
        }
    }
    check_members(root, schema, value, at, errors);
}

/// Checks what is inside of an object or list.
fn check_members(root: &Value, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = schema.get("items") {
            check(root, items, item, &format!("{at}/{index}"), errors);
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
            check(root, schema, member, &format!("{at}/{name}"), errors);
        }
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => panic!("{name} is no type"),
    }
}

fn count(number: &Value) -> u64 {
    number.as_u64().expect("a count")
}

#[test]
fn what_does_not_fit_is_found() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["a"],
        "additionalProperties": false,
        "properties": {
            "a": {"$ref": "#/definitions/positive"},
            "b": {"items": {"enum": ["x"]}, "uniqueItems": true, "minItems": 1},
            "c": {"anyOf": [{"pattern": "^k"}, {"type": "null"}]},
        },
        "definitions": {"positive": {"type": "integer", "minimum": 1}},
    });
    for (value, places) in [
        (serde_json::json!({"a": 1, "b": ["x"], "c": "kyv"}), vec![]),
        (serde_json::json!({"a": 1, "c": null}), vec![]),
        (serde_json::json!([]), vec![""]),
        (serde_json::json!({}), vec![""]),
        (serde_json::json!({"a": 0}), vec!["/a"]),
        (serde_json::json!({"a": 1.5}), vec!["/a"]),
        (serde_json::json!({"a": 1, "d": 1}), vec!["/d"]),
        (serde_json::json!({"a": 1, "b": []}), vec!["/b"]),
        (serde_json::json!({"a": 1, "b": ["x", "x"]}), vec!["/b"]),
        (serde_json::json!({"a": 1, "b": ["y"]}), vec!["/b/0"]),
        (serde_json::json!({"a": 1, "c": "x"}), vec!["/c"]),
    ] {
        let errors = errors(&schema, &value);
        let found: Vec<_> = errors.iter().map(|error| error.split(": ").next().unwrap_or_default()).collect();
        assert_eq!(found, places, "{value}: {errors:?}");
    }
}
