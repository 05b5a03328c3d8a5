//! Planners: from an overlay with anchors to a patch without anchors, for one object.

mod documented;
mod kyverno;
mod plan;

use crate::patch::{NodeKind, PatchError};
use crate::value::{Pointer, Value};

pub(super) use documented::DocumentedPlanner;
pub(super) use kyverno::KyvernoPlanner;
pub(super) use plan::{Plan, PlannedElement, PlannedList, Target};

/// The elements of the object's list; an error if it is something else.
fn elements<'v>(base: Option<&'v Value>, at: &Pointer) -> Result<&'v [Value], PatchError> {
    match base {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(other) => {
            let (expected, found) = (NodeKind::Sequence, NodeKind::of(other));
            Err(PatchError::WrongKind { expected, found, at: at.clone() })
        }
    }
}
