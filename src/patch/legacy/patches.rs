//! The `patches` of Kyverno before 1.2.

use crate::patch::json_patch::edit::Editor;
use crate::patch::json_patch::edit::locate::{
    Container, check_depth, container, container_mut, element_index, index_error, insertion_index, is_append,
    missing,
};
use crate::patch::json_patch::path::Path;
use crate::patch::limits::{CopyCounter, StepCounter};
use crate::patch::{
    IndexError, JsonPatch, MissingPart, Operation, OperationError, OperationKind, PatchError,
};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::Value;

use super::LegacyBehavior;
use super::labels::stringified_at;

/// The operations of a `patches` list, parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct LegacyPatches {
    patch: JsonPatch,
    behavior: LegacyBehavior,
}

impl LegacyPatches {
    /// Parses the list of a `patches` field.
    ///
    /// # Errors
    ///
    /// A value that is not a list, and operations that are incomplete or neither `add`, `replace` nor `remove`.
    pub fn from_value(value: &Value, behavior: LegacyBehavior) -> Result<Self, PatchError> {
        let mut patch = JsonPatch::from_value(value)?;
        for (index, operation) in patch.operations_mut().iter_mut().enumerate() {
            if let Some(error) = refusal(operation) {
                let path = format!(" ({})", operation.path());
                return Err(PatchError::InvalidOperation { number: index + 1, path, error });
            }
            if behavior == LegacyBehavior::Documented {
                operation.edit(|path, value| {
                    // The documentation of Kyverno 1.1 has paths that end in a slash.
                    let tokens = &mut path.tokens;
                    if tokens.len() > 1 && tokens.last().is_some_and(|last| last.name.is_empty()) {
                        tokens.pop();
                    }
                    *value = stringified_at(tokens.iter().map(|token| &token.name), value);
                });
            }
        }
        Ok(Self { patch, behavior })
    }

    /// Applies all operations to a copy of `base`, in order.
    ///
    /// # Errors
    ///
    /// All operations that cannot be applied. Removing a missing value is not an error.
    pub fn apply(&self, base: &Value) -> Result<Value, PatchError> {
        // Parents are created as in documented JSON patches.
        let tracker = DivergenceTracker::new(Semantics::Documented);
        let editor = Editor { document: base.clone(), tracker: &tracker, copied: CopyCounter::default() };
        let mut legacy = LegacyEditor { editor, steps: StepCounter::default() };
        let mut failures = Vec::new();
        for operation in self.patch.operations() {
            let result = match (self.behavior, operation.kind()) {
                (LegacyBehavior::Documented, OperationKind::Remove) => legacy.remove(operation.target()),
                (LegacyBehavior::Documented, _) => legacy.set(operation),
                (LegacyBehavior::Native, OperationKind::Remove) => legacy.remove_natively(operation.target()),
                (LegacyBehavior::Native, _) => legacy.set_natively(operation),
            };
            match result {
                Ok(()) => {}
                Err(limit @ PatchError::Limit(_)) => return Err(limit),
                // The document is dropped if any operation fails.
                Err(failure) => failures.push(failure),
            }
        }
        if failures.is_empty() {
            Ok(legacy.editor.document)
        } else {
            Err(PatchError::LegacyOperations { failures })
        }
    }
}

/// Why the legacy syntax refuses an operation.
fn refusal(operation: &Operation) -> Option<OperationError> {
    if !operation.kind().is_documented() {
        Some(OperationError::NotLegacy)
    } else if operation.target().tokens.is_empty() {
        Some(OperationError::NoSlash)
    } else if operation.kind() != OperationKind::Remove && operation.value().is_null() {
        Some(OperationError::NullValue)
    } else {
        None
    }
}

/// Applies legacy operations to a document.
struct LegacyEditor<'a> {
    editor: Editor<'a>,
    steps: StepCounter,
}

impl LegacyEditor<'_> {
    /// Removes a value; a missing value is ignored.
    fn remove(&mut self, path: &Path) -> Result<(), PatchError> {
        match self.editor.remove(OperationKind::Remove, path) {
            Err(limit @ PatchError::Limit(_)) => Err(limit),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Sets a member and creates its parents; inserts or replaces an element; splices a list into a list.
    fn set(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.target();
        let kind = operation.kind();
        let value = operation.value().clone();
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(()) };
        self.editor.create_parents(path)?;
        let Some(Value::Array(items)) = container(&self.editor.document, parents) else {
            return self.editor.insert(kind, path, value, MissingPart::Path);
        };
        let holds_lists = items.iter().any(|item| item.as_array().is_some());
        match value.as_array().filter(|_| !holds_lists) {
            Some(new) => self.splice(kind, path, new),
            None if kind == OperationKind::Replace && !is_append(items, last) => {
                element_index(items, last).map_err(|error| index_error(kind, path, error))?;
                self.editor.set(path, value)
            }
            None => self.editor.insert(kind, path, value, MissingPart::Path),
        }
    }

    /// Inserts the elements that the list lacks; for `replace`, the first one replaces the element at the index.
    fn splice(&mut self, kind: OperationKind, path: &Path, new: &[Value]) -> Result<(), PatchError> {
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(()) };
        let Some(Container::List(items)) = container_mut(&mut self.editor.document, parents) else {
            return Ok(());
        };
        let replaces = kind == OperationKind::Replace && !is_append(items, last);
        let found = if replaces { element_index(items, last) } else { insertion_index(items.len(), last) };
        let mut at = found.map_err(|error| index_error(kind, path, error))?;
        let mut missing = Vec::new();
        let mut first = None;
        for (index, item) in new.iter().enumerate() {
            check_depth(path, item)?;
            let mut known = false;
            for other in items.iter().chain(&first).chain(&missing) {
                self.steps.count()?;
                if item == other {
                    known = true;
                    break;
                }
            }
            match (known, replaces && index == 0) {
                (true, _) => {}
                (false, true) => first = Some(item.clone()),
                (false, false) => missing.push(item.clone()),
            }
        }
        // The list contains the first one now; the others follow at the next index.
        if replaces && !new.is_empty() {
            if let (Some(first), Some(slot)) = (first, items.get_mut(at)) {
                *slot = first;
            }
            at += 1;
        }
        items.splice(at..at, missing);
        Ok(())
    }

    /// Sets a member or an element if the parent exists.
    fn set_natively(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.target();
        let kind = operation.kind();
        let value = operation.value().clone();
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(()) };
        if let Some(index) = self.index_from_the_end(path) {
            return Err(index_error(kind, path, IndexError::Invalid(index)));
        }
        match container(&self.editor.document, parents) {
            Some(Value::Array(items)) if kind == OperationKind::Replace => {
                element_index(items, last).map_err(|error| index_error(kind, path, error))?;
                self.editor.set(path, value)
            }
            Some(_) => self.editor.insert(kind, path, value, MissingPart::Path),
            None => Err(missing(kind, MissingPart::Path, path)),
        }
    }

    fn remove_natively(&mut self, path: &Path) -> Result<(), PatchError> {
        if self.index_from_the_end(path).is_some() { Ok(()) } else { self.remove(path) }
    }

    /// A negative index in the path, if any: Kyverno 1.1 did not support these.
    fn index_from_the_end(&self, path: &Path) -> Option<i64> {
        let mut node = &self.editor.document;
        for token in &path.tokens {
            node = match node {
                Value::Array(items) => match token.index() {
                    Some(index) if index < 0 => return Some(index),
                    index => items.get(usize::try_from(index?).ok()?)?,
                },
                _ => node.get(&token.name)?,
            };
        }
        None
    }
}
