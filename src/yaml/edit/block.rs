//! Lists and mappings in block style.

use std::ops::Range;

use crate::value::{Text, Value};
use crate::yaml::event::{Chomping, Style};

use super::Fallback;
use super::editor::{Editor, PlannedEntry};
use super::flow_elements::FlowElements;
use super::formatting::{Formatting, Quote, has_extra_quotes};
use super::layout::NO_OFFSET;
use super::matching::{Origin, origins};
use super::outline::{Child, Node, is_bracketed};
use super::whitespace::{CommentsBelow, below_list, empty_lines, is_blank, line_end, line_start, top};
use super::writer;

/// The number of entries that new entries are formatted like.
const NEIGHBOURS: usize = 16;

/// An entry of a list or mapping in block style.
pub(super) struct Entry {
    pub(super) child: Child,
    /// Its start with the comments above it.
    pub(super) top: usize,
    /// Its dash or its key.
    pub(super) lead: usize,
    /// The end of its last line and of the comments below.
    pub(super) tail: usize,
    /// Whether it is on the line of the dash of its parent.
    pub(super) inline: bool,
}

impl AsRef<Child> for Entry {
    fn as_ref(&self) -> &Child {
        &self.child
    }
}

/// An entry that keeps its place and gets another value.
struct Kept {
    entry: Entry,
    formatting: Formatting,
}

/// Index, key, old and new value of a child.
type Changed<'v> = (usize, Option<&'v Text>, &'v Value, &'v Value);

