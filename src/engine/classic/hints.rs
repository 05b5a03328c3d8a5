//! Hints for variables without a value.

use crate::diagnostics::Coded;
use crate::report::RuleError;
use crate::variables::{Inline, SubstitutionError};

use super::context::Context;

pub(super) fn unresolved(error: &SubstitutionError, context: &Context<'_>) -> RuleError {
    RuleError {
        code: error.code(),
        message: format!("variable substitution failed: {error}"),
        hint: hint(error, context),
    }
}

/// What would give a variable a value.
pub(super) fn hint(error: &SubstitutionError, context: &Context<'_>) -> Option<String> {
    let SubstitutionError::Variable { expression, cause, .. } = error else { return None };
    if let Some(limit) = cause.limit() {
        return Some(context.settings().input_names.limit_hint(limit.name()));
    }
    if !cause.is_not_found() {
        return None;
    }
    let metadata = context.object().get("metadata");
    let has = |field: &str| metadata.and_then(|metadata| metadata.get(field)).is_some();
    if expression.contains("metadata.name") && !has("name") && has("generateName") {
        return Some("the object has a generateName and no name yet: only a created object has one".into());
    }
    let names = context.settings().input_names;
    if expression.contains("request.namespace") {
        return Some(
            "the request for an object without a namespace has none; `request.namespace || ''` allows that"
                .into(),
        );
    }
    let user = ["request.userInfo", "request.roles", "request.clusterRoles", "serviceAccount"];
    if user.iter().any(|name| expression.contains(name)) {
        return Some(format!("pass the user of the request with {}", names.user));
    }
    if expression.contains("request.oldObject")
        && !context.substitution(Inline::Path).deleting
        && let Some(old) = names.old
    {
        return Some(format!("pass the stored objects of an update with {old}"));
    }
    if ["subResource", "requestSubResource"].iter().any(|name| expression.contains(name)) {
        return Some(format!("set the kinds of subresources under `subresources` in {}", names.entries));
    }
    let objects = ["request.object", "element", "target"];
    if !objects.iter().any(|name| expression.contains(name)) {
        return Some(format!("set values of the context with {}", names.values));
    }
    None
}
