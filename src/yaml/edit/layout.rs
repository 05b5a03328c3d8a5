//! Where the nodes of a document stand, noted while it is read, so that an edit need not read it again.

use std::ops::Range;

use crate::value::Value;
use crate::yaml::event::{Chomping, EventReceiver, Kind, NodeStyle, ReadError, Scalar, Style};

use super::whitespace::{line_start, skip};

/// An offset that does not exist.
pub(super) const NO_OFFSET: usize = usize::MAX;

/// The nodes of a document in the order of the text, keys and values in expected.
#[derive(Debug, Default)]
pub(in crate::yaml) struct Layout {
    pub(super) steps: Vec<LayoutNode>,
    /// Where the text starts that the offsets are counted from.
    pub(super) base: usize,
}

impl Layout {
    /// Where the root starts, if it is a list or a mapping.
    pub(in crate::yaml) fn root(&self) -> Option<usize> {
        let root = self
            .steps
            .first()
            .filter(|root| matches!(root.style, Style::BlockCollection | Style::FlowCollection))?;
        Some(self.base + root.start())
    }
}

/// A node, in few bytes: every document that is read has them. Offsets count from the start of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayoutNode {
    start: u32,
    end: u32,
    next: u32,
    pub(super) style: Style,
    marks: u8,
}

const LIST: u8 = 1;
const KEY: u8 = 1 << 1;
const MERGE: u8 = 1 << 2;
const ANCHORED: u8 = 1 << 3;
const TAGGED: u8 = 1 << 4;
const SHARED: u8 = 1 << 5;
const CLIPS: u8 = 1 << 6;
const KEEPS: u8 = 1 << 7;

impl LayoutNode {
    /// Where a scalar or a bracket starts, behind anchor and tag.
    pub(super) const fn start(self) -> usize {
        self.start as usize
    }

    /// Where the node ends, without the line break of its last line.
    pub(super) const fn end(self) -> usize {
        self.end as usize
    }

    /// The step behind this node and everything in it.
    pub(super) const fn next(self) -> usize {
        self.next as usize
    }

    pub(super) const fn is_list(self) -> bool {
        self.marks & LIST > 0
    }

    pub(super) const fn is_key(self) -> bool {
        self.marks & KEY > 0
    }

    /// Whether it is the key that merges.
    pub(super) const fn merges(self) -> bool {
        self.marks & MERGE > 0
    }

    pub(super) const fn is_anchored(self) -> bool {
        self.marks & ANCHORED > 0
    }

    pub(super) const fn is_tagged(self) -> bool {
        self.marks & TAGGED > 0
    }

    /// Whether an anchor or alias is in it.
    pub(super) const fn is_shared(self) -> bool {
        self.marks & SHARED > 0
    }

    /// What the line breaks at the end of a text count for.
    pub(super) const fn breaks(self) -> Chomping {
        match self.marks & (CLIPS | KEEPS) {
            0 => Chomping::Strip,
            CLIPS => Chomping::Clip,
            _ => Chomping::Keep,
        }
    }
}

/// What comes next in an open list or mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Element,
    Key,
    Value,
}

impl Expected {
    /// What comes first.
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

/// Passes events on, and notes where they stand.
#[derive(Debug)]
pub(in crate::yaml) struct LayoutRecorder<'t, 's, S> {
    receiver: &'s mut S,
    text: &'t str,
    base: usize,
    json: bool,
    steps: Vec<LayoutNode>,
    open: Vec<(usize, Expected)>,
    /// Where the last node ended or the innermost one started.
    cursor: usize,
    node_style: Option<NodeStyle>,
    /// Whether an offset is too large to be noted.
    broken: bool,
}

impl<'t, 's, S: EventReceiver> LayoutRecorder<'t, 's, S> {
    /// Notes what starts at an offset of a text.
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

    /// What was noted; empty where that is impossible.
    pub(in crate::yaml) fn finish(mut self) -> Layout {
        if self.broken || !self.open.is_empty() {
            self.steps.clear();
        }
        Layout { steps: self.steps, base: self.base }
    }

    fn offset(&mut self, at: usize) -> u32 {
        u32::try_from(at - self.base).unwrap_or_else(|_| {
            self.broken = true;
            0
        })
    }

    /// What the node is that comes now.
    fn expected(&mut self) -> Option<Expected> {
        let (_, expected) = self.open.last_mut()?;
        Some(std::mem::replace(expected, expected.next()))
    }

