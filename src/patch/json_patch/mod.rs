//! JSON patches (RFC 6902) as Kyverno applies them.

pub(super) mod edit;
pub(super) mod operations;
mod template;

pub use operations::{JsonPatch, Operation, OperationKind};
pub use template::OpenPatch;
