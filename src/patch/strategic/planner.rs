//! From an overlay with anchors to a plain patch, as the documentation has it.
//!
//! Conditions are only tests. Every element of a list is planned for on its own, and what is planned for
//! it is addressed to its place, so that no element is lost whatever its keys are.

use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Pointer, Value};

use super::condition::{Evidence, Miss, Probe, Steps, Test};
use super::keyed::Keys;
use super::overlay::{FailedCondition, InlineResolver};
use super::plan::{Item, Plan, PlannedList, Plans, Target, assembled, identity, without_name};
use super::schema::{Position, Strategy};
use super::tree::{Condition, Entry, Role, Shape, Tree};
use crate::patch::{NodeKind, PatchError};

/// Why there is no plan.
#[derive(Debug)]
pub(super) enum Stop {
    /// A condition does not hold. The evidence is left out where nobody would see it.
    Condition(Option<Box<FailedCondition>>),
    /// A global condition does not hold.
    Global(Box<FailedCondition>),
    /// The patch cannot be applied.
    Error(PatchError),
}

impl From<PatchError> for Stop {
    fn from(error: PatchError) -> Self {
        Self::Error(error)
    }
}

/// Whether a value that is written removes members.
fn removes(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(_, member)| member.is_null() || removes(member)),
        Value::Array(items) => items.iter().any(removes),
        _ => false,
    }
}

/// Makes a plan; knows where it stands in the overlay and in the object.
pub(super) struct Planner<'a> {
    pub(super) tracker: &'a DivergenceTracker,
    pub(super) inline: Option<&'a dyn InlineResolver>,
    pub(super) steps: Steps,
    pub(super) overlay: Pointer,
    pub(super) at: Pointer,
    /// Inside an anchored element: a failed condition passes over the element.
    pub(super) in_element: bool,
    /// Inside an anchored element of a list of several: Kyverno shares its work between them.
    pub(super) shared: bool,
}

/// Whether what an element adds is missing in all elements of the object, or in none: then it does not matter that
/// Kyverno shares its work between them.
fn adds_agree(element: &Tree, found: &[Value]) -> bool {
    fn agree<'v>(tree: &Tree, found: &[Option<&'v Value>]) -> bool {
        if !tree.traits.adding {
            return true;
        }
        let Shape::Map { entries, .. } = &tree.shape else { return false };
        entries.iter().all(|entry| {
            let member = |one: Option<&'v Value>| one.and_then(|one| one.get(&entry.name));
            let members = found.iter().map(|one| member(*one));
            match &entry.role {
                Role::Plain(tree) if !tree.traits.adding => true,
                Role::Plain(tree) => agree(tree, &members.collect::<Vec<_>>()),
                Role::Add(tree) => {
                    let is_there: Vec<bool> = members.map(|member| member.is_some()).collect();
                    !tree.traits.anchored && is_there.windows(2).all(|pair| pair[0] == pair[1])
                }
                Role::Condition(condition) => condition.adds.is_none(),
            }
        })
    }
    agree(element, &found.iter().map(Some).collect::<Vec<_>>())
}

type Planned = Result<Option<Plan>, Stop>;

/// A list that finds something else in its place.
fn wrong_kind(found: &Value, at: &Pointer) -> PatchError {
    PatchError::WrongKind { expected: NodeKind::Sequence, found: NodeKind::of(found), at: at.clone() }
}

