//! Lists with merge keys, merged as Kyverno's controllers do it.
//!
//! Kyverno uses kyaml: elements are found and removed by the text of their keys, one value after the other, first those
//! of the patch. An element without a key refers to all that have it, as does one whose key is `null`, and where an element
//! is set, one whose key has no text. At the end the elements of the object replace the merged ones with the same keys.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::patch::limits::StepCounter;
use crate::patch::scalar::key_text;
use crate::patch::strategic::keys::MergeKeys;
use crate::patch::strategic::schema::{ListStrategy, Position};
use crate::patch::{Limit, NodeKind, PatchError};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{Text, Value};

use super::key_tuple::KeyTuple;
use super::node::{PatchElement, PatchNode};
use super::{KeyedList, MergeOutcome, Merger};

impl Merger<'_> {
    /// Merges a list by keys.
    pub(super) fn merge_keyed_as_kyverno(&mut self, list: KeyedList<'_>) -> Result<MergeOutcome, PatchError> {
        let KeyedList { mut base, elements, keys, position } = list;
        let Some(mut patches) = self.apply_directives(&mut base, &elements)? else {
            return Ok(MergeOutcome::Removed);
        };
        // An element whose key is null is never found, but removed.
        let has_null_key = |value: &Value| {
            keys.names().first().is_some_and(|key| value.get(key).is_some_and(Value::is_null))
        };
        patches.retain(|patch| !has_null_key(&patch.to_value()));
        let patch_values: Vec<Value> = patches.iter().map(|patch| patch.to_value()).collect();
        let values = base.unwrap_or(patch_values.as_slice());
        if base.is_some()
            && let Some(scalar) = values.iter().find(|value| !value.is_null() && value.as_object().is_none())
        {
            let (expected, found) = (NodeKind::Mapping, NodeKind::of(scalar));
            return Err(PatchError::WrongKind { expected, found, at: self.at.clone() });
        }
        let mut tuples: Vec<_> = patch_values.iter().map(|value| key_tuple(value, keys.names())).collect();
        if base.is_some() {
            tuples.extend(values.iter().map(|value| key_tuple(value, keys.names())));
        }
        complete(&mut tuples, &mut self.steps)?;
        let used = UsedKeys::new(&tuples, keys);
        let mut object = ElementIndex::new(values, &used.names);
        let patch = ElementIndex::new(&patch_values, &used.names);
        let mut merged = MergedList::new(&used.names);
        let most = values.len().max(patch_values.len());
        let mut distinct = IndexSet::with_capacity_and_hasher(most, RandomState::default());
        for tuple in tuples {
            distinct.insert(used.of(&tuple));
        }
        for tuple in distinct {
            let found = object.first(&tuple);
            // If the object has no list, both sides are the patch: an element removed from one is missing in both.
            let named = patch.first(&tuple).filter(|index| base.is_some() || object.alive[*index]);
            let value = match (found, named) {
                (None, None) => None,
                (Some(found), None) => {
                    let value = &mut object.values[found];
                    if let Some(normalized) =
                        value.as_ref().map(|value| normalized(value, position)).transpose()?
                    {
                        *value = normalized.or_else(|| value.clone());
                    }
                    value.clone()
                }
                (found, Some(named)) => {
                    let before =
                        found.filter(|_| base.is_some()).and_then(|index| object.values[index].clone());
                    self.at.push_index(found.unwrap_or(values.len()));
                    let outcome = self.merge(before.as_ref(), patches[named], position)?;
                    self.at.pop();
                    let value = match outcome {
                        MergeOutcome::Unchanged => before,
                        MergeOutcome::Set(value) => Some(value),
                        MergeOutcome::Removed => None,
                    };
                    let replaced = base.is_some() && patches[named].directive() == Some("replace");
                    if let (Some(index), false, Some(value)) = (found, replaced, &value) {
                        object.values[index] = Some(value.clone());
                    }
                    value
                }
            };
            match value.filter(|value| !is_empty(value)) {
                Some(value) => merged.set(tuple, value, &mut self.steps)?,
                None => object.remove(&tuple),
            }
        }
        let result = merged.finish(object, &mut self.steps)?;
        Ok(if base == Some(result.as_slice()) {
            MergeOutcome::Unchanged
        } else {
            MergeOutcome::Set(result.into())
        })
    }

    /// The elements of the patch without those that are only a `$patch` directive, which are applied to the base list;
    /// `None` if the list is deleted.
    fn apply_directives<'p>(
        &self,
        base: &mut Option<&[Value]>,
        elements: &[PatchElement<'p>],
    ) -> Result<Option<Vec<PatchNode<'p>>>, PatchError> {
        let mut patches = Vec::with_capacity(elements.len());
        for PatchElement { patch, .. } in elements {
            match patch.only_directive().filter(|_| base.is_some()) {
                None => patches.push(*patch),
                Some("replace") => *base = None,
                Some("delete") => return Ok(None),
                Some("merge") => {}
                Some(_) => return Err(PatchError::UnknownStrategy { at: self.at.clone() }),
            }
        }
        Ok(Some(patches))
    }
}

