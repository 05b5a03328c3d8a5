//! The announcement of parameters for the user interface of Argo CD.

use crate::value::Value;

use super::Renderer;
use super::parameters::{DEFINITIONS, Definition, Shape};

/// The parameters that apply to applications with this renderer, with their defaults, in Argo CD's format.
///
/// The parameter `renderer` is announced by the plugin's configuration, for every application.
///
/// `takes_policies` and `takes_sets`: whether applications may name further policies, and sets of the plugin.
pub fn announcement(renderer: Renderer, takes_policies: bool, takes_sets: bool) -> Value {
    let applies = |definition: &&Definition| match definition.name {
        "renderer" => false,
        "policies" => takes_policies,
        "policy-sets" => takes_sets,
        _ => definition.renderer == Some(renderer),
    };
    Value::from(DEFINITIONS.iter().filter(applies).map(announced).collect::<Vec<_>>())
}

fn announced(definition: &Definition) -> Value {
    let mut entry = Value::empty_object();
    entry.insert("name", definition.name.into());
    entry.insert("title", definition.title.into());
    entry.insert("tooltip", definition.tooltip.into());
    entry.insert("collectionType", definition.shape.word().into());
    match definition.shape {
        Shape::Text(default) => entry.insert("string", default.into()),
        Shape::List => entry.insert("array", Value::from(Vec::new())),
        Shape::Map => entry.insert("map", Value::empty_object()),
    };
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(renderer: Renderer, takes_policies: bool) -> Vec<String> {
        let list = announcement(renderer, takes_policies, takes_policies);
        let names = list.as_array().unwrap().iter().map(|entry| entry.get("name").unwrap().as_str().unwrap());
        names.map(str::to_owned).collect()
    }

    #[test]
    fn only_parameters_that_apply_are_announced() {
        assert_eq!(names(Renderer::Kustomize, false), ["kustomize-images"]);
        assert_eq!(names(Renderer::Plain, true), ["recurse", "policy-sets", "policies"]);
        assert_eq!(names(Renderer::Helm, false), ["helm-value-files", "helm-values", "helm-parameters"]);
    }

    #[test]
    fn an_entry_has_the_fields_that_argo_cd_reads() {
        let list = announcement(Renderer::Plain, false, false);
        let json = list.to_json();
        assert!(
            json.starts_with(r#"[{"name":"recurse","title":"Folders below","tooltip":"true to"#),
            "{json}"
        );
        assert!(json.ends_with(r#","collectionType":"string","string":"false"}]"#), "{json}");
    }

    #[test]
    fn the_configuration_announces_the_renderer_as_it_is_read() {
        let text = include_str!("../../plugin/argocd/plugin.yaml");
        let plugin = crate::yaml::parse_value(text).unwrap();
        let announced = plugin.path(&["spec", "parameters", "static"]).unwrap();
        assert_eq!(*announced, Value::from(vec![super::announced(&DEFINITIONS[0])]));
    }
}
