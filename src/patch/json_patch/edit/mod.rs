//! JSON patches, applied.

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{MAX_DEPTH, Value};

use crate::patch::json_patch::operations::{Part, Path};
use crate::patch::{
    IndexFault, JsonPatch, Limit, MAX_COPIED_BYTES, MAX_PADDING, MissingPart, Operation, OperationKind,
    PatchError,
};

impl JsonPatch {
    /// Makes all operations on a copy of `base`; of `base`, only the paths that change are copied.
    ///
    /// As Kyverno does, indexes may count from the end, `remove` ignores what is missing, and `add`
    /// creates missing parents.
    ///
    /// # Errors
    ///
    /// The first operation that cannot be made.
    pub fn apply(&self, base: &Value, tracker: &DivergenceTracker) -> Result<Value, PatchError> {
        let mut editor = Editor { document: base.clone(), tracker, copied: 0 };
        for operation in self.operations() {
            editor.make(operation)?;
        }
        Ok(editor.document)
    }
}

/// A document under change.
pub(in crate::patch) struct Editor<'a> {
    pub(in crate::patch) document: Value,
    pub(in crate::patch) tracker: &'a DivergenceTracker,
    pub(in crate::patch) copied: usize,
}

impl Editor<'_> {
    fn make(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let value = operation.value();
        let path = operation.target();
        match operation.kind() {
            OperationKind::Add => self.add(path, value.clone()),
            OperationKind::Remove => self.remove(OperationKind::Remove, path),
            OperationKind::Replace => self.replace(path, value.clone()),
            OperationKind::Test => self.test(path, value),
            OperationKind::Copy => {
                let value = self.take(OperationKind::Copy, operation.source())?.clone();
                self.copied += measured(&value, MAX_COPIED_BYTES.saturating_sub(self.copied))?;
                self.put(OperationKind::Copy, path, value, MissingPart::Destination)
            }
            OperationKind::Move => {
                let value = self.take(OperationKind::Move, operation.source())?.clone();
                if path.parts.len() > operation.source().parts.len() {
                    self.copied += measured(&value, MAX_COPIED_BYTES.saturating_sub(self.copied))?;
                }
                self.remove(OperationKind::Move, operation.source())?;
                self.put(OperationKind::Move, path, value, MissingPart::Destination)
            }
        }
    }

    fn add(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        if path.parts.is_empty() {
            return self.replace_document(OperationKind::Add, value);
        }
        self.create_parents(path)?;
        self.put(OperationKind::Add, path, value, MissingPart::Path)
    }

    fn replace(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        let Some((last, parents)) = path.parts.split_last() else {
            return self.replace_document(OperationKind::Replace, value);
        };
        let missing =
            |part| PatchError::Missing { kind: OperationKind::Replace, part, path: path.text.to_string() };
        let part = match container(&self.document, parents) {
            // A map may come into being on the way, an element of a list may not.
            None if ends_in_list(&self.document, parents) => return Err(missing(MissingPart::Path)),
            None => MissingPart::Path,
            Some(Value::Array(items)) => match element(items, last) {
                Ok(_) => return self.set(path, value),
                Err(_) if appends(items, last) => MissingPart::Key,
                Err(_) => return Err(missing(MissingPart::Key)),
            },
            // The empty key, as a slash at the end gives it, counts as present.
            Some(parent) if last.name.is_empty() || parent.get(&last.name).is_some() => {
                return self.set(path, value);
            }
            Some(_) => MissingPart::Key,
        };
        // What is missing is added, or is an error; the difference shows only where adding works.
        let scratch = DivergenceTracker::new(Semantics::Documented);
        let mut added = Editor { document: self.document.clone(), tracker: &scratch, copied: self.copied };
        added.add(path, value)?;
        if self.tracker.documented(Divergence::ReplaceOfMissing) {
            self.document = added.document;
            Ok(())
        } else {
            Err(missing(part))
        }
    }

    fn replace_document(&mut self, kind: OperationKind, value: Value) -> Result<(), PatchError> {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err(PatchError::ScalarDocument { kind });
        }
        self.document = value;
        Ok(())
    }

    /// Sets what is there.
    pub(in crate::patch) fn set(&mut self, path: &Path, value: Value) -> Result<(), PatchError> {
        within_depth(path, &value)?;
        if let Some((last, parents)) = path.parts.split_last()
            && let Some(parent) = container_mut(&mut self.document, parents)
        {
            match parent {
                Value::Array(_) => {
                    if let Some(items) = parent.as_array_mut()
                        && let Ok(index) = element(items, last)
                    {
                        items[index] = value;
                    }
                }
                _ => parent.insert(last.name.clone(), value),
            }
        }
        Ok(())
    }

    /// Sets a member or inserts an element, where the parent is there.
    pub(in crate::patch) fn put(
        &mut self,
        kind: OperationKind,
        path: &Path,
        value: Value,
        part: MissingPart,
    ) -> Result<(), PatchError> {
        within_depth(path, &value)?;
        let missing = || PatchError::Missing { kind, part, path: path.text.to_string() };
        let (last, parents) = path.parts.split_last().ok_or_else(missing)?;
        match container(&self.document, parents).ok_or_else(missing)? {
            Value::Array(items) => {
                let index = place(items.len(), last).map_err(|fault| faulty(kind, path, fault))?;
                if let Some(items) = container_mut(&mut self.document, parents).and_then(Value::as_array_mut)
                {
                    items.insert(index, value);
                }
            }
            _ => {
                if let Some(parent) = container_mut(&mut self.document, parents) {
                    parent.insert(last.name.clone(), value);
                }
            }
        }
        Ok(())
    }

    pub(in crate::patch) fn remove(&mut self, kind: OperationKind, path: &Path) -> Result<(), PatchError> {
        let Some((last, parents)) = path.parts.split_last() else { return Ok(()) };
        match container(&self.document, parents) {
            None => Ok(()),
            Some(Value::Array(items)) => {
                let index = match element(items, last) {
                    Ok(index) => index,
                    Err(IndexFault::Invalid(_)) => return Ok(()),
                    Err(fault) => return Err(faulty(kind, path, fault)),
                };
                if let Some(items) = container_mut(&mut self.document, parents).and_then(Value::as_array_mut)
                {
                    items.remove(index);
                }
                Ok(())
            }
            Some(parent) => {
                if parent.get(&last.name).is_some()
                    && let Some(parent) = container_mut(&mut self.document, parents)
                {
                    parent.remove(&last.name);
                }
                Ok(())
            }
        }
    }

    fn test(&self, path: &Path, expected: &Value) -> Result<(), PatchError> {
        let missing = || PatchError::Missing {
            kind: OperationKind::Test,
            part: MissingPart::Path,
            path: path.text.to_string(),
        };
        let found = match path.parts.split_last() {
            None => &self.document,
            Some((last, parents)) => match container(&self.document, parents).ok_or_else(missing)? {
                Value::Array(items) => {
                    let index =
                        element(items, last).map_err(|fault| faulty(OperationKind::Test, path, fault))?;
                    &items[index]
                }
                parent => {
                    let found = parent.get(&last.name).unwrap_or(&Value::Null);
                    let parts = (found == expected) != expected.is_null();
                    if self.finds_null(last, parts) { &Value::Null } else { found }
                }
            },
        };
        if found == expected { Ok(()) } else { Err(PatchError::TestFailed { path: path.text.to_string() }) }
    }

    /// The source of a move or copy.
    fn take(&self, kind: OperationKind, path: &Path) -> Result<&Value, PatchError> {
        let missing = || PatchError::Missing { kind, part: MissingPart::From, path: path.text.to_string() };
        // The empty pointer is the document: it can be copied and not be moved.
        let Some((last, parents)) = path.parts.split_last() else {
            return if kind == OperationKind::Copy { Ok(&self.document) } else { Err(missing()) };
        };
        match container(&self.document, parents).ok_or_else(missing)? {
            Value::Array(items) => {
                let index = element(items, last).map_err(|fault| faulty(kind, path, fault))?;
                Ok(&items[index])
            }
            parent => {
                let found = parent.get(&last.name);
                if self.finds_null(last, found.is_none_or(|found| !found.is_null())) {
                    return Ok(&Value::Null);
                }
                found.ok_or_else(missing)
            }
        }
    }

    /// Whether null is found at a path that ends in the empty key, as Kyverno finds it in every map, where that makes a
    /// difference.
    fn finds_null(&self, last: &Part, differs: bool) -> bool {
        last.name.is_empty() && differs && !self.tracker.documented(Divergence::EmptyKey)
    }

    /// Creates what is missing on the way to the parent of the target.
    pub(in crate::patch) fn create_parents(&mut self, path: &Path) -> Result<(), PatchError> {
        let Some((_, parents)) = path.parts.split_last() else { return Ok(()) };
        if container(&self.document, parents).is_some() {
            return Ok(());
        }
        let mut node = &mut self.document;
        for pair in path.parts.windows(2) {
            let [part, next] = pair else { break };
            node = match node {
                Value::Object(_) => {
                    let present = node.get(&part.name).is_some_and(|child| !child.is_null());
                    if !present {
                        if part.name.is_empty() {
                            return Err(no_path(path));
                        }
                        if part.escaped && !self.tracker.documented(Divergence::CreatedParent) {
                            return Err(no_path(path));
                        }
                        let created = created(next, self.tracker, &mut self.copied)?;
                        node.insert(part.name.clone(), created);
                    }
                    node.as_object_mut().and_then(|members| members.get_mut(&part.name))
                }
                Value::Array(_) => {
                    let items = node.as_array_mut().ok_or_else(|| no_path(path))?;
                    let index = match element(items, part) {
                        Ok(index) if !items[index].is_null() => index,
                        found => {
                            let parent = Parent { part, next, null_at: found.ok(), path };
                            parent.create_in(items, self.tracker, &mut self.copied)?
                        }
                    };
                    items.get_mut(index)
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    return Err(PatchError::ScalarParent { path: path.text.to_string() });
                }
            }
            .ok_or_else(|| no_path(path))?;
        }
        if matches!(node, Value::Object(_) | Value::Array(_)) {
            Ok(())
        } else {
            Err(PatchError::ScalarParent { path: path.text.to_string() })
        }
    }
}

