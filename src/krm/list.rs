//! The ResourceList.

use crate::resources::is_local_group;
use crate::value::{GroupVersionKind, Text, Value};

use super::annotations::internal_annotation;

const DEFAULT_VERSION: &str = "config.kubernetes.io/v1";

/// The versions of a ResourceList that differ from the current one in nothing that is read here.
const VERSIONS: [&str; 3] =
    [DEFAULT_VERSION, "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"];

/// The names of a kustomization's file.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The input of a function.
#[derive(Clone, Debug)]
pub struct ResourceList {
    /// Its `apiVersion`, which the response has, too.
    pub api_version: Text,
    /// The items, in order.
    pub items: Vec<Value>,
    /// The configuration of the function, or `null`.
    pub function_config: Value,
    /// Results of earlier functions.
    pub results: Vec<Value>,
}

/// Why a value is no ResourceList.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceListError {
    /// It is of another kind.
    #[error("expected a document of kind ResourceList, found kind {0}")]
    Kind(String),
    /// It is of another version.
    #[error("unknown apiVersion `{version}` of the ResourceList; known are {}", VERSIONS.join(", "))]
    Version {
        /// Its version.
        version: String,
    },
    /// An item is no object.
    #[error("items[{index}]: expected an object, found {found}")]
    Item {
        /// The number of the item.
        index: usize,
        /// What it is.
        found: &'static str,
    },
    /// A field has another type.
    #[error("`{field}` must be a {expected}, found {found}")]
    Type {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
}

impl ResourceList {
    /// Reads a document. Items may be missing or `null`. Results are a list or, as early SDKs wrote them, the `items` of
    /// an object.
    ///
    /// # Errors
    ///
    /// A document of another kind or version, items or results that are no lists, items that are no objects.
    pub fn from_value(document: &Value) -> Result<Self, ResourceListError> {
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or("none");
        if kind != "ResourceList" && kind != "List" {
            return Err(ResourceListError::Kind(kind.into()));
        }
        let api_version = match document.get("apiVersion") {
            None => DEFAULT_VERSION.into(),
            // Orchestrators take a plain List for the same.
            Some(Value::String(version)) if kind == "List" && &**version == "v1" => DEFAULT_VERSION.into(),
            Some(Value::String(version)) if VERSIONS.contains(&&**version) => version.clone(),
            Some(Value::String(version)) => {
                return Err(ResourceListError::Version { version: version.to_string() });
            }
            Some(other) => {
                let (field, expected, found) = ("apiVersion", "string", other.type_name());
                return Err(ResourceListError::Type { field, expected, found });
            }
        };
        let items = list(document.get("items"), "items")?;
        if let Some(index) = items.iter().position(|item| item.as_object().is_none()) {
            return Err(ResourceListError::Item {
                index,
                found: items.get(index).map_or("", Value::type_name),
            });
        }
        let results = document.get("results");
        let results = results.and_then(|results| results.get("items")).or(results);
        Ok(Self {
            api_version,
            items,
            function_config: document.get("functionConfig").cloned().unwrap_or_default(),
            results: list(results, "results")?,
        })
    }

    /// What a response has before its items.
    pub(super) fn head(&self) -> [(&'static str, Value); 2] {
        [("apiVersion", Value::String(self.api_version.clone())), ("kind", Value::from("ResourceList"))]
    }
}

fn list(value: Option<&Value>, field: &'static str) -> Result<Vec<Value>, ResourceListError> {
    match value {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items.to_vec()),
        Some(other) => Err(ResourceListError::Type { field, expected: "list", found: other.type_name() }),
    }
}

/// Whether an item is an object for a cluster: no file of kpt, kustomize or the Kyverno CLI, not local, and not the
/// configuration of the function.
pub fn is_resource(item: &Value, function_config: &Value) -> bool {
    let text = |path: &[&str]| item.path(path).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text(&["apiVersion"]), text(&["kind"]));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let local = text(&["metadata", "annotations", "config.kubernetes.io/local-config"]);
    let has_kind = !version.is_empty() && !kind.is_empty();
    has_kind
        && !is_local_group(group)
        && (local.is_empty() || local == "false")
        && !is_same_object(item, function_config)
}

