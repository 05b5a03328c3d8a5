//! Overlays as the engine of the time handled them.

use crate::patch::{MissingPart, OperationKind, PatchError};
use crate::pattern::LeafPattern;
use crate::value::{Segment, Value};

use super::node::{Conditions, Entry, Node, Role, Shape, plain_name};
use super::{Place, Stop};

/// One overlay on one object.
#[derive(Default)]
pub(super) struct Native {
    place: Place,
}

impl Native {
    pub(super) fn run(&mut self, root: &Node, base: &Value) -> Result<Value, Stop> {
        self.meet(root, Some(base))?;
        let mut after = base.clone();
        self.apply(root, &mut after)?;
        Ok(after)
    }

    fn meet(&mut self, node: &Node, base: Option<&Value>) -> Result<(), Stop> {
        if !node.conditioned {
            return Ok(());
        }
        self.place.steps.count()?;
        match (&node.shape, base) {
            (Shape::Map(entries), Some(Value::Object(_))) => self.meet_map(entries, base),
            (Shape::List(elements), Some(Value::Array(items))) => {
                // Any element of the overlay and any of the object will do for the whole list.
                let single = elements.len() == 1 && items.len() == 1;
                for (index, element) in elements.iter().enumerate() {
                    self.place.overlay.push_index(index);
                    for (number, item) in items.iter().enumerate() {
                        self.place.at.push_index(number);
                        self.place.trials += usize::from(!single);
                        let met = self.meet(element, Some(item));
                        self.place.trials -= usize::from(!single);
                        self.place.at.pop();
                        match met {
                            Err(Stop::Unmet(_)) if !single => {}
                            decided => {
                                self.place.overlay.pop();
                                return decided;
                            }
                        }
                    }
                    self.place.overlay.pop();
                }
                Err(self.place.unmet(|| "no element fits the conditions".into()))
            }
            (Shape::Leaf(_), _) => Ok(()),
            (_, None) => Err(self.place.unmet(|| "there is nothing".into())),
            (_, Some(_)) => Err(self.place.unmet(|| "value is of another type".into())),
        }
    }

    fn meet_map(&mut self, entries: &[Entry], base: Option<&Value>) -> Result<(), Stop> {
        for conditions in [true, false] {
            for entry in entries {
                let member = base.and_then(|base| base.get(&entry.name));
                self.place.enter(entry);
                let met = match (&entry.role, member) {
                    (Role::Condition(_), None) if conditions => {
                        Err(self.place.unmet(|| format!("key \"{}\" is missing", entry.name)))
                    }
                    (Role::Condition(condition), Some(member)) if conditions => {
                        match self.fits(&condition.value, member) {
                            Ok(true) => Ok(()),
                            Ok(false) => Err(self.place.unmet(|| "value does not match the pattern".into())),
                            Err(error) => Err(error.into()),
                        }
                    }
                    (Role::Plain(node), member) if !conditions => self.meet(node, member),
                    _ => Ok(()),
                };
                self.place.leave();
                met?;
            }
        }
        Ok(())
    }

    /// Whether a value has the type of a pattern and fits it. Numbers were of different types always.
    fn fits(&mut self, pattern: &Value, value: &Value) -> Result<bool, PatchError> {
        self.place.steps.count()?;
        Ok(match (pattern, value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(pattern), Value::String(text)) => {
                LeafPattern::text(pattern.clone()).matches_text(text)
            }
            (Value::Object(wanted), Value::Object(found)) => {
                for (key, pattern) in wanted.iter() {
                    let fits = match found.get(&plain_name(key)) {
                        Some(value) => self.fits(pattern, value)?,
                        None => false,
                    };
                    if !fits {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Array(wanted), Value::Array(found)) => {
                for pattern in wanted.iter() {
                    for value in found.iter() {
                        if !self.fits(pattern, value)? {
                            return Ok(false);
                        }
                    }
                }
                true
            }
            _ => false,
        })
    }

    fn apply(&mut self, node: &Node, work: &mut Value) -> Result<(), Stop> {
        self.place.steps.count()?;
        match (&node.shape, &mut *work) {
            (Shape::Leaf(value), found) => {
                if value.is_null() {
                    return Err(PatchError::NullOverValue { at: self.place.at.clone() }.into());
                }
                if matches!(found, Value::Object(_) | Value::Array(_)) {
                    return Err(self.crash());
                }
                if *value != *found {
                    self.reach()?;
                    *work = value.clone();
                }
                Ok(())
            }
            (Shape::Map(entries), Value::Object(_)) => {
                for entry in entries {
                    self.place.enter(entry);
                    let applied = self.member(entry, work);
                    self.place.leave();
                    applied?;
                }
                Ok(())
            }
            (Shape::List(elements), Value::Array(_)) => self.list(node, elements, work),
            (Shape::Map(_) | Shape::List(_), _) => Err(self.crash()),
        }
    }

    fn member(&mut self, entry: &Entry, work: &mut Value) -> Result<(), Stop> {
        let present = work.get(&entry.name).is_some();
        match &entry.role {
            Role::Condition(_) => Ok(()),
            Role::Add(_) if present => Ok(()),
            Role::Plain(node) if present => {
                match work.as_object_mut().and_then(|members| members.get_mut(&entry.name)) {
                    Some(member) => self.apply(node, member),
                    None => Ok(()),
                }
            }
            Role::Plain(node) | Role::Add(node) => {
                self.reach()?;
                work.insert(entry.name.clone(), node.content(Conditions::Written));
                Ok(())
            }
        }
    }

    fn list(&mut self, node: &Node, elements: &[Node], work: &mut Value) -> Result<(), Stop> {
        let Some(first) = elements.first() else {
            return Err(PatchError::EmptyListInOverlay { at: self.place.at.clone() }.into());
        };
        self.reach()?;
        let Some(items) = work.as_array_mut() else { return Ok(()) };
        let Some(found) = items.first() else {
            *work = node.content(Conditions::Written);
            return Ok(());
        };
        if first.content(Conditions::Written).type_name() != found.type_name() {
            return Err(PatchError::ElementTypes { at: self.place.at.clone() }.into());
        }
        for (index, element) in elements.iter().enumerate() {
            self.place.steps.count()?;
            if !element.conditioned {
                items.push(element.content(Conditions::Written));
                continue;
            }
            self.place.overlay.push_index(index);
            for (number, item) in items.iter_mut().enumerate() {
                self.place.at.push_index(number);
                let applied = self.apply(element, item);
                self.place.at.pop();
                applied?;
            }
            self.place.overlay.pop();
        }
        Ok(())
    }

    fn crash(&self) -> Stop {
        PatchError::LegacyCrash { at: self.place.at.clone() }.into()
    }

    /// Slashes in keys were escaped in annotations alone: elsewhere the patch for such a key led nowhere.
    fn reach(&self) -> Result<(), PatchError> {
        let steps = self.place.at.segments();
        let is_split = |step: &Segment| matches!(step, Segment::Key(key) if key.contains('/'));
        let Some(split) = steps.iter().position(is_split) else { return Ok(()) };
        let parent = split.checked_sub(1).and_then(|parent| steps.get(parent));
        if matches!(parent, Some(Segment::Key(key)) if &**key == "annotations") {
            return Ok(());
        }
        Err(PatchError::Missing {
            kind: OperationKind::Add,
            part: MissingPart::Path,
            path: format!("/{}", steps.iter().map(name).collect::<Vec<_>>().join("/")),
        })
    }
}

fn name(step: &Segment) -> String {
    match step {
        Segment::Key(key) => key.to_string(),
        Segment::Index(index) => index.to_string(),
    }
}
