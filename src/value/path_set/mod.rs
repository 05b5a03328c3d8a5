//! Sets of paths of an object.

mod changed;
mod covered;
mod differences;

use std::fmt;

use super::{Key, Map, Pointer, Segment, Text, Value};

pub use differences::are_aligned;

/// One step of a path in a [`PathSet`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The member of an object.
    Key(Text),
    /// The elements of a list, all of them.
    Elements,
}

/// A set of paths: each stands for its node and everything below it, or for the node alone, which is whether it exists.
///
/// `Display` writes the paths in order: `metadata.labels.app, spec.containers[].image`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathSet {
    root: Option<Node>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Node {
    /// Whether everything below belongs to the set; then there is nothing below.
    is_whole: bool,
    /// Whether the node alone belongs to the set.
    is_itself: bool,
    /// Of the elements that a node alone stands for: whether they may be the members of a map, too.
    may_be_members: bool,
    /// `None` if there are none: most nodes are the ends of paths.
    members: Option<Box<Map<Self>>>,
    elements: Option<Box<Self>>,
}

/// A node of values beside the paths of a set.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    /// Everything below is in the set.
    Whole,
    /// Paths of the set go on from here.
    At(&'a Node),
}

impl<'a> Place<'a> {
    fn of(node: &'a Node) -> Self {
        if node.is_whole { Self::Whole } else { Self::At(node) }
    }

    /// `None` if a change of the member concerns no path, see [`PathSet::overlaps`].
    pub(super) fn member(self, key: &str) -> Option<Self> {
        match self {
            Self::Whole => Some(self),
            Self::At(node) if node.has_all_members() => Some(Self::Whole),
            Self::At(node) => node.get(key).map(Self::of),
        }
    }

    /// The same for the elements of a list.
    pub(super) fn elements(self) -> Option<Self> {
        match self {
            Self::Whole => Some(self),
            Self::At(node) => node.elements.as_deref().map(Self::of),
        }
    }
}

