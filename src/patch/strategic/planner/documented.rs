//! The planner that follows Kyverno's documentation.
//!
//! Conditions are only tests. Each selected element of a list gets its own plan, addressed by index, so that no
//! element is lost whatever its keys are.

use std::sync::Arc;

use crate::patch::cursor::Cursor;
use crate::patch::outcome::OverlayError;
use crate::patch::strategic::anchor_outcomes::AnchorOutcomes;
use crate::patch::strategic::any_node;
use crate::patch::strategic::builder::expanded;
use crate::patch::strategic::keys::MergeKeys;
use crate::patch::strategic::matcher::{AddAnchors, MatchContext, Matcher, Mismatch};
use crate::patch::strategic::node::{Condition, Entry, EntryKind, MapShape, OverlayNode, Shape};
use crate::patch::strategic::schema::{ListStrategy, Position};
use crate::patch::{FailedCondition, InlineResolver, PatchError};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::elements;
use super::plan::{MemberPlans, Plan, PlannedElement, PlannedList, assemble, without_name};

/// Plans one overlay for one object.
pub(in crate::patch::strategic) struct DocumentedPlanner<'a> {
    tracker: &'a DivergenceTracker,
    inline: Option<&'a dyn InlineResolver>,
    cursor: Cursor,
    /// Inside an anchored element for a list of several, for all of which Kyverno uses one copy of the element.
    shared: bool,
    /// The anchors so far, if they are wanted.
    outcomes: Option<AnchorOutcomes>,
}

/// Whether what an element adds is missing in all elements of the object or in none: then it does not matter that
/// Kyverno uses one copy of the element for all.
fn adds_agree(element: &OverlayNode, found: &[Value]) -> bool {
    fn agree<'v>(node: &OverlayNode, found: &[Option<&'v Value>]) -> bool {
        if !node.features.adding {
            return true;
        }
        let Shape::Map(map) = &node.shape else { return false };
        map.entries.iter().all(|entry| {
            let member = |one: Option<&'v Value>| one.and_then(|one| one.get(&entry.name));
            let members = found.iter().map(|one| member(*one));
            match &entry.kind {
                EntryKind::Plain(node) if !node.features.adding => true,
                EntryKind::Plain(node) => agree(node, &members.collect::<Vec<_>>()),
                EntryKind::Add(node) => {
                    let present: Vec<bool> = members.map(|member| member.is_some()).collect();
                    !node.features.anchored && present.windows(2).all(|pair| pair[0] == pair[1])
                }
                EntryKind::Condition(condition) => condition.adds.is_none(),
            }
        })
    }
    agree(element, &found.iter().map(Some).collect::<Vec<_>>())
}

type PlanResult = Result<Option<Plan>, OverlayError>;

impl<'a> DocumentedPlanner<'a> {
    #[inline]
    pub(in crate::patch::strategic) fn new(
        tracker: &'a DivergenceTracker,
        inline: Option<&'a dyn InlineResolver>,
    ) -> Self {
        Self { tracker, inline, cursor: Cursor::default(), shared: false, outcomes: None }
    }

    /// Which anchors hold, as far as the plan gets.
    pub(in crate::patch::strategic) fn anchor_outcomes(
        mut self,
        node: &OverlayNode,
        base: &Value,
        position: Position<'_>,
    ) -> AnchorOutcomes {
        self.outcomes = Some(AnchorOutcomes::default());
        // A plan that fails has decided those before.
        let _failed = self.plan(node, Some(base), position);
        self.outcomes.unwrap_or_default()
    }

