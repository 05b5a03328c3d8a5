//! Planners: from an overlay with anchors to a patch without anchors, for one object.

mod documented;
mod kyverno;
mod plan;

pub(super) use documented::DocumentedPlanner;
pub(super) use kyverno::KyvernoPlanner;
pub(super) use plan::{Plan, PlannedElement, PlannedList, Target};
