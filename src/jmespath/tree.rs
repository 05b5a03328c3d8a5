//! The syntax tree of an expression as text.

use std::fmt;

use crate::value::Text;

use super::ast::{Argument, Call, Node, Projection, ProjectionKind, Slice};
use super::lexer::Operator;

const INDENT: usize = 2;

/// A syntax tree, displayed with one node per line below its parent.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a>(pub(super) &'a Node);

impl fmt::Display for Tree<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        node(f, self.0, 0)
    }
}

fn line(f: &mut fmt::Formatter<'_>, depth: usize, text: fmt::Arguments<'_>) -> fmt::Result {
    writeln!(f, "{:indent$}{text}", "", indent = depth * INDENT)
}

fn node(f: &mut fmt::Formatter<'_>, of: &Node, depth: usize) -> fmt::Result {
    match of {
        Node::Current => line(f, depth, format_args!("current @")),
        Node::Literal(value) => line(f, depth, format_args!("literal {}", value.to_json())),
        Node::Field(name) => line(f, depth, format_args!("field {}", quoted(name))),
        Node::Index(index) => line(f, depth, format_args!("index [{index}]")),
        Node::Chain(stages) => parent(f, "chain .", stages, depth),
        Node::Pipe(stages) => parent(f, "pipe |", stages, depth),
        Node::Or(operands) => parent(f, "or ||", operands, depth),
        Node::And(operands) => parent(f, "and &&", operands, depth),
        Node::Not(operand) => parent(f, "not !", std::slice::from_ref(operand), depth),
        Node::Comparison(comparison) => {
            line(f, depth, format_args!("comparison {}", symbol(comparison.operator)))?;
            node(f, &comparison.left, depth + 1)?;
            node(f, &comparison.right, depth + 1)
        }
        Node::List(items) => parent(f, "list", items, depth),
        Node::Hash(members) => {
            line(f, depth, format_args!("hash"))?;
            for (key, value) in members {
                line(f, depth + 1, format_args!("key {}", quoted(key)))?;
                node(f, value, depth + 2)?;
            }
            Ok(())
        }
        Node::Projection(of) => projection(f, of, depth),
        Node::Call(of) => call(f, of, depth),
    }
}

fn parent(f: &mut fmt::Formatter<'_>, name: &str, children: &[Node], depth: usize) -> fmt::Result {
    line(f, depth, format_args!("{name}"))?;
    children.iter().try_for_each(|child| node(f, child, depth + 1))
}

fn projection(f: &mut fmt::Formatter<'_>, projection: &Projection, depth: usize) -> fmt::Result {
    match &projection.kind {
        ProjectionKind::Elements => line(f, depth, format_args!("projection [*]"))?,
        ProjectionKind::Slice(Slice { start, stop, step }) => {
            let text = |bound: &Option<i64>| bound.map(|bound| bound.to_string()).unwrap_or_default();
            line(f, depth, format_args!("projection [{}:{}:{}]", text(start), text(stop), text(step)))?;
        }
        ProjectionKind::Flattened => line(f, depth, format_args!("projection []"))?,
        ProjectionKind::Filtered(_) => line(f, depth, format_args!("projection [?]"))?,
        ProjectionKind::Members => line(f, depth, format_args!("projection .*"))?,
    }
    line(f, depth + 1, format_args!("of"))?;
    node(f, &projection.left, depth + 2)?;
    if let ProjectionKind::Filtered(condition) = &projection.kind {
        line(f, depth + 1, format_args!("where"))?;
        node(f, condition, depth + 2)?;
    }
    line(f, depth + 1, format_args!("each"))?;
    node(f, &projection.right, depth + 2)
}

fn call(f: &mut fmt::Formatter<'_>, call: &Call, depth: usize) -> fmt::Result {
    let unknown = if call.function.is_none() { " (unknown)" } else { "" };
    line(f, depth, format_args!("function {}{unknown}", call.name))?;
    for argument in &call.arguments {
        match argument {
            Argument::Value(value) => node(f, value, depth + 1)?,
            Argument::Expression(expression) => {
                line(f, depth + 1, format_args!("expression &"))?;
                node(f, expression, depth + 2)?;
            }
        }
    }
    Ok(())
}

/// A name as an expression writes it.
fn quoted(name: &Text) -> String {
    let is_plain = name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        && !name.bytes().next().is_none_or(|byte| byte.is_ascii_digit());
    if is_plain { name.to_string() } else { crate::value::Value::from(name.clone()).to_json() }
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

#[cfg(test)]
mod tests {
    use crate::jmespath::Expression;

    #[test]
    fn each_node_is_below_its_parent() {
        for (expression, tree) in [
            ("a.\"b-c\"[0]", "chain .\n  field a\n  chain .\n    field \"b-c\"\n    index [0]\n"),
            (
                "x[?y == 'z'].{k: @} | nope(!a, &b)",
                "pipe |\n  projection [?]\n    of\n      field x\n    where\n      comparison ==\n        field y\n        \
                 literal \"z\"\n    each\n      hash\n        key k\n          current @\n  function nope (unknown)\n    \
                 not !\n      field a\n    expression &\n      field b\n",
            ),
            (
                "a[1:].* || [b] && c[]",
                "or ||\n  projection [1::]\n    of\n      field a\n    each\n      projection .*\n        of\n          \
                 current @\n        each\n          current @\n  and &&\n    list\n      field b\n    projection []\n      \
                 of\n        field c\n      each\n        current @\n",
            ),
        ] {
            assert_eq!(Expression::parse(expression).unwrap().tree().to_string(), tree, "{expression}");
        }
    }
}
