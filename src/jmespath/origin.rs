//! Which paths of an object an expression may read, without evaluating it.

use crate::value::{PathSet, Step, Text};

use super::Expression;
use super::ast::{Argument, Node, Projection, ProjectionKind};

/// The parts of an object that a value may come from. Nothing is known of a value without any.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The value may be the node of the object at one of these paths.
    places: Vec<Vec<Step>>,
    /// Any part of the value may be computed from the nodes at these paths.
    sources: Vec<Vec<Step>>,
    /// Of an object that an expression creates: the origins of its members.
    members: Vec<(Text, Self)>,
    /// Of a list that an expression creates: the origins of its elements.
    elements: Vec<Self>,
}

/// A value with more parts counts as read as a whole, so that the work is bounded.
const MAX_PARTS: usize = 64;

impl Origin {
    /// The whole object.
    pub fn object() -> Self {
        Self { places: vec![Vec::new()], ..Self::default() }
    }

    /// A value that is computed from these paths.
    pub fn computed_from(paths: Vec<Vec<Step>>) -> Self {
        Self { sources: paths, ..Self::default() }
    }

    /// A value with these members.
    pub fn members(members: impl IntoIterator<Item = (Text, Self)>) -> Self {
        Self { members: members.into_iter().collect(), ..Self::default() }
    }

    /// A value that comes from one of several.
    pub fn any(origins: impl IntoIterator<Item = Self>) -> Self {
        let mut any = Self::default();
        origins.into_iter().for_each(|origin| any.add(origin));
        any
    }

    fn add(&mut self, other: Self) {
        for (all, more) in [(&mut self.places, other.places), (&mut self.sources, other.sources)] {
            for path in more {
                if !all.contains(&path) {
                    all.push(path);
                }
            }
        }
        self.members.extend(other.members);
        self.elements.extend(other.elements);
    }

    /// Adds everything that the value consists of.
    pub fn read(&self, reads: &mut PathSet) {
        self.places.iter().chain(&self.sources).for_each(|path| reads.insert(path));
        self.parts().for_each(|part| part.read(reads));
    }

    /// Adds whether the value exists, and its type. JMESPath goes through the elements of lists, and not through the
    /// members of maps.
    pub fn read_type(&self, reads: &mut PathSet) {
        self.places.iter().for_each(|place| reads.insert_list_node(place));
    }

    /// Where the value itself may be, or that of its elements, or what it is computed from.
    pub fn scalars(&self) -> Vec<Vec<Step>> {
        let own = self.places.iter().chain(&self.sources).cloned();
        own.chain(self.elements.iter().flat_map(Self::scalars)).collect()
    }

    /// The value of a member, if it is an object.
    fn member(&self, key: &Text) -> Self {
        let own = self.below(&Step::Key(key.clone()));
        let members = self.members.iter().filter(|(name, _)| name == key).map(|(_, member)| member.clone());
        Self::any(std::iter::once(own).chain(members))
    }

    /// The value of each element, if it is a list.
    pub fn element(&self) -> Self {
        Self::any(std::iter::once(self.below(&Step::Elements)).chain(self.elements.iter().cloned()))
    }

    fn below(&self, step: &Step) -> Self {
        let below = |place: &Vec<Step>| place.iter().chain([step]).cloned().collect();
        let places = self.places.iter().map(below).collect();
        Self { places, sources: self.sources.clone(), ..Self::default() }
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.members.iter().map(|(_, member)| member).chain(&self.elements)
    }

    fn size(&self) -> usize {
        1 + self.places.len() + self.sources.len() + self.parts().map(Self::size).sum::<usize>()
    }

    fn bounded(self, reads: &mut PathSet) -> Self {
        if self.size() <= MAX_PARTS {
            return self;
        }
        self.read(reads);
        Self::default()
    }
}

impl Expression {
    /// Where the value of the expression comes from, if it is evaluated on a value with this origin. Adds the paths that
    /// its evaluation reads; the value itself does not count as read yet.
    pub fn origin(&self, on: &Origin, reads: &mut PathSet) -> Origin {
        origin(&self.root, on, reads)
    }
}

