//! Errors of parsing and evaluation.

use std::fmt;

use crate::diagnostics::{Code, Coded};
use crate::value::{Text, Value};

/// The result of an evaluation.
pub(super) type SearchResult = Result<Value, EvalError>;

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct ParseError {
    /// What is wrong, in Kyverno's words.
    pub message: String,
    /// Where in the text, in bytes.
    pub offset: usize,
}

impl ParseError {
    pub(super) fn new(message: impl Into<String>, offset: usize) -> Self {
        Self { message: message.into(), offset }
    }

    pub(super) fn syntax(message: impl fmt::Display, offset: usize) -> Self {
        Self::new(format!("SyntaxError: {message}"), offset)
    }
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An object has no such key, and the expression has no alternative.
    #[error("Unknown key {key:?} in path")]
    NotFound {
        /// The key.
        key: Text,
    },
    /// An argument has a type that the function does not accept.
    #[error("Invalid type for: {found}, expected: {expected}")]
    ArgumentType {
        /// The function.
        function: &'static str,
        /// The position of the argument, from 1.
        position: usize,
        /// The argument if it is null, a boolean or a number, else its type.
        found: String,
        /// The types that the function accepts.
        expected: String,
    },
    /// The wrong number of arguments.
    #[error("incorrect number of args")]
    ArgumentCount {
        /// The function.
        function: &'static str,
    },
    /// A variadic function without arguments.
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
    /// A function failed with a message that does not name it.
    #[error("{text}")]
    Plain {
        /// The function.
        function: &'static str,
        /// Why.
        text: String,
    },
    /// A function failed.
    #[error("JMESPath function '{name}': {text}")]
    Function {
        /// The function.
        name: &'static str,
        /// Why.
        text: String,
    },
    /// The evaluation exceeded a limit.
    #[error("the evaluation exceeds the limit `{limit}` of {max}")]
    Limit {
        /// The limit.
        limit: Limit,
        /// Its value.
        max: u64,
    },
}

impl EvalError {
    /// Whether a key is missing.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Whether its text may contain values of arguments.
    pub(super) fn quotes_values(&self) -> bool {
        match self {
            Self::ArgumentType { found, .. } => found.bytes().any(|byte| byte.is_ascii_digit()),
            other => matches!(other, Self::Plain { .. } | Self::Function { .. }),
        }
    }

    /// Whether a limit was exceeded; no construct of the language turns that into a value.
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Limit { .. })
    }
}

impl Coded for ParseError {
    fn code(&self) -> Code {
        Code::ExpressionSyntax
    }
}

impl Coded for EvalError {
    fn code(&self) -> Code {
        match self {
            Self::NotFound { .. } => Code::KeyNotFound,
            Self::ArgumentType { .. } | Self::ArgumentCount { .. } | Self::NoArguments { .. } => {
                Code::ArgumentType
            }
            Self::UnknownFunction { .. } => Code::UnknownFunction,
            Self::ZeroStep | Self::Plain { .. } | Self::Function { .. } => Code::FunctionFailed,
            Self::Limit { .. } => Code::EvaluationLimit,
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean {name}?"))
}

/// A limit of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The steps of all evaluations with one runtime.
    Steps,
    /// The bytes of a value that an expression builds.
    ResultBytes,
    /// The nesting of a value that an expression builds.
    ResultDepth,
}

impl Limit {
    /// The name of the limit in `--limit`.
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
