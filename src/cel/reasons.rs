//! Why a condition is false: the parts of it that decided.

use super::Program;
use super::ast::{Expr, Kind};
use super::env::Env;
use super::error::EvalError;
use super::limits::MAX_REASONS;
use super::meter::Meter;
use super::parser;
use super::value::Val;
use super::variables::Variables;

/// A part of a condition, with its value.
#[derive(Clone, Debug)]
pub struct Reason {
    /// The part as written.
    pub expression: String,
    /// Its value, or the error.
    pub value: Result<Val, EvalError>,
}

/// The parts that made a condition false: of `a && b` the first one that is false, of `a || b` both, of a comparison
/// its sides. Empty if the condition has no parts.
pub fn reasons(env: &Env, source: &str, variables: &dyn Variables) -> Vec<Reason> {
    let expr = parser::parse(source, env.dialect(), &mut Vec::new());
    let mut finder = Finder { env, source, variables, reasons: Vec::new() };
    finder.explain(&expr, true);
    finder.reasons
}

struct Finder<'a> {
    env: &'a Env,
    source: &'a str,
    variables: &'a dyn Variables,
    reasons: Vec<Reason>,
}

impl Finder<'_> {
    fn explain(&mut self, expr: &Expr, is_whole: bool) {
        match &expr.kind {
            Kind::And(parts) => {
                let is_false = |part: &&Expr| matches!(self.value(part), Ok(Val::Bool(false)));
                if let Some(part) = parts.iter().find(is_false) {
                    self.explain(part, false);
                }
            }
            Kind::Or(parts) => parts.iter().for_each(|part| self.explain(part, false)),
            Kind::Call(call) if is_comparison(&call.function) => {
                if !is_whole {
                    self.add(expr);
                }
                call.args.iter().filter(|side| !is_literal(side)).for_each(|side| self.add(side));
            }
            Kind::Call(call) if &*call.function == "!_" => {
                call.args.iter().for_each(|operand| self.add(operand));
            }
            _ if is_whole => {}
            _ => self.add(expr),
        }
    }

    fn add(&mut self, expr: &Expr) {
        if self.reasons.len() < MAX_REASONS {
            let (expression, value) = (self.text(expr).to_owned(), self.value(expr));
            self.reasons.push(Reason { expression, value });
        }
    }

    fn text(&self, expr: &Expr) -> &str {
        self.source.get(expr.span.0..expr.span.1).unwrap_or_default()
    }

    fn value(&self, expr: &Expr) -> Result<Val, EvalError> {
        let program = Program::compile(self.env, self.text(expr));
        let program = program.map_err(|error| EvalError::failed(error.to_string()))?;
        program.evaluate(self.variables, &mut Meter::default())
    }
}

fn is_comparison(function: &str) -> bool {
    ["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in"].contains(&function)
}

fn is_literal(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::List(elements) => elements.iter().all(|element| is_literal(&element.value)),
        Kind::Null
        | Kind::Bool(_)
        | Kind::Int(_)
        | Kind::Uint(_)
        | Kind::Double(_)
        | Kind::String(_)
        | Kind::Bytes(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::{Activation, Dialect, Numbers, canonical};
    use crate::value::Value;

    #[test]
    fn the_parts_that_decided_are_found() {
        let env = Env::policy(Dialect::Kyverno);
        let object = Value::from_json(r#"{"spec":{"replicas":2,"paused":true},"kind":"Pod"}"#).unwrap();
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", Val::from_json(&object, Numbers::Exact));
        for (condition, expected) in [
            ("object.kind == \"Node\"", "object.kind: \"Pod\""),
            (
                "object.kind == \"Pod\" && object.spec.replicas > 3 && false",
                "object.spec.replicas > 3: false; object.spec.replicas: 2",
            ),
            ("!object.spec.paused", "object.spec.paused: true"),
            (
                "object.kind in [\"a\", \"b\"] || has(object.nope)",
                "object.kind in [\"a\", \"b\"]: false; object.kind: \"Pod\"; has(object.nope): false",
            ),
            ("object.nope == 1", "object.nope: no such key: nope"),
            ("has(object.nope)", ""),
            ("false", ""),
        ] {
            let found = reasons(&env, condition, &activation).into_iter().map(|reason| {
                let value = reason.value.map_or_else(|error| error.to_string(), |value| canonical(&value));
                format!("{}: {value}", reason.expression)
            });
            assert_eq!(found.collect::<Vec<_>>().join("; "), expected, "{condition}");
        }
    }
}
