//! The stored objects of updates.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::value::{ObjectRef, Text, Value};
use crate::yaml::{Document, Limits};

use super::crds::documents_in;
use super::text::read_documents;
use super::{SourceError, Walk, expand};

/// Objects as a cluster stores them before a request, found by what identifies them.
#[derive(Debug, Default)]
pub struct OldObjects {
    objects: BTreeMap<Key, Old>,
    /// The namespace of objects that name none.
    namespace: Text,
}

/// Group, kind, namespace, name. The version does not matter: a cluster converts.
type Key = (Text, Text, Text, Text);

#[derive(Debug)]
struct Old {
    object: Value,
    /// Whether an object of the run is an update of it.
    is_found: AtomicBool,
}

impl OldObjects {
    /// Reads the objects of files, folders and globs.
    ///
    /// # Errors
    ///
    /// What cannot be read, documents that are no objects, and objects that stand twice.
    pub fn load(arguments: &[PathBuf], namespace: &str, limits: &Limits) -> Result<Self, Vec<SourceError>> {
        let mut old = Self { objects: BTreeMap::new(), namespace: namespace.into() };
        let mut faults = Vec::new();
        for argument in arguments {
            match expand(argument, Walk::Flat) {
                Err(error) => faults.push(error),
                Ok(locations) => {
                    for location in locations {
                        match read_documents(&location, limits) {
                            Ok(documents) => documents.iter().for_each(|one| old.add(one, &mut faults)),
                            Err(errors) => faults.extend(errors),
                        }
                    }
                }
            }
        }
        if faults.is_empty() { Ok(old) } else { Err(faults) }
    }

    fn add(&mut self, document: &Document, faults: &mut Vec<SourceError>) {
        for (pointer, value) in documents_in(document) {
            let Some(key) = self.key(&value) else {
                faults.push(SourceError::at(document, &pointer, "an object needs apiVersion and kind"));
                continue;
            };
            let old = Old { object: value, is_found: AtomicBool::new(false) };
            if self.objects.insert(key, old).is_some() {
                faults.push(SourceError::at(document, &pointer, "an old object with this name stands twice"));
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

    /// The objects that nobody has found so far.
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
