//! Lists whose elements are known by keys, merged as the documentation has it.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::{IndexMap, IndexSet};

use crate::semantics::{Divergence, Semantics};
use crate::value::Value;

use super::condition::scalar_text;
use super::merge::{Element, Merger, Outcome, Patch};
use super::schema::Position;
use crate::patch::{NodeKind, PatchError};

/// The keys that elements of a list are known by, the primary one first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'k> {
    names: &'k [&'k str],
}

/// The text of a key; none where it is missing.
pub(in crate::patch) fn key_text(value: &Value) -> Option<Cow<'_, str>> {
    if value.is_null() {
        return None;
    }
    scalar_text(value).filter(|text| !text.is_empty())
}

impl<'k> Keys<'k> {
    pub(super) const fn new(names: &'k [&'k str]) -> Self {
        Self { names }
    }

    pub(super) const fn names(self) -> &'k [&'k str] {
        self.names
    }

    fn primary(self) -> &'k str {
        self.names.first().copied().unwrap_or_default()
    }

    fn secondary(self) -> &'k [&'k str] {
        self.names.get(1..).unwrap_or_default()
    }

    /// The only element that another one means, if there is one.
    pub(super) fn counterpart(self, element: &Value, found: &[Value]) -> Option<usize> {
        let wanted = text_of(element, self.primary())?;
        let same = |other: &Value| {
            let secondary = |key: &&str| match (text_of(element, key), text_of(other, key)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            text_of(other, self.primary()).as_ref() == Some(&wanted) && self.secondary().iter().all(secondary)
        };
        found.iter().position(same)
    }

    /// Why Kyverno would not leave a list alone that no patch names.
    pub(super) fn irregular(self, list: &[Value]) -> Option<Divergence> {
        if list.len() <= FEW && self.names.len() <= 2 {
            return self.irregular_few(list);
        }
        self.irregular_many(list)
    }

    fn irregular_many(self, list: &[Value]) -> Option<Divergence> {
        let mut partial = false;
        let mut complete = false;
        let mut known: IndexSet<Cow<'_, str>, RandomState> = IndexSet::default();
        let mut seen: IndexSet<Vec<Cow<'_, str>>, RandomState> = IndexSet::default();
        for element in list {
            let Some(primary) = text_of(element, self.primary()) else {
                return Some(Divergence::MissingMergeKey);
            };
            if self.secondary().is_empty() {
                if !known.insert(primary) {
                    return Some(Divergence::DuplicateMergeKey);
                }
                continue;
            }
            let tuple: Vec<_> =
                self.names.iter().map(|key| text_of(element, key).unwrap_or_default()).collect();
            partial |= tuple.iter().any(|text| text.is_empty());
            complete |= tuple.iter().skip(1).any(|text| !text.is_empty());
            if !seen.insert(tuple) {
                return Some(Divergence::DuplicateMergeKey);
            }
        }
        (partial && complete).then_some(Divergence::PartialMergeKey)
    }
}

/// So many elements are sooner compared with each other than looked up.
const FEW: usize = 8;

