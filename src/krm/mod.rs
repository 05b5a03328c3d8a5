//! The KRM function's wire format: ResourceList, functionConfig, results, internal annotations.
//!
//! Knows nothing of standard input and exit codes: values in, values out.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotations;
mod answer;
mod check;
mod config;
mod fields;
mod list;
mod results;
mod schema;

pub use annotations::{Hidden, file_path, hide, is_internal};
pub use answer::{ItemOutcome, Reply, answer_text};
pub use check::{faults, twins};
pub use config::{ConfigFault, FunctionConfig, Mode, OnError, PolicyInput};
pub use list::{ListFault, ResourceList, is_resource, is_same_object};
pub use results::{Gravity, Severity, change_words, failure, file, file_of, results, sort, warning};
pub use schema::definition;
