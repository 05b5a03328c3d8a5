//! Fields that objects of a kind must have, and empty values that the API server drops.

use crate::value::{GroupVersionKind, Number, Pointer, Text, Value};

use super::types::{Field, Kind, Scalar, Shape, Struct, TypeId};

/// Structs whose fields a manifest may always leave out.
const FREE_STRUCTS: [&str; 2] = ["metadata", "status"];

/// Lists that must have an element.
const NOT_EMPTY: [&str; 1] = ["containers"];

/// The smallest object of a built-in kind: its identity and the fields that every object must have, with values of the
/// right types. `None` for kinds that Kubernetes does not have.
pub fn minimal(kind: &GroupVersionKind, name: &str) -> Option<Value> {
    let id = TypeId::of_kind(kind)?;
    let mut object = Value::from_iter([
        ("apiVersion", Value::string(kind.api_version())),
        ("kind", Value::String(kind.kind.clone())),
        ("metadata", Value::from_iter([("name", Value::string(name))])),
    ]);
    if let Value::Object(rest) = smallest_named(id, 0) {
        for (key, value) in rest.iter().filter(|(key, _)| !FREE_STRUCTS.contains(&&***key)) {
            object.insert(key.clone(), value.clone());
        }
    }
    Some(object)
}

/// The smallest value at a path of keys in objects of a built-in kind, lists on the way entered. Lists have an element.
pub fn minimal_at(kind: &GroupVersionKind, path: &[&str]) -> Option<Value> {
    let root = Kind::Named(TypeId::of_kind(kind)?);
    path.iter().try_fold(&root, |kind, key| field_below(kind, key)).map(|kind| smallest(kind, 0))
}

fn field_below<'k>(kind: &'k Kind, key: &str) -> Option<&'k Kind> {
    match stripped(kind) {
        Kind::Named(id) => match &id.get().shape {
            Shape::Struct(shape) => Some(&shape.fields[shape.find(key)?].kind),
            Shape::Collection(kind) => field_below(kind, key),
        },
        Kind::List(element) => field_below(element, key),
        Kind::Map(values) => Some(values),
        Kind::Scalar(_) | Kind::Pointer(_) => None,
    }
}

fn stripped(kind: &Kind) -> &Kind {
    let mut kind = kind;
    while let Kind::Pointer(inner) = kind {
        kind = inner;
    }
    kind
}

/// Types may contain themselves, but no required field leads there.
const MAX_DEPTH: usize = 12;

fn smallest_named(id: TypeId, depth: usize) -> Value {
    match &id.get().shape {
        Shape::Collection(kind) => smallest(kind, depth),
        Shape::Struct(shape) => {
            let fields = required(shape).filter(|_| depth < MAX_DEPTH);
            let fields = fields.map(|field| (field.key.clone(), smallest(&field.kind, depth + 1)));
            fields.filter(|(_, value)| !is_empty_struct(value)).collect()
        }
    }
}

fn smallest(kind: &Kind, depth: usize) -> Value {
    match stripped(kind) {
        Kind::Named(id) => smallest_named(*id, depth),
        Kind::List(element) => Value::array(vec![smallest(element, depth + 1)]),
        Kind::Map(_) => Value::empty_object(),
        Kind::Scalar(Scalar::Bool | Scalar::SchemaOrBool) => Value::Bool(false),
        Kind::Scalar(Scalar::Int32 | Scalar::Int64 | Scalar::Float64 | Scalar::IntOrString) => {
            Value::from(Number::from(1))
        }
        Kind::Scalar(Scalar::Quantity) => Value::from("1"),
        Kind::Scalar(_) | Kind::Pointer(_) => Value::from("a"),
    }
}

fn is_empty_struct(value: &Value) -> bool {
    value.as_object().is_some_and(|members| members.is_empty())
}

/// The fields of a struct that must be there; of structs in structs those that have such a field themselves.
fn required(shape: &Struct) -> impl Iterator<Item = &Field> {
    shape.fields.iter().filter(|field| field.empty.is_some() && !FREE_STRUCTS.contains(&field.name))
}

