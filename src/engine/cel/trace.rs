//! What explanations show of a policy.

use std::collections::BTreeSet;

use crate::cel::{EvalError, Program, Val};
use crate::engine::evaluation::Evaluation;
use crate::engine::expression_trace::{ShownValues, because, evaluated};
use crate::patch::FailedTest;
use crate::policy::Expression;
use crate::report::{ExpressionTrace, TestTrace, Trace};
use crate::value::{Pointer, Text, Value};

use super::invocations::Invocation;
use super::scope::Scope;

/// Collects what was evaluated, if reports have traces.
pub(super) struct Tracer<'e> {
    trace: Option<Trace>,
    shown: &'e ShownValues,
    /// The binding and parameter of the current run.
    invocation: Option<Text>,
    /// The variables of the current run that were added.
    added: BTreeSet<Text>,
}

impl<'e> Tracer<'e> {
    pub(super) fn new(evaluation: &'e Evaluation<'_>) -> Self {
        let trace = evaluation.is_traced().then(Trace::default);
        Self { trace, ..Self::without_trace(evaluation) }
    }

    /// For what reports do not show.
    pub(super) const fn without_trace(evaluation: &'e Evaluation<'_>) -> Self {
        Self { trace: None, shown: &evaluation.shown_values, invocation: None, added: BTreeSet::new() }
    }

    pub(super) fn finish(self) -> Option<Box<Trace>> {
        self.trace.map(Box::new)
    }

    /// Begins the run for a binding and a parameter.
    pub(super) fn enter(&mut self, invocation: &Invocation<'_>) {
        if self.trace.is_none() {
            return;
        }
        self.added.clear();
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
            added.because = because(scope.env(), &condition.program, scope, self.shown);
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
        let evaluated = evaluated(pointer, name, program, value, self.shown);
        trace.expressions.push(ExpressionTrace { invocation, ..evaluated });
    }

    /// Adds to the last expression which test of its JSON patch failed.
    pub(super) fn failed_test(&mut self, failed: FailedTest) {
        let FailedTest { path, at, expected, found } = failed;
        if let Some(added) = self.trace.as_mut().and_then(|trace| trace.expressions.last_mut()) {
            added.failed_test = Some(TestTrace { path, at, expected, found });
        }
    }

    /// Adds the policy's variables that were evaluated. Of several runs, those with another value than before.
    pub(super) fn variables(&mut self, scope: &Scope<'_>) {
        let Some(trace) = &mut self.trace else { return };
        for (name, value) in scope.found() {
            if !self.added.insert(name.clone()) {
                continue;
            }
            let expression: Text = format!("variables.{name}").into();
            let value = self.shown.value(&value);
            let variable = crate::report::VariableTrace { iteration: None, expression, value };
            if self.invocation.is_none() || !trace.variables.contains(&variable) {
                trace.variables.push(variable);
            }
        }
    }
}
