//! Custom resource definitions and API services.

use crate::admission::fields::Setter;
use crate::admission::fields::{field_mut, is_empty, items, set, set_number, set_object, text_of};
use crate::value::Value;

pub(super) fn apiextensions(name: &str) -> Option<Setter> {
    Some(match name {
        "CustomResourceDefinition" => custom_resource_definition,
        "CustomResourceDefinitionSpec" => custom_resource_definition_spec,
        "ServiceReference" => |service| set_number(service, "port", 443),
        _ => return None,
    })
}

pub(super) fn apiregistration(name: &str) -> Option<Setter> {
    (name == "ServiceReference").then_some(|service| set_number(service, "port", 443))
}

/// The first version that is stored is the only one so far.
fn custom_resource_definition(definition: &mut Value) {
    let versions = definition.get("spec").map_or(&[][..], |spec| items(spec, "versions"));
    let stored =
        versions.iter().find(|version| version.get("storage").and_then(Value::as_bool) == Some(true));
    let Some(name) = stored.map(|stored| Value::from(text_of(stored, "name"))) else { return };
    set_object(definition, "status");
    if let Some(status) = field_mut(definition, "status")
        && is_empty(status, "storedVersions")
    {
        status.insert("storedVersions", Value::array(vec![name]));
    }
}

fn custom_resource_definition_spec(spec: &mut Value) {
    if let Some(names) = field_mut(spec, "names") {
        let kind = text_of(names, "kind").to_owned();
        if !kind.is_empty() {
            set(names, "singular", || kind.to_lowercase().into());
            set(names, "listKind", || format!("{kind}List").into());
        }
    }
    set(spec, "conversion", || [("strategy", Value::from("None"))].into_iter().collect());
}