impl Keys<'_> {
    /// As [`Keys::irregular`], for a short list whose elements are known by one key or two.
    fn irregular_few(self, list: &[Value]) -> Option<Divergence> {
        let secondary = self.secondary().first();
        let mut partial = false;
        let mut complete = false;
        let mut known: [[Option<&Value>; 2]; FEW] = Default::default();
        for (index, element) in list.iter().enumerate() {
            let text = |key: &str| element.get(key).filter(|value| has_key_text(value));
            let keys = [text(self.primary()), secondary.and_then(|key| text(key))];
            if keys[0].is_none() {
                return Some(Divergence::MissingMergeKey);
            }
            partial |= secondary.is_some() && keys[1].is_none();
            complete |= keys[1].is_some();
            let is_same = |one: Option<&Value>, other: Option<&Value>| match (one, other) {
                (Some(Value::String(one)), Some(Value::String(other))) => one == other,
                (Some(one), Some(other)) => key_text(one) == key_text(other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let mut before = known.iter().take(index);
            if before.any(|other| is_same(keys[0], other[0]) && is_same(keys[1], other[1])) {
                return Some(Divergence::DuplicateMergeKey);
            }
            if let Some(slot) = known.get_mut(index) {
                *slot = keys;
            }
        }
        (partial && complete).then_some(Divergence::PartialMergeKey)
    }
}

/// Whether [`key_text`] gives something.
fn has_key_text(value: &Value) -> bool {
    match value {
        Value::String(text) => !text.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn text_of<'v>(element: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    key_text(element.get(key)?)
}

/// The value of a key for comparison: an absent protocol is the default of the API.
fn effective<'v>(key: &str, text: Option<Cow<'v, str>>) -> Option<Cow<'v, str>> {
    text.or((key == "protocol").then_some(Cow::Borrowed("TCP")))
}

fn patch_text<'p>(patch: Patch<'p>, key: &str) -> Option<Cow<'p, str>> {
    key_text(patch.scalar_member(key)?)
}

/// A list while a patch is merged into it.
struct Merging<'b> {
    base: &'b [Value],
    /// What became of the elements of the object.
    current: Vec<Option<Value>>,
    /// What is new.
    added: Vec<Option<Value>>,
    /// The elements that the patch named, in its order.
    order: Vec<Slot>,
    touched: Vec<bool>,
    changed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slot {
    Base(usize),
    Added(usize),
}

