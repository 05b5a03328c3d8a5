//! Why an expression could not be parsed or evaluated.

use std::fmt;

use crate::semantics::Divergence;
use crate::value::Text;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ParseError {
    /// What was wrong, in the words Kyverno uses.
    pub message: String,
    /// Where in the text, in bytes.
    pub offset: usize,
    /// The difference that decided it: text that Kyverno's controllers accept.
    pub difference: Option<Divergence>,
}

impl ParseError {
    pub(super) fn new(message: impl Into<String>, offset: usize) -> Self {
        Self { message: message.into(), offset, difference: None }
    }

    pub(super) fn syntax(message: impl fmt::Display, offset: usize) -> Self {
        Self::new(format!("SyntaxError: {message}"), offset)
    }
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An object lacks a key that was asked for, and nothing in the expression provides for that.
    #[error("Unknown key {key:?} in path")]
    NotFound {
        /// The key.
        key: Text,
    },
    /// An argument has a type that the function does not take.
    #[error("Invalid type for: {found}, expected: {expected}")]
    ArgumentType {
        /// The function.
        function: &'static str,
        /// The position of the argument, from 1.
        position: usize,
        /// The argument where it is a scalar that can be shown, else its type.
        found: String,
        /// The types the function takes.
        expected: String,
    },
    /// A function got more or fewer arguments than it takes.
    #[error("incorrect number of args")]
    ArgumentCount {
        /// The function.
        function: &'static str,
    },
    /// A function that takes any number of arguments got none.
    #[error("Invalid arity.")]
    NoArguments {
        /// The function.
        function: &'static str,
    },
    /// There is no function of this name.
    #[error("unknown function: {name}{}", suggestion(*nearest))]
    UnknownFunction {
        /// The name.
        name: Text,
        /// The function with the nearest name.
        nearest: Option<&'static str>,
    },
    /// A slice with step 0.
    #[error("Invalid slice, step cannot be 0")]
    ZeroStep,
    /// A function could not do its work, and its text does not name it.
    #[error("{text}")]
    Plain {
        /// The function.
        function: &'static str,
        /// Why.
        text: String,
    },
    /// A function could not do its work.
    #[error("JMESPath function '{name}': {text}")]
    Function {
        /// The function.
        name: &'static str,
        /// Why.
        text: String,
    },
    /// The evaluation passed a limit.
    #[error("the evaluation passes the limit `{limit}` of {most}")]
    Limit {
        /// Which one.
        limit: Limit,
        /// Its value.
        most: u64,
    },
}

impl EvalError {
    /// Whether this is only a key that is not there.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether its text may repeat the values of arguments.
    pub(super) fn tells_values(&self) -> bool {
        match self {
            Self::ArgumentType { found, .. } => found.bytes().any(|byte| byte.is_ascii_digit()),
            other => matches!(other, Self::Plain { .. } | Self::Function { .. }),
        }
    }

    /// Whether a limit was passed; no construct of the language turns that into a value.
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Limit { .. })
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}

/// What bounds an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The steps of all evaluations that share a runtime.
    Steps,
    /// The bytes of a value that an expression builds.
    ResultBytes,
    /// How deep a value that an expression builds is nested.
    ResultDepth,
}

impl Limit {
    /// The name by which a user sets the limit.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::ResultBytes => "result-bytes",
            Self::ResultDepth => "result-depth",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
