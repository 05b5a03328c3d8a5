//! JSON text as events: faster than as YAML, and with tabs.

use std::borrow::Cow;
use std::ops::Range;

use crate::value::{EscapeError, Number, Value, json_escape};

use super::ErrorKind;
use super::event::{EventReceiver, Kind, ReadError, Scalar};

/// Reads consecutive JSON values.
#[derive(Clone, Copy, Debug)]
pub(super) struct JsonText<'a> {
    text: &'a str,
    /// The end of the part.
    end: usize,
    offset: usize,
}

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Value,
    /// The first element or the end of a list.
    FirstElement,
    /// The first key or the end of an object.
    FirstKey,
    Key,
    /// A comma or the end of the innermost list or object.
    Comma,
}

impl<'a> JsonText<'a> {
    /// Reads a part of a source.
    pub(super) fn new(text: &'a str, part: Range<usize>) -> Self {
        Self { text, end: part.end, offset: part.start }
    }

    /// Skips blanks and comment lines; whether a list or an object follows, and where.
    pub(super) fn starts(&mut self) -> Option<usize> {
        self.blanks();
        while self.peek() == Some(b'#') {
            let rest = &self.text[self.offset..self.end];
            self.offset += rest.find(['\n', '\r']).unwrap_or(rest.len());
            self.blanks();
        }
        matches!(self.peek(), Some(b'{' | b'[')).then_some(self.offset)
    }

    /// The offset of unread text; `None` at the end.
    pub(super) fn rest(&self) -> Option<usize> {
        (self.offset < self.end).then_some(self.offset)
    }

    /// Reads one list or object.
    pub(super) fn read(&mut self, receiver: &mut impl EventReceiver) -> Result<(), ReadError> {
        let mut open = Vec::new();
        let mut next = Next::Value;
        loop {
            self.blanks();
            let start = self.offset;
            let Some(byte) = self.peek() else {
                self.offset = self.text[..self.end].trim_end().len();
                return self.error("the JSON text ends here, unfinished");
            };
            next = match (next, byte) {
                (Next::FirstElement | Next::Comma, b']') if open.last() == Some(&Kind::List) => {
                    self.close(&mut open, receiver)?
                }
                (Next::FirstKey | Next::Comma, b'}') if open.last() == Some(&Kind::Mapping) => {
                    self.close(&mut open, receiver)?
                }
                (Next::Comma, b',') => {
                    self.offset += 1;
                    if open.last() == Some(&Kind::List) { Next::Value } else { Next::Key }
                }
                (Next::Comma, _) => return self.error("expected `,` or the end of this list or object"),
                (Next::FirstKey | Next::Key, b'"') => {
                    let key = self.string()?;
                    receiver.scalar(Scalar::quoted(key), 0, start..self.offset)?;
                    self.blanks();
                    if self.peek() != Some(b':') {
                        return self.error("expected `:` behind the key");
                    }
                    self.offset += 1;
                    Next::Value
                }
                (Next::FirstKey | Next::Key, _) => return self.error("expected a key in double quotes"),
                (_, b'{') => {
                    receiver.open(Kind::Mapping, 0, start)?;
                    open.push(Kind::Mapping);
                    self.offset += 1;
                    Next::FirstKey
                }
                (_, b'[') => {
                    receiver.open(Kind::List, 0, start)?;
                    open.push(Kind::List);
                    self.offset += 1;
                    Next::FirstElement
                }
                (_, b'"') => {
                    let text = self.string()?;
                    receiver.scalar(Scalar::quoted(text), 0, start..self.offset)?;
                    Next::Comma
                }
                _ => {
                    let value = self.literal()?;
                    receiver.literal(value, start..self.offset)?;
                    Next::Comma
                }
            };
            if open.is_empty() {
                return Ok(());
            }
        }
    }

    fn close(&mut self, open: &mut Vec<Kind>, receiver: &mut impl EventReceiver) -> Result<Next, ReadError> {
        self.offset += 1;
        open.pop();
        receiver.close(self.offset)?;
        Ok(Next::Comma)
    }

    fn error<T>(&self, message: &str) -> Result<T, ReadError> {
        Err(ReadError { offset: self.offset, error: ErrorKind::syntax(message) })
    }

    fn peek(&self) -> Option<u8> {
        if self.offset < self.end { self.text.as_bytes().get(self.offset).copied() } else { None }
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.offset += 1;
        }
    }

    fn literal(&mut self) -> Result<Value, ReadError> {
        let rest = &self.text[self.offset..self.end];
        let end = rest
            .find(|c: char| !matches!(c, '0'..='9' | 'a'..='z' | 'E' | '+' | '-' | '.'))
            .unwrap_or(rest.len());
        let value = match &rest[..end] {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            text => match Number::parse(text) {
                Some(number) => Value::Number(number),
                None => return self.error("expected a JSON value"),
            },
        };
        self.offset += end;
        Ok(value)
    }

    /// Reads a string; without escapes it is borrowed.
    fn string(&mut self) -> Result<Cow<'a, str>, ReadError> {
        let opening = self.offset;
        self.offset += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.offset..self.end];
            let Some(end) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\') || byte < b' ') else {
                self.offset = opening;
                return self.error("this string has no end");
            };
            let part = &rest[..end];
            self.offset += end + 1;
            match rest.as_bytes().get(end) {
                Some(b'"') if out.is_empty() => return Ok(Cow::Borrowed(part)),
                Some(b'"') => {
                    out.push_str(part);
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    out.push_str(part);
                    self.escape(&mut out)?;
                }
                _ => {
                    self.offset -= 1;
                    return self.error("a control character in a JSON string");
                }
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), ReadError> {
        match json_escape(&self.text[self.offset..self.end]) {
            Ok((escaped, length)) => {
                self.offset += length;
                out.push(escaped);
                Ok(())
            }
            Err(EscapeError::Unknown) => self.error("unknown escape in a JSON string"),
            Err(error @ EscapeError::Digits(at)) => {
                self.offset += at;
                self.error(&error.to_string())
            }
        }
    }
}
