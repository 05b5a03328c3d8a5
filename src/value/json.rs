//! Parsing and formatting JSON.

use std::fmt::Write as _;
use std::ops::Range;

use super::{EscapeError, Map, Number, Value, json_escape};

/// The maximum nesting depth.
pub const MAX_DEPTH: usize = 256;

/// Why a text is not a JSON document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong, and what was expected.
    pub message: String,
    /// The offset in the text, in bytes.
    pub offset: usize,
}

/// Ranges in a text, in bytes.
pub type Places = Vec<Range<usize>>;

/// A parser of one JSON document.
#[derive(Debug)]
pub struct JsonReader<'a> {
    text: &'a str,
    offset: usize,
    depth: usize,
    last_wins: bool,
    /// The member of the root whose elements are not parsed.
    around: Option<String>,
    /// The ranges of these elements.
    places: Option<Places>,
}

impl<'a> JsonReader<'a> {
    /// A parser that refuses duplicate members.
    pub const fn new(text: &'a str) -> Self {
        Self { text, offset: 0, depth: 0, last_wins: false, around: None, places: None }
    }

    /// Makes the last of duplicate members win, as in Go's decoder.
    #[must_use]
    pub const fn last_wins(mut self) -> Self {
        self.last_wins = true;
        self
    }

    /// Parses the whole text as one document.
    ///
    /// # Errors
    ///
    /// Text that is not JSON, or nested deeper than [`MAX_DEPTH`].
    pub fn read(mut self) -> Result<Value, JsonError> {
        let value = self.value()?;
        self.blanks();
        if self.offset < self.text.len() {
            self.error("text after the end of the document")
        } else {
            Ok(value)
        }
    }

    /// Parses the whole text as one document, except for the elements of the root's list `name`: these are only validated,
    /// and their ranges are returned. `None` if there is no such list.
    ///
    /// # Errors
    ///
    /// Text that is not JSON, or nested deeper than [`MAX_DEPTH`].
    pub fn read_around(mut self, name: &str) -> Result<(Value, Option<Places>), JsonError> {
        self.around = Some(name.to_owned());
        let value = self.value()?;
        self.blanks();
        if self.offset < self.text.len() {
            return self.error("text after the end of the document");
        }
        Ok((value, self.places))
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, JsonError> {
        Err(JsonError { message: message.into(), offset: self.offset })
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.offset).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.offset += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.offset += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value, JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.nested(Self::members),
            Some(b'[') => self.nested(Self::elements),
            Some(b'"') => self.string().map(Value::from),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.error("expected a JSON value"),
            None => self.error("unexpected end of JSON input"),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, JsonError>) -> Result<Value, JsonError> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        self.offset += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn members(&mut self) -> Result<Value, JsonError> {
        let mut members = Map::default();
        self.blanks();
        if self.take(b'}') {
            return Ok(Value::object(members));
        }
        loop {
            self.blanks();
            let start = self.offset;
            if self.peek() != Some(b'"') {
                return self.error("expected a key in double quotes");
            }
            let key = self.string()?;
            self.blanks();
            if !self.take(b':') {
                return self.error("expected `:` after the key");
            }
            self.blanks();
            let is_skipped = self.depth == 1 && self.around.as_ref() == Some(&key);
            let value = if is_skipped && self.peek() == Some(b'[') {
                let mut places = Places::new();
                self.skip_nested(b']', Some(&mut places))?;
                self.places = Some(places);
                Value::array(Vec::new())
            } else {
                self.value()?
            };
            if members.insert(key.as_str().into(), value).is_some() && !self.last_wins {
                self.offset = start;
                return self.error(format!("duplicate key {key:?}"));
            }
            self.blanks();
            if self.take(b'}') {
                return Ok(Value::object(members));
            }
            if !self.take(b',') {
                return self.error("expected `,` or `}`");
            }
        }
    }

