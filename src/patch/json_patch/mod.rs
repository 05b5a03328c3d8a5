//! JSON patches (RFC 6902), with the extensions of the library that Kyverno applies them with.

mod computed;
pub(super) mod edit;
mod kind;
mod operation;
pub(super) mod path;
mod template;

pub use computed::{Computed, ComputedOperation, FailedTest, OperationFailed, apply_computed};
pub use kind::OperationKind;
pub use operation::{JsonPatch, Operation};
pub use template::JsonPatchTemplate;