/// Rewrites lists with merge keys that no patch names, as Kyverno does: of elements with the same keys only the last
/// one stays. `None` if nothing changes.
pub(in crate::patch::strategic) fn normalized(
    value: &Value,
    position: Position<'_>,
) -> Result<Option<Value>, PatchError> {
    if let Value::Array(items) = value {
        return match position.strategy() {
            ListStrategy::Keys(_) | ListStrategy::Set => normalized_list(items, position),
            ListStrategy::Replace => Ok(None),
        };
    }
    let mut changed: Option<Value> = None;
    for (name, _) in position.fields() {
        if let Some(member) = value.get(name)
            && let Some(member) = normalized(member, position.member(name))?
        {
            changed.get_or_insert_with(|| value.clone()).insert(*name, member);
        }
    }
    Ok(changed)
}

fn normalized_list(items: &[Value], position: Position<'_>) -> Result<Option<Value>, PatchError> {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let nothing = Value::array(Vec::new());
    match Merger::new(&tracker).merge(Some(&items.to_vec().into()), PatchNode::Value(&nothing), position)? {
        MergeOutcome::Set(value) => Ok(Some(value)),
        MergeOutcome::Unchanged | MergeOutcome::Removed => Ok(None),
    }
}

/// Whether an element has a key that is no scalar, or an empty text.
fn has_blank_key(element: &Value, name: &str) -> bool {
    match element.get(name) {
        None | Some(Value::Null) => false,
        Some(key) => key_text(key).is_none_or(|text| text.is_empty()),
    }
}

fn key_tuple(element: &Value, names: &[&str]) -> KeyTuple {
    let text = |name: &&str| element.get(name).and_then(key_text).map(Text::from).unwrap_or_default();
    names.iter().map(text).collect()
}

/// Completes the keys of elements that share one key, and of which one lacks keys that the other has: they are the same
/// element.
fn complete(tuples: &mut [KeyTuple], steps: &mut StepCounter) -> Result<(), Limit> {
    if !tuples.iter().any(|tuple| tuple.len() > 1 && tuple.iter().any(|text| text.is_empty())) {
        return Ok(());
    }
    for i in 0..tuples.len() {
        let own = tuples[i].clone();
        for j in 0..tuples.len() {
            steps.count()?;
            let other = &tuples[j];
            let matches = own.iter().zip(other.iter()).all(|(a, b)| a == b || a.is_empty() || b.is_empty());
            if matches && own.iter().zip(other.iter()).any(|(a, b)| a == b) {
                let both: KeyTuple = own
                    .iter()
                    .zip(other.iter())
                    .map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() })
                    .collect();
                tuples[i] = both.clone();
                tuples[j] = both;
            }
        }
    }
    Ok(())
}

/// The keys that at least one element has; all keys if none has any.
struct UsedKeys<'k> {
    indexes: Vec<usize>,
    names: Vec<&'k str>,
}

impl<'k> UsedKeys<'k> {
    fn new(tuples: &[KeyTuple], keys: MergeKeys<'k>) -> Self {
        let is_used = |index: &usize| tuples.iter().any(|tuple| !tuple[*index].is_empty());
        let mut indexes: Vec<usize> = (0..keys.names().len()).filter(is_used).collect();
        if indexes.is_empty() {
            indexes = (0..keys.names().len()).collect();
        }
        let names = indexes.iter().map(|index| keys.names()[*index]).collect();
        Self { indexes, names }
    }

