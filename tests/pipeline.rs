//! The function in the real kustomize, kubectl and kpt. Runs when `KYV_REAL_PROGRAMS` is 1.
//!
//! The examples of `krm-function/examples` are built as they stand; what they must give is in `tests/pipeline`.

#[path = "pipeline/folder.rs"]
mod folder;
#[path = "pipeline/kpt.rs"]
mod kpt;
#[path = "pipeline/kustomize.rs"]
mod kustomize;
mod rig;
#[path = "pipeline/schema.rs"]
mod schema;
