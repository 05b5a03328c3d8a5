//! Variables in strings, and their replacement by values of a scope.
//!
//! A [`Template`] is prepared once: its expressions are parsed, references to other fields of the document (`$(…)`) are
//! resolved, and everything without variables is a plain value. It can be substituted often. Knows nothing of rules, and of
//! how the [`Scope`] gets its values.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod reference;
mod scan;
mod substitute;
mod taint;
mod template;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::diagnostics::{Code, Coded};
use crate::jmespath::{EvalError, Expression, Limit, ParseError};
use crate::secrets::TaintTracker;
use crate::value::{Pointer, Segment, Text, Value, shortened};

pub use reference::{broken_references, with_references};
pub use scan::{holds_reference, holds_variable, replace_each_variable, replace_variables};
pub use substitute::{Inline, InlineLeaf, Limits, Substituted, Substitution};
pub use template::{Template, Variable};

/// An expression between braces, parsed. Clones share it.
#[derive(Clone, Debug)]
pub struct Query(Arc<ParsedQuery>);

#[derive(Debug)]
struct ParsedQuery {
    text: Text,
    expression: Result<Expression, ParseError>,
}

impl Query {
    /// Parses an expression. Its errors are those of [`Query::expression`].
    pub fn new(text: &str) -> Self {
        let text = text.trim();
        let expression = Expression::parse(text);
        let text = expression.as_ref().map_or_else(|_| text.into(), |parsed| parsed.text().clone());
        Self(Arc::new(ParsedQuery { text, expression }))
    }

    /// The expression as written, without surrounding blanks.
    pub fn text(&self) -> &Text {
        &self.0.text
    }

    /// The parsed expression.
    ///
    /// # Errors
    ///
    /// An empty text, or one that is no JMESPath.
    pub fn expression(&self) -> Result<&Expression, QueryError> {
        let ParsedQuery { text, expression } = &*self.0;
        if text.is_empty() {
            return Err(QueryError::Empty);
        }
        expression
            .as_ref()
            .map_err(|error| QueryError::Syntax { expression: text.clone(), error: error.clone() })
    }
}

/// An expression in a message.
fn quoted(expression: &str) -> String {
    const MAX_CHARS: usize = 200;
    shortened(expression, MAX_CHARS)
}

/// A path in a rule as in Kyverno's messages: `/mutate/patchStrategicMerge/metadata`.
fn rule_path(at: &Pointer) -> String {
    let mut path = String::new();
    for segment in at.segments() {
        path.push('/');
        match segment {
            Segment::Key(key) => path.push_str(&key.replace('/', r"\/")),
            Segment::Index(index) => path.push_str(&index.to_string()),
        }
    }
    path
}

/// A path in a rule, in a message; nothing for the rule itself.
fn place(at: &Pointer) -> String {
    if at.is_root() { String::new() } else { format!(" in {at}") }
}

/// The source of the values of variables.
pub trait Scope {
    /// Evaluates a query, and loads the context entries that it names.
    ///
    /// # Errors
    ///
    /// See [`QueryError`].
    fn query(&mut self, query: &Query) -> Result<Value, QueryError>;

    /// The tracker of values derived from Secrets.
    fn secrets(&self) -> Option<&TaintTracker> {
        None
    }
}

/// Why a query has no value.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is nothing between the braces.
    #[error("the expression is empty")]
    Empty,
    /// The text is no JMESPath.
    #[error("not valid JMESPath: {error}")]
    Syntax {
        /// The expression as written.
        expression: Text,
        /// The error.
        error: ParseError,
    },
    /// The evaluation failed.
    #[error(transparent)]
    Failed(EvalError),
    /// A context entry in the query could not be loaded.
    #[error(transparent)]
    Load(LoadError),
}

/// Why a context entry could not be loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An expression exceeded a limit. The chain of entries that led to it is omitted.
    #[error("the evaluation exceeds the limit `{limit}` of {max}, in the context entry {entry}")]
    Limit {
        /// The limit.
        limit: Limit,
        /// Its value.
        max: u64,
        /// The entry with the expression.
        entry: Text,
    },
    /// Anything else.
    #[error("{message}")]
    Failed {
        /// The code of the cause.
        code: Code,
        /// Why.
        message: String,
        /// The same in Kyverno's words, if they are others.
        original: Option<String>,
    },
}

