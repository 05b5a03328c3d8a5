//! Context entries: loaded when an expression names them, and not before.

mod entry;
mod image;
mod lookup;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::policy::ContextEntry;
use crate::value::{Text, Value};
use crate::variables::{LoadError, QueryError};

use super::Context;
use super::variable_names::names;

use entry::Loading;

pub use image::image_name;

/// A context entry that was registered.
#[derive(Debug)]
pub(super) struct Loader {
    entry: Arc<ContextEntry>,
    /// How many checkpoints were open when it was.
    level: usize,
    /// What it was found to be.
    value: Option<Loaded>,
}

/// What an entry was found to be.
#[derive(Clone, Debug)]
enum Loaded {
    /// A value that takes the place of an earlier one of this name.
    Replacing(Value),
    /// A value whose members join those of an earlier one.
    Merging(Value),
    /// What a user gave for the name stands.
    Given,
}

/// Which entries may be asked for while one is loading: those registered before it, no deeper than it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    end: usize,
    level: usize,
}

impl Context<'_> {
    /// Makes entries known; none is loaded.
    pub(in crate::engine::classic) fn register(&mut self, entries: &[Arc<ContextEntry>]) {
        let level = self.level;
        let loaders = entries.iter().map(|entry| Loader { entry: Arc::clone(entry), level, value: None });
        self.loaders.extend(loaders);
    }

    /// Forgets the entries registered at a level or deeper; those that were loaded before stay so.
    pub(super) fn keep_loaders_below(&mut self, level: usize) {
        self.loaders.retain(|loader| loader.level < level);
        let loaded: Vec<_> = self
            .loaders
            .iter()
            .filter_map(|loader| Some((loader.entry.name.clone(), loader.value.clone()?)))
            .collect();
        for (name, value) in loaded {
            self.give(&name, value);
        }
    }

    /// Whether an entry was loaded.
    pub(in crate::engine::classic) fn is_loaded(&self, entry: &Arc<ContextEntry>) -> bool {
        self.loaders.iter().any(|loader| Arc::ptr_eq(&loader.entry, entry) && loader.value.is_some())
    }

    /// Loads every entry that an expression names.
    pub(super) fn load_matching(&mut self, expression: &str) -> Result<(), QueryError> {
        if self.loaders.is_empty() {
            return Ok(());
        }
        let Window { end, level } =
            self.window.unwrap_or(Window { end: self.loaders.len(), level: self.level });
        let wanted = |loader: &Loader| {
            loader.value.is_none() && loader.level <= level && names(expression, &loader.entry.name)
        };
        while let Some(index) = self.loaders.iter().take(end).position(wanted) {
            self.load(index)?;
        }
        Ok(())
    }

    fn load(&mut self, index: usize) -> Result<(), QueryError> {
        let Some(loader) = self.loaders.get(index) else { return Ok(()) };
        let (entry, level) = (Arc::clone(&loader.entry), loader.level);
        let maximum = self.settings().limits.context_depth;
        if self.loading >= maximum {
            let name = &entry.name;
            return Err(QueryError::Load(LoadError::Failed(format!(
                "failed to load context entry {name}: too many entries ask for one another (limit context-depth={maximum})"
            ))));
        }
        let outer = self.window.replace(Window { end: index, level });
        self.loading += 1;
        let value = Loading { context: self, entry: &entry }.value();
        self.loading -= 1;
        self.window = outer;
        let value = value.map_err(QueryError::Load)?;
        if let Some(loader) = self.loaders.get_mut(index) {
            loader.value = Some(value.clone());
        }
        self.give(&entry.name, value);
        Ok(())
    }

    fn give(&mut self, name: &Text, value: Loaded) {
        match value {
            Loaded::Replacing(value) => self.put(name, value),
            Loaded::Merging(value) => {
                if self.held(name).is_some_and(|held| held.same_storage(&value)) {
                    return;
                }
                let mut merged = self.held(name).cloned().unwrap_or_default();
                merge(&mut merged, &value);
                self.put(name, merged);
            }
            Loaded::Given => {}
        }
    }
}

/// Members join members; everything else takes the place of what was there.
fn merge(node: &mut Value, value: &Value) {
    match (node.as_object_mut(), value.as_object()) {
        (Some(members), Some(new)) => {
            for (key, value) in new {
                merge(members.entry(key.clone()).or_default(), value);
            }
        }
        _ => *node = value.clone(),
    }
}