impl PathSet {
    /// The root of a value; `None` if there is no path.
    pub(super) fn root(&self) -> Option<Place<'_>> {
        self.root.as_ref().map(Place::of)
    }

    /// The set of all paths.
    pub fn everything() -> Self {
        let mut set = Self::default();
        set.insert(&[]);
        set
    }

    /// Whether there is no path.
    pub const fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// Whether these are all paths.
    pub fn is_everything(&self) -> bool {
        self.root.as_ref().is_some_and(|root| root.is_whole)
    }

    /// Adds a path with everything below it.
    pub fn insert(&mut self, path: &[Step]) {
        if let Some(node) = self.node(path) {
            *node = Node::whole();
        }
    }

    /// Adds the path of these members with everything below it.
    pub fn insert_keys(&mut self, keys: &[&str]) {
        let steps: Vec<Step> = keys.iter().map(|key| Step::Key((*key).into())).collect();
        self.insert(&steps);
    }

    /// Adds the node at a path: whether it exists, and the length of a list whose elements it stands for.
    pub fn insert_node(&mut self, path: &[Step]) {
        if let Some(node) = self.node(path) {
            (node.is_itself, node.may_be_members) = (true, true);
        }
    }

    /// The same for what goes through the elements of lists, and not through the members of a map.
    pub fn insert_list_node(&mut self, path: &[Step]) {
        if let Some(node) = self.node(path) {
            node.is_itself = true;
        }
    }

    /// Adds all nodes above a path alone.
    pub fn insert_parents(&mut self, path: &[Step]) {
        (0..path.len()).for_each(|length| self.insert_node(&path[..length]));
    }

    /// Adds all paths of another set; returns whether some were missing.
    pub fn extend(&mut self, other: &Self) -> bool {
        match (&mut self.root, &other.root) {
            (_, None) => false,
            (Some(root), Some(other)) => root.extend(other),
            (root @ None, Some(other)) => {
                *root = Some(other.clone());
                true
            }
        }
    }

    /// The nodes of another set, alone, that are above paths of this one.
    pub fn parents_in(&self, other: &Self) -> Self {
        let (Some(one), Some(other)) = (&self.root, &other.root) else { return Self::default() };
        Self { root: one.parents_in(other) }
    }

    /// The node at a path, created if it is missing; `None` if everything below one of its parents is in the set.
    fn node(&mut self, path: &[Step]) -> Option<&mut Node> {
        path.iter().try_fold(self.root.get_or_insert_default(), |node, step| {
            (!node.is_whole).then(|| node.child(step))
        })
    }

    /// Whether a change at a pointer may concern a path: one is above the other, or they are equal.
    pub fn overlaps(&self, pointer: &Pointer) -> bool {
        let Some(mut node) = self.root.as_ref() else { return false };
        for segment in pointer.segments() {
            if node.is_whole {
                return true;
            }
            let child = match segment {
                Segment::Key(_) if node.has_all_members() => return true,
                Segment::Key(key) => node.get(key),
                Segment::Index(_) => node.elements.as_deref(),
            };
            let Some(child) = child else { return false };
            node = child;
        }
        true
    }

    /// Whether everything at and below a pointer is in the set.
    pub fn contains(&self, pointer: &Pointer) -> bool {
        let mut node = self.root.as_ref();
        for segment in pointer.segments() {
            node = match (node, segment) {
                (Some(node), _) if node.is_whole => return true,
                (Some(node), Segment::Key(key)) => node.get(key),
                (Some(node), Segment::Index(_)) => node.elements.as_deref(),
                (None, _) => return false,
            };
        }
        node.is_some_and(|node| node.is_whole)
    }

    /// Whether a path of one set is a path of the other, or above or below one.
    pub fn intersects(&self, other: &Self) -> bool {
        matches!((&self.root, &other.root), (Some(one), Some(other)) if one.intersects(other))
    }

    /// The paths, in order.
    pub fn paths(&self) -> Vec<Vec<Step>> {
        let mut found = Vec::new();
        let mut open: Vec<(Vec<Step>, &Node)> = self.root.iter().map(|root| (Vec::new(), root)).collect();
        while let Some((path, node)) = open.pop() {
            let child = |step: Step| path.iter().cloned().chain([step]).collect();
            let above = open.len();
            open.extend(node.elements.iter().map(|below| (child(Step::Elements), &**below)));
            let mut members: Vec<_> = node.members().collect();
            members.sort_unstable_by(|(one, _), (other, _)| other.cmp(one));
            open.extend(members.into_iter().map(|(key, below)| (child(Step::Key(key.clone())), below)));
            if open.len() == above {
                found.push(path);
            }
        }
        found
    }
}

impl Node {
    fn members(&self) -> impl Iterator<Item = (&Text, &Self)> {
        self.members.iter().flat_map(|members| members.iter())
    }

    fn get(&self, key: &(impl Key + ?Sized)) -> Option<&Self> {
        self.members.as_ref()?.get(key)
    }

    fn member(&mut self, key: &Text) -> &mut Self {
        self.members.get_or_insert_default().entry(key.clone()).or_default()
    }

    const fn whole() -> Self {
        Self { is_whole: true, is_itself: false, may_be_members: false, members: None, elements: None }
    }

    /// The number of members.
    fn len(&self) -> usize {
        self.members.as_ref().map_or(0, |members| members.len())
    }

    fn child(&mut self, step: &Step) -> &mut Self {
        match step {
            Step::Key(key) => self.member(key),
            Step::Elements => self.elements.get_or_insert_default(),
        }
    }

    /// Whether the length belongs to the set.
    fn is_counted(&self) -> bool {
        self.elements.as_ref().is_some_and(|elements| elements.is_itself || elements.is_whole)
    }

    /// Whether all members belong to the set: what goes through all elements may go through the members of a map.
    fn has_all_members(&self) -> bool {
        let may_be_members = |elements: &Self| elements.is_itself && elements.may_be_members;
        self.elements.as_ref().is_some_and(|elements| elements.is_whole || may_be_members(elements))
    }

