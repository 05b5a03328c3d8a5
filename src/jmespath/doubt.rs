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
    /// A field in double quotes where a string is probably meant: an operand, or an argument of a function.
    QuotedField(Text),
}

impl Expression {
    /// The names that are probably mistakes, in the order of the text.
    pub fn doubts(&self) -> Vec<Doubt> {
        let mut finder = Finder { text: &self.text, found: Vec::new() };
        finder.node(&self.root);
        finder.found
    }
}

struct Finder<'a> {
    text: &'a str,
    found: Vec<Doubt>,
}

impl Finder<'_> {
    /// Adds the names below a node. The parser limits the depth of expressions.
    fn node(&mut self, node: &Node) {
        match node {
            Node::Current | Node::Literal(_) | Node::Index(_) => {}
            Node::Field(name) => {
                // Fields of Kubernetes have no underscores.
                if name.contains('_') && Function::named(name).is_some() {
                    self.found.push(Doubt::UncalledFunction(name.clone()));
                }
            }
            Node::Or(nodes) => {
                nodes.iter().for_each(|node| self.node(node));
                nodes.iter().skip(1).for_each(|node| self.operand(node));
            }
            Node::Chain(nodes) | Node::Pipe(nodes) | Node::And(nodes) | Node::List(nodes) => {
                nodes.iter().for_each(|node| self.node(node));
            }
            Node::Not(node) => self.node(node),
            Node::Comparison(comparison) => {
                for operand in [&comparison.left, &comparison.right] {
                    self.node(operand);
                    self.operand(operand);
                }
            }
            Node::Hash(members) => members.iter().for_each(|(_, node)| self.node(node)),
            Node::Projection(projection) => {
                let Projection { left, kind, right } = &**projection;
                self.node(left);
                if let ProjectionKind::Filtered(condition) = kind {
                    self.node(condition);
                }
                self.node(right);
            }
            Node::Call(call) => {
                if call.function.is_none() {
                    let (name, nearest) = (call.name.clone(), Function::nearest(&call.name));
                    self.found.push(Doubt::UnknownFunction { name, nearest });
                }
                for argument in &call.arguments {
                    let (Argument::Value(node) | Argument::Expression(node)) = argument;
                    self.node(node);
                }
                for argument in call.arguments.iter().skip(1) {
                    if let Argument::Value(node) = argument {
                        self.operand(node);
                    }
                }
            }
        }
    }

    fn operand(&mut self, node: &Node) {
        // `""` is often written for null.
        if let Node::Field(name) = node
            && !name.is_empty()
            && self.text.contains(&format!("\"{name}\""))
        {
            self.found.push(Doubt::QuotedField(name.clone()));
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
        let quoted = |name: &str| Doubt::QuotedField(name.into());
        let uncalled = |name: &str| Doubt::UncalledFunction(name.into());
        for (text, expected) in [
            ("a.b.to_upper", vec![uncalled("to_upper")]),
            ("a | to_upper || b", vec![uncalled("to_upper")]),
            ("to_uper(a)", vec![similar("to_uper", Some("to_upper"))]),
            ("{a: [f(b), !g(c)]}", vec![unknown("f"), unknown("g")]),
            ("a[?h(@) == to_lower].b", vec![unknown("h"), uncalled("to_lower")]),
            ("to_upper(a) && length(b)", vec![]),
            ("map(&i(@), a)", vec![unknown("i")]),
            ("a.b || \"none\"", vec![quoted("none")]),
            ("a[?b == \"x\"]", vec![quoted("x")]),
            ("join(\"a\", \",\")", vec![quoted(",")]),
            ("a || \"\"", vec![]),
            // Names that need the quotes, and are no operands of texts.
            ("\"a-b\".c || \"d-e\".f || g", vec![]),
            // Names that fields of objects have.
            ("a.type || a.items || a.values || a.my_field", vec![]),
        ] {
            assert_eq!(Expression::parse(text).unwrap().doubts(), expected, "{text}");
        }
    }
}
