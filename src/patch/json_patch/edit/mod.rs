//! Applying JSON patches.

pub(in crate::patch) mod locate;
pub(in crate::patch) mod long_list;

use crate::patch::limits::{CopyCounter, MAX_PADDING};
use crate::patch::{IndexError, Limit, MissingPart, PatchError};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::Value;

use super::kind::OperationKind;
use super::operation::{JsonPatch, Operation};
use super::path::{Path, Token};

use locate::{
    Container, check_depth, container, container_mut, element_index, fails_in_list, index_error,
    insertion_index, is_append, missing,
};
use long_list::{LongList, runs};

impl JsonPatch {
    /// Applies all operations to a copy of `base`; only changed paths are copied.
    ///
    /// As in Kyverno, indexes may count from the end, `remove` ignores missing values, and `add` creates missing parents.
    ///
    /// # Errors
    ///
    /// The first operation that cannot be applied.
    pub fn apply(&self, base: &Value, tracker: &DivergenceTracker) -> Result<Value, PatchError> {
        let mut editor = Editor { document: base.clone(), tracker, copied: CopyCounter::default() };
        for run in runs(self.operations(), list_of) {
            let first = run.first().and_then(list_of);
            match first.and_then(|list| editor.apply_to_long_list(list, run)) {
                Some(applied) => applied?,
                None => run.iter().try_for_each(|operation| editor.apply(operation))?,
            }
        }
        Ok(editor.document)
    }
}

/// The path of the list in which an operation adds, removes or moves elements; of an object, as far as the path tells.
fn list_of(operation: &Operation) -> Option<&[Token]> {
    let parents = |path| Path::split_last(path).map(|(_, parents)| parents);
    let list = parents(operation.target())?;
    match operation.kind() {
        OperationKind::Add | OperationKind::Remove => Some(list),
        OperationKind::Copy | OperationKind::Move => {
            parents(operation.source()).filter(|source| *source == list)
        }
        OperationKind::Replace | OperationKind::Test => None,
    }
}

/// Applies operations to a document.
pub(in crate::patch) struct Editor<'a> {
    pub(in crate::patch) document: Value,
    pub(in crate::patch) tracker: &'a DivergenceTracker,
    /// What was copied so far.
    pub(in crate::patch) copied: CopyCounter,
}

