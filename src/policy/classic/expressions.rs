//! The JMESPath expressions in the texts of a rule.

use crate::jmespath::Expression;
use crate::value::{Pointer, Segment, Value};
use crate::variables::{Query, replace_variables};

use super::strings::each_string;
use super::variable_checks::MAX_NESTING;

/// Visits the expressions of a rule, each with the place of its text: variables, from the inside out, and what is an
/// expression without braces. Those in `match` and `exclude` are none.
pub fn each_expression(rule: &Value, visit: &mut dyn FnMut(&Pointer, &Expression)) {
    for (key, member) in rule.as_object().into_iter().flat_map(|members| members.iter()) {
        if matches!(&**key, "match" | "exclude" | "name") {
            continue;
        }
        each_string(member, &mut Pointer::ROOT.key(key.clone()), &mut |at, text| {
            let texts = match text {
                text if is_expression(at.segments()) => vec![text.to_string()],
                text if text.contains("{{") => variables(text).0,
                _ => return,
            };
            for text in texts {
                if let Ok(expression) = Query::new(&text).expression() {
                    visit(at, expression);
                }
            }
        });
    }
}

/// Whether a text is a variable alone whose value is never a text.
pub fn is_variable_without_text(text: &str) -> bool {
    let mut found = Vec::new();
    let rest = replace_variables(text, |expression| {
        found.push(Query::new(expression));
        String::new()
    });
    match (rest, &*found) {
        (Some(rest), [only]) => rest.is_empty() && only.expression().is_ok_and(Expression::is_never_text),
        _ => false,
    }
}

/// Whether strings at this place of a rule are expressions without braces: `list` of a foreach, `jmesPath` in a context.
pub(super) fn is_expression(at: &[Segment]) -> bool {
    let is = |segment: &Segment, name: &str| matches!(segment, Segment::Key(key) if **key == *name);
    match at {
        [.., foreach, Segment::Index(_), list] if is(foreach, "foreach") && is(list, "list") => true,
        [.., context, Segment::Index(_), _, path] => is(context, "context") && is(path, "jmesPath"),
        _ => false,
    }
}

/// The variables of a text, from the inside out, and what is left of it without them.
pub(super) fn variables(text: &str) -> (Vec<String>, String) {
    let mut expressions = Vec::new();
    let mut rest = text.to_owned();
    for _ in 0..MAX_NESTING {
        let next = replace_variables(&rest, |expression| {
            expressions.push(expression.to_owned());
            "null".into()
        });
        match next {
            Some(next) => rest = next,
            None => break,
        }
    }
    (expressions, rest)
}