    /// The used keys of a tuple.
    fn of(&self, tuple: &KeyTuple) -> KeyTuple {
        if self.indexes.len() == tuple.len() {
            return tuple.clone();
        }
        self.indexes.iter().map(|index| tuple[*index].clone()).collect()
    }
}

/// The elements of a list by the texts of their keys.
struct ElementIndex<'k> {
    names: &'k [&'k str],
    values: Vec<Option<Value>>,
    /// Which elements were not removed.
    alive: Vec<bool>,
    /// The index of the first element with these keys.
    by_tuple: IndexMap<KeyTuple, usize, RandomState>,
    /// The indexes of further elements, by the number of their keys. Mostly there are none.
    others: BTreeMap<usize, Vec<usize>>,
    /// For each element the number of its keys in `by_tuple`.
    numbers: Vec<usize>,
}

impl<'k> ElementIndex<'k> {
    fn new(elements: &[Value], names: &'k [&'k str]) -> Self {
        let mut by_tuple: IndexMap<KeyTuple, usize, RandomState> =
            IndexMap::with_capacity_and_hasher(elements.len(), RandomState::default());
        let mut others: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut numbers = Vec::with_capacity(elements.len());
        for (index, element) in elements.iter().enumerate() {
            let (number, known) = by_tuple.insert_full(key_tuple(element, names), index);
            if let Some(first) = known {
                by_tuple[number] = first;
                others.entry(number).or_default().push(index);
            }
            numbers.push(number);
        }
        Self {
            names,
            values: elements.iter().cloned().map(Some).collect(),
            alive: vec![true; elements.len()],
            by_tuple,
            others,
            numbers,
        }
    }

    /// The indexes of the elements with these keys, in order.
    fn places(&self, tuple: &KeyTuple) -> impl Iterator<Item = usize> + use<'_, 'k> {
        let found = self.by_tuple.get_full(tuple);
        let others = found.and_then(|(number, ..)| self.others.get(&number)).into_iter().flatten();
        found.map(|(.., first)| first).into_iter().chain(others).copied()
    }

    /// The index of the first element with these keys; keys that are missing on both sides are equal.
    fn first(&self, tuple: &KeyTuple) -> Option<usize> {
        let is_blank = |index: &usize| match (self.names, &self.values[*index]) {
            ([name], Some(value)) => has_blank_key(value, name),
            _ => false,
        };
        let is_found = |index: &usize| {
            self.alive[*index] && (tuple.iter().any(|text| !text.is_empty()) || is_blank(index))
        };
        self.places(tuple).find(is_found)
    }

    /// Removes the elements with these keys. A missing key matches any; empty elements are removed as well.
    fn remove(&mut self, tuple: &KeyTuple) {
        if tuple.iter().all(|text| !text.is_empty()) {
            let places: Vec<usize> = self.places(tuple).collect();
            for index in places {
                self.alive[index] = false;
            }
            return;
        }
        for (index, number) in self.numbers.iter().enumerate() {
            let Some((own, _)) = self.by_tuple.get_index(*number) else { continue };
            let value = self.values[index].as_ref();
            let has = |name: &str| value.is_some_and(|value| value.get(name).is_some());
            let matches = |(name, (key, found)): (&&str, (&Text, &Text))| {
                if key.is_empty() { has(name) } else { key == found }
            };
            let pairs = tuple.iter().zip(own.iter());
            if value.is_none_or(is_empty) || self.names.iter().zip(pairs).all(matches) {
                self.alive[index] = false;
            }
        }
    }
}

/// The merged elements, in the order they were merged.
struct MergedList<'k> {
    names: &'k [&'k str],
    elements: Vec<Option<Value>>,
    indexes: BTreeMap<KeyTuple, usize>,
}

