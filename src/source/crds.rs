//! Kinds that a cluster learns from `CustomResourceDefinition` objects.

use std::path::PathBuf;

use crate::engine::KindScope;
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::{Document, Limits};

use super::text::read_documents;
use super::{Location, SourceError, Walk, expand};

/// A kind that a definition declares.
#[derive(Clone, Debug)]
pub struct CustomKind {
    /// Its API group.
    pub group: Text,
    /// Its name.
    pub kind: Text,
    /// Whether its objects live in namespaces.
    pub scope: KindScope,
    /// The whole definition, with the schemas.
    pub definition: Value,
    /// The file and line of the definition.
    pub origin: String,
}

/// Reads the definitions that files, folders and globs hold. Other documents are passed over, but a named
/// file must hold a definition.
///
/// # Errors
///
/// What cannot be read, and definitions without group, kind or scope.
pub fn custom_kinds(arguments: &[PathBuf], limits: &Limits) -> Result<Vec<CustomKind>, Vec<SourceError>> {
    let mut found = Vec::new();
    let mut faults = Vec::new();
    for argument in arguments {
        let locations = match expand(argument, Walk::DeepWithoutDots) {
            Ok(locations) => locations,
            Err(error) => {
                faults.push(error);
                continue;
            }
        };
        for location in locations {
            let before = found.len() + faults.len();
            match read_documents(&location, limits) {
                Ok(documents) => documents.iter().for_each(|one| kinds_of(one, &mut found, &mut faults)),
                Err(errors) => faults.extend(errors),
            }
            let named = !matches!(location, Location::File { named: false, .. });
            if named && before == found.len() + faults.len() {
                faults.push(SourceError::Empty { path: location.name(), kind: "CustomResourceDefinition" });
            }
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

fn kinds_of(document: &Document, found: &mut Vec<CustomKind>, faults: &mut Vec<SourceError>) {
    for (pointer, value) in documents_in(document) {
        let is_definition = GroupVersionKind::of(&value).is_some_and(|kind| {
            &*kind.group == "apiextensions.k8s.io" && &*kind.kind == "CustomResourceDefinition"
        });
        if is_definition {
            match custom_kind(document, &pointer, value) {
                Ok(kind) => found.push(kind),
                Err(error) => faults.push(error),
            }
        }
    }
}

fn custom_kind(document: &Document, at: &Pointer, definition: Value) -> Result<CustomKind, SourceError> {
    let text = |path: &[&str]| {
        let found = definition.path(path).and_then(Value::as_text).filter(|text| !text.is_empty()).cloned();
        found.ok_or_else(|| {
            let field = path.iter().fold(at.clone(), |at, key| at.key(*key));
            SourceError::at(document, &field, format!("{field}: expected a string that is not empty"))
        })
    };
    let scope = match &*text(&["spec", "scope"])? {
        "Namespaced" => KindScope::Namespaced,
        "Cluster" => KindScope::Cluster,
        _ => {
            let field = at.key("spec").key("scope");
            return Err(SourceError::at(
                document,
                &field,
                format!("{field}: expected `Namespaced` or `Cluster`"),
            ));
        }
    };
    let line = document.nearest_position(at).line;
    Ok(CustomKind {
        group: text(&["spec", "group"])?,
        kind: text(&["spec", "names", "kind"])?,
        scope,
        origin: format!("{}:{line}", document.source().name()),
        definition,
    })
}

/// A document's value, or the items of a `List`, each with its place.
pub(super) fn documents_in(document: &Document) -> Vec<(Pointer, Value)> {
    let Some(value) = document.value() else { return Vec::new() };
    let is_list = value.get("kind").and_then(Value::as_str) == Some("List");
    match value.get("items").and_then(Value::as_array) {
        Some(items) if is_list => {
            let at = Pointer::ROOT.key("items");
            items.iter().enumerate().map(|(index, item)| (at.index(index), item.clone())).collect()
        }
        _ => vec![(Pointer::ROOT, value.clone())],
    }
}
