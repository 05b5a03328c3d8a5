//! The KRM function's wire format: ResourceList, functionConfig, results, internal annotations.
//!
//! Knows no standard input and no exit codes: values in, values out.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod annotations;
mod check;
mod config;
mod fields;
mod list;
mod response;
mod results;

pub use annotations::{InternalAnnotations, file_path, hide, is_internal};
pub use check::{duplicates, item_errors};
pub use config::{ConfigError, FunctionConfig, Mode, NamedLimit, OnError, PolicyInput};
pub use list::{ResourceList, ResourceListError, is_resource, is_same_object, lacks_kind};
pub use response::{ItemOutcome, ItemTexts, Response, write_response};
pub use results::{FunctionResult, ItemFile, Severities, Severity, change_words, file_of, results, sort};
