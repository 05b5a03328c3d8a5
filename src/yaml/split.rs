//! Splitting streams into documents.
//!
//! A line that starts with `---` or `...` and a blank is always a marker, so no parser is
//! needed to find them, and an invalid document does not affect the next.

use std::ops::Range;

use memchr::{memchr, memchr2};

use super::Origin;

/// One document of a stream, uncut.
#[derive(Debug, PartialEq)]
pub(super) struct Chunk {
    /// Everything: leading comments, separator, document, end marker.
    pub(super) text: Range<usize>,
    /// The line it starts on.
    pub(super) line: usize,
    /// The document without its separators.
    pub(super) body: Range<usize>,
    /// The text to parse: the body with directives.
    pub(super) parsed: Range<usize>,
    /// The offset of invalid text after an end marker.
    pub(super) stray: Option<usize>,
}

impl Chunk {
    /// Its start.
    pub(super) const fn origin(&self) -> Origin {
        Origin { offset: self.text.start, line: self.line }
    }
}

/// The documents of a stream; their texts follow each other without a gap.
pub(super) fn chunks(text: &str) -> Chunks<'_> {
    chunks_from(text, Origin::START, has_lone_returns(text))
}

/// Those that follow a place where one starts.
pub(super) const fn chunks_from(text: &str, start: Origin, lone_returns: bool) -> Chunks<'_> {
    Chunks { text, offset: start.offset, line: start.line, lone_returns }
}

/// Whether a carriage return ends a line of the text on its own.
pub(super) fn has_lone_returns(text: &str) -> bool {
    memchr(b'\r', text.as_bytes()).is_some()
        && text.as_bytes().windows(2).any(|pair| pair[0] == b'\r' && pair[1] != b'\n')
}

#[derive(Debug)]
pub(super) struct Chunks<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
    lone_returns: bool,
}

/// The kind of a line.
enum Line {
    Blank,
    Directive,
    Start,
    End,
    Content,
}

impl Chunks<'_> {
    /// The end of the line that starts here, with its line break.
    #[inline]
    fn line_end(&self, start: usize) -> usize {
        let rest = &self.text.as_bytes()[start..];
        let end = if self.lone_returns { memchr2(b'\n', b'\r', rest) } else { memchr(b'\n', rest) };
        match end {
            Some(end) if rest[end..].starts_with(b"\r\n") => start + end + 2,
            Some(end) => start + end + 1,
            None => self.text.len(),
        }
    }
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let (start, first_line) = (self.offset, self.line);
        if start == self.text.len() {
            return None;
        }
        let mut at = start + bom(&self.text[start..]);
        let content_start = at;
        // Where the body starts, once it has.
        let mut body = None;
        let mut directives = false;
        let mut chunk = Chunk {
            text: start..self.text.len(),
            line: first_line,
            body: 0..self.text.len(),
            parsed: 0..0,
            stray: None,
        };
        while at < self.text.len() {
            // Inside a body only markers count, and they start with `-` or `.`, or with a byte order mark
            // where files were strung together.
            let next = self.line_end(at);
            let marked = matches!(self.text.as_bytes()[at], b'-' | b'.' | 0xEF);
            let line = &self.text[at..next];
            let kind = if body.is_none() || marked { kind(line, body.is_none()) } else { Line::Content };
            match kind {
                Line::Start if body.is_some() => {
                    chunk.text.end = at;
                    chunk.body.end = at;
                    break;
                }
                Line::Start => {
                    let marker = at + bom(line) + 3;
                    let rest = &self.text[marker..next];
                    let text = rest.trim_start_matches([' ', '\t']);
                    let blank = is_blank_or_comment(text);
                    let first = if blank { next } else { next - text.len() };
                    let first = first + bom(&self.text[first..]);
                    chunk.parsed.start = match (directives, blank) {
                        (true, _) => content_start,
                        (false, true) => first,
                        (false, false) => marker - 3,
                    };
                    body = Some(first);
                }
                Line::End => {
                    chunk.body.end = at;
                    chunk.text.end = next;
                    let rest = line[bom(line) + 3..].trim_start_matches([' ', '\t']);
                    chunk.stray = (!is_blank_or_comment(rest)).then(|| next - rest.len());
                    if body.is_none() {
                        body = Some(content_start);
                        chunk.parsed.start = content_start;
                    }
                    self.line += 1;
                    at = next;
                    break;
                }
                Line::Content if body.is_none() => {
                    body = Some(content_start);
                    chunk.parsed.start = content_start;
                }
                Line::Directive => directives = true,
                Line::Blank | Line::Content => {}
            }
            self.line += 1;
            at = next;
        }
        self.offset = at;
        if body.is_none() {
            chunk.parsed.start = content_start;
        }
        chunk.body.start = body.unwrap_or(content_start);
        chunk.body.end = chunk.body.end.max(chunk.body.start);
        chunk.parsed.end = chunk.body.end;
        // What follows an end marker belongs to the document it ended, unless a further one begins.
        if chunk.body.end < chunk.text.end && self.text[chunk.body.end..].starts_with("...") {
            self.absorb(&mut chunk);
        }
        Some(chunk)
    }
}