impl Merger<'_> {
    /// Merges a list by keys.
    pub(super) fn merge_keyed(
        &mut self,
        base: Option<&[Value]>,
        elements: Vec<Element<'_>>,
        names: &[&str],
        place: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let keys = Keys::new(names);
        if self.tracker.semantics() == Semantics::Kyverno {
            return self.merge_keyed_as_observed(base, &elements, keys, place);
        }
        let present = base.is_some();
        let mut base = base;
        let mut rest = Vec::with_capacity(elements.len());
        for (target, patch) in elements {
            match patch.only_directive().filter(|_| target.is_none()) {
                None => rest.push((target, patch)),
                Some(_) if !present => self.tracker.reach(Divergence::LiteralPatchElement),
                Some("replace") => base = None,
                Some("delete") => return Ok(Outcome::Gone),
                Some("merge") => {}
                Some(_) => return Err(PatchError::UnknownStrategy { at: self.at.clone() }),
            }
        }
        let list = base.unwrap_or_default();
        let mut merging = Merging::new(list);
        let in_place = self.keeps_places(list, &rest, keys);
        // What an anchor chose is known by its place.
        let by_key = rest.iter().filter(|(target, _)| target.is_none()).count();
        let index = Index::new(list, keys, by_key);
        // New elements are known by their keys too.
        let mut added: IndexMap<Vec<Option<String>>, usize, RandomState> = IndexMap::default();
        for (target, patch) in rest {
            let hits = match target {
                Some(target) if target.index < list.len() => vec![target.index],
                Some(_) => Vec::new(),
                None => self.counterparts(list, patch, keys, &index)?,
            };
            if hits.len() > 1 {
                self.tracker.reach(Divergence::DuplicateMergeKey);
            }
            for hit in &hits {
                if merging.touched[*hit] {
                    self.tracker.reach(Divergence::DuplicateMergeKey);
                }
                if patch.directive() == Some("replace") {
                    self.tracker.reach(Divergence::LiteralPatchElement);
                }
                self.at.push_index(*hit);
                let outcome = self.merge(merging.current[*hit].as_ref(), patch, place)?;
                self.at.pop();
                merging.touch(*hit, outcome);
            }
            if !hits.is_empty() {
                continue;
            }
            let tuple: Vec<_> = keys
                .names
                .iter()
                .map(|key| effective(key, patch_text(patch, key)).map(Cow::into_owned))
                .collect();
            let known = added.get(&tuple).copied().filter(|_| tuple.first().is_some_and(Option::is_some));
            self.at.push_index(list.len());
            let before = known.and_then(|known| merging.added[known].as_ref());
            let mut outcome = self.merge(before, patch, place)?;
            self.at.pop();
            if let (Some(target), Outcome::Set(value)) = (target, &mut outcome) {
                for (key, identity) in &target.identity {
                    if value.get(key).is_none() {
                        value.insert(key.clone(), identity.clone());
                    }
                }
            }
            if known.is_some() {
                self.tracker.reach(Divergence::DuplicateMergeKey);
            }
            added.insert(tuple, merging.add(known, outcome));
        }
        Ok(merging.finish(base.is_some(), in_place))
    }

    /// Whether merged elements stay where they are and only new ones go to the front: so it is where
    /// elements are known by more than one key.
    fn keeps_places(&self, list: &[Value], elements: &[Element<'_>], keys: Keys<'_>) -> bool {
        let secondary = keys.secondary();
        if secondary.is_empty() {
            return false;
        }
        let in_base = |value: &Value| secondary.iter().any(|key| text_of(value, key).is_some());
        let in_patch =
            |(_, patch): &Element<'_>| secondary.iter().any(|key| patch_text(*patch, key).is_some());
        let used = list.iter().any(in_base) || elements.iter().any(in_patch);
        if used {
            let lacks = |value: &Value| secondary.iter().any(|key| text_of(value, key).is_none());
            let omits = |(target, patch): &Element<'_>| {
                target.is_none() && secondary.iter().any(|key| patch_text(*patch, key).is_none())
            };
            if list.iter().any(lacks) || elements.iter().any(omits) {
                self.tracker.reach(Divergence::PartialMergeKey);
            }
        }
        used
    }

    /// The elements of the object that an element of the patch is about; none where it is new.
    fn counterparts(
        &self,
        list: &[Value],
        patch: Patch<'_>,
        keys: Keys<'_>,
        index: &Index<'_>,
    ) -> Result<Vec<usize>, PatchError> {
        let primary = match patch.kind() {
            Some(NodeKind::Mapping) => patch_text(patch, keys.primary()),
            _ => None,
        };
        let Some(primary) = primary else {
            self.tracker.reach(Divergence::MissingMergeKey);
            if list.is_empty() {
                return Ok(Vec::new());
            }
            let key = keys.primary().to_owned();
            return Err(PatchError::LacksMergeKey { at: self.at.clone(), key });
        };
        let candidates = index.find(&primary);
        if keys.secondary().is_empty() {
            return Ok(candidates);
        }
        let agrees = |candidate: usize, lenient: bool| {
            keys.secondary().iter().all(|key| {
                let wanted = patch_text(patch, key);
                let found = text_of(&list[candidate], key);
                (lenient && wanted.is_none()) || effective(key, wanted) == effective(key, found)
            })
        };
        let exact: Vec<_> = candidates.iter().copied().filter(|index| agrees(*index, false)).collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        let Some(omitted) = keys.secondary().iter().find(|key| patch_text(patch, key).is_none()) else {
            return Ok(Vec::new());
        };
        let fitting: Vec<_> = candidates.iter().copied().filter(|index| agrees(*index, true)).collect();
        if fitting.len() > 1 {
            let key = (*omitted).to_owned();
            return Err(PatchError::AmbiguousMergeKey { at: self.at.clone(), key });
        }
        Ok(fitting)
    }
}

/// The places of elements by primary key.
enum Index<'v> {
    /// They are looked for one by one.
    List(&'v [Value], &'v str),
    /// They were gathered before.
    Places(IndexMap<Cow<'v, str>, Vec<usize>, RandomState>),
}

