//! Preconditions, and the conditions of loops, targets and exceptions.

use crate::diagnostics::Coded as _;
use crate::pattern::{ConditionError, Conditions, IntegerTyping, Operands, Verdict};
use crate::report::{ConditionTrace, RuleError};
use crate::value::{Pointer, Value};
use crate::variables::{Inline, SubstitutionError, Template};

use super::context::Context;
use super::hints::hint;

/// Evaluates preconditions: `None` if they hold, else their message.
pub(super) fn preconditions(
    conditions: &Conditions<Template>,
    context: &mut Context<'_>,
) -> Result<Option<String>, RuleError> {
    let verdict =
        evaluate(conditions, context).map_err(|error| condition_error(*error, "preconditions", context))?;
    Ok((!verdict.met).then_some(verdict.message))
}

/// The error of conditions that cannot be evaluated.
pub(super) fn condition_error(
    error: ConditionError<SubstitutionError>,
    place: &str,
    context: &Context<'_>,
) -> RuleError {
    let failed = RuleError::new(error.code(), format!("{place}: {error}"));
    if let Some(panic) = error.panic() {
        return failed.in_words_of_kyverno(format!("failed to evaluate {place}: {panic}"));
    }
    let Some((operand, cause)) = error.operand().zip(error.into_cause()) else { return failed };
    let words = cause.original().unwrap_or_else(|| cause.to_string());
    let original =
        format!("failed to evaluate {place}: failed to substitute variables in {operand}: {words}");
    let message = if cause.pointer().is_root() { failed.message } else { cause.to_string() };
    RuleError { message, hint: hint(&cause, context), original: Some(original), ..failed }
        .at(cause.pointer(), cause.expression())
}

/// Evaluates conditions and adds those that were needed to the trace.
pub(super) fn evaluate(
    conditions: &Conditions<Template>,
    context: &mut Context<'_>,
) -> Result<Verdict, Box<ConditionError<SubstitutionError>>> {
    let tracker = context.tracker();
    let verdict = conditions.evaluate(&mut InContext(context), tracker).map_err(Box::new)?;
    for seen in &verdict.seen {
        context.trace_condition(ConditionTrace {
            pointer: Pointer::clone(&seen.pointer),
            iteration: None,
            key: seen.key.clone(),
            operator: seen.operator.name().into(),
            value: seen.value.clone(),
            met: seen.met,
        });
    }
    Ok(verdict)
}

/// Operands with variables of a context.
pub(super) struct InContext<'a, 'c>(pub(super) &'a mut Context<'c>);

impl Operands<Template> for InContext<'_, '_> {
    type Error = SubstitutionError;

    fn resolve(
        &mut self,
        operand: &Template,
        _: &Pointer,
    ) -> Result<(Value, IntegerTyping), SubstitutionError> {
        let context = &mut *self.0;
        let settings = context.substitution(Inline::Path);
        context.take_integer_typing();
        let resolved = operand.substitute(context, settings)?;
        context.taint().note_read(&resolved.value);
        Ok((resolved.value, context.take_integer_typing()))
    }

    fn allow_steps(&mut self, steps: usize, operand: &Template) -> Result<(), SubstitutionError> {
        self.0.runtime().spend(steps as u64).map_err(|_| SubstitutionError::Limit {
            limit: "steps of comparing elements",
            name: "steps",
            maximum: self.0.settings().limits.steps,
            at: operand.pointer().clone(),
        })
    }
}
