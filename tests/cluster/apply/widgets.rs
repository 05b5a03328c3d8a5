//! A custom resource whose schema has what a schema can say of merges, and random objects of it.

use kyv::value::Value;
use kyv_fuzz::seeds::Random;

const DEFINITION: &str = r#"{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.example.com"},
  "spec": {"group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties": {
      "spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "ratio": {"type": "number"}, "color": {"type": "string", "nullable": true},
        "on": {"type": "boolean"}, "when": {"type": "string", "format": "date-time"}, "raw": {"type": "string", "format": "byte"},
        "port": {"x-kubernetes-int-or-string": true},
        "plain": {"type": "array", "items": {"type": "string"}},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"],
          "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
            "zone": {"type": "string", "default": "z1"}, "weight": {"type": "integer"},
            "args": {"type": "array", "items": {"type": "string"}}}}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "lists": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
        "selector": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        "pair": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
          "known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
        "free": {"x-kubernetes-preserve-unknown-fields": true},
        "empty": {"type": "object"},
        "template": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "strict": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"data": {"type": "string"}}}}},
      "status": {"type": "object", "properties": {"phase": {"type": "string"}}}}}}}]}}"#;

/// Values of the fields of `spec`, several of each.
const VALUES: &[(&str, &[&str])] = &[
    ("size", &["1", "2"]),
    ("ratio", &["1", "0.5"]),
    ("color", &[r#""red""#, "null"]),
    ("on", &["true", "false"]),
    ("when", &[r#""2020-01-02T03:04:05Z""#]),
    ("raw", &[r#""YQ==""#]),
    ("port", &["80", r#""http""#]),
    ("plain", &[r#"["a","b"]"#, "[]"]),
    ("tags", &[r#"["a","b","c"]"#, r#"["c","a"]"#, r#"["d"]"#, "[]"]),
    (
        "parts",
        &[
            r#"[{"name":"a"},{"name":"b","weight":1}]"#,
            r#"[{"name":"b","zone":"z1","weight":2},{"name":"a","zone":"z2","args":["x"]}]"#,
            r#"[{"zone":"z1","weight":3},{"name":"c"},{"name":"a","weight":5}]"#,
        ],
    ),
    ("labels", &[r#"{"a":"b"}"#, r#"{"c":"d","a":"x"}"#, "{}"]),
    ("lists", &[r#"{"a":["b"]}"#, r#"{"a":["c"],"d":[]}"#]),
    ("selector", &[r#"{"a":"b"}"#, r#"{"c":"d"}"#]),
    ("pair", &[r#"{"a":"b"}"#, r#"{"b":1}"#]),
    (
        "any",
        &[r#"{"x":{"y":[1]},"known":{"a":"b","z":1}}"#, r#"{"x":{"w":2},"known":{"a":"c"}}"#, r#"{"x":"y"}"#],
    ),
    ("free", &["1", r#"{"a":{"b":1}}"#, r#"{"a":{"c":[2]}}"#, "[1,2]", r#"[{"a":1}]"#]),
    ("empty", &[r#"{"a":{"b":1}}"#, r#"{"a":{"c":[]}}"#, "{}"]),
    (
        "template",
        &[
            r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"a":1}}"#,
            r#"{"apiVersion":"v2","kind":"B","metadata":{"labels":{"c":"d"},"finalizers":["f"]},"spec":{"b":[1]}}"#,
        ],
    ),
    ("strict", &[r#"{"apiVersion":"v1","kind":"A","metadata":{"annotations":{"a":"b"}},"data":"x"}"#]),
];

/// The definition.
pub(crate) fn definition() -> Value {
    Value::from_json(DEFINITION).expect("JSON")
}

/// A random object.
pub(crate) fn object(random: &mut Random) -> Value {
    let spec: Value = VALUES
        .iter()
        .filter_map(|(name, values)| {
            let value = values[random.below(values.len())];
            (random.below(3) > 0).then(|| (*name, Value::from_json(value).expect("JSON")))
        })
        .collect();
    let metadata = r#"{"name":"w","namespace":"default","labels":{"a":"b"},"finalizers":["example.com/f"]}"#;
    [
        ("apiVersion", Value::from("example.com/v1")),
        ("kind", Value::from("Widget")),
        ("metadata", Value::from_json(metadata).expect("JSON")),
        ("spec", spec),
    ]
    .into_iter()
    .collect()
}
