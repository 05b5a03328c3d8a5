//! Legacy overlays as documented: all conditions are tested on the original object, then the rest is applied.

use std::borrow::Cow;

use crate::patch::AnchorOutcomes;
use crate::patch::PatchError;
use crate::patch::cursor::Cursor;
use crate::patch::outcome::OverlayError;
use crate::patch::scalar::key_text;
use crate::patch::strategic::schema::{ListStrategy, Position};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::matcher::is_list_of_maps;
use super::node::{Condition, Conditions, Entry, EntryKind, Node, Shape};

/// One overlay on one object.
pub(super) struct Documented<'a> {
    tracker: &'a DivergenceTracker,
    cursor: Cursor,
    outcomes: Option<AnchorOutcomes>,
}

impl<'a> Documented<'a> {
    pub(super) fn new(tracker: &'a DivergenceTracker) -> Self {
        Self { tracker, cursor: Cursor::default(), outcomes: None }
    }

    /// Which anchors hold, as far as the overlay gets.
    pub(super) fn anchor_outcomes(
        mut self,
        root: &Node,
        base: &Value,
        position: Position<'_>,
    ) -> AnchorOutcomes {
        self.outcomes = Some(AnchorOutcomes::default());
        // An overlay that fails has decided those before.
        let _failed = self.run(root, base, position);
        self.outcomes.unwrap_or_default()
    }

    pub(super) fn run(
        &mut self,
        root: &Node,
        base: &Value,
        position: Position<'_>,
    ) -> Result<Value, OverlayError> {
        self.check_conditions(root, Some(base))?;
        let mut after = base.clone();
        self.apply(root, Some(base), &mut after, position)?;
        Ok(after)
    }

    /// Tests the conditions of a node and its descendants.
    fn check_conditions(&mut self, node: &Node, base: Option<&Value>) -> Result<(), OverlayError> {
        if !node.conditioned {
            return Ok(());
        }
        self.cursor.steps.count()?;
        match (&node.shape, base) {
            (Shape::Leaf(_), _) => Ok(()),
            // A map applies to the elements of a list.
            (Shape::Map(_), Some(Value::Array(items))) if is_list_of_maps(items) => {
                self.check_some(node, items)
            }
            (Shape::Map(entries), base) => self.check_map_conditions(entries, base),
            (Shape::List(elements), Some(Value::Array(items))) => {
                for (index, element) in elements.iter().enumerate().filter(|(_, one)| one.conditioned) {
                    self.cursor.overlay.push_index(index);
                    let checked = self.check_some(element, items);
                    self.cursor.overlay.pop();
                    checked?;
                }
                Ok(())
            }
            (Shape::List(_), None) => Err(self.cursor.not_met(|| "the list is missing".into())),
            (Shape::List(_), Some(_)) => Err(self.cursor.not_met(|| "value is no list".into())),
        }
    }

    fn check_map_conditions(&mut self, entries: &[Entry], base: Option<&Value>) -> Result<(), OverlayError> {
        let member = |entry: &Entry| base.and_then(|base| base.get(&entry.name));
        for conditions in [true, false] {
            for entry in entries {
                self.cursor.enter(entry.raw.clone(), entry.name.clone());
                let checked = match &entry.kind {
                    EntryKind::Condition(condition) if conditions => {
                        let checked = self.condition(entry, condition, member(entry));
                        if let Some(outcomes) = &mut self.outcomes {
                            outcomes.add(&self.cursor.overlay, checked.is_ok());
                        }
                        checked
                    }
                    EntryKind::Plain(node) if !conditions => self.check_conditions(node, member(entry)),
                    _ => Ok(()),
                };
                self.cursor.leave();
                checked?;
            }
        }
        Ok(())
    }

    fn condition(
        &mut self,
        entry: &Entry,
        condition: &Condition,
        member: Option<&Value>,
    ) -> Result<(), OverlayError> {
        let Some(member) = member else {
            return Err(self.cursor.not_met(|| format!("key \"{}\" is missing", entry.name)));
        };
        match (&condition.for_elements, member) {
            (Some(element), Value::Array(items)) if is_list_of_maps(items) => self.check_some(element, items),
            _ => condition.matcher.check(member, &mut self.cursor),
        }
    }

