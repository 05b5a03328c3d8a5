//! Evaluation of plans.

mod fold;
mod path;

pub(super) use fold::{FoldCosts, variables as element};

use std::sync::Arc;

use indexmap::IndexMap;

use super::env::Dialect;
use super::error::EvalError;
use super::functions::{Body, OutsideCall, Overload};
use super::meter::Meter;
use super::plan::{CallStep, MessageStep, OrElseStep, Step};
use super::types::Type;
use crate::cel::value::{Entries, Key, MessageVal, Val};
use crate::cel::variables::{NoVariables, Variables};

type Evaluated = Result<Val, EvalError>;

/// Evaluates a plan.
pub(super) fn evaluate(
    step: &Step,
    dialect: Dialect,
    variables: &dyn Variables,
    meter: &mut Meter,
) -> Evaluated {
    meter.dialect = dialect;
    Evaluator { dialect, variables, meter, locals: Vec::new() }.eval(step)
}

/// The value of a literal list or map of constants, if it is one.
pub(super) fn literal(step: &Step, meter: &mut Meter) -> Option<Evaluated> {
    matches!(step, Step::List(_) | Step::Map(_))
        .then(|| evaluate(step, Dialect::Kyverno, &NoVariables, meter))
}

struct Evaluator<'a> {
    dialect: Dialect,
    variables: &'a dyn Variables,
    meter: &'a mut Meter,
    /// The variables of the macros around the step, the innermost last.
    locals: Vec<Local<'a>>,
}

enum Local<'a> {
    Value(Evaluated),
    /// Of `cel.bind`, evaluated at its first use.
    Later(&'a Step),
    /// Of `optMap`: its value, and what its first use costs.
    Paid(Val, u64),
}

impl<'a> Evaluator<'a> {
    fn eval(&mut self, step: &'a Step) -> Evaluated {
        // Not every step has a cost.
        self.meter.visit(1)?;
        match step {
            Step::Const(value) => Ok(value.clone()),
            Step::Path(path) => self.path(path, true),
            Step::Call(call) => self.call(call),
            Step::And(terms) => self.logical(terms, false),
            Step::Or(terms) => self.logical(terms, true),
            Step::Conditional(parts) => self.conditional(parts),
            Step::List(elements) => self.list(elements),
            Step::Map(entries) => self.map(entries),
            Step::Message(message) => self.message(message),
            Step::Fold(fold) => self.fold(fold),
            Step::Bind(bind) => {
                self.locals.push(Local::Later(&bind.value));
                let result = self.eval(&bind.body);
                self.locals.pop();
                result
            }
            Step::OptMap(opt_map) => self.opt_map(opt_map),
            Step::OrElse(or_else) => self.or_else(or_else),
        }
    }

    fn local(&mut self, depth: usize) -> Evaluated {
        match self.locals.get(depth) {
            Some(Local::Value(value)) => value.clone(),
            Some(Local::Later(step)) => {
                let step = *step;
                // The macros of the value have their variables where those of the body are now.
                let inner = self.locals.split_off(depth);
                let value = self.eval(step);
                self.locals.extend(inner);
                self.locals[depth] = Local::Value(value.clone());
                value
            }
            Some(Local::Paid(value, cost)) => {
                let (value, cost) = (value.clone(), *cost);
                self.locals[depth] = Local::Value(Ok(value.clone()));
                self.meter.spend(cost)?;
                Ok(value)
            }
            None => Err(EvalError::no_overload()),
        }
    }

