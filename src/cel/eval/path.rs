//! Selections: `object.metadata.labels[key]`, with their optional forms.

use std::sync::LazyLock;

use crate::value::Value;

use super::{Evaluated, Evaluator};
use crate::cel::error::EvalError;
use crate::cel::plan::{Path, QualifierKey, Root, Step};
use crate::cel::value::number::lossless_int;
use crate::cel::value::{List, Mapping, Numbers, Val};

/// A place inside the root of a path, without a copy.
#[derive(Clone, Copy)]
enum Node<'v> {
    Val(&'v Val),
    Json(&'v Value, Numbers),
}

impl Node<'_> {
    fn value(self) -> Val {
        match self {
            Node::Val(value) => value.clone(),
            Node::Json(value, numbers) => Val::from_json(value, numbers),
        }
    }
}

impl<'a> Evaluator<'a> {
    /// The value of a path. `counted`: whether the path itself costs something, besides its selections.
    pub(super) fn path(&mut self, path: &'a Path, counted: bool) -> Evaluated {
        let result = self.root(path).and_then(|root| self.selected(path, &root));
        let own = counted && !path.test && !matches!(path.root, Root::Step(Step::Conditional(_)));
        match result {
            Err(error) if error.is_final() => Err(error),
            result => {
                self.meter.spend(u64::from(own))?;
                result
            }
        }
    }

    fn root(&mut self, path: &'a Path) -> Evaluated {
        match &path.root {
            Root::Variable(number) => self
                .variables
                .variable(*number)
                .ok_or_else(|| EvalError::NoSuchAttribute(self.variables.name(*number))),
            Root::Definition(number) => {
                // Its name is a selection from `variables`.
                self.meter.spend(1)?;
                self.variables.definition(*number)
            }
            Root::Local(depth) => self.local(*depth),
            Root::Step(Step::Conditional(parts)) => self.conditional(parts),
            Root::Step(step) => self.eval(step),
        }
    }

    fn selected(&mut self, path: &'a Path, root: &Val) -> Evaluated {
        let mut optional = false;
        if matches!(path.root, Root::Definition(_)) && path.test && path.qualifiers.is_empty() {
            return Ok(Val::Bool(true));
        }
        let mut node = Node::Val(root);
        if !path.qualifiers.is_empty()
            && let Val::Optional(inner) = root
        {
            optional = true;
            match inner {
                Some(inner) => node = Node::Val(inner),
                None => return Ok(if path.test { Val::Bool(false) } else { Val::NONE }),
            }
        }
        let last = path.qualifiers.len().saturating_sub(1);
        for (index, qualifier) in path.qualifiers.iter().enumerate() {
            optional |= qualifier.optional;
            let is_test = path.test && index == last;
            let (found, missing) = match &qualifier.key {
                QualifierKey::Field(field) => (field_of(node, field), None),
                QualifierKey::Const(key) => (element(node, key), Some(key.clone())),
                QualifierKey::Step(step) => {
                    let key = self.branch(step)?;
                    if let Val::String(text) = &key {
                        self.meter.visit_text(text.len())?;
                    }
                    let found = element(node, &key);
                    (found, Some(key))
                }
            };
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    self.meter.spend(1)?;
                    return Err(error);
                }
            };
            if found.is_some() || !optional {
                self.meter.spend(1)?;
            }
            match found {
                _ if is_test => return Ok(Val::Bool(found.is_some())),
                Some(inner) => node = inner,
                None if optional && path.test => return Ok(Val::Bool(false)),
                None if optional => return Ok(Val::NONE),
                None => {
                    if let QualifierKey::Field(field) = &qualifier.key
                        && let Some(value) = unset(node, field, qualifier.of_message)
                    {
                        node = value;
                        continue;
                    }
                    let key = match (&qualifier.key, missing) {
                        (QualifierKey::Field(field), _) => field.to_string(),
                        (_, key) => key.map(|key| key.display()).unwrap_or_default(),
                    };
                    return Err(absent(node, key));
                }
            }
        }
        let value = node.value();
        Ok(if optional { Val::some(value) } else { value })
    }
}

