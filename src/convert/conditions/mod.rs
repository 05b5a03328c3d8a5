//! Preconditions as CEL.

mod membership;

use crate::pattern::Operator as Condition;
use crate::semantics::DivergenceTracker;
use crate::value::{GoDuration, Number, Pointer, Quantity, Value};

use super::cel_text::{Cel, Operator};
use super::expression::{Mixed, Scope, holds_variables};
use super::problem::{Problem, Refusal};
use super::text_match::{is_never_a_quantity, wildcard};
use super::ty::Ty;
use super::val::{Val, homogeneous, literal};

/// A test.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) cel: Cel,
    /// Whether it may fail.
    pub(super) fails: bool,
    /// Where it stands in the rule.
    pub(super) at: Pointer,
}

/// The tests of a rule, which must all hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Tests {
    pub(super) tests: Vec<Test>,
    /// The operations of requests that the tests allow, if they say so.
    pub(super) operations: Option<Vec<String>>,
}

impl Tests {
    pub(super) fn push(&mut self, cel: Cel, fails: bool, at: &Pointer) {
        if !cel.is_true() {
            self.tests.push(Test { cel, fails, at: at.clone() });
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        self.tests.extend(other.tests);
        if let Some(operations) = other.operations {
            self.restrict(&operations);
        }
    }

    /// Only for these operations.
    pub(super) fn restrict(&mut self, operations: &[String]) {
        let before =
            self.operations.take().unwrap_or_else(|| ["CREATE", "UPDATE"].map(str::to_owned).to_vec());
        self.operations = Some(before.into_iter().filter(|one| operations.contains(one)).collect());
    }

    /// One expression. A test that fails is an error unless an earlier one is false: `false && error` is false, and so is
    /// `error && false`.
    pub(super) fn joined(&self) -> Cel {
        let joined = self.tests.iter().rev().fold(None, |rest: Option<Cel>, test| {
            Some(match rest {
                None => test.cel.clone(),
                // The error of one is that of the other.
                Some(Cel::If { condition, then, otherwise })
                    if test.fails && test.cel.fails_as(&condition) =>
                {
                    Cel::if_else(Cel::all(vec![test.cel.clone(), *condition]), *then, *otherwise)
                }
                Some(rest) if test.fails && test.cel.fails_as(&rest) => {
                    Cel::all(vec![test.cel.clone(), rest])
                }
                Some(rest) if test.fails => Cel::if_else(test.cel.clone(), rest, Cel::bool(false)),
                Some(rest) => Cel::all(vec![test.cel.clone(), rest]),
            })
        });
        joined.unwrap_or_else(|| Cel::bool(true))
    }

    pub(super) fn fails(&self) -> bool {
        self.tests.iter().any(|test| test.fails)
    }
}

/// Adds the tests of a block of preconditions.
pub(super) fn preconditions(
    block: &Value,
    at: &Pointer,
    scope: &Scope<'_>,
    tests: &mut Tests,
) -> Result<(), Refusal> {
    if let Some(items) = block.as_array() {
        return all(items, at, scope, tests);
    }
    let mut first = Tests::default();
    if let Some(items) = block.get("any").and_then(Value::as_array) {
        any(items, &at.key("any"), scope, &mut first)?;
    }
    let mut rest = Tests::default();
    let items = block.get("all").and_then(Value::as_array).unwrap_or_default();
    all(items, &at.key("all"), scope, &mut rest)?;
    if let Some(operations) = rest.operations.take_if(|_| first.fails()) {
        let test = Test { cel: operation_test(&operations), fails: false, at: at.clone() };
        rest.tests.insert(0, test);
    }
    // `all` is evaluated even if `any` does not hold, and its errors count.
    if rest.fails() && !first.tests.is_empty() {
        if first.fails() {
            tests.push(both(&first, &rest), true, at);
            return Ok(());
        }
        std::mem::swap(&mut first.tests, &mut rest.tests);
    }
    tests.extend(first);
    tests.extend(rest);
    Ok(())
}

/// Whether two groups of tests hold; fails if one of them does.
fn both(one: &Tests, other: &Tests) -> Cel {
    let (one, other) = (one.joined(), other.joined());
    if one.fails_as(&other) {
        return Cel::all(vec![one, other]);
    }
    let hold = Cel::List(vec![Cel::bool(true), Cel::bool(true)]);
    Cel::List(vec![one, other]).equals(hold)
}

fn any(items: &[Value], at: &Pointer, scope: &Scope<'_>, tests: &mut Tests) -> Result<(), Refusal> {
    if let [only] = items {
        return one(only, &at.index(0), scope, tests);
    }
    let mut alternatives: Vec<(Cel, bool)> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let (cel, fails) = condition(item, &at.index(index), scope)?;
        match alternatives.last_mut() {
            // The error of one is that of the other.
            Some((before, _)) if before.fails_as(&cel) => *before = Cel::any(vec![before.clone(), cel]),
            _ => alternatives.push((cel, fails)),
        }
    }
    let fails = alternatives.iter().any(|(_, fails)| *fails);
    // The first that holds decides, and the first that fails is the error.
    let cel = alternatives.into_iter().rev().fold(Cel::bool(false), |rest, (cel, failing)| {
        if failing && !rest.is_false() {
            Cel::if_else(cel, Cel::bool(true), rest)
        } else {
            Cel::any(vec![cel, rest])
        }
    });
    tests.push(cel, fails, at);
    Ok(())
}

