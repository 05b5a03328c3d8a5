//! Conditions of CEL policies that do not depend on the request, and patches that change their own result again.

use crate::cel::{Access, Dialect, Env, Program, constant, constructed};
use crate::diagnostics::Code;
use crate::value::{Pointer, Text, Value};

use super::identity::FIELDS;
use super::{Lint, LintLevel};

/// The lists of conditions in `spec`.
const CONDITIONS: [&str; 2] = ["matchConditions", "targetMatchConditions"];

fn dialect(group: &str) -> Dialect {
    if group == "policies.kyverno.io" { Dialect::Kyverno } else { Dialect::Kubernetes }
}

/// Adds findings about conditions that always have the same value.
pub(super) fn check(policy: &Value, group: &str, found: &mut Vec<Lint>) {
    let dialect = dialect(group);
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

/// Adds findings about patches that append an element, or replace a map, without a condition.
pub(super) fn check_patches(policy: &Value, group: &str, found: &mut Vec<Lint>) {
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
        let expression =
            mutation.path(&["jsonPatch", "expression"]).and_then(Value::as_str).unwrap_or_default();
        let again = appends(expression).then(|| {
            let message = "the patch adds one more element each time that the object is updated".to_owned();
            let help = "add a condition that looks for the element, or match the operation CREATE alone";
            (Code::AddsAgain, message, help)
        });
        let replaced = replaced_map(expression, dialect(group)).map(|map| {
            let message =
                format!("a patch of `{map}` replaces all that is there, and not only what it names");
            (Code::ReplacesMap, message, "use an apply configuration, or add each key by its own path")
        });
        let at = Pointer::ROOT.key("spec").key("mutations").index(index).key("jsonPatch").key("expression");
        found.extend(again.into_iter().chain(replaced).map(|(code, message, help)| Lint {
            code,
            level: LintLevel::Warning,
            rule: None,
            pointer: at.clone(),
            message,
            help,
            fix: None,
        }));
    }
}

/// Whether an expression adds to the end of a list, whatever is in it.
fn appends(expression: &str) -> bool {
    ["/-\"", "/-'"].iter().any(|end| expression.contains(end)) && is_unconditional(expression)
}

fn is_unconditional(expression: &str) -> bool {
    const CONDITIONS: [&str; 4] = ["?", ".filter(", "exists", "has("];
    CONDITIONS.iter().all(|condition| !expression.contains(condition))
}

/// The map of all labels or annotations that a JSON patch sets, whatever is in it.
fn replaced_map(expression: &str, dialect: Dialect) -> Option<&'static str> {
    let maps = ["/metadata/labels", "/metadata/annotations"].into_iter();
    let mut replaced = maps.filter(|map| sets(expression, dialect, map) && is_unconditional(expression));
    replaced.next()
}

/// Whether a JSON patch adds or replaces the value at a path, which it names in quotes.
fn sets(expression: &str, dialect: Dialect, path: &str) -> bool {
    let has =
        |text: &str| ['"', '\''].iter().any(|quote| expression.contains(&format!("{quote}{text}{quote}")));
    if !(has(path) && (has("add") || has("replace"))) {
        return false;
    }
    let mut access = Access::new(dialect, false);
    access.write(expression);
    let at = path.split('/').skip(1).fold(Pointer::ROOT, |at, name| at.key(name));
    !access.writes.is_everything() && access.writes.contains(&at)
}

/// Whether an apply configuration gives a field of the object a text of its own.
fn sets_text(expression: &str, dialect: Dialect, field: &[&str]) -> bool {
    let at = field.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
    let Some(set) = constructed(expression, dialect, &at).and_then(|set| expression.get(set)) else {
        return false;
    };
    let value = set.strip_prefix(field.last().copied().unwrap_or_default()).map(str::trim_start);
    let value = value.and_then(|value| value.strip_prefix(':')).map(str::trim_start);
    value.is_some_and(|value| value.starts_with(['"', '\'']))
}

/// Adds findings about mutations that make another object of the one they change.
pub(super) fn check_identity(policy: &Value, group: &str, found: &mut Vec<Lint>) {
    let dialect = dialect(group);
    let list = |name| policy.path(&["spec", name]).and_then(Value::as_array).unwrap_or_default();
    let conditions: Vec<String> = list("matchConditions").iter().map(Value::to_json).collect();
    for (index, mutation) in list("mutations").iter().enumerate() {
        let at = Pointer::ROOT.key("spec").key("mutations").index(index);
        let text = |kind| mutation.path(&[kind, "expression"]).and_then(Value::as_str);
        for (field, what) in FIELDS {
            let (name, path) = (field.join("."), format!("/{}", field.join("/")));
            let is_tested = conditions.iter().any(|condition| condition.contains(&format!("object.{name}")));
            let kind = if text("applyConfiguration").is_some_and(|text| sets_text(text, dialect, field)) {
                "applyConfiguration"
            } else if text("jsonPatch")
                .is_some_and(|text| sets(text, dialect, &path) && is_unconditional(text))
            {
                "jsonPatch"
            } else {
                continue;
            };
            if !is_tested {
                found.push(Lint {
                    code: Code::ChangesIdentity,
                    level: LintLevel::Warning,
                    rule: None,
                    pointer: at.key(kind).key("expression"),
                    message: format!("the mutation sets `{name}`: {what}"),
                    help: "remove the field, or write a condition if the objects of that name are meant",
                    fix: None,
                });
            }
        }
    }
}
