//! Compiled legacy overlays, as a tree.

use crate::patch::PatchError;
use crate::patch::strategic::anchor::Anchor;
use crate::value::{Map, Pointer, Text, Value};

use super::LegacyBehavior;
use super::matcher::{Matcher, plain_name};

/// One node of an overlay.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) shape: Shape,
    /// Whether it or a descendant is a condition, add anchors aside.
    pub(super) conditioned: bool,
}

/// The structure of a node.
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
    pub(super) kind: EntryKind,
}

/// What a member of a map does.
#[derive(Clone, Debug)]
pub(super) enum EntryKind {
    /// It is set.
    Plain(Node),
    /// It is set if the key is missing.
    Add(Node),
    /// It is tested.
    Condition(Condition),
}

/// A condition.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) value: Value,
    pub(super) matcher: Matcher,
    /// A map applied to each element if the object has a list: its plain members are conditions, its add anchors are
    /// added.
    pub(super) for_elements: Option<Box<Node>>,
}

/// How the content of an overlay includes conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Conditions {
    Omitted,
    /// Written without their anchor.
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
                    let value = match &entry.kind {
                        EntryKind::Plain(node) | EntryKind::Add(node) => node.content(conditions),
                        EntryKind::Condition(condition) if conditions == Conditions::Written => {
                            without_anchors(&condition.value)
                        }
                        EntryKind::Condition(_) => continue,
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

    /// Whether it is an empty list.
    pub(super) fn is_empty_list(&self) -> bool {
        matches!(&self.shape, Shape::List(elements) if elements.is_empty())
    }

    /// Whether an element has a plain scalar member, which identifies it.
    pub(super) fn has_identity(&self) -> bool {
        self.entries()
            .iter()
            .any(|entry| matches!(&entry.kind, EntryKind::Plain(Self { shape: Shape::Leaf(_), .. })))
    }

    /// Whether it has a plain member.
    pub(super) fn has_plain_member(&self) -> bool {
        self.entries().iter().any(|entry| matches!(entry.kind, EntryKind::Plain(_)))
    }

    /// Collects the paths of empty lists.
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
                    if let EntryKind::Plain(node) | EntryKind::Add(node) = &entry.kind {
                        at.push_key(entry.raw.clone());
                        node.empty_lists(at, found);
                        at.pop();
                    }
                }
            }
        }
    }
}

/// Compiles overlays; keeps track of the path from the root.
pub(super) struct OverlayBuilder {
    behavior: LegacyBehavior,
    at: Pointer,
}

impl OverlayBuilder {
    pub(super) const fn new(behavior: LegacyBehavior) -> Self {
        Self { behavior, at: Pointer::ROOT }
    }

    /// Compiles a node.
    pub(super) fn build(&mut self, value: &Value) -> Result<Node, PatchError> {
        match value {
            Value::Null if self.behavior == LegacyBehavior::Documented => {
                Err(PatchError::NullInOverlay { at: self.at.clone() })
            }
            Value::Object(members) => {
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members.iter() {
                    self.at.push_key(raw.clone());
                    entries.push(self.entry(raw, member)?);
                    self.at.pop();
                }
                let conditioned = entries.iter().any(|entry| match &entry.kind {
                    EntryKind::Plain(node) => node.conditioned,
                    EntryKind::Add(_) => false,
                    EntryKind::Condition(_) => true,
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
        let (name, kind) = match Anchor::parse(raw) {
            Some(_) if raw.trim().len() != raw.len() => {
                return Err(PatchError::BlankAnchor { key: raw.to_string(), at: self.at.parent() });
            }
            Some((Anchor::Condition, name)) => (name.into(), EntryKind::Condition(self.condition(value)?)),
            Some((Anchor::Add, name)) => (name.into(), EntryKind::Add(self.build(value)?)),
            Some((Anchor::Global | Anchor::Equality | Anchor::Existence | Anchor::Negation, _)) => {
                return Err(foreign());
            }
            None if looks_like_anchor(raw) => return Err(foreign()),
            None => (raw.clone(), EntryKind::Plain(self.build(value)?)),
        };
        Ok(Entry { raw: raw.clone(), name, kind })
    }

    fn condition(&mut self, value: &Value) -> Result<Condition, PatchError> {
        let for_elements = match value.as_object() {
            Some(members) => {
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members {
                    self.at.push_key(raw.clone());
                    let (name, kind) = match Anchor::parse(raw) {
                        Some((Anchor::Add, name)) => (name, EntryKind::Add(self.build(member)?)),
                        Some((_, name)) => (name, EntryKind::Condition(self.condition(member)?)),
                        None => (&**raw, EntryKind::Condition(self.condition(member)?)),
                    };
                    entries.push(Entry { raw: raw.clone(), name: name.into(), kind });
                    self.at.pop();
                }
                let conditioned = entries.iter().any(|entry| matches!(entry.kind, EntryKind::Condition(_)));
                Some(Box::new(Node { shape: Shape::Map(entries), conditioned }))
            }
            None => None,
        };
        Ok(Condition { matcher: Matcher::compile(value), value: value.clone(), for_elements })
    }
}

/// Whether a key looks like an anchor with an unknown modifier.
fn looks_like_anchor(key: &str) -> bool {
    let mut characters = key.chars();
    characters.next().is_some_and(|modifier| modifier != '(')
        && characters
            .as_str()
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
            .is_some_and(|name| !name.is_empty())
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