impl Planner<'_> {
    /// The plan for a node; none where nothing is left to do.
    pub(super) fn plan(&mut self, tree: &Tree, base: Option<&Value>, position: Position<'_>) -> Planned {
        if !tree.traits.anchored && self.inline.is_none() {
            self.notice(tree);
            return Ok(Some(Plan::Value(tree.value.clone())));
        }
        match &tree.shape {
            Shape::Leaf => {
                self.notice(tree);
                let value = self.resolved(&tree.value, base)?;
                Ok(Some(Plan::Value(value.unwrap_or_else(|| tree.value.clone()))))
            }
            // In-line leaves may stand anywhere.
            Shape::Plain => {
                let tree = tree.spread()?;
                self.plan(&tree, base, position)
            }
            Shape::List(elements) => self.list(tree, elements, base, position),
            Shape::Map { entries, order } => self.map(tree, entries, order, base, position),
        }
    }

    /// Marks what Kyverno reads differently in a node that is taken as it stands.
    fn notice(&self, tree: &Tree) {
        if tree.traits.empty_map {
            self.tracker.reach(Divergence::EmptyMap);
        }
        if tree.traits.anchor_text {
            self.tracker.reach(Divergence::AnchorShapedText);
        }
    }

    /// The value of an in-line leaf.
    fn resolved(&self, leaf: &Value, base: Option<&Value>) -> Result<Option<Value>, PatchError> {
        let (Some(inline), Value::String(_)) = (self.inline, leaf) else { return Ok(None) };
        let Some(value) = inline.resolve(&self.overlay, &self.at, base) else { return Ok(None) };
        if self.at != self.overlay {
            self.tracker.reach(Divergence::InlineElement);
        }
        value.map(Some).map_err(|message| PatchError::Inline { message, at: self.at.clone() })
    }

    fn map(
        &mut self,
        tree: &Tree,
        entries: &[Entry],
        order: &[usize],
        base: Option<&Value>,
        position: Position<'_>,
    ) -> Planned {
        if entries.is_empty() {
            self.notice(tree);
            return Ok(Some(Plan::Value(tree.value.clone())));
        }
        let member = |entry: &Entry| base.and_then(|base| base.get(&entry.name));
        for global in [true, false] {
            for entry in order.iter().map(|index| &entries[*index]) {
                if let Role::Condition(condition) = &entry.role
                    && condition.global == global
                {
                    self.within(entry, |this| this.condition(entry, condition, member(entry)))?;
                }
            }
        }
        let mut plans = Plans::new(entries, order, tree.traits.repeated);
        for index in order {
            self.steps.count()?;
            let entry = &entries[*index];
            let plan = self.member(entry, member(entry), position)?;
            plans.take(*index, plan);
        }
        Ok(plans.assembled())
    }

    /// The plan for a member of a map.
    fn member(&mut self, entry: &Entry, found: Option<&Value>, position: Position<'_>) -> Planned {
        match &entry.role {
            // What is known without a look further down.
            Role::Plain(tree)
                if matches!(tree.shape, Shape::Leaf)
                    && self.inline.is_none()
                    && (found.is_some() || !entry.gives_way) =>
            {
                self.notice(tree);
                return Ok(Some(Plan::Value(tree.value.clone())));
            }
            Role::Add(_) if found.is_some() && !self.shared => return Ok(None),
            Role::Condition(Condition { adds: None, .. }) => return Ok(None),
            _ => {}
        }
        let place = position.member(&entry.name);
        self.within(entry, |this| match (&entry.role, found) {
            (Role::Plain(_), None) if entry.gives_way => Ok(None),
            (Role::Plain(tree), member) => {
                if !tree.traits.anchored && this.inline.is_none() {
                    this.lists_fit(&tree.value, member)?;
                }
                this.plan(tree, member, place)
            }
            (Role::Add(tree), member) => {
                if this.shared {
                    this.tracker.reach(Divergence::AddAnchorInList);
                }
                if member.is_some() { Ok(None) } else { this.plan(tree, None, place) }
            }
            (Role::Condition(Condition { adds: Some(tree), .. }), member) => this.adds(tree, member, place),
            (Role::Condition(Condition { adds: None, .. }), _) => Ok(None),
        })
    }

    /// Refuses a list of maps for something that is no list. Beside conditions it is refused where it
    /// stands, before those further on are asked, as it is in a list with anchors.
    fn lists_fit(&mut self, patch: &Value, base: Option<&Value>) -> Result<(), PatchError> {
        match (patch, base) {
            (Value::Object(members), Some(Value::Object(found))) => {
                for (key, member) in members.iter() {
                    self.at.push_key(key.clone());
                    let fits = self.lists_fit(member, found.get(key));
                    self.at.pop();
                    fits?;
                }
                Ok(())
            }
            (Value::Array(items), Some(found))
                if matches!(items.first(), Some(Value::Object(_)))
                    && !matches!(found, Value::Array(_) | Value::Null) =>
            {
                Err(wrong_kind(found, &self.at))
            }
            _ => Ok(()),
        }
    }

    /// Does something one step further down. The way back is always taken: after an element that does
    /// not fit comes the next one.
    fn within<T>(
        &mut self,
        entry: &Entry,
        work: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.overlay.push_key(entry.raw.clone());
        self.at.push_key(entry.name.clone());
        let result = work(self);
        self.overlay.pop();
        self.at.pop();
        result
    }

    fn condition(
        &mut self,
        entry: &Entry,
        condition: &Condition,
        member: Option<&Value>,
    ) -> Result<(), Stop> {
        if condition.adds.is_some() {
            self.tracker.reach(Divergence::ConditionWritten);
        }
        let Some(member) = member else {
            let reason = || (Evidence::default(), format!("key \"{}\" is missing", entry.name));
            return Err(self.failed(condition.global, reason));
        };
        let renewed = match self.inline {
            None => None,
            Some(_) => self.substituted(&condition.value, Some(member))?.as_ref().map(Test::prepare),
        };
        let test = renewed.as_ref().unwrap_or(&condition.test);
        let mut probe = Probe { tracker: self.tracker, steps: &mut self.steps };
        match test.check(member, &mut probe) {
            Ok(()) => {}
            Err(Miss::Error(error)) => return Err(error.into()),
            Err(Miss::Skip(evidence) | Miss::Fail(evidence)) => {
                return Err(self.failed(condition.global, || {
                    let reason = evidence.reason.to_string();
                    (evidence, reason)
                }));
            }
        }
        // What is written over its equal does not show, but for members that null removes; at the top the key is
        // written with its anchor.
        let shows =
            self.overlay.segments().len() <= 1 || condition.value != *member || removes(&condition.value);
        if matches!(condition.value, Value::Object(_) | Value::Array(_)) && shows {
            self.tracker.reach(Divergence::ConditionWritten);
        }
        Ok(())
    }

    /// The value of a condition with its in-line leaves resolved, if it has any.
    fn substituted(&mut self, value: &Value, base: Option<&Value>) -> Result<Option<Value>, PatchError> {
        let mut changed = None;
        match value {
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    self.overlay.push_key(key.clone());
                    self.at.push_key(key.clone());
                    let renewed = self.substituted(member, base.and_then(|base| base.get(key)))?;
                    self.overlay.pop();
                    self.at.pop();
                    if let Some(renewed) = renewed {
                        changed.get_or_insert_with(|| value.clone()).insert(key.clone(), renewed);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.overlay.push_index(index);
                    self.at.push_index(index);
                    let renewed = self.substituted(item, base.and_then(|base| base.at(index)))?;
                    self.overlay.pop();
                    self.at.pop();
                    if let Some(renewed) = renewed
                        && let Some(items) = changed.get_or_insert_with(|| value.clone()).as_array_mut()
                    {
                        items[index] = renewed;
                    }
                }
            }
            leaf => return self.resolved(leaf, base),
        }
        Ok(changed)
    }

    fn failed(&self, global: bool, evidence: impl FnOnce() -> (Evidence, String)) -> Stop {
        if self.in_element && !global {
            return Stop::Condition(None);
        }
        let (evidence, reason) = evidence();
        let failed = Box::new(FailedCondition {
            overlay: self.overlay.clone(),
            at: evidence.pointer(&self.at),
            reason,
            global,
        });
        if global { Stop::Global(failed) } else { Stop::Condition(Some(failed)) }
    }

    /// What the value of a condition adds where it is missing.
    fn adds(&mut self, tree: &Tree, base: Option<&Value>, position: Position<'_>) -> Planned {
        let Shape::Map { entries, .. } = &tree.shape else { return Ok(None) };
        let mut planned = Vec::with_capacity(entries.len());
        for entry in entries {
            let member = base.and_then(|base| base.get(&entry.name));
            let place = position.member(&entry.name);
            planned.push(self.within(entry, |this| match (&entry.role, member) {
                (Role::Add(tree), None) => this.plan(tree, None, place),
                (Role::Plain(tree) | Role::Condition(Condition { adds: Some(tree), .. }), member) => {
                    this.adds(tree, member, place)
                }
                (Role::Add(_), Some(_)) | (Role::Condition(Condition { adds: None, .. }), _) => Ok(None),
            })?);
        }
        Ok(assembled(entries, planned))
    }

    fn list(
        &mut self,
        tree: &Tree,
        elements: &[Tree],
        base: Option<&Value>,
        position: Position<'_>,
    ) -> Planned {
        if elements.is_empty() {
            return Ok(Some(Plan::Value(tree.value.clone())));
        }
        let of_maps = elements.first().is_some_and(Tree::is_map);
        let found = match base {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) => items.as_slice(),
            Some(other) if of_maps => return Err(wrong_kind(other, &self.at).into()),
            Some(_) => &[],
        };
        let mut items = Vec::new();
        let mut chosen = Vec::new();
        for (index, element) in elements.iter().enumerate() {
            if element.traits.anchor_text {
                self.tracker.reach(Divergence::AnchorShapedText);
            }
            self.overlay.push_index(index);
            let taken = if !element.traits.anchored {
                let plan = self.plain_element(element, index, found, position);
                plan.map(|plan| items.extend(plan.map(|plan| Item { target: None, plan })))
            } else if of_maps {
                self.anchored_element(element, base, found, position, &mut chosen)
            } else {
                Ok(())
            };
            self.overlay.pop();
            taken?;
        }
        if elements.iter().filter(|element| element.traits.anchored).count() > 1 {
            self.tracker.reach(Divergence::AnchoredElements);
        }
        self.mark_chosen(elements, position, &chosen);
        items.append(&mut chosen);
        if items.is_empty() {
            return Ok(None);
        }
        Ok(Some(Plan::List(PlannedList { items, edits: of_maps && tree.traits.anchored_list })))
    }

    /// An element without anchors; only in-line leaves need to know its counterpart.
    fn plain_element(
        &mut self,
        element: &Tree,
        index: usize,
        found: &[Value],
        position: Position<'_>,
    ) -> Planned {
        let mut counterpart = Some(index);
        if self.inline.is_some()
            && let Strategy::Keys(keys) = position.strategy()
        {
            counterpart = Keys::new(&keys).counterpart(&element.value, found);
        }
        self.at.push_index(counterpart.unwrap_or(found.len()));
        let base = counterpart.and_then(|index| found.get(index));
        let plan = self.plan(element, base, position.element());
        self.at.pop();
        plan
    }

    /// An element with anchors, for each element of the object that it fits.
    fn anchored_element(
        &mut self,
        element: &Tree,
        base: Option<&Value>,
        found: &[Value],
        position: Position<'_>,
        chosen: &mut Vec<Item>,
    ) -> Result<(), Stop> {
        let place = position.element();
        let (in_element, shared) = (self.in_element, self.shared);
        self.in_element = true;
        self.shared = shared || (found.len() > 1 && !adds_agree(element, found));
        let global = element.traits.global;
        let mut passed = false;
        let mut failed = None;
        if found.is_empty() {
            // Nothing to choose from: only a global condition has something to say.
            match self.plan(element, None, place) {
                Ok(_) | Err(Stop::Condition(_)) => {}
                Err(Stop::Global(evidence)) => {
                    if base.is_some() {
                        self.tracker.reach(Divergence::EmptyListGlobal);
                    }
                    let reason = if base.is_some() { "list is empty" } else { "list is missing" };
                    failed = Some(Box::new(FailedCondition {
                        at: self.at.clone(),
                        reason: reason.into(),
                        ..*evidence
                    }));
                }
                Err(error @ Stop::Error(_)) => return Err(error),
            }
        }
        for (index, candidate) in found.iter().enumerate() {
            self.steps.count()?;
            self.at.push_index(index);
            let planned = self.plan(element, Some(candidate), place);
            self.at.pop();
            match planned {
                Ok(plan) => {
                    passed = true;
                    if global && plan.is_some() {
                        self.tracker.reach(Divergence::BesideGlobal);
                    }
                    chosen.extend(plan.map(|plan| Item {
                        target: Some(Target { index, identity: identity(candidate, position) }),
                        plan: without_name(plan, candidate),
                    }));
                }
                Err(Stop::Condition(_)) => {}
                Err(Stop::Global(evidence)) => {
                    failed.get_or_insert(evidence);
                }
                Err(error @ Stop::Error(_)) => return Err(error),
            }
        }
        // Kyverno passes over elements without a name, so that nothing leaks to or from them.
        let named = |candidate: &&Value| candidate.get("name").is_some_and(|name| !name.is_null());
        if element.traits.anchored_list && found.iter().filter(named).nth(1).is_some() {
            self.tracker.reach(Divergence::ElementLeak);
        }
        (self.in_element, self.shared) = (in_element, shared);
        match failed {
            Some(evidence) if !passed => Err(Stop::Global(evidence)),
            _ => Ok(()),
        }
    }

    /// Marks where Kyverno, which knows elements by their name alone, does something else.
    fn mark_chosen(&self, elements: &[Tree], position: Position<'_>, chosen: &[Item]) {
        let keys = match position.strategy() {
            Strategy::Keys(keys) => keys,
            Strategy::Replace | Strategy::Set => {
                if elements.iter().any(|element| element.traits.anchored) {
                    self.tracker.reach(Divergence::ListWithoutMergeKey);
                }
                return;
            }
        };
        let by_name = keys.first().is_none_or(|primary| *primary == "name");
        if chosen.iter().any(|item| !by_name || !item.has_name()) {
            self.tracker.reach(Divergence::ListWithoutMergeKey);
        }
    }
}