/// Whether an item is left alone because it has no kind. A kustomization, by the name of its file, needs none.
pub fn lacks_kind(item: &Value) -> bool {
    let file = internal_annotation(item, "path").and_then(|path| path.rsplit('/').next());
    GroupVersionKind::of(item).is_none() && !file.is_some_and(|file| KUSTOMIZATIONS.contains(&file))
}

/// Whether two values are one object. Their metadata may differ in all but the name: an orchestrator or an earlier
/// function may have changed one of them.
pub fn is_same_object(item: &Value, other: &Value) -> bool {
    let same = |path: &[&str]| item.path(path) == other.path(path);
    let (Some(members), Some(others)) = (item.as_object(), other.as_object()) else { return false };
    item.path(&["metadata", "name"]).is_some()
        && same(&["metadata", "name"])
        && same(&["metadata", "namespace"])
        && members.len() == others.len()
        && members.iter().all(|(name, value)| &**name == "metadata" || other.get(name) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Value {
        Value::from_json(text).unwrap()
    }

    #[test]
    fn other_versions_and_items_that_are_no_objects_are_refused() {
        let version = |version: &str| {
            ResourceList::from_value(&json(&format!(r#"{{"apiVersion":"{version}","kind":"ResourceList"}}"#)))
        };
        for known in VERSIONS {
            assert_eq!(version(known).unwrap().api_version, Text::from(known));
        }
        for unknown in ["config.kubernetes.io/v2", "v1", ""] {
            assert_eq!(version(unknown).unwrap_err(), ResourceListError::Version { version: unknown.into() });
        }
        for (item, found) in [("5", "number"), ("null", "null"), (r#""a""#, "string"), ("[]", "array")] {
            let text = format!(r#"{{"kind":"ResourceList","items":[{{}},{item}]}}"#);
            let error = ResourceList::from_value(&json(&text)).unwrap_err();
            assert_eq!(error, ResourceListError::Item { index: 1, found });
        }
    }

    #[test]
    fn other_kinds_and_types_are_refused() {
        assert!(ResourceList::from_value(&json(r#"{"kind":"Pod"}"#)).is_err());
        assert!(ResourceList::from_value(&json(r#"{"kind":"ResourceList","items":{}}"#)).is_err());
        assert!(ResourceList::from_value(&json("[]")).is_err());
    }

    #[test]
    fn earlier_results_are_kept_in_either_shape() {
        let wrapped = json(r#"{"kind":"ResourceList","results":{"name":"f","items":[{"message":"a"}]}}"#);
        let list = ResourceList::from_value(&wrapped).unwrap();
        assert_eq!(list.results, [json(r#"{"message":"a"}"#)]);
    }

    #[test]
    fn files_of_the_orchestrators_are_no_resources() {
        let none = Value::Null;
        assert!(is_resource(&json(r#"{"apiVersion":"v1","kind":"Pod"}"#), &none));
        for text in [
            r#"{"kind":"Pod"}"#,
            r#"{"apiVersion":"kpt.dev/v1","kind":"Kptfile"}"#,
            r#"{"apiVersion":"kustomize.config.k8s.io/v1beta1","kind":"Kustomization"}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"annotations":{"config.kubernetes.io/local-config":"true"}}}"#,
        ] {
            assert!(!is_resource(&json(text), &none), "{text}");
        }
    }

    #[test]
    fn items_without_a_kind_are_noted_but_kustomizations() {
        let item = |path: &str| {
            json(&format!(r#"{{"metadata":{{"annotations":{{"config.kubernetes.io/path":"{path}"}}}}}}"#))
        };
        assert!(lacks_kind(&item("values.yaml")) && lacks_kind(&json(r#"{"kind":"Pod"}"#)));
        assert!(
            !lacks_kind(&item("overlays/prod/kustomization.yaml")) && !lacks_kind(&item("Kustomization"))
        );
        assert!(!lacks_kind(&json(r#"{"apiVersion":"v1","kind":"Pod"}"#)));
    }

    #[test]
    fn the_configuration_among_the_items_is_no_resource() {
        let config = json(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"},"data":{}}"#);
        let item = json(
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config",
            "annotations":{"config.kubernetes.io/index":"0"}},"data":{}}"#,
        );
        assert!(!is_resource(&item, &config));
        for other in [
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"other"},"data":{}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"},"data":{"a":"b"}}"#,
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"config"}}"#,
        ] {
            assert!(is_resource(&json(other), &config), "{other}");
        }
    }
}
