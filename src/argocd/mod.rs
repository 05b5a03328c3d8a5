//! The contract of an Argo CD config management plugin: build environment, parameters, and the programs that render.
//!
//! Knows the build environment, the parameters and their announcement, which paths belong to an application, and
//! the arguments of the renderers. It reads no files and runs no programs: the caller does.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod announcement;
mod application;
mod error;
mod kustomization;
mod parameters;
mod paths;
mod renderer;

pub use announcement::announcement;
pub use application::Application;
pub use error::ArgocdError;
pub use kustomization::Kustomization;
pub use parameters::Parameters;
pub use paths::{Start, below, is_out_of_reach, tree_of};
pub use renderer::{Chart, Network, Renderer};
