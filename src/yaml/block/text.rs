//! Block scalars: lines below `|` or `>`.

use memchr::memchr;

use crate::yaml::event::{Chomping, EventReceiver, Scalar, Style};

use super::Reader;

/// The lines so far.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    folded: bool,
    /// Empty lines since the last line.
    empty: usize,
    /// Whether there is a line, and whether it starts with a blank.
    last: Option<bool>,
}

impl Lines {
    #[inline]
    fn add(&mut self, line: &str) {
        let is_indented = line.starts_with([' ', '\t']);
        match self.last {
            None => {}
            Some(false) if self.folded && !is_indented && self.empty == 0 => self.text.push(' '),
            Some(false) if self.folded && !is_indented => {}
            Some(_) => self.text.push('\n'),
        }
        self.add_empty();
        self.text.push_str(line);
        self.last = Some(is_indented);
    }

    #[inline]
    fn add_empty(&mut self) {
        self.text.extend(std::iter::repeat_n('\n', std::mem::take(&mut self.empty)));
    }

    fn finish(mut self, chomping: Chomping) -> String {
        if chomping != Chomping::Strip {
            self.text.push('\n');
        }
        if chomping == Chomping::Keep {
            self.add_empty();
        }
        self.text
    }
}

impl<S: EventReceiver> Reader<'_, '_, S> {
    /// Emits the block scalar whose header is here, in a list or mapping at a column.
    pub(super) fn block_scalar(&mut self, column: usize) -> Option<()> {
        let mut lines = Lines { folded: self.byte() == Some(b'>'), ..Lines::default() };
        self.at += 1;
        let chomping = match self.byte()? {
            b'-' => Chomping::Strip,
            b'+' => Chomping::Keep,
            _ => Chomping::Clip,
        };
        self.at += usize::from(chomping != Chomping::Clip);
        self.skip_blanks();
        (self.byte()? == b'\n').then_some(())?;
        self.at += 1;
        let mut widest = 0;
        let indent = loop {
            let start = self.at;
            self.skip_blanks();
            let blanks = self.at - start;
            if self.byte()? != b'\n' {
                break blanks;
            }
            widest = widest.max(blanks);
            lines.empty += 1;
            self.at += 1;
        };
        // No or unclear indentation.
        if indent <= column || widest > indent || self.byte()? == b'\t' {
            return None;
        }
        let start = self.at;
        let end = loop {
            // A last line without line break is left to the parser, which adds one.
            let length = memchr(b'\n', &self.bytes[self.at..])?;
            lines.add(self.text.get(self.at..self.at + length)?);
            self.at += length + 1;
            if let Some(end) = self.end_of_text(indent, &mut lines.empty)? {
                break end;
            }
        };
        self.node_style(Style::BlockScalar);
        let scalar = Scalar { text: lines.finish(chomping).into(), plain: false, tag: None };
        self.receiver.scalar(scalar, 0, self.base + start..self.base + end).ok()
    }

    /// Goes to the next line, after its indentation, and counts empty lines. At the end of the block scalar, returns its
    /// end and goes to the start of the line after it.
    fn end_of_text(&mut self, indent: usize, empty: &mut usize) -> Option<Option<usize>> {
        loop {
            let start = self.at;
            while self.at - start < indent && self.byte() == Some(b' ') {
                self.at += 1;
            }
            let blanks = self.at - start;
            match self.byte() {
                Some(b'\n') => {
                    *empty += 1;
                    self.at += 1;
                }
                Some(b'\t') if blanks < indent => return None,
                Some(_) if blanks == indent => return Some(None),
                None if blanks > 0 => return None,
                _ => {
                    let end = self.at;
                    self.at = start;
                    return Some(Some(end));
                }
            }
        }
    }
}
