//! The stored objects of updates.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::diagnostics::Code;
use crate::value::{ObjectRef, Text, Value};
use crate::yaml::{Document, Limits};

use super::text::{items_of, read_files};
use super::{SourceError, Walk};

/// Objects as a cluster stores them before a request, by group, kind, namespace and name.
#[derive(Debug, Default)]
pub struct OldObjects {
    objects: BTreeMap<Key, Old>,
    /// The namespace of objects without one.
    namespace: Text,
}

/// Group, kind, namespace, name. The version does not matter: a cluster converts.
type Key = (Text, Text, Text, Text);

#[derive(Debug)]
struct Old {
    object: Value,
    /// Whether an object of the run updates it.
    is_found: AtomicBool,
}

impl OldObjects {
    /// Reads the objects of files, folders and globs.
    ///
    /// # Errors
    ///
    /// Files that cannot be read, documents that are no objects, and repeated objects.
    pub fn load(arguments: &[PathBuf], namespace: &str, limits: &Limits) -> Result<Self, Vec<SourceError>> {
        let mut old = Self { objects: BTreeMap::new(), namespace: namespace.into() };
        let mut errors = Vec::new();
        for file in arguments.iter().flat_map(|argument| read_files(argument, Walk::Flat, limits)) {
            match file {
                Ok((_, documents)) => documents.iter().for_each(|one| old.add(one, &mut errors)),
                Err(unreadable) => errors.extend(unreadable),
            }
        }
        if errors.is_empty() { Ok(old) } else { Err(errors) }
    }

    fn add(&mut self, document: &Document, errors: &mut Vec<SourceError>) {
        for (pointer, value) in items_of(document) {
            let Some(key) = self.key(&value) else {
                errors.push(SourceError::at(
                    Code::NoObject,
                    document,
                    &pointer,
                    "an object needs apiVersion and kind",
                ));
                continue;
            };
            let old = Old { object: value, is_found: AtomicBool::new(false) };
            if self.objects.insert(key, old).is_some() {
                errors.push(SourceError::at(
                    Code::DuplicateObject,
                    document,
                    &pointer,
                    "duplicate old object with this name",
                ));
            }
        }
    }

    /// The stored state of an object.
    pub fn find(&self, object: &Value) -> Option<&Value> {
        if self.objects.is_empty() {
            return None;
        }
        let old = self.objects.get(&self.key(object)?)?;
        old.is_found.store(true, Ordering::Relaxed);
        Some(&old.object)
    }

    /// The objects that nothing in the run updated so far.
    pub fn unfound(&self) -> impl Iterator<Item = ObjectRef> {
        let unfound = self.objects.values().filter(|old| !old.is_found.load(Ordering::Relaxed));
        unfound.filter_map(|old| ObjectRef::of(&old.object))
    }

    fn key(&self, object: &Value) -> Option<Key> {
        let object = ObjectRef::of(object)?;
        let namespace = object.namespace.unwrap_or_else(|| self.namespace.clone());
        Some((object.kind.group, object.kind.kind, namespace, object.name))
    }
}
