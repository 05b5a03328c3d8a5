//! Strategic merge patches: overlays with anchors.

pub(super) mod anchor;
pub(super) mod condition;
pub(super) mod keyed;
mod look;
mod merge;
mod observed;
mod overlay;
mod plan;
mod planner;
pub(super) mod schema;
mod survey;
mod tree;

#[cfg(test)]
mod examples;

pub use overlay::{FailedCondition, InlineResolver, Merged, Overlay};
pub use schema::Schemas;
pub use survey::Survey;