    /// Requires that some element of a list meets the conditions of an element of the overlay.
    fn check_some(&mut self, element: &Node, items: &[Value]) -> Result<(), OverlayError> {
        if let [only] = items {
            self.cursor.at.push_index(0);
            let checked = self.check_conditions(element, Some(only));
            self.cursor.at.pop();
            return checked;
        }
        for item in items {
            if self.selects(element, item)? {
                return Ok(());
            }
        }
        let reason = if items.is_empty() { "the list is empty" } else { "no element matches the conditions" };
        Err(self.cursor.not_met(|| reason.into()))
    }

    /// Whether an element of the object meets the conditions of one of the overlay.
    fn selects(&mut self, element: &Node, item: &Value) -> Result<bool, OverlayError> {
        self.cursor.steps.count()?;
        let in_element = std::mem::replace(&mut self.cursor.in_element, true);
        let checked = self.check_conditions(element, Some(item));
        self.cursor.in_element = in_element;
        OverlayError::selected(checked)
    }

    /// Applies a node to an existing value. `base` is that value in the original object, if it existed.
    fn apply(
        &mut self,
        node: &Node,
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        self.cursor.steps.count()?;
        match (&node.shape, &mut *work) {
            (Shape::Leaf(value), _) => *work = value.clone(),
            (Shape::Map(entries), Value::Object(_)) => self.apply_map(entries, base, work, position)?,
            (Shape::Map(_), Value::Array(items)) if is_list_of_maps(items) => {
                self.apply_to_elements(node, base, work, position)?;
            }
            (Shape::List(elements), Value::Array(_)) => self.apply_list(elements, base, work, position)?,
            (Shape::List(elements), _) if elements.is_empty() => {}
            (Shape::Map(_) | Shape::List(_), _) => {
                *work = node.content(Conditions::Omitted);
                self.note_written(node);
            }
        }
        Ok(())
    }

    fn apply_map(
        &mut self,
        entries: &[Entry],
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        for entry in entries {
            let base = base.and_then(|base| base.get(&entry.name));
            let present = work.get(&entry.name).is_some();
            let position = position.member(&entry.name);
            self.cursor.overlay.push_key(entry.raw.clone());
            if let (EntryKind::Add(_), Some(outcomes)) = (&entry.kind, &mut self.outcomes) {
                outcomes.add(&self.cursor.overlay, !present);
            }
            match &entry.kind {
                EntryKind::Plain(node) if node.is_empty_list() && !present => {}
                EntryKind::Plain(node) | EntryKind::Add(node) if !present => {
                    self.cursor.steps.count()?;
                    work.insert(entry.name.clone(), node.content(Conditions::Omitted));
                    self.note_written(node);
                }
                EntryKind::Plain(node) => {
                    if let Some(member) = work.as_object_mut().and_then(|work| work.get_mut(&entry.name)) {
                        self.apply(node, base, member, position)?;
                    }
                }
                EntryKind::Add(_) => {}
                EntryKind::Condition(Condition { for_elements: Some(element), .. }) => {
                    if let Some(member) = work.as_object_mut().and_then(|work| work.get_mut(&entry.name))
                        && member.as_array().is_some_and(is_list_of_maps)
                    {
                        self.apply_to_elements(element, base, member, position)?;
                    }
                }
                EntryKind::Condition(_) => {}
            }
            self.cursor.overlay.pop();
        }
        Ok(())
    }

    /// Applies a map to the elements of a list.
    fn apply_to_elements(
        &mut self,
        node: &Node,
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        let before = work.clone();
        let originals = base.and_then(Value::as_array).unwrap_or_default();
        if let Some(items) = work.as_array_mut() {
            for (item, original) in items.iter_mut().zip(originals) {
                if self.selects(node, original)? {
                    self.apply(node, Some(original), item, position.element())?;
                }
            }
        }
        if *work != before {
            self.tracker.reach(Divergence::LegacyBroadcast);
        }
        Ok(())
    }

    fn apply_list(
        &mut self,
        elements: &[Node],
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        let originals = base.and_then(Value::as_array).unwrap_or_default();
        let Some(items) = work.as_array_mut() else { return Ok(()) };
        for (index, element) in elements.iter().enumerate() {
            self.cursor.overlay.push_index(index);
            self.apply_element(element, originals, items, position)?;
            self.cursor.overlay.pop();
        }
        Ok(())
    }