impl Editor<'_> {
    fn apply(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let value = operation.value();
        let path = operation.target();
        match operation.kind() {
            OperationKind::Add => self.add(path, value.clone()),
            OperationKind::Remove => self.remove(OperationKind::Remove, path),
            OperationKind::Replace => self.replace(path, value.clone()),
            OperationKind::Test => self.test(path, value),
            OperationKind::Copy => {
                let value = self.source(OperationKind::Copy, operation.source())?.clone();
                self.copied.count(&value)?;
                self.insert(OperationKind::Copy, path, value, MissingPart::Destination)
            }
            OperationKind::Move => {
                let value = self.source(OperationKind::Move, operation.source())?.clone();
                if path.tokens.len() > operation.source().tokens.len() {
                    self.copied.count(&value)?;
                }
                self.remove(OperationKind::Move, operation.source())?;
                self.insert(OperationKind::Move, path, value, MissingPart::Destination)
            }
        }
    }

    /// Applies operations on the elements of one list; `None` if the list is not long, or they are few.
    fn apply_to_long_list(
        &mut self,
        list: &[Token],
        operations: &[Operation],
    ) -> Option<Result<(), PatchError>> {
        let Self { document, copied, .. } = self;
        LongList::change(document, list, operations.len(), |list| {
            operations.iter().try_for_each(|operation| apply_to_list(list, operation, copied))
        })
    }

    fn add(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        if path.tokens.is_empty() {
            return self.replace_document(OperationKind::Add, value);
        }
        self.create_parents(path)?;
        self.insert(OperationKind::Add, path, value, MissingPart::Path)
    }

    fn replace(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        let Some((last, parents)) = path.tokens.split_last() else {
            return self.replace_document(OperationKind::Replace, value);
        };
        let missing = |part| missing(OperationKind::Replace, part, path);
        let missing_part = match container(&self.document, parents) {
            // A missing map may be created, an element of a list may not.
            None if fails_in_list(&self.document, parents) => return Err(missing(MissingPart::Path)),
            None => MissingPart::Path,
            Some(Value::Array(items)) => match element_index(items, last) {
                Ok(_) => return self.set(path, value),
                Err(_) if is_append(items, last) => MissingPart::Key,
                Err(_) => return Err(missing(MissingPart::Key)),
            },
            // The empty key, as from a trailing slash, counts as present.
            Some(parent) if last.name.is_empty() || parent.get(&last.name).is_some() => {
                return self.set(path, value);
            }
            Some(_) => MissingPart::Key,
        };
        // A missing value is added or is an error; the semantics differ only if it can be added.
        let scratch = DivergenceTracker::new(Semantics::Documented);
        let mut added =
            Editor { document: self.document.clone(), tracker: &scratch, copied: self.copied.clone() };
        added.add(path, value)?;
        if self.tracker.documented(Divergence::ReplaceOfMissing) {
            self.document = added.document;
            Ok(())
        } else {
            Err(missing(missing_part))
        }
    }

    fn replace_document(&mut self, kind: OperationKind, value: Value) -> Result<(), PatchError> {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err(PatchError::ScalarDocument { kind });
        }
        self.document = value;
        Ok(())
    }

    /// Replaces an existing value.
    pub(in crate::patch) fn set(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        check_depth(path, &value)?;
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(()) };
        match container_mut(&mut self.document, parents) {
            Some(Container::List(items)) => {
                if let Ok(index) = element_index(items, last) {
                    items[index] = value;
                }
            }
            Some(Container::Map(members)) => drop(members.insert(last.name.clone(), value)),
            None => {}
        }
        Ok(())
    }

    /// Sets a member or inserts an element; the parent must exist.
    pub(in crate::patch) fn insert(
        &mut self,
        kind: OperationKind,
        path: &Path,
        value: Value,
        part: MissingPart,
    ) -> Result<(), PatchError> {
        check_depth(path, &value)?;
        let missing = || missing(kind, part, path);
        let (last, parents) = path.tokens.split_last().ok_or_else(missing)?;
        match container_mut(&mut self.document, parents).ok_or_else(missing)? {
            Container::List(items) => {
                let index = insertion_index(items.len(), last);
                items.insert(index.map_err(|error| index_error(kind, path, error))?, value);
            }
            Container::Map(members) => drop(members.insert(last.name.clone(), value)),
        }
        Ok(())
    }

    pub(in crate::patch) fn remove(&mut self, kind: OperationKind, path: &Path) -> Result<(), PatchError> {
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(()) };
        // The document is not copied where nothing is removed.
        match container(&self.document, parents) {
            None => return Ok(()),
            Some(Value::Array(items)) => match element_index(items, last) {
                Ok(_) => {}
                Err(IndexError::Invalid(_)) => return Ok(()),
                Err(error) => return Err(index_error(kind, path, error)),
            },
            Some(parent) if parent.get(&last.name).is_none() => return Ok(()),
            Some(_) => {}
        }
        match container_mut(&mut self.document, parents) {
            Some(Container::List(items)) => drop(element_index(items, last).map(|index| items.remove(index))),
            Some(Container::Map(members)) => drop(members.shift_remove(&last.name)),
            None => {}
        }
        Ok(())
    }

    fn test(&self, path: &Path, expected: &Value) -> Result<(), PatchError> {
        let found = match path.tokens.split_last() {
            None => &self.document,
            Some((last, _)) => {
                let found = self.member(OperationKind::Test, MissingPart::Path, path)?;
                let found = found.unwrap_or(&Value::Null);
                let differs = (found == expected) != expected.is_null();
                if self.finds_null(last, differs) { &Value::Null } else { found }
            }
        };
        if found == expected { Ok(()) } else { Err(PatchError::TestFailed { path: path.text.to_string() }) }
    }

    /// The source of a move or copy.
    fn source(&self, kind: OperationKind, path: &Path) -> Result<&Value, PatchError> {
        let found = match path.tokens.split_last() {
            // The empty pointer is the document, which can be copied but not moved.
            None => (kind == OperationKind::Copy).then_some(&self.document),
            Some((last, _)) => {
                let found = self.member(kind, MissingPart::From, path)?;
                let differs = found.is_none_or(|found| !found.is_null());
                if self.finds_null(last, differs) { Some(&Value::Null) } else { found }
            }
        };
        found.ok_or_else(|| missing(kind, MissingPart::From, path))
    }

    /// The value at a path; `None` for a missing member of an object.
    fn member(
        &self,
        kind: OperationKind,
        part: MissingPart,
        path: &Path,
    ) -> Result<Option<&Value>, PatchError> {
        let Some((last, parents)) = path.tokens.split_last() else { return Ok(Some(&self.document)) };
        match container(&self.document, parents).ok_or_else(|| missing(kind, part, path))? {
            Value::Array(items) => match element_index(items, last) {
                Ok(index) => Ok(items.get(index)),
                Err(error) => Err(index_error(kind, path, error)),
            },
            parent => Ok(parent.get(&last.name)),
        }
    }

    /// Whether the empty key at the end of a path yields null, as in Kyverno. `differs` is whether that is visible.
    fn finds_null(&self, last: &Token, differs: bool) -> bool {
        last.name.is_empty() && differs && !self.tracker.documented(Divergence::EmptyKey)
    }

    /// Creates the missing parents of the target.
    pub(in crate::patch) fn create_parents(&mut self, path: &Path) -> Result<(), PatchError> {
        let Some((_, parents)) = path.tokens.split_last() else { return Ok(()) };
        if container(&self.document, parents).is_some() {
            return Ok(());
        }
        let mut node = &mut self.document;
        for pair in path.tokens.windows(2) {
            let [token, next] = pair else { break };
            node = match node {
                Value::Object(_) => {
                    let present = node.get(&token.name).is_some_and(|child| !child.is_null());
                    if !present {
                        if token.name.is_empty() {
                            return Err(missing_parent(path));
                        }
                        if token.escaped && !self.tracker.documented(Divergence::CreatedParent) {
                            return Err(missing_parent(path));
                        }
                        let parent = new_parent(next, self.tracker, &mut self.copied)?;
                        node.insert(token.name.clone(), parent);
                    }
                    node.as_object_mut().and_then(|members| members.get_mut(&token.name))
                }
                Value::Array(_) => {
                    let items = node.as_array_mut().ok_or_else(|| missing_parent(path))?;
                    let index = match element_index(items, token) {
                        Ok(index) if !items[index].is_null() => index,
                        found => {
                            let parent = MissingParent { token, next, null_at: found.ok(), path };
                            parent.create_in(items, self.tracker, &mut self.copied)?
                        }
                    };
                    items.get_mut(index)
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    return Err(PatchError::ScalarParent { path: path.text.to_string() });
                }
            }
            .ok_or_else(|| missing_parent(path))?;
        }
        if matches!(node, Value::Object(_) | Value::Array(_)) {
            Ok(())
        } else {
            Err(PatchError::ScalarParent { path: path.text.to_string() })
        }
    }
}

