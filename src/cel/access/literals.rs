//! The literals that expressions compare values with, or write.

use crate::cel::ast::{Expr, Kind};
use crate::value::{Number, Step, Text, Value};

use super::Access;

/// The most literals that are kept, and how deep calls are searched for values of the object.
const MAX_LITERALS: usize = 2000;
const MAX_DEPTH: usize = 8;

impl Access {
    /// Notes that the arguments of a call are compared with each other.
    pub(super) fn compared(&mut self, args: &[&Expr]) {
        let literals: Vec<Value> = args.iter().flat_map(|arg| literals(arg)).collect();
        if literals.is_empty() {
            return;
        }
        for place in args.iter().flat_map(|arg| self.deep_places(arg, 0)).collect::<Vec<_>>() {
            literals.iter().for_each(|literal| self.note(&place, literal));
        }
    }

    /// Notes the value that a mutation sets.
    pub(super) fn set(&mut self, value: &Expr, path: &[Step]) {
        literals(value).iter().for_each(|literal| self.note(path, literal));
    }

    fn note(&mut self, path: &[Step], literal: &Value) {
        let literal = (path.to_vec(), literal.clone());
        if self.literals.len() < MAX_LITERALS && !self.literals.contains(&literal) {
            self.literals.push(literal);
        }
    }

    /// Where the parts of a value come from: for `c.image.split("/")[0]` the image.
    fn deep_places(&mut self, expr: &Expr, depth: usize) -> Vec<Vec<Step>> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        match &expr.kind {
            Kind::Call(call) => {
                let args: Vec<&Expr> = call.target.iter().chain(&call.args).collect();
                args.into_iter().flat_map(|arg| self.deep_places(arg, depth + 1)).collect()
            }
            Kind::Index(index) if matches!(index.operand.kind, Kind::Call(_)) => {
                self.deep_places(&index.operand, depth + 1)
            }
            // The folds around it know the variables of their own.
            Kind::Ident(_) | Kind::Select(_) | Kind::Index(_) => self.places(expr),
            _ => Vec::new(),
        }
    }
}

/// The value of a literal, or those of the elements of a list of literals.
fn literals(expr: &Expr) -> Vec<Value> {
    let number = |text: String| Number::parse(&text).map(Value::Number).into_iter().collect();
    match &expr.kind {
        Kind::Bool(value) => vec![Value::Bool(*value)],
        Kind::Int(value) => number(value.to_string()),
        Kind::Uint(value) => number(value.to_string()),
        Kind::Double(value) => Number::from_f64(*value).map(Value::Number).into_iter().collect(),
        Kind::String(text) => vec![Value::String(Text::clone(text))],
        Kind::List(elements) => {
            let scalars = elements.iter().filter(|element| !matches!(element.value.kind, Kind::List(_)));
            scalars.flat_map(|element| literals(&element.value)).collect()
        }
        _ => Vec::new(),
    }
}
