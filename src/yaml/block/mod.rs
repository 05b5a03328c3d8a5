//! Simple YAML, read line by line.
//!
//! Lists and mappings of lines, plain and quoted scalars, texts below `|` and `>`, brackets on one line: most documents
//! consist of nothing else, and problem that takes a small part of the time that a parser of the whole language needs.
//! What is anything else, or wrong, is left to that parser; what is told is what it would tell, offsets included.

mod flow;
mod scalar;
mod text;

use std::cmp::Ordering;

use memchr::memchr;

use super::Limits;
use super::event::{EventReceiver, Kind, NodeStyle, Scalar, Style};

use scalar::Lead;

/// Emits the events of a document; `None`, perhaps after some events, if only a parser can read it.
pub(super) fn read(
    text: &str,
    base: usize,
    limits: &Limits,
    receiver: &mut impl EventReceiver,
) -> Option<()> {
    let bytes = text.as_bytes();
    if !is_simple(bytes) {
        return None;
    }
    let reader = Reader {
        text,
        bytes,
        base,
        receiver,
        open: Vec::new(),
        depth: limits.bounded_depth(),
        awaited: None,
        at: 0,
        line: 0,
    };
    reader.document()
}

/// Whether no character can be a line break to the parser, or invalid.
fn is_simple(bytes: &[u8]) -> bool {
    // Of those beyond ASCII, the lead bytes of C1 controls and of byte order marks and the like.
    let is_odd = |byte: u8| {
        (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7F) | (byte == 0xC2) | (byte == 0xEF)
    };
    // Without a branch for each byte, so that many are looked at together.
    bytes.chunks(128).all(|part| part.iter().fold(0, |odd, byte| odd | u8::from(is_odd(*byte))) == 0)
}

/// An open list or mapping.
#[derive(Clone, Copy, Debug)]
struct Level {
    kind: Kind,
    /// The blanks before its entries.
    column: usize,
}

#[derive(Debug)]
struct Reader<'t, 's, S> {
    text: &'t str,
    bytes: &'t [u8],
    /// The start of the text in its source.
    base: usize,
    receiver: &'s mut S,
    open: Vec<Level>,
    /// The maximum nesting depth of the parser.
    depth: usize,
    /// The offset of the value of the last entry, if it is missing so far.
    awaited: Option<usize>,
    at: usize,
    /// The start of the line.
    line: usize,
}

