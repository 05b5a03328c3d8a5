//! Where in an expression its evaluation fails.

use std::ops::Range;

use super::Program;
use super::ast::{Expr, Kind};
use super::env::Env;
use super::error::EvalError;
use super::eval;
use super::host::Host;
use super::limits::MAX_FAULT_BYTES;
use super::meter::Meter;
use super::names::parts;
use super::parser;
use super::types::Type;
use super::value::Val;
use super::variables::Variables;
use crate::value::Text;

/// The smallest part of an expression that fails as the whole does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Its bytes in the source.
    pub span: Range<usize>,
    /// The number of the policy's variable that it is, whose own expression fails.
    pub definition: Option<usize>,
}

/// An expression whose parts are compiled, each by itself.
pub(super) struct Part {
    span: Range<usize>,
    definition: Option<usize>,
    /// `None` if it cannot fail, or cannot be compiled by itself.
    program: Option<Program>,
    binding: Option<Binding>,
    /// With a binding the first one yields the variables of the others.
    parts: Vec<Self>,
}

/// The variables of a macro.
struct Binding {
    kind: BindingKind,
    /// The number of the first one.
    first: usize,
}

/// How a macro sets its variables.
#[derive(Clone, Copy)]
enum BindingKind {
    /// To each element of a list or key of a map.
    Element,
    /// To each index and element, or key and value.
    Pair,
    /// To the value, as `cel.bind`.
    Value,
    /// To what is inside of an optional value.
    Inside,
}

impl Part {
    pub(super) fn of(env: &Env, source: &str) -> Self {
        let expr = parser::parse(source, env.dialect(), &mut Vec::new());
        // Conditions have no `Object{…}`, but then they do not compile with one either.
        let env = env.clone().with_messages();
        let mut compiler = Compiler { source, left: MAX_FAULT_BYTES };
        Self { program: None, ..compiler.part(&env, &expr) }
    }

    /// Finds the part that fails with the error of the whole.
    pub(super) fn fault(&self, variables: &dyn Variables, error: &EvalError, meter: &mut Meter) -> Fault {
        if error.is_final() {
            // To evaluate parts again would cost as much. A variable has its own limit, and its result is known.
            let part = self.exceeding(variables, error).unwrap_or(self);
            return Fault { span: part.span.clone(), definition: part.definition };
        }
        let unbound = if self.binding.is_some() { 1 } else { self.parts.len() };
        if let Some(part) = self.parts.iter().take(unbound).find(|part| part.fails(variables, error, meter)) {
            return part.fault(variables, error, meter);
        }
        for values in self.bound_values(variables, meter) {
            let first = self.binding.as_ref().map_or(0, |binding| binding.first);
            let locals = Locals { outer: variables, first, values };
            if let Some(part) = self.parts.iter().skip(1).find(|part| part.fails(&locals, error, meter)) {
                return part.fault(&locals, error, meter);
            }
        }
        Fault { span: self.span.clone(), definition: self.definition }
    }

    /// The variable of the policy that exceeded a limit.
    fn exceeding(&self, variables: &dyn Variables, error: &EvalError) -> Option<&Self> {
        match self.definition {
            Some(number) => {
                variables.known_error(number).is_some_and(|known| known == *error).then_some(self)
            }
            None => self.parts.iter().find_map(|part| part.exceeding(variables, error)),
        }
    }

    fn fails(&self, variables: &dyn Variables, error: &EvalError, meter: &mut Meter) -> bool {
        let program = self.program.as_ref();
        program.is_some_and(|program| program.evaluate(variables, meter).err().as_ref() == Some(error))
    }

    /// The values of the macro's variables, in the order in which they are set.
    fn bound_values(&self, variables: &dyn Variables, meter: &mut Meter) -> Vec<Vec<Val>> {
        let (Some(binding), Some(Self { program: Some(program), .. })) = (&self.binding, self.parts.first())
        else {
            return Vec::new();
        };
        let Ok(value) = program.evaluate(variables, meter) else { return Vec::new() };
        let length = match &value {
            Val::List(list) => list.len(),
            Val::Map(map) => map.len(),
            _ => 0,
        };
        match (binding.kind, value) {
            (BindingKind::Element, range) => {
                (0..length).map(|index| vec![eval::element(&range, index, false).0]).collect()
            }
            (BindingKind::Pair, range) => {
                let pair = |index| <[Val; 2]>::from(eval::element(&range, index, true)).to_vec();
                (0..length).map(pair).collect()
            }
            (BindingKind::Value, value) => vec![vec![value]],
            (BindingKind::Inside, Val::Optional(Some(inner))) => vec![vec![(*inner).clone()]],
            (BindingKind::Inside, _) => Vec::new(),
        }
    }
}

struct Compiler<'s> {
    source: &'s str,
    /// So many bytes may still be compiled: parts overlap.
    left: usize,
}

