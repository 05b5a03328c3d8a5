//! The conditions by which the API server decides whether to call Kyverno for a policy. Kyverno evaluates them again.

use crate::cel::{Activation, EvalError, Meter, Numbers, Val};
use crate::diagnostics::Coded as _;
use crate::policy::{FailurePolicy, Operation, WebhookConditions};
use crate::report::{ExpressionTrace, RuleError, SkipReason, Trace};
use crate::semantics::{Divergence, DivergenceTracker};
use crate::value::Value;

use super::admission_request::request;
use super::evaluation::Evaluation;
use super::expression_trace::{because, evaluated};

/// What conditions say of a request.
#[derive(Default)]
pub(super) struct Called {
    /// Why the policy does not run; `None` if it does.
    pub(super) stop: Option<Stop>,
    /// The conditions with their values, if reports have traces.
    pub(super) expressions: Vec<ExpressionTrace>,
}

/// Why a policy does not run.
#[derive(Clone, PartialEq)]
pub(super) enum Stop {
    /// A condition is false, or fails with `failurePolicy: Ignore`: then with the error.
    Skip(SkipReason, Option<RuleError>),
    /// A condition fails, and the API server refuses the request.
    Refuse(RuleError),
}

impl Called {
    /// Adds the conditions to the trace of a rule.
    pub(super) fn add_to(&self, trace: &mut Option<Box<Trace>>) {
        if !self.expressions.is_empty() {
            let trace = trace.get_or_insert_default();
            trace.expressions.splice(0..0, self.expressions.iter().cloned());
        }
    }
}

impl Evaluation<'_> {
    /// Evaluates the conditions of a policy with this failure policy for a request. Without an operation there is no
    /// request, and Kyverno alone evaluates them.
    pub(super) fn called(
        &self,
        (conditions, failure_policy): (&WebhookConditions, FailurePolicy),
        operation: Option<Operation>,
        object: &Value,
        tracker: &DivergenceTracker,
    ) -> Called {
        [Some(object), self.old].into_iter().flatten().for_each(|read| self.taint.note_read(read));
        let of = |absent: Value| Request { evaluation: self, conditions, operation, object, absent };
        let mut called = of(Value::Null).evaluate(failure_policy);
        let is_creation = !matches!(operation, Some(Operation::Update | Operation::Delete));
        if conditions.names_old && is_creation {
            // Where there is no stored object, Kyverno has one without content.
            let names = ["apiVersion", "kind"];
            let members = names.iter().filter_map(|name| Some((*name, object.get(name)?.clone())));
            let again = of(members.collect());
            let mut again = self.aside(|| again.evaluate(failure_policy));
            // What fails there is skipped.
            if let Some(Stop::Refuse(error)) = again.stop {
                again.stop = Some(Stop::Skip(SkipReason::FailureIgnored(error.message), None));
            }
            if operation.is_some() && called.stop.is_some() {
                again.stop.clone_from(&called.stop);
            }
            if called.stop != again.stop && !tracker.documented(Divergence::OldObjectOfCreation) {
                called.stop = again.stop;
            }
        }
        called
    }
}

/// A request, as the conditions of a policy see it.
struct Request<'a> {
    evaluation: &'a Evaluation<'a>,
    conditions: &'a WebhookConditions,
    operation: Option<Operation>,
    object: &'a Value,
    /// The stored object where there is none.
    absent: Value,
}

impl Request<'_> {
    /// Evaluates the conditions. The first false one decides, whether or not others fail.
    fn evaluate(&self, failure_policy: FailurePolicy) -> Called {
        let WebhookConditions { env, conditions, .. } = self.conditions;
        let activation = self.activation();
        let mut expressions = Vec::new();
        let mut first_error = None;
        for condition in conditions {
            let value = condition.program.evaluate(&activation, &mut Meter::default());
            let value = value.and_then(|value| match value {
                Val::Bool(_) => Ok(value),
                _ => Err(EvalError::NoSuchOverload(String::new())),
            });
            if self.evaluation.is_traced() {
                let shown = &self.evaluation.shown_values;
                let seen =
                    evaluated(&condition.pointer, Some(&condition.name), &condition.program, &value, shown);
                let is_true = matches!(value, Ok(Val::Bool(true)));
                let because =
                    if is_true { Vec::new() } else { because(env, &condition.program, &activation, shown) };
                expressions.push(ExpressionTrace { because, ..seen });
            }
            match value {
                Ok(Val::Bool(false)) => {
                    let reason = SkipReason::MatchCondition(condition.name.clone());
                    return Called { stop: Some(Stop::Skip(reason, None)), expressions };
                }
                Ok(_) => {}
                Err(error) => {
                    let fault = condition.program.fault(env, &activation, &error);
                    let message = format!("{}: {error}", condition.pointer);
                    let error = RuleError::new(error.code(), message);
                    first_error.get_or_insert_with(|| {
                        error.at_part(&condition.pointer, condition.program.source(), fault.span)
                    });
                }
            }
        }
        let stop = first_error.map(|error| match failure_policy {
            FailurePolicy::Fail => Stop::Refuse(self.explained(error)),
            FailurePolicy::Ignore => {
                Stop::Skip(SkipReason::FailureIgnored(error.message.clone()), Some(error))
            }
        });
        Called { stop, expressions }
    }

    fn activation(&self) -> Activation<'_> {
        let Self { evaluation, conditions, operation, object, ref absent } = *self;
        let old = match operation {
            None | Some(Operation::Create | Operation::Connect) => absent,
            Some(Operation::Update | Operation::Delete) => evaluation.old.unwrap_or(evaluation.original),
        };
        let object = if operation == Some(Operation::Delete) { &Value::Null } else { object };
        let mut activation = Activation::new(&conditions.env, &[]);
        let request = request(evaluation, operation);
        // The API server does not know the namespace here.
        for (name, value) in
            [("object", object), ("oldObject", old), ("request", &request), ("namespaceObject", &Value::Null)]
        {
            activation.set(name, Val::from_json(value, Numbers::Exact));
        }
        activation
    }

    /// An error, with a hint if the user of the request is not known and may be the reason.
    fn explained(&self, error: RuleError) -> RuleError {
        if self.conditions.names_user && self.evaluation.engine.settings.user.is_none() {
            return error.with_hint("pass the user of the request with --userinfo FILE");
        }
        error
    }
}
