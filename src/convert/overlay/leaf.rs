//! Patterns of anchors as conditions.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::expression::{Mixed, Scope, holds_variables, loop_variable};
use crate::convert::path::Path;
use crate::convert::problem::Problem;
use crate::convert::text_match::{is_never_a_quantity, wildcard};
use crate::convert::ty::Ty;
use crate::convert::val::literal;
use crate::patch::split_anchor;
use crate::pattern::Range;
use crate::value::{GoDuration, Number, Quantity, Value};

/// Whether a value is there and matches the pattern of an anchor.
pub(super) fn anchor_test(path: &Path<'_>, pattern: &Value, scope: &Scope<'_>) -> Result<Cel, Problem> {
    match pattern {
        Value::Object(_) => map_test(path, pattern, scope),
        Value::Array(items) => list_test(path, items, scope),
        _ => match &path.ty {
            // Each element must match; an empty list does.
            Ty::List(_) => {
                let (variable, element) = element_of(path, scope);
                let test = scalar_test(&element, pattern, scope)?;
                let test = path.strict().call("all", [Cel::atom(variable), test]);
                Ok(Cel::all(vec![path.has(), test]))
            }
            Ty::Map(_) | Ty::Object(_) => Ok(Cel::bool(false)),
            _ => scalar_test(path, pattern, scope),
        },
    }
}

fn element_of<'a>(path: &Path<'a>, scope: &Scope<'_>) -> (String, Path<'a>) {
    let name = path.names().last().cloned().unwrap_or_default();
    let variable = loop_variable(&name, &scope.loop_variables());
    let element = path.element(&variable);
    (variable, element)
}

/// Every member must match; one that is absent does not.
fn map_test(path: &Path<'_>, pattern: &Value, scope: &Scope<'_>) -> Result<Cel, Problem> {
    let members = pattern.as_object().into_iter().flat_map(|members| members.iter());
    let mut tests = vec![path.has()];
    for (key, value) in members {
        let (name, is_test) = split_anchor(key).unwrap_or((key, true));
        if !is_test {
            continue;
        }
        if crate::pattern::is_wildcard(name) || key.starts_with(['=', '^', 'X', '<']) && name != &**key {
            return Err(Problem::new(
                format!("the key `{key}` inside of a condition"),
                "its meaning is that of validation patterns",
                "write a precondition",
            ));
        }
        let member = path.member(name);
        if matches!(value, Value::Null) {
            return Err(null_pattern(key));
        }
        let test = anchor_test(&member, value, scope)?;
        // The test of a member says that its parents are there.
        tests.push(test);
    }
    if tests.len() > 1 {
        tests.remove(0);
    }
    Ok(Cel::all(tests))
}

fn null_pattern(key: &str) -> Problem {
    Problem::new(
        format!("the condition `{key}: null`"),
        "it matches null, zero and empty values",
        "write a precondition",
    )
}

/// Only the first element of the pattern counts: each element of the list must match it, and if it has anchors, one of
/// those that their conditions select.
fn list_test(path: &Path<'_>, items: &[Value], scope: &Scope<'_>) -> Result<Cel, Problem> {
    let Some(first) = items.first() else { return Ok(Cel::bool(false)) };
    let (variable, element) = element_of(path, scope);
    let has_anchor =
        first.as_object().is_some_and(|members| members.keys().any(|key| split_anchor(key).is_some()));
    let test = match first {
        Value::Object(_) => map_test(&element, first, scope)?,
        _ => scalar_test(&element, first, scope)?,
    };
    if has_anchor {
        let plain =
            first.as_object().is_some_and(|members| members.keys().any(|key| split_anchor(key).is_none()));
        if plain {
            return Err(Problem::new(
                "plain keys beside an anchor inside of a condition",
                "they must match in each element that the anchor selects",
                "write a precondition",
            ));
        }
        return Ok(path.or(Cel::List(Vec::new())).call("exists", [Cel::atom(variable), test]));
    }
    let all = path.strict().call("all", [Cel::atom(variable), test]);
    Ok(Cel::all(vec![path.has(), all]))
}

/// A scalar against a pattern.
fn scalar_test(path: &Path<'_>, pattern: &Value, scope: &Scope<'_>) -> Result<Cel, Problem> {
    let unknown = || {
        Problem::new(
            format!("the condition on `{}`", path.strict()),
            "it may read as number, quantity, duration or text, and the schema does not say which",
            "write a precondition that names the type",
        )
    };
    if holds_variables(pattern) {
        let text = pattern.as_str().unwrap_or_default();
        let value = Mixed::of(text, scope)?.value()?;
        return match (&path.ty, &value.ty) {
            (Ty::Text(_), Ty::Text(true)) => {
                Ok(Cel::all(vec![path.has(), path.strict().equals(value.value())]))
            }
            _ => Err(Problem::new(
                format!("the condition with `{text}`"),
                "its value is a pattern with wildcards and operators",
                "compare with a constant",
            )),
        };
    }
    match (pattern, &path.ty) {
        (Value::Bool(flag), Ty::Bool) => Ok(bool_test(path, *flag)),
        (Value::Bool(flag), Ty::Text(_)) => Ok(path.or(Cel::text("")).equals(Cel::text(flag.to_string()))),
        (Value::String(text), Ty::Bool) if matches!(&**text, "true" | "false") => {
            Ok(bool_test(path, &**text == "true"))
        }
        (Value::String(text), Ty::Bool) if &**text == "*" => Ok(path.has()),
        (Value::Number(number), Ty::Number) => {
            Ok(Cel::all(vec![path.has(), path.strict().equals(literal(&Value::from(number.clone())))]))
        }
        (Value::Number(number), Ty::Text(_) | Ty::Quantity) => {
            pattern_test(path, &number.to_string(), &unknown)
        }
        (Value::String(text), Ty::Text(_) | Ty::Number | Ty::Quantity) => pattern_test(path, text, &unknown),
        (Value::String(text), Ty::Any) if is_text_pattern(text) => {
            let test = pattern_test(path, text, &unknown)?;
            let is_text = Cel::function("type", [path.strict()]).equals(Cel::atom("string"));
            Ok(Cel::all(vec![path.has(), is_text, test]))
        }
        _ => Err(unknown()),
    }
}