    /// Whether it grows.
    fn extend(&mut self, other: &Self) -> bool {
        if self.is_whole {
            return false;
        }
        if other.is_whole {
            *self = Self::whole();
            return true;
        }
        let mut grows = other.is_itself && !self.is_itself || other.may_be_members && !self.may_be_members;
        self.is_itself |= other.is_itself;
        self.may_be_members |= other.may_be_members;
        if other.len() > 0 {
            let members = self.members.get_or_insert_default();
            for (key, below) in other.members() {
                grows |= match members.get_mut(key) {
                    Some(known) => known.extend(below),
                    None => {
                        members.push(key.clone(), below.clone());
                        true
                    }
                };
            }
        }
        if let Some(below) = &other.elements {
            grows |= self.elements.get_or_insert_default().extend(below);
        }
        grows
    }

    fn parents_in(&self, other: &Self) -> Option<Self> {
        // A scalar or a list as a whole is no parent of a member.
        let is_parent = other.is_itself || other.is_whole && self.members.is_some();
        let is_parent = !self.is_whole && is_parent;
        let mut found = Self { is_itself: is_parent, may_be_members: is_parent, ..Self::default() };
        for (key, below) in self.members() {
            let below = other.get(key).and_then(|other| below.parents_in(other));
            if let Some(below) = below {
                found.members.get_or_insert_default().insert(key.clone(), below);
            }
        }
        if let (Some(below), Some(other)) = (&self.elements, &other.elements) {
            found.elements = below.parents_in(other).map(Box::new);
        }
        (found.is_itself || found.members.is_some() || found.elements.is_some()).then_some(found)
    }

    fn intersects(&self, other: &Self) -> bool {
        if self.is_whole || other.is_whole || self.is_itself && other.is_itself {
            return true;
        }
        if self.has_all_members() && other.members.is_some()
            || other.has_all_members() && self.members.is_some()
        {
            return true;
        }
        let (few, many) = if self.len() < other.len() { (self, other) } else { (other, self) };
        few.members().any(|(key, below)| many.get(key).is_some_and(|other| below.intersects(other)))
            || matches!((&self.elements, &other.elements), (Some(one), Some(other)) if one.intersects(other))
    }
}

