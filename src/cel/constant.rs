//! Expressions whose value no variable decides.

use crate::value::Text;

use super::ast::{Expr, Kind};
use super::{Activation, Dialect, Env, Meter, Program, Val, parser};

/// The value of a condition that is the same for all requests; `None` if it may not be. `known` are variables of the policy
/// that are, `operations` those of its requests; empty if they may be any.
pub fn constant(
    source: &str,
    dialect: Dialect,
    (known, operations): (&[(Text, bool)], &[&str]),
) -> Option<bool> {
    let mut issues = Vec::new();
    let expr = parser::parse(source, dialect, &mut issues);
    // Functions that reach outside are those of Kyverno.
    let env = Env::new(Dialect::Kubernetes);
    issues.is_empty().then(|| Constants { source, env: &env, known, operations }.value(&expr))?
}

struct Constants<'a> {
    source: &'a str,
    env: &'a Env,
    known: &'a [(Text, bool)],
    operations: &'a [&'a str],
}

impl Constants<'_> {
    /// The parser limits the depth of expressions.
    fn value(&self, expr: &Expr) -> Option<bool> {
        match &expr.kind {
            Kind::Bool(value) => Some(*value),
            Kind::And(parts) => self.joined(parts, false),
            Kind::Or(parts) => self.joined(parts, true),
            Kind::Conditional(parts) => match self.value(&parts[0]) {
                Some(true) => self.value(&parts[1]),
                Some(false) => self.value(&parts[2]),
                // It may fail.
                None => None,
            },
            Kind::Call(call) if &*call.function == "!_" => Some(!self.value(call.args.first()?)?),
            Kind::Select(select) if !select.test && !select.optional => {
                let is_variable = matches!(&select.operand.kind, Kind::Ident(name) if name == "variables");
                let known = self.known.iter().rev().find(|(name, _)| *name == select.field);
                known.filter(|_| is_variable).map(|(_, value)| *value)
            }
            Kind::Call(call) => {
                self.of_operation(&call.function, &call.args).or_else(|| self.evaluated(expr))
            }
            _ => self.evaluated(expr),
        }
    }

    /// Whether the operation of a request is this one, if `operations` decides it.
    fn of_operation(&self, function: &str, args: &[Expr]) -> Option<bool> {
        let is_equality = match function {
            "_==_" => true,
            "_!=_" => false,
            _ => return None,
        };
        let is_operation = |expr: &Expr| {
            matches!(&expr.kind, Kind::Select(select)
            if &*select.field == "operation" && matches!(&select.operand.kind, Kind::Ident(name) if &**name == "request"))
        };
        let named = match args {
            [one, other] if is_operation(one) => other,
            [one, other] if is_operation(other) => one,
            _ => return None,
        };
        let Kind::String(named) = &named.kind else { return None };
        match self.operations {
            [] => None,
            [only] => Some((**only == **named) == is_equality),
            several => (!several.contains(&&**named)).then_some(!is_equality),
        }
    }

    /// The value of parts joined by `&&` or `||`, of which one that is `deciding` decides.
    fn joined(&self, parts: &[Expr], deciding: bool) -> Option<bool> {
        let values: Vec<Option<bool>> = parts.iter().map(|part| self.value(part)).collect();
        if values.contains(&Some(deciding)) {
            return Some(deciding);
        }
        values.iter().all(Option::is_some).then_some(!deciding)
    }

    /// The value of an expression without variables.
    fn evaluated(&self, expr: &Expr) -> Option<bool> {
        let text = self.source.get(expr.span.0..expr.span.1)?;
        let program = Program::compile(self.env, text).ok()?;
        match program.evaluate(&Activation::new(self.env, &[]), &mut Meter::default()) {
            Ok(Val::Bool(value)) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_operation_decides_conditions_on_it() {
        for (operations, expected) in [(&["CREATE"][..], Some(true)), (&["UPDATE"], Some(false)), (&[], None)]
        {
            let known = constant("request.operation == 'CREATE'", Dialect::Kubernetes, (&[], operations));
            assert_eq!(known, expected, "{operations:?}");
        }
    }

    #[test]
    fn what_no_variable_decides_is_constant() {
        let known = [("v".into(), false)];
        for (source, expected) in [
            ("true || object.a == 'b'", Some(true)),
            ("object.a == 'b' && 1 == 2", Some(false)),
            ("object.a == 'b' || 1 == 2", None),
            ("!(1 == 1) || !true", Some(false)),
            ("'a' == 'b' ? object.a : size([1]) == 1", Some(true)),
            ("object.a ? true : true", None),
            ("variables.v && object.a", Some(false)),
            ("variables.w", None),
            ("has(object.a)", None),
            ("request.operation == 'DELETE'", Some(false)),
            ("'DELETE' != request.operation", Some(true)),
            ("request.operation == 'CREATE'", None),
            ("object.a && request.operation == 'CONNECT'", Some(false)),
        ] {
            assert_eq!(
                constant(source, Dialect::Kyverno, (&known, &["CREATE", "UPDATE"])),
                expected,
                "{source}"
            );
        }
    }
}
