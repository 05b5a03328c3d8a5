//! What explanations show of a policy.

use crate::cel::{EvalError, Program, Val};
use crate::engine::expression_trace::{because, evaluated, shown};
use crate::patch::FailedTest;
use crate::policy::Expression;
use crate::report::{ExpressionTrace, TestTrace, Trace};
use crate::value::{Pointer, Text, Value};

use super::invocations::Invocation;
use super::scope::Scope;

/// Collects what was evaluated, if reports have traces.
pub(super) struct Tracer {
    trace: Option<Trace>,
    /// The binding and parameter of the current run.
    invocation: Option<Text>,
}

impl Tracer {
    pub(super) fn new(is_traced: bool) -> Self {
        Self { trace: is_traced.then(Trace::default), invocation: None }
    }

    pub(super) fn finish(self) -> Option<Box<Trace>> {
        self.trace.map(Box::new)
    }

    /// Begins the run for a binding and a parameter.
    pub(super) fn enter(&mut self, invocation: &Invocation<'_>) {
        if self.trace.is_none() {
            return;
        }
        self.invocation = invocation.binding.map(|binding| {
            let name = invocation.params.path(&["metadata", "name"]).and_then(Value::as_str);
            let params = name.map(|name| format!(", params {name}")).unwrap_or_default();
            format!("binding {}{params}", binding.name).into()
        });
    }

    /// Adds a condition, with the reasons if it is not true.
    pub(super) fn condition(
        &mut self,
        condition: &Expression,
        value: &Result<Val, EvalError>,
        scope: &Scope<'_>,
    ) {
        self.expression(&condition.pointer, Some(&condition.name), &condition.program, value);
        let Some(trace) = &mut self.trace else { return };
        if !matches!(value, Ok(Val::Bool(true)))
            && let Some(added) = trace.expressions.last_mut()
        {
            // The parts are evaluated again, beside the sequence of random numbers.
            let calls = scope.random_calls.get();
            added.because = because(scope.env(), &condition.program, scope);
            scope.random_calls.set(calls);
        }
    }

    /// Adds an expression with its value.
    pub(super) fn expression(
        &mut self,
        pointer: &Pointer,
        name: Option<&Text>,
        program: &Program,
        value: &Result<Val, EvalError>,
    ) {
        let Some(trace) = &mut self.trace else { return };
        let invocation = self.invocation.clone();
        trace.expressions.push(ExpressionTrace { invocation, ..evaluated(pointer, name, program, value) });
    }

    /// Adds to the last expression which test of its JSON patch failed.
    pub(super) fn failed_test(&mut self, failed: FailedTest) {
        let FailedTest { path, at, expected, found } = failed;
        if let Some(added) = self.trace.as_mut().and_then(|trace| trace.expressions.last_mut()) {
            added.failed_test = Some(TestTrace { path, at, expected, found });
        }
    }

    /// Adds the policy's variables that were evaluated, with values that were not added before.
    pub(super) fn variables(&mut self, scope: &Scope<'_>) {
        let Some(trace) = &mut self.trace else { return };
        for (name, value) in scope.found() {
            let expression: Text = format!("variables.{name}").into();
            let value = shown(&value);
            let variable = crate::report::VariableTrace { iteration: None, expression, value };
            if !trace.variables.contains(&variable) {
                trace.variables.push(variable);
            }
        }
    }
}
