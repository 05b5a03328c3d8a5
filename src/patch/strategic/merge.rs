//! Merging: a plain patch into an object.
//!
//! Both semantics merge alike but for lists that merge by keys and for directives in other lists.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Map, MapIter, Pointer, Text, Value};

use super::condition::{Steps, scalar_text};
use super::observed::normalised;
use super::plan::{Item, Plan, PlannedList, Target};
use super::schema::{Position, Strategy};
use crate::patch::{NodeKind, PatchError};

/// What becomes of a node.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It stays as it is.
    Same,
    /// It becomes this.
    Set(Value),
    /// It goes.
    Gone,
}

/// A node of a plain patch.
#[derive(Clone, Copy, Debug)]
pub(super) enum Patch<'p> {
    Value(&'p Value),
    Plan(&'p Plan),
}

/// An element of a list in a patch: the place it is for, where that is known, and the patch.
pub(super) type Element<'p> = (Option<&'p Target>, Patch<'p>);

/// Merges; knows where it stands in the object.
pub(super) struct Merger<'a> {
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) steps: Steps,
    pub(super) at: Pointer,
    /// Whether the object is a custom resource whose definition is known.
    pub(super) custom: bool,
    /// Whether the map or list around was not there, so that Kyverno merges the patch with itself.
    pub(super) below_new: bool,
}

