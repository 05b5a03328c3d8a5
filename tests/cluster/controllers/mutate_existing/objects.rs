//! Objects for policies with targets: those that they name, and others.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::controllers::conformance_policies::Policy;
use crate::controllers::sample_objects;

/// The objects for some policies: of each kind that they name one of each name in each namespace that they name, and
/// of a name and in a namespace that none of them does; and beside them objects of mixed kinds. Namespaces come
/// first.
pub(crate) fn objects_for(policies: &[&Policy]) -> Vec<Value> {
    let mut named = Named::default();
    named.names.insert("bystander".into());
    named.namespaces.extend(["elsewhere".into(), "default".into()]);
    for rule in policies.iter().flat_map(|policy| policy.value["spec"]["rules"].as_array()).flatten() {
        named.read(&rule["match"]);
        named.read(&rule["mutate"]["targets"]);
    }
    let mixed = sample_objects::made();
    let mut objects: Vec<Value> = named.namespaces.iter().map(|name| namespace(name)).collect();
    objects.extend(sample_objects::namespaces());
    for kind in &named.kinds {
        if kind == "Namespace" {
            objects.extend(named.names.iter().map(|name| namespace(name)));
            continue;
        }
        let shape = mixed.iter().find(|object| object["kind"] == kind.as_str());
        let shape = shape.unwrap_or_else(|| panic!("no object of kind {kind} is made here"));
        for name in &named.names {
            let mut object = shape.clone();
            object["metadata"]["name"] = json!(name);
            if shape["metadata"]["namespace"].is_null() {
                objects.push(object);
                continue;
            }
            for namespace in &named.namespaces {
                object["metadata"]["namespace"] = json!(namespace);
                objects.push(object.clone());
            }
        }
    }
    objects.extend(mixed);
    objects
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// What policies name.
#[derive(Default)]
struct Named {
    kinds: BTreeSet<String>,
    names: BTreeSet<String>,
    namespaces: BTreeSet<String>,
}

impl Named {
    fn read(&mut self, part: &Value) {
        match part {
            Value::Array(items) => items.iter().for_each(|item| self.read(item)),
            Value::Object(members) => members.iter().for_each(|(key, value)| self.member(key, value)),
            _ => {}
        }
    }

    fn member(&mut self, key: &str, value: &Value) {
        let into = match key {
            "kind" | "kinds" => &mut self.kinds,
            "name" | "names" => &mut self.names,
            "namespace" | "namespaces" => &mut self.namespaces,
            _ => return self.read(value),
        };
        let texts = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
        // What only the trigger says is one of the others.
        let texts = texts.iter().filter_map(Value::as_str).filter(|text| !text.contains("{{"));
        into.extend(texts.map(|text| match key {
            "kind" | "kinds" => kind(text).to_owned(),
            _ => text.replace('*', "any").replace('?', "x"),
        }));
    }
}

/// The kind in `group/version/Kind/subresource`.
fn kind(text: &str) -> &str {
    text.split('/').find(|part| part.starts_with(char::is_uppercase)).unwrap_or(text)
}
