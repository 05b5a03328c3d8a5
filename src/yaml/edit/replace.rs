//! Entries in block style whose whole value is replaced.

use crate::value::Value;
use crate::yaml::Limits;
use crate::yaml::event::{Chomping, Style};

use super::Fallback;
use super::block::Entry;
use super::editor::Editor;
use super::folded::folded;
use super::formatting::Formatting;
use super::outline::{Node, is_bracketed};
use super::whitespace::{comment, comment_behind, empty_lines, is_blank, line_end, line_start};
use super::writer::{self, Context, is_nested};

/// The text around the old value that stays.
struct Around<'a> {
    /// The comment on the line of the key.
    comment: &'a str,
    /// The lines between the key and the value.
    between: &'a str,
    /// The start of the text below.
    rest: usize,
}

impl<'a> Editor<'a> {
    /// The anchor of a node with a space before it; empty without one.
    fn anchor_text(&self, node: &Node) -> String {
        let name = self.anchor_name(node).filter(|_| node.anchored && !node.tagged);
        name.map_or_else(String::new, |name| format!(" &{name}"))
    }

    /// Writes an entry with another value, from an offset.
    pub(super) fn replace(
        &mut self,
        from: usize,
        entry: &Entry,
        after: &Value,
        column: usize,
        formatting: &Formatting,
    ) -> Result<(), Fallback> {
        let formatting =
            &Formatting { newline: self.newline_of(entry.lead).unwrap_or(formatting.newline), ..*formatting };
        self.check_depth(after)?;
        let node = &entry.child.node;
        let indicator = self.indicator_end(entry)?;
        let Around { comment, between, rest } = self.around(entry, indicator, after)?;
        self.copy(from..indicator);
        let anchor = self.anchor_text(node);
        let newline = formatting.newline;
        let old_column = if node.style == Style::BlockScalar { self.block_column(node) } else { None };
        let in_brackets = is_bracketed(self.text, node) && !node.is_leaf;
        let below = self.text[indicator..node.start.max(indicator)].contains('#');
        let old_column = old_column.filter(|old| *old > column);
        let new_column = old_column.unwrap_or(column + formatting.step);
        let is_inline = node.style == Style::DoubleQuoted || in_brackets || !between.is_empty() || below;
        let block = if is_inline || self.blanks_follow(rest, new_column) {
            None
        } else {
            let written = &self.text[node.content..node.end];
            let stays = after.as_str().zip(old_column);
            stays
                .and_then(|(text, at)| folded(text, written, at, formatting.newline))
                .or_else(|| writer::block(after, column, old_column, formatting))
        };
        let gap = &self.text[indicator..node.start.max(indicator)];
        if let Some((mut header, lines)) = block {
            let had = Chomping::of_header(&self.text[node.content..node.end]);
            // A block scalar with `+` keeps it.
            if node.style == Style::BlockScalar
                && had == Chomping::Keep
                && Chomping::of_header(&header) == Chomping::Clip
            {
                header.push('+');
            }
            let keeps_gap = anchor.is_empty() && !gap.is_empty() && !gap.contains('\n');
            for part in [anchor.as_str(), if keeps_gap { gap } else { " " }, &header, comment, newline] {
                self.out.push_str(part);
            }
            self.out.push_str(&lines);
            self.breaks = Chomping::of_header(&header);
        } else if is_nested(after) && !in_brackets {
            self.out.push_str(&anchor);
            let is_element = entry.child.key.is_none();
            let inner = if is_element { formatting.dash } else { writer::inner(after, formatting) };
            if is_element && anchor.is_empty() && comment.is_empty() && between.is_empty() {
                writer::indent(formatting.dash - 1, &mut self.out);
            } else {
                self.out.push_str(comment);
                self.out.push_str(newline);
                self.out.push_str(between);
                writer::indent(column + inner, &mut self.out);
            }
            writer::entries(after, column + inner, formatting, &mut self.out)?;
            self.breaks = writer::breaks(after);
        } else {
            let keeps_gap =
                !matches!(node.style, Style::BlockCollection | Style::BlockScalar | Style::Missing)
                    && !gap.is_empty();
            self.out.push_str(&anchor);
            self.out.push_str(if keeps_gap && anchor.is_empty() { gap } else { " " });
            if is_nested(after) {
                writer::bracketed(after, &self.one_line(), formatting, &mut self.out)?;
            } else {
                match after.as_str().filter(|text| self.keeps_tag(node, text)) {
                    Some(text) => {
                        self.copy(node.start..node.content);
                        self.out.push_str(text);
                    }
                    None => writer::scalar(after, node.style, Context::Block, formatting, &mut self.out),
                }
            }
            self.out.push_str(comment);
            self.out.push_str(newline);
            self.out.push_str(between);
            self.breaks = Chomping::Strip;
            if !is_nested(after) && node.style == Style::BlockCollection {
                self.comments_of_sections(node, entry, after)?;
            }
        }
        self.copy_below(rest..entry.tail);
        Ok(())
    }