impl Merger<'_> {
    /// Merges a patch into a whole object.
    pub(super) fn merge_object(
        &mut self,
        base: &Value,
        patch: Patch<'_>,
        position: Position<'_>,
    ) -> Result<Value, PatchError> {
        self.custom = position.is_custom();
        match self.merge(Some(base), patch, position)? {
            Outcome::Same => Ok(base.clone()),
            Outcome::Set(value) => Ok(value),
            Outcome::Gone => Err(PatchError::DeletesObject),
        }
    }

    /// Merges a patch into a node, or into nothing.
    pub(super) fn merge(
        &mut self,
        base: Option<&Value>,
        patch: Patch<'_>,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let base = base.filter(|base| !base.is_null());
        let Some(found) = patch.kind() else { return Ok(Outcome::Gone) };
        if let Some(expected) = base.map(NodeKind::of)
            && expected != found
        {
            return Err(PatchError::WrongKind { expected, found, at: self.at.clone() });
        }
        match found {
            NodeKind::Mapping => self.merge_map(base.and_then(Value::as_object), patch, position),
            NodeKind::Sequence => self.merge_list(base.and_then(Value::as_array), patch, position),
            NodeKind::Scalar => Ok(patch.value().map_or(Outcome::Gone, |patch| scalar(base, patch))),
        }
    }

    fn merge_map(
        &mut self,
        base: Option<&Map>,
        patch: Patch<'_>,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let mut directive = patch.strategy();
        let base = match directive {
            Some("delete") => return Ok(Outcome::Gone),
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
        let mut gone: Option<IndexSet<&Text, RandomState>> = None;
        for (key, member) in patch.members() {
            if directive.is_some() && &**key == "$patch" {
                continue;
            }
            let before = base.and_then(|base| base.get(key));
            let outcome = match member.over_scalar(before) {
                Some(outcome) => outcome,
                None => {
                    self.at.push_key(key.clone());
                    let outcome = self.merge(before, member, position.member(key))?;
                    self.at.pop();
                    outcome
                }
            };
            match outcome {
                Outcome::Same => {}
                Outcome::Set(value) => {
                    let room =
                        || base.map_or_else(Map::default, |base| base.with_room(patch.members().len()));
                    changed.get_or_insert_with(room).insert(key.clone(), value);
                }
                Outcome::Gone if before.is_some() => {
                    gone.get_or_insert_default().insert(key);
                }
                Outcome::Gone => {}
            }
        }
        self.below_new = below_new;
        if let (Some(members), Semantics::Kyverno) = (base, self.tracker.semantics()) {
            for (key, _) in position.fields().iter().filter(|(key, _)| patch.member(key).is_none()) {
                if let Some(before) = members.get(key)
                    && let Some(value) = normalised(before, position.member(key))?
                {
                    changed.get_or_insert_with(|| members.clone()).insert((*key).into(), value);
                }
            }
        }
        if let Some(gone) = gone {
            changed
                .get_or_insert_with(|| base.cloned().unwrap_or_default())
                .retain(|key, _| !gone.contains(key));
        }
        Ok(changed.map_or(Outcome::Same, |members| Outcome::Set(Value::object(members))))
    }

    fn merge_list(
        &mut self,
        base: Option<&[Value]>,
        patch: Patch<'_>,
        position: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let strategy = position.strategy();
        if self.custom && strategy != Strategy::Replace {
            self.tracker.reach(Divergence::SchemaOfTheCluster);
        }
        let place = position.element();
        match strategy {
            Strategy::Keys(keys) => {
                let below_new = std::mem::replace(&mut self.below_new, base.is_none());
                let merged = self.merge_keyed(base, patch.elements(), &keys, place);
                self.below_new = below_new;
                merged
            }
            Strategy::Set => self.merge_set(base, &patch.elements()),
            Strategy::Replace if patch.edits() => self.edit_in_place(base, &patch.elements(), place),
            Strategy::Replace => {
                let mut value = patch.to_value();
                if holds_directive(&value) && self.tracker.documented(Divergence::LiteralPatchElement) {
                    value = stripped(&value).unwrap_or_else(|| Value::array(Vec::new()));
                }
                let same = base.is_some_and(|base| value.as_array() == Some(base));
                Ok(if same { Outcome::Same } else { Outcome::Set(value) })
            }
        }
    }

    /// Edits the chosen elements of a list without merge key where they stand; other elements of the
    /// patch are added unless they are there.
    fn edit_in_place(
        &mut self,
        base: Option<&[Value]>,
        elements: &[Element<'_>],
        place: Position<'_>,
    ) -> Result<Outcome, PatchError> {
        let mut current: Vec<Option<Value>> = base.unwrap_or_default().iter().cloned().map(Some).collect();
        let mut changed = base.is_none();
        for (target, patch) in elements {
            let target = target.filter(|target| target.index < current.len());
            let index = target.map_or(current.len(), |target| target.index);
            self.at.push_index(index);
            let before = current.get(index).and_then(Option::as_ref);
            let outcome = self.merge(before, *patch, place)?;
            self.at.pop();
            match (outcome, target) {
                (Outcome::Same, _) | (Outcome::Gone, None) => {}
                (Outcome::Set(value), Some(_)) => {
                    current[index] = Some(value);
                    changed = true;
                }
                (Outcome::Gone, Some(_)) => {
                    current[index] = None;
                    changed = true;
                }
                (Outcome::Set(value), None) => {
                    let mut there = false;
                    for other in current.iter().flatten() {
                        self.steps.count()?;
                        there |= *other == value;
                    }
                    if !there {
                        current.push(Some(value));
                        changed = true;
                    }
                }
            }
        }
        Ok(if changed {
            Outcome::Set(current.into_iter().flatten().collect::<Vec<_>>().into())
        } else {
            Outcome::Same
        })
    }

    /// Scalars of the patch first, then those that only the object has.
    fn merge_set(&self, base: Option<&[Value]>, elements: &[Element<'_>]) -> Result<Outcome, PatchError> {
        let mut rest = Vec::with_capacity(elements.len());
        let mut base = base;
        for (_, patch) in elements {
            match patch.only_directive() {
                Some("replace") => base = None,
                Some("delete") if base.is_some() => return Ok(Outcome::Gone),
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
        Ok(if same { Outcome::Same } else { Outcome::Set(Value::array(result)) })
    }
}

impl Merger<'_> {
    /// What tells the elements of a set apart; built-in sets hold scalars alone.
    fn set_key(&self, value: &Value) -> Option<Text> {
        match scalar_text(value) {
            Some(text) => Some(text.as_ref().into()),
            None => self.custom.then(|| value.to_json().into()),
        }
    }
}

/// The members of a map of a patch.
enum Members<'p> {
    Value(MapIter<'p>),
    Plan(MapIter<'p, Plan>),
    None,
}

impl<'p> Iterator for Members<'p> {
    type Item = (&'p Text, Patch<'p>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Value(members) => members.next().map(|(key, value)| (key, Patch::Value(value))),
            Self::Plan(members) => members.next().map(|(key, plan)| (key, Patch::Plan(plan))),
            Self::None => None,
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Value(members) => members.size_hint(),
            Self::Plan(members) => members.size_hint(),
            Self::None => (0, Some(0)),
        }
    }
}

impl ExactSizeIterator for Members<'_> {}

impl<'p> Patch<'p> {
    /// A plan that is a plain value is that value.
    const fn value(self) -> Option<&'p Value> {
        match self {
            Self::Value(value) | Self::Plan(Plan::Value(value)) => Some(value),
            Self::Plan(_) => None,
        }
    }

    /// What becomes of a scalar, or of nothing, that is patched with a scalar; none where either is something else.
    fn over_scalar(self, base: Option<&Value>) -> Option<Outcome> {
        let is_scalar =
            |value: &&Value| matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_));
        let patch = self.value().filter(is_scalar)?;
        match base {
            None | Some(Value::Null) => Some(Outcome::Set(patch.clone())),
            Some(base) => Some(base).filter(is_scalar).map(|base| scalar(Some(base), patch)),
        }
    }

    /// The kind of node; none for null.
    pub(super) fn kind(self) -> Option<NodeKind> {
        match (self.value(), self) {
            (Some(Value::Null), _) => None,
            (Some(value), _) => Some(NodeKind::of(value)),
            (None, Self::Plan(Plan::List(_))) => Some(NodeKind::Sequence),
            (None, _) => Some(NodeKind::Mapping),
        }
    }

    /// The members of a map, in written order.
    fn members(self) -> Members<'p> {
        match self {
            Self::Value(Value::Object(members)) | Self::Plan(Plan::Value(Value::Object(members))) => {
                Members::Value(members.iter())
            }
            Self::Plan(Plan::Map(members)) => Members::Plan(members.iter()),
            Self::Value(_) | Self::Plan(_) => Members::None,
        }
    }

    /// A member of a map.
    fn member(self, key: &str) -> Option<Self> {
        match self {
            Self::Plan(Plan::Map(members)) => members.get(key).map(Self::Plan),
            _ => self.value()?.get(key).map(Self::Value),
        }
    }

    /// A member of a map that is no plan of its own.
    pub(super) fn scalar_member(self, key: &str) -> Option<&'p Value> {
        self.member(key)?.value()
    }

    /// The elements of a list.
    pub(super) fn elements(self) -> Vec<Element<'p>> {
        match self {
            Self::Value(Value::Array(items)) | Self::Plan(Plan::Value(Value::Array(items))) => {
                items.iter().map(|item| (None, Self::Value(item))).collect()
            }
            Self::Plan(Plan::List(PlannedList { items, .. })) => {
                items.iter().map(|item| (item.target.as_ref(), Self::Plan(&item.plan))).collect()
            }
            Self::Value(_) | Self::Plan(_) => Vec::new(),
        }
    }

    /// Whether anchors chose elements of this list.
    const fn edits(self) -> bool {
        matches!(self, Self::Plan(Plan::List(PlannedList { edits: true, .. })))
    }

    /// The `$patch` directive of a map.
    pub(super) fn directive(self) -> Option<&'p str> {
        self.scalar_member("$patch")?.as_str()
    }

    /// The `$patch` directive of a map, as the merge of maps takes it: one that is no string is none that it knows.
    fn strategy(self) -> Option<&'p str> {
        let written = self.member("$patch")?;
        Some(written.value().and_then(Value::as_str).unwrap_or_default())
    }

    /// The directive of a map that holds nothing else.
    pub(super) fn only_directive(self) -> Option<&'p str> {
        let directive = self.directive()?;
        (self.members().len() == 1).then_some(directive)
    }

    /// The patch as a value.
    pub(super) fn to_value(self) -> Value {
        match self {
            Self::Value(value) | Self::Plan(Plan::Value(value)) => value.clone(),
            Self::Plan(Plan::Map(members)) => {
                members.iter().map(|(key, plan)| (key.clone(), Self::Plan(plan).to_value())).collect()
            }
            Self::Plan(Plan::List(PlannedList { items, .. })) => {
                let plan = |item: &'p Item| Self::Plan(&item.plan).to_value();
                items.iter().map(plan).collect::<Vec<_>>().into()
            }
        }
    }
}

