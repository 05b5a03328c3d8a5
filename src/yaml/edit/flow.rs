//! Lists and mappings in flow style.

use std::ops::Range;

use crate::value::Value;
use crate::yaml::event::Style;

use super::Fallback;
use super::editor::{Editor, PlannedEntry};
use super::formatting::Formatting;
use super::layout::NO_OFFSET;
use super::outline::{Child, Node, is_bracketed};
use super::whitespace::{comment, is_blank, line_end, line_start, skip};
use super::writer::{self, FlowLayout, is_nested};

/// An entry of a list or mapping in flow style.
struct Item {
    child: Child,
    /// The text before it, from the separator or line break.
    head: Range<usize>,
    end: usize,
    /// The text between it and its comma.
    before_comma: Range<usize>,
    /// The text after the comma on the same line.
    behind: Range<usize>,
}

/// The parts of a list or mapping in flow style.
struct Items {
    all: Vec<Item>,
    /// Whether there is a comma after the last one.
    last_comma: bool,
    /// The text before the closing bracket.
    closing: Range<usize>,
    layout: FlowLayout,
    /// The text before a new entry that is not the first.
    lead: String,
    /// The indentation of the lines inside, if there are any.
    indent: Option<String>,
    /// The formatting of new entries.
    formatting: Formatting,
}

/// The state while writing.
struct Open {
    /// Whether the line ends with a comment.
    comment: bool,
    /// The end of the old text that is written.
    end: usize,
}

impl<'a> Editor<'a> {
    /// Writes a list or mapping with its brackets; returns the end of the old text that is written, which includes
    /// the comment after it if that belongs to the last entry.
    pub(super) fn brackets(&mut self, node: &Node, before: &Value, after: &Value) -> Result<usize, Fallback> {
        let items = self.items(node)?;
        let planned = self.plan_of(node, &items, before, after)?;
        let mut open = Open { comment: false, end: node.end };
        self.copy(node.content..node.content + 1);
        for (slot, piece) in planned.iter().enumerate() {
            self.head(&items, piece, slot, open.comment)?;
            self.path.push(piece.key.cloned());
            match (piece.origin, piece.before) {
                (Some((index, _)), Some(before)) => {
                    self.item(&items.all[index], before, piece.after, &items)?;
                }
                _ => self.other(piece, &items)?,
            }
            self.path.pop();
            self.behind(node, &items, &planned, slot, &mut open);
        }
        if open.comment && !self.text[items.closing.clone()].contains('\n') {
            self.end_comment(&items)?;
        }
        self.copy(items.closing);
        self.copy(node.end - 1..node.end);
        Ok(open.end)
    }

