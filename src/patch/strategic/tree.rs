//! Overlays, prepared: anchors parsed, conditions turned into tests.

use std::collections::BTreeSet;

use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::{Pointer, Text, Value};

use crate::patch::PatchError;
use super::anchor::Anchor;
use super::condition::Test;
use super::look::Look;

/// One node of an overlay.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The node as it was given.
    pub(super) value: Value,
    pub(super) shape: Shape,
    /// What occurs in the node or below it.
    pub(super) traits: Traits,
}

/// What a node of an overlay is.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A scalar.
    Leaf,
    /// A list or map in which no key asks for more than to be merged: the value says it all.
    Plain,
    /// A list.
    List(Vec<Tree>),
    /// A map.
    Map {
        /// The members, in their written order.
        entries: Vec<Entry>,
        /// Their indexes, in the order of evaluation: alphabetical by written key.
        order: Vec<usize>,
    },
}

impl Tree {
    /// The node with all that is below it, where it is plain.
    pub(super) fn spread(&self) -> Result<Self, PatchError> {
        OverlayBuilder::new(&DivergenceTracker::default(), Look::default()).build(&self.value)
    }

    /// Whether it is a map.
    pub(super) fn is_map(&self) -> bool {
        self.value.as_object().is_some()
    }
}

/// One member of a map in an overlay.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// The key as written.
    pub(super) raw: Text,
    /// The key without its anchor.
    pub(super) name: Text,
    pub(super) role: Role,
    /// Another member adds the same key where it is missing, which then is all that this key gets.
    pub(super) gives_way: bool,
}

/// What a member of a map asks for.
#[derive(Clone, Debug)]
pub(super) enum Role {
    /// To be merged.
    Plain(Tree),
    /// To be set where there is nothing.
    Add(Tree),
    /// To be tested.
    Condition(Condition),
}

/// A condition, and what it adds.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) global: bool,
    pub(super) value: Value,
    pub(super) test: Test,
    /// The value as a patch, where it holds something to add.
    pub(super) adds: Option<Tree>,
}

/// What occurs in a node of an overlay or below it.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Traits {
    /// A key with an anchor that strategic merge knows.
    pub(super) anchored: bool,
    /// A key with a global anchor.
    pub(super) global: bool,
    /// A key with an add anchor.
    pub(super) adding: bool,
    /// A key that stands twice in a map, with and without an anchor.
    pub(super) repeated: bool,
    /// A list with an anchored element.
    pub(super) anchored_list: bool,
    /// A map without members.
    pub(super) empty_map: bool,
    /// A string that reads like an anchored key.
    pub(super) anchor_text: bool,
}

impl Traits {
    pub(super) fn join(&mut self, other: Self) {
        self.anchored |= other.anchored;
        self.global |= other.global;
        self.adding |= other.adding;
        self.repeated |= other.repeated;
        self.anchored_list |= other.anchored_list;
        self.empty_map |= other.empty_map;
        self.anchor_text |= other.anchor_text;
    }
}

/// The directives of kubectl that have no meaning here.
const DIRECTIVES: [&str; 3] = ["$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"];

/// Prepares overlays, of which it knows the way from the root.
pub(super) struct OverlayBuilder<'a> {
    tracker: &'a DivergenceTracker,
    at: Pointer,
    look: Look,
}

impl<'a> OverlayBuilder<'a> {
    /// What prepares a value that was looked over.
    pub(super) const fn new(tracker: &'a DivergenceTracker, look: Look) -> Self {
        Self { tracker, at: Pointer::ROOT, look }
    }