/// The first field that an object of a built-in kind must have and lacks. Of kinds that Kubernetes does not have nothing
/// is known.
pub fn missing_required(object: &Value, kind: &GroupVersionKind) -> Option<Pointer> {
    missing_named(TypeId::of_kind(kind)?, object, &Pointer::ROOT, 0)
}

fn missing_named(id: TypeId, value: &Value, at: &Pointer, depth: usize) -> Option<Pointer> {
    match &id.get().shape {
        Shape::Collection(kind) => missing(kind, value, at, depth),
        Shape::Struct(shape) => {
            let lacking = required(shape).find_map(|field| {
                let found = value.get(&field.key).filter(|found| !found.is_null());
                match (found, stripped(&field.kind)) {
                    (None, Kind::Named(id)) => {
                        let empty = Value::empty_object();
                        missing_named(*id, &empty, &at.key(field.name), depth + 1)
                            .filter(|_| depth < MAX_DEPTH)
                    }
                    (None, Kind::Map(_)) => None,
                    (None, Kind::List(_)) if !NOT_EMPTY.contains(&field.name) => None,
                    (None, _) => Some(at.key(field.name)),
                    (Some(Value::String(text)), _) if text.is_empty() => Some(at.key(field.name)),
                    (Some(Value::Array(items)), _) if items.is_empty() && NOT_EMPTY.contains(&field.name) => {
                        Some(at.key(field.name))
                    }
                    _ => None,
                }
            });
            lacking.or_else(|| {
                let members = value.as_object()?;
                members.iter().find_map(|(key, member)| {
                    let field = &shape.fields[shape.find(key)?];
                    missing(&field.kind, member, &at.key(key.clone()), depth)
                })
            })
        }
    }
}

fn missing(kind: &Kind, value: &Value, at: &Pointer, depth: usize) -> Option<Pointer> {
    if value.is_null() {
        return None;
    }
    match stripped(kind) {
        Kind::Named(id) => missing_named(*id, value, at, depth + 1),
        Kind::List(element) => {
            let mut items = value.as_array().unwrap_or_default().iter().enumerate();
            items.find_map(|(index, item)| missing(element, item, &at.index(index), depth))
        }
        Kind::Map(values) => {
            let mut members = value.as_object()?.iter();
            members.find_map(|(key, member)| missing(values, member, &at.key(key.clone()), depth))
        }
        Kind::Scalar(_) | Kind::Pointer(_) => None,
    }
}

/// The object without fields that are `null`, and without empty lists, maps and structs that the API server does not
/// keep: it keeps a struct that is optional in Go, such as `emptyDir: {}`. Fields that a kind does not have stay.
pub fn without_dropped(object: &Value, kind: &GroupVersionKind) -> Value {
    let kind = TypeId::of_kind(kind).map(Kind::Named);
    kept(object, kind.as_ref()).unwrap_or_else(Value::empty_object)
}

/// What is kept of a value; `None` for nothing.
fn kept(value: &Value, kind: Option<&Kind>) -> Option<Value> {
    let is_pointer = matches!(kind, Some(Kind::Pointer(_)));
    let kind = kind.map(stripped).map(|kind| match kind {
        Kind::Named(id) => match &id.get().shape {
            Shape::Collection(kind) => stripped(kind),
            Shape::Struct(_) => kind,
        },
        other => other,
    });
    match value {
        Value::Null => None,
        Value::Object(members) => {
            let below = |key: &str| match kind {
                Some(Kind::Named(id)) => match &id.get().shape {
                    Shape::Struct(shape) => Some(&shape.fields[shape.find(key)?].kind),
                    Shape::Collection(_) => None,
                },
                Some(Kind::Map(values)) => Some(&**values),
                _ => None,
            };
            let member = |key: &Text, member: &Value| match kind {
                // A null in a map is an empty value.
                Some(Kind::Map(values)) if member.is_null() => {
                    Some(values.empty()).filter(|empty| !empty.is_null())
                }
                _ => kept(member, below(key)),
            };
            let members: Value =
                members.iter().filter_map(|(key, value)| Some((key.clone(), member(key, value)?))).collect();
            let is_dropped = is_empty_struct(&members) && kind.is_some() && !is_pointer;
            (!is_dropped).then_some(members)
        }
        Value::Array(items) => {
            let element = if let Some(Kind::List(element)) = kind { Some(&**element) } else { None };
            // Elements stay, whatever is left of them.
            let items = items.iter().map(|item| kept(item, element).unwrap_or_else(|| emptied(item)));
            let items: Vec<Value> = items.collect();
            (!items.is_empty() || kind.is_none() || is_pointer).then(|| Value::array(items))
        }
        scalar => Some(scalar.clone()),
    }
}

