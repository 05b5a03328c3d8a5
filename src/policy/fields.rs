//! Reading fields of documents whose types are checked elsewhere: a value of a wrong type counts as absent.

use std::fmt::Display;

use crate::value::{Text, Value};

/// A field that is present and not `null`.
pub(super) fn given<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|field| !field.is_null())
}

/// A field that is present and not blank.
pub(super) fn filled<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    value.get(name).filter(|field| !is_blank(field))
}

/// Whether a value counts as not given: `null`, or an empty string, list or map.
pub(super) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The string of a field; empty if absent.
pub(super) fn string<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The same as a shared text.
pub(super) fn text(value: &Value, name: &str) -> Text {
    value.get(name).and_then(Value::as_text).cloned().unwrap_or_default()
}

/// The elements of a list field.
pub(super) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    value.get(name).and_then(Value::as_array).unwrap_or_default()
}

/// The strings of a list.
pub(super) fn texts(list: Option<&Value>) -> Vec<Text> {
    list.and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_text).cloned().collect()
}

/// The members of a map that are strings.
pub(super) fn text_map<C: FromIterator<(Text, Text)>>(map: Option<&Value>) -> C {
    let members = map.and_then(Value::as_object).into_iter().flat_map(|members| members.iter());
    members.filter_map(|(key, value)| Some((key.clone(), value.as_text()?.clone()))).collect()
}

/// `` `a`, `b` or `c` ``.
pub(super) fn any_of(names: &[impl Display]) -> String {
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or `{last}`", all_of(rest)),
        _ => all_of(names),
    }
}

/// `` `a`, `b`, `c` ``.
pub(super) fn all_of(names: &[impl Display]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}