    pub(super) fn build(&mut self, value: &Value) -> Result<Tree, PatchError> {
        let mut traits = Traits::default();
        if let Value::Object(_) | Value::Array(_) = value
            && let Some(traits) = self.look.enter()
        {
            return Ok(Tree { value: value.clone(), shape: Shape::Plain, traits });
        }
        let shape = match value {
            Value::Object(members) => {
                traits.empty_map = members.is_empty();
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members.iter() {
                    self.at.push_key(raw.clone());
                    let entry = self.entry(raw, member)?;
                    self.at.pop();
                    traits.join(entry.traits());
                    entries.push(entry);
                }
                traits.repeated |= give_way(&mut entries);
                let mut order: Vec<_> = (0..entries.len()).collect();
                order.sort_by(|a, b| entries[*a].raw.cmp(&entries[*b].raw));
                Shape::Map { entries, order }
            }
            Value::Array(items) => {
                let mut elements = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    let element = self.build(item)?;
                    self.at.pop();
                    traits.join(element.traits);
                    traits.anchored_list |= element.traits.anchored;
                    elements.push(element);
                }
                Shape::List(elements)
            }
            leaf => {
                traits.anchor_text = holds_anchor_text(leaf);
                Shape::Leaf
            }
        };
        Ok(Tree { value: value.clone(), shape, traits })
    }

    fn entry(&mut self, raw: &Text, value: &Value) -> Result<Entry, PatchError> {
        let plain = |this: &mut Self| -> Result<Entry, PatchError> {
            let role = Role::Plain(this.build(value)?);
            Ok(Entry { raw: raw.clone(), name: raw.clone(), role, gives_way: false })
        };
        let Some((anchor, name)) = Anchor::parse(raw) else {
            if is_foreign_directive(raw, value) && self.tracker.documented(Divergence::PatchDirective) {
                return Err(PatchError::Directive { key: raw.to_string(), at: self.at.parent() });
            }
            return plain(self);
        };
        if raw.trim().len() != raw.len() {
            return Err(PatchError::BlankAnchor { key: raw.to_string(), at: self.at.parent() });
        }
        let role = match anchor {
            Anchor::Add => Role::Add(self.build(value)?),
            Anchor::Condition | Anchor::Global => {
                self.look.pass(value);
                Role::Condition(Condition {
                    global: anchor == Anchor::Global,
                    value: value.clone(),
                    test: Test::prepare(value),
                    adds: self.adds(value)?,
                })
            }
            Anchor::Equality | Anchor::Existence | Anchor::Negation => {
                if self.tracker.documented(Divergence::ForeignAnchor) {
                    return Err(PatchError::ForeignAnchor { key: raw.to_string(), at: self.at.parent() });
                }
                return plain(self);
            }
        };
        Ok(Entry { raw: raw.clone(), name: name.into(), role, gives_way: false })
    }

    /// The value of a condition as a patch, if it holds something to add.
    fn adds(&self, value: &Value) -> Result<Option<Tree>, PatchError> {
        if !holds_adds(value) {
            return Ok(None);
        }
        // Anchors that a patch may not hold are at home in a condition.
        let lenient = DivergenceTracker::new(crate::semantics::Semantics::Kyverno);
        let mut planter = OverlayBuilder { tracker: &lenient, at: self.at.clone(), look: Look::over(value)? };
        planter.build(value).map(Some)
    }
}

fn is_foreign_directive(key: &str, value: &Value) -> bool {
    DIRECTIVES.iter().any(|directive| key.starts_with(directive))
        || (key == "$patch" && value.as_str().is_none())
}

/// Marks what stands beside a member that adds the same key, and tells whether any key stands twice.
fn give_way(entries: &mut [Entry]) -> bool {
    if entries.iter().all(|entry| matches!(entry.role, Role::Plain(_))) {
        return false;
    }
    let mut names: Vec<(&Text, bool)> =
        entries.iter().map(|entry| (&entry.name, matches!(entry.role, Role::Add(_)))).collect();
    names.sort_unstable();
    let twice = |pair: &&[(&Text, bool)]| pair[0].0 == pair[1].0;
    let repeated = names.windows(2).any(|pair| twice(&pair));
    let added: BTreeSet<Text> =
        names.windows(2).filter(|pair| twice(pair) && pair[1].1).map(|pair| pair[0].0.clone()).collect();
    for entry in entries.iter_mut().filter(|entry| matches!(entry.role, Role::Plain(_))) {
        entry.gives_way = added.contains(&entry.name);
    }
    repeated
}

/// Whether there is something to add in the value of a condition.
fn holds_adds(value: &Value) -> bool {
    let is_add = |key: &Text| matches!(Anchor::parse(key), Some((Anchor::Add, _)));
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| is_add(key) || holds_adds(value)),
        Value::Array(items) => items.iter().any(holds_adds),
        _ => false,
    }
}

/// Whether a string reads like the key of a condition.
fn holds_anchor_text(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.values().any(holds_anchor_text),
        Value::Array(items) => items.iter().any(holds_anchor_text),
        Value::String(text) => Anchor::parse(text).is_some_and(|(anchor, _)| anchor.is_test()),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl Entry {
    fn traits(&self) -> Traits {
        match &self.role {
            Role::Plain(tree) => tree.traits,
            Role::Add(tree) => Traits { anchored: true, adding: true, ..tree.traits },
            Role::Condition(condition) => Traits {
                anchored: true,
                global: condition.global,
                adding: condition.adds.is_some(),
                anchor_text: holds_anchor_text(&condition.value),
                ..Traits::default()
            },
        }
    }
}
