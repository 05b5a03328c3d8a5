//! Patches: pure functions from a value and a patch to a new value.
//!
//! Knows JSON patches, overlays with anchors, how both change an object, and which lists of Kubernetes
//! objects merge by a key. Does not know variables, which were replaced before, nor rules, nor reports:
//! a condition that does not hold is told as evidence.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod error;
mod json_patch;
mod legacy;
mod strategic;

pub use error::{IndexFault, Limit, MissingPart, NodeKind, OperationFault, PatchError};
pub use json_patch::{JsonPatch, OpenPatch, Operation, OperationKind};
pub use legacy::{LegacyOverlay, LegacyPatches, LegacyReading};
pub use strategic::{FailedCondition, InlineResolver, Merged, Overlay, Schemas, Survey};

/// How many operations one JSON patch may have.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many parts one JSON pointer may have.
pub const MAX_PATH_PARTS: usize = crate::value::MAX_DEPTH;

/// How many elements a list may have after it was padded to reach an index.
pub const MAX_PADDING: usize = 100_000;

/// How many bytes of values one JSON patch may copy.
pub const MAX_COPIED_BYTES: usize = 64 << 20;

/// How many keys and elements one strategic merge patch may look at in lists of the object.
pub const MAX_STEPS: usize = 1_000_000;
