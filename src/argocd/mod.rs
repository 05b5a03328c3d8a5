//! The Argo CD plugin's contract: what Argo CD tells a plugin, what applications may ask it for, what is run for them.
//!
//! Knows the build environment, the parameters and their announcement, which paths belong to an application, and
//! the arguments of the renderers. Knows nothing of files and processes: whoever calls it looks and runs.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod announcement;
mod application;
mod error;
mod parameters;
mod paths;
mod renderer;

pub use announcement::announcement;
pub use application::Application;
pub use error::ArgocdError;
pub use parameters::Parameters;
pub use paths::{below, is_out_of_reach, tree_of};
pub use renderer::{Chart, Network, Renderer};
