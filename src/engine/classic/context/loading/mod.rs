//! Context entries, which are loaded when an expression first names them.

mod entry;
mod image;
mod lookup;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::engine::values::merge;
use crate::policy::ContextEntry;
use crate::value::{Text, Value};
use crate::variables::{LoadError, QueryError};

use super::Context;
use super::variable_names::names;

use entry::Loading;

pub use image::image_name;

/// How many bytes are searched for the names of entries in one step.
const SEARCHED_BYTES: usize = 2048;

/// How many loaded entries are restored in one step.
const RESTORED_ENTRIES: usize = 64;

/// A context entry that may be loaded.
#[derive(Debug)]
pub(super) struct RegisteredEntry {
    entry: Arc<ContextEntry>,
    /// How many checkpoints were open when it was registered.
    depth: usize,
    /// Its value, once it is loaded.
    value: Option<Loaded>,
}

/// The value of a loaded entry.
#[derive(Clone, Debug)]
enum Loaded {
    /// Replaces an earlier value of the name.
    Replacing(Value),
    /// Is merged into an earlier value of the name.
    Merging(Value),
    /// The user's value of the name remains.
    Unchanged,
}

/// The entries that another one can use while it is loaded: those registered before it, at most at its depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct VisibleEntries {
    end: usize,
    depth: usize,
}

impl Context<'_> {
    /// Adds entries without loading them.
    pub(in crate::engine::classic) fn register(&mut self, entries: &[Arc<ContextEntry>]) {
        let depth = self.checkpoints;
        let entries =
            entries.iter().map(|entry| RegisteredEntry { entry: Arc::clone(entry), depth, value: None });
        self.entries.extend(entries);
    }

    /// Removes the entries that were registered at a depth or below it, and restores the values of the others.
    pub(super) fn keep_entries_above(&mut self, depth: usize) {
        self.entries.retain(|registered| registered.depth < depth);
        let loaded: Vec<_> = self
            .entries
            .iter()
            .filter_map(|registered| Some((registered.entry.name.clone(), registered.value.clone()?)))
            .collect();
        // What exceeds the limit is told by the next expression or loop.
        let _is_within_limit = self.runtime().spend((loaded.len() / RESTORED_ENTRIES) as u64);
        for (name, value) in loaded {
            self.set_loaded(&name, value);
        }
    }

    /// The names of the entries.
    pub(in crate::engine::classic) fn entry_names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|registered| &*registered.entry.name)
    }

    /// Whether an entry was loaded.
    pub(in crate::engine::classic) fn is_loaded(&self, entry: &Arc<ContextEntry>) -> bool {
        self.entries
            .iter()
            .any(|registered| Arc::ptr_eq(&registered.entry, entry) && registered.value.is_some())
    }

    /// Loads all entries that an expression names.
    pub(super) fn load_named(&mut self, expression: &str) -> Result<(), QueryError> {
        if self.entries.is_empty() {
            return Ok(());
        }
        let all = VisibleEntries { end: self.entries.len(), depth: self.checkpoints };
        let VisibleEntries { end, depth } = self.visible.unwrap_or(all);
        let is_needed = |registered: &RegisteredEntry| {
            registered.value.is_none()
                && registered.depth <= depth
                && names(expression, &registered.entry.name)
        };
        loop {
            let found = self.entries.iter().take(end).position(is_needed);
            let searched = found.unwrap_or(end) * expression.len();
            self.runtime().spend((searched / SEARCHED_BYTES) as u64).map_err(QueryError::Failed)?;
            let Some(index) = found else { return Ok(()) };
            self.load(index)?;
        }
    }

    fn load(&mut self, index: usize) -> Result<(), QueryError> {
        let Some(registered) = self.entries.get(index) else { return Ok(()) };
        let (entry, depth) = (Arc::clone(&registered.entry), registered.depth);
        let maximum = self.settings.limits.context_depth;
        if self.loading >= maximum {
            let name = &entry.name;
            return Err(QueryError::Load(LoadError::from(format!(
                "context entry `{name}`: too many entries load one another (limit context-depth={maximum})"
            ))));
        }
        let visible = self.visible.replace(VisibleEntries { end: index, depth });
        self.loading += 1;
        let value = Loading { context: self, entry: &entry }.value();
        self.loading -= 1;
        self.visible = visible;
        let value = value.map_err(QueryError::Load)?;
        if let Some(registered) = self.entries.get_mut(index) {
            registered.value = Some(value.clone());
        }
        self.set_loaded(&entry.name, value);
        Ok(())
    }

    fn set_loaded(&mut self, name: &Text, value: Loaded) {
        match value {
            Loaded::Replacing(value) => self.set_variable(name, value),
            Loaded::Merging(value) => {
                if self.variable(name).is_some_and(|known| known.same_storage(&value)) {
                    return;
                }
                let mut merged = self.variable(name).cloned().unwrap_or_default();
                merge(&mut merged, &value);
                self.set_variable(name, merged);
            }
            Loaded::Unchanged => {}
        }
    }
}