    fn elements(&mut self) -> Result<Value, JsonError> {
        let mut items = Vec::new();
        self.blanks();
        if self.take(b']') {
            return Ok(Value::array(items));
        }
        loop {
            items.push(self.value()?);
            self.blanks();
            if self.take(b']') {
                return Ok(Value::array(items));
            }
            if !self.take(b',') {
                return self.error("expected `,` or `]`");
            }
        }
    }

    /// Validates and skips a value.
    fn skip(&mut self) -> Result<(), JsonError> {
        self.blanks();
        match self.peek() {
            Some(b'{') => self.skip_nested(b'}', None),
            Some(b'[') => self.skip_nested(b']', None),
            _ => self.value().map(drop),
        }
    }

    /// Validates and skips an object or a list, and collects the ranges of its elements.
    fn skip_nested(&mut self, close: u8, mut places: Option<&mut Places>) -> Result<(), JsonError> {
        if self.depth == MAX_DEPTH {
            return self.error(format!("nested deeper than {MAX_DEPTH} levels"));
        }
        self.depth += 1;
        self.offset += 1;
        self.blanks();
        let mut is_over = self.take(close);
        while !is_over {
            self.blanks();
            if close == b'}' {
                if self.peek() != Some(b'"') {
                    return self.error("expected a key in double quotes");
                }
                self.string()?;
                self.blanks();
                if !self.take(b':') {
                    return self.error("expected `:` after the key");
                }
            }
            let start = self.offset;
            self.skip()?;
            if let Some(places) = &mut places {
                places.push(start..self.offset);
            }
            self.blanks();
            is_over = self.take(close);
            if !is_over && !self.take(b',') {
                let other = if close == b'}' { '}' } else { ']' };
                return self.error(format!("expected `,` or `{other}`"));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.text[self.offset..].starts_with(word) {
            return self.error("expected a JSON value");
        }
        self.offset += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let rest = &self.text[self.offset..];
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let Some(number) = Number::parse(&rest[..end]) else {
            return self.error("expected a number in the range of a 64-bit float");
        };
        self.offset += end;
        Ok(Value::Number(number))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.offset += 1;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.offset..];
            let Some(end) = rest.find(|c: char| matches!(c, '"' | '\\') || c < ' ') else {
                self.offset = self.text.len();
                return self.error("unexpected end of JSON input");
            };
            out.push_str(&rest[..end]);
            self.offset += end;
            match self.peek() {
                Some(b'"') => {
                    self.offset += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.offset += 1;
                    self.escape(&mut out)?;
                }
                _ => return self.error("control character in a string"),
            }
        }
    }

    fn escape(&mut self, out: &mut String) -> Result<(), JsonError> {
        match json_escape(&self.text[self.offset..]) {
            Ok((escaped, length)) => {
                self.offset += length;
                out.push(escaped);
                Ok(())
            }
            Err(EscapeError::Unknown) => self.error("unknown escape in a string"),
            Err(error @ EscapeError::Digits(at)) => {
                self.offset += at;
                self.error(error.to_string())
            }
        }
    }
}

/// How JSON is formatted.
#[derive(Clone, Copy, Debug)]
struct Style {
    /// Like Go's encoder: keys in byte order; `<`, `>`, `&` and line separators escaped.
    go: bool,
    /// Integers as 64-bit floats, too.
    floats: bool,
    /// Spaces per level; `None` for compact JSON.
    indent: Option<usize>,
}

impl Value {
    /// Compact JSON, keys in their own order.
    pub fn to_json(&self) -> String {
        self.json(Style { go: false, floats: false, indent: None })
    }

    /// Compact JSON like Go's encoder: sorted keys, `<`, `>` and `&` escaped.
    pub fn to_go_json(&self) -> String {
        self.json(Style { go: true, floats: false, indent: None })
    }

    /// [`Value::to_go_json`] with integers as 64-bit floats, too.
    pub fn to_go_float_json(&self) -> String {
        self.json(Style { go: true, floats: true, indent: None })
    }

