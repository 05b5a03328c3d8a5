//! Kinds declared by `CustomResourceDefinition` objects.

use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostics::Code;
use crate::resources::{ApiResource, Subresource, plural};
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::{Document, Limits, Source};

use super::text::{documents_of, items_of, read_files};
use super::{SourceError, Walk};

/// A kind that a definition declares.
#[derive(Clone, Debug)]
pub struct CustomKind {
    /// The kind in each version that is served, in the order of the definition. Never empty: a definition that names
    /// no version has one with an empty name.
    pub versions: Vec<ApiResource>,
    /// The whole definition, with the schemas.
    pub definition: Value,
    /// The file and line of the definition.
    pub origin: String,
}

impl CustomKind {
    /// Whether this is the definition of a kind.
    pub fn defines(&self, group: &str, kind: &str) -> bool {
        self.versions
            .first()
            .is_some_and(|resource| *resource.kind.group == *group && *resource.kind.kind == *kind)
    }
}

/// Reads the definitions in files, folders and globs. Other documents are ignored, but a named file must contain a
/// definition.
///
/// # Errors
///
/// Files that cannot be read, and definitions without group, kind or scope.
pub fn custom_kinds(arguments: &[PathBuf], limits: &Limits) -> Result<Vec<CustomKind>, Vec<SourceError>> {
    let mut found = Vec::new();
    let mut errors = Vec::new();
    for file in arguments.iter().flat_map(|argument| read_files(argument, Walk::DeepWithoutDots, limits)) {
        let before = found.len() + errors.len();
        match file {
            Ok((location, documents)) => {
                documents.iter().for_each(|one| add_kinds(one, &mut found, &mut errors));
                if location.is_named() && before == found.len() + errors.len() {
                    let kind = "CustomResourceDefinition";
                    errors.push(SourceError::Empty { path: location.name(), kind });
                }
            }
            Err(unreadable) => errors.extend(unreadable),
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

/// Reads a definition in a document; `None` if the node is no definition.
///
/// # Errors
///
/// A definition without group, kind or scope.
pub fn custom_kind_at(
    document: &Document,
    at: &Pointer,
    node: &Value,
) -> Option<Result<CustomKind, SourceError>> {
    is_definition(node).then(|| custom_kind(document, at, node.clone()))
}

/// Reads the definitions of a text. Other documents are ignored.
///
/// # Errors
///
/// Syntax errors, and definitions without group, kind or scope.
pub fn custom_kinds_in(source: &Arc<Source>, limits: &Limits) -> Result<Vec<CustomKind>, Vec<SourceError>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    documents_of(source, limits)?.iter().for_each(|one| add_kinds(one, &mut found, &mut errors));
    if errors.is_empty() { Ok(found) } else { Err(errors) }
}

fn add_kinds(document: &Document, found: &mut Vec<CustomKind>, errors: &mut Vec<SourceError>) {
    for (pointer, value) in items_of(document).into_iter().filter(|(_, value)| is_definition(value)) {
        match custom_kind(document, &pointer, value) {
            Ok(kind) => found.push(kind),
            Err(error) => errors.push(error),
        }
    }
}

/// Whether an object is a `CustomResourceDefinition`.
pub(super) fn is_definition(value: &Value) -> bool {
    GroupVersionKind::of(value).is_some_and(|kind| {
        &*kind.group == "apiextensions.k8s.io" && &*kind.kind == "CustomResourceDefinition"
    })
}

fn custom_kind(document: &Document, at: &Pointer, definition: Value) -> Result<CustomKind, SourceError> {
    let text = |path: &[&str]| {
        let found = definition.path(path).and_then(Value::as_text).filter(|text| !text.is_empty()).cloned();
        found.ok_or_else(|| {
            let field = path.iter().fold(at.clone(), |at, key| at.key(*key));
            SourceError::at(
                Code::InvalidSchema,
                document,
                &field,
                format!("{field}: expected a string that is not empty"),
            )
        })
    };
    let is_namespaced = match &*text(&["spec", "scope"])? {
        "Namespaced" => true,
        "Cluster" => false,
        _ => {
            let field = at.key("spec").key("scope");
            let message = format!("{field}: expected `Namespaced` or `Cluster`");
            return Err(SourceError::at(Code::InvalidSchema, document, &field, message));
        }
    };
    let line = document.nearest_position(at).line;
    let versions =
        versions(&definition, &text(&["spec", "group"])?, &text(&["spec", "names", "kind"])?, is_namespaced);
    Ok(CustomKind { versions, origin: format!("{}:{line}", document.source().name()), definition })
}

/// The resource that a definition declares, in each of its served versions.
fn versions(definition: &Value, group: &Text, kind: &Text, is_namespaced: bool) -> Vec<ApiResource> {
    let names = definition.path(&["spec", "names"]).cloned().unwrap_or_default();
    let name = |field| names.get(field).and_then(Value::as_text).cloned();
    let texts = |field| {
        let list = names.get(field).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_text).cloned().collect()
    };
    let common = definition.path(&["spec", "subresources"]);
    let resource = |version: Text, own: Option<&Value>| {
        let kind = GroupVersionKind { group: group.clone(), version, kind: kind.clone() };
        let has = |name| own.or(common).is_some_and(|all| all.get(name).is_some());
        let scale = || GroupVersionKind::new("autoscaling/v1", "Scale");
        let subresources = [
            has("scale").then(|| Subresource { name: "scale".into(), kind: scale() }),
            has("status").then(|| Subresource { name: "status".into(), kind: kind.clone() }),
        ];
        ApiResource {
            plural: name("plural").unwrap_or_else(|| plural(group, &kind.kind).into()),
            singular: name("singular").unwrap_or_else(|| kind.kind.to_lowercase().into()),
            short_names: texts("shortNames"),
            categories: texts("categories"),
            is_namespaced,
            is_listed: true,
            subresources: subresources.into_iter().flatten().collect(),
            kind,
        }
    };
    let listed = definition.path(&["spec", "versions"]).and_then(Value::as_array).unwrap_or_default();
    let served = listed.iter().filter(|version| version.get("served") != Some(&Value::Bool(false)));
    let mut found: Vec<ApiResource> = served
        .filter_map(|version| {
            let name = version.get("name").and_then(Value::as_text)?;
            Some(resource(name.clone(), version.get("subresources")))
        })
        .collect();
    if found.is_empty() {
        // A definition of `apiextensions.k8s.io/v1beta1` may name its only version here.
        let version = definition.path(&["spec", "version"]).and_then(Value::as_text);
        found.push(resource(version.cloned().unwrap_or_default(), None));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(spec: &str) -> Vec<ApiResource> {
        let definition = Value::from_json(&format!(r#"{{"spec":{spec}}}"#)).unwrap();
        versions(&definition, &"example.com".into(), &"Gateway".into(), true)
    }

    #[test]
    fn a_definition_declares_a_resource_in_each_served_version() {
        let found = declared(
            r#"{"names":{"plural":"gates","singular":"gate","shortNames":["gt"],"categories":["all"]},
                "versions":[{"name":"v2","subresources":{"status":{},"scale":{}}},
                            {"name":"v1","served":true},{"name":"v0","served":false}]}"#,
        );
        let [first, second] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(first.kind.to_string(), "example.com/v2/Gateway");
        assert_eq!((&*first.plural, &*first.singular), ("gates", "gate"));
        assert_eq!((&*first.short_names, &*first.categories), (&["gt".into()][..], &["all".into()][..]));
        let kinds: Vec<String> = first.subresources.iter().map(|one| one.kind.to_string()).collect();
        assert_eq!(kinds, ["autoscaling/v1/Scale", "example.com/v2/Gateway"]);
        assert_eq!(second.kind.to_string(), "example.com/v1/Gateway");
        assert_eq!(second.subresources, []);
    }

    #[test]
    fn a_definition_may_leave_out_names_and_versions() {
        let of = |spec| {
            let found = declared(spec);
            let [resource] = found.as_slice() else { panic!("{found:?}") };
            (resource.kind.version.to_string(), resource.subresources.len(), resource.clone())
        };
        let (version, subresources, resource) = of("{}");
        assert_eq!((&*version, subresources), ("", 0));
        assert_eq!((&*resource.plural, &*resource.singular), ("gateways", "gateway"));
        let (version, subresources, _) = of(r#"{"version":"v1beta1","subresources":{"status":{}}}"#);
        assert_eq!((&*version, subresources), ("v1beta1", 1));
        // Nothing of another type than expected is read.
        of(r#"{"names":{"plural":1,"shortNames":{}},"versions":[1,{"name":2}],"subresources":[]}"#);
    }
}
