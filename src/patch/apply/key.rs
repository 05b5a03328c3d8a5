//! The identity of list elements.

use std::fmt::Write as _;

use crate::admission::{ListKey, ListMerge, ListType};
use crate::value::{Number, Value, shortened};

use super::error::Problem;

/// What elements of two lists that merge have in common: the values of the keys, or the element itself in a set.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ElementKey<'v>(Vec<Part<'v>>);

/// A value as structured-merge-diff compares it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'v> {
    Missing,
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'v str),
    Json(String),
}

impl<'v> ElementKey<'v> {
    /// The key of an element; `None` in lists that are replaced as a whole.
    pub(super) fn of(element: &'v Value, list: ListType<'v>) -> Result<Option<Self>, Problem> {
        match list.merge {
            ListMerge::Atomic => Ok(None),
            ListMerge::Set => match element {
                Value::Null | Value::Array(_) | Value::Object(_) => {
                    Err(Problem::WrongType { expected: "scalar", found: element.type_name() })
                }
                Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    Ok(Some(Self(vec![Part::of(element)])))
                }
            },
            ListMerge::Keys(keys) => of_object(element, keys).map(Some),
        }
    }

    /// As messages show it: `name="a"`.
    pub(super) fn describe(&self, merge: ListMerge<'_>) -> String {
        const MAX_CHARS: usize = 100;
        let names: &[ListKey] = if let ListMerge::Keys(keys) = merge { keys } else { &[] };
        let mut out = String::new();
        for (index, part) in self.0.iter().enumerate() {
            let text = match part {
                Part::Missing => continue,
                Part::Null => "null".to_owned(),
                Part::Bool(value) => value.to_string(),
                Part::Int(value) => value.to_string(),
                Part::Float(bits) => f64::from_bits(*bits).to_string(),
                Part::Text(text) => format!("{:?}", shortened(text, MAX_CHARS)),
                Part::Json(text) => shortened(text, MAX_CHARS),
            };
            let separator = if out.is_empty() { "" } else { ", " };
            let name = names.get(index).map_or_else(String::new, |key| format!("{}=", key.name));
            let _ = write!(out, "{separator}{name}{text}");
        }
        out
    }
}

fn of_object<'v>(element: &'v Value, keys: &'v [ListKey]) -> Result<ElementKey<'v>, Problem> {
    let Some(members) = element.as_object() else {
        return Err(Problem::WrongType { expected: "object", found: element.type_name() });
    };
    let part =
        |key: &'v ListKey| members.get(&key.name).or(key.default.as_ref()).map_or(Part::Missing, Part::of);
    let parts: Vec<Part<'v>> = keys.iter().map(part).collect();
    if parts.iter().all(|part| *part == Part::Missing) {
        return Err(Problem::NoKey { keys: names(keys) });
    }
    Ok(ElementKey(parts))
}

fn names(keys: &[ListKey]) -> String {
    keys.iter().map(|key| &*key.name).collect::<Vec<_>>().join("`, `")
}

impl<'v> Part<'v> {
    fn of(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => Self::of_number(number),
            Value::String(text) => Self::Text(text),
            Value::Array(_) | Value::Object(_) => Self::Json(value.to_json()),
        }
    }

    fn of_number(number: &Number) -> Self {
        number.as_i64().map_or_else(|| Self::Float(number.as_f64().to_bits()), Self::Int)
    }
}
