//! Conditions and exceptions.

use jiff::Timestamp;

use crate::cel::{EvalError, Val};
use crate::engine::evaluation::Evaluation;
use crate::policy::{CelException, CelPolicy, Expression};
use crate::report::RuleError;
use crate::value::Text;

use super::scope::{Allowed, Scope};
use super::trace::Tracer;

/// What exceptions do to a policy.
pub(super) enum Exempt {
    /// The object is exempt by those of these names.
    Fully(Vec<Text>),
    /// The object is not exempt. Expressions see these images and values.
    Partly(Allowed),
}

/// Evaluates conditions in order. Returns the name of the first one that is false, whether or not others fail.
///
/// # Errors
///
/// The first error, if none is false.
pub(super) fn holds<'c>(
    conditions: impl IntoIterator<Item = &'c Expression>,
    scope: &Scope<'_>,
    tracer: &mut Tracer<'_>,
) -> Result<Option<Text>, RuleError> {
    let mut first_error = None;
    for condition in conditions {
        let value = scope.evaluate(&condition.program).and_then(|value| match value {
            Val::Bool(_) => Ok(value),
            _ => Err(EvalError::NoSuchOverload(String::new())),
        });
        tracer.condition(condition, &value, scope);
        match value {
            Ok(Val::Bool(false)) => return Ok(Some(condition.name.clone())),
            Ok(_) => {}
            Err(error) => {
                first_error
                    .get_or_insert_with(|| scope.failed(&condition.pointer, &condition.program, &error));
            }
        }
    }
    first_error.map_or(Ok(None), Err)
}

/// Finds the exceptions that apply. One that allows images or values does not exempt.
///
/// # Errors
///
/// A condition of an exception that cannot be evaluated, unless an earlier exception applies.
pub(super) fn exemption(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    scope: &Scope<'_>,
) -> Result<Exempt, RuleError> {
    let exceptions = &evaluation.engine.settings().cel_exceptions;
    let (mut names, mut allowed) = (Vec::new(), Allowed::default());
    let mut is_exempt = false;
    for exception in exceptions.of(policy.kind, &policy.meta.name) {
        evaluation.add_steps(1);
        if is_expired(exception, evaluation.world.now()) {
            continue;
        }
        // The tracer has no place for conditions of exceptions.
        match holds(&exception.conditions, scope, &mut Tracer::without_trace(evaluation)) {
            Ok(None) => {}
            Ok(Some(_)) => continue,
            Err(_) if is_exempt => continue,
            Err(error) => return Err(error.of_exception(&exception.name)),
        }
        names.push(exception.name.clone());
        if !exception.is_partial() {
            is_exempt = true;
        } else if !is_exempt {
            allowed.images.extend(exception.images.iter().cloned());
            allowed.values.extend(exception.allowed_values.iter().cloned());
        }
    }
    Ok(if is_exempt { Exempt::Fully(names) } else { Exempt::Partly(allowed) })
}

fn is_expired(exception: &CelException, now: Timestamp) -> bool {
    exception.expires_at.is_some_and(|end| end < now)
}
