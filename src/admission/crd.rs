//! Custom resources: the structural schema of a `CustomResourceDefinition`, unknown fields pruned and defaults set by it.

use std::collections::BTreeMap;

use crate::value::{GroupVersionKind, Map, Text, Value};

use super::NotAdmitted;
use super::room::Room;
use super::types::{ListKey, Merge, ScalarType};

/// The schemas of custom resources, by kind.
#[derive(Debug, Default)]
pub(super) struct CustomTypes(BTreeMap<GroupVersionKind, Schema>);

/// A node of a structural schema.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) value_type: Type,
    pub(super) properties: BTreeMap<Text, Self>,
    pub(super) items: Option<Box<Self>>,
    /// The values of a map. Without properties of their own, objects among them are emptied.
    pub(super) additional: Option<Box<Self>>,
    pub(super) default: Option<Value>,
    /// The properties that have a default.
    defaulted: Vec<Text>,
    pub(super) merge: Merge,
    is_nullable: bool,
    preserves_unknown: bool,
    /// Whether the node or one above it preserves unknown fields: server-side apply then merges them.
    accepts_unknown: bool,
    pub(super) is_embedded: bool,
    /// Whether the kind has no schema at all.
    is_missing: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Type {
    #[default]
    Any,
    Object,
    List,
    Scalar(ScalarType),
}

