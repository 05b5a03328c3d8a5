//! Building values from events, without recursion.

use std::ops::Range;

use crate::value::{Entry, Map, Number, Text, Value};

use super::event::{EventReceiver, Kind, ReadError, Scalar};
use super::keys::Keys;
use super::scalar::Resolved;
use super::{ErrorKind, Limit, Limits};

/// The maximum number of listed errors of one document.
const MAX_ERRORS: usize = 100;

/// So many bytes of a text count as a node.
const BYTES_OF_NODE: usize = 128;

/// From so many nodes on, lists and mappings are stored without spare room.
const MANY_NODES: usize = 100_000;

/// The treatment of duplicate keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// They are errors.
    Rejected,
    /// The last one counts.
    LastWins,
}

/// Builds the value of one document.
#[derive(Debug)]
pub(super) struct Builder<'k> {
    keys: &'k mut Keys,
    limits: Limits,
    duplicates: Duplicates,
    frames: Vec<Frame>,
    /// By number; `None` until the node is complete.
    anchors: Vec<Option<Anchored>>,
    /// The offsets of the keys of all open mappings, the innermost last.
    key_offsets: Vec<usize>,
    /// The number of nodes, and of those from aliases.
    total: usize,
    aliased: usize,
    root: Option<Value>,
    /// An empty list and an empty object, which all share.
    empty: [Value; 2],
    /// The errors after which reading continues, with their offsets.
    pub(super) errors: Vec<(usize, Problem)>,
}

/// An error after which reading continues.
#[derive(Debug)]
pub(super) enum Problem {
    /// A duplicate key, and the offset of its first occurrence.
    Duplicate(Text, usize),
    /// Anything else.
    Other(ErrorKind),
}

/// The offset of merged keys.
const MERGED: usize = usize::MAX;

#[derive(Debug)]
struct Frame {
    content: Content,
    anchor: usize,
    nodes_before: usize,
    height: usize,
}

#[derive(Debug)]
enum Content {
    List(Vec<Value>),
    Mapping { members: Map, key: Key, first_offset: usize },
}

/// The key whose value comes next.
#[derive(Debug)]
enum Key {
    None,
    Name(Text, usize),
    Merge(usize),
}

#[derive(Clone, Debug)]
struct Anchored {
    value: Value,
    nodes: usize,
    height: usize,
}

/// A complete node.
struct Node {
    value: Value,
    /// Its nesting depth, 0 for a scalar.
    height: usize,
    /// Whether it is an alias.
    alias: bool,
}

impl<'k> Builder<'k> {
    pub(super) fn new(keys: &'k mut Keys, limits: &Limits, duplicates: Duplicates) -> Self {
        Self {
            keys,
            limits: *limits,
            duplicates,
            frames: Vec::new(),
            anchors: Vec::new(),
            key_offsets: Vec::new(),
            total: 0,
            aliased: 0,
            root: None,
            empty: [Value::array(Vec::new()), Value::empty_object()],
            errors: Vec::new(),
        }
    }

    /// The value; `None` if there are only blanks and comments.
    pub(super) fn finish(self) -> Option<Value> {
        self.root
    }

    /// The place for the key of the innermost mapping, if a key comes next.
    fn expects_key(&mut self) -> Option<&mut Key> {
        match self.frames.last_mut() {
            Some(Frame { content: Content::Mapping { key: key @ Key::None, .. }, .. }) => Some(key),
            _ => None,
        }
    }

    fn set_key(&mut self, new: Key) {
        if let Some(key) = self.expects_key() {
            *key = new;
        }
    }

