//! The names of constructed types: that of `Object.spec` is the path of the field that it is the value of.

use crate::cel::{EvalError, List, Mapping, MessageVal, Meter, Val};

/// A type name that is not the path of its field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the type `{found}` does not fit its place, expected `{expected}`")]
pub(super) struct TypeNameError {
    found: String,
    expected: String,
}

impl TypeNameError {
    /// The name.
    pub(super) fn found(&self) -> &str {
        &self.found
    }
}

/// A wrong name among those of all messages inside of a message. Its own name is free. Lists and maps on the way have no names.
///
/// # Errors
///
/// More values than the meter allows.
pub(super) fn mismatch(meter: &mut Meter, message: &MessageVal) -> Result<Option<TypeNameError>, EvalError> {
    let path = message.name.to_string();
    let mut open = vec![(Node::Message(message), path)];
    while let Some((node, path)) = open.pop() {
        meter.visit(node.len())?;
        match node {
            Node::Message(message) if *message.name != *path => {
                return Ok(Some(TypeNameError { found: message.name.to_string(), expected: path }));
            }
            Node::Message(message) => {
                let fields = message.fields.iter().rev();
                open.extend(
                    fields.filter_map(|(field, value)| Some((node_of(value)?, format!("{path}.{field}")))),
                );
            }
            Node::List(items) => {
                open.extend(items.iter().rev().filter_map(|item| Some((node_of(item)?, path.clone()))));
            }
            Node::Map(entries) => {
                open.extend(entries.values().rev().filter_map(|item| Some((node_of(item)?, path.clone()))));
            }
        }
    }
    Ok(None)
}

/// What may contain messages.
enum Node<'v> {
    Message(&'v MessageVal),
    List(&'v [Val]),
    Map(&'v crate::cel::Entries),
}

impl Node<'_> {
    /// The number of values in it.
    fn len(&self) -> u64 {
        let length = match self {
            Self::Message(message) => message.fields.len(),
            Self::List(items) => items.len(),
            Self::Map(entries) => entries.len(),
        };
        length as u64
    }
}

fn node_of(value: &Val) -> Option<Node<'_>> {
    Some(match value {
        Val::Message(message) => Node::Message(message),
        Val::List(List::Made(items)) => Node::List(items),
        Val::Map(Mapping::Made(entries)) => Node::Map(entries),
        Val::Optional(Some(inner)) => return node_of(inner),
        _ => return None,
    })
}
