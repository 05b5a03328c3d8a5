//! Operands of conditions, with the Go types of their numbers in Kyverno.
//!
//! Kyverno decodes the integers of lists and maps in a policy as integers, single numbers as floats, and numbers from
//! variables as floats until a rule has patched the object. Inside lists and maps an integer never equals a float, and
//! they are formatted differently.

use std::borrow::Cow;

use crate::value::{Number, Value};

/// An operand of a condition.
#[derive(Clone, Copy)]
pub(super) struct TypedOperand<'a> {
    /// The resolved value.
    pub(super) value: &'a Value,
    /// The value as written in the policy; `None` or null if it comes from a variable.
    pub(super) written: Option<&'a Value>,
    /// Whether numbers from variables are integers.
    pub(super) variable_integers: bool,
}

impl<'a> TypedOperand<'a> {
    /// An operand of which only the value is known.
    pub(super) const fn of(value: &'a Value) -> Self {
        Self { value, written: None, variable_integers: false }
    }

    /// The value with each integer replaced by its text, as Kyverno formats it.
    pub(super) fn with_integers_as_text(&self) -> Cow<'a, Value> {
        match (self.value, self.written) {
            (Value::Number(_), Some(Value::Number(_))) => Cow::Borrowed(self.value),
            _ => self.as_text(),
        }
    }

    fn as_text(&self) -> Cow<'a, Value> {
        match self.value {
            Value::Number(number) => match self.is_integer().then(|| integer(number)).flatten() {
                Some(text) => Cow::Owned(text.into()),
                None => Cow::Borrowed(self.value),
            },
            Value::Array(items) => {
                let items =
                    (0..items.len()).filter_map(|index| Some(self.item(index)?.as_text().into_owned()));
                Cow::Owned(Value::array(items.collect()))
            }
            Value::Object(members) => {
                let members = members.keys().enumerate().filter_map(|(index, key)| {
                    Some((key.clone(), self.member(index, key)?.as_text().into_owned()))
                });
                Cow::Owned(members.collect())
            }
            Value::Null | Value::Bool(_) | Value::String(_) => Cow::Borrowed(self.value),
        }
    }

    /// Whether Kyverno has a number here as an integer.
    const fn is_integer(&self) -> bool {
        matches!(self.written, Some(Value::Number(_))) || self.variable_integers
    }

    fn item(&self, index: usize) -> Option<Self> {
        let written = self.written.and_then(|written| written.at(index));
        Some(Self { value: self.value.at(index)?, written, variable_integers: self.variable_integers })
    }

    /// The written member is found by index because its key may contain variables.
    fn member(&self, index: usize, key: &str) -> Option<Self> {
        let written = self.written.and_then(Value::as_object).and_then(|written| written.values().nth(index));
        Some(Self { value: self.value.get(key)?, written, variable_integers: self.variable_integers })
    }

    /// Whether the numbers of two equal operands have the same types.
    pub(super) fn has_same_number_types(&self, other: &Self) -> bool {
        match (self.value, other.value) {
            (Value::Number(a), Value::Number(_)) => {
                integer(a).is_none() || self.is_integer() == other.is_integer()
            }
            (Value::Array(items), Value::Array(_)) => (0..items.len()).all(|index| {
                let pair = self.item(index).zip(other.item(index));
                pair.is_none_or(|(a, b)| a.has_same_number_types(&b))
            }),
            (Value::Object(members), Value::Object(others)) => {
                members.keys().enumerate().all(|(index, key)| {
                    let at = others.get_index_of(key);
                    let pair = self.member(index, key).zip(at.and_then(|at| other.member(at, key)));
                    pair.is_none_or(|(a, b)| a.has_same_number_types(&b))
                })
            }
            _ => true,
        }
    }
}

/// The text of a number that is an integer in Kyverno.
fn integer(number: &Number) -> Option<String> {
    number.is_integer().then(|| number.as_i64().map(|integer| integer.to_string())).flatten()
}