    fn plan_of<'v>(
        &self,
        node: &Node,
        items: &Items,
        before: &'v Value,
        after: &'v Value,
    ) -> Result<Vec<PlannedEntry<'v>>, Fallback> {
        let children: Vec<_> = items.all.iter().map(|item| item.child).collect();
        self.planned(node, &children, before, after)
    }

    /// Writes the text before an entry.
    fn head(
        &mut self,
        items: &Items,
        piece: &PlannedEntry<'_>,
        slot: usize,
        open_comment: bool,
    ) -> Result<(), Fallback> {
        let text = self.text;
        let has_comment = |range: &Range<usize>| text[range.clone()].contains('#');
        let first_head = items.all.first().map_or(0..0, |item| item.head.clone());
        let own = piece.origin.map(|(index, _)| items.all[index].head.clone());
        let is_first = piece.origin.is_some_and(|(index, _)| index == 0);
        let head = match own {
            Some(own) if has_comment(&own) || (slot == 0) == is_first => &text[own],
            _ if slot == 0 && !has_comment(&first_head) => &text[first_head],
            Some(own) if slot > 0 && !is_first => &text[own],
            _ => items.lead.as_str(),
        };
        if open_comment && !head.contains('\n') {
            self.end_comment(items)?;
            self.out.push_str(head.trim_start_matches([' ', '\t']));
        } else {
            self.out.push_str(head);
        }
        Ok(())
    }

    /// Writes a new or an unchanged entry.
    fn other(&mut self, piece: &PlannedEntry<'_>, items: &Items) -> Result<(), Fallback> {
        if let Some((index, _)) = piece.origin {
            let item = &items.all[index];
            self.copy(item.head.end..item.end);
            return Ok(());
        }
        self.check_depth(piece.after)?;
        if let Some(key) = piece.key {
            writer::write_key(key, items.layout.context, &items.formatting, &mut self.out)?;
            self.out.push(':');
            self.out.push_str(self.blank);
        }
        let formatting = self.formatting_of(piece.after, items);
        writer::bracketed(piece.after, &items.layout, &formatting, &mut self.out)
    }

    /// The formatting of a new value; nested values do not copy the quotes of scalars.
    fn formatting_of(&self, after: &Value, items: &Items) -> Formatting {
        let always = if is_nested(after) { self.formatting.always } else { items.formatting.always };
        Formatting { always, ..items.formatting }
    }

    /// Writes the text after an entry.
    fn behind(
        &mut self,
        node: &Node,
        items: &Items,
        planned: &[PlannedEntry<'_>],
        slot: usize,
        open: &mut Open,
    ) {
        let origin = planned[slot].origin;
        let item = origin.map(|(index, _)| &items.all[index]);
        if let Some(item) = item {
            self.copy(item.before_comma.clone());
        }
        if slot + 1 < planned.len() || items.last_comma {
            self.out.push(',');
        }
        open.comment = false;
        if let Some(item) = item {
            open.comment = self.text[item.behind.clone()].contains('#');
            // Trailing blanks are not moved to other places.
            if open.comment || slot + 1 < planned.len() || items.closing.is_empty() {
                self.copy(item.behind.clone());
            }
            let is_last = origin == Some((items.all.len() - 1, true));
            if is_last && planned.get(slot + 1).is_some_and(|next| next.origin.is_none()) {
                let comment = self.last_comment(node, items);
                self.out.push_str(comment);
                open.end = node.end + comment.len();
                open.comment |= !comment.is_empty();
            }
        }
    }

    /// Starts a line after a comment.
    fn end_comment(&mut self, items: &Items) -> Result<(), Fallback> {
        let indent = items.indent.as_deref().ok_or(Fallback::Comment)?;
        self.out.push_str(self.formatting.newline);
        self.out.push_str(indent);
        Ok(())
    }

    /// The comment after the closing bracket if it belongs to the last entry: that is on the same line, and others
    /// have comments of their own.
    fn last_comment(&self, node: &Node, items: &Items) -> &'a str {
        let text = self.text;
        let is_commented = |item: &Item| text[item.behind.clone()].contains('#');
        let starts_line = items.all.last().is_some_and(|last| text[last.head.clone()].contains('\n'));
        let follows = starts_line && is_blank(&text[items.closing.clone()]) && !items.last_comma;
        // A comment after nested brackets belongs to these.
        if self.json
            || self.depth > 0
            || !follows
            || text[items.closing.clone()].contains('\n')
            || !items.all.iter().any(is_commented)
        {
            return "";
        }
        let is_comment = text[node.end..self.limit].trim_start_matches([' ', '\t']).starts_with('#');
        if is_comment { comment(&text[node.end..line_end(text, node.end, self.limit)]) } else { "" }
    }

    /// Writes an entry with another value.
    fn item(&mut self, item: &Item, before: &Value, after: &Value, items: &Items) -> Result<(), Fallback> {
        let node = &item.child.node;
        let lead = item.head.end;
        self.record_key_anchor(&item.child);
        if !node.shared && before == after {
            self.copy(lead..item.end);
        } else if is_bracketed(self.text, node) && Self::is_editable(node, before, after) {
            self.copy(lead..node.content);
            self.depth += 1;
            self.brackets(node, before, after)?;
            self.depth -= 1;
            self.record_anchor(node, after);
        } else if if node.style == Style::Alias { self.is_alias_of(node, after) } else { before == after } {
            self.copy(lead..item.end);
            self.record_anchor(node, after);
        } else {
            self.replace_item(item, after, items)?;
        }
        Ok(())
    }

    /// Writes an entry whose whole value is replaced.
    fn replace_item(&mut self, item: &Item, after: &Value, items: &Items) -> Result<(), Fallback> {
        let node = &item.child.node;
        self.expanded += usize::from(node.style == Style::Alias);
        self.check_depth(after)?;
        if item.child.key.is_some() {
            if node.lead == NO_OFFSET {
                return Err(Fallback::Layout);
            }
            self.copy(item.head.end..node.lead + 1);
            let gap = &self.text[node.lead + 1..node.start.max(node.lead + 1)];
            self.out.push_str(if node.style == Style::Missing { self.blank } else { gap });
        }
        if is_nested(after) {
            let formatting = self.formatting_of(after, items);
            return writer::bracketed(after, &items.layout, &formatting, &mut self.out);
        }
        writer::scalar(after, node.style, items.layout.context, &items.formatting, &mut self.out);
        Ok(())
    }

    fn items(&self, holder: &Node) -> Result<Items, Fallback> {
        let text = self.text;
        let close =
            holder.end.checked_sub(1).filter(|close| *close > holder.content).ok_or(Fallback::Layout)?;
        let children = self.outline.children(holder)?;
        let mut all: Vec<Item> = Vec::new();
        let mut head = holder.content + 1;
        let mut last_comma = false;
        for (index, child) in children.iter().enumerate() {
            let (lead, end) = (child.first().lead, child.end());
            let next = children.get(index + 1).map_or(close, |next| next.first().lead);
            if lead < head || end < lead || next < end || next > close {
                return Err(Fallback::Layout);
            }
            let at = skip(text, end);
            let comma = at < next && text.as_bytes()[at] == b',';
            let (before_comma, region) = if comma { (end..at, at + 1..next) } else { (end..end, end..next) };
            last_comma = comma;
            let behind = match text[region.clone()].find('\n') {
                Some(line) => {
                    let line = region.start + line;
                    let line = if text[..line].ends_with('\r') { line - 1 } else { line };
                    region.start..line.max(region.start)
                }
                None => region.start..region.start,
            };
            let before = std::mem::replace(&mut head, behind.end);
            all.push(Item { child: *child, head: before..lead, end, before_comma, behind });
        }
        let heads = || all.iter().map(|item| &text[item.head.clone()]);
        let indent = heads().find_map(|head| head.rsplit_once('\n').map(|(_, indent)| indent));
        let indent = indent.filter(|indent| is_blank(indent));
        let closing = head..close;
        let mut layout = self.one_line();
        if self.json {
            layout.lines = indent.map(|indent| {
                let outer = text[closing.clone()].rsplit_once('\n').map(|(_, indent)| indent);
                let outer = outer.unwrap_or_else(|| {
                    let line = &text[line_start(text, holder.content)..holder.content];
                    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
                });
                let step = indent.strip_prefix(outer).filter(|step| !step.is_empty()).unwrap_or("  ");
                (indent.to_owned(), step.to_owned())
            });
        }
        let lead = match (indent, all.get(1)) {
            (Some(indent), _) => format!("{}{indent}", self.formatting.newline),
            (None, Some(second)) if is_blank(&text[second.head.clone()]) => {
                text[second.head.clone()].to_owned()
            }
            (None, _) => self.blank.to_owned(),
        };
        let broken = || text[closing.clone()].rsplit_once('\n').map(|(_, indent)| indent);
        let indent = indent.or_else(broken).map(str::to_owned);
        let formatting = self.neighbours(holder, &children);
        Ok(Items { all, last_comma, closing, layout, lead, indent, formatting })
    }
}
