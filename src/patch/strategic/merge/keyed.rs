//! Lists with merge keys, merged as Kyverno's documentation describes it.

use std::borrow::Cow;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::patch::scalar::key_text;
use crate::patch::strategic::keys::{MergeKeys, SHORT_LIST, text_of};
use crate::patch::strategic::schema::Position;
use crate::patch::{NodeKind, PatchError};
use crate::semantics::Divergence;
use crate::value::Value;

use super::node::{PatchElement, PatchNode};
use super::{KeyedList, MergeOutcome, Merger};

/// The value of a key for comparison: an absent protocol is the default of the Kubernetes API.
fn effective<'v>(key: &str, text: Option<Cow<'v, str>>) -> Option<Cow<'v, str>> {
    text.or((key == "protocol").then_some(Cow::Borrowed("TCP")))
}

/// The text of a patch element's merge key, if it has one.
fn patch_text<'p>(patch: PatchNode<'p>, key: &str) -> Option<Cow<'p, str>> {
    key_text(patch.scalar_member(key)?)
}

/// A list while a patch is merged into it.
struct ListMerge<'b> {
    base: &'b [Value],
    /// The merged elements of the object; `None` where removed.
    current: Vec<Option<Value>>,
    /// The elements that only the patch has; `None` where removed.
    added: Vec<Option<Value>>,
    /// The elements that the patch names, in its order.
    order: Vec<Source>,
    /// Which elements of the object the patch names.
    touched: Vec<bool>,
    changed: bool,
}

/// The source of an element of the merged list, with its index.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Base(usize),
    Added(usize),
}

