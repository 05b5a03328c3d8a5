//! The preconditions of a rule.

use crate::pattern::Conditions;
use crate::semantics::Semantics;
use crate::value::{Pointer, Value};
use crate::variables::Template;

use crate::policy::error::PolicyError;

/// Reads the block at a place of a rule; `None` where there is none, or where it is wrong.
pub(super) fn read(
    rule: &Value,
    below: &Pointer,
    at: &Pointer,
    semantics: Semantics,
    errors: &mut Vec<PolicyError>,
) -> Option<Conditions<Template>> {
    let block = rule.pointed(below).filter(|block| !block.is_null())?;
    let at = at.join(below);
    match Conditions::<Value>::parse(block) {
        Ok(conditions) => {
            Some(conditions.map(|_, pointer| Template::prepare_side(rule, &below.join(pointer), semantics)))
        }
        Err(found) => {
            errors.extend(found.into_iter().map(|error| PolicyError {
                suggestion: error.suggestion,
                ..PolicyError::new(at.join(&error.pointer), error.message)
            }));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_that_never_come_are_errors() {
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
            let mut errors = Vec::new();
            let below = Pointer::ROOT.key("preconditions");
            let rule = Value::from_json(&rule).unwrap();
            let conditions = read(&rule, &below, &Pointer::ROOT, Semantics::Documented, &mut errors);
            assert_eq!(errors.len(), expected, "{key} {value}: {errors:?}");
            assert_eq!(conditions.is_some(), expected == 0);
        }
    }
}
