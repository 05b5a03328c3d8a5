//! What the text of an expression says about the types of its results, and where Kyverno has one of a Go type that the
//! library does not know.

use crate::semantics::{Divergence, DivergenceSet};

use super::Expression;
use super::ast::{Argument, Node, Projection, ProjectionKind};
use super::lexer::Operator;

impl Expression {
    /// The divergences that the text alone shows: Kyverno reads it otherwise, or takes a number for one that equals no other.
    /// As in Kyverno, the name of a field decides whether it is the index of a loop.
    pub fn divergences(&self) -> DivergenceSet {
        let mut found = self.divergences;
        let mut open: Vec<&Node> = vec![&self.root];
        while let Some(node) = open.pop() {
            if has_typed_operand(node) {
                found.insert(Divergence::CompareResult);
            }
            add_parts(node, &mut open);
        }
        found
    }

    /// Whether the result is a number, a boolean, a list or a map, whatever the expression is evaluated on.
    pub fn is_never_text(&self) -> bool {
        let mut open: Vec<&Node> = vec![&self.root];
        while let Some(node) = open.pop() {
            match node {
                Node::Or(nodes) | Node::And(nodes) => open.extend(nodes),
                Node::Chain(stages) | Node::Pipe(stages) => open.extend(stages.last()),
                Node::Literal(value) if !value.is_null() && value.as_str().is_none() => {}
                Node::Comparison(_) | Node::Not(_) | Node::List(_) | Node::Hash(_) => {}
                Node::Call(call) if call.function.is_some_and(|function| !function.may_be_text()) => {}
                node if node.is_typed_integer() => {}
                _ => return false,
            }
        }
        true
    }
}

/// Whether a node compares the result of `compare`, or the index of a loop, with another number.
fn has_typed_operand(node: &Node) -> bool {
    let Node::Comparison(comparison) = node else { return false };
    let [left, right] = [&comparison.left, &comparison.right].map(Node::is_typed_integer);
    match comparison.operator {
        // Two of them may be equal.
        Operator::Equal | Operator::NotEqual => left != right,
        _ => left || right,
    }
}

fn add_parts<'n>(node: &'n Node, open: &mut Vec<&'n Node>) {
    match node {
        Node::Current | Node::Literal(_) | Node::Index(_) | Node::Field(_) => {}
        Node::Or(nodes) | Node::Chain(nodes) | Node::Pipe(nodes) | Node::And(nodes) | Node::List(nodes) => {
            open.extend(nodes);
        }
        Node::Not(node) => open.push(node),
        Node::Comparison(comparison) => open.extend([&comparison.left, &comparison.right]),
        Node::Hash(members) => open.extend(members.iter().map(|(_, node)| node)),
        Node::Projection(projection) => {
            let Projection { left, kind, right } = &**projection;
            open.extend([left, right]);
            if let ProjectionKind::Filtered(condition) = kind {
                open.push(condition);
            }
        }
        Node::Call(call) => open.extend(call.arguments.iter().map(|argument| match argument {
            Argument::Value(node) | Argument::Expression(node) => node,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_shows_that_a_result_is_no_text() {
        for text in [
            "length(a)",
            "a.b | length(@)",
            "a == b",
            "!a",
            "`5`",
            "elementIndex",
            "starts_with(a, 'b') || `true`",
            "[a]",
            "{a: b}",
        ] {
            assert!(Expression::parse(text).unwrap().is_never_text(), "{text}");
        }
        for text in
            ["a", "to_string(`5`)", "'5'", "`null`", "length(a) || b", "add(a, b)", "no_such(a)", "a[0]"]
        {
            assert!(!Expression::parse(text).unwrap().is_never_text(), "{text}");
        }
    }

    #[test]
    fn comparisons_of_indexes_and_missing_commas_are_found_anywhere() {
        for (text, expected) in [
            ("elementIndex == `0`", Some(Divergence::CompareResult)),
            ("a && [compare(b, c) > `0`]", Some(Divergence::CompareResult)),
            ("a[?elementIndex1 != b]", Some(Divergence::CompareResult)),
            ("elementIndex0 == elementIndex1", None),
            ("to_string(elementIndex) == '0'", None),
            ("join('-' keys(a))", Some(Divergence::MissingComma)),
            ("join('-', keys(a))", None),
        ] {
            let found = Expression::parse(text).unwrap().divergences();
            assert_eq!(found.iter().collect::<Vec<_>>(), Vec::from_iter(expected), "{text}");
        }
    }
}
