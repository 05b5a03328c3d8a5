//! Rules that an earlier one keeps from running.

use crate::diagnostics::Code;
use crate::patch::split_anchor;
use crate::value::Value;

use super::{Lint, LintLevel, Rule};

/// Adds findings about rules of a policy with `applyRules: One` that run only where an earlier rule finds nothing to change.
pub(super) fn check(policy: &Value, rules: &[Rule<'_>], found: &mut Vec<Lint>) {
    if policy.path(&["spec", "applyRules"]).and_then(Value::as_str) != Some("One") {
        return;
    }
    for (index, rule) in rules.iter().enumerate() {
        let earlier = rules[..index].iter().find(|earlier| {
            always_applies(earlier.value) && earlier.value.get("match") == rule.value.get("match")
        });
        let Some(earlier) = earlier else { continue };
        let name = earlier.name().unwrap_or_default();
        found.push(rule.found(
            Code::RuleBehindAnother,
            LintLevel::Warning,
            rule.at.key("name"),
            format!("with `applyRules: One` the rule runs only on objects that the rule `{name}` leaves as they are"),
            "write the special rule first, or remove `applyRules: One`",
        ));
    }
}

/// Whether a rule changes every object that its `match` selects, or finds it changed: it has no condition, and no anchor.
fn always_applies(rule: &Value) -> bool {
    let has = |name| rule.get(name).is_some();
    let overlay = rule.path(&["mutate", "patchStrategicMerge"]);
    !has("exclude")
        && !has("preconditions")
        && !has("celPreconditions")
        && rule.path(&["mutate", "targets"]).is_none()
        && overlay.is_some_and(|overlay| !has_anchor_or_variable(overlay))
}

fn has_anchor_or_variable(overlay: &Value) -> bool {
    let mut open = vec![overlay];
    while let Some(node) = open.pop() {
        match node {
            Value::Object(members) => {
                if members.keys().any(|key| split_anchor(key).is_some() || key.contains("{{")) {
                    return true;
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items.iter()),
            Value::String(text) if text.contains("{{") => return true,
            _ => {}
        }
    }
    false
}
