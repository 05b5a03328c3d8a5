//! The layout of a document: ranges and styles of its nodes, recorded while it is read, for later edits.

use std::iter::successors;
use std::ops::Range;

use crate::value::Value;
use crate::yaml::event::{Chomping, EventReceiver, Kind, NodeStyle, ReadError, Scalar, Style};

use super::whitespace::{line_start, skip};

/// Room for more nodes than these is given back at the end of a document.
const SPARE_NODES: usize = 64 << 10;

/// No offset.
pub(super) const NO_OFFSET: usize = usize::MAX;

/// The nodes of a document in the order of the text, keys and values alternating.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Layout {
    pub(super) steps: Vec<LayoutNode>,
    /// The base of the offsets.
    pub(super) base: usize,
}

impl Layout {
    /// The start of the root, if it is a list or mapping.
    pub(in crate::yaml) fn root(&self) -> Option<usize> {
        let root = self
            .steps
            .first()
            .filter(|root| matches!(root.style, Style::BlockCollection | Style::FlowCollection))?;
        Some(self.base + root.start())
    }

    /// The ranges of the elements of the list that is this member of the root in the text, and the start of the key after
    /// it; `None` if it is no list there: an alias, merged.
    pub(in crate::yaml) fn elements(
        &self,
        text: &str,
        name: &str,
    ) -> Option<(Vec<Range<usize>>, Option<usize>)> {
        let range = |node: &LayoutNode| self.base + node.start()..self.base + node.end();
        let root = self.steps.first().filter(|root| !root.has(LIST))?;
        let mut index = 1;
        while index < root.next() {
            let key = self.steps.get(index)?;
            let value = self.steps.get(key.next())?;
            index = value.next();
            if key.has(MERGE) {
                return None;
            }
            let is_named = text.get(range(key)).is_some_and(|key| key.trim_matches(['"', '\'']) == name);
            if is_named && value.has(LIST) {
                let first = Some(key.next() + 1);
                let next = |element: &usize| self.steps.get(*element).map(|step| step.next());
                let elements = successors(first, next).take_while(|element| *element < value.next());
                let elements = elements.filter_map(|element| self.steps.get(element).map(range)).collect();
                return Some((
                    elements,
                    self.steps.get(index).filter(|_| index < root.next()).map(|key| range(key).start),
                ));
            }
        }
        None
    }
}

/// A node. Small, because all documents have them. Offsets are relative to the start of the document.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayoutNode {
    start: u32,
    end: u32,
    next: u32,
    pub(super) style: Style,
    flags: u8,
}

pub(super) const LIST: u8 = 1;
pub(super) const KEY: u8 = 1 << 1;
/// A merge key.
pub(super) const MERGE: u8 = 1 << 2;
pub(super) const ANCHORED: u8 = 1 << 3;
pub(super) const TAGGED: u8 = 1 << 4;
/// Contains an anchor or alias.
pub(super) const SHARED: u8 = 1 << 5;
const CLIPS: u8 = 1 << 6;
const KEEPS: u8 = 1 << 7;

/// The number of properties of a node with these flags: anchor and tag.
fn properties(flags: u8) -> usize {
    usize::from(flags & ANCHORED > 0) + usize::from(flags & TAGGED > 0)
}

impl LayoutNode {
    /// The start, after anchor and tag.
    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    /// The end, without the line break of the last line.
    pub(super) const fn end(self) -> usize {
        self.end as usize
    }

    /// The index of the node after this one and its descendants.
    pub(super) const fn next(self) -> usize {
        self.next as usize
    }

    /// Whether a flag is set.
    pub(super) const fn has(self, flag: u8) -> bool {
        self.flags & flag > 0
    }

    /// The number of its properties: anchor and tag.
    pub(super) fn properties(self) -> usize {
        properties(self.flags)
    }

    /// The chomping, if it is a block scalar.
    pub(super) const fn breaks(self) -> Chomping {
        match self.flags & (CLIPS | KEEPS) {
            0 => Chomping::Strip,
            CLIPS => Chomping::Clip,
            _ => Chomping::Keep,
        }
    }
}

/// The next node of an open list or mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Element,
    Key,
    Value,
}

impl Expected {
    /// The first node.
    pub(super) const fn first(list: bool) -> Self {
        if list { Self::Element } else { Self::Key }
    }

    pub(super) const fn next(self) -> Self {
        match self {
            Self::Element => Self::Element,
            Self::Key => Self::Value,
            Self::Value => Self::Key,
        }
    }
}

/// Records the layout, and forwards the events.
#[derive(Debug)]
pub(in crate::yaml) struct LayoutRecorder<'t, 's, S> {
    receiver: &'s mut S,
    text: &'t str,
    base: usize,
    json: bool,
    steps: Vec<LayoutNode>,
    open: Vec<(usize, Expected)>,
    /// The end of the last node, or the start of the innermost one.
    cursor: usize,
    node_style: Option<NodeStyle>,
    /// Whether an offset is too large.
    broken: bool,
}

