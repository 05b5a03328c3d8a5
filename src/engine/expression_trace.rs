//! What explanations show of CEL expressions.

use crate::cel::{Env, EvalError, Meter, Program, Val, Variables, reasons, to_json};
use crate::report::{ExpressionTrace, VariableError};
use crate::value::{Pointer, Text, Value};

/// An expression at its place with its value.
pub(super) fn evaluated(
    place: &Pointer,
    name: Option<&Text>,
    program: &Program,
    value: &Result<Val, EvalError>,
) -> ExpressionTrace {
    ExpressionTrace {
        invocation: None,
        place: place.clone(),
        name: name.cloned(),
        expression: program.source().into(),
        value: shown(value),
        because: Vec::new(),
        failed_test: None,
    }
}

/// The parts of a condition that decide, which are evaluated again.
pub(super) fn because(
    env: &Env,
    program: &Program,
    variables: &dyn Variables,
) -> Vec<(Text, Result<Value, VariableError>)> {
    let reasons = reasons(env, program.source(), variables).into_iter();
    reasons.map(|reason| (reason.expression.into(), shown(&reason.value))).collect()
}

/// A value as JSON, or the error. What is shared may be much larger written out: some 100,000 nodes are shown.
pub(super) fn shown(value: &Result<Val, EvalError>) -> Result<Value, VariableError> {
    const LIMIT: u64 = 25_000;
    let value = value.as_ref().map_err(ToString::to_string);
    let json = value.and_then(|value| {
        to_json(value, &mut Meter::with_limit(LIMIT)).map_err(|error| match error {
            EvalError::CostLimit(_) => "the value is too large to be shown".to_owned(),
            other => other.to_string(),
        })
    });
    json.map_err(VariableError)
}
