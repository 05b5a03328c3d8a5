//! Documents of a known form, read strictly: each deviation is an error with its place.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::fmt;

use crate::pattern::nearest;
use crate::value::{Map, Pointer, Text, Value};

/// A deviation of a document from its form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DecodeError {
    /// The place.
    pub pointer: Pointer,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_root() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.pointer, self.message)
        }
    }
}

/// Reads nodes of a document, and collects the errors.
///
/// A member that is `null` counts as missing.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The errors so far.
    pub errors: Vec<DecodeError>,
    /// Whether the names of fields are read without regard to case.
    pub ignores_case: bool,
}

impl Decoder {
    /// Adds an error.
    pub fn error(&mut self, at: &Pointer, message: impl Into<String>) {
        self.errors.push(DecodeError { pointer: at.clone(), message: message.into() });
    }

    /// Adds the error that a node has the wrong type.
    pub fn type_error(&mut self, node: &Value, at: &Pointer, expected: &str) {
        self.error(at, type_message(node, expected));
    }

    /// The decoded value, if there are no errors.
    ///
    /// # Errors
    ///
    /// All errors.
    pub fn finish<T>(self, decoded: T) -> Result<T, Vec<DecodeError>> {
        if self.errors.is_empty() { Ok(decoded) } else { Err(self.errors) }
    }

    /// Checks that a node is a map.
    pub fn map<'v>(&mut self, node: &'v Value, at: &Pointer) -> Option<&'v Map> {
        let members = node.as_object();
        if members.is_none() {
            self.type_error(node, at, "a map");
        }
        members
    }

    /// Checks that a node is a map with no other fields than these; `message` is the error for one.
    pub fn fields<'v>(
        &mut self,
        node: &'v Value,
        at: &Pointer,
        known: &[&str],
        message: impl Fn(&str) -> String,
    ) -> Option<&'v Map> {
        let members = self.map(node, at)?;
        for key in members.keys() {
            if !known.iter().any(|name| self.is_named(key, name)) {
                self.error(&at.key(key.clone()), message(key));
            }
        }
        Some(members)
    }

    fn is_named(&self, key: &str, name: &str) -> bool {
        key == name || self.ignores_case && key.eq_ignore_ascii_case(name)
    }

    /// A member with its place.
    pub fn member<'v>(&self, node: &'v Value, at: &Pointer, name: &str) -> Option<(Pointer, &'v Value)> {
        let members = node.as_object()?;
        let similar = || members.iter().find(|(key, _)| self.is_named(key, name));
        let (key, value) = members.get_key_value(name).or_else(similar)?;
        (!value.is_null()).then(|| (at.key(key.clone()), value))
    }

    /// A member that is a text, which may be empty.
    pub fn text<'v>(&mut self, node: &'v Value, at: &Pointer, name: &str) -> Option<&'v Text> {
        let (at, value) = self.member(node, at, name)?;
        let text = value.as_text();
        if text.is_none() {
            self.type_error(value, &at, "a string");
        }
        text
    }

    /// A member that must be there and must be a text that is not empty.
    pub fn required_text<'v>(&mut self, node: &'v Value, at: &Pointer, name: &str) -> Option<&'v Text> {
        let before = self.errors.len();
        let text = self.text(node, at, name).filter(|text| !text.is_empty());
        if text.is_none() && self.errors.len() == before {
            self.error(at, format!("{name} is missing"));
        }
        text
    }

    /// A member that is a boolean; false if it is missing.
    pub fn boolean(&mut self, node: &Value, at: &Pointer, name: &str) -> bool {
        let Some((at, value)) = self.member(node, at, name) else { return false };
        if value.as_bool().is_none() {
            self.type_error(value, &at, "true or false");
        }
        value.as_bool().unwrap_or_default()
    }

    /// The elements of a member that is a list, with their places.
    pub fn list<'v>(&mut self, node: &'v Value, at: &Pointer, name: &str) -> Vec<(Pointer, &'v Value)> {
        let Some((at, value)) = self.member(node, at, name) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.type_error(value, &at, "a list");
            return Vec::new();
        };
        items.iter().enumerate().map(|(index, item)| (at.index(index), item)).collect()
    }

    /// The members of a member that is a map, with their places.
    pub fn members<'v>(
        &mut self,
        node: &'v Value,
        at: &Pointer,
        name: &str,
    ) -> Vec<(&'v Text, Pointer, &'v Value)> {
        let Some((at, value)) = self.member(node, at, name) else { return Vec::new() };
        let members = self.map(value, &at).into_iter().flatten();
        members.map(|(name, value)| (name, at.key(name.clone()), value)).collect()
    }

    /// The elements of a member that is a list of texts, with their places.
    pub fn texts<'v>(&mut self, node: &'v Value, at: &Pointer, name: &str) -> Vec<(Pointer, &'v Text)> {
        let mut texts = Vec::new();
        for (at, item) in self.list(node, at, name) {
            match item {
                Value::String(text) => texts.push((at, text)),
                other => self.type_error(other, &at, "a string"),
            }
        }
        texts
    }
}

/// The error for a node of the wrong type.
pub fn type_message(node: &Value, expected: &str) -> String {
    format!("expected {expected}, found {}", node.type_name())
}

/// The error for an unknown field: the name that was probably meant, if there is one, or else all names.
pub fn unknown_field(key: &str, known: &[&str]) -> String {
    match nearest(key, known.iter().copied()) {
        Some(meant) => format!("unknown field, did you mean `{meant}`?"),
        None => format!("unknown field; known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviations_are_errors_with_their_places() {
        let node = Value::from_json(r#"{"a":1,"b":[1,"x"],"c":"","D":true,"e":null,"lst":{}}"#).unwrap();
        let at = Pointer::ROOT.key("spec");
        let mut decoder = Decoder::default();
        let known = ["a", "b", "c", "d", "e", "list"];
        assert!(decoder.fields(&node, &at, &known, |key| unknown_field(key, &known)).is_some());
        assert_eq!(decoder.text(&node, &at, "a"), None);
        assert_eq!(decoder.texts(&node, &at, "b").len(), 1);
        assert_eq!(decoder.required_text(&node, &at, "c"), None);
        assert!(decoder.text(&node, &at, "c").is_some_and(|text| text.is_empty()));
        assert!(!decoder.boolean(&node, &at, "d"));
        assert_eq!((decoder.member(&node, &at, "e"), decoder.list(&node, &at, "x").len()), (None, 0));
        decoder.list(&node, &at, "lst");
        decoder.map(&Value::Null, &Pointer::ROOT);
        let errors: Vec<String> = decoder.errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "spec.D: unknown field, did you mean `d`?",
                "spec.lst: unknown field, did you mean `list`?",
                "spec.a: expected a string, found number",
                "spec.b[0]: expected a string, found number",
                "spec: c is missing",
                "spec.lst: expected a list, found object",
                "expected a map, found null",
            ]
        );
    }

    #[test]
    fn names_may_differ_in_case() {
        let node = Value::from_json(r#"{"Flag":true}"#).unwrap();
        let mut decoder = Decoder { ignores_case: true, ..Decoder::default() };
        assert!(decoder.fields(&node, &Pointer::ROOT, &["flag"], str::to_owned).is_some());
        assert!(decoder.boolean(&node, &Pointer::ROOT, "flag") && decoder.errors.is_empty());
    }
}