/// A missing parent inside a list.
struct Parent<'a> {
    part: &'a Part,
    next: &'a Part,
    /// The place of an element that is there but null.
    null_at: Option<usize>,
    path: &'a Path,
}

impl Parent<'_> {
    /// Creates it, and tells where it stands.
    fn create_in(
        self,
        items: &mut Vec<Value>,
        tracker: &DivergenceTracker,
        copied: &mut usize,
    ) -> Result<usize, PatchError> {
        let Self { part, next, null_at, path } = self;
        let created = created(next, tracker, copied)?;
        if let Some(index) = null_at
            && tracker.documented(Divergence::CreatedParent)
        {
            items[index] = created;
            return Ok(index);
        }
        let wanted = part.index().ok_or_else(|| no_path(path))?;
        if let Ok(length) = usize::try_from(wanted)
            && length > items.len()
        {
            if tracker.documented(Divergence::CreatedParent) {
                return Err(faulty(OperationKind::Add, path, IndexFault::Invalid(wanted)));
            }
            pad(items, length, copied)?;
        }
        let index = place(items.len(), part).map_err(|_| no_path(path))?;
        items.insert(index, created);
        Ok(index)
    }
}

/// A new parent: a list where the next part of the path is an index, else an object.
fn created(next: &Part, tracker: &DivergenceTracker, copied: &mut usize) -> Result<Value, PatchError> {
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

fn pad(items: &mut Vec<Value>, length: usize, copied: &mut usize) -> Result<(), PatchError> {
    if length > MAX_PADDING {
        return Err(PatchError::Limit(Limit::Padding));
    }
    *copied += length * 8;
    if *copied > MAX_COPIED_BYTES {
        return Err(PatchError::Limit(Limit::Copied));
    }
    items.resize(length, Value::Null);
    Ok(())
}

/// The object or list that these parts lead to.
pub(in crate::patch) fn container<'v>(document: &'v Value, parents: &[Part]) -> Option<&'v Value> {
    let found = parents.iter().try_fold(document, |node, part| match node {
        Value::Array(items) => items.get(element(items, part).ok()?),
        _ => node.get(&part.name),
    })?;
    matches!(found, Value::Object(_) | Value::Array(_)).then_some(found)
}