impl Merger<'_> {
    /// Merges a list by keys.
    pub(super) fn merge_keyed(&mut self, list: KeyedList<'_>) -> Result<MergeOutcome, PatchError> {
        let KeyedList { mut base, elements, keys, position } = list;
        let present = base.is_some();
        let mut rest = Vec::with_capacity(elements.len());
        for element in elements {
            match element.patch.only_directive().filter(|_| element.target.is_none()) {
                None => rest.push(element),
                Some(_) if !present => self.tracker.reach(Divergence::LiteralPatchElement),
                Some("replace") => base = None,
                Some("delete") => return Ok(MergeOutcome::Removed),
                Some("merge") => {}
                Some(_) => return Err(PatchError::UnknownStrategy { at: self.at.clone() }),
            }
        }
        let list = base.unwrap_or_default();
        let mut merge = ListMerge::new(list);
        let in_place = self.keeps_order(list, &rest, keys);
        // Elements that an anchor selected are found by index.
        let lookups = rest.iter().filter(|element| element.target.is_none()).count();
        let index = PrimaryKeyIndex::new(list, keys, lookups);
        // Added elements are identified by their keys too.
        let mut added: IndexMap<Vec<Option<String>>, usize, RandomState> = IndexMap::default();
        for PatchElement { target, patch } in rest {
            let found = match target {
                Some(target) if target.index < list.len() => vec![target.index],
                Some(_) => Vec::new(),
                None => self.counterparts(list, patch, keys, &index)?,
            };
            if !found.is_empty() {
                self.merge_existing(&mut merge, &found, patch, position)?;
                continue;
            }
            let key: Vec<_> = keys
                .names()
                .iter()
                .map(|name| effective(name, patch_text(patch, name)).map(Cow::into_owned))
                .collect();
            let known = added.get(&key).copied().filter(|_| key.first().is_some_and(Option::is_some));
            self.at.push_index(list.len());
            let before = known.and_then(|known| merge.added[known].as_ref());
            let mut outcome = self.merge(before, patch, position)?;
            self.at.pop();
            if let (Some(target), MergeOutcome::Set(value)) = (target, &mut outcome) {
                for (key, identity) in target.identity(keys) {
                    if value.get(key).is_none() {
                        value.insert(key.clone(), identity.clone());
                    }
                }
            }
            if known.is_some() {
                self.tracker.reach(Divergence::DuplicateMergeKey);
            }
            added.insert(key, merge.add(known, outcome));
        }
        Ok(merge.finish(base.is_some(), in_place))
    }

    /// Merges an element of the patch into the elements of the object that it matches.
    fn merge_existing(
        &mut self,
        merge: &mut ListMerge<'_>,
        found: &[usize],
        patch: PatchNode<'_>,
        position: Position<'_>,
    ) -> Result<(), PatchError> {
        if found.len() > 1 {
            self.tracker.reach(Divergence::DuplicateMergeKey);
        }
        for index in found {
            if found.len() > 1 {
                self.steps.count()?;
            }
            if merge.touched[*index] {
                self.tracker.reach(Divergence::DuplicateMergeKey);
            }
            if patch.directive() == Some("replace") {
                self.tracker.reach(Divergence::LiteralPatchElement);
            }
            self.at.push_index(*index);
            let outcome = self.merge(merge.current[*index].as_ref(), patch, position)?;
            self.at.pop();
            merge.set(*index, outcome);
        }
        Ok(())
    }

    /// Whether merged elements keep their order and only added ones go to the front, as is the case for lists with more
    /// than one merge key.
    fn keeps_order(&self, list: &[Value], elements: &[PatchElement<'_>], keys: MergeKeys<'_>) -> bool {
        let secondary = keys.secondary();
        if secondary.is_empty() {
            return false;
        }
        let in_base = |value: &Value| secondary.iter().any(|key| text_of(value, key).is_some());
        let in_patch =
            |element: &PatchElement<'_>| secondary.iter().any(|key| patch_text(element.patch, key).is_some());
        let used = list.iter().any(in_base) || elements.iter().any(in_patch);
        if used {
            let lacks = |value: &Value| secondary.iter().any(|key| text_of(value, key).is_none());
            let omits = |element: &PatchElement<'_>| {
                element.target.is_none()
                    && secondary.iter().any(|key| patch_text(element.patch, key).is_none())
            };
            if list.iter().any(lacks) || elements.iter().any(omits) {
                self.tracker.reach(Divergence::PartialMergeKey);
            }
        }
        used
    }

    /// The indexes of the elements of the object that an element of the patch matches; empty if it is added.
    fn counterparts(
        &self,
        list: &[Value],
        patch: PatchNode<'_>,
        keys: MergeKeys<'_>,
        index: &PrimaryKeyIndex<'_>,
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
                let text = patch_text(patch, key);
                let found = text_of(&list[candidate], key);
                (lenient && text.is_none()) || effective(key, text) == effective(key, found)
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

/// Finds elements by primary key.
enum PrimaryKeyIndex<'v> {
    /// By linear search: the list and its primary key.
    List(&'v [Value], &'v str),
    /// By hash.
    Hashed(IndexMap<Cow<'v, str>, Vec<usize>, RandomState>),
}

impl<'v> PrimaryKeyIndex<'v> {
    /// An index suited for this number of lookups.
    fn new(list: &'v [Value], keys: MergeKeys<'v>, lookups: usize) -> Self {
        if lookups <= SHORT_LIST {
            return Self::List(list, keys.primary());
        }
        let mut indexes: IndexMap<_, Vec<usize>, _> = IndexMap::default();
        for (position, element) in list.iter().enumerate() {
            if let Some(text) = text_of(element, keys.primary()) {
                indexes.entry(text).or_default().push(position);
            }
        }
        Self::Hashed(indexes)
    }

    fn find(&self, key: &str) -> Vec<usize> {
        match self {
            Self::Hashed(indexes) => indexes.get(key).cloned().unwrap_or_default(),
            Self::List(list, primary) => {
                let has_key = |element: &Value| match element.get(primary) {
                    Some(Value::String(text)) => **text == *key && !key.is_empty(),
                    Some(other) => key_text(other).is_some_and(|text| text == key),
                    None => false,
                };
                list.iter().enumerate().filter(|(_, element)| has_key(element)).map(|(at, _)| at).collect()
            }
        }
    }
}

impl<'b> ListMerge<'b> {
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

    /// Sets the outcome for an element of the object.
    fn set(&mut self, index: usize, outcome: MergeOutcome) {
        if !self.touched[index] {
            self.touched[index] = true;
            self.order.push(Source::Base(index));
        }
        match outcome {
            MergeOutcome::Unchanged => {}
            MergeOutcome::Set(value) => {
                self.current[index] = Some(value);
                self.changed = true;
            }
            MergeOutcome::Removed => {
                self.changed |= self.current[index].take().is_some();
            }
        }
    }

    /// Sets the outcome for an added element, at the index where it is known; returns its index.
    fn add(&mut self, known: Option<usize>, outcome: MergeOutcome) -> usize {
        let index = known.unwrap_or(self.added.len());
        if known.is_none() {
            self.added.push(None);
            self.order.push(Source::Added(index));
        }
        match outcome {
            MergeOutcome::Unchanged => {}
            MergeOutcome::Set(value) => self.added[index] = Some(value),
            MergeOutcome::Removed => self.added[index] = None,
        }
        index
    }

    /// The merged list: elements named by the patch first unless `in_place`.
    fn finish(mut self, present: bool, in_place: bool) -> MergeOutcome {
        let untouched = |index: &usize| in_place || !self.touched[*index];
        let rest: Vec<_> = (0..self.base.len()).filter(untouched).map(Source::Base).collect();
        let front =
            self.order.iter().copied().filter(|source| !in_place || matches!(source, Source::Added(_)));
        let order: Vec<_> = front.chain(rest).collect();
        let moved = order.iter().enumerate().any(|(index, source)| *source != Source::Base(index));
        if present && !self.changed && !moved {
            return MergeOutcome::Unchanged;
        }
        let merged = order.into_iter().filter_map(|source| match source {
            Source::Base(index) => self.current[index].take(),
            Source::Added(index) => self.added[index].take(),
        });
        MergeOutcome::Set(merged.collect::<Vec<_>>().into())
    }
}
