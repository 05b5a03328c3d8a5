//! Which literals an expression compares the values at paths with.

use crate::value::{PathSet, Step, Value};

use super::ast::{Argument, Node, ProjectionKind};
use super::origin::origin;
use super::{Expression, Origin};

impl Expression {
    /// The literals that the expression, evaluated on a value with this origin, compares with values at paths of the object
    /// or has instead of them, as far as they are found.
    pub fn literals(&self, on: &Origin) -> Vec<(Vec<Step>, Value)> {
        let mut found = Vec::new();
        walk(&self.root, on, &mut found);
        found
    }
}

/// The parser limits the depth of the tree.
fn walk(node: &Node, on: &Origin, found: &mut Vec<(Vec<Step>, Value)>) {
    match node {
        Node::Current | Node::Literal(_) | Node::Field(_) | Node::Index(_) => {}
        Node::Chain(parts) | Node::Pipe(parts) => {
            let mut value = on.clone();
            for part in parts {
                walk(part, &value, found);
                value = origin(part, &value, &mut PathSet::default());
            }
        }
        Node::Or(parts) | Node::And(parts) => {
            note(parts.iter(), on, found);
            parts.iter().for_each(|part| walk(part, on, found));
        }
        Node::Not(operand) => walk(operand, on, found),
        Node::Comparison(comparison) => {
            let sides = [&comparison.left, &comparison.right];
            note(sides.into_iter(), on, found);
            sides.into_iter().for_each(|side| walk(side, on, found));
        }
        Node::List(items) => items.iter().for_each(|item| walk(item, on, found)),
        Node::Hash(members) => members.iter().for_each(|(_, member)| walk(member, on, found)),
        Node::Projection(projection) => {
            walk(&projection.left, on, found);
            let left = origin(&projection.left, on, &mut PathSet::default());
            let element = match &projection.kind {
                ProjectionKind::Flattened => Origin::any([left.element().element(), left.element()]),
                ProjectionKind::Members => Origin::default(),
                _ => left.element(),
            };
            if let ProjectionKind::Filtered(condition) = &projection.kind {
                walk(condition, &element, found);
            }
            walk(&projection.right, &element, found);
        }
        Node::Call(call) => {
            let values = || {
                call.arguments.iter().filter_map(|argument| match argument {
                    Argument::Value(node) => Some(node),
                    Argument::Expression(_) => None,
                })
            };
            note(values(), on, found);
            values().for_each(|value| walk(value, on, found));
        }
    }
}

/// Notes every literal among some operands at the places of the others.
fn note<'n>(
    operands: impl Iterator<Item = &'n Node> + Clone,
    on: &Origin,
    found: &mut Vec<(Vec<Step>, Value)>,
) {
    const MAX_LITERALS: usize = 2000;
    let literals = operands.clone().filter_map(|operand| match operand {
        Node::Literal(value) => Some(value),
        _ => None,
    });
    let literals: Vec<&Value> = literals.collect();
    if literals.is_empty() {
        return;
    }
    for operand in operands {
        let places = origin(operand, on, &mut PathSet::default()).scalars();
        for (place, literal) in places.iter().flat_map(|place| literals.iter().map(move |one| (place, *one)))
        {
            if found.len() < MAX_LITERALS {
                found.push((place.clone(), literal.clone()));
            }
        }
    }
}
