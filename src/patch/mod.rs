//! Patches: pure functions from a value and a patch to a new value.
//!
//! One folder per kind: JSON patches (RFC 6902), strategic merge patches with anchors, apply configurations as
//! server-side apply merges them, and the `overlay` and `patches` of Kyverno before 1.2. Variables are substituted before;
//! rules and reports are not known here. A condition that does not hold is returned as a [`FailedCondition`].
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod apply;
mod cursor;
mod error;
mod json_patch;
mod legacy;
mod limits;
mod outcome;
mod scalar;
mod strategic;

pub use apply::{
    ApplyError, Atomics, Fault, NotStoredFields, Problem, apply, check_changed, not_stored_fields,
};
pub use error::{IndexError, InlineError, MissingPart, NodeKind, OperationError, PatchError};
pub use json_patch::{
    Computed, ComputedOperation, FailedTest, JsonPatch, JsonPatchTemplate, Operation, OperationFailed,
    OperationKind, apply_computed,
};
pub use legacy::{LegacyBehavior, LegacyOverlay, LegacyPatches};
pub use limits::Limit;
pub use outcome::{FailedCondition, InlineResolver, Merged};
pub use strategic::{
    Anchor, AnchorOutcome, AnchorOutcomes, ListStrategy, MergeContext, Overlay, Schemas, anchors, has_anchor,
    is_unsupported_directive, overlay_constants, overlay_literals, overlay_paths, split_anchor,
};
