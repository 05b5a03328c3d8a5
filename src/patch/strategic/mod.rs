//! Strategic merge patches: overlays with anchors.
//!
//! An overlay is compiled once into an [`node::OverlayNode`] tree. For each object a planner tests the conditions
//! and turns the overlay into a patch without anchors, which is then merged into the object. Both steps exist twice:
//! as Kyverno's documentation describes them, and as Kyverno's controllers perform them.

pub(super) mod anchor;
mod builder;
mod context;
mod keys;
mod matcher;
mod merge;
mod node;
mod overlay;
mod planner;
mod prescan;
pub(super) mod schema;

#[cfg(test)]
mod examples;

pub use context::MergeContext;
pub use overlay::Overlay;
pub use schema::Schemas;
