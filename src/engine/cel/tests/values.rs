//! Values of JSON patch operations, as Kyverno's admission controller and the API server convert them
//! (`tests/cluster/mutating_policies/values.yaml`).

use super::*;

/// What becomes of a value in a `ConfigMap`, or the error.
fn converted(value: &str) -> String {
    let patch = format!("JSONPatch{{op: \"add\", path: \"/free\", value: {value}}}");
    result(By::Kyverno, &mutations(&[&patch]), CONFIG_MAP, "free")
}

#[test]
fn values_become_json() {
    const ARRAYS: &str = r#"[{"b":1},{"b":2}]"#;
    for (value, expected) in [
        ("[Object.a{b: 1}] + [Object.a{b: 2}]", ARRAYS),
        ("[{\"b\": 1}] + [{\"b\": 2}]", ARRAYS),
        ("Object{a: [Object.a{b: 1}]}", r#"{"a":[{"b":1}]}"#),
        ("Object{a: [1] + [2]}", r#"{"a":[1,2]}"#),
        ("Object{a: {\"b\": Object.a{c: 1}}}", r#"{"a":{"b":{"c":1}}}"#),
        ("Object{a: optional.none()}", r#"{"a":null}"#),
        ("Object{a: optional.of(1)}", r#"{"a":1}"#),
        ("Object{a: 9007199254740993}", r#"{"a":9007199254740992}"#),
        ("Object{a: 5u}", r#"{"a":5}"#),
        ("Object{a: type(1)}", r#"{"a":"int"}"#),
        ("Object{a: b\"abc\"}", r#"{"a":"YWJj"}"#),
        ("{\"b\": {\"d\": 1}, \"a\": {}}", r#"{"b":{"d":1},"a":{}}"#),
        ("[9007199254740993]", r#"["9007199254740993"]"#),
        ("9007199254740992", r#""9007199254740992""#),
        ("9007199254740991", "9007199254740991"),
        ("18446744073709551615u", r#""18446744073709551615""#),
        ("optional.of(optional.of(1))", "1"),
        ("{\"a\": null}", r#"{"a":null}"#),
        ("[duration(\"1h\")]", r#"["3600s"]"#),
    ] {
        assert_eq!(converted(value), expected, "{value}");
    }
}

#[test]
fn other_values_are_errors() {
    const CRASH: &str =
        "the value is a list or map with an `Object{…}`, on which the API server and Kyverno crash";
    for (value, expected) in [
        ("[Object.a{b: 1}]", CRASH),
        ("[] + [Object.a{b: 1}]", CRASH),
        ("[1].map(x, Object.a{b: x})", CRASH),
        ("{\"a\": Object.a{b: 1}}", CRASH),
        ("{\"a\": [Object.a{b: 1}]}", CRASH),
        ("[[Object.a{b: 1}]] + [[Object.a{b: 2}]]", CRASH),
        ("[{\"a\": Object.a{b: 1}}] + [{\"a\": Object.a{b: 2}}]", CRASH),
        ("Object{a: [[1]]}", "a value of type list does not become JSON here"),
        ("Object{a: [[1]] + [[2]]}", "a value of type list does not become JSON here"),
        ("Object{a: {\"b\": {\"c\": 1}}}", "a value of type map does not become JSON here"),
        ("Object{a: [{\"b\": 1}]}", "a value of type map does not become JSON here"),
        ("Object{a: {1: 2}}", "a key of a map in the value is no string"),
        ("Object{a: null}", "a value of type null_type does not become JSON here"),
        ("Object{a: [null]}", "a value of type null_type does not become JSON here"),
        ("Object{a: duration(\"1h\")}", "a value of type google.protobuf.Duration does not become JSON here"),
        ("type(1)", "a value of type type does not become JSON here"),
        ("{1: \"a\"}", "a key of a map in the value is no string"),
        ("[optional.none()]", "the value is optional.none()"),
        ("JSONPatch{op: \"add\"}", "a value of type JSONPatch does not become JSON here"),
    ] {
        let found = converted(value);
        assert!(found.starts_with(expected), "{value}: {found}");
    }
}