impl<'t, 's, S: EventReceiver> LayoutRecorder<'t, 's, S> {
    /// Records a document that starts at an offset.
    pub(in crate::yaml) fn new(receiver: &'s mut S, text: &'t str, base: usize, json: bool) -> Self {
        Self {
            receiver,
            text,
            base,
            json,
            steps: Vec::new(),
            open: Vec::new(),
            cursor: base,
            node_style: None,
            broken: false,
        }
    }

    /// The layout; empty if there is none.
    pub(in crate::yaml) fn finish(mut self) -> Layout {
        if self.broken || !self.open.is_empty() {
            self.steps.clear();
        }
        if self.steps.capacity() - self.steps.len() > SPARE_NODES {
            self.steps.shrink_to_fit();
        }
        Layout { steps: self.steps, base: self.base }
    }

    /// A number in 32 bits; too large ones discard the layout.
    fn narrow(&mut self, number: usize) -> u32 {
        u32::try_from(number).unwrap_or_else(|_| {
            self.broken = true;
            0
        })
    }

    /// The role of the next node.
    fn expected(&mut self) -> Option<Expected> {
        let (_, expected) = self.open.last_mut()?;
        Some(std::mem::replace(expected, expected.next()))
    }

    fn push(&mut self, at: Range<usize>, style: Style, flags: u8) {
        let (start, end) = (self.narrow(at.start - self.base), self.narrow(at.end - self.base));
        let next = self.narrow(self.steps.len() + 1);
        self.steps.push(LayoutNode { start, end, next, style, flags });
    }

    fn leaf(&mut self, at: Range<usize>, fallback: Style, flags: u8) {
        let node_style = self.node_style.take().unwrap_or(NodeStyle { style: fallback, tagged: false });
        let expected = self.expected();
        let mut flags = flags | if node_style.tagged { TAGGED } else { 0 };
        if expected == Some(Expected::Key) {
            flags |= KEY;
        } else {
            flags &= !MERGE;
        }
        let at = match node_style.style {
            Style::Missing => {
                let end = self.after_indicator(expected, properties(flags));
                end..end
            }
            Style::BlockScalar => {
                let header = skip(self.text, self.after_indicator(expected, properties(flags)));
                let breaks = Chomping::of_header(self.text.get(header..).unwrap_or_default());
                flags |= match breaks {
                    Chomping::Strip => 0,
                    Chomping::Clip => CLIPS,
                    Chomping::Keep => KEEPS,
                };
                // Only with `+` do empty lines below belong to it.
                at.start..block_end(self.text, at.end, breaks == Chomping::Keep)
            }
            Style::Plain
            | Style::SingleQuoted
            | Style::DoubleQuoted
            | Style::BlockCollection
            | Style::FlowCollection
            | Style::Alias => at,
        };
        self.cursor = at.end;
        self.push(at, node_style.style, flags);
        self.share(flags);
    }

    /// Propagates the flag [`SHARED`] to the parent.
    fn share(&mut self, flags: u8) {
        if flags & SHARED > 0
            && let Some((parent, _)) = self.open.last()
        {
            self.steps[*parent].flags |= SHARED;
        }
    }

    /// The end of the indicator, anchor and tag of the next node.
    fn after_indicator(&self, expected: Option<Expected>, properties: usize) -> usize {
        let holder = self.open.last().map(|(holder, _)| self.steps[*holder].style == Style::BlockCollection);
        let mut at = match (expected, holder) {
            (Some(expected), Some(lines)) => Indicator::of(self.text, self.cursor, expected, lines).end,
            _ => prologue(self.text, self.base),
        };
        for _ in 0..properties {
            at = property_end(self.text, skip(self.text, at));
        }
        at
    }
}

