//! The strings of a document: its keys and values.

use crate::value::{Pointer, Text, Value};

/// Visits all keys and strings below a value in document order, a key before its value. `at` is the place of the value, and
/// that of the string in a call: of a key, the place of its member.
pub(super) fn each_string(value: &Value, at: &mut Pointer, visit: &mut dyn FnMut(&Pointer, &Text)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => visit(at, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push_index(index);
                each_string(item, at, visit);
                at.pop();
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter() {
                at.push_key(key.clone());
                visit(at, key);
                each_string(member, at, visit);
                at.pop();
            }
        }
    }
}
