//! The merge of a checked configuration.

use std::collections::BTreeMap;

use crate::admission::{ListMerge, ListType, MapType, Schema};
use crate::value::{Map, Value};

use super::check::wrong_type;
use super::error::{ApplyError, Fault, Problem};
use super::key::ElementKey;
use super::path::Path;

/// Merges a configuration that fits the schema into an object.
pub(super) fn merge(object: &Value, configuration: &Value, schema: Schema<'_>) -> Result<Value, ApplyError> {
    let merged = Merge { path: Path::default() }.value(object, configuration, schema);
    merged.map(|changed| changed.unwrap_or_else(|| object.clone())).map_err(ApplyError::Object)
}

/// A changed value; `None` if it stays as it is.
type Merged = Result<Option<Value>, Fault>;

struct Merge<'v> {
    path: Path<'v>,
}

impl<'v> Merge<'v> {
    fn value(&mut self, live: &'v Value, patch: &'v Value, schema: Schema<'v>) -> Merged {
        let forms = schema.forms();
        let fits = match live {
            Value::Null => true,
            Value::Bool(_) | Value::Number(_) | Value::String(_) => forms.scalar.is_some(),
            Value::Array(_) => forms.list.is_some(),
            Value::Object(_) => forms.map.is_some(),
        };
        if !fits {
            return Err(self.fault(wrong_type(live, forms)));
        }
        match (live, patch) {
            (Value::Object(live), Value::Object(patch)) if !(live.is_empty() && patch.is_empty()) => {
                match forms.map {
                    Some(map) if !map.is_atomic => return self.map(live, patch, map),
                    _ => {}
                }
            }
            (Value::Array(live), Value::Array(patch)) if !(live.is_empty() && patch.is_empty()) => {
                match forms.list {
                    Some(list) if !matches!(list.merge, ListMerge::Atomic) => {
                        return self.list(live, patch, list);
                    }
                    _ => {}
                }
            }
            // Null takes the first form that a value may have: what merges stays.
            (Value::Object(live), Value::Null)
                if !live.is_empty() && forms.map.is_some_and(|map| !map.is_atomic) =>
            {
                return Ok(None);
            }
            (Value::Array(live), Value::Null) if !live.is_empty() => {
                let is_list = forms.map.is_none() && forms.scalar.is_none();
                if is_list && forms.list.is_some_and(|list| !matches!(list.merge, ListMerge::Atomic)) {
                    return Ok(None);
                }
            }
            _ => {}
        }
        Ok((live != patch).then(|| patch.clone()))
    }

    fn map(&mut self, live: &'v Map, patch: &'v Map, map: MapType<'v>) -> Merged {
        let mut merged: Option<Map> = None;
        for (name, value) in patch {
            let changed = match live.get(name) {
                None => Some(value.clone()),
                Some(before) => {
                    let schema = map.field(name).or(map.values).unwrap_or(Schema::FREE);
                    self.path.push_key(name);
                    let changed = self.value(before, value, schema)?;
                    self.path.pop();
                    changed
                }
            };
            if let Some(changed) = changed {
                let copy = || live.with_room(patch.keys().filter(|name| !live.contains_key(*name)).count());
                merged.get_or_insert_with(copy).insert(name.clone(), changed);
            }
        }
        Ok(merged.map(Value::object))
    }

    /// Merges the elements with equal keys. Those of the configuration are in its order, the others stay in theirs.
    fn list(&mut self, live: &'v [Value], patch: &'v [Value], list: ListType<'v>) -> Merged {
        let mut pairs = Pairs::new(self.keys(live, list)?, self.keys(patch, list)?);
        let mut merged = Vec::with_capacity(live.len() + patch.len());
        let mut is_changed = false;
        while let Some(next) = pairs.next_element() {
            let (from, changed) = match next {
                Element::Live(index) => (Some(index), None),
                Element::Patch(index) => (None, Some(patch[index].clone())),
                Element::Both { live: before, patch: index } => {
                    self.path.push_index(before);
                    let changed = self.value(&live[before], &patch[index], list.elements)?;
                    self.path.pop();
                    (Some(before), changed)
                }
            };
            is_changed |= changed.is_some() || from != Some(merged.len());
            merged.extend(changed.or_else(|| from.map(|index| live[index].clone())));
        }
        is_changed |= merged.len() != live.len();
        Ok(is_changed.then(|| Value::array(merged)))
    }

