//! Lists whose elements are known by keys, merged.
//!
//! Elements are found and removed by the text of their keys, one value after the other, first those of
//! the patch. An element that lacks a key stands for all that have it. At the end the elements of the
//! object are put over what was merged, by their keys again.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::patch::strategic::condition::Steps;
use crate::patch::strategic::keyed::{Keys, key_text};
use crate::patch::strategic::merge::{Element, Merger, Outcome, Patch};
use crate::patch::strategic::schema::{Position, Strategy};
use crate::patch::{NodeKind, PatchError};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{Pointer, Text, Value};

/// The texts of an element's keys; empty where a key is missing.
type Tuple = Vec<Text>;

impl Merger<'_> {
    pub(in crate::patch) fn merge_keyed_as_observed(
        &mut self,
        base: Option<&[Value]>,
        elements: &[Element<'_>],
        keys: Keys<'_>,
        place: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let mut base = base;
        let mut patches = Vec::with_capacity(elements.len());
        for (_, patch) in elements {
            match patch.only_directive().filter(|_| base.is_some()) {
                None => patches.push(*patch),
                Some("replace") => base = None,
                Some("delete") => return Ok(Outcome::Gone),
                Some("merge") => {}
                Some(_) => return Err(PatchError::UnknownStrategy { at: self.at.clone() }),
            }
        }
        // A key that is null is never found, but its element is removed.
        let null = |value: &Value| {
            keys.names().first().is_some_and(|key| value.get(key).is_some_and(Value::is_null))
        };
        patches.retain(|patch| !null(&patch.to_value()));
        let own: Vec<Value> = patches.iter().map(|patch| patch.to_value()).collect();
        let kept: Vec<Value> = base.unwrap_or_default().iter().filter(|row| !null(row)).cloned().collect();
        let rows = if base.is_some() { kept.as_slice() } else { own.as_slice() };
        if base.is_some()
            && let Some(scalar) = rows.iter().find(|row| !row.is_null() && row.as_object().is_none())
        {
            let (expected, found) = (NodeKind::Mapping, NodeKind::of(scalar));
            return Err(PatchError::WrongKind { expected, found, at: self.at.clone() });
        }
        let mut tuples =
            patches.iter().map(|patch| tuple(&patch.to_value(), keys.names())).collect::<Vec<_>>();
        if base.is_some() {
            tuples.extend(rows.iter().map(|row| tuple(row, keys.names())));
        }
        complete(&mut tuples, &mut self.steps)?;
        let used = used(&tuples, keys);
        let mut object = Rows::new(rows, &used.names);
        let patch = Rows::new(&own, &used.names);
        let mut merged = Merged::default();
        for tuple in tuples.iter().map(|tuple| used.of(tuple)).collect::<IndexSet<_, RandomState>>() {
            let found = object.first(&tuple);
            // A list that the object lacks is the patch's own: what was removed is gone from both.
            let named = patch.first(&tuple).filter(|row| base.is_some() || object.alive[*row]);
            let value = match (found, named) {
                (None, None) => None,
                (Some(found), None) => {
                    let value = &mut object.values[found];
                    if let Some(renewed) = value.as_ref().map(|value| normalised(value, place)).transpose()? {
                        *value = renewed.or_else(|| value.clone());
                    }
                    value.clone()
                }
                (found, Some(named)) => {
                    let before = found.filter(|_| base.is_some()).and_then(|row| object.values[row].clone());
                    self.at.push_index(found.unwrap_or(rows.len()));
                    let outcome = self.merge(before.as_ref(), patches[named], place)?;
                    self.at.pop();
                    let value = match outcome {
                        Outcome::Same => before,
                        Outcome::Set(value) => Some(value),
                        Outcome::Gone => None,
                    };
                    let replaced = base.is_some() && patches[named].directive() == Some("replace");
                    if let (Some(row), false, Some(value)) = (found, replaced, &value) {
                        object.values[row] = Some(value.clone());
                    }
                    value
                }
            };
            match value.filter(|value| !is_empty(value)) {
                Some(value) => merged.set(tuple, value),
                None => object.remove(&tuple),
            }
        }
        for (row, value) in object.values.iter().enumerate().filter(|(row, _)| object.alive[*row]) {
            if let Some(value) = value {
                merged.put_back(object.tuples[row].clone(), value.clone());
            }
        }
        let result = merged.finish();
        Ok(if base == Some(result.as_slice()) { Outcome::Same } else { Outcome::Set(result.into()) })
    }
}

/// Lists that merge are rewritten even where no patch names them: of elements that share their keys the
/// last one stays. None where nothing changes.
pub(in crate::patch) fn normalised(
    value: &Value,
    position: Position<'_>,
) -> Result<Option<Value>, PatchError> {
    if let Value::Array(items) = value {
        return match position.strategy() {
            Strategy::Keys(_) | Strategy::Set => normalised_list(items, position),
            Strategy::Replace => Ok(None),
        };
    }
    let mut changed: Option<Value> = None;
    for (name, _) in position.fields() {
        if let Some(member) = value.get(name)
            && let Some(renewed) = normalised(member, position.member(name))?
        {
            changed.get_or_insert_with(|| value.clone()).insert(*name, renewed);
        }
    }
    Ok(changed)
}