    /// Indented JSON, keys in their own order, without a final newline.
    pub fn to_pretty_json(&self, indent: usize) -> String {
        self.json(Style { go: false, floats: false, indent: Some(indent) })
    }

    fn json(&self, style: Style) -> String {
        let mut out = String::new();
        write_value(&mut out, self, style, 0);
        out
    }
}

fn write_value(out: &mut String, value: &Value, style: Style, level: usize) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) if style.floats || style.go && !number.is_written_as_integer() => {
            // Go has parsed it as a float.
            let float = Number::from_f64(number.as_f64());
            let _ = write!(out, "{}", float.as_ref().unwrap_or(number));
        }
        Value::Number(number) => {
            let _ = write!(out, "{number}");
        }
        Value::String(text) => write_string(out, text, style),
        Value::Array(items) => {
            write_nested(out, style, level, ['[', ']'], items.len(), |out, index| {
                write_value(out, &items[index], style, level + 1);
            });
        }
        Value::Object(members) => {
            let mut entries: Vec<_> = members.iter().collect();
            if style.go {
                entries.sort_by(|a, b| a.0.cmp(b.0));
            }
            write_nested(out, style, level, ['{', '}'], entries.len(), |out, index| {
                let (key, value) = entries[index];
                write_string(out, key, style);
                out.push_str(if style.indent.is_some() { ": " } else { ":" });
                write_value(out, value, style, level + 1);
            });
        }
    }
}

fn write_nested(
    out: &mut String,
    style: Style,
    level: usize,
    [open, close]: [char; 2],
    count: usize,
    write_item: impl Fn(&mut String, usize),
) {
    let new_line = |out: &mut String, level: usize| {
        if let Some(indent) = style.indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * level));
        }
    };
    out.push(open);
    for index in 0..count {
        if index > 0 {
            out.push(',');
        }
        new_line(out, level + 1);
        write_item(out, index);
    }
    if count > 0 {
        new_line(out, level);
    }
    out.push(close);
}

fn write_string(out: &mut String, text: &str, style: Style) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' if style.go => out.push_str("\\b"),
            '\u{c}' if style.go => out.push_str("\\f"),
            c if c < ' ' || (style.go && matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trips() {
        for text in [
            "null",
            "true",
            r#"{"b":1,"a":[1.10,"x\ny",{}],"c":[]}"#,
            "12345678901234567890",
            r#""\"\\\u0001é😀""#,
        ] {
            assert_eq!(Value::from_json(text).unwrap().to_json(), text);
        }
    }

    #[test]
    fn go_sorts_keys_and_escapes_html() {
        let value = Value::from_json(r#"{"b":"<&>","a":1.0,"c":12345678901234567890}"#).unwrap();
        let expected = r#"{"a":1,"b":"\u003c\u0026\u003e","c":12345678901234567890}"#;
        assert_eq!(value.to_go_json(), expected);
    }

    #[test]
    fn pretty_json_is_indented() {
        let value = Value::from_json(r#"{"a":[1],"b":{}}"#).unwrap();
        assert_eq!(value.to_pretty_json(2), "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}");
    }

    #[test]
    fn errors_have_an_offset() {
        for (text, offset) in
            [("", 0), ("{", 1), ("[1,]", 3), (r#"{"a":1,"a":2}"#, 7), ("01", 0), ("[1] x", 4), ("\"\t\"", 1)]
        {
            let error = Value::from_json(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {error}");
        }
        assert!(JsonReader::new(r#"{"a":1,"a":2}"#).last_wins().read().is_ok());
    }

    #[test]
    fn nesting_is_bounded() {
        assert!(Value::from_json(&"[".repeat(100_000)).is_err());
        let deepest = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(Value::from_json(&deepest).is_ok());
    }

    #[test]
    fn surrogates_are_paired() {
        assert_eq!(Value::from_json(r#""\ud83d\ude00\ud83d""#).unwrap().as_str().unwrap(), "😀\u{fffd}");
    }
}
