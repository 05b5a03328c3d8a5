//! The paths at which two values differ.

use super::{Map, Node, PathSet, Text, Value};

impl PathSet {
    /// The paths at which two values differ. A list whose elements came, went or moved differs as a whole. Of an object
    /// that came, the node alone differs, and each member.
    pub fn differences(before: &Value, after: &Value) -> Self {
        let mut root = None;
        compare(before, after, &mut root);
        Self { root }
    }
}

impl Node {
    /// Adds what is below a member.
    fn add_member(&mut self, key: &Text, below: Self) {
        if self.is_whole {
            return;
        }
        let members = self.members.get_or_insert_default();
        match members.get_mut(key) {
            Some(known) => _ = known.extend(&below),
            None => _ = members.push(key.clone(), below),
        }
    }
}

/// Adds the paths at which two values differ.
fn compare(before: &Value, after: &Value, found: &mut Option<Node>) {
    if found.as_ref().is_some_and(|node| node.is_whole) || before.same_storage(after) {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => compare_members(old, new, found),
        (Value::Array(old), Value::Array(new)) if are_aligned(old, new) => {
            let mut elements = found.as_mut().and_then(|node| node.elements.take()).map(|node| *node);
            old.iter().zip(new.iter()).for_each(|(was, is)| compare(was, is, &mut elements));
            if let Some(elements) = elements {
                found.get_or_insert_default().elements = Some(Box::new(elements));
            }
        }
        _ if before == after => {}
        (Value::Null, after) => added(after, found),
        _ => *found = Some(Node::whole()),
    }
}

/// A value where there was none.
fn added(value: &Value, found: &mut Option<Node>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let node = found.get_or_insert_default();
            (node.is_itself, node.may_be_members) = (true, true);
            members.iter().for_each(|(key, member)| with_member(found, key, |below| added(member, below)));
        }
        _ => *found = Some(Node::whole()),
    }
}

/// Adds what is found below a member.
fn with_member(found: &mut Option<Node>, key: &Text, find: impl FnOnce(&mut Option<Node>)) {
    let mut below = None;
    find(&mut below);
    if let Some(below) = below {
        found.get_or_insert_default().add_member(key, below);
    }
}

fn compare_members(old: &Map, new: &Map, found: &mut Option<Node>) {
    let mut removed = 0;
    for (index, (key, was)) in old.iter().enumerate() {
        let is = new.get_near(key, index);
        removed += usize::from(is.is_none());
        if is.is_some_and(|is| was.same_storage(is)) {
            continue;
        }
        with_member(found, key, |below| match is {
            Some(is) => compare(was, is, below),
            None => *below = Some(Node::whole()),
        });
    }
    if new.len() == old.len() - removed {
        return;
    }
    for (index, (key, value)) in new.iter().enumerate() {
        if old.get_near(key, index).is_none() {
            with_member(found, key, |below| added(value, below));
        }
    }
}

/// Whether the elements of two lists are the same, by their names, in the same order.
pub fn are_aligned(old: &[Value], new: &[Value]) -> bool {
    let is_same = |(was, is): (&Value, &Value)| {
        let names = [was, is].map(|element| element.get("name").and_then(Value::as_str));
        matches!(names, [Some(was), Some(is)] if was == is)
    };
    old.len() == new.len() && old.iter().zip(new).all(is_same)
}
