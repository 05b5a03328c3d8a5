//! The text of nodes, computed from the layout for those that an edit visits.

use crate::yaml::event::{Chomping, Style};

use super::Fallback;
use super::layout::{
    ANCHORED, Expected, Indicator, KEY, LIST, Layout, LayoutNode, MERGE, NO_OFFSET, SHARED, TAGGED,
    is_bracket, prologue, property_end,
};
use super::whitespace::{line_start, skip};

/// The nodes of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outline<'a> {
    text: &'a str,
    base: usize,
    json: bool,
    steps: &'a [LayoutNode],
}

/// The text of a node. Offsets are in bytes of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Its index in the layout.
    index: usize,
    pub(super) style: Style,
    /// Whether it is a list.
    pub(super) list: bool,
    /// Where its entry starts: the dash of an element, the first indicator of a key; of the value of a member
    /// the colon, [`NO_OFFSET`] if there is none.
    pub(super) lead: usize,
    /// Its start, anchor and tag included.
    pub(super) start: usize,
    /// Its start without them.
    pub(super) content: usize,
    /// Its end, without the line break of its last line.
    pub(super) end: usize,
    /// Whether it is a merge key.
    pub(super) merge: bool,
    pub(super) anchored: bool,
    pub(super) tagged: bool,
    /// Whether it contains an anchor or alias.
    pub(super) shared: bool,
    /// The column of the entries in block style; [`NO_OFFSET`] if there are tabs before them.
    pub(super) column: usize,
    /// Whether it has no children.
    pub(super) is_leaf: bool,
}

/// An element, or a member with its key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) key: Option<Node>,
    pub(super) node: Node,
}

impl AsRef<Self> for Child {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl Child {
    /// The key, or else the node.
    pub(super) fn first(&self) -> &Node {
        self.key.as_ref().unwrap_or(&self.node)
    }

    /// Its end.
    pub(super) fn end(&self) -> usize {
        self.node.end.max(self.first().end)
    }
}

impl<'a> Outline<'a> {
    pub(super) fn new(text: &'a str, layout: &'a Layout, json: bool) -> Self {
        Self { text, base: layout.base, json, steps: &layout.steps }
    }

    /// The nodes of the layout, and the base of their offsets.
    pub(super) const fn steps(&self) -> (&'a [LayoutNode], usize) {
        (self.steps, self.base)
    }

    /// The root.
    pub(super) fn root(&self) -> Result<Node, Fallback> {
        let start = if self.json { self.base } else { prologue(self.text, self.base) };
        self.node(0, Indicator { lead: NO_OFFSET, end: start })
    }

    /// Whether a mapping has a merge key.
    pub(super) fn merges(&self, holder: &Node) -> Result<bool, Fallback> {
        let end = self.step(holder.index)?.next();
        let mut index = holder.index + 1;
        while index < end {
            let step = self.step(index)?;
            if step.has(KEY) && step.has(MERGE) {
                return Ok(true);
            }
            index = step.next();
        }
        Ok(false)
    }

    /// The children with these indexes, in ascending order.
    pub(super) fn chosen(&self, holder: &Node, numbers: &[usize]) -> Result<Vec<Child>, Fallback> {
        let lines = holder.style == Style::BlockCollection;
        let mut cursor = holder.content + usize::from(is_bracketed(self.text, holder));
        let end = self.step(holder.index)?.next();
        let (mut index, mut number) = (holder.index + 1, 0);
        let mut children = Vec::with_capacity(numbers.len());
        for wanted in numbers {
            while number < *wanted && index < end {
                let step = self.step(index)?;
                // Keys are scalars, so the value comes next.
                let last = if holder.list { step } else { self.step(step.next())? };
                (cursor, index, number) = (self.base + last.end(), last.next(), number + 1);
            }
            if index >= end {
                return Err(Fallback::Layout);
            }
            let first =
                self.node(index, Indicator::of(self.text, cursor, Expected::first(holder.list), lines))?;
            if holder.list {
                children.push(Child { key: None, node: first });
                continue;
            }
            let indicator = Indicator::of(self.text, first.end, Expected::Value, lines);
            children.push(Child { key: Some(first), node: self.node(self.step(index)?.next(), indicator)? });
        }
        Ok(children)
    }

    /// All children.
    pub(super) fn children(&self, holder: &Node) -> Result<Vec<Child>, Fallback> {
        let mut children = Vec::with_capacity(self.count(holder)?);
        self.each_child(holder, |child| {
            children.push(child);
            Ok(())
        })?;
        Ok(children)
    }