impl LoadError {
    /// Its text in Kyverno's words, if they are others.
    pub fn original(&self) -> Option<String> {
        match self {
            Self::Limit { .. } => None,
            Self::Failed { original, .. } => original.clone(),
        }
    }
}

impl From<String> for LoadError {
    fn from(message: String) -> Self {
        Self::Failed { code: Code::ContextFailed, message, original: None }
    }
}

impl QueryError {
    /// Whether a key is missing.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Failed(EvalError::NotFound { .. }))
    }

    /// Its text in Kyverno's words, if they are others.
    pub fn original(&self) -> Option<String> {
        match self {
            Self::Syntax { expression, error } => {
                let cause = error.original.as_ref().unwrap_or(&error.message);
                Some(format!("incorrect query {}: {cause}", quoted(expression)))
            }
            Self::Failed(error) => {
                let cause = error.original().unwrap_or_else(|| error.to_string());
                Some(format!("JMESPath query failed: {cause}"))
            }
            Self::Empty => Some("invalid query (nil)".to_owned()),
            Self::Load(error) => error.original(),
        }
    }

    /// The exceeded limit.
    pub const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Failed(EvalError::Limit { limit, .. }) | Self::Load(LoadError::Limit { limit, .. }) => {
                Some(*limit)
            }
            _ => None,
        }
    }
}

/// Why a document could not be substituted.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubstitutionError {
    /// A variable has no value.
    #[error("no value for `{}`{}: {cause}", quoted(expression), place(at))]
    Variable {
        /// The expression as evaluated.
        expression: Text,
        /// The string, from the root of the rule: `/mutate/…/labels/a`.
        at: Pointer,
        /// Why.
        cause: Box<QueryError>,
    },
    /// The value of a key is no string.
    #[error("the key `{key}`{} must become a string", place(at))]
    Key {
        /// The key as written.
        key: Text,
        /// Its map.
        at: Pointer,
    },
    /// A `$(…)` reference has no value.
    #[error("`{reference}`{}: {cause}", place(at))]
    Reference {
        /// The reference as written.
        reference: String,
        /// Its string.
        at: Pointer,
        /// Why.
        cause: String,
    },
    /// A limit was exceeded.
    #[error("{limit} passed{} (limit {name}={maximum})", place(at))]
    Limit {
        /// What is limited.
        limit: &'static str,
        /// The name of the limit in `--limit`.
        name: &'static str,
        /// The limit.
        maximum: usize,
        /// The string.
        at: Pointer,
    },
}

impl SubstitutionError {
    /// The node with the error, from the root of the rule.
    pub const fn pointer(&self) -> &Pointer {
        match self {
            Self::Variable { at, .. }
            | Self::Key { at, .. }
            | Self::Reference { at, .. }
            | Self::Limit { at, .. } => at,
        }
    }

    /// Its text in Kyverno's words, if they are others.
    pub fn original(&self) -> Option<String> {
        match self {
            Self::Variable { expression, at, cause } => {
                let cause = cause.original().unwrap_or_else(|| cause.to_string());
                Some(format!("failed to resolve {} at path {}: {cause}", quoted(expression), rule_path(at)))
            }
            Self::Key { key, at } => Some(format!(
                "expected string after substituting variables in key \"{key}\" at path {}",
                rule_path(at)
            )),
            Self::Reference { reference, at, cause } => {
                Some(format!("failed to resolve {reference} at path {}: {cause}", rule_path(at)))
            }
            Self::Limit { .. } => None,
        }
    }

    /// The expression without a value.
    pub const fn expression(&self) -> Option<&Text> {
        match self {
            Self::Variable { expression, .. } => Some(expression),
            Self::Key { .. } | Self::Reference { .. } | Self::Limit { .. } => None,
        }
    }
}

impl Coded for QueryError {
    fn code(&self) -> Code {
        match self {
            Self::Empty | Self::Syntax { .. } => Code::ExpressionSyntax,
            Self::Failed(error) => error.code(),
            Self::Load(error) => error.code(),
        }
    }
}

impl Coded for LoadError {
    fn code(&self) -> Code {
        match self {
            Self::Limit { .. } => Code::EvaluationLimit,
            Self::Failed { code, .. } => *code,
        }
    }
}

impl Coded for SubstitutionError {
    fn code(&self) -> Code {
        match self {
            Self::Variable { cause, .. } => cause.code(),
            Self::Key { .. } => Code::KeyNotText,
            Self::Reference { .. } => Code::Reference,
            Self::Limit { .. } => Code::EvaluationLimit,
        }
    }
}
