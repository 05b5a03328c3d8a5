//! Elements in flow style in a list in block style.

use crate::value::Value;
use crate::yaml::event::Style;

use super::Fallback;
use super::editor::Editor;
use super::formatting::Formatting;
use super::outline::{Child, is_bracketed};
use super::whitespace::line_start;
use super::writer::{self, FlowLayout, is_nested};

/// The maximum column of a new element, unless a neighbour is longer.
const WIDTH: usize = 80;

/// The formatting of new elements if most others are in flow style.
pub(super) struct FlowElements {
    brackets: FlowLayout,
    formatting: Formatting,
    /// Whether there are blanks inside the brackets.
    padded: bool,
    width: usize,
}

impl Editor<'_> {
    /// The formatting of new elements among these, if in flow style.
    pub(super) fn flow(&self, elements: &[impl AsRef<Child>]) -> Option<FlowElements> {
        let mut flow = None;
        let (mut nested, mut short, mut width) = (0, 0, WIDTH);
        for node in elements.iter().map(|element| &element.as_ref().node).filter(|node| !node.is_leaf) {
            nested += usize::from(matches!(node.style, Style::BlockCollection | Style::FlowCollection));
            let written = self.text.get(node.content..node.end).unwrap_or_default();
            if is_bracketed(self.text, node) && !written.contains('\n') {
                short += 1;
                width = width.max(node.end - line_start(self.text, node.content));
                flow = Some((node, written));
            }
        }
        let (node, written) = flow.filter(|_| short * 2 > nested)?;
        let formatting = self.neighbours(node, &self.outline.children(node).ok()?);
        let padded = written.as_bytes().get(1) == Some(&b' ');
        Some(FlowElements { brackets: self.one_line(), formatting, padded, width })
    }
}

impl FlowElements {
    /// An element in flow style; `None` if it does not fit on a line.
    pub(super) fn element(&self, value: &Value, column: usize) -> Result<Option<String>, Fallback> {
        if !is_nested(value) || has_lines(value) {
            return Ok(None);
        }
        let mut out = String::new();
        writer::bracketed(value, &self.brackets, &self.formatting, &mut out)?;
        if self.padded {
            out.insert(1, ' ');
            out.insert(out.len() - 1, ' ');
        }
        Ok(Some(out).filter(|out| column + out.len() <= self.width))
    }
}

/// Whether a value contains a string of several lines.
fn has_lines(value: &Value) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if text.contains('\n') => return true,
            Value::Array(items) => open.extend(items.iter()),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    false
}
