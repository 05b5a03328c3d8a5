//! How the outcome of a rule came about.

use crate::value::{Pointer, Text, Value};

/// What was looked at on the way to an outcome, in the order it was.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The preconditions that were evaluated.
    pub conditions: Vec<SeenCondition>,
    /// The variables that were asked for.
    pub variables: Vec<SeenVariable>,
    /// The exceptions that name the rule and do not apply.
    pub exceptions: Vec<SeenException>,
}

/// An exception that was looked at and does not apply.
#[derive(Clone, Debug)]
pub struct SeenException {
    /// Its name, as `namespace/name`.
    pub name: Text,
    /// Why it does not apply.
    pub reasons: Vec<String>,
}

/// A precondition that was evaluated.
#[derive(Clone, Debug)]
pub struct SeenCondition {
    /// Its place below `preconditions`.
    pub pointer: Pointer,
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
pub struct SeenVariable {
    /// The expression.
    pub expression: Text,
    /// Its value, or why it has none.
    pub value: Result<Value, String>,
}
