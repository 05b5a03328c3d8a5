//! Conditions that may keep a rule from running again on its own result.

use crate::pattern;
use crate::value::Value;

/// What is the same at each admission of an object, however often it is changed.
const LASTING: [&str; 4] = [
    "request.name",
    "request.namespace",
    "request.object.metadata.name",
    "request.object.metadata.namespace",
];

/// Whether a block of conditions may be false once a patch of members with these names is made. It may where a condition looks at
/// one of them, at something else than the object, or at an operation that is no update.
pub(super) fn may_keep_out(block: &Value, names: &[&str]) -> bool {
    let is_guard = |condition: &Value| is_guard(condition, names);
    let list = |name| block.get(name).and_then(Value::as_array).unwrap_or_default();
    let all = block.as_array().unwrap_or_else(|| list("all"));
    let any = list("any");
    all.iter().any(is_guard) || !any.is_empty() && any.iter().all(is_guard)
}

fn is_guard(condition: &Value, names: &[&str]) -> bool {
    let text = condition.to_json();
    let variables: Vec<&str> =
        text.split("{{").skip(1).map(|rest| rest.split("}}").next().unwrap_or_default().trim()).collect();
    if let [only] = variables[..] {
        if only == "request.operation" {
            return keeps_out_updates(condition);
        }
        if LASTING.contains(&only) {
            return false;
        }
    }
    variables.into_iter().any(|expression| {
        !expression.starts_with("request.object.")
            || expression.contains(['(', '{'])
            || names.iter().any(|name| !name.is_empty() && expression.contains(name))
    })
}

/// Whether a condition on the operation of the request is false for updates.
fn keeps_out_updates(condition: &Value) -> bool {
    let operator = condition.get("operator").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
    let names = match condition.get("value") {
        Some(Value::Array(items)) => items.as_slice(),
        Some(value) => std::slice::from_ref(value),
        None => &[],
    };
    let names_update = names.iter().filter_map(Value::as_str).any(|name| pattern::matches(name, "UPDATE"));
    match &*operator {
        "equals" | "equal" | "in" | "anyin" | "allin" => !names_update,
        "notequals" | "notequal" | "notin" | "anynotin" | "allnotin" => names_update,
        _ => true,
    }
}
