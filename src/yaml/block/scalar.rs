//! Scalars of one line.

use std::borrow::Cow;
use std::ops::Range;

use crate::yaml::event::{Form, Scalar, Sink};

use super::Reader;

/// What starts somewhere in a line.
#[derive(Debug)]
pub(super) enum Lead<'t> {
    /// A key; its colon comes next.
    Key(Found<'t>),
    Scalar(Found<'t>),
    /// A text of the lines below.
    Text,
    /// A list or mapping in brackets.
    Flow,
}

/// A scalar that was found.
#[derive(Debug)]
pub(super) struct Found<'t> {
    text: Cow<'t, str>,
    form: Form,
    pub(super) at: Range<usize>,
}

/// Longer keys are left to the parser, which has a limit for them.
const LONGEST_KEY: usize = 256;

/// The bytes that a plain scalar may end before.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    stops[b'\n' as usize] = true;
    stops[b'\t' as usize] = true;
    stops[b':' as usize] = true;
    stops[b'#' as usize] = true;
    stops
};

impl<'t, S: Sink> Reader<'t, '_, S> {
    /// What starts here, and goes behind it if it is a scalar.
    pub(super) fn lead(&mut self) -> Option<Lead<'t>> {
        let found = match self.byte()? {
            b'|' | b'>' => return Some(Lead::Text),
            b'[' | b'{' => return Some(Lead::Flow),
            b'\'' | b'"' => self.quoted()?,
            _ => self.plain()?,
        };
        let is_key = self.byte() == Some(b':') && self.is_blank(self.at + 1);
        Some(if is_key { Lead::Key(found) } else { Lead::Scalar(found) })
    }

    pub(super) fn tell_key(&mut self, found: Found<'t>) -> Option<()> {
        if found.at.len() > LONGEST_KEY {
            return None;
        }
        self.tell_scalar(found)
    }

    pub(super) fn tell_scalar(&mut self, found: Found<'t>) -> Option<()> {
        let Found { text, form, at } = found;
        self.look(form);
        let scalar = Scalar { text, plain: form == Form::Plain, tag: None };
        self.sink.scalar(scalar, 0, self.base + at.start..self.base + at.end).ok()
    }

    fn plain(&mut self) -> Option<Found<'t>> {
        let start = self.at;
        self.starts_plain().then_some(())?;
        let rest = &self.bytes[start..];
        let mut length = 0;
        loop {
            length += rest[length..]
                .iter()
                .position(|byte| STOPS[usize::from(*byte)])
                .unwrap_or(rest.len() - length);
            match rest.get(length) {
                None | Some(b'\n') => break,
                Some(b':') if self.is_blank(start + length + 1) => break,
                Some(b'#') if rest[length - 1] == b' ' => break,
                Some(b'\t') => return None,
                Some(_) => length += 1,
            }
        }
        self.found_plain(start + length)
    }

    /// The plain scalar from here to an offset, or the blanks before that.
    pub(super) fn found_plain(&mut self, end: usize) -> Option<Found<'t>> {
        let text = self.text.get(self.at..end)?.trim_end_matches(' ');
        let at = self.at..self.at + text.len();
        // A colon behind a blank is for the parser.
        if self.bytes.get(end) == Some(&b':') && at.end < end {
            return None;
        }
        self.at = at.end;
        Some(Found { text: Cow::Borrowed(text), form: Form::Plain, at })
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

    pub(super) fn quoted(&mut self) -> Option<Found<'t>> {
        let start = self.at;
        let quote = self.byte()?;
        let mut text = Cow::Borrowed("");
        // What of the text is in `text` already ends here.
        let mut from = start + 1;
        let mut at = from;
        loop {
            match *self.bytes.get(at)? {
                b'\n' | b'\t' => return None,
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
        let form = if quote == b'"' { Form::Double } else { Form::Single };
        Some(Found { text, form, at: start..self.at })
    }
}
