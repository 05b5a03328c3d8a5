//! The types of all kinds, from the API server's own description (`OpenAPI`), not from the table under test.

use std::collections::BTreeMap;

use serde_json::Value;
use test_support::rest::Rest;

/// A type as JSON has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    /// With its number of bits.
    Integer(u8),
    Float,
    /// With the values that the API knows.
    Text(Vec<String>),
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    List(Box<Self>),
    Map(Box<Self>),
    /// By its name.
    Object(String),
    /// Any JSON.
    Any,
}

/// A field of a type.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: Type,
    pub(crate) is_required: bool,
}

/// A kind of objects that can be created.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) is_namespaced: bool,
    /// The name of its type.
    pub(crate) type_name: String,
}

/// What a server says of its types.
#[derive(Default)]
pub(crate) struct Schema {
    types: BTreeMap<String, Vec<Field>>,
    pub(crate) roots: Vec<Root>,
}

impl Schema {
    /// Asks a server for all its groups and versions.
    pub(crate) fn of(rest: &Rest) -> Self {
        let mut schema = Self::default();
        let index = get(rest, "/openapi/v3");
        for path in index["paths"].as_object().expect("an index").keys() {
            let version = path.strip_prefix("apis/").filter(|rest| rest.contains('/'));
            if let Some(version) = version.or_else(|| path.strip_prefix("api/")) {
                schema.add(
                    &get(rest, &format!("/openapi/v3/{path}")),
                    &get(rest, &format!("/{path}")),
                    version,
                );
            }
        }
        schema
    }

    /// The fields of a type; none for a type that is not described.
    pub(crate) fn fields(&self, type_name: &str) -> &[Field] {
        self.types.get(type_name).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, document: &Value, discovery: &Value, api_version: &str) {
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        for (name, schema) in schemas {
            if let Some(properties) = schema["properties"].as_object() {
                let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
                let fields = properties.iter().map(|(name, property)| Field {
                    name: name.clone(),
                    kind: type_of(property, schemas),
                    is_required: required.iter().any(|known| known == name),
                });
                self.types.insert(name.clone(), fields.collect());
            }
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        for resource in discovery["resources"].as_array().into_iter().flatten() {
            let text = |name: &str| resource[name].as_str().unwrap_or_default();
            let can_create =
                resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|verb| verb == "create"));
            if text("name").contains('/') || !can_create {
                continue;
            }
            let wanted = serde_json::json!({"group": group, "kind": text("kind"), "version": version});
            let is_it = |schema: &Value| {
                schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|all| all.contains(&wanted))
            };
            if let Some((type_name, _)) = schemas.iter().find(|(_, schema)| is_it(schema)) {
                self.roots.push(Root {
                    api_version: api_version.to_owned(),
                    kind: text("kind").to_owned(),
                    is_namespaced: resource["namespaced"] == true,
                    type_name: type_name.clone(),
                });
            }
        }
    }
}

fn get(rest: &Rest, path: &str) -> Value {
    rest.ask("GET", path, None).unwrap_or_else(|refusal| panic!("{path}: {refusal:?}"))
}

fn type_of(schema: &Value, all: &serde_json::Map<String, Value>) -> Type {
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    if let Some(name) = reference.and_then(|path| path.rsplit('/').next()) {
        return match name.rsplit('.').next().unwrap_or_default() {
            "Time" => Type::Time,
            "MicroTime" => Type::MicroTime,
            "Duration" => Type::Duration,
            "Quantity" => Type::Quantity,
            _ if all[name]["properties"].is_object() => Type::Object(name.to_owned()),
            _ => type_of(&all[name], all),
        };
    }
    match (schema["type"].as_str(), schema["format"].as_str()) {
        (_, Some("int-or-string")) => Type::IntOrString,
        (Some("boolean"), _) => Type::Boolean,
        (Some("integer"), Some("int32")) => Type::Integer(32),
        (Some("integer"), _) => Type::Integer(64),
        (Some("number"), _) => Type::Float,
        (Some("string"), Some("byte")) => Type::Bytes,
        (Some("string"), _) => {
            let known = schema["enum"].as_array().into_iter().flatten();
            Type::Text(known.filter_map(Value::as_str).map(str::to_owned).collect())
        }
        (Some("array"), _) => Type::List(Box::new(type_of(&schema["items"], all))),
        (Some("object"), _) if schema["additionalProperties"].is_object() => {
            Type::Map(Box::new(type_of(&schema["additionalProperties"], all)))
        }
        (Some("object"), _) => Type::Map(Box::new(Type::Any)),
        _ => Type::Any,
    }
}
