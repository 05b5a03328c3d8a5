//! Compiling overlays.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::patch::PatchError;
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Text, Value};

use super::anchor::Anchor;
use super::any_node;
use super::matcher::{AddAnchors, Matcher};
use super::node::{Condition, Entry, EntryKind, Features, MapShape, OverlayNode, Shape};
use super::prescan::Prescan;

/// Directives of kubectl that Kyverno does not support.
const DIRECTIVES: [&str; 3] = ["$setElementOrder/", "$deleteFromPrimitiveList/", "$retainKeys"];

/// Compiles overlays; keeps track of the path from the root.
pub(super) struct OverlayBuilder<'a> {
    tracker: &'a DivergenceTracker,
    at: Pointer,
    prescan: Prescan,
    /// An overlay compiled before, which this one may contain.
    compiled: Option<&'a OverlayNode>,
}

/// Compiles a node that was left plain, with all its descendants.
pub(super) fn expanded(node: &OverlayNode) -> Result<OverlayNode, PatchError> {
    OverlayBuilder::new(&DivergenceTracker::default(), Prescan::default()).build(&node.value)
}

impl<'a> OverlayBuilder<'a> {
    /// A builder for a value that was scanned.
    pub(super) const fn new(tracker: &'a DivergenceTracker, prescan: Prescan) -> Self {
        Self { tracker, at: Pointer::ROOT, prescan, compiled: None }
    }

    /// Shares an overlay compiled before where this one contains it.
    pub(super) fn sharing(self, compiled: Option<&'a OverlayNode>) -> Self {
        Self { compiled, ..self }
    }

    /// Compiles a node.
    pub(super) fn build(&mut self, value: &Value) -> Result<OverlayNode, PatchError> {
        if let Some(compiled) = self.compiled.filter(|compiled| compiled.value.same_storage(value)) {
            self.prescan.skip(value);
            return Ok(compiled.clone());
        }
        let mut features = Features::default();
        if let Value::Object(_) | Value::Array(_) = value
            && let Some(features) = self.prescan.enter()
        {
            return Ok(OverlayNode { value: value.clone(), shape: Shape::Plain, features });
        }
        let shape = match value {
            Value::Object(members) => {
                features.empty_map = members.is_empty();
                let mut entries = Vec::with_capacity(members.len());
                for (raw, member) in members.iter() {
                    self.at.push_key(raw.clone());
                    let entry = self.entry(raw, member)?;
                    self.at.pop();
                    features.merge(entry.features());
                    entries.push(entry);
                }
                features.repeated |= mark_yielding(&mut entries);
                let mut order: Box<[_]> = (0..entries.len()).collect();
                order.sort_by(|a, b| entries[*a].raw.cmp(&entries[*b].raw));
                Shape::Map(Arc::new(MapShape { entries: entries.into(), order }))
            }
            Value::Array(items) => {
                let mut elements = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    let element = self.build(item)?;
                    self.at.pop();
                    features.merge(element.features);
                    features.anchored_list |= element.features.anchored;
                    elements.push(element);
                }
                Shape::List(elements.into())
            }
            leaf => {
                features.anchor_text = contains_anchor_text(leaf);
                Shape::Leaf
            }
        };
        Ok(OverlayNode { value: value.clone(), shape, features })
    }

    fn entry(&mut self, raw: &Text, value: &Value) -> Result<Entry, PatchError> {
        let plain = |this: &mut Self| -> Result<Entry, PatchError> {
            let kind = EntryKind::Plain(this.build(value)?);
            Ok(Entry { raw: raw.clone(), name: raw.clone(), kind, yields_to_add: false })
        };
        let Some((anchor, name)) = Anchor::parse(raw) else {
            if is_unsupported_directive(raw, value) {
                self.tracker.reach(Divergence::PatchDirective);
            }
            return plain(self);
        };
        if raw.trim().len() != raw.len() {
            return Err(PatchError::BlankAnchor { key: raw.to_string(), at: self.at.parent() });
        }
        let kind = match anchor {
            Anchor::Add => EntryKind::Add(self.build(value)?),
            Anchor::Condition | Anchor::Global => {
                self.prescan.skip(value);
                EntryKind::Condition(Condition {
                    global: anchor == Anchor::Global,
                    value: value.clone(),
                    matcher: Matcher::compile(value, AddAnchors::Omit),
                    adds: self.adds(value)?,
                })
            }
            Anchor::Equality | Anchor::Existence | Anchor::Negation => {
                self.tracker.reach(Divergence::ForeignAnchor);
                return plain(self);
            }
        };
        Ok(Entry { raw: raw.clone(), name: name.into(), kind, yields_to_add: false })
    }

    /// The value of a condition as a patch, if it contains add anchors.
    fn adds(&self, value: &Value) -> Result<Option<Box<OverlayNode>>, PatchError> {
        if !contains_add_anchor(value) {
            return Ok(None);
        }
        // Conditions may contain all anchors, which is no divergence.
        let lenient = DivergenceTracker::new(Semantics::Kyverno);
        let prescan = Prescan::scan(value)?;
        OverlayBuilder { tracker: &lenient, at: self.at.clone(), prescan, compiled: None }
            .build(value)
            .map(|node| Some(Box::new(node)))
    }
}

/// Whether a key is a directive that Kyverno does not support.
pub fn is_unsupported_directive(key: &str, value: &Value) -> bool {
    DIRECTIVES.iter().any(|directive| key.starts_with(directive))
        || (key == "$patch" && value.as_str().is_none())
}

/// Marks the members beside an add anchor for the same key; returns whether any key occurs twice.
fn mark_yielding(entries: &mut [Entry]) -> bool {
    if entries.iter().all(|entry| matches!(entry.kind, EntryKind::Plain(_))) {
        return false;
    }
    let mut names: Vec<(&Text, bool)> =
        entries.iter().map(|entry| (&entry.name, matches!(entry.kind, EntryKind::Add(_)))).collect();
    names.sort_unstable();
    let twice = |pair: &&[(&Text, bool)]| pair[0].0 == pair[1].0;
    let repeated = names.windows(2).any(|pair| twice(&pair));
    let added: BTreeSet<Text> =
        names.windows(2).filter(|pair| twice(pair) && pair[1].1).map(|pair| pair[0].0.clone()).collect();
    for entry in entries.iter_mut().filter(|entry| matches!(entry.kind, EntryKind::Plain(_))) {
        entry.yields_to_add = added.contains(&entry.name);
    }
    repeated
}

/// Whether the value of a condition contains an add anchor.
fn contains_add_anchor(value: &Value) -> bool {
    let is_add = |key: &Text| matches!(Anchor::parse(key), Some((Anchor::Add, _)));
    any_node(None, value, &|key, _| key.is_some_and(is_add))
}

/// Whether a string in it looks like the key of a condition.
fn contains_anchor_text(value: &Value) -> bool {
    any_node(None, value, &|_, node| node.as_str().is_some_and(Anchor::is_test_key))
}

impl Entry {
    fn features(&self) -> Features {
        match &self.kind {
            EntryKind::Plain(node) => node.features,
            EntryKind::Add(node) => Features { anchored: true, adding: true, ..node.features },
            EntryKind::Condition(condition) => Features {
                anchored: true,
                global: condition.global,
                adding: condition.adds.is_some(),
                anchor_text: contains_anchor_text(&condition.value),
                ..Features::default()
            },
        }
    }
}
