//! Traces: how the outcome of a rule came about.

use std::collections::BTreeMap;

use crate::value::{Pointer, Text, Value};

use super::SkipReason;

/// What was evaluated for an outcome, in order.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The preconditions that were evaluated.
    pub conditions: Vec<ConditionTrace>,
    /// The variables that were resolved.
    pub variables: Vec<VariableTrace>,
    /// The index of the target in the rule; `None` for the trigger.
    pub target: Option<usize>,
    /// The exceptions that name the rule and do not apply.
    pub exceptions: Vec<ExceptionTrace>,
    /// The iterations of `foreach` loops.
    pub iterations: Vec<Iteration>,
    /// The number of further iterations, which are not kept.
    pub omitted_iterations: usize,
    /// The anchors that were decided, by their place in the rule.
    pub anchors: BTreeMap<Pointer, AnchorTrace>,
    /// The conditions and mutations of a CEL policy.
    pub expressions: Vec<ExpressionTrace>,
}

impl Trace {
    /// How many iterations are kept, besides those that fail.
    pub const MAX_ITERATIONS: usize = 1000;
}

/// An exception that does not apply.
#[derive(Clone, Debug)]
pub struct ExceptionTrace {
    /// Its name, as `namespace/name`.
    pub name: Text,
    /// Why it does not apply.
    pub reasons: Vec<String>,
}

/// A precondition that was evaluated.
#[derive(Clone, Debug)]
pub struct ConditionTrace {
    /// Its path below `preconditions`.
    pub pointer: Pointer,
    /// The iteration, as an index of [`Trace::iterations`]; `None` outside of loops.
    pub iteration: Option<usize>,
    /// The key's value.
    pub key: Value,
    /// The operator's name.
    pub operator: Text,
    /// The resolved right operand.
    pub value: Value,
    /// Whether it holds.
    pub met: bool,
}

/// What the patches of a rule showed of an anchor; elements of lists may show both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnchorTrace {
    /// Whether it was true somewhere; of an add anchor, whether the field was missing.
    pub held: bool,
    /// Whether it was false somewhere; of an add anchor, whether the field was there.
    pub failed: bool,
}

/// An expression of a CEL policy that was evaluated.
#[derive(Clone, Debug)]
pub struct ExpressionTrace {
    /// The binding and the parameter, of a policy with bindings.
    pub invocation: Option<Text>,
    /// Its place in the policy.
    pub place: Pointer,
    /// Its name, if it has one.
    pub name: Option<Text>,
    /// The expression.
    pub expression: Text,
    /// Its value, or the error.
    pub value: Result<Value, VariableError>,
    /// The parts of a false condition that decided, with their values.
    pub because: Vec<(Text, Result<Value, VariableError>)>,
    /// The `test` of its JSON patch that failed.
    pub failed_test: Option<TestTrace>,
}

/// A `test` of a JSON patch that failed.
#[derive(Clone, Debug)]
pub struct TestTrace {
    /// Its path as written.
    pub path: Text,
    /// The place in the object.
    pub at: Pointer,
    /// The value that was expected; `None` if the operation has none.
    pub expected: Option<Value>,
    /// The value that was found; `None` if there is none.
    pub found: Option<Value>,
}

/// A variable that was resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableTrace {
    /// The iteration, as an index of [`Trace::iterations`]; `None` outside of loops.
    pub iteration: Option<usize>,
    /// The expression.
    pub expression: Text,
    /// Its value, or the error.
    pub value: Result<Value, VariableError>,
}

/// Why a variable has no value: the message of the query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct VariableError(pub String);

/// An iteration of a loop.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// The path of the loop below `mutate`, such as `foreach[0]`.
    pub place: Pointer,
    /// The loop's list.
    pub list: Text,
    /// The element's index in it.
    pub index: usize,
    /// The iteration of the outer loop, as an index of [`Trace::iterations`].
    pub outer: Option<usize>,
    /// Its outcome.
    pub outcome: ElementOutcome,
}

/// The outcome of an iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementOutcome {
    /// It failed.
    Failed,
    /// It changed the object.
    Changed,
    /// It changed nothing.
    NoChange,
    /// It was skipped.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// The value in the object at the path of the reason.
        found: Option<Value>,
    },
}