    /// Records whether the anchor at the cursor holds.
    fn decided(&mut self, is_held: bool) {
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.add(&self.cursor.overlay, is_held);
        }
    }

    /// The steps so far.
    pub(in crate::patch::strategic) const fn steps(&self) -> usize {
        self.cursor.steps.taken()
    }

    /// The plan for a node; `None` if there is nothing to do.
    pub(in crate::patch::strategic) fn plan(
        &mut self,
        node: &OverlayNode,
        base: Option<&Value>,
        position: Position<'_>,
    ) -> PlanResult {
        if !node.features.anchored && self.inline.is_none() {
            self.mark_plain(node);
            return Ok(Some(Plan::Value(node.value.clone())));
        }
        match &node.shape {
            Shape::Leaf => {
                self.mark_plain(node);
                let value = self.resolved(&node.value, base)?;
                Ok(Some(Plan::Value(value.unwrap_or_else(|| node.value.clone()))))
            }
            // References to the replaced value may be anywhere below.
            Shape::Plain => self.plan(&expanded(node)?, base, position),
            Shape::List(elements) => self.list(node, elements, base, position),
            Shape::Map(map) => self.map(node, map, base, position),
        }
    }

    /// Records what Kyverno treats differently in a node that is merged as written.
    fn mark_plain(&self, node: &OverlayNode) {
        if node.features.empty_map {
            self.tracker.reach(Divergence::EmptyMap);
        }
        if node.features.anchor_text {
            self.tracker.reach(Divergence::AnchorShapedText);
        }
    }

    /// The value of a leaf that refers to the value it replaces.
    fn resolved(&self, leaf: &Value, base: Option<&Value>) -> Result<Option<Value>, PatchError> {
        let (Some(inline), Value::String(_)) = (self.inline, leaf) else { return Ok(None) };
        let Some(value) = inline.resolve(&self.cursor.overlay, &self.cursor.at, base) else {
            return Ok(None);
        };
        if self.cursor.at != self.cursor.overlay {
            self.tracker.reach(Divergence::InlineElement);
        }
        value.map(Some).map_err(|error| PatchError::Inline { error, at: self.cursor.at.clone() })
    }

    /// Records an add anchor, given the member of the object.
    fn decide_add(&mut self, entry: &Entry, member: Option<&Value>) {
        if let (EntryKind::Add(_), Some(outcomes)) = (&entry.kind, &mut self.outcomes) {
            outcomes.add(&self.cursor.overlay.key(entry.raw.clone()), member.is_none());
        }
    }

    fn map(
        &mut self,
        node: &OverlayNode,
        MapShape { entries, order }: &MapShape,
        base: Option<&Value>,
        position: Position<'_>,
    ) -> PlanResult {
        if entries.is_empty() {
            self.mark_plain(node);
            return Ok(Some(Plan::Value(node.value.clone())));
        }
        let member = |entry: &Entry| base.and_then(|base| base.get(&entry.name));
        for global in [true, false] {
            for entry in order.iter().map(|index| &entries[*index]) {
                if let EntryKind::Condition(condition) = &entry.kind
                    && condition.global == global
                {
                    self.within(entry, |this| {
                        let tested = this.condition(entry, condition, member(entry));
                        if !matches!(tested, Err(OverlayError::Patch(_))) {
                            this.decided(tested.is_ok());
                        }
                        tested
                    })?;
                }
            }
        }
        let mut plans = MemberPlans::new(entries, order, node.features.repeated);
        for index in order {
            self.cursor.steps.count()?;
            let entry = &entries[*index];
            let plan = self.member(entry, member(entry), position)?;
            plans.set(*index, plan);
        }
        Ok(plans.assemble())
    }

    /// The plan for a member of a map.
    fn member(&mut self, entry: &Entry, found: Option<&Value>, position: Position<'_>) -> PlanResult {
        self.decide_add(entry, found);
        match &entry.kind {
            // Fast paths.
            EntryKind::Plain(node)
                if matches!(node.shape, Shape::Leaf)
                    && self.inline.is_none()
                    && (found.is_some() || !entry.yields_to_add) =>
            {
                self.mark_plain(node);
                return Ok(Some(Plan::Value(node.value.clone())));
            }
            EntryKind::Add(_) if found.is_some() && !self.shared => return Ok(None),
            EntryKind::Condition(Condition { adds: None, .. }) => return Ok(None),
            _ => {}
        }
        let place = position.member(&entry.name);
        self.within(entry, |this| match (&entry.kind, found) {
            (EntryKind::Plain(_), None) if entry.yields_to_add => Ok(None),
            (EntryKind::Plain(node), member) => {
                if !node.features.anchored && this.inline.is_none() {
                    this.check_lists(&node.value, member)?;
                }
                this.plan(node, member, place)
            }
            (EntryKind::Add(node), member) => {
                if this.shared {
                    this.tracker.reach(Divergence::AddAnchorInList);
                }
                if member.is_some() { Ok(None) } else { this.plan(node, None, place) }
            }
            (EntryKind::Condition(Condition { adds: Some(node), .. }), member) => {
                this.adds(node, member, place)
            }
            (EntryKind::Condition(Condition { adds: None, .. }), _) => Ok(None),
        })
    }

    /// Refuses a list of maps for something that is not a list. It is refused before later conditions are tested, as
    /// it is for lists with anchors.
    fn check_lists(&mut self, patch: &Value, base: Option<&Value>) -> Result<(), PatchError> {
        match (patch, base) {
            (Value::Object(members), Some(Value::Object(found))) => {
                for (key, member) in members.iter() {
                    self.cursor.at.push_key(key.clone());
                    let checked = self.check_lists(member, found.get(key));
                    self.cursor.at.pop();
                    checked?;
                }
                Ok(())
            }
            (Value::Array(items), found) if matches!(items.first(), Some(Value::Object(_))) => {
                elements(found, &self.cursor.at).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Runs `work` one level down. The paths are restored after errors too, because the next element may match.
    fn within<T>(
        &mut self,
        entry: &Entry,
        work: impl FnOnce(&mut Self) -> Result<T, OverlayError>,
    ) -> Result<T, OverlayError> {
        self.cursor.enter(entry.raw.clone(), entry.name.clone());
        let result = work(self);
        self.cursor.leave();
        result
    }

    fn condition(
        &mut self,
        entry: &Entry,
        condition: &Condition,
        member: Option<&Value>,
    ) -> Result<(), OverlayError> {
        if condition.adds.is_some() {
            self.tracker.reach(Divergence::ConditionWritten);
        }
        let Some(member) = member else {
            let detail = || (self.cursor.at.clone(), format!("key \"{}\" is missing", entry.name));
            return Err(self.cursor.failed(condition.global, detail));
        };
        let resolved = match self.inline {
            None => None,
            Some(_) => self
                .substituted(&condition.value, Some(member))?
                .map(|value| Matcher::compile(&value, AddAnchors::Omit)),
        };
        let matcher = resolved.as_ref().unwrap_or(&condition.matcher);
        let mut context = MatchContext { tracker: self.tracker, steps: &mut self.cursor.steps };
        if let Some(outcomes) = &mut self.outcomes {
            matcher.record(member, &mut self.cursor.overlay.clone(), &mut context, outcomes);
        }
        match matcher.check(member, &mut context) {
            Ok(()) => {}
            Err(Mismatch::Error(error)) => return Err(error.into()),
            Err(Mismatch::Skip(detail) | Mismatch::Fail(detail)) => {
                let detail = || (detail.pointer(&self.cursor.at), detail.reason.to_string());
                return Err(self.cursor.failed(condition.global, detail));
            }
        }
        // Kyverno writes the value of the condition. This is visible unless the value is equal and removes no members
        // by null; at the top the key is written with its anchor.
        let visible = self.cursor.overlay.segments().len() <= 1
            || condition.value != *member
            || any_node(None, &condition.value, &|key, node| key.is_some() && node.is_null());
        if matches!(condition.value, Value::Object(_) | Value::Array(_)) && visible {
            self.tracker.reach(Divergence::ConditionWritten);
        }
        Ok(())
    }

    /// The value of a condition with its references to replaced values resolved, if it has any.
    fn substituted(&mut self, value: &Value, base: Option<&Value>) -> Result<Option<Value>, PatchError> {
        let mut changed = None;
        match value {
            Value::Object(members) => {
                for (key, member) in members.iter() {
                    self.cursor.enter(key.clone(), key.clone());
                    let resolved = self.substituted(member, base.and_then(|base| base.get(key)))?;
                    self.cursor.leave();
                    if let Some(resolved) = resolved {
                        changed.get_or_insert_with(|| value.clone()).insert(key.clone(), resolved);
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.cursor.overlay.push_index(index);
                    self.cursor.at.push_index(index);
                    let resolved = self.substituted(item, base.and_then(|base| base.at(index)))?;
                    self.cursor.leave();
                    if let Some(resolved) = resolved
                        && let Some(items) = changed.get_or_insert_with(|| value.clone()).as_array_mut()
                    {
                        items[index] = resolved;
                    }
                }
            }
            leaf => return self.resolved(leaf, base),
        }
        Ok(changed)
    }

    /// The plan for the add anchors in the value of a condition.
    fn adds(&mut self, node: &OverlayNode, base: Option<&Value>, position: Position<'_>) -> PlanResult {
        let Shape::Map(map) = &node.shape else { return Ok(None) };
        let entries = &map.entries;
        let mut plans = Vec::with_capacity(entries.len());
        for entry in entries {
            let member = base.and_then(|base| base.get(&entry.name));
            let place = position.member(&entry.name);
            self.decide_add(entry, member);
            plans.push(self.within(entry, |this| match (&entry.kind, member) {
                (EntryKind::Add(node), None) => this.plan(node, None, place),
                (EntryKind::Plain(node), member) => this.adds(node, member, place),
                (EntryKind::Condition(Condition { adds: Some(node), .. }), member) => {
                    this.adds(node, member, place)
                }
                (EntryKind::Add(_), Some(_)) | (EntryKind::Condition(Condition { adds: None, .. }), _) => {
                    Ok(None)
                }
            })?);
        }
        Ok(assemble(entries, plans))
    }

    fn list(
        &mut self,
        node: &OverlayNode,
        overlay: &[OverlayNode],
        base: Option<&Value>,
        position: Position<'_>,
    ) -> PlanResult {
        if overlay.is_empty() {
            return Ok(Some(Plan::Value(node.value.clone())));
        }
        let of_maps = overlay.first().is_some_and(OverlayNode::is_map);
        let found = match elements(base, &self.cursor.at) {
            Err(error) if of_maps => return Err(error.into()),
            found => found.unwrap_or_default(),
        };
        let mut planned = Vec::new();
        let mut selected = Vec::new();
        for (index, element) in overlay.iter().enumerate() {
            if element.features.anchor_text {
                self.tracker.reach(Divergence::AnchorShapedText);
            }
            self.cursor.overlay.push_index(index);
            let result = if !element.features.anchored {
                let plan = self.plain_element(element, index, found, position);
                plan.map(|plan| {
                    planned.extend(plan.map(|plan| PlannedElement { target: None, plan: Arc::new(plan) }));
                })
            } else if of_maps {
                self.anchored_element(element, base, found, position, &mut selected)
            } else {
                Ok(())
            };
            self.cursor.overlay.pop();
            result?;
        }
        if overlay.iter().filter(|element| element.features.anchored).count() > 1 {
            self.tracker.reach(Divergence::AnchoredElements);
        }
        self.mark_selected(overlay, position, &selected);
        planned.append(&mut selected);
        if planned.is_empty() {
            return Ok(None);
        }
        Ok(Some(Plan::List(PlannedList { elements: planned, edits: of_maps && node.features.anchored_list })))
    }

    /// The plan for an element without anchors. Its counterpart in the object is needed for references to replaced
    /// values only.
    fn plain_element(
        &mut self,
        element: &OverlayNode,
        index: usize,
        found: &[Value],
        position: Position<'_>,
    ) -> PlanResult {
        let mut counterpart = Some(index);
        if self.inline.is_some()
            && let ListStrategy::Keys(keys) = position.strategy()
        {
            counterpart = MergeKeys::new(&keys).counterpart(&element.value, found);
        }
        self.cursor.at.push_index(counterpart.unwrap_or(found.len()));
        let base = counterpart.and_then(|index| found.get(index));
        let plan = self.plan(element, base, position.element());
        self.cursor.at.pop();
        plan
    }

    /// Plans an element with anchors for each element of the object that it matches.
    fn anchored_element(
        &mut self,
        element: &OverlayNode,
        base: Option<&Value>,
        found: &[Value],
        position: Position<'_>,
        selected: &mut Vec<PlannedElement>,
    ) -> Result<(), OverlayError> {
        let place = position.element();
        let (in_element, shared) = (self.cursor.in_element, self.shared);
        self.cursor.in_element = true;
        self.shared = shared || (found.len() > 1 && !adds_agree(element, found));
        let global = element.features.global;
        let mut matched = false;
        let mut failed = None;
        if found.is_empty() {
            // There is no element to select; only a global anchor has an effect.
            let outcomes = self.outcomes.take();
            let planned = self.plan(element, None, place);
            self.outcomes = outcomes;
            match planned {
                Ok(_) | Err(OverlayError::Condition(_)) => {}
                Err(OverlayError::Global(detail)) => {
                    if let Some(outcomes) = &mut self.outcomes {
                        outcomes.add(&detail.overlay, false);
                    }
                    if base.is_some() {
                        self.tracker.reach(Divergence::EmptyListGlobal);
                    }
                    let reason = if base.is_some() { "list is empty" } else { "list is missing" };
                    failed = Some(Box::new(FailedCondition {
                        at: self.cursor.at.clone(),
                        reason: reason.into(),
                        ..*detail
                    }));
                }
                Err(error @ OverlayError::Patch(_)) => return Err(error),
            }
        }
        for (index, candidate) in found.iter().enumerate() {
            self.cursor.steps.count()?;
            self.cursor.at.push_index(index);
            let planned = self.plan(element, Some(candidate), place);
            self.cursor.at.pop();
            match planned {
                Ok(plan) => {
                    matched = true;
                    if global && plan.is_some() {
                        self.tracker.reach(Divergence::BesideGlobal);
                    }
                    if let Some(plan) = plan {
                        let plan = without_name(plan, candidate);
                        selected.push(PlannedElement::selected(index, candidate, plan, selected));
                    }
                }
                Err(OverlayError::Condition(_)) => {}
                Err(OverlayError::Global(detail)) => {
                    failed.get_or_insert(detail);
                }
                Err(error @ OverlayError::Patch(_)) => return Err(error),
            }
        }
        // Kyverno skips elements without a name, so that nothing leaks to or from them.
        let named = |candidate: &&Value| candidate.get("name").is_some_and(|name| !name.is_null());
        if element.features.anchored_list && found.iter().filter(named).nth(1).is_some() {
            self.tracker.reach(Divergence::ElementLeak);
        }
        (self.cursor.in_element, self.shared) = (in_element, shared);
        match failed {
            Some(detail) if !matched => Err(OverlayError::Global(detail)),
            _ => Ok(()),
        }
    }

    /// Records where Kyverno, which identifies elements by name only, behaves differently.
    fn mark_selected(&self, elements: &[OverlayNode], position: Position<'_>, selected: &[PlannedElement]) {
        let keys = match position.strategy() {
            ListStrategy::Keys(keys) => keys,
            ListStrategy::Replace | ListStrategy::Set => {
                if elements.iter().any(|element| element.features.anchored) {
                    self.tracker.reach(Divergence::ListWithoutMergeKey);
                }
                return;
            }
        };
        let by_name = keys.first().is_none_or(|primary| *primary == "name");
        if selected.iter().any(|element| !by_name || !element.has_name()) {
            self.tracker.reach(Divergence::ListWithoutMergeKey);
        }
    }
}
