//! Apply configurations, merged into an object as server-side apply does it.
//!
//! A port of the merge of [structured-merge-diff](https://pkg.go.dev/sigs.k8s.io/structured-merge-diff/v6), as
//! mutating admission policies use it: there are no managers of fields, and nothing is removed.

mod check;
mod error;
mod key;
mod merge;
mod path;
#[cfg(test)]
mod tests;

use crate::admission::Schema;
use crate::value::Value;

pub use check::{NotStoredFields, check_changed, not_stored_fields};
pub use error::{ApplyError, Fault, Problem};

/// Whether a configuration may contain lists, maps and structs that are replaced as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomics {
    /// They are errors, as in the API server.
    #[default]
    Refused,
    /// They replace those of the object.
    Replaced,
}

/// Merges an apply configuration into an object. `apiVersion` and `kind` stay those of the object.
///
/// The result shares what the configuration does not change with the object.
///
/// # Errors
///
/// A configuration that does not fit the schema, or has fields that may not be set; an object whose fields that the
/// configuration sets do not fit the schema; both nested too deep.
pub fn apply(
    object: &Value,
    configuration: &Value,
    schema: Schema<'_>,
    atomics: Atomics,
) -> Result<Value, ApplyError> {
    let mut configuration = configuration.clone();
    for field in ["apiVersion", "kind"] {
        configuration.remove(field);
    }
    check::check(&configuration, schema, atomics)?;
    merge::merge(object, &configuration, schema)
}