    fn keys(&mut self, items: &'v [Value], list: ListType<'v>) -> Result<Vec<ElementKey<'v>>, Fault> {
        let mut keys = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match ElementKey::of(item, list) {
                Ok(key) => keys.extend(key),
                Err(problem) => {
                    self.path.push_index(index);
                    return Err(self.fault(problem));
                }
            }
        }
        Ok(keys)
    }

    fn fault(&self, problem: Problem) -> Fault {
        Fault { at: self.path.pointer(), problem }
    }
}

/// An element of a merged list, by its index in the list of the object, of the configuration, or both.
enum Element {
    Live(usize),
    Patch(usize),
    Both { live: usize, patch: usize },
}

/// The order of the elements of a merged list.
struct Pairs {
    /// For each element of the object the one of the configuration with its key.
    patch_of: Vec<Option<usize>>,
    /// For each element of the configuration the one of the object with its key; several such elements are replaced by it.
    live_of: Vec<Option<usize>>,
    is_merged: Vec<bool>,
    /// The elements of the configuration that the object has too, from the last one.
    shared: Vec<usize>,
    live: usize,
    patch: usize,
}

impl Pairs {
    fn new(live: Vec<ElementKey<'_>>, patch: Vec<ElementKey<'_>>) -> Self {
        let length = patch.len();
        let places: BTreeMap<_, _> = patch.into_iter().enumerate().map(|(index, key)| (key, index)).collect();
        let patch_of: Vec<Option<usize>> = live.iter().map(|key| places.get(key).copied()).collect();
        let mut live_of = vec![None; length];
        let mut counts = vec![0_usize; length];
        for (live, patch) in patch_of.iter().enumerate() {
            if let Some(patch) = *patch {
                counts[patch] += 1;
                live_of[patch] = (counts[patch] == 1).then_some(live);
            }
        }
        let shared = (0..length).rev().filter(|index| counts[*index] > 0).collect();
        Self { patch_of, live_of, is_merged: vec![false; length], shared, live: 0, patch: 0 }
    }

    /// The next element; `None` at the end. The steps are those of structured-merge-diff.
    fn next_element(&mut self) -> Option<Element> {
        loop {
            let patch = (self.patch < self.live_of.len()).then_some(self.patch);
            if let Some(same) = self.patch_of.get(self.live).copied() {
                if same.is_none() {
                    self.live += 1;
                    return Some(Element::Live(self.live - 1));
                }
                if same == patch {
                    self.live += 1;
                    let element = self.take();
                    self.shared.pop();
                    return element;
                }
                let next = self.shared.last().copied();
                if patch.is_some() && next.is_some() && next != same {
                    self.live += 1;
                    continue;
                }
                if same.is_some_and(|same| self.is_merged[same]) {
                    self.live += 1;
                }
            } else if patch.is_none() {
                return None;
            }
            if let Some(patch) = patch {
                let element = self.take();
                if self.shared.last() == Some(&patch) {
                    self.shared.pop();
                }
                return element;
            }
        }
    }

    /// The next element of the configuration.
    fn take(&mut self) -> Option<Element> {
        let patch = self.patch;
        self.patch += 1;
        *self.is_merged.get_mut(patch)? = true;
        Some(match self.live_of[patch] {
            Some(live) => Element::Both { live, patch },
            None => Element::Patch(patch),
        })
    }
}
