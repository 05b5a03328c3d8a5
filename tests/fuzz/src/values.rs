//! Values, built from choices.

use kyv::value::{JsonReader, Number, Pointer, Segment, Value};
use kyv::yaml;

use super::input::Choices;

/// Strings that mean something somewhere.
const STRINGS: &[&str] = &[
    "",
    "a",
    "b",
    "name",
    "*",
    "?",
    "a*",
    "nginx:latest",
    "1",
    "-1",
    "0x1f",
    "1Gi",
    "100m",
    "1h30m",
    "true",
    "null",
    "~",
    ">1",
    "<=5Mi",
    "!a",
    "1-3",
    "a | b",
    "1.2.3",
    "{{ request.object.metadata.name }}",
    "{{ element }}",
    "{{@}}",
    "{{ a",
    "$(./../name)",
    r"\{{ a }}",
    "{{ request.operation }}",
    "{{ x }}",
    "é",
    "\u{1f600}",
    "\n",
    "a\nb\n",
    " ",
    "Pod",
    "ConfigMap",
    "v1",
    "delete",
    "merge",
    "/a/b",
    "-",
];

/// Keys that mean something somewhere.
const KEYS: &[&str] = &[
    "a",
    "b",
    "name",
    "image",
    "containers",
    "spec",
    "metadata",
    "labels",
    "annotations",
    "data",
    "key",
    "value",
    "operator",
    "(name)",
    "+(a)",
    "<(b)",
    "(image)",
    "^(a)",
    "=(a)",
    "X(a)",
    "$patch",
    "$retainKeys",
    "$setElementOrder/containers",
    "$deleteFromPrimitiveList/finalizers",
    "{{ a }}",
    "",
    "a/b",
    "a~b",
    "é",
    "0",
    "finalizers",
    "ports",
    "containerPort",
    "protocol",
    "volumes",
    "template",
    "kind",
    "apiVersion",
    "namespace",
    "match",
    "any",
    "all",
    "resources",
    "kinds",
    "mutate",
    "foreach",
    "list",
    "patchStrategicMerge",
    "context",
    "preconditions",
];

/// A value of bounded size.
pub fn value(choices: &mut Choices<'_>, depth: usize) -> Value {
    let kinds = if depth == 0 || choices.is_dry() { 6 } else { 10 };
    match choices.below(kinds) {
        0 => Value::from(*choices.one(STRINGS)),
        1 => Value::Null,
        2 => Value::from(choices.once_in(2)),
        3 => Value::from(choices.number()),
        4 => number(choices),
        5 => Value::from(choices.text()),
        6 | 7 => (0..choices.below(5)).map(|_| value(choices, depth - 1)).collect::<Vec<_>>().into(),
        _ => (0..choices.below(5)).map(|_| (key(choices), value(choices, depth - 1))).collect(),
    }
}

/// A key.
pub fn key(choices: &mut Choices<'_>) -> String {
    if choices.once_in(12) { choices.text() } else { (*choices.one(KEYS)).to_owned() }
}

fn number(choices: &mut Choices<'_>) -> Value {
    const NUMBERS: &[&str] = &[
        "0",
        "-0",
        "1.5",
        "1e3",
        "1E400",
        "-1e-400",
        "12345678901234567890",
        "9223372036854775807",
        "-9223372036854775808",
        "1e21",
        "0.1",
        "1.0",
        "1e999999999",
        "18446744073709551616",
        "1e-7",
        "4.9e-324",
    ];
    let text = *choices.one(NUMBERS);
    JsonReader::new(text).read().unwrap_or_else(|_| Number::from(7).into())
}

/// A document with some nodes replaced, removed, renamed or doubled.
pub fn edited(mut document: Value, choices: &mut Choices<'_>) -> Value {
    for _ in 0..1 + choices.below(6) {
        let places = places(&document);
        let place = choices.one(&places).clone();
        match (choices.below(5), place.segments().last()) {
            (0, Some(Segment::Key(key))) => {
                let key = key.clone();
                if let Some(parent) = node(&mut document, &place.parent()) {
                    parent.remove(&key);
                }
            }
            (1, Some(Segment::Key(old))) => {
                let old = old.clone();
                let new = key(choices);
                if let Some(parent) = node(&mut document, &place.parent()) {
                    let moved = parent.remove(&old).unwrap_or_default();
                    parent.insert(new, moved);
                }
            }
            (2, Some(Segment::Index(index))) => {
                let index = *index;
                if let Some(items) = node(&mut document, &place.parent()).and_then(Value::as_array_mut) {
                    let copy = items[index].clone();
                    items.push(copy);
                }
            }
            (3, _) => {
                // Some other part of the document.
                let other = document.pointed(choices.one(&places)).cloned().unwrap_or_default();
                if let Some(node) = node(&mut document, &place) {
                    *node = other;
                }
            }
            (4, _) => {
                let (key, member) = (key(choices), value(choices, 3));
                if let Some(node) = node(&mut document, &place) {
                    node.insert(key, member);
                }
            }
            _ => {
                let other = value(choices, 3);
                if let Some(node) = node(&mut document, &place) {
                    *node = other;
                }
            }
        }
    }
    document
}

/// All nodes, the root first.
pub fn places(value: &Value) -> Vec<Pointer> {
    let mut open = vec![(Pointer::ROOT, value)];
    let mut places = Vec::new();
    while let Some((at, node)) = open.pop() {
        match node {
            Value::Array(items) => {
                open.extend(items.iter().enumerate().map(|(index, item)| (at.index(index), item)));
            }
            Value::Object(members) => {
                open.extend(members.iter().map(|(key, member)| (at.key(key.clone()), member)));
            }
            _ => {}
        }
        places.push(at);
    }
    places
}

fn node<'v>(value: &'v mut Value, place: &Pointer) -> Option<&'v mut Value> {
    place.segments().iter().try_fold(value, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut()?.get_mut(key),
        Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
    })
}

/// The value of a text: the first document of YAML. JSON is YAML.
pub fn parsed(text: &str) -> Option<Value> {
    yaml::parse_value(text).ok()
}