pub(super) fn origin(node: &Node, on: &Origin, reads: &mut PathSet) -> Origin {
    let found = match node {
        Node::Current => on.clone(),
        Node::Literal(_) => Origin::default(),
        Node::Field(name) => on.member(name),
        Node::Index(_) => on.element(),
        Node::Chain(parts) | Node::Pipe(parts) => {
            let mut parts = parts.iter();
            let first = parts.next().map_or_else(|| on.clone(), |first| origin(first, on, reads));
            parts.fold(first, |value, part| origin(part, &value, reads))
        }
        Node::Or(parts) | Node::And(parts) => {
            let parts: Vec<Origin> = parts.iter().map(|part| origin(part, on, reads)).collect();
            parts.iter().rev().skip(1).for_each(|part| part.read(reads));
            Origin::any(parts)
        }
        Node::Not(operand) => consumed(origin(operand, on, reads), reads),
        Node::Comparison(comparison) => {
            let sides = [&comparison.left, &comparison.right].map(|side| origin(side, on, reads));
            consumed(Origin::any(sides), reads)
        }
        Node::List(items) => {
            on.read_type(reads);
            let elements = items.iter().map(|item| origin(item, on, reads)).collect();
            Origin { elements, ..Origin::default() }
        }
        Node::Hash(members) => {
            on.read_type(reads);
            let member = |(name, member): &(Text, Node)| (name.clone(), origin(member, on, reads));
            Origin::members(members.iter().map(member).collect::<Vec<_>>())
        }
        Node::Projection(projection) => projected(projection, on, reads),
        Node::Call(call) => {
            let mut sources = Vec::new();
            for argument in &call.arguments {
                // The expressions are evaluated on parts of the other arguments.
                if let Argument::Value(node) = argument {
                    let value = origin(node, on, reads);
                    value.read(reads);
                    sources.extend(value.scalars());
                }
            }
            Origin { sources, ..Origin::default() }
        }
    };
    found.bounded(reads)
}

fn consumed(value: Origin, reads: &mut PathSet) -> Origin {
    value.read(reads);
    Origin::default()
}

fn projected(projection: &Projection, on: &Origin, reads: &mut PathSet) -> Origin {
    let left = origin(&projection.left, on, reads);
    let element = match &projection.kind {
        ProjectionKind::Elements | ProjectionKind::Slice(_) | ProjectionKind::Filtered(_) => left.element(),
        ProjectionKind::Flattened => {
            let element = left.element();
            Origin::any([element.element(), element])
        }
        // The names of the members are not known.
        ProjectionKind::Members => consumed(left, reads),
    };
    element.read_type(reads);
    if let ProjectionKind::Filtered(condition) = &projection.kind {
        origin(condition, &element, reads).read(reads);
    }
    let value = origin(&projection.right, &element, reads);
    Origin { elements: vec![value], ..Origin::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads(expression: &str) -> String {
        let mut reads = PathSet::default();
        let expression = Expression::parse(expression).unwrap();
        expression.origin(&Origin::object(), &mut reads).read(&mut reads);
        reads.to_string()
    }

    #[test]
    fn expressions_read_what_they_name() {
        for (expression, expected) in [
            ("a.b", "a.b"),
            ("@", "everything"),
            ("'x'", "nothing"),
            ("a.\"b.c/d\"", "a[\"b.c/d\"]"),
            ("a || b.c", "a, b.c"),
            ("a && !b", "a, b"),
            ("a.b == `1`", "a.b"),
            ("length(a.b)", "a.b"),
            ("l[0].x", "l[].x"),
            ("l[-1]", "l[]"),
            ("l[*].x", "l[].x"),
            ("l[1:].x.y", "l[].x.y"),
            ("l[?x == 'a'].y", "l[].x, l[].y"),
            ("l[?x == 'a'].y | [0].z", "l[].x, l[].y.z"),
            ("l[?x] | length(@)", "l[]"),
            ("l[].x", "l[].x, l[][].x"),
            ("a.[b, c][].x", "a.b.x, a.b[].x, a.c.x, a.c[].x"),
            ("a.[b, c] | [0].d", "a.b.d, a.c.d"),
            ("{x: a.b, y: c}.x.d", "a.b.d"),
            ("{x: a.b, y: c}", "a.b, c"),
            ("a.{x: 'y'}", "a"),
            ("l[*].{k: 'x'}", "l[]"),
            ("a.*.b", "a"),
            ("sort_by(l, &x)[0].y", "l"),
            ("map(&x, l[*].m)", "l[].m"),
            ("not_null(a.b, c) | to_string(@)", "a.b, c"),
            ("unknown(a)", "a"),
        ] {
            assert_eq!(reads(expression), expected, "{expression}");
        }
    }

    #[test]
    fn the_work_is_bounded() {
        assert_eq!(reads(&format!("a{}", "[]".repeat(100))), "a[]");
        let doubled = (0..40).fold("a".to_owned(), |inner, _| format!("{inner} | [@, @]"));
        assert_eq!(reads(&doubled), "a");
    }
}
