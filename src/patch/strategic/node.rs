//! Compiled overlays, as a tree.

use std::sync::Arc;

use crate::value::{Text, Value};

use super::matcher::Matcher;

/// One node of an overlay. Copies share what is below.
#[derive(Clone, Debug)]
pub(super) struct OverlayNode {
    /// The node as written.
    pub(super) value: Value,
    pub(super) shape: Shape,
    /// What the node or its descendants contain.
    pub(super) features: Features,
}

/// The structure of a node.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A scalar.
    Leaf,
    /// A list or map without anchors and directives, which is not compiled further.
    Plain,
    /// A list.
    List(Arc<[OverlayNode]>),
    /// A map.
    Map(Arc<MapShape>),
}

/// The members of a map.
#[derive(Debug)]
pub(super) struct MapShape {
    /// The members, in written order.
    pub(super) entries: Box<[Entry]>,
    /// Their indexes in the order of evaluation: alphabetical by written key.
    pub(super) order: Box<[usize]>,
}

impl OverlayNode {
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
    pub(super) kind: EntryKind,
    /// Another member adds the same key if it is missing; this one then does nothing.
    pub(super) yields_to_add: bool,
}

/// What a member of a map does.
#[derive(Clone, Debug)]
pub(super) enum EntryKind {
    /// It is merged.
    Plain(OverlayNode),
    /// It is set if the key is missing.
    Add(OverlayNode),
    /// It is tested.
    Condition(Condition),
}

/// A condition, which may contain add anchors.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) global: bool,
    pub(super) value: Value,
    pub(super) matcher: Matcher,
    /// The value as a patch, if it contains add anchors.
    pub(super) adds: Option<Box<OverlayNode>>,
}

/// What a node of an overlay or its descendants contain.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Features {
    /// A key with a condition, global or add anchor.
    pub(super) anchored: bool,
    /// A key with a global anchor.
    pub(super) global: bool,
    /// A key with an add anchor.
    pub(super) adding: bool,
    /// A map with the same key twice, with and without an anchor.
    pub(super) repeated: bool,
    /// A list with an anchored element.
    pub(super) anchored_list: bool,
    /// An empty map.
    pub(super) empty_map: bool,
    /// A string that looks like the key of a condition.
    pub(super) anchor_text: bool,
}

impl Features {
    pub(super) fn merge(&mut self, other: Self) {
        self.anchored |= other.anchored;
        self.global |= other.global;
        self.adding |= other.adding;
        self.repeated |= other.repeated;
        self.anchored_list |= other.anchored_list;
        self.empty_map |= other.empty_map;
        self.anchor_text |= other.anchor_text;
    }
}
