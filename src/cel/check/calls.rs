//! Functions and their overloads.

use std::sync::Arc;

use crate::regexp::Regexp;
use crate::value::Text;

use super::{AUTHORIZER, Checked, Checker};
use crate::cel::ast::{Call, Expr, Kind};
use crate::cel::cost::CostRule;
use crate::cel::env::Dialect;
use crate::cel::functions::{self, Function, Overload};
use crate::cel::meter::Meter;
use crate::cel::plan::{CallStep, OrElseStep, Step};
use crate::cel::types::Type;
use crate::cel::value::Val;
use crate::cel::variables::NoVariables;

/// Conversions of constants are done when an expression is compiled.
const CONVERSIONS: &[&str] =
    &["bool", "bytes", "double", "dyn", "duration", "int", "string", "timestamp", "type", "uint"];

impl Checker<'_> {
    pub(super) fn call(&mut self, at: usize, call: &Call) -> Checked {
        let name = call.function.trim_start_matches('.');
        let dialect = self.env.dialect();
        let Some(target) = &call.target else {
            let Some(function) = functions::find(name, dialect) else {
                for arg in &call.args {
                    self.check(arg);
                }
                return self.refused(at, format!("undeclared reference to '{name}'"));
            };
            return self.resolved_call(at, function, None, &call.args);
        };
        if let Some(authorizer) = self.authorizer(target) {
            // What it returns is not known: the rest of the chain has no fault of its own.
            return self.check(authorizer);
        }
        if let Some(prefix) = target.qualified_name()
            && let Some(function) = functions::find(&format!("{prefix}.{name}"), dialect)
            && (function.name != "jsonpatch.escapeKey" || self.env.has_escape_key())
        {
            return self.resolved_call(at, function, None, &call.args);
        }
        let Some(function) = functions::find(name, dialect) else {
            for arg in &call.args {
                self.check(arg);
            }
            self.check(target);
            return self.refused(at, format!("undeclared reference to '{name}'"));
        };
        self.resolved_call(at, function, Some(target), &call.args)
    }

    fn resolved_call(
        &mut self,
        at: usize,
        function: &'static Function,
        target: Option<&Expr>,
        args: &[Expr],
    ) -> Checked {
        let was_in_format = self.in_format;
        self.in_format |= function.name == "format";
        let mut steps = Vec::with_capacity(args.len() + 1);
        let mut types = Vec::with_capacity(args.len() + 1);
        for expr in target.into_iter().chain(args) {
            let (step, t) = self.check(expr);
            steps.push(step);
            types.push(t);
        }
        self.in_format = was_in_format;
        let Some((overload, t)) = self.overload(at, &function.name, target.is_some(), &types) else {
            return (Step::Const(Val::Null), Type::Error);
        };
        let exprs: Vec<&Expr> = target.into_iter().chain(args).collect();
        self.validate_call(&function.name, &exprs);
        let regexp = self.literal_regexp(&function.name, &exprs);
        let mut cost = CostRule::of(&function.name, overload.map(|overload| overload.id.as_str()));
        if cost == CostRule::SizeOfSecond && steps.get(1).and_then(Step::as_const).is_some_and(is_set) {
            cost = CostRule::Fixed(0);
        }
        let step = CallStep { function, overload, cost, regexp, args: steps };
        self.folded(at, step, t)
    }

    /// The undeclared `authorizer` at the beginning of an expression such as `authorizer.group("").resource("pods")`.
    fn authorizer<'e>(&self, target: &'e Expr) -> Option<&'e Expr> {
        let mut expr = target;
        loop {
            expr = match &expr.kind {
                Kind::Call(call) => call.target.as_ref()?,
                Kind::Select(select) => &select.operand,
                Kind::Ident(name) if &**name == AUTHORIZER && !self.is_declared(name) => return Some(expr),
                _ => return None,
            };
        }
    }

    /// Conversions of constants become constants; those that fail are refused.
    fn folded(&mut self, at: usize, call: CallStep, t: Type) -> Checked {
        let is_empty_search = call.function.name == "@in"
            && call.args.get(1).and_then(Step::as_const).is_some_and(is_empty_list);
        if is_empty_search {
            return (Step::Const(Val::Bool(false)), t);
        }
        if matches!(call.function.name.as_str(), "or" | "orValue") {
            let value = call.function.name == "orValue";
            let mut args = call.args.into_iter();
            let (Some(left), Some(right)) = (args.next(), args.next()) else {
                return (Step::Const(Val::Null), Type::Error);
            };
            let lenient = self.env.dialect() == Dialect::Kubernetes;
            return (Step::OrElse(Box::new(OrElseStep { left, right, value, lenient })), t);
        }
        if let [arg] = call.args.as_slice()
            && CONVERSIONS.contains(&call.function.name.as_str())
            && let Some(value) = arg.as_const()
            && self.issues.is_empty()
        {
            let mut meter = Meter::default();
            meter.dialect = self.env.dialect();
            let value = std::slice::from_ref(value);
            return match crate::cel::eval::apply(&call, &NoVariables, &mut meter, value) {
                Ok(value) => (Step::Const(value), t),
                Err(error) => self.refused(at, error.to_string()),
            };
        }
        (Step::Call(Box::new(call)), t)
    }

    /// The overload that fits, if only one does, and the type of the result; `None` after a report.
    pub(super) fn overload(
        &mut self,
        at: usize,
        name: &str,
        receiver: bool,
        args: &[Type],
    ) -> Option<(Option<&'static Overload>, Type)> {
        let function = functions::find(name, self.env.dialect())?;
        let mut fitting = None;
        let mut count = 0;
        let mut result: Option<Type> = None;
        for overload in &function.overloads {
            if overload.receiver != receiver
                || overload.params.len() != args.len()
                || !overload.exists_in(self.env)
            {
                continue;
            }
            let mut params = Vec::new();
            let declared: Vec<Type> =
                overload.params.iter().map(|param| self.unifier.instance(param, &mut params)).collect();
            if !self.unifier.all_assignable(args.iter().zip(&declared)) {
                continue;
            }
            let declared_result = self.unifier.instance(&overload.result, &mut params);
            let found = self.unifier.resolved(&declared_result, false);
            count += 1;
            fitting.get_or_insert(overload);
            result = Some(match result {
                None => found,
                Some(before) if before == Type::Dyn || before == found => before,
                Some(_) => Type::Dyn,
            });
        }
        match result {
            Some(t) => Some((fitting.filter(|_| count == 1), t)),
            None => {
                self.report_no_overload(at, name, receiver, args);
                None
            }
        }
    }

    fn report_no_overload(&mut self, at: usize, name: &str, receiver: bool, args: &[Type]) {
        if args.contains(&Type::Error) && !self.issues.is_empty() {
            return;
        }
        let texts: Vec<String> = args.iter().map(|t| self.unifier.resolved(t, true).to_string()).collect();
        let applied = match texts.split_first() {
            Some((target, rest)) if receiver => format!("{target}.({})", rest.join(", ")),
            _ => format!("({})", texts.join(", ")),
        };
        self.report(at, format!("found no matching overload for '{name}' applied to '{applied}'"));
    }

    /// The compiled literal pattern of a call that has one.
    fn literal_regexp(&mut self, name: &str, args: &[&Expr]) -> Option<(Text, Arc<Regexp>)> {
        if !matches!(
            name,
            "matches" | "find" | "findAll" | "regex.extract" | "regex.extractAll" | "regex.replace"
        ) {
            return None;
        }
        let arg = args.get(1)?;
        let Kind::String(pattern) = &arg.kind else { return None };
        let at = arg.at;
        match functions::regex::compile(pattern) {
            Ok(regexp) => Some(regexp),
            Err(_) if name.starts_with("regex.") => None,
            Err(error) => {
                self.report(at, format!("invalid matches argument: {error}"));
                None
            }
        }
    }

    /// What only the values of literal arguments show.
    fn validate_call(&mut self, name: &str, args: &[&Expr]) {
        let text = |index: usize| match args.get(index).map(|arg| &arg.kind) {
            Some(Kind::String(text)) => Some(text.clone()),
            _ => None,
        };
        let fault = match name {
            "duration" if matches!(args.first().map(|arg| &arg.kind), Some(Kind::Int(_))) => Some(0),
            "duration" => text(0).filter(|text| crate::cel::time::parse_duration(text).is_err()).map(|_| 0),
            "timestamp" => text(0).filter(|text| crate::cel::time::parse_timestamp(text).is_err()).map(|_| 0),
            "format" => return self.validate_format(args),
            _ => None,
        };
        if let Some(arg) = fault.and_then(|index| args.get(index)) {
            let at = arg.at;
            self.report(at, format!("invalid {name} argument"));
        }
    }
}

/// A constant list in which the API server searches without going through it.
fn is_set(value: &Val) -> bool {
    let simple = |item: &Val| {
        matches!(
            item,
            Val::Bool(_) | Val::Int(_) | Val::Uint(_) | Val::Double(_) | Val::String(_) | Val::Null
        )
    };
    matches!(value, Val::List(list) if list.iter().all(|item| simple(&item)))
}

fn is_empty_list(value: &Val) -> bool {
    matches!(value, Val::List(list) if list.is_empty())
}