    fn around(&self, entry: &Entry, indicator: usize, after: &Value) -> Result<Around<'a>, Fallback> {
        let node = &entry.child.node;
        let text = self.text;
        if node.style == Style::BlockCollection {
            let floor = self.floor(entry);
            let body = self.body(node, floor);
            // The comments in it are removed with it.
            let rest = entry.tail;
            if !is_blank(&text[line_start(text, node.content)..node.content]) {
                return Ok(Around { comment: "", between: "", rest });
            }
            let head = &text[indicator..line_end(text, indicator, self.limit).min(body)];
            let comment = comment_behind(head);
            let between = &text[floor.min(body)..body];
            return Ok(Around { comment, between: if is_blank(between) { "" } else { between }, rest });
        }
        let rest = line_end(text, node.end, self.limit);
        if text[indicator..node.start.max(indicator)].contains('#') {
            return self.below_comment(node, indicator, rest, after);
        }
        let comment = if node.style == Style::BlockScalar {
            let header = &text[node.content..line_end(text, node.content, self.limit)];
            comment_behind(header)
        } else {
            comment(&text[node.end..rest])
        };
        Ok(Around { comment, between: "", rest })
    }

    /// The text around a scalar below its key, with comments between them.
    fn below_comment(
        &self,
        node: &Node,
        indicator: usize,
        rest: usize,
        after: &Value,
    ) -> Result<Around<'a>, Fallback> {
        let text = self.text;
        let own = comment(&text[node.end..rest]);
        if node.style == Style::BlockScalar || node.anchored {
            return Err(Fallback::Comment);
        }
        if !is_nested(after) {
            // The new scalar takes the place of the old one.
            return Ok(Around { comment: own, between: "", rest });
        }
        let floor = line_end(text, indicator, self.limit);
        let line = line_start(text, node.start);
        if !own.is_empty() || line < floor {
            return Err(Fallback::Comment);
        }
        let between = &text[floor..line];
        let between = if is_blank(between) { "" } else { between };
        Ok(Around { comment: comment_behind(&text[indicator..floor]), between, rest })
    }

    /// Whether a line of blanks follows that would belong to a block scalar in a column.
    fn blanks_follow(&self, rest: usize, column: usize) -> bool {
        let lines = self.text[rest..self.limit].split_inclusive('\n').take_while(|line| is_blank(line));
        lines.map(|line| line.trim_end_matches(['\r', '\n'])).any(|line| line.len() > column)
    }

    /// Whether the tag `!!str` can stay before another string.
    fn keeps_tag(&self, node: &Node, after: &str) -> bool {
        let is_word =
            |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
        node.tagged
            && node.style == Style::Plain
            && is_word(after)
            && self.text[node.start..node.content].trim_end() == "!!str"
    }

    /// Writes the comments between the entries of a list or mapping that is empty now: they belong to none
    /// of them.
    fn comments_of_sections(&mut self, node: &Node, entry: &Entry, after: &Value) -> Result<(), Fallback> {
        let is_empty = if node.list { after.as_array().is_some() } else { after.as_object().is_some() };
        if !is_empty {
            return Ok(());
        }
        let floor = self.floor(entry);
        let entries = self.entries(node, floor)?;
        let starts = entries.iter().skip(1).map(|entry| entry.top).chain([entry.tail]);
        for (above, start) in entries.iter().zip(starts) {
            let gap = &self.text[above.tail.min(start)..start];
            if !is_blank(gap) {
                let gap = &gap[empty_lines(gap)..];
                let end = gap.trim_end().len();
                self.begin_line();
                self.out.push_str(&gap[..end]);
                self.begin_line();
            }
        }
        Ok(())
    }

    /// The column of the lines of a block scalar, if it has lines and no indentation indicator.
    fn block_column(&self, node: &Node) -> Option<usize> {
        let text = &self.text[node.content..node.end];
        let (header, lines) = text.split_once('\n')?;
        let header = header.split('#').next().unwrap_or_default();
        if header.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let line = lines.lines().find(|line| !line.trim().is_empty())?;
        Some(line.len() - line.trim_start_matches(' ').len())
    }

    /// Rejects new values that are nested deeper than readers allow.
    pub(super) fn check_depth(&self, value: &Value) -> Result<(), Fallback> {
        let depth = self.path.len() + value.depth();
        if depth < Limits::MAX_DEPTH { Ok(()) } else { Err(Fallback::Depth) }
    }
}
