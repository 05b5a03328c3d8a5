//! Overlays as their documentation says: all conditions are tested on the object as it is, then the rest is
//! applied.

use std::borrow::Cow;

use crate::patch::PatchError;
use crate::patch::strategic::keyed::key_text;
use crate::patch::strategic::schema::{Position, Strategy};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::node::{Condition, Conditions, Entry, Node, Role, Shape};
use super::test::is_list_of_maps;
use super::{Place, Stop};

/// One overlay on one object.
pub(super) struct Documented<'a> {
    tracker: &'a DivergenceTracker,
    place: Place,
}

impl<'a> Documented<'a> {
    pub(super) fn new(tracker: &'a DivergenceTracker) -> Self {
        Self { tracker, place: Place::default() }
    }

    pub(super) fn run(&mut self, root: &Node, base: &Value, position: Position<'_>) -> Result<Value, Stop> {
        self.meet(root, Some(base))?;
        let mut after = base.clone();
        self.apply(root, Some(base), &mut after, position)?;
        Ok(after)
    }

    /// Tests the conditions of a node and below it.
    fn meet(&mut self, node: &Node, base: Option<&Value>) -> Result<(), Stop> {
        if !node.conditioned {
            return Ok(());
        }
        self.place.steps.count()?;
        match (&node.shape, base) {
            (Shape::Leaf(_), _) => Ok(()),
            // A map over a list speaks of its elements.
            (Shape::Map(_), Some(Value::Array(items))) if is_list_of_maps(items) => self.some(node, items),
            (Shape::Map(entries), base) => self.meet_map(entries, base),
            (Shape::List(elements), Some(Value::Array(items))) => {
                for (index, element) in elements.iter().enumerate().filter(|(_, one)| one.conditioned) {
                    self.place.overlay.push_index(index);
                    let met = self.some(element, items);
                    self.place.overlay.pop();
                    met?;
                }
                Ok(())
            }
            (Shape::List(_), None) => Err(self.place.unmet(|| "the list is missing".into())),
            (Shape::List(_), Some(_)) => Err(self.place.unmet(|| "value is no list".into())),
        }
    }

    fn meet_map(&mut self, entries: &[Entry], base: Option<&Value>) -> Result<(), Stop> {
        let member = |entry: &Entry| base.and_then(|base| base.get(&entry.name));
        for entry in entries {
            if let Role::Condition(condition) = &entry.role {
                self.place.enter(entry);
                let met = self.condition(entry, condition, member(entry));
                self.place.leave();
                met?;
            }
        }
        for entry in entries {
            if let Role::Plain(node) = &entry.role
                && node.conditioned
            {
                self.place.enter(entry);
                let met = self.meet(node, member(entry));
                self.place.leave();
                met?;
            }
        }
        Ok(())
    }

    fn condition(
        &mut self,
        entry: &Entry,
        condition: &Condition,
        member: Option<&Value>,
    ) -> Result<(), Stop> {
        let Some(member) = member else {
            return Err(self.place.unmet(|| format!("key \"{}\" is missing", entry.name)));
        };
        match (&condition.spread, member) {
            (Some(spread), Value::Array(items)) if is_list_of_maps(items) => self.some(spread, items),
            _ => condition.test.check(member, &mut self.place),
        }
    }

    /// Some element of a list meets the conditions of an element of the overlay.
    fn some(&mut self, element: &Node, items: &[Value]) -> Result<(), Stop> {
        if let [only] = items {
            self.place.at.push_index(0);
            let met = self.meet(element, Some(only));
            self.place.at.pop();
            return met;
        }
        for item in items {
            if self.selects(element, item)? {
                return Ok(());
            }
        }
        let reason = if items.is_empty() { "the list is empty" } else { "no element fits the conditions" };
        Err(self.place.unmet(|| reason.into()))
    }

    /// Whether an element of the object meets the conditions of one of the overlay.
    fn selects(&mut self, element: &Node, item: &Value) -> Result<bool, Stop> {
        self.place.steps.count()?;
        self.place.trials += 1;
        let met = self.meet(element, Some(item));
        self.place.trials -= 1;
        match met {
            Ok(()) => Ok(true),
            Err(Stop::Unmet(_)) => Ok(false),
            Err(error @ Stop::Error(_)) => Err(error),
        }
    }

    /// Applies a node to what is there. `base` is the same node of the object as it was, if it was there.
    fn apply(
        &mut self,
        node: &Node,
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), Stop> {
        self.place.steps.count()?;
        match (&node.shape, &mut *work) {
            (Shape::Leaf(value), _) => *work = value.clone(),
            (Shape::Map(entries), Value::Object(_)) => self.apply_map(entries, base, work, position)?,
            (Shape::Map(_), Value::Array(items)) if is_list_of_maps(items) => {
                self.spread(node, base, work, position)?;
            }
            (Shape::List(elements), Value::Array(_)) => self.apply_list(elements, base, work, position)?,
            (Shape::List(elements), _) if elements.is_empty() => {}
            (Shape::Map(_) | Shape::List(_), _) => *work = node.content(Conditions::LeftOut),
        }
        Ok(())
    }

