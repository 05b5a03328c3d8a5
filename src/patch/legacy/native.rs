//! Legacy overlays as Kyverno 1.1.0 applied them.

use crate::patch::cursor::Cursor;
use crate::patch::outcome::OverlayError;
use crate::patch::{MissingPart, OperationKind, PatchError};
use crate::pattern::LeafPattern;
use crate::value::{Segment, Value};

use super::matcher::plain_name;
use super::node::{Conditions, Entry, EntryKind, Node, Shape};

/// One overlay on one object.
#[derive(Default)]
pub(super) struct Native {
    cursor: Cursor,
}

impl Native {
    pub(super) fn run(&mut self, root: &Node, base: &Value) -> Result<Value, OverlayError> {
        self.check_conditions(root, Some(base))?;
        let mut after = base.clone();
        self.apply(root, &mut after)?;
        Ok(after)
    }

    fn check_conditions(&mut self, node: &Node, base: Option<&Value>) -> Result<(), OverlayError> {
        if !node.conditioned {
            return Ok(());
        }
        self.cursor.steps.count()?;
        match (&node.shape, base) {
            (Shape::Map(entries), Some(Value::Object(_))) => self.check_map_conditions(entries, base),
            (Shape::List(elements), Some(Value::Array(items))) => {
                // One matching pair of an overlay element and an object element is enough for the whole list.
                let single = elements.len() == 1 && items.len() == 1;
                for (index, element) in elements.iter().enumerate() {
                    self.cursor.overlay.push_index(index);
                    for (number, item) in items.iter().enumerate() {
                        self.cursor.at.push_index(number);
                        let in_element = self.cursor.in_element;
                        self.cursor.in_element |= !single;
                        let checked = self.check_conditions(element, Some(item));
                        self.cursor.in_element = in_element;
                        self.cursor.at.pop();
                        match checked {
                            Err(OverlayError::Condition(_)) if !single => {}
                            result => {
                                self.cursor.overlay.pop();
                                return result;
                            }
                        }
                    }
                    self.cursor.overlay.pop();
                }
                Err(self.cursor.not_met(|| "no element matches the conditions".into()))
            }
            (Shape::Leaf(_), _) => Ok(()),
            (_, None) => Err(self.cursor.not_met(|| "there is nothing".into())),
            (_, Some(_)) => Err(self.cursor.not_met(|| "value is of another type".into())),
        }
    }

    fn check_map_conditions(&mut self, entries: &[Entry], base: Option<&Value>) -> Result<(), OverlayError> {
        for conditions in [true, false] {
            for entry in entries {
                let member = base.and_then(|base| base.get(&entry.name));
                self.cursor.enter(entry.raw.clone(), entry.name.clone());
                let checked = match (&entry.kind, member) {
                    (EntryKind::Condition(_), None) if conditions => {
                        Err(self.cursor.not_met(|| format!("key \"{}\" is missing", entry.name)))
                    }
                    (EntryKind::Condition(condition), Some(member)) if conditions => {
                        match self.matches(&condition.value, member) {
                            Ok(true) => Ok(()),
                            Ok(false) => {
                                Err(self.cursor.not_met(|| "value does not match the pattern".into()))
                            }
                            Err(error) => Err(error.into()),
                        }
                    }
                    (EntryKind::Plain(node), member) if !conditions => self.check_conditions(node, member),
                    _ => Ok(()),
                };
                self.cursor.leave();
                checked?;
            }
        }
        Ok(())
    }

