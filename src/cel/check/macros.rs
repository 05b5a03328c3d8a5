//! Comprehensions and other macros.

use super::{Checked, Checker};
use crate::cel::ast::{Bind, Fold, FoldKind, OptMap};
use crate::cel::plan::{BindStep, FoldStep, OptMapStep, Step};
use crate::cel::types::Type;
use crate::cel::value::Val;

impl Checker<'_> {
    pub(super) fn fold(&mut self, fold: &Fold) -> Checked {
        let (range, range_type) = self.check(&fold.range);
        let range_type = self.resolved(&range_type);
        let (first, second) = self.variable_types(fold, &range_type);
        let depth = self.locals.len();
        self.locals.push((fold.var.clone(), first.clone()));
        if let Some(name) = &fold.var2 {
            self.locals.push((name.clone(), second));
        }
        let filter = fold.filter.as_ref().map(|filter| {
            let (step, t) = self.check(filter);
            self.expect_condition(filter.at, &t);
            step
        });
        let (body, body_type) = self.check(&fold.body);
        self.locals.truncate(depth);
        let t = match fold.kind {
            FoldKind::All | FoldKind::Exists => {
                self.expect_bool(fold.body.at, &body_type);
                Type::Bool
            }
            FoldKind::ExistsOne => {
                self.expect_condition(fold.body.at, &body_type);
                Type::Bool
            }
            FoldKind::Filter => {
                self.expect_condition(fold.body.at, &body_type);
                Type::list(self.resolved(&first))
            }
            FoldKind::Map => Type::list(self.resolved(&body_type)),
            FoldKind::TransformMap => Type::map(self.resolved(&first), self.resolved(&body_type)),
            FoldKind::TransformEntry => self.entry_type(fold, &body_type),
        };
        let has_two = fold.var2.is_some();
        (Step::Fold(Box::new(FoldStep { kind: fold.kind, range, has_two, filter, body })), t)
    }

    fn variable_types(&mut self, fold: &Fold, range: &Type) -> (Type, Type) {
        match range {
            Type::List(element) if fold.var2.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.unifier.is_assignable(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                self.report(
                    fold.range.at,
                    format!("expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"),
                );
                (Type::Error, Type::Error)
            }
        }
    }

    /// A condition that a ternary of the macro has.
    fn expect_condition(&mut self, at: usize, t: &Type) {
        if !self.unifier.is_assignable(t, &Type::Bool) {
            let found = self.resolved(t);
            self.report(at, format!("the condition must be of type 'bool', found '{found}'"));
        }
    }

    fn entry_type(&mut self, fold: &Fold, body: &Type) -> Type {
        let entry = Type::map(self.unifier.fresh(), self.unifier.fresh());
        if !self.unifier.is_assignable(body, &entry) {
            let found = self.resolved(body);
            self.report(fold.body.at, format!("expected a map of one entry, found '{found}'"));
            return Type::Error;
        }
        self.resolved(&entry)
    }

    pub(super) fn bind(&mut self, bind: &Bind) -> Checked {
        let (value, t) = self.check(&bind.value);
        self.locals.push((bind.var.clone(), t));
        let (body, t) = self.check(&bind.body);
        self.locals.pop();
        (Step::Bind(Box::new(BindStep { value, body })), t)
    }

    pub(super) fn opt_map(&mut self, at: usize, opt_map: &OptMap) -> Checked {
        let (target, target_type) = self.check(&opt_map.target);
        let Some((_, value_type)) = self.overload(at, "value", true, std::slice::from_ref(&target_type))
        else {
            return (Step::Const(Val::Null), Type::Error);
        };
        self.locals.push((opt_map.var.clone(), value_type));
        let (body, body_type) = self.check(&opt_map.body);
        self.locals.pop();
        let none = Type::optional(self.unifier.fresh());
        let then = if opt_map.flat { body_type } else { Type::optional(self.resolved(&body_type)) };
        let t =
            self.overload(at, "_?_:_", false, &[Type::Bool, then, none]).map_or(Type::Error, |found| found.1);
        let step = OptMapStep { target, body, flat: opt_map.flat };
        (Step::OptMap(Box::new(step)), t)
    }
}