    fn push(&mut self, at: Range<usize>, style: Style, marks: u8) {
        let (start, end) = (self.offset(at.start), self.offset(at.end));
        let next = u32::try_from(self.steps.len() + 1).unwrap_or_else(|_| {
            self.broken = true;
            0
        });
        self.steps.push(LayoutNode { start, end, next, style, marks });
    }

    fn leaf(&mut self, at: Range<usize>, fallback: Style, marks: u8) {
        let node_style = self.node_style.take().unwrap_or(NodeStyle { style: fallback, tagged: false });
        let expected = self.expected();
        let mut marks = marks | if node_style.tagged { TAGGED } else { 0 };
        if expected == Some(Expected::Key) {
            marks |= KEY;
        } else {
            marks &= !MERGE;
        }
        let at = match node_style.style {
            Style::Missing => {
                let properties = usize::from(marks & ANCHORED > 0) + usize::from(marks & TAGGED > 0);
                let end = self.behind_sign(expected, properties);
                end..end
            }
            Style::BlockScalar => {
                let properties = usize::from(marks & ANCHORED > 0) + usize::from(marks & TAGGED > 0);
                let header = skip(self.text, self.behind_sign(expected, properties));
                let breaks = Chomping::of_header(self.text.get(header..).unwrap_or_default());
                marks |= match breaks {
                    Chomping::Strip => 0,
                    Chomping::Clip => CLIPS,
                    Chomping::Keep => KEEPS,
                };
                // Only then do empty lines below a text belong to it.
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
        self.push(at, node_style.style, marks);
        self.share(marks);
    }

    /// Tells the node that holds this one of an anchor or alias.
    fn share(&mut self, marks: u8) {
        if marks & SHARED > 0
            && let Some((parent, _)) = self.open.last()
        {
            self.steps[*parent].marks |= SHARED;
        }
    }

    /// Where the indicator that leads to the next node ends, and its anchor and tag: where it ends if it is not there.
    fn behind_sign(&self, expected: Option<Expected>, properties: usize) -> usize {
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
        let mut marks = if anchor > 0 { ANCHORED | SHARED } else { 0 };
        if scalar.text == "<<" && scalar.is_merge() {
            marks |= MERGE;
        }
        self.leaf(at.clone(), fallback, marks);
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
        let marks = if list { LIST } else { 0 }
            | if anchor > 0 { ANCHORED | SHARED } else { 0 }
            | if node_style.tagged { TAGGED } else { 0 };
        self.cursor = if node_style.style == Style::BlockCollection {
            self.behind_sign(expected, usize::from(anchor > 0) + usize::from(node_style.tagged))
        } else {
            // A pair in a list has no brackets of its own.
            offset + usize::from(is_bracket(self.text, offset, list))
        };
        self.push(offset..offset, node_style.style, marks);
        self.open.push((self.steps.len() - 1, Expected::first(list)));
        self.receiver.open(kind, anchor, offset)
    }

    fn close(&mut self, offset: usize) -> Result<(), ReadError> {
        if let Some((index, _)) = self.open.pop() {
            let step = self.steps[index];
            if step.style == Style::FlowCollection
                && is_bracket(self.text, self.base + step.start(), step.is_list())
            {
                self.cursor = offset;
            }
            let (end, next) = (self.offset(self.cursor), u32::try_from(self.steps.len()).unwrap_or(0));
            self.steps[index] = LayoutNode { end, next, ..step };
            self.share(step.marks);
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
    /// Where the entry starts; [`NO_OFFSET`] for a value without a colon.
    pub(super) lead: usize,
    pub(super) end: usize,
}

impl Indicator {
    /// The indicator behind an offset at which the node before ended.
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

/// Whether the bracket that opens a list or mapping stands at an offset.
pub(super) fn is_bracket(text: &str, at: usize, list: bool) -> bool {
    text.as_bytes().get(at) == Some(if list { &b'[' } else { &b'{' })
}

/// Where the document itself starts: behind its directives and the separator.
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

/// The end of a block scalar, without what stands below it: comments, and empty lines unless they count.
fn block_end(text: &str, end: usize, keeps: bool) -> usize {
    let end = end.min(text.len());
    if keeps {
        // What starts the line of a comment is no part of it.
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
