//! The preconditions of a rule.

use crate::diagnostics::Code;
use crate::pattern::Conditions;
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};
use crate::variables::Template;

use super::findings::Findings;
use crate::policy::error::PolicyError;

/// Reads the block at a place of a rule; `None` if there is none or it is wrong.
pub(super) fn read(
    rule: &Value,
    below: &Pointer,
    at: &Pointer,
    semantics: Semantics,
    findings: &mut Findings,
) -> Option<Conditions<Template>> {
    let block = rule.pointed(below).filter(|block| !block.is_null())?;
    let at = at.join(below);
    match Conditions::<Value>::parse(block) {
        Ok(conditions) => {
            Some(conditions.map(|_, pointer| Template::prepare_side(rule, &below.join(pointer), semantics)))
        }
        Err(found) => {
            findings.errors.extend(found.into_iter().map(|error| PolicyError {
                suggestion: error.suggestion,
                ..PolicyError::new(Code::InvalidCondition, at.join(&error.pointer), error.message)
            }));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_no_operation_has_are_errors() {
        for (key, value, expected) in [
            ("{{request.operation}}", r#""CREATE""#, 0),
            ("{{ request.operation }}", r#"["CREATE","UPDATE"]"#, 0),
            ("{{ request.operation }}", r#""{{ request.object.x }}""#, 0),
            ("{{ request.operation }}", r#""Create""#, 1),
            ("{{ request.operation }}", r#"["CREATE","Update",""]"#, 2),
            ("{{ request.operation }}", r#""""#, 1),
            ("{{ request.operation }}", "1", 1),
            ("{{ request.operation || 'BACKGROUND' }}", r#""BACKGROUND""#, 0),
            ("x{{ request.operation }}", r#""xCREATE""#, 0),
        ] {
            let rule = format!(
                r#"{{"preconditions":{{"all":[{{"key":"{key}","operator":"AnyIn","value":{value}}}]}}}}"#
            );
            let mut findings = Findings::default();
            let below = Pointer::ROOT.key("preconditions");
            let rule = Value::from_json(&rule).unwrap();
            let conditions = read(&rule, &below, &Pointer::ROOT, Semantics::Documented, &mut findings);
            assert_eq!(findings.errors.len(), expected, "{key} {value}: {findings:?}");
            assert_eq!(conditions.is_some(), expected == 0);
        }
    }
}
