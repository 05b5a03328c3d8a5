//! The byte ranges of the nodes of a document.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::value::{Pointer, Segment, Text, Value};

use super::event::{EventReceiver, Kind, ReadError, Scalar};
use super::keys::Keys;

/// The nodes of a document in the order of the text, keys and values in expected.
#[derive(Debug, Default)]
pub(super) struct NodeIndex {
    all: Vec<IndexedNode>,
    /// The elements of long lists, and the keys of long mappings by their text, to avoid linear search.
    long: BTreeMap<usize, Vec<usize>>,
}

/// The minimum number of elements or members of a long list or mapping.
const LONG: usize = 32;

#[derive(Debug)]
struct IndexedNode {
    node: Node,
    start: usize,
    end: usize,
    /// The index of the node after this one and its descendants.
    next: usize,
}

#[derive(Debug)]
enum Node {
    /// A scalar; its text if it is a key.
    Scalar(Option<Text>),
    /// A merge key.
    Merge,
    List,
    Mapping,
    /// An alias of the node with this index.
    Alias(usize),
}

/// A node that was found.
#[derive(Debug)]
pub(super) struct Found {
    /// The node itself.
    pub(super) value: Range<usize>,
    /// Its key, if it is a member.
    pub(super) key: Option<Range<usize>>,
}

impl NodeIndex {
    fn new(all: Vec<IndexedNode>) -> Self {
        let marks = Self { all, long: BTreeMap::new() };
        let long = (0..marks.all.len()).filter_map(|at| Some((at, marks.long_children(at)?))).collect();
        Self { long, ..marks }
    }

    /// The elements of a long list, or the keys of a long mapping by their text, after merge keys and aliases.
    fn long_children(&self, at: usize) -> Option<Vec<usize>> {
        match self.all[at].node {
            Node::List => {
                self.children(at).nth(LONG - 1)?;
                Some(self.children(at).collect())
            }
            Node::Mapping => {
                self.children(at).nth(2 * LONG - 1)?;
                let mut keys: Vec<usize> = self.children(at).step_by(2).collect();
                keys.sort_by_key(|key| self.key_text(*key));
                Some(keys)
            }
            _ => None,
        }
    }

    /// The elements of the list at a pointer, and the end of the list.
    pub(super) fn elements(&self, pointer: &Pointer) -> Option<(Vec<Range<usize>>, usize)> {
        self.all.first()?;
        let at = pointer.segments().iter().try_fold(0, |at, segment| Some(self.child(at, segment)?.1))?;
        let at = self.target(at);
        let list = self.all.get(at).filter(|mark| matches!(mark.node, Node::List))?;
        Some((self.children(at).map(|child| self.all[child].start..self.all[child].end).collect(), list.end))
    }

    /// The node at a pointer; `Err` is its nearest existing ancestor.
    pub(super) fn find(&self, pointer: &Pointer) -> Result<Found, Option<Found>> {
        let Some(root) = self.all.first() else {
            return Err(None);
        };
        let mut found = Found { value: root.start..root.end, key: None };
        let mut at = 0;
        for segment in pointer.segments() {
            let Some((key, value)) = self.child(at, segment) else {
                return Err(Some(found));
            };
            let range = |mark: &IndexedNode| mark.start..mark.end;
            found = Found { value: range(&self.all[value]), key: key.map(|key| range(&self.all[key])) };
            at = value;
        }
        Ok(found)
    }

    /// The node below one, with its key if it is a member.
    fn child(&self, at: usize, segment: &Segment) -> Option<(Option<usize>, usize)> {
        match segment {
            Segment::Index(index) => self.element(at, *index).map(|value| (None, value)),
            Segment::Key(key) => self.member(at, key).map(|(key, value)| (Some(key), value)),
        }
    }

    /// The target of an alias, or the node itself.
    fn target(&self, at: usize) -> usize {
        if let Node::Alias(target) = self.all[at].node { target } else { at }
    }

    fn element(&self, list: usize, index: usize) -> Option<usize> {
        let list = self.target(list);
        if !matches!(self.all[list].node, Node::List) {
            return None;
        }
        match self.long.get(&list) {
            Some(elements) => elements.get(index).copied(),
            None => self.children(list).nth(index),
        }
    }

