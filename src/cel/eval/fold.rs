//! Comprehensions and the other macros with variables.

use super::{Evaluated, Evaluator, LIST_COST, Local, made_key};
use crate::cel::ast::FoldKind;
use crate::cel::error::EvalError;
use crate::cel::plan::{FoldStep, OptMapStep, Step};
use crate::cel::value::{Entries, Val};

/// The costs of what cel-go expands a comprehension to, besides those of range, filter and body.
pub(in crate::cel) struct FoldCosts {
    /// Of the condition before each element.
    pub(in crate::cel) before: u64,
    /// Of taking an element into the result.
    pub(in crate::cel) taken: u64,
    /// Of the result at the end.
    pub(in crate::cel) result: u64,
}

impl FoldCosts {
    pub(in crate::cel) fn of(fold: &FoldStep) -> Self {
        let element = if fold.body.as_const().is_some() { 0 } else { LIST_COST };
        let (before, taken, result) = match fold.kind {
            FoldKind::All => (2, 1, 1),
            FoldKind::Exists => (3, 1, 1),
            FoldKind::ExistsOne => (0, 2, 2),
            FoldKind::Map => (0, 2 + element, 1),
            FoldKind::Filter => (0, 3 + LIST_COST, 1),
            FoldKind::TransformMap => (0, 3, 1),
            FoldKind::TransformEntry => (0, 2, 1),
        };
        Self { before, taken, result }
    }
}

/// What the elements so far come to.
#[derive(Default)]
struct Folded {
    failure: Option<EvalError>,
    decided: bool,
    count: u64,
    items: Vec<Val>,
    entries: Entries,
}

impl<'a> Evaluator<'a> {
    pub(super) fn fold(&mut self, fold: &'a FoldStep) -> Evaluated {
        let range = self.eval(&fold.range)?;
        let costs = FoldCosts::of(fold);
        let length = match &range {
            Val::List(list) => list.len(),
            Val::Map(map) => map.len(),
            _ => return Err(EvalError::NoSuchOverload(String::new())),
        };
        let depth = self.locals.len();
        let mut folded = Folded::default();
        for index in 0..length {
            self.meter.spend(costs.before)?;
            if folded.decided {
                break;
            }
            let (first, second) = variables(&range, index, fold.has_two);
            let kept = matches!(fold.kind, FoldKind::Filter | FoldKind::TransformMap).then(|| first.clone());
            self.locals.push(Local::Value(Ok(first)));
            if fold.has_two {
                self.locals.push(Local::Value(Ok(second)));
            }
            let result = self.element(fold, &costs, kept, &mut folded);
            self.locals.truncate(depth);
            match result {
                Err(error) if error.is_final() => return Err(error),
                // As in cel-go, the others are gone through, and cost, all the same.
                Err(error) => folded.failure = Some(error),
                Ok(()) => {}
            }
        }
        self.meter.spend(costs.result)?;
        if let Some(error) = folded.failure {
            return Err(error);
        }
        match fold.kind {
            FoldKind::All | FoldKind::Exists => {
                Ok(Val::Bool(folded.decided == (fold.kind == FoldKind::Exists)))
            }
            FoldKind::ExistsOne => Ok(Val::Bool(folded.count == 1)),
            FoldKind::Map | FoldKind::Filter => Ok(Val::list(folded.items)),
            FoldKind::TransformMap | FoldKind::TransformEntry => Ok(Val::map(folded.entries)),
        }
    }