impl<'t, S: EventReceiver> Reader<'t, '_, S> {
    fn document(mut self) -> Option<()> {
        let column = self.content()?;
        self.entry(column, true)?;
        while let Some(column) = self.content() {
            let is_new = self.settle(column)?;
            self.entry(column, is_new)?;
        }
        self.absent()?;
        while self.open.pop().is_some() {
            self.receiver.close(self.base + self.at).ok()?;
        }
        Some(())
    }

    /// Goes to the next line that is neither empty nor a comment; returns the column of its first character.
    fn content(&mut self) -> Option<usize> {
        loop {
            self.line = self.at;
            self.skip_blanks();
            match self.byte()? {
                b'\n' => self.at += 1,
                b'#' => self.skip_line(),
                _ => return Some(self.at - self.line),
            }
        }
    }

    /// Closes the lists and mappings that end before this column; returns whether a new one starts here.
    fn settle(&mut self, column: usize) -> Option<bool> {
        let is_item = self.is_item();
        if self.awaited.is_some() {
            let holder = self.open.last()?;
            // A list may be in the column of its key.
            let is_beside = is_item && column == holder.column && holder.kind == Kind::Mapping;
            if column > holder.column || is_beside {
                self.awaited = None;
                return Some(true);
            }
            self.absent()?;
        }
        loop {
            let level = *self.open.last()?;
            match (column.cmp(&level.column), level.kind, is_item) {
                (Ordering::Greater, ..) => return None,
                (Ordering::Equal, Kind::Mapping, false) | (Ordering::Equal, Kind::List, true) => {
                    return Some(false);
                }
                (Ordering::Equal, Kind::Mapping, true) => return None,
                (Ordering::Equal, Kind::List, false) | (Ordering::Less, ..) => {
                    self.open.pop();
                    self.receiver.close(self.base + self.at).ok()?;
                }
            }
        }
    }

    /// Emits a missing node.
    fn absent(&mut self) -> Option<()> {
        let Some(at) = self.awaited.take() else { return Some(()) };
        self.node_style(Style::Missing);
        let scalar = Scalar { text: "".into(), plain: true, tag: None };
        self.receiver.scalar(scalar, 0, self.base + at..self.base + at).ok()
    }

    /// Reads an entry of the innermost list or mapping, or of a new one.
    fn entry(&mut self, mut column: usize, mut is_new: bool) -> Option<()> {
        if column == 0 && (self.rest().starts_with("---") || self.rest().starts_with("...")) {
            return None;
        }
        while self.is_item() {
            let dash = self.at;
            self.at += 1;
            self.skip_blanks();
            if self.byte() == Some(b'#') {
                // For the parser, the comment belongs to the entry.
                self.at = self.line_end();
            }
            let is_empty = matches!(self.byte(), None | Some(b'\n'));
            if is_new {
                let is_beside = self.open.last().is_some_and(|holder| holder.column == column);
                self.open(Kind::List, column, if is_beside { self.at } else { dash })?;
            }
            if is_empty {
                self.awaited = Some(self.at);
                return self.end_line();
            }
            column = self.at - self.line;
            is_new = true;
        }
        match self.lead()? {
            Lead::Key(key) => {
                if is_new {
                    self.open(Kind::Mapping, column, key.at.start)?;
                }
                self.emit_key(key)?;
                let colon = self.at;
                self.at += 1;
                self.skip_blanks();
                if matches!(self.byte(), None | Some(b'\n' | b'#')) {
                    self.awaited = Some(colon);
                    return self.end_line();
                }
                match self.lead()? {
                    Lead::Key(_) => None,
                    value => self.value(value),
                }
            }
            value if is_new => self.value(value),
            _ => None,
        }
    }

    /// Emits a scalar or a flow collection.
    fn value(&mut self, lead: Lead<'t>) -> Option<()> {
        match lead {
            Lead::Text => {
                let column = self.open.last()?.column;
                self.block_scalar(column)
            }
            Lead::Flow => {
                self.flow()?;
                self.end_line()
            }
            Lead::Scalar(scalar) => {
                let scalar = self.continued(scalar)?;
                self.emit_scalar(scalar)?;
                self.end_line()
            }
            Lead::Key(_) => None,
        }
    }

    fn open(&mut self, kind: Kind, column: usize, at: usize) -> Option<()> {
        self.is_shallow(0).then_some(())?;
        self.node_style(Style::BlockCollection);
        self.open.push(Level { kind, column });
        self.receiver.open(kind, 0, self.base + at).ok()
    }

    /// Whether the nesting is below the limit of the parser.
    fn is_shallow(&self, brackets: usize) -> bool {
        self.open.len() + brackets + 2 < self.depth
    }

    fn node_style(&mut self, style: Style) {
        self.receiver.node_style(NodeStyle { style, tagged: false });
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Whether a blank, a line break or the end of the text is at an offset.
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), None | Some(b' ' | b'\n'))
    }

    /// Whether the dash of an item is here.
    fn is_item(&self) -> bool {
        self.byte() == Some(b'-') && self.is_blank(self.at + 1)
    }

    fn skip_blanks(&mut self) {
        while self.byte() == Some(b' ') {
            self.at += 1;
        }
    }

    /// The offset of the next line break, or the end of the text.
    fn line_end(&self) -> usize {
        memchr(b'\n', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length)
    }

    /// Goes to the next line.
    fn skip_line(&mut self) {
        self.at = (self.line_end() + 1).min(self.bytes.len());
    }

    /// Goes to the next line; only a comment may be left on this one.
    fn end_line(&mut self) -> Option<()> {
        self.skip_blanks();
        match self.byte() {
            None => {}
            Some(b'\n') => self.at += 1,
            Some(b'#') if self.bytes[self.at - 1] == b' ' => self.skip_line(),
            Some(_) => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