/// The fields of an object that its schema need not list.
pub(super) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl CustomTypes {
    /// Adds all versions of a definition. Parts without a meaning are ignored.
    pub(super) fn add(&mut self, definition: &Value) {
        let text = |path: &[&str]| definition.path(path).and_then(Value::as_text).cloned();
        let (Some(group), Some(kind)) = (text(&["spec", "group"]), text(&["spec", "names", "kind"])) else {
            return;
        };
        let common = definition.path(&["spec", "validation"]);
        let keeps_all = match definition.path(&["spec", "preserveUnknownFields"]) {
            Some(Value::Bool(preserves)) => *preserves,
            _ => definition.get("apiVersion").and_then(Value::as_str) == Some("apiextensions.k8s.io/v1beta1"),
        };
        let listed = definition.path(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
        let named = text(&["spec", "version"]).filter(|_| listed.is_empty()).map(|name| (name, None));
        let versions = listed.iter().filter_map(|version| {
            Some((version.get("name").and_then(Value::as_text)?.clone(), version.get("schema")))
        });
        for (version, own) in versions.chain(named) {
            let schema = own.or(common).and_then(|schema| schema.get("openAPIV3Schema"));
            let mut schema = match schema {
                Some(schema) => Schema::read(schema, false),
                None => Schema { is_missing: true, ..Schema::default() },
            };
            schema.preserves_unknown |= keeps_all;
            schema.is_embedded = true;
            self.0.insert(GroupVersionKind { group: group.clone(), version, kind: kind.clone() }, schema);
        }
    }

    /// The schema of a kind.
    pub(super) fn get(&self, kind: &GroupVersionKind) -> Option<&Schema> {
        self.0.get(kind)
    }

    /// Sets defaults and prunes unknown fields outside of `metadata`.
    ///
    /// # Errors
    ///
    /// Kinds without a definition, and more defaults than an API server takes.
    pub(super) fn apply(&self, object: &mut Value, kind: &GroupVersionKind) -> Result<(), NotAdmitted> {
        let schema = self.0.get(kind).ok_or_else(|| NotAdmitted::UnknownKind(kind.clone()))?;
        let room = Room::new();
        schema.apply(object, false, &room);
        room.check()
    }
}

impl Schema {
    fn read(schema: &Value, accepts_unknown: bool) -> Self {
        let is_true = |field| schema.get(field) == Some(&Value::Bool(true));
        let members = |field| schema.get(field).and_then(Value::as_object);
        let preserves_unknown = is_true("x-kubernetes-preserve-unknown-fields");
        let accepts_unknown = accepts_unknown || preserves_unknown;
        let read = |schema| Self::read(schema, accepts_unknown);
        let properties = members("properties").into_iter().flat_map(Map::iter);
        let properties: BTreeMap<Text, Self> =
            properties.map(|(name, schema)| (name.clone(), read(schema))).collect();
        let defaulted = properties.iter().filter(|(_, schema)| schema.default.is_some());
        Self {
            value_type: Type::read(schema),
            defaulted: defaulted.map(|(name, _)| name.clone()).collect(),
            properties,
            items: members("items").and(schema.get("items")).map(|items| Box::new(read(items))),
            additional: match schema.get("additionalProperties") {
                Some(Value::Bool(true)) => Some(Box::new(Self { is_nullable: true, ..Self::default() })),
                Some(schema @ Value::Object(_)) => Some(Box::new(read(schema))),
                _ => None,
            },
            default: schema.get("default").filter(|default| !default.is_null()).cloned(),
            merge: Merge::of_custom(schema),
            is_nullable: is_true("nullable"),
            preserves_unknown,
            accepts_unknown,
            is_embedded: is_true("x-kubernetes-embedded-resource"),
            is_missing: false,
        }
    }

    /// Whether server-side apply takes any value.
    pub(super) const fn is_free(&self) -> bool {
        self.is_missing
    }

    /// Whether server-side apply takes keys that are no properties, if there is no schema for their values.
    pub(super) fn has_free_keys(&self) -> bool {
        self.accepts_unknown || self.properties.is_empty() && !self.is_embedded
    }

    /// Sets defaults and prunes. `in_preserving_list`: the node is an element of a list that preserves unknown fields, and
    /// so preserves its own, as lists in lists do.
    fn apply(&self, node: &mut Value, in_preserving_list: bool, room: &Room) {
        if room.is_empty() {
            return;
        }
        let preserves = self.preserves_unknown || in_preserving_list;
        match node {
            Value::Object(_) => {
                let Some(members) = node.as_object_mut() else { return };
                for name in &self.defaulted {
                    if let Some(schema) = self.properties.get(name)
                        && let Some(default) = &schema.default
                        && schema.is_unset(members.get(name))
                        && room.take(default)
                    {
                        members.insert(name.clone(), default.clone());
                    }
                }
                members.retain(|name, member| self.keeps(name, member, preserves, room));
            }
            Value::Array(items) if !items.is_empty() => {
                let Some(items) = node.as_array_mut() else { return };
                for item in items {
                    match &self.items {
                        Some(schema) => schema.apply_or_default(item, preserves, room),
                        None if !preserves => Self::default().apply(item, false, room),
                        None => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Applies the schema to a member; `false` if it is pruned.
    fn keeps(&self, name: &str, member: &mut Value, preserves: bool, room: &Room) -> bool {
        let schema = self.properties.get(name).or(self.additional.as_deref());
        match schema {
            _ if self.is_embedded && META_FIELDS.contains(&name) => true,
            Some(schema) if member.is_null() && !schema.is_nullable && schema.default.is_none() => false,
            Some(schema) => {
                schema.apply_or_default(member, false, room);
                true
            }
            None => preserves,
        }
    }

    fn apply_or_default(&self, node: &mut Value, in_preserving_list: bool, room: &Room) {
        if let Some(default) = self.default.as_ref().filter(|_| self.is_unset(Some(node)))
            && room.take(default)
        {
            *node = default.clone();
        }
        self.apply(node, in_preserving_list, room);
    }

    /// Whether a value gets the default: it is absent, or `null` where that is no value.
    fn is_unset(&self, value: Option<&Value>) -> bool {
        value.is_none_or(|value| value.is_null() && !self.is_nullable)
    }
}

impl Type {
    fn read(schema: &Value) -> Self {
        let text = |field| schema.get(field).and_then(Value::as_str).unwrap_or_default();
        Self::Scalar(match text("type") {
            "object" => return Self::Object,
            "array" => return Self::List,
            "boolean" => ScalarType::Bool,
            "integer" | "number" => ScalarType::Number,
            "string" if matches!(text("format"), "" | "byte") => ScalarType::String,
            "string" => ScalarType::Any,
            _ => return Self::Any,
        })
    }
}

impl Merge {
    fn of_custom(schema: &Value) -> Self {
        let text = |field| schema.get(field).and_then(Value::as_str).unwrap_or_default();
        match (text("x-kubernetes-list-type"), text("x-kubernetes-map-type")) {
            ("set", _) => Self::Set,
            ("map", _) => {
                let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
                let key = |name: &Text| ListKey {
                    name: name.clone(),
                    default: schema.path(&["items", "properties", name, "default"]).cloned(),
                };
                Self::Keys(names.into_iter().flatten().filter_map(Value::as_text).map(key).collect())
            }
            (_, "atomic") => Self::Atomic,
            _ => Self::ByType,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_set_and_unknown_fields_pruned() {
        let definition = r#"{
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": {"kind": "Widget"}, "versions": [
                {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "default": {"size": 1}, "properties": {
                        "size": {"type": "integer", "default": 3},
                        "color": {"type": "string", "nullable": true, "default": "red"},
                        "parts": {"type": "array", "items": {"type": "object", "properties": {
                            "weight": {"type": "integer", "default": 7}}}},
                        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                            "known": {"type": "object", "properties": {"a": {"type": "string"}}}}},
                        "open": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items":
                            {"type": "array", "items": {"type": "object", "properties": {
                                "a": {"type": "string", "default": "x"},
                                "deep": {"type": "object", "properties": {"b": {"type": "string"}}}}}}},
                        "pod": {"type": "object", "x-kubernetes-embedded-resource": true}}}}}}},
                {"name": "v2", "schema": {"openAPIV3Schema": {"x-kubernetes-preserve-unknown-fields": true}}}]}
        }"#;
        let mut types = CustomTypes::default();
        types.add(&Value::from_json(definition).unwrap());
        for (version, written, expected) in [
            ("v1", r#"{"metadata":{"x":1}}"#, r#"{"metadata":{"x":1},"spec":{"size":1,"color":"red"}}"#),
            ("v1", r#"{"spec":null,"status":{}}"#, r#"{"spec":{"size":1,"color":"red"}}"#),
            ("v1", r#"{"spec":{"size":null,"color":null}}"#, r#"{"spec":{"size":3,"color":null}}"#),
            (
                "v1",
                r#"{"spec":{"size":2,"color":"x","parts":[{"w":1},{"weight":8}],"labels":{"a":"b","c":null}}}"#,
                r#"{"spec":{"size":2,"color":"x","parts":[{"weight":7},{"weight":8}],"labels":{"a":"b"}}}"#,
            ),
            (
                "v1",
                r#"{"spec":{"size":2,"color":"x","any":{"b":{"c":1},"known":{"a":"","b":1}},"pod":{"kind":"P","y":1}}}"#,
                r#"{"spec":{"size":2,"color":"x","any":{"b":{"c":1},"known":{"a":""}},"pod":{"kind":"P"}}}"#,
            ),
            (
                "v1",
                r#"{"spec":{"size":2,"color":"x","open":[[{"x":1,"deep":{"b":"c","x":1}}]]}}"#,
                r#"{"spec":{"size":2,"color":"x","open":[[{"x":1,"deep":{"b":"c"},"a":"x"}]]}}"#,
            ),
            ("v2", r#"{"spec":{"a":[null]},"b":null}"#, r#"{"spec":{"a":[null]},"b":null}"#),
        ] {
            let mut object = Value::from_json(written).unwrap();
            let kind = GroupVersionKind::new(&format!("example.com/{version}"), "Widget");
            assert_eq!(types.apply(&mut object, &kind), Ok(()));
            assert_eq!(object.to_json(), Value::from_json(expected).unwrap().to_json(), "{written}");
        }
        let other = GroupVersionKind::new("example.com/v3", "Widget");
        assert_eq!(types.apply(&mut Value::empty_object(), &other), Err(NotAdmitted::UnknownKind(other)));
    }

    #[test]
    fn the_defaults_of_an_object_have_a_limit() {
        let members = |count: usize| {
            let members =
                (0..count).map(|number| format!(r#""p{number}":{{"type":"string","default":"x"}}"#));
            members.collect::<Vec<_>>().join(",")
        };
        let definition = format!(
            r#"{{"spec":{{"group":"example.com","names":{{"kind":"Widget"}},"versions":[{{"name":"v1","schema":
                {{"openAPIV3Schema":{{"properties":{{"parts":{{"items":{{"properties":{{{}}}}}}}}}}}}}}}]}}}}"#,
            members(100)
        );
        let mut types = CustomTypes::default();
        types.add(&Value::from_json(&definition).unwrap());
        let kind = GroupVersionKind::new("example.com/v1", "Widget");
        for (parts, expected) in [(1_000, Ok(())), (20_000, Err(NotAdmitted::ManyDefaults))] {
            let mut object =
                Value::from_json(&format!(r#"{{"parts":[{}{{}}]}}"#, "{},".repeat(parts))).unwrap();
            assert_eq!(types.apply(&mut object, &kind), expected, "{parts}");
        }
    }
}
