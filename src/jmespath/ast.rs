//! The syntax tree of an expression.

use std::sync::{Arc, OnceLock};

use crate::value::{Text, Value};

use super::functions::Function;
use super::lexer::Operator;
use crate::regexp::{Regexp, RegexpError};

/// A node. Chains of one operator are flat, so that the depth of the tree is the nesting of the expression.
#[derive(Debug)]
pub(super) enum Node {
    /// `@`
    Current,
    Literal(Value),
    Field(Text),
    Index(i64),
    /// `a.b[0]`: each is evaluated on the result of the one before.
    Chain(Vec<Self>),
    /// `a | b`: like a chain, but a missing key is null for the next stage.
    Pipe(Vec<Self>),
    Or(Vec<Self>),
    And(Vec<Self>),
    Not(Box<Self>),
    Comparison(Box<Comparison>),
    /// `[a, b]`
    List(Vec<Self>),
    /// `{k: a}`
    Hash(Vec<(Text, Self)>),
    Projection(Box<Projection>),
    Call(Box<Call>),
}

#[derive(Debug)]
pub(super) struct Comparison {
    pub(super) operator: Operator,
    pub(super) left: Node,
    pub(super) right: Node,
}

/// An expression evaluated on each of several values.
#[derive(Debug)]
pub(super) struct Projection {
    /// The source of the values.
    pub(super) left: Node,
    pub(super) kind: ProjectionKind,
    /// Evaluated on each value.
    pub(super) right: Node,
}

/// Which values of the left side a projection visits.
#[derive(Debug)]
pub(super) enum ProjectionKind {
    /// `[*]`
    Elements,
    /// `[1:2]`
    Slice(Slice),
    /// `[]`
    Flattened,
    /// `[?condition]`
    Filtered(Node),
    /// `.*`
    Members,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) stop: Option<i64>,
    pub(super) step: Option<i64>,
}

#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: Text,
    /// `None` if there is no function of this name, which is an error only when the call is evaluated.
    pub(super) function: Option<&'static Function>,
    pub(super) arguments: Vec<Argument>,
    /// For calls whose first argument is a string literal, which may be a regular expression.
    pub(super) regexp: Option<PreparedRegexp>,
}

impl Call {
    pub(super) fn new(name: Text, arguments: Vec<Argument>) -> Self {
        let literal = matches!(arguments.first(), Some(Argument::Value(Node::Literal(Value::String(_)))));
        let regexp = literal.then(PreparedRegexp::new);
        Self { function: Function::named(&name), name, arguments, regexp }
    }
}

/// A regular expression, compiled on first use.
pub(super) type PreparedRegexp = OnceLock<Result<Arc<Regexp>, RegexpError>>;

#[derive(Debug)]
pub(super) enum Argument {
    Value(Node),
    /// `&expression`
    Expression(Node),
}

impl Argument {
    pub(super) const fn is_expression(&self) -> bool {
        matches!(self, Self::Expression(_))
    }
}

impl Node {
    /// Whether the value is the result of this function.
    pub(super) fn calls(&self, name: &str) -> bool {
        match self {
            Self::Call(call) => &*call.name == name,
            Self::Chain(stages) | Self::Pipe(stages) => stages.last().is_some_and(|last| last.calls(name)),
            _ => false,
        }
    }

    /// Whether Kyverno has an integer as value, not a float: the result of `compare`, or the index of a loop.
    pub(super) fn is_typed_integer(&self) -> bool {
        match self {
            Self::Field(name) => name
                .strip_prefix("elementIndex")
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())),
            other => other.calls("compare"),
        }
    }
}
