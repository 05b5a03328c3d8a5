//! How the outcome of a rule came about.

use crate::value::{Pointer, Text, Value};

use super::SkipReason;

/// What was looked at on the way to an outcome, in the order it was.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The preconditions that were evaluated.
    pub conditions: Vec<ConditionTrace>,
    /// The variables that were asked for.
    pub variables: Vec<VariableTrace>,
    /// The target that it is of, as an index of those of the rule; `None` for what the trigger alone is asked.
    pub target: Option<usize>,
    /// The exceptions that name the rule and do not apply.
    pub exceptions: Vec<ExceptionTrace>,
    /// The elements that loops went through.
    pub turns: Vec<Iteration>,
    /// How many elements more there were, of which nothing is kept.
    pub turns_left_out: usize,
}

impl Trace {
    /// So many elements of loops are kept, beside those that fail.
    pub const TURNS: usize = 1000;
}

/// An exception that was looked at and does not apply.
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
    /// Its place below `preconditions`.
    pub pointer: Pointer,
    /// The element it was evaluated for, as an index of [`Trace::turns`]; `None` for one of the rule.
    pub turn: Option<usize>,
    /// The key's value.
    pub key: Value,
    /// The operator's name.
    pub operator: Text,
    /// The value it was compared with.
    pub value: Value,
    /// Whether it held.
    pub met: bool,
}

/// A variable that was asked for.
#[derive(Clone, Debug)]
pub struct VariableTrace {
    /// The element it was asked for, as an index of [`Trace::turns`]; `None` outside of loops.
    pub turn: Option<usize>,
    /// The expression.
    pub expression: Text,
    /// Its value, or why it has none.
    pub value: Result<Value, String>,
}

/// An element that a loop went through.
#[derive(Clone, Debug)]
pub struct Iteration {
    /// The place of the loop below `mutate`, such as `foreach[0]`.
    pub place: Pointer,
    /// The loop's list.
    pub list: Text,
    /// The element's index in it.
    pub index: usize,
    /// The element of the loop around, as an index of [`Trace::turns`].
    pub outer: Option<usize>,
    /// What became of it.
    pub fate: ElementOutcome,
}

/// What became of an element of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum ElementOutcome {
    /// It could not be evaluated.
    Failed,
    /// It changed the object.
    Changed,
    /// It asks for what is already there.
    NoChange,
    /// It was passed over.
    Skipped {
        /// Why.
        reason: SkipReason,
        /// What the object had where the reason points to.
        found: Option<Value>,
    },
}
