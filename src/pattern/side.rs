//! A side of a condition, and which of its numbers Kyverno holds as integers.
//!
//! Kyverno reads a list or map that a policy writes with integers in it, a number that stands alone as a float, and
//! what variables give as floats until a rule has patched the object. Two kinds of number are never equal inside lists
//! and maps there, and they print differently.

use std::borrow::Cow;

use crate::value::{Number, Value};

/// A side of a condition.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// What it is.
    pub(super) value: &'a Value,
    /// As the policy writes it; `None` or null for what comes from a variable.
    pub(super) written: Option<&'a Value>,
    /// Whether variables give integers.
    pub(super) kept: bool,
}

impl<'a> Side<'a> {
    /// A side of which only the value is known.
    pub(super) const fn of(value: &'a Value) -> Self {
        Self { value, written: None, kept: false }
    }

    /// The side with the text of each integer in the place of it, as Kyverno prints it.
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

    /// Whether a number that stands here is held as an integer.
    const fn is_integer(&self) -> bool {
        matches!(self.written, Some(Value::Number(_))) || self.kept
    }

    fn item(&self, index: usize) -> Option<Self> {
        let written = self.written.and_then(|written| written.at(index));
        Some(Self { value: self.value.at(index)?, written, kept: self.kept })
    }

    /// Keys may hold variables, so that the written member is found by its place.
    fn member(&self, index: usize, key: &str) -> Option<Self> {
        let written = self.written.and_then(Value::as_object).and_then(|written| written.values().nth(index));
        Some(Self { value: self.value.get(key)?, written, kept: self.kept })
    }

    /// Whether two equal sides have numbers of the same kinds.
    pub(super) fn has_numbers_like(&self, other: &Self) -> bool {
        match (self.value, other.value) {
            (Value::Number(a), Value::Number(_)) => {
                integer(a).is_none() || self.is_integer() == other.is_integer()
            }
            (Value::Array(items), Value::Array(_)) => (0..items.len()).all(|index| {
                let pair = self.item(index).zip(other.item(index));
                pair.is_none_or(|(a, b)| a.has_numbers_like(&b))
            }),
            (Value::Object(members), Value::Object(others)) => {
                members.keys().enumerate().all(|(index, key)| {
                    let at = others.get_index_of(key);
                    let pair = self.member(index, key).zip(at.and_then(|at| other.member(at, key)));
                    pair.is_none_or(|(a, b)| a.has_numbers_like(&b))
                })
            }
            _ => true,
        }
    }
}

/// The text of a number that fits Kyverno's integers.
fn integer(number: &Number) -> Option<String> {
    number.is_integer().then(|| number.as_i64().map(|integer| integer.to_string())).flatten()
}
