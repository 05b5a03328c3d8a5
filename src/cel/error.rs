//! What is wrong with an expression, and why an evaluation fails.

use std::fmt;

use crate::diagnostics::{Code, Coded};

/// One fault of an expression that is refused when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where in the source, in bytes.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
}

/// Why an expression is refused: its faults in the order in which they were found, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    issues: Vec<Issue>,
    places: Vec<(usize, usize)>,
}

impl CompileError {
    pub(super) fn new(source: &str, issues: Vec<Issue>) -> Self {
        let places = issues.iter().map(|issue| place(source, issue.offset)).collect();
        Self { issues, places }
    }

    /// The faults.
    pub fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// The faults with line and column, both from 1, columns in characters.
    pub fn placed(&self) -> impl Iterator<Item = (usize, usize, &Issue)> {
        self.places.iter().zip(&self.issues).map(|((line, column), issue)| (*line, *column, issue))
    }
}

/// Line and column of an offset, both from 1.
pub(super) fn place(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..source.floor_char_boundary(offset)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// One line for each fault: `1:5: undeclared reference to 'foo'`.
impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (line, column, issue)) in self.placed().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{line}:{column}: {}", issue.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

impl Coded for CompileError {
    fn code(&self) -> Code {
        Code::CelRefused
    }
}

/// Why an evaluation fails. The texts are those of Kubernetes and Kyverno.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// A key that a map does not have, or a selection from something that has no keys.
    #[error("no such key: {0}")]
    NoSuchKey(String),
    /// An index that a list does not have.
    #[error("index out of bounds: {0}")]
    IndexOutOfBounds(String),
    /// Values that an operator or a function does not take.
    #[error("no such overload{0}")]
    NoSuchOverload(String),
    /// A variable without a value.
    #[error("no such attribute(s): {0}")]
    NoSuchAttribute(String),
    /// Any other failure of a function.
    #[error("{0}")]
    Failed(String),
    /// No input has what a function looks up.
    #[error("no data for {call}; {hint}")]
    NoData {
        /// The call with its arguments.
        call: String,
        /// What would help.
        hint: String,
    },
    /// A function that reaches outside, where there is nothing outside.
    #[error("the function '{0}' has a value only in policies")]
    NoHost(String),
    /// A value that the cluster may accept, beyond a limit of this program.
    #[error("limit: {0}")]
    ValueLimit(String),
    /// The evaluation costs more than is allowed.
    #[error(
        "operation cancelled: actual cost limit exceeded, the cost limit of {} for one expression",
        grouped(*.0)
    )]
    CostLimit(u64),
    /// All rules on an object take more steps than is allowed.
    #[error("operation cancelled: the rules exceed the limit `object-steps` of {0} for one object")]
    StepLimit(usize),
    /// The evaluation makes more bytes than is allowed.
    #[error("operation cancelled: the values made are larger than {0} bytes")]
    MemoryLimit(usize),
}

/// A number with commas: `1,000,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Coded for EvalError {
    fn code(&self) -> Code {
        match self {
            Self::CostLimit(_) | Self::StepLimit(_) | Self::MemoryLimit(_) | Self::ValueLimit(_) => {
                Code::EvaluationLimit
            }
            Self::NoData { .. } => Code::NoData,
            _ => Code::CelFailed,
        }
    }
}

impl EvalError {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    pub(super) fn no_overload() -> Self {
        Self::NoSuchOverload(String::new())
    }

    /// Whether `&&`, `||` and macros cannot absorb it.
    pub(super) const fn is_final(&self) -> bool {
        matches!(self, Self::CostLimit(_) | Self::StepLimit(_) | Self::MemoryLimit(_))
    }
}
