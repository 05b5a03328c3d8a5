//! The engine of `kubectl kyv`: what Kyverno mutate policies do to Kubernetes objects.

pub mod engine;
pub mod jmespath;
pub mod krm;
pub mod patch;
pub mod pattern;
pub mod policy;
pub mod render;
pub mod report;
pub mod semantics;
pub mod source;
pub mod suite;
pub mod value;
pub mod variables;
pub mod yaml;

#[cfg(feature = "cli")]
pub mod commands;
