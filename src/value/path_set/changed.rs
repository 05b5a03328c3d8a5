//! Whether two values differ at the paths of a set, without the paths at which they differ.

use crate::value::{Map, Text, Value};

use super::{Node, PathSet, are_aligned};

impl PathSet {
    /// Whether two values differ at a path of the set, or above or below one: whether it intersects their
    /// [`PathSet::differences`].
    pub fn is_changed(&self, before: &Value, after: &Value) -> bool {
        self.root.as_ref().is_some_and(|root| root.is_changed(before, after))
    }
}

impl Node {
    fn is_changed(&self, before: &Value, after: &Value) -> bool {
        if before.same_storage(after) {
            return false;
        }
        if self.is_whole {
            return before != after;
        }
        match (before, after) {
            (Value::Object(old), Value::Object(new)) => self.is_member_changed(old, new),
            (Value::Array(old), Value::Array(new)) if are_aligned(old, new) => {
                let is_changed =
                    |node: &Self| old.iter().zip(new.iter()).any(|(was, is)| node.is_changed(was, is));
                self.elements.as_deref().is_some_and(is_changed)
            }
            _ if before == after => false,
            (Value::Null, after) => self.is_added(after),
            _ => true,
        }
    }

    fn is_member_changed(&self, old: &Map, new: &Map) -> bool {
        if self.has_all_members() && old != new {
            return true;
        }
        self.members().any(|(key, node)| match (old.get(key), new.get(key)) {
            (Some(was), Some(is)) => node.is_changed(was, is),
            (Some(_), None) => true,
            (None, Some(is)) => node.is_added(is),
            (None, None) => false,
        })
    }

    /// Whether a value came at a path at or below this node.
    fn is_added(&self, value: &Value) -> bool {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let is_added =
                    |(key, node): (&Text, &Self)| members.get(key).is_some_and(|value| node.is_added(value));
                self.is_whole || self.is_itself || self.has_all_members() || self.members().any(is_added)
            }
            _ => true,
        }
    }
}