impl NodeKind {
    /// The kind of a node.
    pub(in crate::patch) const fn of(value: &Value) -> Self {
        match value {
            Value::Object(_) => Self::Mapping,
            Value::Array(_) => Self::Sequence,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::Scalar,
        }
    }
}

/// A string stays a string whatever the patch writes over it, as labels have to.
fn scalar(base: Option<&Value>, patch: &Value) -> Outcome {
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
    if same { Outcome::Same } else { Outcome::Set(value) }
}

/// Whether a value holds a `$patch` directive somewhere.
fn holds_directive(value: &Value) -> bool {
    match value {
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| (&**key == "$patch" && value.as_str().is_some()) || holds_directive(value)),
        Value::Array(items) => items.iter().any(holds_directive),
        _ => false,
    }
}

/// A value without its directives; none where it was to be deleted.
fn stripped(value: &Value) -> Option<Value> {
    match value {
        Value::Object(members) => {
            if members.get("$patch").and_then(Value::as_str) == Some("delete") {
                return None;
            }
            let kept = members.iter().filter(|(key, value)| &***key != "$patch" || value.as_str().is_none());
            Some(kept.filter_map(|(key, value)| Some((key.clone(), stripped(value)?))).collect())
        }
        Value::Array(items) => {
            let only = |item: &&Value| Patch::Value(item).only_directive().is_none();
            Some(items.iter().filter(only).filter_map(stripped).collect::<Vec<_>>().into())
        }
        scalar => Some(scalar.clone()),
    }
}
