//! Strategic merge patches: overlays with anchors.
//!
//! An overlay is compiled once into an [`node::OverlayNode`] tree. For each object a planner tests the conditions
//! and turns the overlay into a patch without anchors, which is then merged into the object. Both steps exist twice:
//! as Kyverno's documentation describes them, and as Kyverno's controllers perform them.

pub(super) mod anchor;
mod anchor_outcomes;
mod builder;
mod context;
mod keys;
mod matcher;
mod merge;
mod node;
mod overlay;
mod paths;
mod planner;
mod prescan;
pub(super) mod schema;

#[cfg(test)]
mod examples;

pub use anchor::{Anchor, has_anchor, split_anchor};
pub use anchor_outcomes::{AnchorOutcome, AnchorOutcomes, anchors};
pub use builder::is_unsupported_directive;
pub use context::MergeContext;
pub use overlay::Overlay;
pub use paths::{overlay_constants, overlay_literals, overlay_paths};
pub use schema::{ListStrategy, Schemas};

use crate::value::{Text, Value};

/// Whether a node or one of its descendants matches, given its key if it is a member of a map.
fn any_node(key: Option<&Text>, node: &Value, matches: &impl Fn(Option<&Text>, &Value) -> bool) -> bool {
    matches(key, node)
        || match node {
            Value::Object(members) => {
                members.iter().any(|(key, member)| any_node(Some(key), member, matches))
            }
            Value::Array(items) => items.iter().any(|item| any_node(None, item, matches)),
            _ => false,
        }
}