    /// Visits all children, in order.
    pub(super) fn each_child(
        &self,
        holder: &Node,
        mut visit: impl FnMut(Child) -> Result<(), Fallback>,
    ) -> Result<(), Fallback> {
        let lines = holder.style == Style::BlockCollection;
        let mut cursor = holder.content + usize::from(is_bracketed(self.text, holder));
        let end = self.step(holder.index)?.next();
        let mut index = holder.index + 1;
        let mut next = |expected: Expected| {
            let indicator = Indicator::of(self.text, cursor, expected, lines);
            if lines && expected == Expected::Element && indicator.end == indicator.lead {
                return Err(Fallback::Layout);
            }
            let node = self.node(index, indicator)?;
            (cursor, index) = (node.end, self.step(index)?.next());
            Ok((node, index < end))
        };
        let mut more = holder.index + 1 < end;
        while more {
            let (first, further) = next(Expected::first(holder.list))?;
            let (node, key);
            if holder.list {
                (node, key, more) = (first, None, further);
            } else {
                let (value, further) = next(Expected::Value)?;
                (node, key, more) = (value, Some(first), further);
            }
            visit(Child { key, node })?;
        }
        Ok(())
    }

    /// The number of children.
    pub(super) fn count(&self, holder: &Node) -> Result<usize, Fallback> {
        let end = self.step(holder.index)?.next();
        let (mut index, mut nodes) = (holder.index + 1, 0);
        while index < end {
            let next = self.step(index)?.next();
            (index, nodes) = (next.max(index + 1), nodes + 1);
        }
        Ok(if holder.list { nodes } else { nodes / 2 })
    }

    /// What the line breaks at the end of a node count for, if a text of several lines ends it.
    pub(super) fn breaks(&self, node: &Node) -> Chomping {
        let last = self.step(node.index).and_then(|step| self.step(step.next().saturating_sub(1)));
        last.map_or(Chomping::Strip, LayoutNode::breaks)
    }

    fn step(&self, index: usize) -> Result<LayoutNode, Fallback> {
        self.steps.get(index).copied().ok_or(Fallback::Layout)
    }

    /// A node after its indicator; an error if the text does not match the layout.
    fn node(&self, index: usize, indicator: Indicator) -> Result<Node, Fallback> {
        let step = self.step(index)?;
        let text = self.text;
        let byte = |at: usize| text.as_bytes().get(at).copied();
        let properties = step.properties();
        let is_there = step.style != Style::Missing;
        let mut at = indicator.end;
        if is_there || properties > 0 {
            at = skip(text, at);
        }
        let start = at;
        for index in 0..properties {
            if !matches!(byte(at), Some(b'&' | b'!')) {
                return Err(Fallback::Layout);
            }
            at = property_end(text, at);
            if is_there || index + 1 < properties {
                at = skip(text, at);
            }
        }
        let (content, end) = (at, self.base + step.end());
        let right = match step.style {
            Style::Missing => content == end,
            Style::BlockScalar => matches!(byte(content), Some(b'|' | b'>')),
            Style::BlockCollection => true,
            Style::Plain
            | Style::SingleQuoted
            | Style::DoubleQuoted
            | Style::FlowCollection
            | Style::Alias => self.base + step.start() == content,
        };
        if !right || end < content {
            return Err(Fallback::Layout);
        }
        let column = if step.style == Style::BlockCollection { column(text, content) } else { NO_OFFSET };
        Ok(Node {
            index,
            style: step.style,
            list: step.has(LIST),
            lead: indicator.lead,
            start,
            content,
            end,
            merge: step.has(KEY) && step.has(MERGE),
            anchored: step.has(ANCHORED),
            tagged: step.has(TAGGED),
            shared: step.has(SHARED),
            column,
            is_leaf: step.next() == index + 1,
        })
    }
}

/// Whether a list or mapping has brackets of its own.
pub(super) fn is_bracketed(text: &str, node: &Node) -> bool {
    node.style == Style::FlowCollection && is_bracket(text, node.content, node.list)
}

/// The column of an offset, if there are only blanks and indicators before it on its line.
pub(super) fn column(text: &str, at: usize) -> usize {
    let start = line_start(text, at);
    let lead = &text[start..at.min(text.len())];
    let lead = lead.trim_start_matches('\u{feff}');
    if lead.bytes().all(|byte| b" -?:".contains(&byte)) && !lead.starts_with("---") {
        lead.len()
    } else {
        NO_OFFSET
    }
}
