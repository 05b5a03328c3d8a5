//! The YAML that manifests are written in, read line by line.
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

/// Tells the events of a document; `None` if a parser has to, and then they may have been told in part.
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

/// Whether there is no character that a parser might take for a line break, or refuse.
fn is_simple(bytes: &[u8]) -> bool {
    // Of those beyond ASCII, the lead bytes of C1 controls and of byte order marks and the like.
    let is_odd = |byte: u8| {
        (byte < b' ') & (byte != b'\n') & (byte != b'\t') | (byte == 0x7F) | (byte == 0xC2) | (byte == 0xEF)
    };
    // Without a branch for each byte, so that many are looked at together.
    bytes.chunks(128).all(|part| part.iter().fold(0, |odd, byte| odd | u8::from(is_odd(*byte))) == 0)
}

/// An open list or mapping of lines.
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
    /// Where the text starts in its source.
    base: usize,
    receiver: &'s mut S,
    open: Vec<Level>,
    /// So deep a parser may go.
    depth: usize,
    /// Where the node of the last entry is absent unless a line below has it.
    awaited: Option<usize>,
    at: usize,
    /// Where the line starts.
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

    /// Goes to the next line that is neither empty nor a comment; the column of its first character.
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

    /// Closes what a line at this column does not continue; whether it starts a list or mapping.
    fn settle(&mut self, column: usize) -> Option<bool> {
        let is_item = self.is_item();
        if self.awaited.is_some() {
            let holder = self.open.last()?;
            // A list may stand at the column of the key that it belongs to.
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

    /// Tells that the awaited node is not there.
    fn absent(&mut self) -> Option<()> {
        let Some(at) = self.awaited.take() else { return Some(()) };
        self.node_style(Style::Missing);
        let scalar = Scalar { text: "".into(), plain: true, tag: None };
        self.receiver.scalar(scalar, 0, self.base + at..self.base + at).ok()
    }

    /// Reads an entry of a list or mapping, the first one of a new one or a further one of the innermost.
    fn entry(&mut self, mut column: usize, mut is_new: bool) -> Option<()> {
        if column == 0 && (self.rest().starts_with("---") || self.rest().starts_with("...")) {
            return None;
        }
        while self.is_item() {
            let dash = self.at;
            self.at += 1;
            self.skip_blanks();
            if self.byte() == Some(b'#') {
                // A parser counts it in.
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

    /// Tells a node that is no list or mapping of lines.
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

    /// Whether a parser certainly goes so deep, with so many open brackets.
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

    /// Whether a blank or the end of the line or text stands at an offset.
    fn is_blank(&self, at: usize) -> bool {
        matches!(self.bytes.get(at), None | Some(b' ' | b'\n'))
    }

    /// Whether the dash of an item stands here.
    fn is_item(&self) -> bool {
        self.byte() == Some(b'-') && self.is_blank(self.at + 1)
    }

    fn skip_blanks(&mut self) {
        while self.byte() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Where the line break of this line stands, or the text ends.
    fn line_end(&self) -> usize {
        memchr(b'\n', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length)
    }

    /// Goes behind the line break.
    fn skip_line(&mut self) {
        self.at = (self.line_end() + 1).min(self.bytes.len());
    }

    /// Goes behind the line, in which nothing but a comment may follow.
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