    fn element(
        &mut self,
        fold: &'a FoldStep,
        costs: &FoldCosts,
        kept: Option<Val>,
        folded: &mut Folded,
    ) -> Result<(), EvalError> {
        if let Some(filter) = &fold.filter
            && !self.condition(filter)?
        {
            return Ok(());
        }
        match fold.kind {
            FoldKind::All | FoldKind::Exists => {
                self.meter.spend(costs.taken)?;
                let decisive = fold.kind == FoldKind::Exists;
                match self.eval(&fold.body) {
                    Ok(Val::Bool(value)) if value == decisive => {
                        folded.decided = true;
                        folded.failure = None;
                    }
                    Ok(Val::Bool(_)) => {}
                    Ok(_) => {
                        folded.failure.get_or_insert(EvalError::no_overload());
                    }
                    Err(error) if error.is_final() => return Err(error),
                    Err(error) => {
                        folded.failure.get_or_insert(error);
                    }
                }
            }
            FoldKind::ExistsOne => {
                if self.condition(&fold.body)? {
                    self.meter.spend(costs.taken)?;
                    folded.count += 1;
                }
            }
            FoldKind::Filter => {
                if self.condition(&fold.body)? {
                    self.meter.spend(costs.taken)?;
                    self.meter.make(size_of::<Val>())?;
                    folded.items.extend(kept);
                }
            }
            FoldKind::Map => {
                self.meter.spend(costs.taken)?;
                let value = self.eval(&fold.body)?;
                self.meter.make(size_of::<Val>())?;
                folded.items.push(value);
            }
            FoldKind::TransformMap => {
                self.meter.spend(costs.taken)?;
                let value = self.eval(&fold.body)?;
                self.insert(folded, &kept.unwrap_or(Val::Null), value)?;
            }
            FoldKind::TransformEntry => {
                self.meter.spend(costs.taken)?;
                let Val::Map(added) = self.eval(&fold.body)? else { return Err(EvalError::no_overload()) };
                self.meter.visit_items(added.len())?;
                for (key, value) in added.iter() {
                    self.insert(folded, &key, value)?;
                }
            }
        }
        Ok(())
    }

    fn insert(&mut self, folded: &mut Folded, key: &Val, value: Val) -> Result<(), EvalError> {
        self.meter.make(2 * size_of::<Val>())?;
        let name = made_key(self.meter, key)?;
        if folded.entries.insert(name, value).is_some() {
            return Err(EvalError::failed(format!("insert failed: key {} already exists", key.display())));
        }
        Ok(())
    }

    fn condition(&mut self, step: &'a Step) -> Result<bool, EvalError> {
        match self.eval(step)? {
            Val::Bool(value) => Ok(value),
            _ => Err(EvalError::no_overload()),
        }
    }

    pub(super) fn opt_map(&mut self, step: &'a OptMapStep) -> Evaluated {
        let before = self.meter.cost();
        let target = self.eval(&step.target)?;
        let cost = self.meter.cost() - before;
        self.meter.spend(1)?;
        let Val::Optional(inner) = target else {
            return Err(EvalError::NoSuchOverload(": hasValue".to_owned()));
        };
        let Some(inner) = inner else {
            self.meter.spend(1)?;
            return Ok(Val::NONE);
        };
        self.meter.spend(u64::from(!step.flat))?;
        // The value is found, and costs, a second time when it is used.
        self.locals.push(Local::Paid((*inner).clone(), cost + 1));
        let body = self.eval(&step.body);
        self.locals.pop();
        match body? {
            Val::Optional(Some(value)) if step.flat => self.rewrapped(&value).map(Val::some),
            value if step.flat => Ok(value),
            value => self.rewrapped(&value).map(Val::some),
        }
    }
}

/// The variables for one element.
pub(in crate::cel) fn variables(range: &Val, index: usize, two: bool) -> (Val, Val) {
    match range {
        Val::List(list) if two => {
            let position = i64::try_from(index).unwrap_or(i64::MAX);
            (Val::Int(position), list.get(index).unwrap_or(Val::Null))
        }
        Val::List(list) => (list.get(index).unwrap_or(Val::Null), Val::Null),
        Val::Map(map) => map.at(index).unwrap_or((Val::Null, Val::Null)),
        _ => (Val::Null, Val::Null),
    }
}
