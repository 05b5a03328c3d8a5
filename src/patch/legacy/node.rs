//! Overlays of the early syntax, prepared.

use crate::value::{Map, Pointer, Text, Value};

use crate::patch::PatchError;
use crate::patch::strategic::anchor::Anchor;

use super::LegacyReading;
use super::test::Test;

/// One node of an overlay.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) shape: Shape,
    /// Whether a condition stands in it or below it, outside of what is only added.
    pub(super) conditioned: bool,
}

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Leaf(Value),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One member of a map.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key as written.
    pub(super) raw: Text,
    /// The key without its anchor.
    pub(super) name: Text,
    pub(super) role: Role,
}

/// What a member asks for.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// To be there.
    Plain(Node),
    /// To be there where there is nothing.
    Add(Node),
    /// To be tested.
    Condition(Condition),
}

/// The value of a condition.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) value: Value,
    pub(super) test: Test,
    /// What a map means for each element where the object has a list: its plain members are conditions, its
    /// add anchors are added.
    pub(super) spread: Option<Box<Node>>,
}

/// What becomes of conditions where an overlay is written as it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conditions {
    LeftOut,
    /// Written without their brackets.
    Written,
}

impl Node {
    /// The node as a value, without anchors.
    pub(super) fn content(&self, conditions: Conditions) -> Value {
        match &self.shape {
            Shape::Leaf(value) => value.clone(),
            Shape::List(elements) => {
                Value::array(elements.iter().map(|element| element.content(conditions)).collect())
            }
            Shape::Map(entries) => {
                let mut members = Map::default();
                for entry in entries {
                    let value = match &entry.role {
                        Role::Plain(node) | Role::Add(node) => node.content(conditions),
                        Role::Condition(condition) if conditions == Conditions::Written => {
                            without_anchors(&condition.value)
                        }
                        Role::Condition(_) => continue,
                    };
                    members.insert(entry.name.clone(), value);
                }
                Value::object(members)
            }
        }
    }

    /// The members, if it is a map.
    pub(super) fn entries(&self) -> &[Entry] {
        if let Shape::Map(entries) = &self.shape { entries } else { &[] }
    }

    /// Whether it is a list without elements.
    pub(super) fn is_empty_list(&self) -> bool {
        matches!(&self.shape, Shape::List(elements) if elements.is_empty())
    }

    /// Whether an element says by a scalar of its own which one it is.
    pub(super) fn has_identity(&self) -> bool {
        self.entries()
            .iter()
            .any(|entry| matches!(&entry.role, Role::Plain(Self { shape: Shape::Leaf(_), .. })))
    }

    /// Whether it asks for something to be there.
    pub(super) fn asks_for_presence(&self) -> bool {
        self.entries().iter().any(|entry| matches!(entry.role, Role::Plain(_)))
    }

    pub(super) fn empty_lists(&self, at: &mut Pointer, found: &mut Vec<Pointer>) {
        match &self.shape {
            Shape::Leaf(_) => {}
            Shape::List(elements) => {
                if elements.is_empty() {
                    found.push(at.clone());
                }
                for (index, element) in elements.iter().enumerate() {
                    at.push_index(index);
                    element.empty_lists(at, found);
                    at.pop();
                }
            }
            Shape::Map(entries) => {
                for entry in entries {
                    if let Role::Plain(node) | Role::Add(node) = &entry.role {
                        at.push_key(entry.raw.clone());
                        node.empty_lists(at, found);
                        at.pop();
                    }
                }
            }
        }
    }
}

/// Prepares overlays, of which it knows the way from the root.
pub(super) struct OverlayBuilder {
    tracker: LegacyReading,
    at: Pointer,
}

impl OverlayBuilder {
    pub(super) const fn new(tracker: LegacyReading) -> Self {
        Self { tracker, at: Pointer::ROOT }
    }

    pub(super) fn build(&mut self, value: &Value) -> Result<Node, PatchError> {
        match value {
            Value::Null if self.tracker == LegacyReading::Documented => {
                Err(PatchError::NullInOverlay { at: self.at.clone() })
            }
            Value::Object(members) => {
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members.iter() {
                    self.at.push_key(raw.clone());
                    entries.push(self.entry(raw, member)?);
                    self.at.pop();
                }
                let conditioned = entries.iter().any(|entry| match &entry.role {
                    Role::Plain(node) => node.conditioned,
                    Role::Add(_) => false,
                    Role::Condition(_) => true,
                });
                Ok(Node { shape: Shape::Map(entries), conditioned })
            }
            Value::Array(items) => {
                let mut elements = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    elements.push(self.build(item)?);
                    self.at.pop();
                }
                let conditioned = elements.iter().any(|element| element.conditioned);
                Ok(Node { shape: Shape::List(elements), conditioned })
            }
            leaf => Ok(Node { shape: Shape::Leaf(leaf.clone()), conditioned: false }),
        }
    }

    fn entry(&mut self, raw: &Text, value: &Value) -> Result<Entry, PatchError> {
        let foreign = || PatchError::ForeignAnchor { key: raw.to_string(), at: self.at.parent() };
        let (name, role) = match Anchor::parse(raw) {
            Some(_) if raw.trim().len() != raw.len() => {
                return Err(PatchError::BlankAnchor { key: raw.to_string(), at: self.at.parent() });
            }
            Some((Anchor::Condition, name)) => (name.into(), Role::Condition(self.condition(value)?)),
            Some((Anchor::Add, name)) => (name.into(), Role::Add(self.build(value)?)),
            Some((Anchor::Global | Anchor::Equality | Anchor::Existence | Anchor::Negation, _)) => {
                return Err(foreign());
            }
            None if is_signed(raw) => return Err(foreign()),
            None => (raw.clone(), Role::Plain(self.build(value)?)),
        };
        Ok(Entry { raw: raw.clone(), name, role })
    }

    fn condition(&mut self, value: &Value) -> Result<Condition, PatchError> {
        let spread = match value.as_object() {
            Some(members) => {
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members {
                    self.at.push_key(raw.clone());
                    let (name, role) = match Anchor::parse(raw) {
                        Some((Anchor::Add, name)) => (name, Role::Add(self.build(member)?)),
                        Some((_, name)) => (name, Role::Condition(self.condition(member)?)),
                        None => (&**raw, Role::Condition(self.condition(member)?)),
                    };
                    entries.push(Entry { raw: raw.clone(), name: name.into(), role });
                    self.at.pop();
                }
                let conditioned = entries.iter().any(|entry| matches!(entry.role, Role::Condition(_)));
                Some(Box::new(Node { shape: Shape::Map(entries), conditioned }))
            }
            None => None,
        };
        Ok(Condition { test: Test::prepare(value), value: value.clone(), spread })
    }
}

/// Whether a key is a sign and a name in brackets, though not one of an anchor that patches know.
fn is_signed(key: &str) -> bool {
    let mut characters = key.chars();
    characters.next().is_some_and(|sign| sign != '(')
        && characters
            .as_str()
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .is_some_and(|name| !name.is_empty())
}

/// The name of a key, whatever its anchor.
pub(super) fn plain_name(key: &Text) -> Text {
    match Anchor::parse(key) {
        Some((Anchor::Condition | Anchor::Add, name)) => name.into(),
        _ => key.clone(),
    }
}

fn without_anchors(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().map(|(key, member)| (plain_name(key), without_anchors(member))).collect()
        }
        Value::Array(items) => Value::array(items.iter().map(without_anchors).collect()),
        leaf => leaf.clone(),
    }
}