fn all(items: &[Value], at: &Pointer, scope: &Scope<'_>, tests: &mut Tests) -> Result<(), Refusal> {
    for (index, item) in items.iter().enumerate() {
        one(item, &at.index(index), scope, tests)?;
    }
    Ok(())
}

/// Adds a test that must hold.
fn one(item: &Value, at: &Pointer, scope: &Scope<'_>, tests: &mut Tests) -> Result<(), Refusal> {
    if let Some(operations) = operations(item) {
        // An error of a condition before it counts for all operations.
        if tests.fails() {
            tests.push(operation_test(&operations), false, at);
        } else {
            tests.restrict(&operations);
        }
        return Ok(());
    }
    let (cel, fails) = condition(item, at, scope)?;
    tests.push(cel, fails, at);
    Ok(())
}

/// Whether the request is one of these operations.
fn operation_test(operations: &[String]) -> Cel {
    let named = operations.iter().map(Cel::text).collect();
    Cel::atom("request").member("operation").compare(Operator::In, Cel::List(named))
}

/// The operations that a condition on the operation of the request allows.
fn operations(item: &Value) -> Option<Vec<String>> {
    let key = item.get("key")?.as_str()?;
    let inner = key.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    let inner = inner.split("||").next()?.trim();
    if inner != "request.operation" || key.matches("{{").count() != 1 {
        return None;
    }
    let named: Vec<String> = match item.get("value")? {
        Value::String(text) => vec![text.to_string()],
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    if named.iter().any(|name| !name.bytes().all(|byte| byte.is_ascii_uppercase())) {
        return None;
    }
    let is_in = match Condition::from_name(item.get("operator")?.as_str()?)? {
        Condition::Equals | Condition::In | Condition::AnyIn | Condition::AllIn => true,
        Condition::NotEquals | Condition::NotIn | Condition::AnyNotIn | Condition::AllNotIn => false,
        _ => return None,
    };
    let all = ["CREATE", "UPDATE"].map(str::to_owned);
    Some(all.into_iter().filter(|one| named.contains(one) == is_in).collect())
}

/// A condition, and whether it may fail.
pub(super) fn condition(item: &Value, at: &Pointer, scope: &Scope<'_>) -> Result<(Cel, bool), Refusal> {
    let side = |name: &str| {
        let value = item.get(name).cloned().unwrap_or_default();
        operand(&value, scope).map_err(|problem| problem.at(&at.key(name)))
    };
    let (key, value) = (side("key")?, side("value")?);
    let operator = item.get("operator").and_then(Value::as_str).unwrap_or_default();
    let Some(operator) = Condition::from_name(operator) else {
        return Err(
            Problem::new(format!("the operator `{operator}`"), "it is not known", "correct it").at(at)
        );
    };
    if let (Some(key), Some(value)) = (key.as_literal(), value.as_literal()) {
        return Ok((Cel::bool(operator.evaluate(key, value, &DivergenceTracker::default())), false));
    }
    let test = match operator {
        Condition::Equals => equals(&key, &value),
        Condition::NotEquals => equals(&key, &value).map(Cel::negated),
        Condition::In
        | Condition::AnyIn
        | Condition::AllIn
        | Condition::NotIn
        | Condition::AnyNotIn
        | Condition::AllNotIn => membership::membership(operator, &key, &value, scope),
        Condition::GreaterThan => order(Operator::Greater, &key, &value),
        Condition::GreaterThanOrEquals => order(Operator::GreaterOrEqual, &key, &value),
        Condition::LessThan => order(Operator::Less, &key, &value),
        Condition::LessThanOrEquals => order(Operator::LessOrEqual, &key, &value),
        Condition::DurationGreaterThan
        | Condition::DurationGreaterThanOrEquals
        | Condition::DurationLessThan
        | Condition::DurationLessThanOrEquals => Err(Problem::new(
            "a deprecated operator on durations",
            "CEL reads durations differently",
            "write the condition in seconds, with `GreaterThan` or `LessThan`",
        )),
    };
    let test = test.map_err(|problem| problem.at(at))?;
    // Nothing is equal to null, and nothing is unequal.
    let test = match key.present() {
        None => test,
        Some(present) if key.fails() => Cel::if_else(present, test, Cel::bool(false)),
        Some(present) => Cel::all(vec![present, test]),
    };
    Ok((test, key.fails() || value.fails()))
}

/// A side of a condition, variables replaced.
fn operand<'a>(value: &Value, scope: &Scope<'a>) -> Result<Val<'a>, Problem> {
    match value {
        Value::String(text) => Mixed::of(text, scope)?.value(),
        Value::Array(items) if holds_variables(value) => {
            let values = items.iter().map(|item| operand(item, scope)).collect::<Result<Vec<_>, _>>()?;
            if let Some(missing) = values.iter().find(|value| value.present().is_some()) {
                return Err(Problem::new(
                    format!("the element `{}` of a list", missing.value()),
                    "it may be null",
                    "give it a default",
                ));
            }
            let is_word = values.iter().all(|value| matches!(value.ty, Ty::Text(true)));
            let is_text = values.iter().all(|value| value.ty.is_text());
            let ty = if is_text { Ty::Text(is_word) } else { Ty::Any };
            let fails = values.iter().any(Val::fails);
            let cels = homogeneous(values.iter().map(Val::strict).collect());
            Ok(Val::failing(Cel::List(cels), Ty::List(Box::new(ty)), fails))
        }
        other if holds_variables(other) => Err(Problem::new(
            "a map with variables in a condition",
            "its equality is not translated",
            "compare its members",
        )),
        other => Ok(Val::literal(other.clone())),
    }
}

