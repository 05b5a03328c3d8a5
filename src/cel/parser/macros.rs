//! Calls that are syntax: `has`, the comprehensions, `cel.bind` and others.

use crate::value::Text;

use super::{Parser, call};
use crate::cel::ast::{Bind, Call, Element, Expr, Fold, FoldKind, Kind, OptMap};

/// The variable in which `sortBy` keeps its list; no source can write it.
const SORTED: &str = "@sortBy";

impl Parser<'_> {
    /// A call, or what a macro of this name makes of it.
    pub(super) fn call_or_macro(
        &mut self,
        at: usize,
        span: (usize, usize),
        function: &str,
        target: Option<Expr>,
        args: Vec<Expr>,
    ) -> Expr {
        let expanded = match target {
            None => self.global_macro(function, args).map_err(|args| (None, args)),
            Some(target) => self
                .receiver_macro(at, span, function, target, args)
                .map_err(|(target, args)| (Some(target), args)),
        };
        match expanded {
            Ok(kind) => Expr { at, span, kind },
            Err((target, args)) => {
                let call = Call { function: function.into(), target, args };
                Expr { at, span, kind: Kind::Call(Box::new(call)) }
            }
        }
    }

    fn global_macro(&mut self, function: &str, mut args: Vec<Expr>) -> Result<Kind, Vec<Expr>> {
        if function != "has" || args.len() != 1 {
            return Err(args);
        }
        match args.pop().map(|arg| (arg.at, arg.kind)) {
            Some((_, Kind::Select(mut select))) if !select.test && !select.optional => {
                select.test = true;
                Ok(Kind::Select(select))
            }
            // A fault in the argument is reported already.
            Some((_, Kind::Error)) => Ok(Kind::Error),
            Some((at, _)) => {
                self.report(at, "invalid argument to has() macro");
                Ok(Kind::Error)
            }
            None => Ok(Kind::Error),
        }
    }

    fn receiver_macro(
        &mut self,
        at: usize,
        span: (usize, usize),
        function: &str,
        target: Expr,
        args: Vec<Expr>,
    ) -> Result<Kind, (Expr, Vec<Expr>)> {
        match (function, args.len()) {
            ("all" | "exists" | "exists_one" | "map" | "filter", 2) | ("map", 3) => {
                Ok(self.fold(function, target, args))
            }
            ("all" | "exists" | "exists_one" | "existsOne", 3)
            | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => {
                Ok(self.fold2(function, target, args))
            }
            ("existsOne", 2) => {
                self.report(at, "undeclared reference to 'existsOne', did you mean `exists_one`?");
                Ok(Kind::Error)
            }
            ("optMap" | "optFlatMap", 2) => Ok(self.opt_map(function, target, args)),
            ("sortBy", 2) => Ok(self.sort_by(at, span, target, args)),
            ("bind", 3) if is_name(&target, "cel") && self.dialect.has_bind() => Ok(self.bind(args)),
            ("greatest" | "least", _) if is_name(&target, "math") && self.dialect.has_math() => {
                Ok(self.greatest(at, span, function, args))
            }
            ("orValue", 1) if self.dialect.has_lenient_or_value() => {
                let args = [target].into_iter().chain(args).collect();
                Ok(call(at, span, "__orValueCompat__", None, args).kind)
            }
            _ => Err((target, args)),
        }
    }

    /// The name of a variable that a macro declares.
    fn variable(&mut self, arg: &Expr, message: &str) -> Option<Text> {
        match &arg.kind {
            Kind::Ident(name) if matches!(&**name, "__result__" | "@result") => {
                self.report(arg.at, "iteration variable overwrites accumulator variable");
                None
            }
            Kind::Ident(name) => Some(name.clone()),
            Kind::Error => None,
            _ => {
                self.report(arg.at, message);
                None
            }
        }
    }

    fn fold(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Kind {
        let (kind, message) = match function {
            "all" => (FoldKind::All, "argument must be a simple name"),
            "exists" => (FoldKind::Exists, "argument must be a simple name"),
            "exists_one" => (FoldKind::ExistsOne, "argument must be a simple name"),
            "map" => (FoldKind::Map, "argument is not an identifier"),
            _ => (FoldKind::Filter, "argument is not an identifier"),
        };
        let mut args = args.into_iter();
        let (Some(name), Some(second)) = (args.next(), args.next()) else { return Kind::Error };
        let Some(var) = self.variable(&name, message) else { return Kind::Error };
        let (filter, body) = match args.next() {
            Some(third) => (Some(second), third),
            None => (None, second),
        };
        Kind::Fold(Box::new(Fold { kind, range, var, var2: None, filter, body }))
    }

    fn fold2(&mut self, function: &str, range: Expr, args: Vec<Expr>) -> Kind {
        let kind = match function {
            "all" => FoldKind::All,
            "exists" => FoldKind::Exists,
            "exists_one" | "existsOne" => FoldKind::ExistsOne,
            "transformList" => FoldKind::Map,
            "transformMap" => FoldKind::TransformMap,
            _ => FoldKind::TransformEntry,
        };
        let message = "argument must be a simple name";
        let mut args = args.into_iter();
        let (Some(first), Some(second), Some(third)) = (args.next(), args.next(), args.next()) else {
            return Kind::Error;
        };
        let Some(var) = self.variable(&first, message) else { return Kind::Error };
        let Some(var2) = self.variable(&second, message) else { return Kind::Error };
        if var == var2 {
            self.report(second.at, format!("duplicate variable name: {var}"));
            return Kind::Error;
        }
        let (filter, body) = match args.next() {
            Some(fourth) => (Some(third), fourth),
            None => (None, third),
        };
        Kind::Fold(Box::new(Fold { kind, range, var, var2: Some(var2), filter, body }))
    }

    fn bind(&mut self, args: Vec<Expr>) -> Kind {
        let Ok([name, value, body]) = <[Expr; 3]>::try_from(args) else { return Kind::Error };
        let message = "cel.bind() variable names must be simple identifiers";
        let Some(var) = self.variable(&name, message) else { return Kind::Error };
        Kind::Bind(Box::new(Bind { var, value, body }))
    }

    fn opt_map(&mut self, function: &str, target: Expr, args: Vec<Expr>) -> Kind {
        let Ok([name, body]) = <[Expr; 2]>::try_from(args) else { return Kind::Error };
        let message = "optMap() variable name must be a simple identifier";
        let Some(var) = self.variable(&name, message) else { return Kind::Error };
        Kind::OptMap(Box::new(OptMap { target, var, body, flat: function == "optFlatMap" }))
    }

    /// `cel.bind(l, target, l.@sortByAssociatedKeys(l.map(var, key)))`.
    fn sort_by(&mut self, at: usize, span: (usize, usize), target: Expr, args: Vec<Expr>) -> Kind {
        let sortable = matches!(
            target.kind,
            Kind::List(_)
                | Kind::Select(_)
                | Kind::Ident(_)
                | Kind::Fold(_)
                | Kind::Bind(_)
                | Kind::OptMap(_)
                | Kind::Call(_)
                | Kind::Index(_)
                | Kind::Conditional(_)
        );
        if !sortable {
            self.report(
                target.at,
                "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
            );
            return Kind::Error;
        }
        let list = || Expr { at, span, kind: Kind::Ident(SORTED.into()) };
        let keys = self.fold("map", list(), args);
        if matches!(keys, Kind::Error) {
            return Kind::Error;
        }
        let keys = Expr { at, span, kind: keys };
        let body = call(at, span, "@sortByAssociatedKeys", Some(list()), vec![keys]);
        Kind::Bind(Box::new(Bind { var: SORTED.into(), value: target, body }))
    }

    fn greatest(&mut self, at: usize, span: (usize, usize), function: &str, args: Vec<Expr>) -> Kind {
        let name = format!("math.{function}");
        if args.is_empty() {
            self.report(at, format!("{name}() requires at least one argument"));
            return Kind::Error;
        }
        if let Some(arg) = args.iter().find(|arg| !may_be_number(arg, args.len() == 1)) {
            let at = arg.at;
            self.report(at, format!("{name}() invalid argument: it is no number"));
            return Kind::Error;
        }
        let function = if function == "greatest" { "math.@max" } else { "math.@min" };
        let args = if args.len() <= 2 {
            args
        } else {
            let element = |value| Element { value, optional: false };
            vec![Expr { at, span, kind: Kind::List(args.into_iter().map(element).collect()) }]
        };
        call(at, span, function, None, args).kind
    }
}

/// Whether a literal argument of `math.greatest` can be a number, or a list of them.
fn may_be_number(arg: &Expr, alone: bool) -> bool {
    match &arg.kind {
        Kind::Null | Kind::Bool(_) | Kind::String(_) | Kind::Bytes(_) | Kind::Map(_) | Kind::Message(_) => {
            false
        }
        Kind::List(elements) => {
            alone
                && !elements.is_empty()
                && elements.iter().all(|element| may_be_number(&element.value, false))
        }
        _ => true,
    }
}

fn is_name(expr: &Expr, name: &str) -> bool {
    matches!(&expr.kind, Kind::Ident(found) if &**found == name)
}