    /// Applies an element of an overlay to the elements that it selects, or adds it.
    fn apply_element(
        &mut self,
        element: &Node,
        originals: &[Value],
        items: &mut Vec<Value>,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        let is_map = matches!(element.shape, Shape::Map(_));
        if !is_map || !element.conditioned && element.has_identity() {
            return self.merge_element(element, originals, items, position);
        }
        if originals.is_empty() {
            // An element with add anchors only adds no elements.
            if element.has_plain_member() {
                items.push(element.content(Conditions::Omitted));
                self.note_written(element);
            }
            return Ok(());
        }
        for (item, original) in items.iter_mut().zip(originals) {
            let selected = if element.conditioned {
                self.selects(element, original)?
            } else {
                original.as_object().is_some()
            };
            if selected {
                self.apply(element, Some(original), item, position.element())?;
            }
        }
        Ok(())
    }

    /// Merges an element into the one with the same keys, or adds it.
    fn merge_element(
        &mut self,
        element: &Node,
        originals: &[Value],
        items: &mut Vec<Value>,
        position: Position<'_>,
    ) -> Result<(), OverlayError> {
        for item in &*items {
            if self.contains(element, item)? {
                return Ok(());
            }
        }
        let content = element.content(Conditions::Omitted);
        match self.counterpart(&content, items, position)? {
            Some(index) => {
                if let Some(item) = items.get_mut(index) {
                    self.apply(element, originals.get(index), item, position.element())?;
                }
            }
            None => {
                items.push(content);
                self.note_written(element);
            }
        }
        Ok(())
    }

    /// Records that the fields that a node adds were missing, as it is written whole.
    fn note_written(&mut self, node: &Node) {
        let Some(outcomes) = &mut self.outcomes else { return };
        let mut open = vec![(self.cursor.overlay.clone(), node)];
        while let Some((at, node)) = open.pop() {
            match &node.shape {
                Shape::Leaf(_) => {}
                Shape::List(elements) => {
                    open.extend(elements.iter().enumerate().map(|(index, one)| (at.index(index), one)));
                }
                Shape::Map(entries) => {
                    for entry in entries {
                        let at = at.key(entry.raw.clone());
                        if let EntryKind::Add(_) = entry.kind {
                            outcomes.add(&at, true);
                        }
                        if let EntryKind::Plain(node) | EntryKind::Add(node) = &entry.kind {
                            open.push((at, node));
                        }
                    }
                }
            }
        }
    }

    /// Whether an element of the object contains all of an element of the overlay.
    fn contains(&mut self, element: &Node, item: &Value) -> Result<bool, PatchError> {
        self.cursor.steps.count()?;
        match (&element.shape, item) {
            (Shape::Leaf(value), item) => Ok(value == item),
            (Shape::List(_), item) => Ok(element.content(Conditions::Omitted) == *item),
            (Shape::Map(entries), Value::Object(members)) => {
                for entry in entries {
                    let member = members.get(&entry.name);
                    let contained = match (&entry.kind, member) {
                        (EntryKind::Plain(node), Some(member)) => self.contains(node, member)?,
                        (EntryKind::Plain(_) | EntryKind::Add(_), None) => false,
                        (EntryKind::Add(_), Some(_)) | (EntryKind::Condition(_), _) => true,
                    };
                    if !contained {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Shape::Map(_), _) => Ok(false),
        }
    }

    /// The index of the element with the same merge keys, or the same `name` if the list has none.
    fn counterpart(
        &mut self,
        element: &Value,
        items: &[Value],
        position: Position<'_>,
    ) -> Result<Option<usize>, PatchError> {
        let keys = match position.strategy() {
            ListStrategy::Keys(keys) => keys,
            ListStrategy::Replace | ListStrategy::Set => Cow::Borrowed(&["name"][..]),
        };
        let Some((primary, others)) = keys.split_first() else { return Ok(None) };
        let Some(key) = text_of(element, primary) else { return Ok(None) };
        for (index, item) in items.iter().enumerate() {
            self.cursor.steps.count()?;
            let agrees = |key: &&str| match (text_of(element, key), text_of(item, key)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            if text_of(item, primary).as_ref() == Some(&key) && others.iter().all(agrees) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// The text of a merge key; an absent protocol is the default of the Kubernetes API.
fn text_of<'v>(element: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    let text = element.get(key).and_then(key_text);
    text.or_else(|| (key == "protocol").then_some(Cow::Borrowed("TCP")))
}