    fn apply_map(
        &mut self,
        entries: &[Entry],
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), Stop> {
        for entry in entries {
            let base = base.and_then(|base| base.get(&entry.name));
            let present = work.get(&entry.name).is_some();
            let place = position.member(&entry.name);
            match &entry.role {
                Role::Plain(node) if node.is_empty_list() && !present => {}
                Role::Plain(node) | Role::Add(node) if !present => {
                    self.place.steps.count()?;
                    work.insert(entry.name.clone(), node.content(Conditions::LeftOut));
                }
                Role::Plain(node) => {
                    if let Some(member) = work.as_object_mut().and_then(|work| work.get_mut(&entry.name)) {
                        self.apply(node, base, member, place)?;
                    }
                }
                Role::Add(_) => {}
                Role::Condition(Condition { spread: Some(spread), .. }) => {
                    if let Some(member) = work.as_object_mut().and_then(|work| work.get_mut(&entry.name))
                        && member.as_array().is_some_and(is_list_of_maps)
                    {
                        self.spread(spread, base, member, place)?;
                    }
                }
                Role::Condition(_) => {}
            }
        }
        Ok(())
    }

    /// Applies a map to the elements of a list.
    fn spread(
        &mut self,
        node: &Node,
        base: Option<&Value>,
        work: &mut Value,
        position: Position<'_>,
    ) -> Result<(), Stop> {
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
    ) -> Result<(), Stop> {
        let originals = base.and_then(Value::as_array).unwrap_or_default();
        let Some(items) = work.as_array_mut() else { return Ok(()) };
        let inside = position.element();
        for element in elements {
            let is_map = matches!(element.shape, Shape::Map(_));
            if is_map && (element.conditioned || !element.has_identity()) {
                if originals.is_empty() {
                    // What only adds to elements adds none.
                    if element.asks_for_presence() {
                        items.push(element.content(Conditions::LeftOut));
                    }
                    continue;
                }
                for (item, original) in items.iter_mut().zip(originals) {
                    let taken = if element.conditioned {
                        self.selects(element, original)?
                    } else {
                        original.as_object().is_some()
                    };
                    if taken {
                        self.apply(element, Some(original), item, inside)?;
                    }
                }
            } else {
                self.item(element, originals, items, position)?;
            }
        }
        Ok(())
    }

    /// Adds an element that is not there, or brings the one that has its keys up to it.
    fn item(
        &mut self,
        element: &Node,
        originals: &[Value],
        items: &mut Vec<Value>,
        position: Position<'_>,
    ) -> Result<(), Stop> {
        for item in &*items {
            if self.contains(element, item)? {
                return Ok(());
            }
        }
        let content = element.content(Conditions::LeftOut);
        match self.counterpart(&content, items, position)? {
            Some(index) => {
                if let Some(item) = items.get_mut(index) {
                    self.apply(element, originals.get(index), item, position.element())?;
                }
            }
            None => items.push(content),
        }
        Ok(())
    }

    /// Whether an element of the object has everything that one of the overlay asks for.
    fn contains(&mut self, element: &Node, item: &Value) -> Result<bool, PatchError> {
        self.place.steps.count()?;
        match (&element.shape, item) {
            (Shape::Leaf(value), item) => Ok(value == item),
            (Shape::List(_), item) => Ok(element.content(Conditions::LeftOut) == *item),
            (Shape::Map(entries), Value::Object(members)) => {
                for entry in entries {
                    let member = members.get(&entry.name);
                    let has = match (&entry.role, member) {
                        (Role::Plain(node), Some(member)) => self.contains(node, member)?,
                        (Role::Plain(_) | Role::Add(_), None) => false,
                        (Role::Add(_), Some(_)) | (Role::Condition(_), _) => true,
                    };
                    if !has {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            (Shape::Map(_), _) => Ok(false),
        }
    }

    /// The element that has the keys of another one: those that the kind of the object gives, else `name`.
    fn counterpart(
        &mut self,
        element: &Value,
        items: &[Value],
        position: Position<'_>,
    ) -> Result<Option<usize>, PatchError> {
        let keys = match position.strategy() {
            Strategy::Keys(keys) => keys,
            Strategy::Replace | Strategy::Set => Cow::Borrowed(&["name"][..]),
        };
        let Some((primary, others)) = keys.split_first() else { return Ok(None) };
        let Some(wanted) = text_of(element, primary) else { return Ok(None) };
        for (index, item) in items.iter().enumerate() {
            self.place.steps.count()?;
            let agrees = |key: &&str| match (text_of(element, key), text_of(item, key)) {
                (Some(a), Some(b)) => a == b,
                _ => true,
            };
            if text_of(item, primary).as_ref() == Some(&wanted) && others.iter().all(agrees) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }
}

/// The text of a key; an absent protocol is the default of the API.
fn text_of<'v>(element: &'v Value, key: &str) -> Option<Cow<'v, str>> {
    let text = element.get(key).and_then(key_text);
    text.or_else(|| (key == "protocol").then_some(Cow::Borrowed("TCP")))
}
