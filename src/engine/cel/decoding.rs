//! Whether the API server can decode an object that a policy changed.

use crate::admission::{Admission, NotAdmitted};
use crate::engine::evaluation::Evaluation;
use crate::patch::{ApplyError, not_stored_fields};
use crate::value::{GroupVersionKind, Value};

use super::failure::MutationError;

/// Checks the types of all fields that were changed. An object that had wrong ones before is not checked.
pub(super) fn check(object: &Value, changed: &Value) -> Result<(), NotAdmitted> {
    let Some(kind) = GroupVersionKind::of(changed) else { return Ok(()) };
    match Admission::check_beside(changed, &kind, object) {
        Err(error) if Admission::check_beside(object, &kind, &Value::Null).is_ok() => Err(error),
        _ => Ok(()),
    }
}

/// Checks as well that the change adds no unknown fields to an object of a built-in kind.
pub(super) fn check_strictly(
    evaluation: &Evaluation<'_>,
    object: &Value,
    changed: &Value,
) -> Result<(), MutationError> {
    check(object, changed).map_err(MutationError::NotDecoded)?;
    let Some(kind) = GroupVersionKind::of(changed) else { return Ok(()) };
    let schema = evaluation.engine.settings.kind_schemas.of(&kind);
    let Some(schema) = schema.filter(|schema| schema.is_built_in()) else { return Ok(()) };
    let unknown = not_stored_fields(object, changed, schema).map_err(ApplyError::from)?.unknown;
    if unknown.is_empty() { Ok(()) } else { Err(MutationError::UnknownFields(unknown)) }
}