impl Chunks<'_> {
    fn absorb(&mut self, chunk: &mut Chunk) {
        let mut at = self.offset;
        let mut lines = 0;
        while at < self.text.len() {
            let next = self.line_end(at);
            if !matches!(kind(&self.text[at..next], true), Line::Blank) {
                return;
            }
            lines += 1;
            at = next;
        }
        self.offset = at;
        self.line += lines;
        chunk.text.end = at;
    }
}

/// The bytes of a byte order mark at the start.
fn bom(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

#[inline]
fn kind(line: &str, prefix: bool) -> Line {
    let text = &line[bom(line)..];
    let marker = text.get(..3);
    let separated = || text[3..].chars().next().is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | '\r'));
    match marker {
        Some("---") if separated() => Line::Start,
        Some("...") if separated() => Line::End,
        _ if prefix && text.starts_with('%') => Line::Directive,
        _ if prefix && is_blank_or_comment(text.trim_start_matches([' ', '\t'])) => Line::Blank,
        _ => Line::Content,
    }
}

/// Whether a line is empty from here on.
#[inline]
fn is_blank_or_comment(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['#', '\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Body and line of each document; the texts must add up to the stream.
    fn bodies(text: &str) -> Vec<(&str, usize)> {
        let found: Vec<_> = chunks(text).collect();
        let joined: String = found.iter().map(|chunk| &text[chunk.text.clone()]).collect();
        assert_eq!(joined, text);
        found.iter().map(|chunk| (&text[chunk.body.clone()], chunk.line)).collect()
    }

    #[test]
    fn separators_cut_in_all_their_forms() {
        for (text, expected) in [
            ("", vec![]),
            ("a: 1\n", vec![("a: 1\n", 1)]),
            ("---\na: 1\n---\nb: 2", vec![("a: 1\n", 1), ("b: 2", 3)]),
            ("a: 1\r\n---\r\nb: 2\r\n", vec![("a: 1\r\n", 1), ("b: 2\r\n", 2)]),
            ("a: 1\r---\rb: 2", vec![("a: 1\r", 1), ("b: 2", 2)]),
            ("--- # c\na: 1\n---\t\nb: 2\n", vec![("a: 1\n", 1), ("b: 2\n", 3)]),
            ("--- {a: 1}\n---  |\n x\n", vec![("{a: 1}\n", 1), ("|\n x\n", 2)]),
            ("a: 1\n...\nb: 2\n", vec![("a: 1\n", 1), ("b: 2\n", 3)]),
            ("a: 1\n...\n---\nb: 2\n", vec![("a: 1\n", 1), ("b: 2\n", 3)]),
            ("a: 1\n...\n\n# end\n", vec![("a: 1\n", 1)]),
            ("a: 1\n---\n", vec![("a: 1\n", 1), ("", 2)]),
            ("---\n---\na: 1\n---", vec![("", 1), ("a: 1\n", 2), ("", 4)]),
            ("# c\n---\na: 1\n", vec![("a: 1\n", 1)]),
            ("# c\n\n", vec![("# c\n\n", 1)]),
            ("%YAML 1.1\n---\na: 1\n", vec![("a: 1\n", 1)]),
            ("\u{feff}a: 1\n---\n\u{feff}b: 2\n", vec![("a: 1\n", 1), ("b: 2\n", 2)]),
            ("a: 1\n\u{feff}---\nb: 2\n", vec![("a: 1\n", 1), ("b: 2\n", 2)]),
            ("a: |\n  ---\n  b\n---a\n", vec![("a: |\n  ---\n  b\n---a\n", 1)]),
        ] {
            assert_eq!(bodies(text), expected, "{text:?}");
        }
    }

    #[test]
    fn directives_are_shown_to_the_parser() {
        let text = "\u{feff}# c\n%TAG ! !x\n---\na: 1\n...\n";
        let chunk = chunks(text).next().unwrap();
        assert_eq!(&text[chunk.parsed], "# c\n%TAG ! !x\n---\na: 1\n");
        assert_eq!(&text[chunk.body], "a: 1\n");
    }

    #[test]
    fn text_behind_an_end_marker_is_found() {
        assert_eq!(chunks("a: 1\n... b\n").next().unwrap().stray, Some(9));
        assert_eq!(chunks("a: 1\n... # b\n").next().unwrap().stray, None);
    }
}
