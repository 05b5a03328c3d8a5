//! Scalars in lines: plain ones and quoted ones.

use std::borrow::Cow;
use std::ops::Range;

use crate::yaml::event::{EventReceiver, Scalar, Style};

use super::Reader;

/// The start of a node.
#[derive(Debug)]
pub(super) enum Lead<'t> {
    /// A key, before its colon.
    Key(Found<'t>),
    Scalar(Found<'t>),
    /// A block scalar.
    Text,
    /// A list or mapping in brackets.
    Flow,
}

/// A scalar.
#[derive(Debug)]
pub(super) struct Found<'t> {
    text: Cow<'t, str>,
    style: Style,
    pub(super) at: Range<usize>,
}

/// The maximum bytes of a key; the parser has a limit for longer ones.
const LONGEST_KEY: usize = 256;

/// The bytes that may end a plain scalar.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    stops[b'\n' as usize] = true;
    stops[b'\t' as usize] = true;
    stops[b':' as usize] = true;
    stops[b'#' as usize] = true;
    stops
};

impl<'t, S: EventReceiver> Reader<'t, '_, S> {
    /// Reads the next scalar, or returns which other node starts here.
    pub(super) fn lead(&mut self) -> Option<Lead<'t>> {
        let found = match self.byte()? {
            b'|' | b'>' => return Some(Lead::Text),
            b'[' | b'{' => return Some(Lead::Flow),
            b'\'' | b'"' => self.quoted(self.column())?,
            _ => self.plain()?,
        };
        let is_key = self.byte() == Some(b':') && self.is_blank(self.at + 1);
        Some(if is_key { Lead::Key(found) } else { Lead::Scalar(found) })
    }

    /// The column of the innermost list or mapping.
    fn column(&self) -> Option<usize> {
        self.open.last().map(|holder| holder.column)
    }

    pub(super) fn emit_key(&mut self, found: Found<'t>) -> Option<()> {
        let is_line = found.style == Style::Plain || !self.bytes[found.at.clone()].contains(&b'\n');
        let is_line = is_line && found.at.len() <= LONGEST_KEY;
        is_line.then_some(())?;
        self.emit_scalar(found)
    }

    pub(super) fn emit_scalar(&mut self, found: Found<'t>) -> Option<()> {
        let Found { text, style, at } = found;
        self.node_style(style);
        let scalar = Scalar { text, plain: style == Style::Plain, tag: None };
        self.receiver.scalar(scalar, 0, self.base + at.start..self.base + at.end).ok()
    }

    fn plain(&mut self) -> Option<Found<'t>> {
        self.starts_plain().then_some(())?;
        self.plain_line()
    }

    /// The part of a plain scalar on this line.
    fn plain_line(&mut self) -> Option<Found<'t>> {
        let rest = &self.bytes[self.at..];
        let mut length = 0;
        loop {
            let stop = rest[length..].iter().position(|byte| STOPS[usize::from(*byte)]);
            length = stop.map_or(rest.len(), |stop| length + stop);
            match rest.get(length) {
                None | Some(b'\n') => break,
                Some(b':') if self.is_blank(self.at + length + 1) => break,
                Some(b'#') if length > 0 && rest[length - 1] == b' ' => break,
                Some(b'\t') => return None,
                Some(_) => length += 1,
            }
        }
        self.found_plain(self.at + length)
    }

    /// The plain scalar from here to an offset, or the blanks before that.
    pub(super) fn found_plain(&mut self, end: usize) -> Option<Found<'t>> {
        let text = self.text.get(self.at..end)?.trim_end_matches(' ');
        let at = self.at..self.at + text.len();
        // A colon after a blank is left to the parser.
        if self.bytes.get(end) == Some(&b':') && at.end < end {
            return None;
        }
        self.at = at.end;
        Some(Found { text: Cow::Borrowed(text), style: Style::Plain, at })
    }

    /// A plain scalar with its further lines.
    pub(super) fn continued(&mut self, found: Found<'t>) -> Option<Found<'t>> {
        let Found { mut text, style, mut at } = found;
        if style == Style::Plain
            && let Some(column) = self.column()
        {
            while let Some((start, breaks)) = self.next_line(self.at, column)
                && self.bytes[start] != b'#'
            {
                self.at = start;
                let line = self.plain_line()?;
                if self.byte() == Some(b':') {
                    return None;
                }
                fold(breaks, text.to_mut());
                text += line.text;
                at.end = line.at.end;
            }
        }
        Some(Found { text, style, at })
    }

    /// The start of the next line that is not empty, and the number of line breaks before it; `None` if this line continues,
    /// or if that one is not indented more than the column.
    fn next_line(&self, from: usize, column: usize) -> Option<(usize, usize)> {
        let skip = |mut at: usize| {
            while self.bytes.get(at) == Some(&b' ') {
                at += 1;
            }
            at
        };
        let (mut line, mut at, mut breaks) = (from, skip(from), 0);
        while self.bytes.get(at) == Some(&b'\n') {
            (line, breaks) = (at + 1, breaks + 1);
            at = skip(line);
        }
        (breaks > 0 && at < self.bytes.len() && at - line > column).then_some((at, breaks))
    }

    /// Whether a plain scalar certainly starts here.
    pub(super) fn starts_plain(&self) -> bool {
        match self.byte() {
            Some(b'-') => {
                self.bytes.get(self.at + 1).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'-')
            }
            Some(
                b'\t' | b' ' | b'\n' | b'?' | b':' | b',' | b'[' | b']' | b'{' | b'}' | b'#' | b'&' | b'*'
                | b'!' | b'|' | b'>' | b'\'' | b'"' | b'%' | b'@' | b'`',
            )
            | None => false,
            Some(_) => true,
        }
    }

    /// The quoted scalar that starts here; further lines must be indented more than the column, and without column there
    /// are none.
    pub(super) fn quoted(&mut self, column: Option<usize>) -> Option<Found<'t>> {
        let start = self.at;
        let quote = self.byte()?;
        let mut text = Cow::Borrowed("");
        // What of the text is in `text` already ends here.
        let mut from = start + 1;
        let mut at = from;
        loop {
            match *self.bytes.get(at)? {
                b'\t' => return None,
                b'\n' => {
                    text += self.text.get(from..at)?.trim_end_matches(' ');
                    let (next, breaks) = self.next_line(at, column?)?;
                    fold(breaks, text.to_mut());
                    at = next;
                    from = at;
                }
                byte if byte == quote => {
                    if quote == b'"' || self.bytes.get(at + 1) != Some(&quote) {
                        break;
                    }
                    text += self.text.get(from..=at)?;
                    at += 2;
                    from = at;
                }
                b'\\' if quote == b'"' => {
                    text += self.text.get(from..at)?;
                    text += match self.bytes.get(at + 1)? {
                        b' ' => " ",
                        b'n' => "\n",
                        b't' => "\t",
                        b'r' => "\r",
                        b'"' => "\"",
                        b'\\' => "\\",
                        b'/' => "/",
                        _ => return None,
                    };
                    at += 2;
                    from = at;
                }
                _ => at += 1,
            }
        }
        text += self.text.get(from..at)?;
        self.at = at + 1;
        let style = if quote == b'"' { Style::DoubleQuoted } else { Style::SingleQuoted };
        Some(Found { text, style, at: start..self.at })
    }
}

/// Adds folded line breaks.
fn fold(breaks: usize, text: &mut String) {
    if breaks == 1 {
        text.push(' ');
    } else {
        text.extend(std::iter::repeat_n('\n', breaks - 1));
    }
}
