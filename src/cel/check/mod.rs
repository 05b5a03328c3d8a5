//! Types of expressions, and the plan by which they are evaluated.

mod calls;
mod literals;
mod macros;
mod validate;

use crate::value::Text;

use super::ast::{Expr, Index, Kind, Select};
use super::cost::CostRule;
use super::env::{Dialect, Env};
use super::error::Issue;
use super::functions;
use super::plan::{CallStep, Path, Qualifier, QualifierKey, Root, Step};
use super::types::{Type, Unifier};
use crate::cel::value::Val;

/// Checks an expression: its plan and type, unless there are issues.
pub(super) fn check(env: &Env, expr: &Expr, issues: &mut Vec<Issue>) -> (Step, Type) {
    let mut checker = Checker {
        env,
        unifier: Unifier::default(),
        locals: Vec::new(),
        issues,
        homogeneous: Vec::new(),
        in_format: false,
        elements: Vec::new(),
    };
    let (step, t) = checker.check(expr);
    if checker.issues.is_empty() {
        checker.check_homogeneous();
    }
    let t = checker.unifier.resolved(&t, true);
    (step, t)
}

struct Checker<'a> {
    env: &'a Env,
    unifier: Unifier,
    /// The variables of the macros around the expression, the innermost last.
    locals: Vec<(Text, Type)>,
    issues: &'a mut Vec<Issue>,
    /// The element types of each literal list, keys and values of each literal map.
    homogeneous: Vec<Vec<(usize, Type)>>,
    in_format: bool,
    /// The types of the elements of the literal list that was checked last.
    elements: Vec<(usize, Type)>,
}

type Checked = (Step, Type);

/// The variable of the API server that asks for rights.
const AUTHORIZER: &str = "authorizer";

const MAX_ISSUES: usize = 100;