fn equals(key: &Val<'_>, value: &Val<'_>) -> Result<Cel, Problem> {
    let Some(constant) = value.as_literal() else {
        return equals_value(key, value);
    };
    let cel = key.value();
    let always = |holds: bool| Ok(Cel::bool(holds));
    match (&key.ty, constant) {
        (Ty::Bool, Value::Bool(flag)) => Ok(cel.equals(Cel::bool(*flag))),
        (Ty::Number, Value::Number(_)) => Ok(cel.equals(literal(constant))),
        (Ty::Number, Value::String(text)) => match Number::parse(text) {
            Some(number) => Ok(cel.equals(literal(&Value::from(number)))),
            None => always(false),
        },
        (Ty::Text(_), Value::String(text)) => text_equals(cel, text),
        (Ty::Quantity, Value::String(text)) => match Quantity::parse(text) {
            Ok(_) => Ok(compared(cel, text).equals(Cel::int(0))),
            Err(_) if text.contains(['*', '?']) => Err(mixed_quantity(text)),
            Err(_) => always(false),
        },
        (Ty::List(_), Value::Array(_)) | (Ty::Map(_) | Ty::Object(_), Value::Object(_)) => {
            Ok(cel.equals(literal(constant)))
        }
        (Ty::Any, Value::String(text)) => {
            let is_text = Cel::function("type", [cel.clone()]).equals(Cel::atom("string"));
            if text.contains(['*', '?']) {
                Ok(Cel::all(vec![is_text, text_equals(cel, text)?]))
            } else if is_plain_word(constant) {
                Ok(cel.equals(Cel::text(&**text)))
            } else {
                Err(mixed_quantity(text))
            }
        }
        (Ty::Any, Value::Number(_)) => Err(Problem::new(
            "a comparison with a number",
            "the schema does not say whether the key is a number or a text",
            "give the definition of the kind with `--crds`",
        )),
        (Ty::Any, Value::Bool(_) | Value::Array(_) | Value::Object(_)) => Ok(cel.equals(literal(constant))),
        _ => always(false),
    }
}

