//! Nodes of a test document, read strictly.

use crate::value::{Pointer, Text, Value};

/// What is wrong with a test document, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The place.
    pub pointer: Pointer,
    /// What is wrong there.
    pub message: String,
}

/// Gathers what is wrong while nodes are read.
#[derive(Debug, Default)]
pub(super) struct Fields {
    pub(super) faults: Vec<Fault>,
}

impl Fields {
    /// Notes a fault.
    pub(super) fn fault(&mut self, at: &Pointer, message: impl Into<String>) {
        let message = message.into();
        let message = if at.is_root() { message } else { format!("{at}: {message}") };
        self.faults.push(Fault { pointer: at.clone(), message });
    }

    /// Checks that a node is a map with no other fields than these. Kyverno reads field names without
    /// regard to case, and so does this.
    pub(super) fn known(&mut self, node: &Value, at: &Pointer, known: &[&str], old: &[(&str, &str)]) -> bool {
        let Some(members) = node.as_object() else {
            self.type_fault(node, at, "a map");
            return false;
        };
        for key in members.keys() {
            if known.iter().any(|known| known.eq_ignore_ascii_case(key)) {
                continue;
            }
            match old.iter().find(|(name, _)| **name == **key) {
                Some((_, now)) => self.fault(
                    &at.key(key.clone()),
                    format!("this field is of the layout before Kyverno 1.11; {now}"),
                ),
                None => {
                    self.fault(
                        &at.key(key.clone()),
                        format!("unknown field; known are {}", known.join(", ")),
                    );
                }
            }
        }
        true
    }

    /// A member that is not null, with its place.
    pub(super) fn member<'a>(node: &'a Value, at: &Pointer, name: &str) -> Option<(Pointer, &'a Value)> {
        let members = node.as_object()?;
        let exact = members.get_key_value(name);
        let found = exact.or_else(|| members.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)));
        found.filter(|(_, value)| !value.is_null()).map(|(key, value)| (at.key(key.clone()), value))
    }

    /// A text, if it is there and not empty.
    pub(super) fn text(&mut self, node: &Value, at: &Pointer, name: &str) -> Option<Text> {
        let (at, value) = Self::member(node, at, name)?;
        match value {
            Value::String(text) if text.is_empty() => None,
            Value::String(text) => Some(text.clone()),
            other => {
                self.type_fault(other, &at, "a string");
                None
            }
        }
    }

    /// A text that must be there.
    pub(super) fn needed(&mut self, node: &Value, at: &Pointer, name: &str) -> Option<Text> {
        let faults = self.faults.len();
        let text = self.text(node, at, name);
        if text.is_none() && self.faults.len() == faults {
            self.fault(at, format!("{name} is missing"));
        }
        text
    }

    /// A truth value; false if it is not there.
    pub(super) fn truth(&mut self, node: &Value, at: &Pointer, name: &str) -> bool {
        let Some((at, value)) = Self::member(node, at, name) else { return false };
        if value.as_bool().is_none() {
            self.type_fault(value, &at, "true or false");
        }
        value.as_bool().unwrap_or_default()
    }

    /// The elements of a list, with their places.
    pub(super) fn list<'a>(
        &mut self,
        node: &'a Value,
        at: &Pointer,
        name: &str,
    ) -> Vec<(Pointer, &'a Value)> {
        let Some((at, value)) = Self::member(node, at, name) else { return Vec::new() };
        match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (at.index(index), item)).collect()
            }
            other => {
                self.type_fault(other, &at, "a list");
                Vec::new()
            }
        }
    }

    /// The texts of a list.
    pub(super) fn texts(&mut self, node: &Value, at: &Pointer, name: &str) -> Vec<Text> {
        let mut texts = Vec::new();
        for (at, item) in self.list(node, at, name) {
            match item {
                Value::String(text) if text.is_empty() => {
                    self.fault(&at, "expected a string that is not empty");
                }
                Value::String(text) => texts.push(text.clone()),
                other => self.type_fault(other, &at, "a string"),
            }
        }
        texts
    }

    /// Notes that a node has the wrong type.
    pub(super) fn type_fault(&mut self, node: &Value, at: &Pointer, wanted: &str) {
        self.fault(at, format!("expected {wanted}, found {}", node.type_name()));
    }
}
