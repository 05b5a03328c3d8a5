//! What explanations show of CEL expressions.

use std::cell::Cell;

use crate::cel::{Env, EvalError, Meter, Program, Val, Variables, reasons, to_json};
use crate::report::{ExpressionTrace, VariableError};
use crate::value::{Pointer, Text, Value};

/// The values of expressions that are shown for one object. What is shared may be much larger written out: some 100,000 nodes
/// of a value are shown, and ten times as many of all.
#[derive(Debug, Default)]
pub(super) struct ShownValues {
    /// The steps of writing them.
    steps: Cell<u64>,
}

/// An expression at its place with its value.
pub(super) fn evaluated(
    place: &Pointer,
    name: Option<&Text>,
    program: &Program,
    value: &Result<Val, EvalError>,
    shown: &ShownValues,
) -> ExpressionTrace {
    ExpressionTrace {
        invocation: None,
        place: place.clone(),
        name: name.cloned(),
        expression: program.source().into(),
        value: shown.value(value),
        because: Vec::new(),
        failed_test: None,
    }
}

/// The parts of a condition that decide, which are evaluated again.
pub(super) fn because(
    env: &Env,
    program: &Program,
    variables: &dyn Variables,
    shown: &ShownValues,
) -> Vec<(Text, Result<Value, VariableError>)> {
    let reasons = reasons(env, program.source(), variables).into_iter();
    reasons.map(|reason| (reason.expression.into(), shown.value(&reason.value))).collect()
}

impl ShownValues {
    const MOST_OF_ONE: u64 = 25_000;
    const MOST: u64 = 250_000;

    /// The steps of writing values so far.
    pub(super) const fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// A value as JSON, or the error.
    pub(super) fn value(&self, value: &Result<Val, EvalError>) -> Result<Value, VariableError> {
        let value = value.as_ref().map_err(|error| VariableError(error.to_string()))?;
        let room = Self::MOST.saturating_sub(self.steps.get()).min(Self::MOST_OF_ONE);
        let mut meter = Meter::with_limit(room);
        let json = to_json(value, &mut meter);
        self.steps.set(self.steps.get().saturating_add(meter.work()));
        json.map_err(|error| {
            VariableError(match error {
                EvalError::CostLimit(_) if room < Self::MOST_OF_ONE => {
                    "the values of the policies are too large to be shown".to_owned()
                }
                EvalError::CostLimit(_) => "the value is too large to be shown".to_owned(),
                other => other.to_string(),
            })
        })
    }
}