fn mixed_quantity(text: &str) -> Problem {
    Problem::new(
        format!("the comparison with `{text}`"),
        "both sides may read as quantity, as duration or as text, and the schema does not say which",
        "compare numbers with `GreaterThan`, or a text that begins with a letter",
    )
}

/// `quantity(value).compareTo(quantity("text"))`.
fn compared(cel: Cel, text: &str) -> Cel {
    let quantity = |cel| Cel::function("quantity", [cel]);
    quantity(Cel::function("string", [cel])).call("compareTo", [quantity(Cel::text(text))])
}

/// A text against a constant with wildcards.
fn text_equals(cel: Cel, text: &str) -> Result<Cel, Problem> {
    if text.contains(['*', '?']) {
        let test = wildcard(cel.clone(), text);
        if is_never_a_quantity(text) {
            return Ok(test);
        }
        // A quantity equals only quantities.
        return Ok(Cel::all(vec![test, Cel::function("isQuantity", [cel]).negated()]));
    }
    if GoDuration::parse(text).is_ok() && text != "0" {
        return Err(mixed_quantity(text));
    }
    if Quantity::parse(text).is_ok() {
        let quantity = |cel| Cel::function("quantity", [cel]);
        let test = quantity(cel.clone()).call("compareTo", [quantity(Cel::text(text))]).equals(Cel::int(0));
        return Ok(Cel::all(vec![Cel::function("isQuantity", [cel]), test]));
    }
    Ok(cel.equals(Cel::text(text)))
}

/// Both sides come from objects, or only the value does.
fn equals_value(key: &Val<'_>, value: &Val<'_>) -> Result<Cel, Problem> {
    match (&key.ty, &value.ty) {
        (Ty::Bool, Ty::Bool) | (Ty::Number, Ty::Number) => Ok(key.value().equals(value.value())),
        (Ty::Text(_), Ty::Text(true)) if key.as_literal().is_some_and(is_plain_word) => {
            Ok(key.value().equals(value.value()))
        }
        _ => Err(Problem::new(
            format!("the comparison of `{}` with `{}`", key.value(), value.value()),
            "the value is a pattern with wildcards, and both may read as quantity or duration",
            "compare with a constant, or keep the rule",
        )),
    }
}

/// A text that reads as neither quantity nor duration.
fn is_plain_word(value: &Value) -> bool {
    value.as_str().is_some_and(|text| Quantity::parse(text).is_err() && GoDuration::parse(text).is_err())
}

fn order(operator: Operator, key: &Val<'_>, value: &Val<'_>) -> Result<Cel, Problem> {
    let cel = key.value();
    let unknown = || {
        Problem::new(
            format!("the comparison of `{cel}` by size"),
            "it may read as number, quantity, duration or version, and the schema does not say which",
            "compare numbers, lengths, or fields that are quantities",
        )
    };
    match (&key.ty, value.as_literal()) {
        (Ty::Number, Some(Value::Number(_))) => Ok(cel.clone().compare(operator, value.strict())),
        (Ty::Number, Some(Value::String(text))) => match Number::parse(text) {
            Some(number) => Ok(cel.clone().compare(operator, literal(&Value::from(number)))),
            None if GoDuration::parse(text).is_ok() => Err(unknown()),
            None => Ok(Cel::bool(false)),
        },
        (Ty::Quantity, Some(Value::String(text))) if Quantity::parse(text).is_ok() => {
            Ok(compared(cel.clone(), text).compare(operator, Cel::int(0)))
        }
        (Ty::Number, None) if matches!(value.ty, Ty::Number) => {
            Ok(cel.clone().compare(operator, value.value()))
        }
        (Ty::Bool | Ty::List(_) | Ty::Map(_) | Ty::Object(_) | Ty::Null, _) => Ok(Cel::bool(false)),
        _ => Err(unknown()),
    }
}
