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
    /// What is wrong.
    pub message: String,
    /// The same in Kyverno's words, if they are others.
    pub original: Option<String>,
    /// Where in the text, in bytes.
    pub offset: usize,
}

impl ParseError {
    /// An error that Kyverno has no other words for.
    pub(super) fn plain(message: impl Into<String>, offset: usize) -> Self {
        Self { message: message.into(), original: None, offset }
    }

    pub(super) fn syntax(message: impl fmt::Display, original: impl fmt::Display, offset: usize) -> Self {
        let original = Some(format!("SyntaxError: {original}"));
        Self { message: message.to_string(), original, offset }
    }
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// An object has no such key, and the expression has no alternative.
    #[error("there is no key `{key}`")]
    NotFound {
        /// The key.
        key: Text,
    },
    /// An argument has a type that the function does not accept.
    #[error("{0}")]
    ArgumentType(Box<WrongArgument>),
    /// The wrong number of arguments.
    #[error("{function} takes {}, {given} given", arguments(.parameters))]
    ArgumentCount {
        /// The function.
        function: &'static str,
        /// The types of its parameters.
        parameters: Vec<String>,
        /// How many arguments there are.
        given: usize,
    },
    /// A variadic function without arguments.
    #[error("{function} takes at least 1 argument, none given")]
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
    #[error("the step of a slice cannot be 0")]
    ZeroStep,
    /// A function failed with a message that does not name it.
    #[error("{}", plain(.text))]
    Plain {
        /// The function.
        function: &'static str,
        /// Why.
        text: String,
    },
    /// A function failed.
    #[error("{name}: {}", plain(.text))]
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

/// An argument of a type that the function does not accept.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function}: argument {position} is {given}, expected {wanted}")]
pub struct WrongArgument {
    /// The function.
    pub function: &'static str,
    /// The position of the argument, from 1.
    pub position: usize,
    /// What the argument is.
    pub given: &'static str,
    /// What the function accepts.
    pub wanted: String,
    /// Kyverno's words: the argument if it is null, a boolean or a number, else its type.
    pub found: String,
    /// Kyverno's words: the types that the function accepts.
    pub expected: String,
}

impl EvalError {
    /// Whether a key is missing.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Its text in Kyverno's words, if they are others.
    pub fn original(&self) -> Option<String> {
        let original = match self {
            Self::ArgumentType(argument) => {
                format!("Invalid type for: {}, expected: {}", argument.found, argument.expected)
            }
            Self::ArgumentCount { .. } => "incorrect number of args".to_owned(),
            Self::NoArguments { .. } => "Invalid arity.".to_owned(),
            Self::ZeroStep => "Invalid slice, step cannot be 0".to_owned(),
            Self::Plain { text, .. } => text.clone(),
            Self::Function { name, text } => format!("JMESPath function '{name}': {text}"),
            Self::NotFound { key } => format!("Unknown key {key:?} in path"),
            Self::UnknownFunction { .. } | Self::Limit { .. } => return None,
        };
        (original != self.to_string()).then_some(original)
    }

    /// Whether its text may contain values of arguments.
    pub(super) fn quotes_values(&self) -> bool {
        match self {
            Self::ArgumentType(argument) => argument.found.bytes().any(|byte| byte.is_ascii_digit()),
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
            Self::ArgumentType(_) | Self::ArgumentCount { .. } | Self::NoArguments { .. } => {
                Code::ArgumentType
            }
            Self::UnknownFunction { .. } => Code::UnknownFunction,
            Self::ZeroStep | Self::Plain { .. } | Self::Function { .. } => Code::FunctionFailed,
            Self::Limit { .. } => Code::EvaluationLimit,
        }
    }
}

/// Kyverno's words about a failed function, and plainer ones.
const WORDS: [(&str, &str); 12] = [
    ("Types mismatch", "the types of the operands do not fit together"),
    ("Zero divisor passed", "division by zero"),
    ("invalid operand", "an operand is neither a number nor a quantity nor a duration"),
    ("Non-integer argument(s) passed for round off", "the number of digits is no integer"),
    ("Non-integer argument(s) passed for modulo", "the operands of modulo are no integers"),
    ("unknown type", "the argument has no JSON type"),
    ("invalid type, must be number of string", "the keys are neither numbers nor strings"),
    ("invalid type, must be number", "some keys are numbers, others are not"),
    ("invalid type, must be string", "some keys are strings, others are not"),
    ("error in sort_by comparison", "the keys to sort by are of several types"),
    ("argument #1 is not of type StringArray", "argument 1 is no list of strings"),
    ("argument #2 is out of bounds", "argument 2 is out of bounds"),
];

/// A message of a function in plain words.
fn plain(text: &str) -> String {
    if let Some((_, plain)) = WORDS.iter().find(|(original, _)| *original == text) {
        return (*plain).to_owned();
    }
    if let Some((position, name)) =
        text.strip_prefix("argument #").and_then(|rest| rest.split_once(" is not of type "))
    {
        let article = if name == "Array" { "is no list" } else { "is no" };
        let name = if name == "Array" { String::new() } else { format!(" {}", name.to_lowercase()) };
        return format!("argument {position} {article}{name}");
    }
    text.replace("strconv.ParseInt: parsing ", "no integer: ")
}

/// `3 arguments (string, string, string)`
fn arguments(parameters: &[String]) -> String {
    match parameters {
        [] => "no arguments".to_owned(),
        [one] => format!("1 argument ({one})"),
        several => format!("{} arguments ({})", several.len(), several.join(", ")),
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
