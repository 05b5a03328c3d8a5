//! Documents that must have a known form: every deviation is an error with its place.

use crate::policy::nearest;
use crate::value::{Map, Pointer, Text, Value};
use crate::yaml::Document;

use super::SourceError;

/// Which kind the head of a document has to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// That of the document.
    OfKind,
    /// Any: Kyverno's test suites look only whether there is one.
    Any,
}

/// Looks a document over and gathers what is wrong with it.
#[derive(Debug)]
pub(super) struct Strict<'a> {
    document: &'a Document,
    faults: Vec<SourceError>,
}

impl<'a> Strict<'a> {
    /// Starts with a document.
    pub(super) const fn new(document: &'a Document) -> Self {
        Self { document, faults: Vec::new() }
    }

    /// What was found.
    pub(super) fn finish(self) -> Vec<SourceError> {
        self.faults
    }

    /// Notes a fault.
    pub(super) fn fault(&mut self, at: &Pointer, message: impl Into<String>) {
        let message = message.into();
        let message = if at.is_root() { message } else { format!("{at}: {message}") };
        self.faults.push(SourceError::at(self.document, at, message));
    }

    /// Checks that a document is a map with a head, whatever kind it names, and of no other fields than these.
    pub(super) fn any_head(&mut self, fields: &[&str]) -> Option<&'a Value> {
        let root = self.document.value()?;
        self.map(root, &Pointer::ROOT)?;
        let example = ["apiVersion", "kind"].into_iter().zip([" (cli.kyverno.io/v1alpha1)", ""]);
        for (name, example) in example {
            if root.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
                self.fault(&Pointer::ROOT, format!("{name} is missing{example}"));
            }
        }
        self.headed(root, fields)
    }

    fn headed(&mut self, root: &'a Value, fields: &[&str]) -> Option<&'a Value> {
        let known: Vec<&str> = ["apiVersion", "kind", "metadata"].iter().chain(fields).copied().collect();
        self.fields(root, &Pointer::ROOT, &known)
    }

    /// Checks that a document is a map of this kind with its head, and of no other fields than these.
    pub(super) fn head(&mut self, kind: &str, fields: &[&str]) -> Option<&'a Value> {
        let document = self.document;
        let root = document.value()?;
        let found = root.get("kind").and_then(Value::as_str);
        if found != Some(kind) {
            let at = if root.get("kind").is_some() { Pointer::ROOT.key("kind") } else { Pointer::ROOT };
            let found = found.map_or_else(String::new, |found| format!(", found {found:?}"));
            self.fault(&at, format!("expected a document of kind {kind}{found}"));
            return None;
        }
        if root.get("apiVersion").and_then(Value::as_str).is_none_or(str::is_empty) {
            self.fault(&Pointer::ROOT, "apiVersion is missing (cli.kyverno.io/v1alpha1)");
        }
        self.headed(root, fields)
    }

    /// Checks that a node is a map with no other fields than these.
    pub(super) fn fields(&mut self, node: &'a Value, at: &Pointer, known: &[&str]) -> Option<&'a Value> {
        for key in self.map(node, at)?.keys().filter(|key| !known.contains(&&***key)) {
            let meant = nearest(key, known.iter().copied());
            let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
            let message = format!("unknown field{meant}; known are {}", known.join(", "));
            self.fault(&at.key(key.clone()), message);
        }
        Some(node)
    }

    /// Checks that a node is a map.
    pub(super) fn map(&mut self, node: &'a Value, at: &Pointer) -> Option<&'a Map> {
        let members = node.as_object();
        if members.is_none() {
            self.type_fault(node, at, "a map");
        }
        members
    }

    /// Checks that a member is a list, and gives its elements with their places. A missing member and
    /// `null` have none.
    pub(super) fn list(&mut self, node: &'a Value, at: &Pointer, key: &str) -> Vec<(Pointer, &'a Value)> {
        let at = at.key(key);
        match node.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| (at.index(index), item)).collect()
            }
            Some(other) => {
                self.type_fault(other, &at, "a list");
                Vec::new()
            }
        }
    }

    /// Checks that a member is a map, and gives its members with their places. A missing member and `null`
    /// have none.
    pub(super) fn members(
        &mut self,
        node: &'a Value,
        at: &Pointer,
        key: &str,
    ) -> Vec<(&'a Text, Pointer, &'a Value)> {
        let at = at.key(key);
        match node.get(key) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Object(members)) => {
                members.iter().map(|(name, value)| (name, at.key(name.clone()), value)).collect()
            }
            Some(other) => {
                self.type_fault(other, &at, "a map");
                Vec::new()
            }
        }
    }

    /// Checks that a member is a text that is not empty.
    pub(super) fn text(&mut self, node: &'a Value, at: &Pointer, key: &str) -> Option<&'a Text> {
        match node.get(key) {
            Some(Value::String(text)) if !text.is_empty() => Some(text),
            Some(Value::String(_) | Value::Null) | None => {
                self.fault(at, format!("{key} is missing"));
                None
            }
            Some(other) => {
                self.type_fault(other, &at.key(key), "a string");
                None
            }
        }
    }

    /// Checks that a member, if it is there, is a text, which may be empty.
    pub(super) fn optional_text(&mut self, node: &'a Value, at: &Pointer, key: &str) -> Option<&'a str> {
        match node.get(key)? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => {
                self.type_fault(other, &at.key(key), "a string");
                None
            }
        }
    }

    /// Checks that a member, if it is there, is a list of texts.
    pub(super) fn texts(&mut self, node: &'a Value, at: &Pointer, key: &str) {
        for (at, item) in self.list(node, at, key) {
            if item.as_str().is_none() {
                self.type_fault(item, &at, "a string");
            }
        }
    }

    /// Notes that a node has the wrong type.
    pub(super) fn type_fault(&mut self, node: &Value, at: &Pointer, wanted: &str) {
        self.fault(at, format!("expected {wanted}, found {}", node.type_name()));
    }
}