impl<'k> MergedList<'k> {
    const fn new(names: &'k [&'k str]) -> Self {
        Self { names, elements: Vec::new(), indexes: BTreeMap::new() }
    }

    /// The key of an element without a text, if there is one key only.
    fn blank_key(&self, value: &Value) -> Option<&'k str> {
        if let [name] = self.names { Some(*name).filter(|name| has_blank_key(value, name)) } else { None }
    }

    fn set(&mut self, tuple: KeyTuple, value: Value, steps: &mut StepCounter) -> Result<(), Limit> {
        if let Some(key) = self.blank_key(&value) {
            return self.set_blank(key, &value, steps);
        }
        match self.indexes.get(&tuple) {
            Some(index) => self.elements[*index] = Some(value),
            None => {
                self.indexes.insert(tuple, self.elements.len());
                self.elements.push(Some(value));
            }
        }
        Ok(())
    }

    /// Sets an element whose key has no text: it takes the place of each that has the key.
    fn set_blank(&mut self, key: &str, value: &Value, steps: &mut StepCounter) -> Result<(), Limit> {
        let mut is_set = false;
        for element in self.elements.iter_mut().flatten().filter(|element| element.get(key).is_some()) {
            steps.count()?;
            *element = value.clone();
            is_set = true;
        }
        self.indexes.retain(|_, index| {
            self.elements[*index].as_ref().is_some_and(|element| element.get(key).is_none())
        });
        if !is_set {
            self.elements.push(Some(value.clone()));
        }
        Ok(())
    }

    /// Puts an element of the object over what was merged.
    fn put_back(&mut self, tuple: KeyTuple, value: Value, steps: &mut StepCounter) -> Result<(), Limit> {
        let prefix: KeyTuple = tuple.iter().take_while(|text| !text.is_empty()).cloned().collect();
        let missing = self.names.iter().filter(|name| value.get(**name).is_none()).count();
        if prefix.is_empty() && self.blank_key(&value).is_none() {
            if missing == self.names.len() {
                // Without a key an element replaces all others.
                self.elements.clear();
                self.indexes.clear();
                return self.set(tuple, value, steps);
            }
            if self.names.first().is_some_and(|name| value.get(*name).is_some()) {
                self.remove_like(&tuple, &value, steps)?;
                self.elements.push(Some(value));
            } else {
                // It is added for each key that is missing, and once more.
                self.elements.extend(vec![Some(value); missing + 1]);
            }
            return Ok(());
        } else if tuple.len() > 1 {
            let prefixed =
                self.indexes.range(prefix.clone()..).take_while(|(other, _)| other.starts_with(&prefix));
            let removed: Vec<KeyTuple> = prefixed.map(|(other, _)| other.clone()).collect();
            for other in removed {
                if let Some(index) = self.indexes.remove(&other) {
                    self.elements[index] = None;
                }
            }
        }
        self.set(tuple, value, steps)
    }

    /// Removes the elements with the further keys of one whose first key has no text; if that is `null`, none.
    fn remove_like(&mut self, tuple: &KeyTuple, value: &Value, steps: &mut StepCounter) -> Result<(), Limit> {
        let Some((first, further)) =
            self.names.split_first().filter(|(first, _)| has_blank_key(value, first))
        else {
            return Ok(());
        };
        for element in &mut self.elements {
            steps.count()?;
            let is_like = element.as_ref().is_some_and(|element| {
                let mut keys = further.iter().zip(&tuple[1..]);
                element.get(*first).is_some()
                    && keys.all(|(name, text)| {
                        text.is_empty() || element.get(*name).and_then(key_text).as_deref() == Some(&**text)
                    })
            });
            if is_like {
                *element = None;
            }
        }
        self.indexes.retain(|_, index| self.elements[*index].is_some());
        Ok(())
    }

    /// The merged list, after the remaining elements of the object were put over it.
    fn finish(mut self, object: ElementIndex<'_>, steps: &mut StepCounter) -> Result<Vec<Value>, Limit> {
        let ElementIndex { values, alive, by_tuple, numbers, .. } = object;
        let elements = values.into_iter().zip(numbers).zip(alive);
        for ((value, number), _) in elements.filter(|(_, alive)| *alive) {
            if let (Some(value), Some((tuple, _))) = (value, by_tuple.get_index(number)) {
                self.put_back(tuple.clone(), value, steps)?;
            }
        }
        Ok(self.elements.into_iter().flatten().collect())
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(|members| members.is_empty())
}