/// Applies an operation on an element of a list as [`Editor::apply`] does.
fn apply_to_list(
    list: &mut LongList,
    operation: &Operation,
    copied: &mut CopyCounter,
) -> Result<(), PatchError> {
    let (kind, path) = (operation.kind(), operation.target());
    let value = match kind {
        OperationKind::Copy | OperationKind::Move => {
            let at = list.index(kind, operation.source())?;
            let value = list.get(at).cloned().unwrap_or_default();
            if kind == OperationKind::Copy {
                copied.count(&value)?;
            } else {
                list.remove(at);
            }
            value
        }
        OperationKind::Remove => {
            return match list.index(kind, path) {
                Ok(index) => {
                    list.remove(index);
                    Ok(())
                }
                Err(PatchError::Index { error: IndexError::Invalid(_), .. }) => Ok(()),
                Err(error) => Err(error),
            };
        }
        OperationKind::Add | OperationKind::Replace | OperationKind::Test => operation.value().clone(),
    };
    list.add(kind, path, value)
}

/// The error of an `add` whose parent cannot be created.
fn missing_parent(path: &Path) -> PatchError {
    missing(OperationKind::Add, MissingPart::Path, path)
}

/// A missing parent inside a list.
struct MissingParent<'a> {
    token: &'a Token,
    next: &'a Token,
    /// The index of an element that exists but is null.
    null_at: Option<usize>,
    path: &'a Path,
}

impl MissingParent<'_> {
    /// Creates it; returns its index.
    fn create_in(
        self,
        items: &mut Vec<Value>,
        tracker: &DivergenceTracker,
        copied: &mut CopyCounter,
    ) -> Result<usize, PatchError> {
        let Self { token, next, null_at, path } = self;
        let parent = new_parent(next, tracker, copied)?;
        if let Some(index) = null_at
            && tracker.documented(Divergence::CreatedParent)
        {
            items[index] = parent;
            return Ok(index);
        }
        let index = token.index().ok_or_else(|| missing_parent(path))?;
        if let Ok(length) = usize::try_from(index)
            && length > items.len()
        {
            if tracker.documented(Divergence::CreatedParent) {
                return Err(index_error(OperationKind::Add, path, IndexError::Invalid(index)));
            }
            pad(items, length, copied)?;
        }
        let index = insertion_index(items.len(), token).map_err(|_| missing_parent(path))?;
        items.insert(index, parent);
        Ok(index)
    }
}

/// A new parent: a list if the next token of the path is an index, else an object.
fn new_parent(
    next: &Token,
    tracker: &DivergenceTracker,
    copied: &mut CopyCounter,
) -> Result<Value, PatchError> {
    let index = match next.index() {
        None if &*next.name != "-" => return Ok(Value::empty_object()),
        None | Some(-1 | 0) => return Ok(Value::array(Vec::new())),
        Some(index) => index,
    };
    let Ok(length) = usize::try_from(index) else {
        return Err(PatchError::NegativeParent { index });
    };
    if tracker.documented(Divergence::CreatedParent) {
        return Ok(Value::empty_object());
    }
    let mut items = Vec::new();
    pad(&mut items, length, copied)?;
    Ok(Value::array(items))
}

fn pad(items: &mut Vec<Value>, length: usize, copied: &mut CopyCounter) -> Result<(), PatchError> {
    if length > MAX_PADDING {
        return Err(Limit::Padding.into());
    }
    copied.count_nulls(length)?;
    items.resize(length, Value::Null);
    Ok(())
}

#[cfg(test)]
mod tests;
