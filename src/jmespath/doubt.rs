//! Names in expressions that are probably mistakes.

use crate::value::Text;

use super::Expression;
use super::ast::{Argument, Node, Projection, ProjectionKind};
use super::functions::Function;

/// A name in an expression that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// A call of a function that does not exist.
    UnknownFunction {
        /// The name.
        name: Text,
        /// The function of the most similar name.
        nearest: Option<&'static str>,
    },
    /// A field with the name of a function. Names that a field may have, such as `type` and `items`, are none.
    UncalledFunction(Text),
}

impl Expression {
    /// The names that are probably mistakes, in the order of the text.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut found = Vec::new();
        find(&self.root, &mut found);
        found
    }
}

/// Adds the names below a node. The parser limits the depth of expressions.
fn find(node: &Node, found: &mut Vec<Doubt>) {
    match node {
        Node::Current | Node::Literal(_) | Node::Index(_) => {}
        Node::Field(name) => {
            // Fields of Kubernetes have no underscores.
            if name.contains('_') && Function::named(name).is_some() {
                found.push(Doubt::UncalledFunction(name.clone()));
            }
        }
        Node::Chain(nodes) | Node::Pipe(nodes) | Node::Or(nodes) | Node::And(nodes) | Node::List(nodes) => {
            nodes.iter().for_each(|node| find(node, found));
        }
        Node::Not(node) => find(node, found),
        Node::Comparison(comparison) => {
            find(&comparison.left, found);
            find(&comparison.right, found);
        }
        Node::Hash(members) => members.iter().for_each(|(_, node)| find(node, found)),
        Node::Projection(projection) => {
            let Projection { left, kind, right } = &**projection;
            find(left, found);
            if let ProjectionKind::Filtered(condition) = kind {
                find(condition, found);
            }
            find(right, found);
        }
        Node::Call(call) => {
            if call.function.is_none() {
                let (name, nearest) = (call.name.clone(), Function::nearest(&call.name));
                found.push(Doubt::UnknownFunction { name, nearest });
            }
            for argument in &call.arguments {
                let (Argument::Value(node) | Argument::Expression(node)) = argument;
                find(node, found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_a_call_and_unknown_ones_are_found_anywhere() {
        let similar = |name: &str, nearest| Doubt::UnknownFunction { name: name.into(), nearest };
        let unknown = |name: &str| similar(name, None);
        let uncalled = |name: &str| Doubt::UncalledFunction(name.into());
        for (text, expected) in [
            ("a.b.to_upper", vec![uncalled("to_upper")]),
            ("a | to_upper || b", vec![uncalled("to_upper")]),
            ("to_uper(a)", vec![similar("to_uper", Some("to_upper"))]),
            ("{a: [f(b), !g(c)]}", vec![unknown("f"), unknown("g")]),
            ("a[?h(@) == to_lower].b", vec![unknown("h"), uncalled("to_lower")]),
            ("to_upper(a) && length(b)", vec![]),
            ("map(&i(@), a)", vec![unknown("i")]),
            // Names that fields of objects have.
            ("a.type || a.items || a.values || a.my_field", vec![]),
        ] {
            assert_eq!(Expression::parse(text).unwrap().doubts(), expected, "{text}");
        }
    }
}