impl Editor<'_> {
    /// Writes the entries of a list or mapping; returns the end of the old ones.
    pub(super) fn lines(
        &mut self,
        at: &Node,
        before: &Value,
        after: &Value,
        floor: usize,
    ) -> Result<usize, Fallback> {
        let changed = if at.shared { None } else { self.changed_in_place(at, before, after)? };
        match changed {
            Some(changed) => self.in_place(at, &changed, floor),
            None => self.rearranged(at, before, after, floor),
        }
    }

    /// Writes entries of which some are added, removed or moved.
    fn rearranged(
        &mut self,
        at: &Node,
        before: &Value,
        after: &Value,
        floor: usize,
    ) -> Result<usize, Fallback> {
        let entries = self.entries(at, floor)?;
        let mut planned = self.planned(at, &entries, before, after)?;
        if entries.first().is_some_and(|entry| entry.inline) {
            keep_first(&mut planned);
        }
        let (column, mut formatting) = (at.column, self.neighbours(at, &entries));
        let gap = |index: usize| match index {
            0 => 0..0,
            index => entries[index - 1].tail..entries[index].top,
        };
        let text = self.text;
        let is_empty_line = |index: usize| !gap(index).is_empty() && is_blank(&text[gap(index)]);
        let spaced = entries.len() > 1 && (1..entries.len()).all(is_empty_line);
        let flow = if at.list { self.flow(&entries) } else { None };
        let mut next_gap = 0;
        for (slot, piece) in planned.iter().enumerate() {
            let mut joins = slot == 0 && entries.first().is_some_and(|entry| entry.inline);
            let mut behind = 0..0;
            match piece.origin {
                Some((index, true)) => {
                    self.comments_between(&entries, next_gap..index, &mut joins);
                    next_gap = index + 1;
                    let piece = gap(index);
                    if !is_blank(&text[piece.clone()]) {
                        self.comments(piece, &mut joins);
                    } else if slot > 0 {
                        self.begin_line();
                        self.copy_below(piece);
                    }
                }
                Some((index, false)) if is_blank(&text[gap(index)]) => {
                    if slot > 0 {
                        self.begin_line();
                        self.copy_below(gap(index));
                    } else {
                        behind = gap(index);
                    }
                }
                None if spaced && slot > 0 => {
                    self.begin_line();
                    self.empty_line(formatting.newline);
                }
                Some(_) | None => {}
            }
            self.path.push(piece.key.cloned());
            match piece.origin {
                Some((index, _)) => {
                    // New entries below get the same line breaks.
                    formatting.newline = self.newline_of(entries[index].lead).unwrap_or(formatting.newline);
                    self.kept(&entries[index], piece, joins, column, &formatting)?;
                }
                None => self.new_entry(piece, joins, column, &formatting, flow.as_ref())?,
            }
            self.path.pop();
            self.copy_below(behind);
            if slot == 0 && piece.origin.is_none() && spaced {
                self.empty_line(formatting.newline);
            }
        }
        self.comments_between(&entries, next_gap..entries.len(), &mut false);
        Ok(entries.last().map_or(at.end, |entry| entry.tail))
    }

    /// The children whose value changes, if none is added, removed or moved.
    fn changed_in_place<'v>(
        &self,
        at: &Node,
        before: &'v Value,
        after: &'v Value,
    ) -> Result<Option<Vec<Changed<'v>>>, Fallback> {
        let differs = |(_, _, was, is): &Changed<'v>| was != is;
        match (before, after) {
            (Value::Object(old), Value::Object(new)) if !at.list && old.len() == new.len() => {
                if !old.keys().eq(new.keys()) || self.outline.merges(at)? {
                    return Ok(None);
                }
                let pairs = old.iter().zip(new.values()).enumerate();
                let pairs = pairs.map(|(index, ((key, was), is))| (index, Some(key), was, is));
                Ok(Some(pairs.filter(differs).collect()))
            }
            (Value::Array(old), Value::Array(new)) if at.list && old.len() == new.len() => {
                let stays = |(index, origin): (usize, Origin)| origin == Origin::Stays(index);
                if !origins(old, new).into_iter().enumerate().all(stays) {
                    return Ok(None);
                }
                let pairs = old.iter().zip(new.iter()).enumerate();
                Ok(Some(pairs.map(|(index, (was, is))| (index, None, was, is)).filter(differs).collect()))
            }
            _ => Ok(None),
        }
    }

    /// Writes changed entries; the text between them is copied.
    fn in_place(&mut self, at: &Node, changed: &[Changed<'_>], floor: usize) -> Result<usize, Fallback> {
        let mut cursor = self.body(at, floor);
        for (Kept { entry, formatting }, (_, key, was, is)) in
            self.kept_in_place(at, changed)?.iter().zip(changed)
        {
            self.copy_below(cursor..entry.lead);
            self.path.push(key.cloned());
            self.entry(entry.lead, entry, was, is, at.column, formatting)?;
            self.path.pop();
            cursor = entry.tail;
        }
        Ok(cursor)
    }

    /// The changed entries with the formatting of their new values.
    fn kept_in_place(&mut self, at: &Node, changed: &[Changed<'_>]) -> Result<Vec<Kept>, Fallback> {
        let (text, column) = (self.text, at.column);
        if column == NO_OFFSET {
            return Err(Fallback::Indentation);
        }
        let numbers: Vec<usize> = changed.iter().map(|(number, ..)| *number).collect();
        let children = self.outline.chosen(at, &numbers)?;
        let mut known = None;
        let mut kept = Vec::with_capacity(children.len());
        for (child, (number, _, was, is)) in children.into_iter().zip(changed) {
            let lead = child.first().lead;
            let line = line_start(text, lead);
            let inline = !is_blank(&text[line..lead]);
            if *number > 0 && (inline || lead - line != column) {
                return Err(Fallback::Indentation);
            }
            let tail = self.tail(line_end(text, child.end(), self.limit), column);
            let is_followed = !child.node.is_leaf && Self::is_editable(&child.node, was, is);
            let formatting = match known {
                // Only its entries are written.
                _ if is_followed => self.formatting,
                Some(known) => known,
                None => *known.insert(self.neighbours(at, &self.outline.children(at)?)),
            };
            kept.push(Kept { entry: Entry { child, top: lead, lead, tail, inline }, formatting });
        }
        Ok(kept)
    }

    /// Writes the comments before removed entries.
    fn comments_between(&mut self, entries: &[Entry], gone: Range<usize>, joins: &mut bool) {
        for index in gone.filter(|index| *index > 0) {
            let gap = entries[index - 1].tail..entries[index].top;
            if !is_blank(&self.text[gap.clone()]) {
                self.comments(gap, joins);
            }
        }
    }

    /// Writes comments between entries.
    fn comments(&mut self, gap: Range<usize>, joins: &mut bool) {
        let mut start = gap.start;
        if std::mem::take(joins) {
            self.end_dash_line();
            start += empty_lines(&self.text[gap.clone()]);
        }
        self.begin_line();
        self.copy_below(start..gap.end);
    }

    /// Ends the line after the dash of the outer list, because comments need lines of their own.
    fn end_dash_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches([' ', '\t']).len());
    }

    /// Writes an old entry.
    fn kept(
        &mut self,
        entry: &Entry,
        piece: &PlannedEntry<'_>,
        joins: bool,
        column: usize,
        formatting: &Formatting,
    ) -> Result<(), Fallback> {
        let line = line_start(self.text, entry.lead);
        let from = if entry.inline {
            if !joins {
                self.begin_line();
                writer::indent(column, &mut self.out);
            }
            entry.lead
        } else if !joins {
            self.begin_line();
            entry.top
        } else if entry.top == line {
            entry.lead
        } else {
            self.end_dash_line();
            self.begin_line();
            entry.top
        };
        match piece.before {
            Some(before) => self.entry(from, entry, before, piece.after, column, formatting),
            None => {
                self.copy_entry(from, entry);
                Ok(())
            }
        }
    }

    /// Copies an entry from an offset.
    fn copy_entry(&mut self, from: usize, entry: &Entry) {
        self.copy(from..entry.tail);
        self.ended(&entry.child.node, entry.tail);
    }

    /// Remembers that the output ends with an unchanged node.
    fn ended(&mut self, node: &Node, tail: usize) {
        // Comments end a block scalar.
        if tail == line_end(self.text, node.end, self.limit) {
            self.breaks = self.outline.breaks(node);
        }
    }

    fn new_entry(
        &mut self,
        piece: &PlannedEntry<'_>,
        joins: bool,
        column: usize,
        formatting: &Formatting,
        flow: Option<&FlowElements>,
    ) -> Result<(), Fallback> {
        if !joins {
            self.begin_line();
            writer::indent(column, &mut self.out);
        }
        self.check_depth(piece.after)?;
        if let Some(element) =
            flow.map(|flow| flow.element(piece.after, column + formatting.dash)).transpose()?.flatten()
        {
            self.out.push('-');
            writer::indent(formatting.dash - 1, &mut self.out);
            self.out.push_str(&element);
            self.out.push_str(formatting.newline);
            self.breaks = Chomping::Strip;
            return Ok(());
        }
        match piece.key {
            Some(key) => writer::member(key, piece.after, column, formatting, &mut self.out)?,
            None => writer::element(piece.after, column, formatting, &mut self.out)?,
        }
        self.breaks = writer::breaks(piece.after);
        Ok(())
    }

    /// Writes an entry from an offset.
    fn entry(
        &mut self,
        from: usize,
        entry: &Entry,
        before: &Value,
        after: &Value,
        column: usize,
        formatting: &Formatting,
    ) -> Result<(), Fallback> {
        let node = &entry.child.node;
        self.record_key_anchor(&entry.child);
        if !node.shared && before == after {
            self.copy_entry(from, entry);
            return Ok(());
        }
        if node.style == Style::BlockCollection && Self::is_editable(node, before, after) {
            let floor = self.floor(entry);
            let body = self.body(node, floor);
            self.copy(from..body);
            let end = self.lines(node, before, after, floor)?;
            self.record_anchor(node, after);
            self.copy_below(end..entry.tail);
            if end < node.end {
                self.ended(node, entry.tail);
            }
        } else if is_bracketed(self.text, node) && Self::is_editable(node, before, after) {
            self.copy(from..node.content);
            let end = self.brackets(node, before, after)?;
            self.record_anchor(node, after);
            self.copy(end..entry.tail);
        } else if node.style == Style::Alias && self.is_alias_of(node, after) {
            self.copy(from..entry.tail);
        } else if node.style == Style::Alias {
            self.expanded += 1;
            self.replace(from, entry, after, column, formatting)?;
        } else if before == after {
            self.copy_entry(from, entry);
            self.record_anchor(node, after);
        } else {
            self.replace(from, entry, after, column, formatting)?;
            self.record_anchor(node, after);
        }
        Ok(())
    }

    /// The end of the indicator of an entry: of its dash or its colon.
    pub(super) fn indicator_end(&self, entry: &Entry) -> Result<usize, Fallback> {
        match entry.child.key {
            None => Ok(entry.lead + 1),
            Some(_) if entry.child.node.lead == NO_OFFSET => Err(Fallback::Layout),
            Some(_) => Ok(entry.child.node.lead + 1),
        }
    }

    /// The start of the line after the indicator of an entry.
    pub(super) fn floor(&self, entry: &Entry) -> usize {
        let indicator = self.indicator_end(entry).unwrap_or(entry.lead);
        line_end(self.text, indicator, self.limit)
    }

    /// The start of the entries of a list or mapping in block style.
    pub(super) fn body(&self, node: &Node, floor: usize) -> usize {
        let line = line_start(self.text, node.content);
        if is_blank(&self.text[line..node.content]) {
            top(self.text, line, node.column, floor)
        } else {
            node.content
        }
    }

    /// The end of an entry whose last line ends at an offset, comments included.
    fn tail(&mut self, from: usize, column: usize) -> usize {
        let below = self.text[from..self.limit].bytes().find(|byte| !matches!(byte, b' ' | b'\t'));
        if !matches!(below, Some(b'#' | b'\r' | b'\n')) {
            return from;
        }
        // Cached for all entries that end with this line.
        let (text, limit) = (self.text, self.limit);
        self.below.entry(from).or_insert_with(|| CommentsBelow::read(text, from, limit)).tail(from, column)
    }

    /// The entries of a list or mapping in block style.
    pub(super) fn entries(&mut self, holder: &Node, floor: usize) -> Result<Vec<Entry>, Fallback> {
        let column = holder.column;
        if column == NO_OFFSET {
            return Err(Fallback::Indentation);
        }
        let mut floor = floor;
        let outline = self.outline;
        let count = outline.count(holder)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(count);
        outline.each_child(holder, |child| {
            let lead = child.first().lead;
            let line = line_start(self.text, lead);
            let inline = !is_blank(&self.text[line..lead]);
            let is_first = entries.is_empty();
            if !is_first && (inline || lead - line != column) {
                return Err(Fallback::Indentation);
            }
            let top = match (is_first, inline) {
                (_, true) => lead,
                (true, false) => self.body(holder, floor),
                (false, false) => top(self.text, line, column, floor),
            };
            let mut tail = self.tail(line_end(self.text, child.end(), self.limit), column);
            if child.key.is_some() && child.node.list && child.node.column == column {
                let is_last = entries.len() + 1 == count;
                tail = below_list(self.text, tail, column, is_last, self.limit);
            }
            entries.push(Entry { child, top, lead, tail, inline });
            floor = tail;
            Ok(())
        })?;
        Ok(entries)
    }

    /// The formatting of the entries of a list or mapping.
    pub(super) fn neighbours(&self, holder: &Node, children: &[impl AsRef<Child>]) -> Formatting {
        let mut formatting = self.formatting;
        let in_lines = holder.style == Style::BlockCollection;
        let first = children.first().map(AsRef::as_ref).filter(|_| in_lines);
        if let Some(newline) = first.and_then(|child| self.newline_of(child.first().lead)) {
            formatting.newline = newline;
        }
        let (mut plain, mut quoted) = (false, None);
        let (mut plain_keys, mut quoted_keys) = (false, None);
        for child in children.iter().map(AsRef::as_ref).take(NEIGHBOURS) {
            let (node, lead) = (&child.node, child.first().lead);
            let same_line = in_lines && !self.text[lead..node.content].contains('\n');
            let width = |offset: usize| offset.checked_sub(holder.column).filter(|width| *width < 16);
            if node.style == Style::BlockCollection && node.column != NO_OFFSET {
                match width(node.column) {
                    Some(width) if holder.list && same_line && width > 1 => formatting.dash = width,
                    Some(width) if !holder.list && node.list => formatting.list_step = width,
                    Some(width) if !holder.list && width > 0 => formatting.step = width,
                    _ => {}
                }
            } else if holder.list && same_line && node.style != Style::Missing {
                formatting.dash = (node.start - lead).clamp(2, 16);
            }
            match self.quotes(node) {
                Written::Plain => plain = true,
                Written::Extra(quote) => quoted = Some(quote),
                Written::Otherwise => {}
            }
            match child.key.as_ref().map(|key| self.quotes(key)) {
                Some(Written::Plain) => plain_keys = true,
                Some(Written::Extra(quote)) => quoted_keys = Some(quote),
                Some(Written::Otherwise) | None => {}
            }
        }
        formatting.always = match (plain, quoted) {
            (true, _) => None,
            (false, Some(quote)) => Some(quote),
            (false, None) => formatting.always,
        };
        formatting.keys = quoted_keys.filter(|_| !plain_keys);
        formatting
    }

    /// The line break after an offset, if the text mixes both kinds.
    pub(super) fn newline_of(&self, at: usize) -> Option<&'static str> {
        if !self.mixed {
            return None;
        }
        let line = &self.text[at..line_end(self.text, at, self.limit)];
        if line.ends_with("\r\n") { Some("\r\n") } else { line.ends_with('\n').then_some("\n") }
    }

    fn quotes(&self, node: &Node) -> Written {
        let text = &self.text[node.content..node.end];
        match node.style {
            Style::Plain
                if text.starts_with(|c: char| c.is_alphabetic()) && text != "true" && text != "false" =>
            {
                Written::Plain
            }
            Style::SingleQuoted if has_extra_quotes(text) => Written::Extra(Quote::Single),
            Style::DoubleQuoted if has_extra_quotes(text) => Written::Extra(Quote::Double),
            _ => Written::Otherwise,
        }
    }
}

/// Keeps the member after a dash first: a new one before it would change its line too.
fn keep_first(planned: &mut [PlannedEntry<'_>]) {
    let first = planned.iter().position(|piece| piece.origin.is_some());
    if let Some(first) = first.filter(|first| planned[*first].origin == Some((0, true)))
        && planned[first].key.is_some()
    {
        planned[..=first].rotate_right(1);
    }
}

/// How a string is written.
enum Written {
    Plain,
    /// In unnecessary quotes.
    Extra(Quote),
    /// Neither.
    Otherwise,
}