impl<'v> Index<'v> {
    /// What finds places so many times.
    fn new(list: &'v [Value], keys: Keys<'v>, times: usize) -> Self {
        if times <= FEW {
            return Self::List(list, keys.primary());
        }
        let mut places: IndexMap<_, Vec<usize>, _> = IndexMap::default();
        for (position, element) in list.iter().enumerate() {
            if let Some(text) = text_of(element, keys.primary()) {
                places.entry(text).or_default().push(position);
            }
        }
        Self::Places(places)
    }

    fn find(&self, key: &str) -> Vec<usize> {
        match self {
            Self::Places(places) => places.get(key).cloned().unwrap_or_default(),
            Self::List(list, primary) => {
                let is_wanted = |element: &Value| match element.get(primary) {
                    Some(Value::String(text)) => **text == *key && !key.is_empty(),
                    Some(other) => key_text(other).is_some_and(|text| text == key),
                    None => false,
                };
                list.iter().enumerate().filter(|(_, element)| is_wanted(element)).map(|(at, _)| at).collect()
            }
        }
    }
}

impl<'b> Merging<'b> {
    fn new(base: &'b [Value]) -> Self {
        Self {
            base,
            current: base.iter().cloned().map(Some).collect(),
            added: Vec::new(),
            order: Vec::new(),
            touched: vec![false; base.len()],
            changed: false,
        }
    }

    fn touch(&mut self, index: usize, outcome: Outcome) {
        if !self.touched[index] {
            self.touched[index] = true;
            self.order.push(Slot::Base(index));
        }
        match outcome {
            Outcome::Same => {}
            Outcome::Set(value) => {
                self.current[index] = Some(value);
                self.changed = true;
            }
            Outcome::Gone => {
                self.changed |= self.current[index].take().is_some();
            }
        }
    }

    fn add(&mut self, known: Option<usize>, outcome: Outcome) -> usize {
        let index = known.unwrap_or(self.added.len());
        if known.is_none() {
            self.added.push(None);
            self.order.push(Slot::Added(index));
        }
        match outcome {
            Outcome::Same => {}
            Outcome::Set(value) => self.added[index] = Some(value),
            Outcome::Gone => self.added[index] = None,
        }
        index
    }

    fn finish(mut self, present: bool, in_place: bool) -> Outcome {
        let untouched = |index: &usize| in_place || !self.touched[*index];
        let rest: Vec<_> = (0..self.base.len()).filter(untouched).map(Slot::Base).collect();
        let front = self.order.iter().copied().filter(|slot| !in_place || matches!(slot, Slot::Added(_)));
        let order: Vec<_> = front.chain(rest).collect();
        let moved = order.iter().enumerate().any(|(index, slot)| *slot != Slot::Base(index));
        if present && !self.changed && !moved {
            return Outcome::Same;
        }
        let taken = order.into_iter().filter_map(|slot| match slot {
            Slot::Base(index) => self.current[index].take(),
            Slot::Added(index) => self.added[index].take(),
        });
        Outcome::Set(taken.collect::<Vec<_>>().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_lists_are_as_irregular_as_long_ones() {
        let elements = [
            "{}",
            "1",
            r#"{"a":""}"#,
            r#"{"a":"x"}"#,
            r#"{"a":"1"}"#,
            r#"{"a":1}"#,
            r#"{"a":"x","b":"y"}"#,
            r#"{"a":"x","b":""}"#,
            r#"{"a":"x","b":[]}"#,
            r#"{"a":"z","b":"y"}"#,
            r#"{"a":true,"b":"y"}"#,
        ]
        .map(|text| Value::from_json(text).unwrap());
        let mut irregular = 0;
        for keys in [&["a"][..], &["a", "b"]].map(Keys::new) {
            for one in &elements {
                for other in &elements {
                    for list in [vec![one, other], vec![one, other, one], vec![&elements[9], one, other]] {
                        let list: Vec<Value> = list.into_iter().cloned().collect();
                        assert_eq!(keys.irregular_few(&list), keys.irregular_many(&list), "{list:?}");
                        irregular += usize::from(keys.irregular(&list).is_some());
                    }
                }
            }
        }
        assert!(irregular > 0);
    }
}