impl Compiler<'_> {
    /// The parser limits the depth.
    fn part(&mut self, env: &Env, expr: &Expr) -> Part {
        let (start, end) = expr.span;
        let is_whole = self.left == MAX_FAULT_BYTES;
        let text = self.source.get(start..end).filter(|text| text.len() <= self.left).unwrap_or_default();
        self.left -= text.len();
        // The whole is compiled already.
        let program = if is_whole { None } else { Program::compile(env, text).ok() };
        let names = variables(&expr.kind);
        let inner = names.iter().fold(env.clone(), |env, name| env.with_variable(name, Type::Dyn));
        let env_of = |index: usize| if index == 0 || names.is_empty() { env } else { &inner };
        let parts = parts(expr).into_iter().enumerate();
        Part {
            span: start..end,
            definition: definition(env, &expr.kind),
            program,
            binding: binding_kind(&expr.kind).map(|kind| Binding { kind, first: env.variables().count() }),
            parts: parts.map(|(index, part)| self.part(env_of(index), part)).collect(),
        }
    }
}

/// The names that a macro sets.
fn variables(kind: &Kind) -> Vec<&Text> {
    match kind {
        Kind::Fold(fold) => std::iter::once(&fold.var).chain(&fold.var2).collect(),
        Kind::Bind(bind) => vec![&bind.var],
        Kind::OptMap(map) => vec![&map.var],
        _ => Vec::new(),
    }
}

fn binding_kind(kind: &Kind) -> Option<BindingKind> {
    Some(match kind {
        Kind::Fold(fold) if fold.var2.is_some() => BindingKind::Pair,
        Kind::Fold(_) => BindingKind::Element,
        Kind::Bind(_) => BindingKind::Value,
        Kind::OptMap(_) => BindingKind::Inside,
        _ => return None,
    })
}

/// The number of the policy's variable that an expression is.
fn definition(env: &Env, kind: &Kind) -> Option<usize> {
    let Kind::Select(select) = kind else { return None };
    let is_variables = matches!(&select.operand.kind, Kind::Ident(name) if &**name == "variables");
    let found = is_variables.then(|| env.definition(&select.field))?;
    found.map(|(number, _)| number)
}

/// The variables of a macro beside those around it.
struct Locals<'a> {
    outer: &'a dyn Variables,
    /// The number of the first one.
    first: usize,
    values: Vec<Val>,
}

impl Variables for Locals<'_> {
    fn variable(&self, number: usize) -> Option<Val> {
        match number.checked_sub(self.first) {
            Some(number) => self.values.get(number).cloned(),
            None => self.outer.variable(number),
        }
    }

    fn name(&self, number: usize) -> String {
        self.outer.name(number)
    }

    fn definition(&self, number: usize) -> Result<Val, EvalError> {
        self.outer.definition(number)
    }

    fn known_error(&self, number: usize) -> Option<EvalError> {
        self.outer.known_error(number)
    }

    fn host(&self) -> Option<&dyn Host> {
        self.outer.host()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cel::{Activation, Dialect, Numbers};
    use crate::value::Value;

    #[test]
    fn the_smallest_part_that_fails_is_found() {
        let mut env = Env::policy(Dialect::Kyverno);
        let team = Program::compile(&env, "object.metadata.labels.team").unwrap();
        env.define("team", Some(&team));
        let definitions = [team];
        let object =
            Value::from_json(r#"{"metadata":{"name":"web"},"list":[{"a":1},{"b":2}],"map":{"k":"v"}}"#)
                .unwrap();
        let mut activation = Activation::new(&env, &definitions);
        activation.set("object", Val::from_json(&object, Numbers::Exact));
        for (expression, part) in [
            ("object.metadata.labels['team'] == 'a' && true", "object.metadata.labels"),
            ("true && has(object.spec.replicas)", "object.spec"),
            ("object.list.map(x, x.a + 1).size() > 1", "x.a"),
            ("object.list.all(i, x, object.list.filter(y, y.c == x).size() == i)", "y.c"),
            (
                "object.map.all(k, object.map[k].startsWith(k) || object.map[k + k] == '')",
                "object.map[k + k]",
            ),
            ("object.metadata.name + 1", "object.metadata.name + 1"),
            ("int(object.metadata.name) > 1", "int(object.metadata.name)"),
            ("cel.bind(x, object.metadata, x.nope == x.name)", "x.nope"),
            ("object.?metadata.optMap(m, m.nope).hasValue()", "m.nope"),
            ("Object{metadata: Object.metadata{labels: {\"a\": string(object.nope)}}}", "object.nope"),
            ("[dyn('a'), dyn(variables.team)]", "variables.team"),
            ("object.list.all(object, object.a > 0)", "object.a"),
            ("[1, 2].all(x, [x].all(x, x / 0 == 1))", "x / 0"),
        ] {
            let env = env.clone().with_messages();
            let program = Program::compile(&env, expression).unwrap();
            let error = program.evaluate(&activation, &mut Meter::default()).unwrap_err();
            let fault = program.fault(&env, &activation, &error);
            assert_eq!(&expression[fault.span], part, "{expression}: {error}");
            assert_eq!(fault.definition.is_some(), part == "variables.team", "{expression}");
        }
    }
}
