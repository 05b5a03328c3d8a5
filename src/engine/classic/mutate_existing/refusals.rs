//! What a request for existing objects fails with, in the cluster's own words.

use crate::engine::TargetRefusal;
use crate::policy::{Rule, TargetSelector};
use crate::report::RuleError;
use crate::resources::plural;
use crate::value::{GroupVersionKind, Value};

/// An error of a rule with what the request in the cluster would say of it.
pub(super) fn with_request(error: RuleError, rule: &Rule) -> RuleError {
    let words =
        format!("failed to mutate existing resource, rule {}, response error: {}", rule.name, error.message);
    failing(error, &words)
}

/// An error with the words in which the request in the cluster would fail.
pub(super) fn failing(error: RuleError, words: &str) -> RuleError {
    let message = format!("the UpdateRequest would fail with: {words}");
    let hint = error.hint.map_or_else(|| message.clone(), |hint| format!("{hint}; {message}"));
    RuleError { hint: Some(hint), ..error }
}

pub(super) fn refused(refusal: TargetRefusal) -> RuleError {
    RuleError::new(refusal.message).with_hint(refusal.hint)
}

pub(super) fn not_found(selector: &TargetSelector) -> RuleError {
    if selector.kind.kind.is_empty() {
        return RuleError::new("the target has no `kind`: no object is found without");
    }
    RuleError::new(absence(&selector.kind.group, &selector.kind.kind, &selector.name))
}

/// What the API server says when an object is to be updated that is not there.
pub(super) fn no_object(object: &Value) -> String {
    let kind = GroupVersionKind::of(object);
    let name = object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    kind.map_or_else(String::new, |kind| absence(&kind.group, &kind.kind, name))
}

fn absence(group: &str, kind: &str, name: &str) -> String {
    let plural = plural(group, kind);
    if group.is_empty() || group.contains(['*', '?']) {
        format!("{plural} \"{name}\" not found")
    } else {
        format!("{plural}.{group} \"{name}\" not found")
    }
}

pub(super) fn no_subresource(selector: &TargetSelector) -> RuleError {
    let message = format!("the subresource `{}` of the target is not given", selector.kind.subresource);
    RuleError::new(message).with_hint(
        "give it as an object, and its kind under `subresources` of a document of kind Values (`--values FILE`)",
    )
}