/// Writes a path as in kubectl, with `[]` for elements.
struct Shown<'a>(&'a [Step]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, keys) in self.0.split(|step| *step == Step::Elements).enumerate() {
            let segment = |step: &Step| match step {
                Step::Key(key) => Some(Segment::Key(key.clone())),
                Step::Elements => None,
            };
            let keys: Pointer = keys.iter().filter_map(segment).collect();
            let keys = keys.to_string();
            let dot = if index == 0 || keys.is_empty() || keys.starts_with('[') { "" } else { "." };
            write!(f, "{}{dot}{keys}", if index > 0 { "[]" } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for PathSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (index, path) in self.paths().iter().enumerate() {
            f.write_str(if index > 0 { ", " } else { "" })?;
            if path.is_empty() { f.write_str("everything")? } else { Shown(path).fmt(f)? }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `a.b[].c`, or with `=` at the end the node alone.
    fn set(paths: &str) -> PathSet {
        let mut set = PathSet::default();
        for path in paths.split(' ').filter(|path| !path.is_empty()) {
            let steps: Vec<Step> = path
                .trim_end_matches('=')
                .split('.')
                .flat_map(|part| {
                    let key = Step::Key(part.trim_end_matches("[]").into());
                    std::iter::once(key).chain(part.ends_with("[]").then_some(Step::Elements))
                })
                .collect();
            if path.ends_with('=') { set.insert_node(&steps) } else { set.insert(&steps) }
        }
        set
    }

    fn pointer(text: &str) -> Pointer {
        let segment = |part: &str| part.parse().map_or_else(|_| Segment::Key(part.into()), Segment::Index);
        text.split('.').filter(|part| !part.is_empty()).map(segment).collect()
    }

    #[test]
    fn a_path_overlaps_what_is_above_and_below_it() {
        for (paths, at, overlaps, contains) in [
            ("", "a", false, false),
            ("a.b", "a", true, false),
            ("a.b", "a.b", true, true),
            ("a.b", "a.b.c", true, true),
            ("a.b", "a.c", false, false),
            ("a.b", "", true, false),
            ("l[].x", "l", true, false),
            ("l[].x", "l.0", true, false),
            ("l[].x", "l.3.x", true, true),
            ("l[].x", "l.3.y", false, false),
            ("l[]=", "l", true, false),
            ("l[]=", "l.1", true, false),
            ("l[]=", "l.1.x", false, false),
            ("l[]=", "l.m", true, false),
            ("l[].x", "l.m", false, false),
            ("a.b a", "a.c", true, true),
            ("a a.b", "a.c", true, true),
        ] {
            let set = set(paths);
            assert_eq!(set.overlaps(&pointer(at)), overlaps, "{paths}: {at}");
            assert_eq!(set.contains(&pointer(at)), contains, "{paths}: {at}");
        }
        assert!(PathSet::everything().contains(&pointer("a")) && PathSet::everything().is_everything());
    }

    #[test]
    fn sets_intersect_where_one_path_is_above_another() {
        for (one, other, expected) in [
            ("a.b c", "c.d", true),
            ("a.b", "a.c", false),
            ("a", "", false),
            ("l[].x", "l", true),
            ("l[].x", "l[].y", false),
            ("l[]=", "l[].y", false),
            ("l[]=", "l", true),
            ("l[]=", "l.m", true),
            ("l[]= l[]", "l.m", true),
            ("l[].x", "l.m", false),
            ("l[] m", "l[].y", true),
            ("a= a.b", "a= a.c", true),
            ("a= a.b", "a.c", false),
            ("a=", "a", true),
        ] {
            assert_eq!(set(one).intersects(&set(other)), expected, "{one} {other}");
            assert_eq!(set(other).intersects(&set(one)), expected, "{other} {one}");
        }
    }

    #[test]
    fn parents_are_nodes_above_a_path() {
        for (one, other, expected) in [
            ("a.b.c", "a= a.b= a.d=", "a.b"),
            ("a.b", "a", "a"),
            ("a", "a= a.b= a.c", "nothing"),
            ("a.b", "c=", "nothing"),
            ("l[].x", "l", "nothing"),
            ("l[].x.y", "l[].x= l[].y", "l[].x"),
        ] {
            assert_eq!(set(one).parents_in(&set(other)).to_string(), expected, "{one} {other}");
        }
        assert!(set("a.b").parents_in(&set("a=")).intersects(&set("a=")));
    }

    #[test]
    fn a_set_covers_what_is_at_and_below_its_paths() {
        for (one, other, expected) in [
            ("a", "a.b", true),
            ("a.b", "a", false),
            ("a.b", "a= a.b.c", true),
            ("a.b", "a.b c", false),
            ("", "a=", true),
            ("", "a", false),
            ("l[].x", "l[].x l[].y=", true),
            ("l[].x", "l", false),
        ] {
            assert_eq!(set(one).covers(&set(other)), expected, "{one} {other}");
        }
        assert_eq!(set("a.l[]= a.l[].x m[].y").with_whole_lists(), set("a.l m[].y"));
        assert_eq!(set("a= a.b l[].x= l[].y").nodes().unwrap_or_default(), set("a= l[].x="));
    }

    #[test]
    fn paths_are_shown_in_order_and_once() {
        for (paths, expected) in [
            ("", "nothing"),
            ("b a.c a.b", "a.b, a.c, b"),
            (
                "spec.containers[].image spec.containers[].ports[]",
                "spec.containers[].image, spec.containers[].ports[]",
            ),
            ("a.b a", "a"),
        ] {
            assert_eq!(set(paths).to_string(), expected);
        }
        assert_eq!(PathSet::everything().to_string(), "everything");
        let mut all = set("a.b c");
        all.extend(&set("a c.d e[]"));
        assert_eq!(all.to_string(), "a, c, e[]");
        let mut quoted = PathSet::default();
        quoted.insert(&[Step::Elements, Step::Elements, Step::Key("a.b".into())]);
        assert_eq!(quoted.to_string(), r#"[][]["a.b"]"#);
    }

    /// Values with maps, lists of named elements and other lists.
    fn values() -> impl Strategy<Value = Value> {
        let leaf =
            prop_oneof![Just(Value::Null), (0_i64..2).prop_map(Value::from), Just(Value::empty_object())];
        leaf.prop_recursive(4, 24, 3, |below| {
            let key = proptest::sample::select(vec!["a", "b", "0"]);
            let map = proptest::collection::vec((key, below.clone()), 0..3)
                .prop_map(|members| members.into_iter().collect::<Value>());
            let name = proptest::sample::select(vec!["x", "y"]);
            let named = (name, below.clone())
                .prop_map(|(name, value)| [("name", Value::from(name)), ("a", value)].into_iter().collect());
            let list = |element: BoxedStrategy<Value>| {
                proptest::collection::vec(element, 0..3).prop_map(Value::array)
            };
            prop_oneof![map, list(named.boxed()), list(below.boxed())]
        })
    }

    /// Paths as [`set`] takes them.
    fn path_texts() -> impl Strategy<Value = String> {
        let step = proptest::sample::select(vec!["a", "b", "0", "name", "a[]", "b[]"]);
        let path = (proptest::collection::vec(step, 1..4), any::<bool>())
            .prop_map(|(steps, is_node)| steps.join(".") + if is_node { "=" } else { "" });
        proptest::collection::vec(path, 0..4).prop_map(|paths| paths.join(" "))
    }

    proptest! {
        #[test]
        fn a_set_is_changed_where_it_intersects_the_differences(
            paths in path_texts(), before in values(), after in values(),
        ) {
            let set = set(&paths);
            let expected = set.intersects(&PathSet::differences(&before, &after));
            prop_assert_eq!(set.is_changed(&before, &after), expected);
        }
    }

    #[test]
    fn paths_outside_some_members_are_found() {
        for (paths, is_outside) in
            [("", false), ("a", false), ("a.c b=", false), ("a c.d", true), ("c=", true)]
        {
            assert_eq!(set(paths).reaches_outside(&["a", "b"]), is_outside, "{paths}");
        }
        let mut elements = set("a");
        elements.insert(&[Step::Elements]);
        assert!(elements.reaches_outside(&["a"]));
        assert!(PathSet::everything().reaches_outside(&["a"]));
    }

    #[test]
    fn differences_of_lists_are_by_element_only_if_no_element_moved() {
        let json = |text: &str| Value::from_json(text).unwrap();
        for (before, after, expected) in [
            (r#"{"a":1,"b":{"c":1}}"#, r#"{"b":{"c":2},"a":1.0}"#, "b.c"),
            (r#"{"a":1}"#, r#"{"b":{"c":2}}"#, "a, b.c"),
            (r#"{"a":null}"#, r#"{"a":{"b":{"c":1,"d":{}}}}"#, "a.b.c, a.b.d"),
            (r#"{"a":{"b":1}}"#, r#"{}"#, "a"),
            (r#"{"a":{"b":1}}"#, r#"{"a":[1]}"#, "a"),
            (r#"{"l":[{"name":"a"},{"name":"b"}]}"#, r#"{"l":[{"name":"a","x":1},{"name":"b"}]}"#, "l[].x"),
            (r#"{"l":[{"name":"a"},{"name":"b"}]}"#, r#"{"l":[{"name":"b"},{"name":"a"}]}"#, "l"),
            (r#"{"l":[{"name":"a"}]}"#, r#"{"l":[{"name":"a"},{"name":"b"}]}"#, "l"),
            (r#"{"l":[{"p":1}]}"#, r#"{"l":[{"p":1,"x":1}]}"#, "l"),
            (r#"{"l":[1]}"#, r#"{"l":[2]}"#, "l"),
            (r#"{"l":[1]}"#, r#"{"l":[1]}"#, "nothing"),
        ] {
            assert_eq!(PathSet::differences(&json(before), &json(after)).to_string(), expected);
        }
    }
}
