//! Merging a patch without anchors into an object.
//!
//! Documentation and Kyverno differ in lists with merge keys and in directives in other lists.

mod key_tuple;
mod keyed;
mod kyverno;
mod node;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::patch::limits::StepCounter;
use crate::patch::scalar::scalar_text;
use crate::patch::{NodeKind, PatchError};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Map, Pointer, Text, Value};

use super::any_node;
use super::keys::MergeKeys;
use super::schema::{ListStrategy, Position};

pub(super) use kyverno::normalized;
pub(super) use node::PatchNode;

use node::PatchElement;

/// The result of merging a node.
#[derive(Debug)]
enum MergeOutcome {
    Unchanged,
    /// It gets this value.
    Set(Value),
    Removed,
}

/// A list with merge keys and the patch for it.
struct KeyedList<'a> {
    /// The list of the object, if it has one.
    base: Option<&'a [Value]>,
    elements: Vec<PatchElement<'a>>,
    keys: MergeKeys<'a>,
    /// The schema position of the elements.
    position: Position<'a>,
}

/// Merges a patch; keeps track of the path in the object.
pub(super) struct Merger<'a> {
    tracker: &'a DivergenceTracker,
    steps: StepCounter,
    at: Pointer,
    /// Whether the object is a custom resource whose definition is known.
    custom: bool,
    /// Whether the enclosing map or list is new, in which case Kyverno merges the patch with itself.
    below_new: bool,
}

impl<'a> Merger<'a> {
    #[inline]
    pub(super) fn new(tracker: &'a DivergenceTracker) -> Self {
        Self { tracker, steps: StepCounter::default(), at: Pointer::ROOT, custom: false, below_new: false }
    }

    /// The steps so far.
    pub(super) const fn steps(&self) -> usize {
        self.steps.taken()
    }

    /// Merges a patch into a whole object.
    pub(super) fn merge_object(
        &mut self,
        base: &Value,
        patch: PatchNode<'_>,
        position: Position<'_>,
    ) -> Result<Value, PatchError> {
        self.custom = position.is_custom();
        match self.merge(Some(base), patch, position)? {
            MergeOutcome::Unchanged => Ok(base.clone()),
            MergeOutcome::Set(value) => Ok(value),
            MergeOutcome::Removed => Err(PatchError::DeletesObject),
        }
    }

    /// Merges a patch into a node, if there is one.
    fn merge(
        &mut self,
        base: Option<&Value>,
        patch: PatchNode<'_>,
        position: Position<'_>,
    ) -> Result<MergeOutcome, PatchError> {
        let base = base.filter(|base| !base.is_null());
        let Some(found) = patch.kind() else { return Ok(MergeOutcome::Removed) };
        if let Some(expected) = base.map(NodeKind::of)
            && expected != found
        {
            return Err(PatchError::WrongKind { expected, found, at: self.at.clone() });
        }
        match found {
            NodeKind::Mapping => self.merge_map(base.and_then(Value::as_object), patch, position),
            NodeKind::Sequence => self.merge_list(base.and_then(Value::as_array), patch, position),
            NodeKind::Scalar => {
                Ok(patch.value().map_or(MergeOutcome::Removed, |patch| merge_scalar(base, patch)))
            }
        }
    }

