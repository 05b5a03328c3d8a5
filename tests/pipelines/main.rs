//! The function in the real kustomize, kubectl and kpt. Runs when `KYV_REAL_PROGRAMS` is 1.
//!
//! The examples of `krm-function/examples` are built as they stand; what they must give is in `tests/pipelines`.

mod argocd;
mod folder;
mod kpt;
mod kustomize;
mod schema;