fn emptied(item: &Value) -> Value {
    if item.as_object().is_some() { Value::empty_object() } else { item.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn the_smallest_objects_have_what_their_kinds_need() {
        for (version, kind, expected) in [
            ("v1", "ConfigMap", r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}"#),
            (
                "v1",
                "Pod",
                r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{"containers":[{"name":"a"}]}}"#,
            ),
            ("v1", "Namespace", r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}"#),
        ] {
            let kind = GroupVersionKind::new(version, kind);
            let object = minimal(&kind, "x").unwrap();
            assert_eq!(object.to_json(), expected);
            assert_eq!(missing_required(&object, &kind), None);
        }
        assert_eq!(minimal(&GroupVersionKind::new("a.b/v1", "Pod"), "x"), None);
        let pod = GroupVersionKind::new("v1", "Pod");
        let env = minimal_at(&pod, &["spec", "containers", "env"]).unwrap();
        assert_eq!(env.to_json(), r#"[{"name":"a"}]"#);
    }

    #[test]
    fn missing_fields_are_found() {
        let pod = GroupVersionKind::new("v1", "Pod");
        for (object, expected) in [
            (r#"{"metadata":{}}"#, Some("spec.containers")),
            (r#"{"spec":{"containers":[]}}"#, Some("spec.containers")),
            (r#"{"spec":{"containers":[{"image":"i"}]}}"#, Some("spec.containers[0].name")),
            (r#"{"spec":{"containers":[{"name":"a"}]}}"#, None),
            (
                r#"{"spec":{"containers":[{"name":"a","env":[{"value":"x"}]}]}}"#,
                Some("spec.containers[0].env[0].name"),
            ),
        ] {
            let found = missing_required(&json(object), &pod).map(|at| at.to_string());
            assert_eq!(found.as_deref(), expected, "{object}");
        }
    }

    #[test]
    fn only_what_the_api_server_drops_is_left_out() {
        let pod = GroupVersionKind::new("v1", "Pod");
        for (object, expected) in [
            (r#"{"metadata":{"labels":{}},"spec":{"volumes":[]}}"#, "{}"),
            (
                r#"{"spec":{"securityContext":{},"volumes":[{"name":"a","emptyDir":{}}]}}"#,
                r#"{"spec":{"securityContext":{},"volumes":[{"name":"a","emptyDir":{}}]}}"#,
            ),
            (
                r#"{"spec":{"containers":[{"resources":{"limits":{}}}],"x":null}}"#,
                r#"{"spec":{"containers":[{}]}}"#,
            ),
            (
                r#"{"metadata":{"labels":{"a":null}},"spec":{"containers":[{"resources":{"limits":{"cpu":null}}}]}}"#,
                r#"{"metadata":{"labels":{"a":""}},"spec":{"containers":[{"resources":{"limits":{"cpu":"0"}}}]}}"#,
            ),
            (r#"{"spec":{"unknown":{}}}"#, r#"{"spec":{"unknown":{}}}"#),
        ] {
            assert_eq!(without_dropped(&json(object), &pod), json(expected), "{object}");
        }
        let custom = GroupVersionKind::new("a.b/v1", "Widget");
        assert_eq!(
            without_dropped(&json(r#"{"a":{},"b":null,"c":[]}"#), &custom),
            json(r#"{"a":{},"c":[]}"#)
        );
    }
}
