//! What a `jmesPath` takes of a looked-up value.

use crate::value::{Pointer, Value};

use super::expression::Scope;
use super::problem::Refusal;
use super::val::Val;

/// What a `jmesPath` takes of a value.
pub(super) fn projected<'a>(
    path: Option<&Value>,
    whole: Val<'a>,
    scope: &Scope<'a>,
    at: &Pointer,
) -> Result<Val<'a>, Refusal> {
    let Some(text) = path.and_then(Value::as_str).filter(|text| !text.trim().is_empty()) else {
        return Ok(whole);
    };
    super::expression::template_on(scope, text, Some(whole))
        .map_err(|problem| problem.at(&at.key("jmesPath")))
}
