//! `AnyIn` and its like.

use crate::convert::cel_text::{Cel, Operator};
use crate::convert::expression::{Scope, loop_variable};
use crate::convert::problem::Problem;
use crate::convert::text_match::{computed_wildcard, wildcard};
use crate::convert::ty::Ty;
use crate::convert::val::Val;
use crate::pattern::{Operator as Condition, Range};
use crate::value::Value;

/// What the key is searched in.
enum Values<'a> {
    Constants(Vec<String>),
    List(Val<'a>),
    One(Val<'a>),
}

pub(super) fn membership<'a>(
    operator: Condition,
    key: &Val<'a>,
    value: &Val<'a>,
    scope: &Scope<'a>,
) -> Result<Cel, Problem> {
    let is_negative = matches!(operator, Condition::NotIn | Condition::AnyNotIn | Condition::AllNotIn);
    let values = values(key, value, is_negative)?;
    let Some(values) = values else { return Ok(Cel::bool(false)) };
    let is_exact = matches!(operator, Condition::In | Condition::NotIn);
    match &key.ty {
        Ty::List(elements) if is_exact && !elements.is_text() => Err(Problem::new(
            format!("the membership of `{}`", key.value()),
            "the deprecated operator takes only texts",
            "use `AnyIn` or `AllIn`",
        )),
        Ty::List(elements) => {
            let variable = loop_variable("", &scope.loop_variables());
            let name = Cel::atom(&*variable);
            let element = Val::sure(name.clone(), Ty::clone(elements));
            let member = member(&element, &values, is_exact)?;
            let quantified = |method, test| match key.fails() {
                true => key.value().call(method, [name.clone(), test]),
                false => key.value().quantified(method, &variable, test),
            };
            Ok(match operator {
                Condition::AnyIn => quantified("exists", member),
                Condition::In | Condition::AllIn => quantified("all", member),
                Condition::NotIn | Condition::AnyNotIn => quantified("exists", member.negated()),
                _ => quantified("exists", member).negated(),
            })
        }
        Ty::Text(_) | Ty::Number | Ty::Bool | Ty::Quantity => {
            let member = member(key, &values, false)?;
            Ok(if is_negative { member.negated() } else { member })
        }
        Ty::Null | Ty::Map(_) | Ty::Object(_) => Ok(Cel::bool(false)),
        Ty::Any => Err(Problem::new(
            format!("the membership of `{}`", key.value()),
            "the schema does not say whether it is a list",
            "give the definition of the kind with `--crds`",
        )),
    }
}

