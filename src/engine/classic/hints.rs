//! Hints for variables without a value.

use crate::diagnostics::Coded as _;
use crate::jmespath::EvalError;
use crate::pattern::nearest;
use crate::policy::nearest_variable;
use crate::report::RuleError;
use crate::value::Value;
use crate::variables::{Inline, QueryError, SubstitutionError};

use super::context::Context;

pub(super) fn unresolved(error: &SubstitutionError, context: &Context<'_>) -> RuleError {
    failed_substitution(error, "variable substitution failed", context)
}

/// The error of a rule with a variable without value, or the like. Kyverno says before it what failed.
pub(super) fn failed_substitution(error: &SubstitutionError, what: &str, context: &Context<'_>) -> RuleError {
    let words = error.original().unwrap_or_else(|| error.to_string());
    let failed = RuleError::new(error.code(), error.to_string())
        .in_words_of_kyverno(format!("{what}: {words}"))
        .at(error.pointer(), error.expression());
    RuleError { hint: hint(error, context), ..failed }
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
    if let QueryError::Failed(EvalError::NotFound { key }) = &**cause
        && let Some(meant) = nearest_variable(expression, key, context.entry_names())
    {
        return Some(format!("did you mean `{meant}`?"));
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
    let meant = nearest_key(expression, context.object())?;
    Some(format!("did you mean `{meant}`?"))
}

/// The key of the object that is most similar to the one that a path below `request.object` does not find.
fn nearest_key<'o>(expression: &str, object: &'o Value) -> Option<&'o str> {
    let (_, path) = expression.split_once("request.object.")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut node = object;
    for part in path.split('.') {
        let name = part.split(|c| !is_name(c)).next().unwrap_or_default();
        let members = node.as_object()?;
        match members.get(name) {
            // An index, a filter, or the end of the path.
            Some(_) if name.len() < part.len() => return None,
            Some(next) => node = next,
            None => return nearest(name, members.keys().map(|key| &**key)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_at_the_place_where_the_path_ends() {
        let object =
            r#"{"metadata":{"labels":{"team":"a"},"name":"x"},"spec":{"containers":[{"image":"x"}]}}"#;
        let object = Value::from_json(object).unwrap();
        for (expression, expected) in [
            ("request.object.metadata.lables.team", Some("labels")),
            ("to_upper(request.object.metadata.labels.teem)", Some("team")),
            ("request.object.metdata.name", Some("metadata")),
            ("request.object.spec.containers[0].imag", None),
            ("request.object.spec.replicas", None),
            ("request.object.metadata.name", None),
            ("request.object.metadata.name.x", None),
            ("element.name", None),
        ] {
            assert_eq!(nearest_key(expression, &object), expected, "{expression}");
        }
    }
}