/// A pattern that only a text can match.
fn is_text_pattern(text: &str) -> bool {
    !text.contains(['|', '&', '>', '<', '!'])
        && is_never_a_quantity(text)
        && text != "true"
        && text != "false"
}

fn bool_test(path: &Path<'_>, flag: bool) -> Cel {
    if flag {
        return path.or(Cel::bool(false)).equals(Cel::bool(true));
    }
    Cel::all(vec![path.has(), path.strict().equals(Cel::bool(false))])
}

/// Alternatives of terms that must all hold.
fn pattern_test(path: &Path<'_>, text: &str, unknown: &dyn Fn() -> Problem) -> Result<Cel, Problem> {
    let mut alternatives = Vec::new();
    for alternative in text.split('|') {
        let terms = alternative
            .split('&')
            .map(|term| term_test(path, term.trim(), unknown))
            .collect::<Result<Vec<_>, _>>()?;
        alternatives.push(Cel::all(terms));
    }
    Ok(Cel::any(alternatives))
}

fn term_test(path: &Path<'_>, term: &str, unknown: &dyn Fn() -> Problem) -> Result<Cel, Problem> {
    const OPERATORS: [(&str, Option<Operator>); 5] = [
        (">=", Some(Operator::GreaterOrEqual)),
        ("<=", Some(Operator::LessOrEqual)),
        (">", Some(Operator::Greater)),
        ("<", Some(Operator::Less)),
        ("!", None),
    ];
    let found =
        OPERATORS.iter().find_map(|(symbol, operator)| Some((*operator, term.strip_prefix(symbol)?.trim())));
    match found {
        Some((None, operand)) if term.len() > 1 => {
            // A null is no text, and a missing key matches nothing.
            let test = equality(path, operand, unknown)?;
            Ok(Cel::all(vec![path.has(), test.negated()]))
        }
        Some((Some(operator), operand)) if term.len() > 1 => order(path, operator, operand, unknown),
        _ => match Range::parse(term) {
            Some(range) if range.outside => Ok(Cel::any(vec![
                order(path, Operator::Less, range.low, unknown)?,
                order(path, Operator::Greater, range.high, unknown)?,
            ])),
            Some(range) => Ok(Cel::all(vec![
                order(path, Operator::GreaterOrEqual, range.low, unknown)?,
                order(path, Operator::LessOrEqual, range.high, unknown)?,
            ])),
            None => equality(path, term, unknown),
        },
    }
}

fn order(
    path: &Path<'_>,
    operator: Operator,
    operand: &str,
    unknown: &dyn Fn() -> Problem,
) -> Result<Cel, Problem> {
    let test = match &path.ty {
        Ty::Number => match Number::parse(operand) {
            Some(number) => path.strict().compare(operator, literal(&Value::from(number))),
            None if Quantity::parse(operand).is_ok() || GoDuration::parse(operand).is_ok() => {
                return Err(unknown());
            }
            None => return Ok(Cel::bool(false)),
        },
        Ty::Quantity if Quantity::parse(operand).is_ok() => {
            quantities(path.strict(), operand).compare(operator, Cel::int(0))
        }
        _ => return Err(unknown()),
    };
    Ok(Cel::all(vec![path.has(), test]))
}

fn quantities(cel: Cel, operand: &str) -> Cel {
    let quantity = |cel| Cel::function("quantity", [cel]);
    quantity(Cel::function("string", [cel])).call("compareTo", [quantity(Cel::text(operand))])
}

fn equality(path: &Path<'_>, operand: &str, unknown: &dyn Fn() -> Problem) -> Result<Cel, Problem> {
    if operand.bytes().all(|byte| byte == b'*') && !operand.is_empty() {
        return Ok(path.has());
    }
    let is_sized = Quantity::parse(operand).is_ok() || (GoDuration::parse(operand).is_ok() && operand != "0");
    match &path.ty {
        Ty::Number if Number::parse(operand).is_some() => {
            let number = Number::parse(operand).map(Value::from).unwrap_or_default();
            Ok(Cel::all(vec![path.has(), path.strict().equals(literal(&number))]))
        }
        Ty::Number => Err(unknown()),
        Ty::Quantity if is_sized => {
            Ok(Cel::all(vec![path.has(), quantities(path.strict(), operand).equals(Cel::int(0))]))
        }
        Ty::Quantity if operand == "?*" => Ok(path.has()),
        // The API server refuses an empty text where one is required.
        Ty::Text(_) if operand == "?*" && path.is_sure() => Ok(Cel::bool(true)),
        Ty::Quantity => Err(unknown()),
        _ if is_sized && operand.contains(|c: char| c.is_ascii_digit()) => Err(unknown()),
        _ => {
            let text = path.or(Cel::text(""));
            let test = wildcard(text, operand);
            // A missing text is no empty one.
            Ok(if crate::pattern::matches(operand, "") { Cel::all(vec![path.has(), test]) } else { test })
        }
    }
}