/// The values; `None` if nothing is in them, and nothing is not in them.
fn values<'a>(key: &Val<'a>, value: &Val<'a>, is_negative: bool) -> Result<Option<Values<'a>>, Problem> {
    let print = |item: &Value| match item {
        Value::String(text) => Some(text.to_string()),
        Value::Number(number) => number.integer_text(),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    let refuse = |construct: String, reason: &str| {
        Err(Problem::new(construct, reason, "write a list of plain texts, or keep the rule"))
    };
    match value.as_literal() {
        Some(Value::Array(items)) => match items.iter().map(print).collect::<Option<Vec<_>>>() {
            Some(texts) => Ok(Some(Values::Constants(texts))),
            None => refuse("a list of lists or maps".to_owned(), "it is compared by the text that Go prints"),
        },
        Some(Value::String(text)) => {
            if Range::parse(text).is_some() {
                return refuse(
                    format!("the range `{text}`"),
                    "its ends may be numbers, quantities or durations",
                );
            }
            if let Ok(parsed) = Value::from_json(text) {
                return match parsed
                    .as_array()
                    .map(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>())
                {
                    Some(Some(texts)) if !text.contains(['*', '?']) => {
                        Ok(Some(Values::Constants(texts.into_iter().map(str::to_owned).collect())))
                    }
                    _ => refuse(
                        format!("the value `{text}`"),
                        "it is JSON, and then nothing is in it or not in it",
                    ),
                };
            }
            Ok(Some(Values::Constants(vec![text.to_string()])))
        }
        Some(_) => Ok(None),
        None if value.ty.is_list() => {
            if value.present().is_some() {
                return refuse(
                    format!("the list `{}`", value.value()),
                    "it may be null, and then nothing is in it or not in it",
                );
            }
            Ok(Some(Values::List(value.clone())))
        }
        None if value.ty.is_text() && !is_negative && !key.ty.is_list() => {
            Ok(Some(Values::One(value.clone())))
        }
        None => refuse(
            format!("the membership in `{}`", value.value()),
            "it may be a list, the JSON text of one, a range or a pattern",
        ),
    }
}

/// Whether a regular expression matches one of the texts.
fn any_matches(texts: &[String], expression: Cel) -> Cel {
    if let [text] = texts {
        return Cel::text(text).call("matches", [expression]);
    }
    let list = Cel::List(texts.iter().map(Cel::text).collect());
    let name = Cel::atom(if expression.is_free("text") { "text2" } else { "text" });
    list.call("exists", [name.clone(), name.call("matches", [expression])])
}

/// Whether a scalar is one of the values: each side may be a pattern for the other.
fn member(key: &Val<'_>, values: &Values<'_>, is_exact: bool) -> Result<Cel, Problem> {
    let holds_wildcards = |value: &Val<'_>| match value.as_literal() {
        Some(Value::String(text)) => text.contains(['*', '?']),
        Some(_) => false,
        None => !matches!(value.ty, Ty::Text(true) | Ty::Number | Ty::Bool),
    };
    let refuse = |value: &Val<'_>| {
        Problem::new(
            format!("the membership of `{}`", value.value()),
            "it may hold `*` or `?`, and then it is a pattern for the values",
            "compare with `Equals` in `any`",
        )
    };
    match values {
        Values::Constants(texts) => {
            if let Some(Value::String(text)) = key.as_literal() {
                return Ok(Cel::bool(texts.iter().any(|pattern| crate::pattern::matches(pattern, text))));
            }
            let cel = match key.ty {
                Ty::Text(_) => key.value(),
                Ty::Number => Cel::function("string", [Cel::function("int", [key.value()])]),
                _ => Cel::function("string", [key.value()]),
            };
            let is_pattern = |text: &&String| !is_exact && text.contains(['*', '?']);
            let plain: Vec<&String> = texts.iter().filter(|text| !is_pattern(text)).collect();
            let mut tests = Vec::new();
            match plain.as_slice() {
                [] => {}
                [one] => tests.push(cel.clone().equals(Cel::text(&***one))),
                several => {
                    let list = several.iter().map(|text| Cel::text(&***text)).collect();
                    tests.push(cel.clone().compare(Operator::In, Cel::List(list)));
                }
            }
            tests.extend(texts.iter().filter(is_pattern).map(|pattern| wildcard(cel.clone(), pattern)));
            if holds_wildcards(key) && !is_exact && !texts.is_empty() {
                tests.push(any_matches(texts, computed_wildcard(cel)));
            }
            Ok(Cel::any(tests))
        }
        Values::List(list) => {
            let elements = list.ty.element();
            let element = Val::sure(Cel::atom("e"), elements);
            if holds_wildcards(&element) {
                return Err(refuse(list));
            }
            if holds_wildcards(key) {
                return Err(refuse(key));
            }
            if !key.ty.is_text() || !element.ty.is_text() {
                return Err(Problem::new(
                    format!("the membership in `{}`", list.value()),
                    "the schema does not say that both are texts",
                    "compare texts",
                ));
            }
            Ok(found_in(key, list))
        }
        Values::One(value) => {
            if holds_wildcards(value) {
                return Err(refuse(value));
            }
            Ok(key.value().equals(value.value()))
        }
    }
}

/// Whether a text is in a list of texts.
fn found_in(key: &Val<'_>, list: &Val<'_>) -> Cel {
    // The keys of a map are what is in it.
    let within = match list.value() {
        Cel::Call { of: Some(keys), name: "sort", .. } => match *keys {
            Cel::Call { of: Some(map), name: "map", arguments } if arguments.first() == arguments.last() => {
                *map
            }
            _ => list.value(),
        },
        other => other,
    };
    if !list.fails() && key.as_literal().is_some() {
        let found = within.clone().quantified("exists", "e", Cel::atom("e").equals(key.value()));
        // Without a list of the texts in between.
        if !matches!(&found, Cel::Call { of: Some(of), .. } if **of == within) {
            return found;
        }
    }
    key.value().compare(Operator::In, within)
}
