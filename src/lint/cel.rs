//! Conditions of CEL policies that do not depend on the request, and patches that change their own result again.

use crate::cel::{Dialect, Env, Program, constant};
use crate::diagnostics::Code;
use crate::value::{Pointer, Text, Value};

use super::{Lint, LintLevel};

/// The lists of conditions in `spec`.
const CONDITIONS: [&str; 2] = ["matchConditions", "targetMatchConditions"];

/// Adds findings about conditions that always have the same value.
pub(super) fn check(policy: &Value, group: &str, found: &mut Vec<Lint>) {
    let dialect = if group == "policies.kyverno.io" { Dialect::Kyverno } else { Dialect::Kubernetes };
    let operations = operations(policy);
    let known = constant_variables(policy, dialect, &operations);
    for list in CONDITIONS {
        let conditions = policy.path(&["spec", list]).and_then(Value::as_array).unwrap_or_default();
        for (index, condition) in conditions.iter().enumerate() {
            let expression = condition.get("expression").and_then(Value::as_str);
            let constant = |expression: &str| {
                // What does not compile is refused.
                if !expression.contains("variables.") {
                    Program::compile(&Env::policy(dialect), expression).ok()?;
                }
                constant(expression, dialect, (&known, &operations))
            };
            let Some(value) = expression.and_then(constant) else { continue };
            let (code, level, what, help) = if value {
                (Code::AlwaysHolds, LintLevel::Info, "true: it has no effect", "remove the condition")
            } else {
                let help = "write a condition on the object, or remove the policy";
                (Code::NeverHolds, LintLevel::Warning, "false: the policy never runs", help)
            };
            let name = condition.get("name").and_then(Value::as_str).unwrap_or_default();
            found.push(Lint {
                code,
                level,
                rule: None,
                pointer: Pointer::ROOT.key("spec").key(list).index(index).key("expression"),
                message: format!("the condition `{name}` is always {what}"),
                help,
                fix: None,
            });
        }
    }
}

/// The operations of the requests that a policy is for; none if they may be any.
fn operations(policy: &Value) -> Vec<&str> {
    let rules = policy.path(&["spec", "matchConstraints", "resourceRules"]).and_then(Value::as_array);
    let mut found = Vec::new();
    for rule in rules.unwrap_or_default() {
        let named = rule.get("operations").and_then(Value::as_array).unwrap_or_default();
        let names: Vec<&str> = named.iter().filter_map(Value::as_str).collect();
        if names.is_empty() || names.contains(&"*") {
            return Vec::new();
        }
        found.extend(names);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The variables that have the same value for all requests.
fn constant_variables(policy: &Value, dialect: Dialect, operations: &[&str]) -> Vec<(Text, bool)> {
    let variables = policy.path(&["spec", "variables"]).and_then(Value::as_array).unwrap_or_default();
    let mut known: Vec<(Text, bool)> = Vec::new();
    for variable in variables {
        let text = |field| variable.get(field).and_then(Value::as_text);
        let (Some(name), Some(expression)) = (text("name"), text("expression")) else { continue };
        let value = constant(expression, dialect, (&known, operations));
        known.retain(|(other, _)| other != name);
        known.extend(value.map(|value| (name.clone(), value)));
    }
    known
}

/// Adds findings about patches that append an element without a condition.
pub(super) fn check_patches(policy: &Value, found: &mut Vec<Lint>) {
    let list = |path: &[&str]| policy.path(path).and_then(Value::as_array).unwrap_or_default();
    let is_creation = |rule: &Value| {
        let operations = rule.get("operations").and_then(Value::as_array).unwrap_or_default();
        matches!(operations, [only] if only.as_str() == Some("CREATE"))
    };
    let rules = list(&["spec", "matchConstraints", "resourceRules"]);
    if !list(&["spec", "matchConditions"]).is_empty() || !rules.is_empty() && rules.iter().all(is_creation) {
        return;
    }
    for (index, mutation) in list(&["spec", "mutations"]).iter().enumerate() {
        let expression = mutation.path(&["jsonPatch", "expression"]).and_then(Value::as_str);
        if !expression.is_some_and(appends) {
            continue;
        }
        let at = Pointer::ROOT.key("spec").key("mutations").index(index);
        found.push(Lint {
            code: Code::AddsAgain,
            level: LintLevel::Warning,
            rule: None,
            pointer: at.key("jsonPatch").key("expression"),
            message: "the patch adds one more element each time that the object is updated".to_owned(),
            help: "add a condition that looks for the element, or match the operation CREATE alone",
            fix: None,
        });
    }
}

/// Whether an expression adds to the end of a list, whatever is in it.
fn appends(expression: &str) -> bool {
    const CONDITIONS: [&str; 4] = ["?", ".filter(", "exists", "has("];
    let has_end = ["/-\"", "/-'"].iter().any(|end| expression.contains(end));
    has_end && CONDITIONS.iter().all(|condition| !expression.contains(condition))
}
