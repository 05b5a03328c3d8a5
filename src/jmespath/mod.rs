//! JMESPath in Kyverno's dialect: parsed once, evaluated often.
//!
//! Clock, random numbers and limits come from a [`Runtime`]. Knows nothing of policies, `{{ }}` and Kubernetes objects.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod ast;
mod doubt;
mod error;
mod functions;
mod image;
mod interpreter;
mod layout;
mod lexer;
mod literals;
mod moment;
mod origin;
mod parser;
mod runtime;
mod semver;
mod syntax;
mod taint;
#[cfg(test)]
mod testing;
mod tree;
mod typed_results;

use std::fmt;
use std::sync::Arc;

use crate::semantics::DivergenceSet;
use crate::value::{Text, Value};

pub use doubt::Doubt;
pub use error::{EvalError, Limit, ParseError, WrongArgument};
pub use functions::{Signature, functions};
pub use image::{ImageError, ImageReference};
pub use origin::Origin;
pub use runtime::{Clock, FixedClock, Limits, Random, Runtime, SeededRandom};
pub use syntax::{Syntax, Visits};
pub use tree::Tree;

/// The length to which error messages shorten texts.
const MAX_QUOTED_CHARS: usize = 128;

/// The maximum length of an expression.
pub const MAX_EXPRESSION_BYTES: usize = 64 * 1024;

/// The maximum nesting of an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 256;

/// A parsed expression; clones share the syntax tree.
///
/// ```
/// use kyv::jmespath::{Expression, FixedClock, Runtime, SeededRandom};
/// use kyv::semantics::{DivergenceTracker, Semantics};
/// use kyv::value::Value;
///
/// let expression = Expression::parse("spec.containers[*].name").unwrap();
/// let pod = Value::from_json(r#"{"spec":{"containers":[{"name":"a"},{"name":"b"}]}}"#).unwrap();
/// let tracker = DivergenceTracker::default();
/// let random = SeededRandom::new(0);
/// let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
/// assert_eq!(expression.search(&pod, &runtime).unwrap().to_json(), r#"["a","b"]"#);
/// ```
#[derive(Clone)]
pub struct Expression {
    text: Text,
    root: Arc<ast::Node>,
    divergences: DivergenceSet,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Text outside the grammar, longer than [`MAX_EXPRESSION_BYTES`] or nested deeper than
    /// [`MAX_EXPRESSION_DEPTH`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let parsed = parser::parse(text)?;
        Ok(Self { text: text.into(), root: Arc::new(parsed.root), divergences: parsed.divergences })
    }

    /// The text it was parsed from.
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// Its syntax tree.
    pub fn tree(&self) -> Tree<'_> {
        Tree(&self.root)
    }

    /// Its syntax as data.
    pub fn syntax(&self) -> Syntax {
        Syntax::of(&self.root)
    }

    /// Evaluates the expression on a value; the result shares storage with it.
    ///
    /// # Errors
    ///
    /// A missing key ([`EvalError::NotFound`]), an argument that a function does not accept, an exceeded limit.
    pub fn search(&self, root: &Value, runtime: &Runtime<'_>) -> Result<Value, EvalError> {
        runtime.tracker.reach_all(self.divergences);
        interpreter::Interpreter { runtime }.search(&self.root, root)
    }
}

impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Expression").field(&self.text).finish()
    }
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::semantics::{DivergenceTracker, Semantics};

    #[test]
    fn an_expression_is_shared_between_threads() {
        const fn shared<T: Send + Sync>() {}
        shared::<Expression>();
    }

    #[test]
    fn each_search_reports_the_divergences_of_parsing() {
        let expression = Expression::parse("join(',' @)").unwrap();
        let tracker = DivergenceTracker::new(Semantics::Kyverno);
        let random = SeededRandom::new(0);
        let runtime = Runtime::new(&FixedClock::EPOCH, &random, &tracker);
        let list = Value::from_json(r#"["a","b"]"#).unwrap();
        assert_eq!(expression.search(&list, &runtime).unwrap(), Value::from("a,b"));
        assert_eq!(tracker.reached(), expression.divergences);
        assert!(!tracker.reached().is_empty());
    }
}