    fn add(&mut self, node: Node) -> Result<(), ReadError> {
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node.value);
            return Ok(());
        };
        let merges = matches!(&frame.content, Content::Mapping { key: Key::Merge(_), .. });
        // Merged members move up, out of their mapping and the list around it.
        let lifted = usize::from(merges) + usize::from(merges && matches!(node.value, Value::Array(_)));
        frame.height = frame.height.max(node.height.saturating_sub(lifted));
        match &mut frame.content {
            Content::List(items) => items.push(node.value),
            Content::Mapping { members, key, first_offset } => {
                let offsets = Offsets { all: &mut self.key_offsets, first: *first_offset };
                match std::mem::replace(key, Key::None) {
                    Key::None => {}
                    Key::Merge(offset) => {
                        merge(members, offsets, &node).map_err(|error| ReadError { offset, error })?;
                    }
                    Key::Name(key, offset) => {
                        let known = insert(members, offsets, key.clone(), node.value, offset);
                        if let Some(known) = known
                            && self.duplicates == Duplicates::Rejected
                        {
                            self.note(offset, Problem::Duplicate(key, known))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, offset: usize, problem: Problem) -> Result<(), ReadError> {
        self.errors.push((offset, problem));
        if self.errors.len() < MAX_ERRORS {
            return Ok(());
        }
        Err(ReadError { offset, error: ErrorKind::Further })
    }

    fn remember(&mut self, anchor: usize, value: &Value, nodes: usize, height: usize) {
        if anchor > 0 {
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, None);
            }
            self.anchors[anchor] = Some(Anchored { value: value.clone(), nodes, height });
        }
    }

    fn check_depth(&self, offset: usize, height: usize) -> Result<(), ReadError> {
        let maximum = self.limits.bounded_depth();
        if self.frames.len() + height <= maximum {
            return Ok(());
        }
        Err(ReadError { offset, error: ErrorKind::Limit { limit: Limit::Depth, maximum } })
    }
}

/// The offsets of the keys of one mapping.
struct Offsets<'a> {
    all: &'a mut Vec<usize>,
    first: usize,
}

/// Sets a member; returns the offset of a duplicate key, unless it is merged.
fn insert(members: &mut Map, offsets: Offsets<'_>, key: Text, value: Value, offset: usize) -> Option<usize> {
    match members.entry(key) {
        Entry::Vacant(entry) => {
            offsets.all.push(offset);
            entry.insert(value);
            None
        }
        Entry::Occupied(mut entry) => {
            entry.insert(value);
            let known = offsets.all.get_mut(offsets.first + entry.index())?;
            let before = *known;
            if before == MERGED {
                *known = offset;
            }
            (before != MERGED && offset != MERGED).then_some(before)
        }
    }
}

/// Merges in the order of the document, as the YAML library of Kubernetes does: later members win.
fn merge(members: &mut Map, offsets: Offsets<'_>, node: &Node) -> Result<(), ErrorKind> {
    let maps: Vec<&Map> = match &node.value {
        Value::Object(map) => vec![map],
        // Earlier mappings of a list win.
        Value::Array(items) if !node.alias => {
            items.iter().rev().map(Value::as_object).collect::<Option<_>>().ok_or(ErrorKind::Merge)?
        }
        _ => return Err(ErrorKind::Merge),
    };
    let Offsets { all, first } = offsets;
    for (key, value) in maps.into_iter().flatten() {
        insert(members, Offsets { all, first }, key.clone(), value.clone(), MERGED);
    }
    Ok(())
}

