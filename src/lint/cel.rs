//! Conditions of CEL policies that do not depend on the request.

use crate::cel::{Activation, Dialect, Env, Meter, Program, Val};
use crate::diagnostics::Code;
use crate::value::{Pointer, Value};

use super::{Lint, LintLevel};

/// The lists of conditions in `spec`.
const CONDITIONS: [&str; 2] = ["matchConditions", "targetMatchConditions"];

/// Adds findings about conditions that always have the same value.
pub(super) fn check(policy: &Value, group: &str, found: &mut Vec<Lint>) {
    let dialect = if group == "policies.kyverno.io" { Dialect::Kyverno } else { Dialect::Kubernetes };
    for list in CONDITIONS {
        let conditions = policy.path(&["spec", list]).and_then(Value::as_array).unwrap_or_default();
        for (index, condition) in conditions.iter().enumerate() {
            let expression = condition.get("expression").and_then(Value::as_str);
            let Some(value) = expression.and_then(|expression| constant(expression, dialect)) else {
                continue;
            };
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
            });
        }
    }
}

/// The value of an expression without variables.
fn constant(expression: &str, dialect: Dialect) -> Option<bool> {
    // Functions that reach outside are those of Kyverno.
    let env = Env::new(Dialect::Kubernetes);
    let program = Program::compile(&env, expression).ok()?;
    Program::compile(&Env::policy(dialect), expression).ok()?;
    match program.evaluate(&Activation::new(&env, &[]), &mut Meter::default()) {
        Ok(Val::Bool(value)) => Some(value),
        _ => None,
    }
}
