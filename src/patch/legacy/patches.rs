//! The patches of the early syntax, applied.

use crate::patch::strategic::condition::Steps;
use super::texts_below;
use crate::patch::json_patch::operations::Path;
use crate::patch::{
    IndexFault, LegacyPatches, LegacyReading, MissingPart, Operation, OperationKind, PatchError,
};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::Value;

use crate::patch::json_patch::edit::{Editor, appends, container, container_mut, element, faulty, place, within_depth};

impl LegacyPatches {
    /// Makes all operations on a copy of `base`, one after the other.
    ///
    /// # Errors
    ///
    /// All operations that cannot be made; one that removes what is not there is none of them.
    pub fn apply(&self, base: &Value) -> Result<Value, PatchError> {
        // Parents are created as the documentation of the later syntax has it.
        let tracker = DivergenceTracker::new(Semantics::Documented);
        let editor = Editor { document: base.clone(), tracker: &tracker, copied: 0 };
        let mut early = LegacyOperation { editor, steps: Steps::default() };
        let mut failures = Vec::new();
        for operation in self.patch.operations() {
            let made = match (self.tracker, operation.kind()) {
                (LegacyReading::Documented, OperationKind::Remove) => early.remove(operation.target()),
                (LegacyReading::Documented, _) => early.put(operation),
                (LegacyReading::Native, OperationKind::Remove) => early.remove_natively(operation.target()),
                (LegacyReading::Native, _) => early.put_natively(operation),
            };
            match made {
                Ok(()) => {}
                Err(limit @ PatchError::Limit(_)) => return Err(limit),
                // What a failed one left behind goes with all the others.
                Err(failure) => failures.push(failure.to_string()),
            }
        }
        if failures.is_empty() {
            Ok(early.editor.document)
        } else {
            Err(PatchError::LegacyOperations { failures: failures.join("; ") })
        }
    }
}

struct LegacyOperation<'a> {
    editor: Editor<'a>,
    steps: Steps,
}

impl LegacyOperation<'_> {
    /// What cannot be removed is left.
    fn remove(&mut self, path: &Path) -> Result<(), PatchError> {
        match self.editor.remove(OperationKind::Remove, path) {
            Err(limit @ PatchError::Limit(_)) => Err(limit),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Sets a member, with its parents; inserts or overwrites an element; splices a list into a list.
    fn put(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.target();
        let kind = operation.kind();
        let value = texts_below(path.parts.iter().map(|part| &part.name), operation.value());
        let Some((last, parents)) = path.parts.split_last() else { return Ok(()) };
        self.editor.create_parents(path)?;
        let Some(Value::Array(items)) = container(&self.editor.document, parents) else {
            return self.editor.put(kind, path, value, MissingPart::Path);
        };
        let holds_lists = items.iter().any(|item| item.as_array().is_some());
        match value.as_array().filter(|_| !holds_lists) {
            Some(new) => self.splice(kind, path, new),
            None if kind == OperationKind::Replace && !appends(items, last) => {
                let fault = |fault| faulty(kind, path, fault);
                element(items, last).map_err(fault)?;
                self.editor.set(path, value)
            }
            None => self.editor.put(kind, path, value, MissingPart::Path),
        }
    }

    /// Inserts elements that are not there yet; where they replace, the first one takes the place of the
    /// element there.
    fn splice(&mut self, kind: OperationKind, path: &Path, new: &[Value]) -> Result<(), PatchError> {
        let Some((last, parents)) = path.parts.split_last() else { return Ok(()) };
        let Some(items) = container_mut(&mut self.editor.document, parents).and_then(Value::as_array_mut)
        else {
            return Ok(());
        };
        let overwrites = kind == OperationKind::Replace && !appends(items, last);
        let found = if overwrites { element(items, last) } else { place(items.len(), last) };
        let mut at = found.map_err(|fault| faulty(kind, path, fault))?;
        let mut missing = Vec::new();
        let mut first = None;
        for (index, item) in new.iter().enumerate() {
            within_depth(path, item)?;
            let mut known = false;
            for other in items.iter().chain(&first).chain(&missing) {
                self.steps.count()?;
                if item == other {
                    known = true;
                    break;
                }
            }
            match (known, overwrites && index == 0) {
                (true, _) => {}
                (false, true) => first = Some(item.clone()),
                (false, false) => missing.push(item.clone()),
            }
        }
        // The first one is there now, be it that it was before: the rest comes after its place.
        if overwrites && !new.is_empty() {
            if let (Some(first), Some(place)) = (first, items.get_mut(at)) {
                *place = first;
            }
            at += 1;
        }
        items.splice(at..at, missing);
        Ok(())
    }

    /// Sets a member or an element where the parent is there.
    fn put_natively(&mut self, operation: &Operation) -> Result<(), PatchError> {
        let path = operation.target();
        let kind = operation.kind();
        let value = operation.value().clone();
        let Some((last, parents)) = path.parts.split_last() else { return Ok(()) };
        if let Some(index) = self.index_from_the_end(path) {
            return Err(faulty(kind, path, IndexFault::Invalid(index)));
        }
        match container(&self.editor.document, parents) {
            Some(Value::Array(items)) if kind == OperationKind::Replace => {
                element(items, last).map_err(|fault| faulty(kind, path, fault))?;
                self.editor.set(path, value)
            }
            Some(_) => self.editor.put(kind, path, value, MissingPart::Path),
            None => Err(PatchError::Missing { kind, part: MissingPart::Path, path: path.text.to_string() }),
        }
    }

    fn remove_natively(&mut self, path: &Path) -> Result<(), PatchError> {
        if self.index_from_the_end(path).is_some() { Ok(()) } else { self.remove(path) }
    }

    /// A negative index on the way, if there is one: these are of later releases.
    fn index_from_the_end(&self, path: &Path) -> Option<i64> {
        let mut node = &self.editor.document;
        for part in &path.parts {
            node = match node {
                Value::Array(items) => match part.index() {
                    Some(index) if index < 0 => return Some(index),
                    index => items.get(usize::try_from(index?).ok()?)?,
                },
                _ => node.get(&part.name)?,
            };
        }
        None
    }
}
