//! The values of variables.

use std::cell::RefCell;

use super::Program;
use super::error::EvalError;
use super::host::Host;
use super::meter::Meter;
use super::value::Val;

/// Where an evaluation has its variables from.
pub trait Variables {
    /// The value of a variable of the environment, by number.
    fn variable(&self, number: usize) -> Option<Val>;

    /// The name of a variable, for messages.
    fn name(&self, number: usize) -> String {
        format!("#{number}")
    }

    /// The value of `variables.NAME`, by number.
    ///
    /// # Errors
    ///
    /// Whatever its expression fails with.
    fn definition(&self, number: usize) -> Result<Val, EvalError> {
        Err(EvalError::NoSuchAttribute(format!("variables #{number}")))
    }

    /// The error of `variables.NAME`, by number, if it was evaluated and failed.
    fn known_error(&self, _number: usize) -> Option<EvalError> {
        None
    }

    /// Where functions that reach outside have their values from; by default such functions fail.
    fn host(&self) -> Option<&dyn Host> {
        None
    }
}

/// No variables at all.
pub(super) struct NoVariables;

impl Variables for NoVariables {
    fn variable(&self, _: usize) -> Option<Val> {
        None
    }
}

/// Values of variables, and the policy's own variables, which are evaluated at their first use.
pub struct Activation<'p> {
    values: Vec<(crate::value::Text, Option<Val>)>,
    definitions: &'p [Program],
    found: RefCell<Vec<Option<Result<Val, EvalError>>>>,
    cost: RefCell<u64>,
}

impl<'p> Activation<'p> {
    /// The variables of an environment, all without a value; and the programs of `variables.NAME` by number.
    pub fn new(env: &super::Env, definitions: &'p [Program]) -> Self {
        Self {
            values: env.variables().map(|name| (name.clone(), None)).collect(),
            definitions,
            found: RefCell::new(vec![None; definitions.len()]),
            cost: RefCell::new(0),
        }
    }

    /// Sets a variable that the environment has.
    pub fn set(&mut self, name: &str, value: Val) {
        if let Some((_, slot)) = self.values.iter_mut().find(|(known, _)| **known == *name) {
            *slot = Some(value);
        }
    }

    /// What the evaluations of `variables.NAME` have cost so far.
    pub fn definitions_cost(&self) -> u64 {
        *self.cost.borrow()
    }
}

impl Variables for Activation<'_> {
    fn variable(&self, number: usize) -> Option<Val> {
        self.values.get(number)?.1.clone()
    }

    fn name(&self, number: usize) -> String {
        self.values.get(number).map(|(name, _)| name.to_string()).unwrap_or_default()
    }

    fn known_error(&self, number: usize) -> Option<EvalError> {
        self.found.borrow().get(number)?.as_ref()?.as_ref().err().cloned()
    }

    fn definition(&self, number: usize) -> Result<Val, EvalError> {
        if let Some(Some(found)) = self.found.borrow().get(number) {
            return found.clone();
        }
        let Some(program) = self.definitions.get(number) else {
            return Err(EvalError::NoSuchAttribute(format!("variables #{number}")));
        };
        // An expression names only earlier ones, so this ends. Each has a limit of its own, as in the API server.
        let mut meter = Meter::default();
        let value = program.evaluate(self, &mut meter);
        *self.cost.borrow_mut() += meter.cost();
        if let Some(slot) = self.found.borrow_mut().get_mut(number) {
            *slot = Some(value.clone());
        }
        value
    }
}
