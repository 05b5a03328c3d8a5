//! The fields of documents, and the check of a document against them.

use crate::diagnostics::Code;
use crate::pattern::nearest;
use crate::value::{Map, Pointer, Value};

use super::PolicyError;
use super::fields::any_of;

/// What a field may hold.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// Anything, checked elsewhere or not at all.
    Any,
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    Flag,
    Integer,
    List(&'static Self),
    /// A map with any keys.
    Map(&'static Self),
    /// A map with known fields.
    Fields(&'static Fields),
}

/// The fields of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub(super) known: &'static [(&'static str, Shape)],
    pub(super) required: &'static [&'static str],
    /// Whether other fields are allowed.
    pub(super) open: bool,
}

impl Fields {
    pub(super) const fn of(known: &'static [(&'static str, Shape)]) -> Self {
        Self { known, required: &[], open: false }
    }

    pub(super) const fn requiring(self, required: &'static [&'static str]) -> Self {
        Self { required, ..self }
    }
}

pub(super) const TEXTS: Shape = Shape::List(&Shape::Text);
pub(super) const TEXT_MAP: Shape = Shape::Map(&Shape::Text);

pub(super) static METADATA: Fields = Fields {
    known: &[
        ("name", Shape::Text),
        ("generateName", Shape::Text),
        ("namespace", Shape::Text),
        ("labels", TEXT_MAP),
        ("annotations", TEXT_MAP),
    ],
    required: &["name"],
    open: true,
};

pub(super) static SELECTOR: Fields = Fields::of(&[
    ("matchLabels", TEXT_MAP),
    ("matchExpressions", Shape::List(&Shape::Fields(&SELECTOR_EXPRESSION))),
]);

static SELECTOR_EXPRESSION: Fields = Fields::of(&[
    ("key", Shape::Text),
    ("operator", Shape::OneOf(&["In", "NotIn", "Exists", "DoesNotExist"])),
    ("values", TEXTS),
])
.requiring(&["key", "operator"]);

pub(super) static CEL_CONDITION: Fields =
    Fields::of(&[("name", Shape::Text), ("expression", Shape::Text)]).requiring(&["name", "expression"]);

pub(super) const FAILURE_POLICIES: &[&str] = &["Ignore", "Fail"];

impl Fields {
    /// The member without a value that may have a field of this name: the field lacks indentation.
    fn empty_parent(&self, field: &str, members: &Map) -> Option<&'static str> {
        let has_field = |shape: &Shape| match shape {
            Shape::Any | Shape::Map(_) => true,
            Shape::Fields(fields) => fields.known.iter().any(|(name, _)| *name == field),
            _ => false,
        };
        let is_empty = |name: &str| members.get(name).is_some_and(Value::is_null);
        self.known.iter().find(|(name, shape)| is_empty(name) && has_field(shape)).map(|(name, _)| *name)
    }

    /// Checks a whole document.
    pub(super) fn check(&self, document: &Value, errors: &mut Vec<PolicyError>) {
        Check { at: Pointer::ROOT, errors }.fields(self, document);
    }
}

/// The length to which messages shorten an unsupported value.
const MAX_SHOWN_CHARS: usize = 63;

struct Check<'f> {
    at: Pointer,
    errors: &'f mut Vec<PolicyError>,
}

impl Check<'_> {
    fn value(&mut self, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Any, _) | (Shape::Text, Value::String(_)) | (Shape::Flag, Value::Bool(_)) => {}
            (Shape::Integer, Value::Number(number)) => {
                if number.as_i64().is_none_or(|number| i32::try_from(number).is_err()) {
                    self.error(Code::WrongType, "expected an integer of 32 bits, found another number");
                }
            }
            (Shape::OneOf(known), Value::String(text)) => {
                if !known.contains(&&**text) {
                    let shown: String = text.chars().take(MAX_SHOWN_CHARS).collect();
                    let message = format!("unsupported value `{shown}`, expected {}", any_of(known));
                    let error = PolicyError::new(Code::InvalidField, self.at.clone(), message);
                    self.errors.push(error.suggesting(nearest(text, known.iter().copied())));
                }
            }
            (Shape::List(element), Value::Array(items)) => {
                for (index, item) in items.iter().enumerate() {
                    self.at.push_index(index);
                    self.value(element, item);
                    self.at.pop();
                }
            }
            (Shape::Map(member), Value::Object(members)) => {
                for (key, value) in members.iter() {
                    self.at.push_key(key.clone());
                    self.value(member, value);
                    self.at.pop();
                }
            }
            (Shape::Fields(fields), _) => self.fields(fields, value),
            (shape, value) => {
                let hint = match (shape, value) {
                    (Shape::Text | Shape::OneOf(_), Value::Bool(_)) => {
                        "; quote it: y, n, yes, no, on, off, true and false are booleans in YAML"
                    }
                    _ => "",
                };
                let message = format!("expected {}, found {}{hint}", shape.name(), found(value));
                self.error(Code::WrongType, &message);
            }
        }
    }

    fn fields(&mut self, fields: &Fields, value: &Value) {
        let Some(members) = value.as_object() else {
            return self.error(Code::WrongType, &format!("expected an object, found {}", found(value)));
        };
        for (key, value) in members {
            self.at.push_key(key.clone());
            match fields.known.iter().find(|(name, _)| *name == &**key) {
                // As in an API server, `null` counts as absent.
                Some(_) if value.is_null() => {}
                Some((_, shape)) => self.value(shape, value),
                None if fields.open => {}
                None => {
                    let known = fields.known.iter().map(|(name, _)| *name);
                    let (message, nearest) = match fields.empty_parent(key, members) {
                        Some(parent) => (
                            format!(
                                "unknown field `{key}`: `{parent}` beside it is empty; indent `{key}` below it"
                            ),
                            None,
                        ),
                        None => (format!("unknown field `{key}`"), nearest(key, known)),
                    };
                    self.errors.push(PolicyError::unknown_field(self.at.clone(), message, nearest));
                }
            }
            self.at.pop();
        }
        for name in fields.required {
            if members.get(name).is_none_or(Value::is_null) {
                self.error(Code::MissingField, &format!("required field `{name}` is missing"));
            }
        }
    }

    fn error(&mut self, code: Code, message: &str) {
        self.errors.push(PolicyError::new(code, self.at.clone(), message));
    }
}

impl Shape {
    const fn name(&self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Text | Self::OneOf(_) => "a string",
            Self::Flag => "a boolean",
            Self::Integer => "an integer",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Fields(_) => "an object",
        }
    }
}

/// The type of a value, in words.
pub(super) const fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
