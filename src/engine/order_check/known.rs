//! What a policy did with states of an object, for states that differ in nothing that concerns it.

use std::cell::OnceCell;

use crate::value::{Change, PathSet, Value, changes};

use crate::engine::rerun::{after_same_effect, with_members};

/// What a policy did with an object.
pub(super) struct Known {
    pub(super) before: Value,
    pub(super) after: Value,
    pub(super) has_failed: bool,
    /// The differences between them, once they are needed.
    changes: OnceCell<Vec<Change>>,
    /// The paths at which they differ, once they are needed.
    differences: OnceCell<PathSet>,
}

impl Known {
    pub(super) const fn new(before: Value, after: Value, has_failed: bool) -> Self {
        Self { before, after, has_failed, changes: OnceCell::new(), differences: OnceCell::new() }
    }

    /// What the policy changed, for those that may read or write it.
    pub(super) fn differences(&self) -> &PathSet {
        self.differences.get_or_init(|| differences(&self.before, &self.after))
    }

    /// Another object after the policy, if the objects differ in nothing that the policy reads or writes.
    pub(super) fn after(&self, object: &Value) -> Option<Value> {
        let Self { before, after, .. } = self;
        if before.same_storage(after) {
            return Some(object.clone());
        }
        let changes = self.changes.get_or_init(|| changes(before, after));
        with_members((before, after), changes, object).or_else(|| after_same_effect(before, after, object))
    }
}

/// The paths at which an object was changed, and labels and annotations that count as changed as a whole.
fn differences(before: &Value, after: &Value) -> PathSet {
    let mut differences = PathSet::differences(before, after);
    if !have_same_metadata(before, after) {
        unreadable(before, after).for_each(|field| differences.insert_keys(&field));
    }
    differences
}

/// Whether labels, annotations and names are surely the same.
pub(super) fn have_same_metadata(before: &Value, after: &Value) -> bool {
    let metadata = [before, after].map(|object| object.get("metadata"));
    matches!(metadata, [Some(before), Some(after)] if before.same_storage(after))
}

/// A field of an object, by its keys.
pub(super) type Field = [&'static str; 2];

/// Labels and annotations that count as different as a whole: selectors read none of them if one is no string.
pub(super) fn unreadable<'a>(before: &'a Value, after: &'a Value) -> impl Iterator<Item = Field> + 'a {
    let is_unreadable = move |field: &Field| {
        [before, after].iter().any(|object| {
            let members = object.path(field).and_then(Value::as_object);
            members.is_some_and(|members| members.values().any(|value| value.as_str().is_none()))
        })
    };
    [["metadata", "labels"], ["metadata", "annotations"]].into_iter().filter(is_unreadable)
}