    /// Whether a value has the type of a pattern and matches it. Numbers never had the same type.
    fn matches(&mut self, pattern: &Value, value: &Value) -> Result<bool, PatchError> {
        self.cursor.steps.count()?;
        Ok(match (pattern, value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::String(pattern), Value::String(text)) => {
                LeafPattern::text(pattern.clone()).matches_text(text)
            }
            (Value::Object(patterns), Value::Object(found)) => {
                for (key, pattern) in patterns.iter() {
                    let matches = match found.get(&plain_name(key)) {
                        Some(value) => self.matches(pattern, value)?,
                        None => false,
                    };
                    if !matches {
                        return Ok(false);
                    }
                }
                true
            }
            (Value::Array(patterns), Value::Array(found)) => {
                for pattern in patterns.iter() {
                    for value in found.iter() {
                        if !self.matches(pattern, value)? {
                            return Ok(false);
                        }
                    }
                }
                true
            }
            _ => false,
        })
    }

    fn apply(&mut self, node: &Node, work: &mut Value) -> Result<(), OverlayError> {
        self.cursor.steps.count()?;
        match (&node.shape, &mut *work) {
            (Shape::Leaf(value), found) => {
                if value.is_null() {
                    return Err(PatchError::NullOverValue { at: self.cursor.at.clone() }.into());
                }
                if matches!(found, Value::Object(_) | Value::Array(_)) {
                    return Err(self.crash());
                }
                if *value != *found {
                    self.check_path()?;
                    *work = value.clone();
                }
                Ok(())
            }
            (Shape::Map(entries), Value::Object(_)) => {
                for entry in entries {
                    self.cursor.enter(entry.raw.clone(), entry.name.clone());
                    let applied = self.member(entry, work);
                    self.cursor.leave();
                    applied?;
                }
                Ok(())
            }
            (Shape::List(elements), Value::Array(_)) => self.list(node, elements, work),
            (Shape::Map(_) | Shape::List(_), _) => Err(self.crash()),
        }
    }

    fn member(&mut self, entry: &Entry, work: &mut Value) -> Result<(), OverlayError> {
        let present = work.get(&entry.name).is_some();
        match &entry.kind {
            EntryKind::Condition(_) => Ok(()),
            EntryKind::Add(_) if present => Ok(()),
            EntryKind::Plain(node) if present => {
                match work.as_object_mut().and_then(|members| members.get_mut(&entry.name)) {
                    Some(member) => self.apply(node, member),
                    None => Ok(()),
                }
            }
            EntryKind::Plain(node) | EntryKind::Add(node) => {
                self.check_path()?;
                work.insert(entry.name.clone(), node.content(Conditions::Written));
                Ok(())
            }
        }
    }

    fn list(&mut self, node: &Node, elements: &[Node], work: &mut Value) -> Result<(), OverlayError> {
        let Some(first) = elements.first() else {
            return Err(PatchError::EmptyListInOverlay { at: self.cursor.at.clone() }.into());
        };
        self.check_path()?;
        let Some(items) = work.as_array_mut() else { return Ok(()) };
        let Some(found) = items.first() else {
            *work = node.content(Conditions::Written);
            return Ok(());
        };
        if first.content(Conditions::Written).type_name() != found.type_name() {
            return Err(PatchError::ElementTypes { at: self.cursor.at.clone() }.into());
        }
        for (index, element) in elements.iter().enumerate() {
            self.cursor.steps.count()?;
            if !element.conditioned {
                items.push(element.content(Conditions::Written));
                continue;
            }
            self.cursor.overlay.push_index(index);
            for (number, item) in items.iter_mut().enumerate() {
                self.cursor.at.push_index(number);
                let applied = self.apply(element, item);
                self.cursor.at.pop();
                applied?;
            }
            self.cursor.overlay.pop();
        }
        Ok(())
    }

    fn crash(&self) -> OverlayError {
        PatchError::LegacyCrash { at: self.cursor.at.clone() }.into()
    }

    /// Refuses paths with a slash in a key outside of annotations, which Kyverno 1.1 did not escape.
    fn check_path(&self) -> Result<(), PatchError> {
        let segments = self.cursor.at.segments();
        let has_slash = |segment: &Segment| matches!(segment, Segment::Key(key) if key.contains('/'));
        let Some(split) = segments.iter().position(has_slash) else { return Ok(()) };
        let parent = split.checked_sub(1).and_then(|parent| segments.get(parent));
        if matches!(parent, Some(Segment::Key(key)) if &**key == "annotations") {
            return Ok(());
        }
        Err(PatchError::Missing {
            kind: OperationKind::Add,
            part: MissingPart::Path,
            path: format!("/{}", segments.iter().map(name).collect::<Vec<_>>().join("/")),
        })
    }
}

fn name(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => key.to_string(),
        Segment::Index(index) => index.to_string(),
    }
}