impl EventReceiver for Builder<'_> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        // A long text is as many nodes: it may be repeated by aliases.
        let nodes = 1 + at.len() / BYTES_OF_NODE;
        self.total += nodes;
        let offset = at.start;
        let as_key = self.expects_key().is_some();
        if as_key && scalar.is_merge() {
            self.set_key(Key::Merge(offset));
            return Ok(());
        }
        // Only blanks and comments.
        if self.frames.is_empty() && scalar.plain && at.is_empty() && anchor == 0 {
            return Ok(());
        }
        let resolved = scalar.resolve().map_err(|error| ReadError { offset, error })?;
        if as_key {
            let key = self.keys.of(&resolved).map_err(|error| ReadError { offset, error })?;
            if anchor > 0 {
                self.remember(anchor, &value_of(resolved).0, nodes, 0);
            }
            self.set_key(Key::Name(key, offset));
            return Ok(());
        }
        let (value, finite) = value_of(resolved);
        if !finite {
            self.note(offset, Problem::Other(ErrorKind::NotFinite))?;
        }
        self.remember(anchor, &value, nodes, 0);
        self.add(Node { value, height: 0, alias: false })
    }

    fn literal(&mut self, value: Value, _at: Range<usize>) -> Result<(), ReadError> {
        self.total += 1;
        self.add(Node { value, height: 0, alias: false })
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        let offset = at.start;
        let Some(Some(known)) = self.anchors.get(anchor).cloned() else {
            return Err(ReadError { offset, error: ErrorKind::AliasOfItself });
        };
        self.check_depth(offset, known.height)?;
        self.total += 1 + known.nodes;
        self.aliased += known.nodes;
        if !self.limits.allows_aliases(self.aliased, self.total) {
            let maximum = self.limits.alias_nodes;
            return Err(ReadError { offset, error: ErrorKind::Limit { limit: Limit::AliasNodes, maximum } });
        }
        if self.expects_key().is_none() {
            return self.add(Node { value: known.value, height: known.height, alias: true });
        }
        let resolved = match known.value {
            Value::Null => Ok(Resolved::Null),
            Value::Bool(value) => Ok(Resolved::Bool(value)),
            Value::Number(number) => Ok(Resolved::Number(number)),
            Value::String(text) => Ok(Resolved::Text(text.to_string().into())),
            Value::Array(_) => Err(ErrorKind::Key("a list")),
            Value::Object(_) => Err(ErrorKind::Key("a mapping")),
        };
        let key = resolved.and_then(|key| self.keys.of(&key)).map_err(|error| ReadError { offset, error })?;
        self.set_key(Key::Name(key, offset));
        Ok(())
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), ReadError> {
        if self.expects_key().is_some() {
            let kind = if kind == Kind::List { "a list" } else { "a mapping" };
            return Err(ReadError { offset, error: ErrorKind::Key(kind) });
        }
        self.check_depth(offset, 1)?;
        self.total += 1;
        let content = match kind {
            Kind::List => Content::List(Vec::new()),
            Kind::Mapping => Content::Mapping {
                members: Map::default(),
                key: Key::None,
                first_offset: self.key_offsets.len(),
            },
        };
        self.frames.push(Frame { content, anchor, nodes_before: self.total - 1, height: 0 });
        Ok(())
    }

    fn close(&mut self, _offset: usize) -> Result<(), ReadError> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        let is_large = self.total > MANY_NODES;
        let value = match frame.content {
            Content::List(items) if items.is_empty() => self.empty[0].clone(),
            Content::List(mut items) => {
                if is_large {
                    items.shrink_to_fit();
                }
                Value::array(items)
            }
            Content::Mapping { members, .. } if members.is_empty() => self.empty[1].clone(),
            Content::Mapping { mut members, first_offset, .. } => {
                self.key_offsets.truncate(first_offset);
                if is_large {
                    members.shrink_to_fit();
                }
                Value::object(members)
            }
        };
        let height = frame.height + 1;
        self.remember(frame.anchor, &value, self.total - frame.nodes_before, height);
        self.add(Node { value, height, alias: false })
    }

    fn restart(&mut self) {
        self.frames.clear();
        self.anchors.clear();
        self.key_offsets.clear();
        self.errors.clear();
        (self.total, self.aliased, self.root) = (0, 0, None);
    }
}

/// The value that a scalar is in a document.
pub(super) fn written_value(resolved: Resolved<'_>) -> Value {
    value_of(resolved).0
}

/// The value, and whether JSON has a form for it.
fn value_of(resolved: Resolved<'_>) -> (Value, bool) {
    match resolved {
        Resolved::Null => (Value::Null, true),
        Resolved::Bool(value) => (Value::Bool(value), true),
        Resolved::Number(number) => (Value::Number(without_exponent(number)), true),
        Resolved::Text(text) => (Value::from(&*text), true),
        Resolved::NotFinite(name) => (Value::from(name), false),
    }
}

/// An integer written with an exponent, in plain digits: `1e3` is 1000 for Go, and text for some other readers
/// of YAML.
fn without_exponent(number: Number) -> Number {
    if number.is_written_as_integer() || !number.is_integer() || number.as_f64().abs() >= 1e21 {
        return number;
    }
    if !number.to_string().contains(['e', 'E']) {
        return number;
    }
    number.integer_text().and_then(|digits| Number::parse(&digits)).unwrap_or(number)
}