fn normalised_list(items: &[Value], place: Position<'_>) -> Result<Option<Value>, PatchError> {
    let tracker = DivergenceTracker::new(Semantics::Kyverno);
    let mut merger = Merger {
        tracker: &tracker,
        steps: Steps::default(),
        at: Pointer::ROOT,
        custom: false,
        below_new: false,
    };
    let nothing = Value::array(Vec::new());
    match merger.merge(Some(&items.to_vec().into()), Patch::Value(&nothing), place)? {
        Outcome::Set(value) => Ok(Some(value)),
        Outcome::Same | Outcome::Gone => Ok(None),
    }
}

fn tuple(element: &Value, names: &[&str]) -> Tuple {
    let text = |name: &&str| element.get(name).and_then(key_text).map(Text::from).unwrap_or_default();
    names.iter().map(text).collect()
}

/// Elements that share one key, and of which one lacks what the other has, count as one.
fn complete(tuples: &mut [Tuple], steps: &mut Steps) -> Result<(), PatchError> {
    if !tuples.iter().any(|tuple| tuple.len() > 1 && tuple.iter().any(|text| text.is_empty())) {
        return Ok(());
    }
    for i in 0..tuples.len() {
        let own = tuples[i].clone();
        for j in 0..tuples.len() {
            steps.count()?;
            let other = &tuples[j];
            let fits = own.iter().zip(other).all(|(a, b)| a == b || a.is_empty() || b.is_empty());
            if fits && own.iter().zip(other).any(|(a, b)| a == b) {
                let both: Tuple = own
                    .iter()
                    .zip(other)
                    .map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() })
                    .collect();
                tuples[i] = both.clone();
                tuples[j] = both;
            }
        }
    }
    Ok(())
}

/// The keys that occur at all; all of them if none does.
struct Used<'k> {
    places: Vec<usize>,
    names: Vec<&'k str>,
}

fn used<'k>(tuples: &[Tuple], keys: Keys<'k>) -> Used<'k> {
    let occurs = |place: &usize| tuples.iter().any(|tuple| !tuple[*place].is_empty());
    let mut places: Vec<usize> = (0..keys.names().len()).filter(occurs).collect();
    if places.is_empty() {
        places = (0..keys.names().len()).collect();
    }
    let names = places.iter().map(|place| keys.names()[*place]).collect();
    Used { places, names }
}

impl Used<'_> {
    fn of(&self, tuple: &Tuple) -> Tuple {
        self.places.iter().map(|place| tuple[*place].clone()).collect()
    }
}

/// A list, by the texts of its keys.
struct Rows {
    values: Vec<Option<Value>>,
    tuples: Vec<Tuple>,
    alive: Vec<bool>,
    /// Rows by tuple, and by what is there of a tuple.
    by_tuple: IndexMap<Tuple, Vec<usize>, RandomState>,
}

impl Rows {
    fn new(rows: &[Value], names: &[&str]) -> Self {
        let tuples: Vec<Tuple> = rows.iter().map(|row| tuple(row, names)).collect();
        let mut by_tuple: IndexMap<Tuple, Vec<usize>, RandomState> = IndexMap::default();
        for (row, tuple) in tuples.iter().enumerate() {
            by_tuple.entry(tuple.clone()).or_default().push(row);
        }
        Self {
            values: rows.iter().cloned().map(Some).collect(),
            alive: vec![true; rows.len()],
            tuples,
            by_tuple,
        }
    }

    /// The first row with these keys; keys that are missing on both sides agree.
    fn first(&self, tuple: &Tuple) -> Option<usize> {
        if tuple.iter().all(|text| text.is_empty()) {
            return None;
        }
        self.by_tuple.get(tuple)?.iter().copied().find(|row| self.alive[*row])
    }

    /// Removes the rows with these keys. A key that is missing stands for any; empty rows go as well.
    fn remove(&mut self, tuple: &Tuple) {
        if tuple.iter().all(|text| !text.is_empty()) {
            for row in self.by_tuple.get(tuple).into_iter().flatten() {
                self.alive[*row] = false;
            }
            return;
        }
        for row in 0..self.tuples.len() {
            let fits = |(wanted, found): (&Text, &Text)| {
                if wanted.is_empty() { !found.is_empty() } else { wanted == found }
            };
            let empty = self.values[row].as_ref().is_none_or(is_empty);
            if empty || tuple.iter().zip(&self.tuples[row]).all(fits) {
                self.alive[row] = false;
            }
        }
    }
}

/// The merged elements, in the order they were merged.
#[derive(Default)]
struct Merged {
    rows: Vec<Option<Value>>,
    places: BTreeMap<Tuple, usize>,
}

impl Merged {
    fn set(&mut self, tuple: Tuple, value: Value) {
        match self.places.get(&tuple) {
            Some(place) => self.rows[*place] = Some(value),
            None => {
                self.places.insert(tuple, self.rows.len());
                self.rows.push(Some(value));
            }
        }
    }

    /// Puts an element of the object over what was merged.
    fn put_back(&mut self, tuple: Tuple, value: Value) {
        let known: Tuple = tuple.iter().take_while(|text| !text.is_empty()).cloned().collect();
        if known.is_empty() {
            // Without its first key an element takes the place of all others.
            self.rows.clear();
            self.places.clear();
        } else if tuple.len() > 1 {
            let prefixed =
                self.places.range(known.clone()..).take_while(|(other, _)| other.starts_with(&known));
            let removed: Vec<Tuple> = prefixed.map(|(other, _)| other.clone()).collect();
            for other in removed {
                if let Some(place) = self.places.remove(&other) {
                    self.rows[place] = None;
                }
            }
        }
        self.set(tuple, value);
    }

    fn finish(self) -> Vec<Value> {
        self.rows.into_iter().flatten().collect()
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(|members| members.is_empty())
}
