//! The KRM function's wire format: ResourceList, functionConfig, results, internal annotations.
//!
//! Knows nothing of standard input and exit codes: values in, values out.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotations;
mod answer;
mod config;
mod list;
mod results;

pub use annotations::{Hidden, hide, is_internal};
pub use answer::answer_text;
pub use config::{ConfigFault, FunctionConfig, OnError, PolicyInput};
pub use list::{ListFault, ResourceList, is_resource};
pub use results::{Severity, failure, results};
