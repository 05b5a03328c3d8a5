//! Finding values in a document by the tokens of a path.

use crate::patch::json_patch::kind::OperationKind;
use crate::patch::json_patch::path::{Path, Token};
use crate::patch::{IndexError, Limit, MissingPart, PatchError};
use crate::value::{MAX_DEPTH, Map, Value};

/// The object or list at this path.
pub(in crate::patch) fn container<'v>(document: &'v Value, parents: &[Token]) -> Option<&'v Value> {
    let found = parents.iter().try_fold(document, |node, token| match node {
        Value::Array(items) => items.get(element_index(items, token).ok()?),
        _ => node.get(&token.name),
    })?;
    matches!(found, Value::Object(_) | Value::Array(_)).then_some(found)
}

/// Whether the path fails at a list that lacks the element.
pub(in crate::patch) fn fails_in_list(document: &Value, tokens: &[Token]) -> bool {
    let mut node = document;
    for token in tokens {
        let next = match node {
            Value::Array(items) => match element_index(items, token) {
                Ok(index) => items.get(index),
                Err(_) => return true,
            },
            _ => node.get(&token.name),
        };
        match next {
            Some(next) => node = next,
            None => return false,
        }
    }
    false
}

/// An object or list that is changed.
pub(in crate::patch) enum Container<'v> {
    List(&'v mut Vec<Value>),
    Map(&'v mut Map),
}

/// The object or list at this path, to be changed.
pub(in crate::patch) fn container_mut<'v>(
    document: &'v mut Value,
    parents: &[Token],
) -> Option<Container<'v>> {
    let found = node_mut(document, parents)?;
    match found {
        Value::Array(_) => found.as_array_mut().map(Container::List),
        _ => found.as_object_mut().map(Container::Map),
    }
}

/// The value at this path, to be changed.
pub(super) fn node_mut<'v>(document: &'v mut Value, path: &[Token]) -> Option<&'v mut Value> {
    path.iter().try_fold(document, |node, token| match node {
        Value::Array(_) => {
            let items = node.as_array_mut()?;
            let index = element_index(items, token).ok()?;
            items.get_mut(index)
        }
        _ => node.as_object_mut()?.get_mut(&token.name),
    })
}

/// The index of an existing element; negative indexes count from the end.
pub(in crate::patch) fn element_index(items: &[Value], token: &Token) -> Result<usize, IndexError> {
    index_below(items.len(), token)
}

/// The index to insert at; `-` and -1 append.
pub(in crate::patch) fn insertion_index(length: usize, token: &Token) -> Result<usize, IndexError> {
    if &*token.name == "-" {
        return Ok(length);
    }
    index_below(length + 1, token)
}

/// The index that a token refers to; negative indexes count from the end.
pub(super) fn index_below(end: usize, token: &Token) -> Result<usize, IndexError> {
    let written = token.index().ok_or_else(|| IndexError::NotANumber(token.name.to_string()))?;
    let index = if written < 0 { written.saturating_add(end as i64) } else { written };
    usize::try_from(index).ok().filter(|index| *index < end).ok_or(IndexError::Invalid(written))
}

/// Whether a token refers to the position after the last element.
pub(in crate::patch) fn is_append(items: &[Value], token: &Token) -> bool {
    &*token.name == "-" || token.index() == Some(items.len() as i64)
}

/// The error for an index.
pub(in crate::patch) fn index_error(kind: OperationKind, path: &Path, error: IndexError) -> PatchError {
    PatchError::Index { kind, path: path.text.to_string(), error }
}

/// The error for a value that does not exist.
pub(in crate::patch) fn missing(kind: OperationKind, part: MissingPart, path: &Path) -> PatchError {
    PatchError::Missing { kind, part, path: path.text.to_string() }
}

/// Keeps the nesting of the document within [`MAX_DEPTH`], on which later stages rely.
pub(in crate::patch) fn check_depth(path: &Path, value: &Value) -> Result<(), PatchError> {
    if path.tokens.len() + value.depth() > MAX_DEPTH {
        return Err(Limit::Depth.into());
    }
    Ok(())
}