impl Checker<'_> {
    fn report(&mut self, at: usize, message: impl Into<String>) {
        if self.issues.len() < MAX_ISSUES {
            self.issues.push(Issue { offset: at, message: message.into() });
        }
    }

    /// What stands for an expression that is refused.
    fn refused(&mut self, at: usize, message: impl Into<String>) -> Checked {
        self.report(at, message);
        (Step::Const(Val::Null), Type::Error)
    }

    fn check(&mut self, expr: &Expr) -> Checked {
        let (step, t) = match &expr.kind {
            Kind::Null => (Step::Const(Val::Null), Type::Null),
            Kind::Bool(value) => (Step::Const(Val::Bool(*value)), Type::Bool),
            Kind::Int(value) => (Step::Const(Val::Int(*value)), Type::Int),
            Kind::Uint(value) => (Step::Const(Val::Uint(*value)), Type::Uint),
            Kind::Double(value) => (Step::Const(Val::Double(*value)), Type::Double),
            Kind::String(text) => (Step::Const(Val::String(text.clone())), Type::String),
            Kind::Bytes(bytes) => (Step::Const(Val::bytes(bytes.as_slice())), Type::Bytes),
            Kind::Ident(name) => self.ident(expr.at, name),
            Kind::Select(select) => self.select(expr, select),
            Kind::Index(index) => self.index(expr.at, index),
            Kind::Call(call) => self.call(expr.at, call),
            Kind::And(terms) => {
                let terms = self.logical(terms);
                (Step::And(terms), Type::Bool)
            }
            Kind::Or(terms) => {
                let terms = self.logical(terms);
                (Step::Or(terms), Type::Bool)
            }
            Kind::Conditional(parts) => self.conditional(expr.at, parts),
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Message(message) => self.message(expr.at, message),
            Kind::Fold(fold) => self.fold(fold),
            Kind::Bind(bind) => self.bind(bind),
            Kind::OptMap(opt_map) => self.opt_map(expr.at, opt_map),
            Kind::Error => (Step::Const(Val::Null), Type::Error),
        };
        if t.is_large() {
            return self.refused(expr.at, "the type of the expression is too large");
        }
        (step, t)
    }

    fn resolved(&self, t: &Type) -> Type {
        self.unifier.resolved(t, false)
    }

    fn ident(&mut self, at: usize, name: &Text) -> Checked {
        let plain = name.trim_start_matches('.');
        if !name.starts_with('.')
            && let Some(found) = self.locals.iter().rposition(|(known, _)| known == name)
        {
            let t = self.locals[found].1.clone();
            return (path(Root::Local(found)), t);
        }
        if let Some((number, t)) = self.env.variable(plain) {
            return (path(Root::Variable(number)), t.clone());
        }
        if let Some(t) = self.env.type_named(plain) {
            return self.type_value(at, t);
        }
        let reason = match (plain, self.env.dialect()) {
            (AUTHORIZER, Dialect::Kubernetes) => {
                ", which is not supported here: only a cluster knows the rights"
            }
            (AUTHORIZER, Dialect::Kyverno) => ", which only the API server has",
            _ => "",
        };
        self.refused(at, format!("undeclared reference to '{plain}'{reason}"))
    }

    /// Whether a name is that of a variable.
    fn is_declared(&self, name: &Text) -> bool {
        self.locals.iter().any(|(known, _)| known == name) || self.env.variable(name).is_some()
    }

    /// A type as a value, which the types of messages cannot be.
    fn type_value(&mut self, at: usize, t: Type) -> Checked {
        if let Type::Named(name) = &t {
            return self.refused(at, format!("reference to undefined type: {name}"));
        }
        (Step::Const(Val::Type(t.clone().into())), Type::Type(Some(t.into())))
    }

    fn select(&mut self, expr: &Expr, select: &Select) -> Checked {
        if !select.test
            && !select.optional
            && let Some(name) = expr.qualified_name()
            && !self.locals.iter().any(|(known, _)| name.split('.').next() == Some(&**known))
        {
            if let Some((number, t)) = self.env.variable(&name) {
                return (path(Root::Variable(number)), t.clone());
            }
            if let Some(t) = self.env.type_named(&name) {
                return self.type_value(expr.at, t);
            }
        }
        let (operand, operand_type) = self.check(&select.operand);
        let operand_type = self.resolved(&operand_type);
        let (target, was_optional) = operand_type.unwrapped();
        let t = self.field_type(expr.at, target, &select.field);
        let t = match (&t, was_optional || select.optional) {
            (Type::Error, _) => Type::Error,
            (t, true) => Type::optional(self.resolved(t)),
            (t, false) => self.resolved(t),
        };
        if Env::is_variables(&operand_type)
            && let Some((number, _)) = self.env.definition(&select.field)
        {
            let step = self.definition(number, select);
            return (step, if select.test { Type::Bool } else { t });
        }
        let key = QualifierKey::Field(select.field.clone());
        let of_message = matches!(target, Type::Named(_));
        let qualifier = Qualifier { key, optional: select.optional, of_message };
        (qualified(operand, qualifier, select.test), if select.test { Type::Bool } else { t })
    }

    /// A variable of the policy. Neither `has` nor `.?` rescues one that fails.
    fn definition(&self, number: usize, select: &Select) -> Step {
        let root = Root::Definition(number);
        let step = Step::Path(Box::new(Path { root, qualifiers: Vec::new(), test: select.test }));
        match functions::find("optional.of", self.env.dialect()) {
            Some(function) if select.optional => Step::Call(Box::new(CallStep {
                function,
                overload: function.overloads.first(),
                cost: CostRule::Fixed(0),
                regexp: None,
                args: vec![step],
            })),
            _ => step,
        }
    }

    fn field_type(&mut self, at: usize, target: &Type, field: &str) -> Type {
        match target {
            Type::Map(entry) => entry.1.clone(),
            Type::Named(name) => match self.env.field(name, field) {
                Some(t) => t,
                None => {
                    self.report(at, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Var(_) => {
                self.unifier.is_assignable(&Type::Dyn, target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.report(at, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        }
    }

    fn index(&mut self, at: usize, index: &Index) -> Checked {
        let (operand, operand_type) = self.check(&index.operand);
        let (key, key_type) = self.check(&index.index);
        let function = if index.optional { "_[?_]" } else { "_[_]" };
        let t = self
            .overload(at, function, false, &[operand_type, key_type])
            .map_or(Type::Error, |found| found.1);
        let key = match key {
            Step::Const(value) => QualifierKey::Const(value),
            step => QualifierKey::Step(step),
        };
        (qualified(operand, Qualifier { key, optional: index.optional, of_message: false }, false), t)
    }

    fn logical(&mut self, terms: &[Expr]) -> Vec<Step> {
        let mut steps = Vec::with_capacity(terms.len());
        for term in terms {
            let (step, t) = self.check(term);
            self.expect_bool(term.at, &t);
            steps.push(step);
        }
        steps
    }

    fn expect_bool(&mut self, at: usize, t: &Type) {
        if !self.unifier.is_assignable(t, &Type::Bool) {
            let found = self.resolved(t);
            self.report(at, format!("expected type 'bool' but found '{found}'"));
        }
    }

    fn conditional(&mut self, at: usize, parts: &[Expr; 3]) -> Checked {
        let checked = [self.check(&parts[0]), self.check(&parts[1]), self.check(&parts[2])];
        let types = [checked[0].1.clone(), checked[1].1.clone(), checked[2].1.clone()];
        let t = self.overload(at, "_?_:_", false, &types).map_or(Type::Error, |found| found.1);
        (Step::Conditional(Box::new(checked.map(|(step, _)| step))), t)
    }
}

fn path(root: Root) -> Step {
    Step::Path(Box::new(Path { root, qualifiers: Vec::new(), test: false }))
}

/// One more selection from what is selected already.
fn qualified(operand: Step, qualifier: Qualifier, test: bool) -> Step {
    match operand {
        Step::Path(mut inner) if !inner.test => {
            inner.qualifiers.push(qualifier);
            inner.test = test;
            Step::Path(inner)
        }
        step => Step::Path(Box::new(Path { root: Root::Step(step), qualifiers: vec![qualifier], test })),
    }
}
