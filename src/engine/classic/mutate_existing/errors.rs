//! Errors of mutate-existing rules, in the words of a cluster.

use crate::diagnostics::Code;
use crate::engine::TargetRefusal;
use crate::policy::{Rule, TargetSelector};
use crate::report::RuleError;
use crate::resources::plural;
use crate::value::{GroupVersionKind, Value};

/// Adds to an error of a rule the message of the update request.
pub(super) fn with_rule_error(error: RuleError, rule: &Rule) -> RuleError {
    let words = error.words_of_kyverno();
    let message = format!("failed to mutate existing resource, rule {}, response error: {words}", rule.name);
    failing(error, &message)
}

/// Adds to an error that the update request has the same message.
pub(super) fn with_failed_request(error: RuleError) -> RuleError {
    let message = error.words_of_kyverno().to_owned();
    failing(error, &message)
}

/// Adds to an error the message of the update request.
pub(super) fn failing(error: RuleError, message: &str) -> RuleError {
    let message = format!("the UpdateRequest would fail with: {message}");
    let hint = error.hint.map_or_else(|| message.clone(), |hint| format!("{hint}; {message}"));
    RuleError { hint: Some(hint), ..error }
}

pub(super) fn refused(refusal: TargetRefusal) -> RuleError {
    RuleError::new(Code::TargetRefused, refusal.message).with_hint(refusal.hint)
}

pub(super) fn not_found(selector: &TargetSelector) -> RuleError {
    if selector.kind.kind.is_empty() {
        return RuleError::new(Code::InvalidTarget, "the target has no `kind`: no object is found without");
    }
    RuleError::new(
        Code::TargetNotFound,
        not_found_message(&selector.kind.group, &selector.kind.kind, &selector.name),
    )
}

/// The API server's message for the update of an object that does not exist.
pub(super) fn no_object(object: &Value) -> String {
    let kind = GroupVersionKind::of(object);
    let name = object.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
    kind.map_or_else(String::new, |kind| not_found_message(&kind.group, &kind.kind, name))
}

fn not_found_message(group: &str, kind: &str, name: &str) -> String {
    let plural = plural(group, kind);
    if group.is_empty() || group.contains(['*', '?']) {
        format!("{plural} \"{name}\" not found")
    } else {
        format!("{plural}.{group} \"{name}\" not found")
    }
}

pub(super) fn no_subresource(selector: &TargetSelector) -> RuleError {
    let message =
        format!("there is no data for the subresource `{}` of the target", selector.kind.subresource);
    RuleError::new(Code::NoData, message).with_hint(
        "pass it as an object, and its kind under `subresources` of a document of kind Values (`--values FILE`)",
    )
}
