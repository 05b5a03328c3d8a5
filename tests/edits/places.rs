//! The places of a value: all of them, and one of them to be changed.

use kyv::value::{Pointer, Segment, Value};

/// All places of a value, its root first, children after their parents.
pub(crate) fn places(value: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    gather(value, &mut Pointer::default(), &mut found);
    found
}

/// The node a pointer leads to, to be changed.
pub(crate) fn at<'v>(value: &'v mut Value, pointer: &Pointer) -> Option<&'v mut Value> {
    pointer.segments().iter().try_fold(value, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut()?.get_mut(key),
        Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
    })
}

fn gather(value: &Value, at: &mut Pointer, found: &mut Vec<Pointer>) {
    found.push(at.clone());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            at.push_index(index);
            gather(item, at, found);
            at.pop();
        }),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            at.push_key(key.clone());
            gather(member, at, found);
            at.pop();
        }),
        _ => {}
    }
}
