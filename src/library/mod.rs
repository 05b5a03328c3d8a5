//! The crate as a library: policies are loaded once, and applied to any number of manifests.
//!
//! [`MutatorBuilder`] names the inputs and options, [`Mutator`] applies the policies to one object, and a [`Report`]
//! has the changed manifest and the outcome of each rule. Errors are types with one message for each problem.
//! Nothing here reads a clock or the network; files are read only where an [`Input`] names a path.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod builder;
mod error;
mod mutator;
mod report;

pub use crate::admission::View;
pub use crate::policy::Operation;
pub use crate::semantics::Semantics;
pub use builder::{Input, MutatorBuilder};
pub use error::{LoadError, ManifestError};
pub use mutator::Mutator;
pub use report::{Outcome, Report, RuleReport};
