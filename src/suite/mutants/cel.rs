//! Faults of CEL policies.

use crate::value::{Pointer, Value};

use super::Maker;

/// Operators, and those that they become.
const OPERATORS: [(&str, &str); 4] = [("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&")];

/// The faults of a policy.
pub(super) fn policy(maker: &mut Maker<'_>) {
    let name = maker.policy.path(&["metadata", "name"]).and_then(Value::as_text);
    maker.rule = name.cloned().unwrap_or_default();
    let spec = Pointer::ROOT.key("spec");
    for filter in ["excludeResourceRules", "namespaceSelector", "objectSelector"] {
        maker.without(&spec.key("matchConstraints").key(filter), &format!("`{filter}`"));
    }
    let conditions = spec.key("matchConditions");
    for index in 0..maker.length(&conditions) {
        maker.without_element(&conditions, index, "condition");
        let expression = conditions.index(index).key("expression");
        if let Some(text) = maker.node(&expression).and_then(Value::as_str) {
            maker.with(&expression, format!("!({text})").into(), "the condition is negated".to_owned());
        }
        operators(maker, &expression);
    }
    let variables = spec.key("variables");
    for index in 0..maker.length(&variables) {
        operators(maker, &variables.index(index).key("expression"));
    }
    let mutations = spec.key("mutations");
    for index in 0..maker.length(&mutations) {
        let at = mutations.index(index);
        maker.without(&at, "mutation");
        for form in ["applyConfiguration", "jsonPatch"] {
            operators(maker, &at.key(form).key("expression"));
        }
    }
}

/// Turns the first operator of each sort in an expression.
fn operators(maker: &mut Maker<'_>, at: &Pointer) {
    let Some(text) = maker.node(at).and_then(Value::as_str) else { return };
    for (operator, other) in OPERATORS {
        if text.contains(operator) {
            let mutated = text.replacen(operator, other, 1);
            maker.with(at, mutated.into(), format!("`{operator}` is `{other}`"));
        }
    }
}
