//! The text of JSON patches: YAML with variables.

use std::sync::Arc;

use crate::value::{Pointer, Value, unescaped_token};
use crate::variables::replace_variables;
use crate::yaml::{Limits, Source, read};

use super::problem::Problem;

/// The start of a word that stands for a variable.
const MARK: &str = "kyvVariable";

/// A patch whose variables are replaced by words, so that it is YAML.
pub(super) struct Parsed {
    pub(super) value: Value,
    /// The variables, by number.
    pub(super) variables: Vec<String>,
    /// The strings that are not quoted and consist of one variable.
    pub(super) bare: Vec<Pointer>,
}

impl Parsed {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let mut variables: Vec<String> = Vec::new();
        let mut marked = text.to_owned();
        while let Some(next) = replace_variables(&marked, |expression| {
            variables.push(expression.to_owned());
            format!("{MARK}{}End", variables.len() - 1)
        }) {
            marked = next;
        }
        let source = Arc::new(Source::new("patch", marked.as_str()));
        let unreadable = || {
            Problem::new(
                "the patch",
                "it is no YAML before its variables are replaced",
                "quote its variables",
            )
        };
        let documents = read(&source, &Limits::default()).map_err(|_| unreadable())?;
        let document =
            documents.into_iter().find(|document| document.value().is_some()).ok_or_else(unreadable)?;
        let mut bare = Vec::new();
        let value = document.value().cloned().unwrap_or_default();
        find_bare(&value, &Pointer::ROOT, &mut |pointer| {
            let written = document.span(pointer).and_then(|span| marked.get(span)).unwrap_or_default();
            if !written.starts_with(['"', '\'', '|', '>']) {
                bare.push(pointer.clone());
            }
        });
        Ok(Self { value, variables, bare })
    }

    /// A value with its variables in braces again.
    pub(super) fn restored(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::from(self.restored_text(text)),
            Value::Array(items) => Value::array(items.iter().map(|item| self.restored(item)).collect()),
            Value::Object(members) => members
                .iter()
                .map(|(key, member)| {
                    (crate::value::Text::from(self.restored_text(key)), self.restored(member))
                })
                .collect(),
            other => other.clone(),
        }
    }

    pub(super) fn restored_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        // A variable may hold others.
        for _ in 0..=self.variables.len() {
            let Some(start) = text.find(MARK) else { break };
            let rest = text.get(start + MARK.len()..).unwrap_or_default();
            let Some((number, _)) = rest.split_once("End") else { break };
            let Some(variable) = number.parse::<usize>().ok().and_then(|number| self.variables.get(number))
            else {
                break;
            };
            text = text.replacen(&format!("{MARK}{number}End"), &format!("{{{{{variable}}}}}"), 1);
        }
        text
    }
}

/// Finds strings with variables.
fn find_bare(value: &Value, at: &Pointer, found: &mut impl FnMut(&Pointer)) {
    match value {
        Value::String(text) if text.contains(MARK) => found(at),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                find_bare(item, &at.index(index), found);
            }
        }
        Value::Object(members) => {
            for (key, member) in members.iter() {
                find_bare(member, &at.key(key.clone()), found);
            }
        }
        _ => {}
    }
}

/// An operation without a slash at the end of its path, with labels and annotations as texts.
pub(super) fn legacy_item(item: &Value) -> Value {
    let mut item = item.clone();
    let path = item.get("path").and_then(Value::as_str).unwrap_or_default();
    let path = if path.len() > 1 { path.strip_suffix('/').unwrap_or(path) } else { path }.to_owned();
    let names: Vec<String> = path.split('/').skip(1).map(unescaped_token).collect();
    if let Some(value) = item.get("value") {
        let value = names
            .iter()
            .rev()
            .fold(value.clone(), |value, name| [(name.as_str(), value)].into_iter().collect());
        let mut typed = super::overlay::with_texts(&value);
        for name in &names {
            typed = typed.get(name).cloned().unwrap_or_default();
        }
        item.insert("value", typed);
    }
    item.insert("path", Value::from(path));
    item
}