    fn merge_map(
        &mut self,
        base: Option<&Map>,
        patch: PatchNode<'_>,
        position: Position<'_>,
    ) -> Result<MergeOutcome, PatchError> {
        let mut directive = patch.strategy();
        let base = match directive {
            Some("delete") => return Ok(MergeOutcome::Removed),
            Some("replace") => None,
            None | Some("merge") => base,
            Some(_) => {
                let literal = base.is_none()
                    && !self.below_new
                    && !self.tracker.documented(Divergence::UnknownDirective);
                if !literal {
                    return Err(PatchError::UnknownStrategy { at: self.at.clone() });
                }
                directive = None;
                base
            }
        };
        let below_new = std::mem::replace(&mut self.below_new, base.is_none());
        let mut changed: Option<Map> = if base.is_none() { Some(Map::default()) } else { None };
        let mut removed: Option<IndexSet<&Text, RandomState>> = None;
        for (key, member) in patch.members() {
            if directive.is_some() && &**key == "$patch" {
                continue;
            }
            let before = base.and_then(|base| base.get(key));
            let outcome = match merge_scalars(before, member) {
                Some(outcome) => outcome,
                None => {
                    self.at.push_key(key.clone());
                    let outcome = self.merge(before, member, position.member(key))?;
                    self.at.pop();
                    outcome
                }
            };
            match outcome {
                MergeOutcome::Unchanged => {}
                MergeOutcome::Set(value) => {
                    let with_capacity =
                        || base.map_or_else(Map::default, |base| base.with_room(patch.members().len()));
                    changed.get_or_insert_with(with_capacity).insert(key.clone(), value);
                }
                MergeOutcome::Removed if before.is_some() => {
                    removed.get_or_insert_default().insert(key);
                }
                MergeOutcome::Removed => {}
            }
        }
        self.below_new = below_new;
        if let (Some(members), Semantics::Kyverno) = (base, self.tracker.semantics()) {
            for (key, _) in position.fields().iter().filter(|(key, _)| patch.member(key).is_none()) {
                if let Some(before) = members.get(key)
                    && let Some(value) = normalized(before, position.member(key))?
                {
                    changed.get_or_insert_with(|| members.clone()).insert((*key).into(), value);
                }
            }
        }
        if let Some(removed) = removed {
            changed
                .get_or_insert_with(|| base.cloned().unwrap_or_default())
                .retain(|key, _| !removed.contains(key));
        }
        Ok(changed.map_or(MergeOutcome::Unchanged, |members| MergeOutcome::Set(Value::object(members))))
    }

    fn merge_list(
        &mut self,
        base: Option<&[Value]>,
        patch: PatchNode<'_>,
        position: Position<'_>,
    ) -> Result<MergeOutcome, PatchError> {
        let strategy = position.strategy();
        if self.custom && strategy != ListStrategy::Replace {
            self.tracker.reach(Divergence::SchemaOfTheCluster);
        }
        let element_position = position.element();
        match strategy {
            ListStrategy::Keys(keys) => {
                let below_new = std::mem::replace(&mut self.below_new, base.is_none());
                let list = KeyedList {
                    base,
                    elements: patch.elements(),
                    keys: MergeKeys::new(&keys),
                    position: element_position,
                };
                let merged = match self.tracker.semantics() {
                    Semantics::Documented => self.merge_keyed(list),
                    Semantics::Kyverno => self.merge_keyed_as_kyverno(list),
                };
                self.below_new = below_new;
                merged
            }
            ListStrategy::Set => self.merge_set(base, &patch.elements()),
            ListStrategy::Replace if patch.edits() => {
                self.edit_in_place(base, &patch.elements(), element_position)
            }
            ListStrategy::Replace => {
                let mut value = patch.to_value();
                if contains_directive(&value) && self.tracker.documented(Divergence::LiteralPatchElement) {
                    value = without_directives(&value).unwrap_or_else(|| Value::array(Vec::new()));
                }
                let same = base.is_some_and(|base| value.as_array() == Some(base));
                Ok(if same { MergeOutcome::Unchanged } else { MergeOutcome::Set(value) })
            }
        }
    }

