//! Variables: references inside strings and their replacement from a scope.
//!
//! A document is prepared once ([`Template`]): what holds no variable stays a plain value, expressions are
//! parsed, references to other places of the same document (`$(…)`) are resolved. It is then substituted
//! as often as wanted. Knows nothing of the rule that asks or of how the [`Scope`] was filled.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod reference;
mod scan;
mod substitute;
mod taint;
mod template;

#[cfg(test)]
mod tests;

use crate::jmespath::{EvalError, Expression, Limit, ParseError};
use crate::secrets::TaintTracker;
use crate::semantics::Semantics;
use crate::value::{Text, Value};

pub use reference::broken_references;
pub use scan::{holds_variable, replace_variables};
pub use substitute::{Inline, InlineLeaf, Limits, Substituted, Substitution};
pub use template::Template;

/// An expression between braces, parsed.
#[derive(Clone, Debug)]
pub struct Query {
    text: Text,
    expression: Result<Expression, ParseError>,
}

impl Query {
    /// Parses the text of an expression; a fault shows when the query is asked.
    pub fn new(text: &str, semantics: Semantics) -> Self {
        let text = text.trim();
        Self { text: text.into(), expression: Expression::parse(text, semantics) }
    }

    /// The expression as written, without blanks around it.
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// The parsed expression.
    ///
    /// # Errors
    ///
    /// An empty text, and one that is no JMESPath.
    pub fn expression(&self) -> Result<&Expression, QueryError> {
        if self.text.is_empty() {
            return Err(QueryError::Empty);
        }
        self.expression
            .as_ref()
            .map_err(|fault| QueryError::Syntax { expression: self.text.clone(), fault: fault.clone() })
    }
}

/// An expression as messages show it: a long one is cut.
fn shown(expression: &str) -> String {
    const LONGEST: usize = 200;
    match expression.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &expression[..end]),
        None => expression.to_owned(),
    }
}

/// Where the values of variables come from.
pub trait Scope {
    /// Answers a query, loading first what it names.
    ///
    /// # Errors
    ///
    /// See [`QueryError`].
    fn query(&mut self, query: &Query) -> Result<Value, QueryError>;

    /// What is known of secrets among the values, where texts that are made of them must be noted.
    fn secrets(&self) -> Option<&TaintTracker> {
        None
    }
}

/// Why a query has no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// There is nothing between the braces.
    #[error("invalid query (nil)")]
    Empty,
    /// The text is no JMESPath.
    #[error("incorrect query {}: {fault}", shown(expression))]
    Syntax {
        /// The expression as written.
        expression: Text,
        /// What is wrong with it.
        fault: ParseError,
    },
    /// The evaluation failed.
    #[error("JMESPath query failed: {0}")]
    Failed(EvalError),
    /// A context entry that the query names could not be loaded.
    #[error(transparent)]
    Load(LoadError),
}

/// Why a context entry could not be loaded.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// An expression passed a limit: the limit says more than the way to it, which may lead through many entries.
    #[error("the evaluation passes the limit `{limit}` of {most}, in the context entry {entry}")]
    Limit {
        /// Which limit.
        limit: Limit,
        /// Its value.
        most: u64,
        /// The entry with the expression.
        entry: Text,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for LoadError {
    fn from(message: String) -> Self {
        Self::Failed(message)
    }
}

impl QueryError {
    /// Whether a key on the way was unknown, which a default may stand in for.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Failed(EvalError::NotFound { .. }))
    }

    /// The limit that the evaluation passed, if it did.
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
    #[error("failed to resolve {} at path {path}: {cause}", shown(expression))]
    Variable {
        /// The expression as asked.
        expression: Text,
        /// The place of the string, from the root of the rule, such as `/mutate/…/labels/a`.
        path: String,
        /// Why.
        cause: QueryError,
    },
    /// A key became something other than a string.
    #[error("expected string after substituting variables in key \"{key}\" at path {path}")]
    Key {
        /// The key as written.
        key: Text,
        /// The place of the map that holds it.
        path: String,
    },
    /// A `$(…)` reference leads nowhere.
    #[error("failed to resolve {reference} at path {path}: {cause}")]
    Reference {
        /// The reference as written.
        reference: String,
        /// The place of the string that holds it.
        path: String,
        /// Why.
        cause: String,
    },
    /// A limit was passed.
    #[error("{limit} passed at path {path} (limit {name}={maximum})")]
    Limit {
        /// What there was too much of.
        limit: &'static str,
        /// The name that `--limit` knows it by.
        name: &'static str,
        /// The most that is allowed.
        maximum: usize,
        /// The place of the string.
        path: String,
    },
}
