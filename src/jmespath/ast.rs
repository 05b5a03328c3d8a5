//! What an expression is once parsed.

use std::sync::{Arc, OnceLock};

use crate::value::{Text, Value};

use super::functions::Function;
use super::regexp::{Regexp, RegexpError};

/// One node. Chains of one operator are flat, so that the depth of a node is that of real nesting.
#[derive(Debug)]
pub(super) enum Node {
    /// `@`
    Current,
    Literal(Value),
    Field(Text),
    Index(i64),
    /// `a.b[0]`: each on the result of the one before.
    Chain(Vec<Self>),
    /// `a | b`: the same, with every stage protected from keys that are not there.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// An expression evaluated on each of several values.
#[derive(Debug)]
pub(super) struct Projection {
    /// Where the values come from.
    pub(super) left: Node,
    pub(super) over: Over,
    /// What is evaluated on each.
    pub(super) right: Node,
}

/// Which values of the left side a projection visits.
#[derive(Debug)]
pub(super) enum Over {
    /// `[*]`
    Elements,
    /// `[1:2]`
    Slice(Slice),
    /// `[]`
    Flattened,
    /// `[?condition]`
    Matching(Node),
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
    /// `None` for a name that no function has, which is an error only when the call is evaluated.
    pub(super) function: Option<&'static Function>,
    pub(super) arguments: Vec<Argument>,
    /// There for calls whose first argument is written out, in case it is a regular expression.
    pub(super) regexp: Option<PreparedRegexp>,
}

impl Call {
    pub(super) fn new(name: Text, arguments: Vec<Argument>) -> Self {
        let literal = matches!(arguments.first(), Some(Argument::Value(Node::Literal(Value::String(_)))));
        let regexp = literal.then(PreparedRegexp::new);
        Self { function: Function::named(&name), name, arguments, regexp }
    }
}

/// A regular expression, compiled when it is first needed.
pub(super) type PreparedRegexp = OnceLock<Result<Arc<Regexp>, RegexpError>>;

#[derive(Debug)]
pub(super) enum Argument {
    Value(Node),
    /// `&expression`
    Expression(Node),
}

impl Node {
    /// Whether the value is that of a call of this function.
    pub(super) fn calls(&self, name: &str) -> bool {
        match self {
            Self::Call(call) => &*call.name == name,
            Self::Chain(stages) | Self::Pipe(stages) => stages.last().is_some_and(|last| last.calls(name)),
            _ => false,
        }
    }

    /// Whether the value is a number of the type that the controllers do not take for one: the result of
    /// `compare`, and the index of an element in a loop.
    pub(super) fn is_odd_number(&self) -> bool {
        match self {
            Self::Field(name) => name
                .strip_prefix("elementIndex")
                .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())),
            other => other.calls("compare"),
        }
    }
}