impl<S: EventReceiver> EventReceiver for LayoutRecorder<'_, '_, S> {
    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        let fallback = if self.json { Style::DoubleQuoted } else { Style::Plain };
        let mut flags = if anchor > 0 { ANCHORED | SHARED } else { 0 };
        if scalar.text == "<<" && scalar.is_merge() {
            flags |= MERGE;
        }
        self.leaf(at.clone(), fallback, flags);
        self.receiver.scalar(scalar, anchor, at)
    }

    fn literal(&mut self, value: Value, at: Range<usize>) -> Result<(), ReadError> {
        self.leaf(at.clone(), Style::Plain, 0);
        self.receiver.literal(value, at)
    }

    fn alias(&mut self, anchor: usize, at: Range<usize>) -> Result<(), ReadError> {
        self.node_style = Some(NodeStyle { style: Style::Alias, tagged: false });
        self.leaf(at.clone(), Style::Alias, SHARED);
        self.receiver.alias(anchor, at)
    }

    fn open(&mut self, kind: Kind, anchor: usize, offset: usize) -> Result<(), ReadError> {
        let node_style =
            self.node_style.take().unwrap_or(NodeStyle { style: Style::FlowCollection, tagged: false });
        let expected = self.expected();
        let list = kind == Kind::List;
        let flags = if list { LIST } else { 0 }
            | if anchor > 0 { ANCHORED | SHARED } else { 0 }
            | if node_style.tagged { TAGGED } else { 0 };
        self.cursor = if node_style.style == Style::BlockCollection {
            self.after_indicator(expected, properties(flags))
        } else {
            // A single pair in a list has no brackets.
            offset + usize::from(is_bracket(self.text, offset, list))
        };
        self.push(offset..offset, node_style.style, flags);
        self.open.push((self.steps.len() - 1, Expected::first(list)));
        self.receiver.open(kind, anchor, offset)
    }

    fn close(&mut self, offset: usize) -> Result<(), ReadError> {
        if let Some((index, _)) = self.open.pop() {
            let step = self.steps[index];
            if step.style == Style::FlowCollection
                && is_bracket(self.text, self.base + step.start(), step.has(LIST))
            {
                self.cursor = offset;
            }
            let (end, next) =
                (self.narrow(self.cursor - self.base), u32::try_from(self.steps.len()).unwrap_or(0));
            self.steps[index] = LayoutNode { end, next, ..step };
            self.share(step.flags);
        }
        self.receiver.close(offset)
    }

    fn restart(&mut self) {
        self.steps.clear();
        self.open.clear();
        self.node_style = None;
        self.cursor = self.base;
        self.receiver.restart();
    }

    fn node_style(&mut self, node_style: NodeStyle) {
        self.node_style = Some(node_style);
        self.receiver.node_style(node_style);
    }
}

/// The indicator that leads to a node: a dash, a question mark, a colon, or nothing but the comma before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indicator {
    /// The start of the entry; [`NO_OFFSET`] for a value without a colon.
    pub(super) lead: usize,
    pub(super) end: usize,
}

impl Indicator {
    /// The indicator after the end of the previous node.
    pub(super) fn of(text: &str, from: usize, expected: Expected, lines: bool) -> Self {
        let byte = |at: usize| text.as_bytes().get(at).copied();
        let at = skip(text, from);
        if expected == Expected::Value {
            return match byte(at) {
                Some(b':') => Self { lead: at, end: at + 1 },
                _ => Self { lead: NO_OFFSET, end: from },
            };
        }
        let lead = if !lines && byte(at) == Some(b',') { skip(text, at + 1) } else { at };
        let blank = |at: usize| byte(at).is_none_or(|byte| b" \t\r\n".contains(&byte));
        let signed = match expected {
            Expected::Element => lines && byte(lead) == Some(b'-'),
            _ => byte(lead) == Some(b'?') && blank(lead + 1),
        };
        Self { lead, end: lead + usize::from(signed) }
    }
}

/// Whether the opening bracket of a list or mapping is at an offset.
pub(super) fn is_bracket(text: &str, at: usize, list: bool) -> bool {
    text.as_bytes().get(at) == Some(if list { &b'[' } else { &b'{' })
}

/// The start of the root: after directives and separator.
pub(super) fn prologue(text: &str, start: usize) -> usize {
    let mut at = skip(text, start);
    while text[at..].starts_with('%') {
        let end = text[at..].find(['\n', '\r']).map_or(text.len(), |length| at + length);
        at = skip(text, end);
    }
    if text[at..].starts_with("---") && text[at + 3..].starts_with([' ', '\t', '\r', '\n']) {
        return skip(text, at + 3);
    }
    at
}

/// The end of an anchor or a tag.
pub(super) fn property_end(text: &str, at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    let end = if rest.starts_with("!<") {
        rest.find('>').map(|end| end + 1)
    } else {
        rest.find([' ', '\t', '\r', '\n', ',', '[', ']', '{', '}'])
    };
    end.map_or(text.len(), |end| at + end)
}

/// The end of a block scalar, without comments below, and without empty lines unless they belong to it.
fn block_end(text: &str, end: usize, keeps: bool) -> usize {
    let end = end.min(text.len());
    if keeps {
        // The indentation of a comment does not belong to it.
        let last = line_start(text, end);
        let end = if text[last..end].trim_matches([' ', '\t']).is_empty() { last } else { end };
        return without_break(text, end);
    }
    // The line above those that are empty; of a text without lines that is its header.
    let last = text[..end].trim_end_matches([' ', '\t', '\r', '\n']).len();
    let length = text[last..].find('\n').unwrap_or(text.len() - last);
    let line = last + length;
    if text[..line].ends_with('\r') { line - 1 } else { line }
}

/// The offset without one line break before it.
fn without_break(text: &str, end: usize) -> usize {
    let part = &text[..end];
    part.strip_suffix("\r\n").or_else(|| part.strip_suffix('\n')).unwrap_or(part).len()
}
