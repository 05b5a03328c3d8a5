//! Nodes.

use crate::admission::fields::Setter;
use crate::admission::fields::{set, unset};
use crate::value::Value;

pub(super) fn of_type(name: &str) -> Option<Setter> {
    (name == "NodeStatus").then_some(node_status)
}

fn node_status(status: &mut Value) {
    if !unset(status, "capacity") {
        let capacity = status.get("capacity").cloned().unwrap_or_default();
        set(status, "allocatable", || capacity);
    }
}
