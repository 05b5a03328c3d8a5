//! The objects that mode generate adds: those of manifests.

use std::path::Path;

use crate::krm::{file, is_resource, item_errors};
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
    /// Reads the manifests of these paths; folders with all folders below them.
    ///
    /// # Errors
    ///
    /// Files that cannot be read, documents that are no objects, and duplicate objects.
    pub(super) fn load(
        paths: &[Text],
        function_config: &Value,
        limits: Limits,
    ) -> Result<Self, Vec<FunctionError>> {
        let mut generated = Self::default();
        let mut manifests = Manifests::new(limits);
        let add = |path: &Text| manifests.add(Path::new(&**path), Walk::DeepWithoutDots).err();
        let mut errors: Vec<FunctionError> = paths.iter().filter_map(add).map(Into::into).collect();
        let mut numbers: Vec<i64> = Vec::new();
        for piece in manifests.pieces() {
            match piece {
                Ok(piece) => {
                    numbers.resize(numbers.len().max(piece.input + 1), 0);
                    let number = numbers.get_mut(piece.input).map_or(0, |number| {
                        *number += 1;
                        *number - 1
                    });
                    generated.add(&piece, number, function_config, &mut errors);
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
        piece: &InputDocument,
        number: i64,
        function_config: &Value,
        errors: &mut Vec<FunctionError>,
    ) {
        let (Content::Document(document), Some(value)) = (&piece.content, piece.value()) else { return };
        let name = document.source().name();
        let is_list = GroupVersionKind::of(value).is_some_and(|kind| kind.kind.ends_with("List"));
        let items = value.get("items").and_then(Value::as_array).filter(|_| is_list);
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
                file: Some(file(name, number)),
                is_evaluated: true,
            });
        }
    }
}