/// Whether the way to a node ends in a list that lacks the element.
fn ends_in_list(document: &Value, parts: &[Part]) -> bool {
    let mut node = document;
    for part in parts {
        let next = match node {
            Value::Array(items) => match element(items, part) {
                Ok(index) => items.get(index),
                Err(_) => return true,
            },
            _ => node.get(&part.name),
        };
        match next {
            Some(next) => node = next,
            None => return false,
        }
    }
    false
}

pub(in crate::patch) fn container_mut<'v>(document: &'v mut Value, parents: &[Part]) -> Option<&'v mut Value> {
    parents.iter().try_fold(document, |node, part| match node {
        Value::Array(_) => {
            let items = node.as_array_mut()?;
            let index = element(items, part).ok()?;
            items.get_mut(index)
        }
        _ => node.as_object_mut()?.get_mut(&part.name),
    })
}

/// The index of an element that is there; negative indexes count from the end.
pub(in crate::patch) fn element(items: &[Value], part: &Part) -> Result<usize, IndexFault> {
    let wanted = part.index().ok_or_else(|| IndexFault::NoNumber(part.name.to_string()))?;
    let length = items.len() as i64;
    let index = if wanted < 0 { wanted.saturating_add(length) } else { wanted };
    usize::try_from(index).ok().filter(|index| *index < items.len()).ok_or(IndexFault::Invalid(wanted))
}

