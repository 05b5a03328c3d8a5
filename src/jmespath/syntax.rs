//! The syntax of an expression as data, for programs that translate it.

use crate::value::{Text, Value};

use super::ast::{Argument, Node, Projection, ProjectionKind};
use super::lexer::Operator;

/// A part of an expression.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Syntax {
    /// `@`
    Current,
    /// A literal.
    Literal(Value),
    /// The member with this name.
    Field(Text),
    /// `[0]`; negative indexes count from the end.
    Index(i64),
    /// `a.b[0]`: each is evaluated on the result of the one before.
    Chain(Vec<Self>),
    /// `a | b`
    Pipe(Vec<Self>),
    /// `a || b`
    Or(Vec<Self>),
    /// `a && b`
    And(Vec<Self>),
    /// `!a`
    Not(Box<Self>),
    /// `a == b`: the operator, the left side and the right side.
    Comparison(&'static str, Box<[Self; 2]>),
    /// `[a, b]`
    List(Vec<Self>),
    /// `{k: a}`
    Hash(Vec<(Text, Self)>),
    /// The values of `left` that a projection visits, and what is evaluated on each.
    Projection {
        /// The source of the values.
        left: Box<Self>,
        /// Which of them.
        kind: Visits,
        /// Evaluated on each value.
        right: Box<Self>,
    },
    /// A function with its arguments.
    Call(Text, Vec<Self>),
    /// `&a`, as an argument.
    Reference(Box<Self>),
}

/// Which values a projection visits.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Visits {
    /// `[*]`
    Elements,
    /// `[1:2]`: start, stop and step.
    Slice([Option<i64>; 3]),
    /// `[]`
    Flattened,
    /// `[?condition]`
    Filtered(Box<Syntax>),
    /// `.*`
    Members,
}

impl Syntax {
    pub(super) fn of(node: &Node) -> Self {
        let all = |nodes: &[Node]| nodes.iter().map(Self::of).collect();
        match node {
            Node::Current => Self::Current,
            Node::Literal(value) => Self::Literal(value.clone()),
            Node::Field(name) => Self::Field(name.clone()),
            Node::Index(index) => Self::Index(*index),
            Node::Chain(stages) => Self::Chain(all(stages)),
            Node::Pipe(stages) => Self::Pipe(all(stages)),
            Node::Or(operands) => Self::Or(all(operands)),
            Node::And(operands) => Self::And(all(operands)),
            Node::Not(operand) => Self::Not(Box::new(Self::of(operand))),
            Node::Comparison(of) => {
                Self::Comparison(symbol(of.operator), Box::new([Self::of(&of.left), Self::of(&of.right)]))
            }
            Node::List(items) => Self::List(all(items)),
            Node::Hash(members) => {
                Self::Hash(members.iter().map(|(key, value)| (key.clone(), Self::of(value))).collect())
            }
            Node::Projection(of) => Self::projection(of),
            Node::Call(call) => {
                Self::Call(call.name.clone(), call.arguments.iter().map(Self::argument).collect())
            }
        }
    }

    fn projection(of: &Projection) -> Self {
        let kind = match &of.kind {
            ProjectionKind::Elements => Visits::Elements,
            ProjectionKind::Slice(slice) => Visits::Slice([slice.start, slice.stop, slice.step]),
            ProjectionKind::Flattened => Visits::Flattened,
            ProjectionKind::Filtered(condition) => Visits::Filtered(Box::new(Self::of(condition))),
            ProjectionKind::Members => Visits::Members,
        };
        Self::Projection { left: Box::new(Self::of(&of.left)), kind, right: Box::new(Self::of(&of.right)) }
    }

    fn argument(argument: &Argument) -> Self {
        match argument {
            Argument::Value(node) => Self::of(node),
            Argument::Expression(node) => Self::Reference(Box::new(Self::of(node))),
        }
    }
}

const fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Equal => "==",
        Operator::NotEqual => "!=",
        Operator::Less => "<",
        Operator::LessOrEqual => "<=",
        Operator::Greater => ">",
        Operator::GreaterOrEqual => ">=",
    }
}