    /// The last key with this name and its value, merge keys included.
    fn member(&self, mapping: usize, name: &str) -> Option<(usize, usize)> {
        // Each mapping is searched once, however often it is merged.
        let mut searched = BTreeSet::new();
        let mut waiting = vec![LayoutNode::Mapping(mapping)];
        while let Some(step) = waiting.pop() {
            match step {
                LayoutNode::Entry(key) => {
                    let value = self.all[key].next;
                    if matches!(&self.all[key].node, Node::Scalar(Some(text)) if &**text == name) {
                        return Some((key, value));
                    }
                    match self.all[key].node {
                        Node::Merge => waiting.push(LayoutNode::Mapping(value)),
                        Node::Alias(target) if self.key_text(target) == Some(name) => {
                            return Some((key, value));
                        }
                        _ => {}
                    }
                }
                LayoutNode::Mapping(at) => {
                    let at = self.target(at);
                    if !searched.insert(at) {
                        continue;
                    }
                    let children = self.children(at);
                    match self.all[at].node {
                        // The last one pushed is searched first.
                        Node::Mapping => {
                            let keys = match self.long.get(&at) {
                                Some(keys) => self.candidates(keys, name),
                                None => children.step_by(2).collect(),
                            };
                            waiting.extend(keys.into_iter().map(LayoutNode::Entry));
                        }
                        Node::List => {
                            let items: Vec<_> = children.map(LayoutNode::Mapping).collect();
                            waiting.extend(items.into_iter().rev());
                        }
                        _ => {}
                    }
                }
            }
        }
        None
    }

    /// Of the keys of a long mapping those that may have a name, in the order of the text.
    fn candidates(&self, keys: &[usize], name: &str) -> Vec<usize> {
        let others = &keys[..keys.partition_point(|key| self.key_text(*key).is_none())];
        let named = &keys[keys.partition_point(|key| self.key_text(*key) < Some(name))..];
        let named = named.iter().take_while(|key| self.key_text(**key) == Some(name));
        let mut candidates: Vec<usize> = others.iter().chain(named).copied().collect();
        candidates.sort_unstable();
        candidates
    }

    fn key_text(&self, at: usize) -> Option<&str> {
        if let Node::Scalar(Some(text)) = &self.all[at].node { Some(text) } else { None }
    }

    fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.all[at].next;
        let first = Some(at + 1).filter(|first| *first < end);
        std::iter::successors(first, move |child| Some(self.all[*child].next).filter(|next| *next < end))
    }
}

enum LayoutNode {
    Mapping(usize),
    Entry(usize),
}

/// Records the ranges of nodes.
#[derive(Debug)]
pub(super) struct IndexRecorder<'k> {
    keys: &'k mut Keys,
    marks: Vec<IndexedNode>,
    /// The open nodes, for a mapping with whether a key comes next.
    open: Vec<(usize, Option<bool>)>,
    /// The index of the node with an anchor, by number.
    anchors: Vec<usize>,
}

impl<'k> IndexRecorder<'k> {
    pub(super) const fn new(keys: &'k mut Keys) -> Self {
        Self { keys, marks: Vec::new(), open: Vec::new(), anchors: Vec::new() }
    }

    pub(super) fn finish(self) -> NodeIndex {
        NodeIndex::new(self.marks)
    }

    fn push(&mut self, node: Node, anchor: usize, at: Range<usize>) {
        if anchor > 0 {
            if self.anchors.len() <= anchor {
                self.anchors.resize(anchor + 1, usize::MAX);
            }
            self.anchors[anchor] = self.marks.len();
        }
        self.marks.push(IndexedNode { node, start: at.start, end: at.end, next: self.marks.len() + 1 });
    }

    /// Whether the next node is a key; then a value comes after it.
    fn next_is_key(&mut self) -> bool {
        match self.open.last_mut() {
            Some((_, Some(key))) => {
                *key = !*key;
                !*key
            }
            _ => false,
        }
    }
}

impl EventReceiver for IndexRecorder<'_> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        let key = self.next_is_key();
        let node = if key && scalar.is_merge() {
            Node::Merge
        } else if key || anchor > 0 {
            Node::Scalar(scalar.resolve().ok().and_then(|text| self.keys.of(&text).ok()))
        } else {
            Node::Scalar(None)
        };
        self.push(node, anchor, at);
        Ok(())
    }

    fn literal(&mut self, _: Value, at: Range<usize>) -> Result<(), ReadError> {
        self.next_is_key();
        self.push(Node::Scalar(None), 0, at);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        self.next_is_key();
        let target = self.anchors.get(anchor).copied().filter(|target| *target < self.marks.len());
        // Anchored aliases do not exist, so this target is no alias itself.
        self.push(target.map_or(Node::Scalar(None), Node::Alias), 0, at);
        Ok(())
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), ReadError> {
        self.next_is_key();
        let index = self.marks.len();
        let (node, next_is_key) = match kind {
            Kind::List => (Node::List, None),
            Kind::Mapping => (Node::Mapping, Some(true)),
        };
        self.push(node, anchor, offset..offset);
        self.open.push((index, next_is_key));
        Ok(())
    }

    fn close(&mut self, offset: usize) -> Result<(), ReadError> {
        if let Some((index, _)) = self.open.pop() {
            let next = self.marks.len();
            let mark = &mut self.marks[index];
            mark.end = offset;
            mark.next = next;
        }
        Ok(())
    }

    fn restart(&mut self) {
        self.marks.clear();
        self.open.clear();
        self.anchors.clear();
    }
}
