//! The objects that mode generate adds: those of manifests.

use std::collections::BTreeMap;
use std::path::Path;

use crate::commands::evaluate::items_of_list;
use crate::krm::{ItemFile, is_resource, item_errors};
use crate::render::Origin;
use crate::source::{Content, InputDocument, Manifests, Walk};
use crate::value::{GroupVersionKind, Pointer, Text, Value};
use crate::yaml::Limits;

use super::error::FunctionError;
use super::input::Subject;

/// The objects of manifests, before any policy.
#[derive(Debug, Default)]
pub(super) struct GeneratedObjects {
    pub(super) subjects: Vec<Subject>,
    /// Notes on documents that were left out.
    pub(super) notes: Vec<String>,
}

impl GeneratedObjects {
    /// Reads the manifests of these paths; folders with all folders below them. Files that cannot be read, documents
    /// that are no objects and duplicate objects are errors.
    pub(super) fn load(
        paths: &[Text],
        function_config: &Value,
        limits: Limits,
    ) -> Result<Self, Vec<FunctionError>> {
        let mut generated = Self::default();
        let mut manifests = Manifests::new(limits);
        let add = |path: &Text| manifests.add(Path::new(&**path), Walk::DeepWithoutDots).err();
        let mut errors: Vec<FunctionError> = paths.iter().filter_map(add).map(Into::into).collect();
        let mut counts: BTreeMap<usize, i64> = BTreeMap::new();
        for document in manifests.documents() {
            match document {
                Ok(document) => {
                    let count = counts.entry(document.input).or_default();
                    generated.add(&document, *count, function_config, &mut errors);
                    *count += 1;
                }
                Err(error) => errors.push(error.into()),
            }
        }
        let values: Vec<&Value> = generated.subjects.iter().map(|subject| &subject.value).collect();
        let label = |number: usize| {
            generated.subjects.get(number).map_or_else(String::new, |subject| subject.origin.to_string())
        };
        errors.extend(item_errors(&values, function_config, &label).into_iter().map(FunctionError::Items));
        if !paths.is_empty() && generated.subjects.is_empty() && errors.is_empty() {
            errors.push(FunctionError::NoManifests);
        }
        if errors.is_empty() { Ok(generated) } else { Err(errors) }
    }

    fn add(
        &mut self,
        document: &InputDocument,
        number: i64,
        function_config: &Value,
        errors: &mut Vec<FunctionError>,
    ) {
        let (Content::Document(document), Some(value)) = (&document.content, document.value()) else {
            return;
        };
        let name = document.source().name();
        let items = GroupVersionKind::of(value).and_then(|kind| items_of_list(value, &kind));
        let at = Pointer::ROOT.key("items");
        let objects: Vec<(Pointer, &Value)> = match items {
            Some(items) => items.iter().enumerate().map(|(index, item)| (at.index(index), item)).collect(),
            None => vec![(Pointer::ROOT, value)],
        };
        for (at, object) in objects {
            let origin = Origin { name: name.into(), line: Some(document.nearest_position(&at).line) };
            let Some(kind) = GroupVersionKind::of(object) else {
                errors.push(FunctionError::NoObject(origin));
                continue;
            };
            if !is_resource(object, function_config) {
                self.notes.push(format!("{origin}: the {} is no resource and is left out", kind.kind));
                continue;
            }
            self.subjects.push(Subject {
                value: object.clone(),
                origin,
                file: Some(ItemFile { path: name.into(), index: number }),
                is_evaluated: true,
            });
        }
    }
}