    /// Edits the selected elements of a list without merge keys in place; other elements of the patch are added unless an
    /// equal element exists.
    fn edit_in_place(
        &mut self,
        base: Option<&[Value]>,
        elements: &[PatchElement<'_>],
        position: Position<'_>,
    ) -> Result<MergeOutcome, PatchError> {
        let mut current: Vec<Option<Value>> = base.unwrap_or_default().iter().cloned().map(Some).collect();
        let mut changed = base.is_none();
        for PatchElement { target, patch } in elements {
            let target = target.filter(|target| target.index < current.len());
            let index = target.map_or(current.len(), |target| target.index);
            self.at.push_index(index);
            let before = current.get(index).and_then(Option::as_ref);
            let outcome = self.merge(before, *patch, position)?;
            self.at.pop();
            match (outcome, target) {
                (MergeOutcome::Unchanged, _) | (MergeOutcome::Removed, None) => {}
                (MergeOutcome::Set(value), Some(_)) => {
                    current[index] = Some(value);
                    changed = true;
                }
                (MergeOutcome::Removed, Some(_)) => {
                    current[index] = None;
                    changed = true;
                }
                (MergeOutcome::Set(value), None) => {
                    let mut exists = false;
                    for other in current.iter().flatten() {
                        self.steps.count()?;
                        exists |= *other == value;
                    }
                    if !exists {
                        current.push(Some(value));
                        changed = true;
                    }
                }
            }
        }
        Ok(if changed {
            MergeOutcome::Set(current.into_iter().flatten().collect::<Vec<_>>().into())
        } else {
            MergeOutcome::Unchanged
        })
    }

    /// Merges a list of scalars without duplicates: those of the patch first.
    fn merge_set(
        &self,
        base: Option<&[Value]>,
        elements: &[PatchElement<'_>],
    ) -> Result<MergeOutcome, PatchError> {
        let mut rest = Vec::with_capacity(elements.len());
        let mut base = base;
        for PatchElement { patch, .. } in elements {
            match patch.only_directive() {
                Some("replace") => base = None,
                Some("delete") if base.is_some() => return Ok(MergeOutcome::Removed),
                Some("merge" | "delete") => {}
                Some(_) => return Err(PatchError::UnknownStrategy { at: self.at.clone() }),
                None => rest.push(patch.to_value()),
            }
        }
        let mut result = Vec::new();
        let mut named: IndexSet<Text, RandomState> = IndexSet::default();
        for value in rest {
            let Some(text) = self.set_key(&value) else {
                let (expected, found) = (NodeKind::Scalar, NodeKind::of(&value));
                return Err(PatchError::WrongKind { expected, found, at: self.at.clone() });
            };
            if named.insert(text) {
                result.push(value);
            }
        }
        let mut seen: IndexSet<Text, RandomState> = IndexSet::default();
        for value in base.unwrap_or_default() {
            let text = self.set_key(value).unwrap_or_else(|| value.to_json().into());
            if !named.contains(&text)
                && (seen.insert(text) || self.tracker.documented(Divergence::DuplicateMergeKey))
            {
                result.push(value.clone());
            }
        }
        let same = base.is_some_and(|base| base == result);
        Ok(if same { MergeOutcome::Unchanged } else { MergeOutcome::Set(Value::array(result)) })
    }

    /// The text that identifies an element of a set; built-in sets contain scalars only.
    fn set_key(&self, value: &Value) -> Option<Text> {
        match scalar_text(value) {
            Some(text) => Some(text.as_ref().into()),
            None => self.custom.then(|| value.to_json().into()),
        }
    }
}

/// Merges a scalar of the patch into a scalar or nothing; `None` if one of them is something else.
fn merge_scalars(base: Option<&Value>, patch: PatchNode<'_>) -> Option<MergeOutcome> {
    let is_scalar = |value: &&Value| matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_));
    let patch = patch.value().filter(is_scalar)?;
    match base {
        None | Some(Value::Null) => Some(MergeOutcome::Set(patch.clone())),
        Some(base) => Some(base).filter(is_scalar).map(|base| merge_scalar(Some(base), patch)),
    }
}

/// Merges a scalar. A string of the object stays a string, as labels have to.
fn merge_scalar(base: Option<&Value>, patch: &Value) -> MergeOutcome {
    let text = match base {
        Some(Value::String(_)) if patch.as_str().is_none() => scalar_text(patch),
        _ => None,
    };
    let value = text.map_or_else(|| patch.clone(), |text| Value::from(text.as_ref()));
    let same = match (base, &value) {
        (Some(Value::Number(before)), Value::Number(after)) => before.to_string() == after.to_string(),
        (Some(before), after) => before == after,
        (None, _) => false,
    };
    if same { MergeOutcome::Unchanged } else { MergeOutcome::Set(value) }
}

/// Whether a value contains a `$patch` directive.
fn contains_directive(value: &Value) -> bool {
    any_node(None, value, &|key, node| key.is_some_and(|key| &**key == "$patch") && node.as_str().is_some())
}

/// A value without its `$patch` directives; `None` if it is to be deleted.
fn without_directives(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            if members.get("$patch").and_then(Value::as_str) == Some("delete") {
                return None;
            }
            let kept = members.iter().filter(|(key, value)| &***key != "$patch" || value.as_str().is_none());
            Some(kept.filter_map(|(key, value)| Some((key.clone(), without_directives(value)?))).collect())
        }
        Value::Array(items) => {
            let only = |item: &&Value| PatchNode::Value(item).only_directive().is_none();
            Some(items.iter().filter(only).filter_map(without_directives).collect::<Vec<_>>().into())
        }
        scalar => Some(scalar.clone()),
    }
}
