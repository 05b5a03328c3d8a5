//! Types of parameters, and signatures.

use std::fmt;

use crate::value::Value;

use super::Function;

/// A type that a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    String,
    Array,
    Object,
    /// A list of numbers, maybe empty.
    Numbers,
    /// A list of strings, maybe empty.
    Strings,
    /// `&expression`
    Expression,
    Any,
}

impl Type {
    /// Whether a value has this type.
    pub(super) fn includes(self, value: &Value) -> bool {
        match self {
            Self::Number => is_float(value),
            Self::String => matches!(value, Value::String(_)),
            Self::Array => matches!(value, Value::Array(_)),
            Self::Object => matches!(value, Value::Object(_)),
            Self::Numbers => all(value, is_float),
            Self::Strings => all(value, |item| matches!(item, Value::String(_))),
            Self::Expression => false,
            Self::Any => true,
        }
    }

    /// Whether it is a list of values of one type.
    pub(super) const fn is_list(self) -> bool {
        matches!(self, Self::Numbers | Self::Strings)
    }

    /// The type in an error message.
    pub(super) const fn plain(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "a list",
            Self::Object => "an object",
            Self::Numbers => "a list of numbers",
            Self::Strings => "a list of strings",
            Self::Expression => "an expression (`&…`)",
            Self::Any => "any value",
        }
    }

    /// The name in signatures, and in Kyverno's messages.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
            Self::Numbers => "array[number]",
            Self::Strings => "array[string]",
            Self::Expression => "expref",
            Self::Any => "any",
        }
    }
}

/// Functions accept no typed integers.
fn is_float(value: &Value) -> bool {
    value.as_number().is_some_and(|number| !number.is_typed_integer())
}

fn all(value: &Value, holds: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(holds))
}

pub(super) const NUMBER: &[Type] = &[Type::Number];
pub(super) const STRING: &[Type] = &[Type::String];
pub(super) const ARRAY: &[Type] = &[Type::Array];
pub(super) const OBJECT: &[Type] = &[Type::Object];
pub(super) const EXPRESSION: &[Type] = &[Type::Expression];
pub(super) const ANY: &[Type] = &[Type::Any];
pub(super) const STRING_OR_NUMBER: &[Type] = &[Type::String, Type::Number];

/// The name, parameters and result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// The name.
    pub name: &'static str,
    /// The types of each parameter, separated by `|`.
    pub parameters: Vec<String>,
    /// Whether the last parameter may be repeated.
    pub repeats: bool,
    /// The type of the result.
    pub result: &'static str,
    /// A description of one line.
    pub description: &'static str,
}

impl Signature {
    pub(super) fn of(function: &Function) -> Self {
        let names = |types: &&[Type]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join("|");
        Self {
            name: function.name,
            parameters: function.parameters.iter().map(names).collect(),
            repeats: function.repeats,
            result: function.result,
            description: function.description,
        }
    }
}

/// `name(string, number) string`
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = if self.repeats { "…" } else { "" };
        write!(f, "{}({}{dots}) {}", self.name, self.parameters.join(", "), self.result)
    }
}