/// The index to insert at; `-` and -1 append.
pub(in crate::patch) fn place(length: usize, part: &Part) -> Result<usize, IndexFault> {
    if &*part.name == "-" {
        return Ok(length);
    }
    let wanted = part.index().ok_or_else(|| IndexFault::NoNumber(part.name.to_string()))?;
    let index = if wanted < 0 { wanted.saturating_add(length as i64 + 1) } else { wanted };
    usize::try_from(index).ok().filter(|index| *index <= length).ok_or(IndexFault::Invalid(wanted))
}

/// Whether a part stands for the place behind the last element.
pub(in crate::patch) fn appends(items: &[Value], part: &Part) -> bool {
    &*part.name == "-" || part.index() == Some(items.len() as i64)
}

pub(in crate::patch) fn faulty(kind: OperationKind, path: &Path, fault: IndexFault) -> PatchError {
    PatchError::Index { kind, path: path.text.to_string(), fault }
}

fn no_path(path: &Path) -> PatchError {
    PatchError::Missing { kind: OperationKind::Add, part: MissingPart::Path, path: path.text.to_string() }
}

/// Keeps the document within the nesting that all later stages rely on.
pub(in crate::patch) fn within_depth(path: &Path, value: &Value) -> Result<(), PatchError> {
    if path.parts.len() + value.depth() > MAX_DEPTH {
        return Err(PatchError::Limit(Limit::Depth));
    }
    Ok(())
}

/// About how many bytes a value takes as text; an error as soon as it is more than `left`.
fn measured(value: &Value, left: usize) -> Result<usize, PatchError> {
    let mut bytes = 0;
    let mut open = vec![value];
    while let Some(node) = open.pop() {
        bytes += match node {
            Value::Null | Value::Bool(_) | Value::Number(_) => 8,
            Value::String(text) => text.len() + 2,
            Value::Array(items) => {
                open.extend(items.iter());
                2
            }
            Value::Object(members) => {
                open.extend(members.values());
                2 + members.keys().map(|key| key.len() + 3).sum::<usize>()
            }
        };
        if bytes > left {
            return Err(PatchError::Limit(Limit::Copied));
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