    /// `&&` and `||`: the first term that decides does, whatever fails before it.
    fn logical(&mut self, terms: &'a [Step], decisive: bool) -> Evaluated {
        let mut failure = None;
        for term in terms {
            match self.eval(term) {
                Ok(Val::Bool(value)) if value == decisive => return Ok(Val::Bool(decisive)),
                Ok(Val::Bool(_)) => {}
                Ok(_) => {
                    failure.get_or_insert(EvalError::no_overload());
                }
                Err(error) if error.is_final() => return Err(error),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        failure.map_or(Ok(Val::Bool(!decisive)), Err)
    }

    fn conditional(&mut self, parts: &'a [Step; 3]) -> Evaluated {
        let [condition, then, otherwise] = parts;
        match self.eval(condition)? {
            Val::Bool(true) => self.branch(then),
            Val::Bool(false) => self.branch(otherwise),
            _ => Err(EvalError::no_overload()),
        }
    }

    /// A branch of a ternary; a path in it costs one less than elsewhere.
    fn branch(&mut self, step: &'a Step) -> Evaluated {
        let value = if let Step::Path(path) = step { self.path(path, false)? } else { self.eval(step)? };
        match value {
            Val::Optional(Some(inner)) => self.rewrapped(&inner).map(Val::some),
            value => Ok(value),
        }
    }

    /// The inside of an optional value that a ternary yields.
    fn rewrapped(&mut self, inner: &Val) -> Evaluated {
        if self.dialect == Dialect::Kubernetes { rewrapped(self.meter, inner) } else { Ok(inner.clone()) }
    }

    fn or_else(&mut self, step: &'a OrElseStep) -> Evaluated {
        match self.eval(&step.left)? {
            Val::Optional(None) => self.eval(&step.right),
            Val::Optional(Some(value)) if step.value => Ok((*value).clone()),
            value @ Val::Optional(_) => Ok(value),
            value if step.lenient => Ok(value),
            _ => Err(EvalError::no_overload()),
        }
    }

    fn list(&mut self, elements: &'a [(Step, bool)]) -> Evaluated {
        self.meter.spend(LIST_COST)?;
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            let value = self.eval(element)?;
            match optional_part(value, *optional) {
                Ok(value) => items.extend(value),
                Err(found) => {
                    return Err(EvalError::failed(format!(
                        "cannot initialize optional list element from non-optional value {}",
                        found.display()
                    )));
                }
            }
        }
        self.meter.make(items.len() * size_of::<Val>())?;
        Ok(Val::list(items))
    }

    fn map(&mut self, entries: &'a [(Step, Step, bool)]) -> Evaluated {
        self.meter.spend(MAP_COST)?;
        let mut made = Entries::with_capacity_and_hasher(entries.len(), Default::default());
        for (key, value, optional) in entries {
            let key = self.eval(key)?;
            let value = self.eval(value)?;
            let name = made_key(self.meter, &key)?;
            match optional_part(value, *optional) {
                Ok(Some(value)) => {
                    made.insert(name, value);
                }
                Ok(None) => {
                    made.shift_remove(&name);
                }
                Err(found) => return Err(not_optional(&key.display(), &found)),
            }
        }
        self.meter.make(made.len() * 2 * size_of::<Val>())?;
        Ok(Val::map(made))
    }

    fn message(&mut self, message: &'a MessageStep) -> Evaluated {
        self.meter.spend(MESSAGE_COST)?;
        let mut fields = IndexMap::with_capacity_and_hasher(message.fields.len(), Default::default());
        for (name, value, optional) in &message.fields {
            let value = self.eval(value)?;
            match optional_part(value, *optional) {
                Ok(Some(value)) => {
                    fields.insert(name.clone(), value);
                }
                Ok(None) => {
                    fields.shift_remove(name);
                }
                Err(found) => return Err(not_optional(name, &found)),
            }
        }
        self.meter.make(fields.len() * 2 * size_of::<Val>())?;
        Ok(Val::Message(Arc::new(MessageVal { name: message.name.clone(), fields })))
    }

    fn call(&mut self, call: &'a CallStep) -> Evaluated {
        match call.args.as_slice() {
            [] => self.applied(call, &[]),
            [arg] => {
                let args = [self.eval(arg)];
                self.strict(call, args)
            }
            [left, right] => {
                let args = [self.eval(left), self.eval(right)];
                self.strict(call, args)
            }
            more => {
                let mut args = Vec::with_capacity(more.len());
                for arg in more {
                    args.push(self.eval(arg)?);
                }
                self.applied(call, &args)
            }
        }
    }

    /// One or two arguments are all evaluated, and cost, before the first failure counts.
    fn strict<const N: usize>(&mut self, call: &'a CallStep, args: [Evaluated; N]) -> Evaluated {
        if let Some(error) = args.iter().find_map(|arg| arg.as_ref().err()) {
            if !error.is_final() {
                let values = args.each_ref().map(|arg| arg.clone().unwrap_or(Val::Null));
                let cost = call.cost.of_call(self.meter, &values, &Val::Null)?;
                self.meter.spend(cost)?;
            }
            return Err(error.clone());
        }
        let values = args.map(|arg| arg.unwrap_or(Val::Null));
        self.applied(call, &values)
    }

    fn applied(&mut self, call: &'a CallStep, args: &[Val]) -> Evaluated {
        charged(call, self.variables, self.meter, args)
    }
}

/// Counts the reading of arguments that are texts: most functions read all of them, also where Kubernetes counts no cost.
fn read(meter: &mut Meter, args: &[Val]) -> Result<(), EvalError> {
    args.iter().try_for_each(|arg| {
        meter.visit_text(match arg {
            Val::String(text) => text.len(),
            Val::Bytes(bytes) => bytes.len(),
            Val::Opaque(opaque) => opaque.text_bytes(),
            _ => 0,
        })
    })
}

/// A key of a map that is made, whose text is read.
fn made_key(meter: &mut Meter, key: &Val) -> Result<Key, EvalError> {
    if let Val::String(text) = key {
        meter.visit_text(text.len())?;
    }
    key.key().ok_or_else(|| EvalError::failed(format!("unsupported key type: {}", key.type_name())))
}

pub(super) const LIST_COST: u64 = 10;
pub(super) const MAP_COST: u64 = 30;
pub(super) const MESSAGE_COST: u64 = 40;

/// What an element adds: nothing for an empty optional value; the value itself if it is not optional but should be.
fn optional_part(value: Val, optional: bool) -> Result<Option<Val>, Val> {
    match value {
        value if !optional => Ok(Some(value)),
        Val::Optional(inner) => Ok(inner.map(|inner| (*inner).clone())),
        other => Err(other),
    }
}

/// What is inside of an optional value that a ternary yields: the API server's cel-go takes it out and wraps it again, whereby optional
/// values inside are flattened, `Object{}` becomes a map, and values of Kubernetes' libraries are lost.
fn rewrapped(meter: &mut Meter, inner: &Val) -> Evaluated {
    meter.visit(1)?;
    match inner {
        Val::Optional(None) => Ok(Val::Null),
        Val::Optional(Some(value)) => rewrapped(meter, value),
        Val::Message(message) if &*message.name != "JSONPatch" => {
            meter.make(message.fields.len() * 2 * size_of::<Val>())?;
            let plain = message.fields.iter().map(|(name, value)| {
                let value = match value {
                    Val::Message(_) | Val::Optional(_) => rewrapped(meter, value)?,
                    value => value.clone(),
                };
                Ok((Key::String(name.clone()), value))
            });
            plain.collect::<Result<Entries, EvalError>>().map(Val::map)
        }
        Val::Opaque(opaque) => {
            Err(EvalError::failed(format!("unsupported conversion to ref.Val: {}", opaque.type_name())))
        }
        value => Ok(value.clone()),
    }
}

fn not_optional(key: &str, found: &Val) -> EvalError {
    EvalError::failed(format!(
        "cannot initialize optional entry '{key}' from non-optional value {}",
        found.display()
    ))
}

/// Calls a function with values, for its cost.
pub(super) fn charged(
    call: &CallStep,
    variables: &dyn Variables,
    meter: &mut Meter,
    args: &[Val],
) -> Evaluated {
    read(meter, args)?;
    // A call that costs too much is not made.
    if !call.cost.needs_result() {
        let cost = call.cost.of_call(meter, args, &Val::Null)?;
        meter.spend(cost)?;
    }
    let result = apply(call, variables, meter, args);
    if call.cost.needs_result() {
        let made = result.as_ref().unwrap_or(&Val::Null);
        let cost = call.cost.of_call(meter, args, made)?;
        meter.spend(cost)?;
    }
    result
}

/// Calls a function with values.
pub(super) fn apply(
    call: &CallStep,
    variables: &dyn Variables,
    meter: &mut Meter,
    args: &[Val],
) -> Evaluated {
    let overload = match call.overload {
        Some(overload) if overload.by_value || fits(overload, args) => Some(overload),
        Some(_) => None,
        None => call.function.overloads.iter().find(|overload| overload.by_value || fits(overload, args)),
    };
    match overload.map(|overload| overload.body) {
        Some(Body::Pure(body)) => {
            if let Some(regexp) = &call.regexp {
                meter.regexp = Some(regexp.clone());
            }
            body(meter, args)
        }
        Some(Body::Outside(body)) => {
            let name = &call.function.name;
            let host = variables.host().ok_or_else(|| EvalError::NoHost(name.clone()))?;
            body(&mut OutsideCall { host, name, meter, args })
        }
        None => {
            let types: Vec<&str> = args.iter().map(Val::type_name).collect();
            Err(EvalError::NoSuchOverload(format!(": {}({})", call.function.name, types.join(", "))))
        }
    }
}

fn fits(overload: &Overload, args: &[Val]) -> bool {
    overload.params.len() == args.len()
        && overload.params.iter().zip(args).all(|(param, arg)| is_of(arg, param))
}

/// Whether a value is of a type; of lists and maps the first element is looked at.
fn is_of(value: &Val, t: &Type) -> bool {
    match (t, value) {
        (Type::Dyn | Type::Param(_) | Type::Var(_), _)
        | (Type::Null, Val::Null)
        | (Type::Bool, Val::Bool(_))
        | (Type::Int, Val::Int(_))
        | (Type::Uint, Val::Uint(_))
        | (Type::Double, Val::Double(_))
        | (Type::String, Val::String(_))
        | (Type::Bytes, Val::Bytes(_))
        | (Type::Duration, Val::Duration(_))
        | (Type::Timestamp, Val::Timestamp(_))
        | (Type::Type(_), Val::Type(_)) => true,
        (Type::List(element), Val::List(list)) => list.get(0).is_none_or(|first| is_of(&first, element)),
        (Type::Map(entry), Val::Map(map)) => {
            map.at(0).is_none_or(|(key, value)| is_of(&key, &entry.0) && is_of(&value, &entry.1))
        }
        (Type::Optional(inner), Val::Optional(value)) => {
            value.as_ref().is_none_or(|value| is_of(value, inner))
        }
        (Type::Named(name), Val::Message(message)) => *name == message.name,
        (Type::Named(name), Val::Opaque(opaque)) => **name == *opaque.type_name(),
        _ => false,
    }
}