fn absent(node: Node<'_>, key: String) -> EvalError {
    match node {
        Node::Val(Val::List(_)) | Node::Json(Value::Array(_), _) => EvalError::IndexOutOfBounds(key),
        _ => EvalError::NoSuchKey(key),
    }
}

/// What a field of a map or message is; `None` if there is none.
fn field_of<'v>(node: Node<'v>, field: &str) -> Result<Option<Node<'v>>, EvalError> {
    Ok(match node {
        Node::Json(Value::Object(members), numbers) => {
            members.get(field).map(|member| Node::Json(member, numbers))
        }
        Node::Val(Val::Map(Mapping::Json(members, numbers))) => {
            members.get(field).map(|member| Node::Json(member, *numbers))
        }
        Node::Val(Val::Map(Mapping::Made(entries))) => {
            entries.get(&crate::cel::value::Key::String(field.into())).map(Node::Val)
        }
        Node::Val(Val::Message(message)) => message.fields.get(field).map(Node::Val),
        Node::Json(Value::Array(_), _) | Node::Val(Val::List(_)) => {
            return Err(EvalError::failed("unsupported index type 'string' in list"));
        }
        _ => None,
    })
}

/// What a field of a message that is not set reads as; `None` if there is no such field, and if it is
/// not `known` that there is a message.
fn unset<'v>(node: Node<'v>, field: &str, known: bool) -> Option<Node<'v>> {
    static EMPTY: LazyLock<Val> = LazyLock::new(|| Val::string(""));
    let Node::Val(Val::Message(message)) = node else { return None };
    match (&*message.name, field) {
        ("JSONPatch", "op" | "path" | "from") => Some(Node::Val(&EMPTY)),
        ("JSONPatch", "value") => Some(Node::Val(&Val::Null)),
        ("JSONPatch", _) => None,
        _ => known.then_some(Node::Val(&Val::Null)),
    }
}

/// An element of a list, or what a key of a map has.
fn element<'v>(node: Node<'v>, key: &Val) -> Result<Option<Node<'v>>, EvalError> {
    if let Val::String(field) = key {
        return field_of(node, field);
    }
    Ok(match node {
        Node::Json(Value::Array(items), numbers) => {
            position(key)?.and_then(|at| items.get(at)).map(|item| Node::Json(item, numbers))
        }
        Node::Val(Val::List(List::Json(items, numbers))) => {
            position(key)?.and_then(|at| items.get(at)).map(|item| Node::Json(item, *numbers))
        }
        Node::Val(Val::List(List::Made(items) | List::Joined(items))) => {
            position(key)?.and_then(|at| items.get(at)).map(Node::Val)
        }
        Node::Val(Val::Map(Mapping::Made(entries))) => entries.get(&made_key(entries, key)?).map(Node::Val),
        Node::Json(Value::Object(_), _) | Node::Val(Val::Map(Mapping::Json(..))) => {
            made_key(&Default::default(), key)?;
            None
        }
        _ => None,
    })
}

/// The key under which a map has a value; numbers are found by their value.
fn made_key(entries: &crate::cel::value::Entries, key: &Val) -> Result<crate::cel::value::Key, EvalError> {
    use crate::cel::value::Key;
    use crate::cel::value::number::lossless_uint;
    match key {
        Val::Bool(value) => Ok(Key::Bool(*value)),
        Val::Int(_) | Val::Uint(_) | Val::Double(_) => {
            let int = lossless_int(key).map(Key::Int);
            let uint = lossless_uint(key).map(Key::Uint);
            let known = |key: &Option<Key>| key.as_ref().is_some_and(|key| entries.contains_key(key));
            let found = if known(&int) || uint.is_none() { int } else { uint };
            Ok(found.unwrap_or(Key::String("".into())))
        }
        _ => Err(EvalError::failed(format!("unsupported key type: {}", key.type_name()))),
    }
}

/// The position that an index means; `None` if it is negative.
fn position(key: &Val) -> Result<Option<usize>, EvalError> {
    match lossless_int(key) {
        Some(index) => Ok(usize::try_from(index).ok()),
        None => Err(EvalError::failed(format!("unsupported index type '{}' in list", key.type_name()))),
    }
}
