//! Named texts.

use std::iter;
use std::sync::OnceLock;

use memchr::{memchr2, memchr2_iter, memrchr2};

use super::{ErrorKind, Limit, Limits, Origin, Position, SyntaxError};

/// The maximum number of characters of an excerpt.
const MAX_EXCERPT_CHARS: usize = 120;

/// The number of bytes that hold so many characters, and a part of one.
const MAX_EXCERPT_BYTES: usize = 4 * (MAX_EXCERPT_CHARS + 1);

/// Room for more bytes than these, from reading in pieces, is given back.
const SPARE_BYTES: usize = 1 << 20;

/// The number of bytes between two places whose lines and columns are kept.
const BLOCK: usize = 16 * 1024;

/// A named text.
#[derive(Debug)]
pub struct Source {
    name: String,
    text: String,
    /// The number of its first line: not 1 for a part of a longer text.
    first_line: usize,
    /// The position of the first character of each block, counted at the first use.
    blocks: OnceLock<Vec<Position>>,
}

impl Source {
    /// Names a text.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into(), first_line: 1, blocks: OnceLock::new() }
    }

    /// Names a text that is not decoded yet.
    ///
    /// # Errors
    ///
    /// Text that is not UTF-8, at its first invalid byte.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, SyntaxError> {
        Self::part_from_bytes(name, bytes, Origin::START)
    }

    /// As [`Source::from_bytes`], for the part of a longer text that starts at an origin. Offsets are those of the part,
    /// lines those of the text; an error names the byte of the text.
    ///
    /// # Errors
    ///
    /// As [`Source::from_bytes`].
    pub fn part_from_bytes(
        name: impl Into<String>,
        bytes: Vec<u8>,
        start: Origin,
    ) -> Result<Self, SyntaxError> {
        let utf16 = bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]);
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                if text.capacity() - text.len() > SPARE_BYTES {
                    text.shrink_to_fit();
                }
                Ok(Self { first_line: start.line, ..Self::new(name, text) })
            }
            Err(error) => {
                let offset = error.utf8_error().valid_up_to();
                let kind = if utf16 && start.offset == 0 {
                    ErrorKind::Utf16
                } else {
                    ErrorKind::Utf8 { offset: start.offset + offset }
                };
                let text = String::from_utf8_lossy(error.as_bytes());
                let readable = Self { first_line: start.line, ..Self::new(name, text) };
                Err(readable.error(readable.start(), offset, kind))
            }
        }
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The position of an offset.
    pub fn position(&self, offset: usize) -> Position {
        self.position_from(self.start(), offset)
    }

    /// Its start.
    pub(super) const fn start(&self) -> Origin {
        Origin { offset: 0, line: self.first_line }
    }

    /// The line of an offset, counted from an origin before it.
    pub(super) fn origin_from(&self, origin: Origin, offset: usize) -> Origin {
        let bytes = self.text.as_bytes();
        let breaks = (origin.offset..offset.min(bytes.len())).filter(|index| ends_line(bytes, *index));
        Origin { offset, line: origin.line + breaks.count() }
    }

    /// The position of an offset, counted from an origin before it or from the start of its block.
    pub(super) fn position_from(&self, origin: Origin, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        if offset.saturating_sub(origin.offset) > BLOCK
            && let Some(before) = self.blocks().get(offset / BLOCK)
        {
            return self.counted(*before, offset);
        }
        let start = line_start(self.text.as_bytes(), origin.offset.min(offset));
        self.counted(Position { line: origin.line, column: 1, offset: start }, offset)
    }

    /// The position of an offset, counted from a position before it.
    fn counted(&self, from: Position, offset: usize) -> Position {
        let bytes = self.text.as_bytes();
        let Position { mut line, mut column, offset: mut start } = from;
        for index in memchr2_iter(b'\n', b'\r', &bytes[start..offset]).map(|index| from.offset + index) {
            if ends_line(bytes, index) {
                (line, column, start) = (line + 1, 1, index + 1);
            }
        }
        let rest = &self.text[start..offset];
        let rest = if column == 1 { rest.trim_start_matches('\u{feff}') } else { rest };
        Position { line, column: column + rest.chars().count(), offset }
    }

    fn blocks(&self) -> &[Position] {
        self.blocks.get_or_init(|| {
            let first = Position { line: self.first_line, column: 1, offset: 0 };
            let starts =
                (1..=self.text.len() / BLOCK).map(|block| self.text.floor_char_boundary(block * BLOCK));
            let counted = starts.scan(first, |last, offset| {
                *last = self.counted(*last, offset);
                Some(*last)
            });
            iter::once(first).chain(counted).collect()
        })
    }

    /// The error for a text of too many bytes.
    pub fn too_large(&self, limits: &Limits) -> SyntaxError {
        self.error(self.start(), 0, ErrorKind::Limit { limit: Limit::Bytes, maximum: limits.bytes })
    }

    /// The error for too many documents, at the first one beyond the limit.
    pub(super) fn too_many(&self, origin: Origin, offset: usize, limits: &Limits) -> SyntaxError {
        self.error(origin, offset, ErrorKind::Limit { limit: Limit::Documents, maximum: limits.documents })
    }

    /// An error at an offset; at the end of the text, after its last character.
    pub(super) fn error(&self, origin: Origin, offset: usize, kind: ErrorKind) -> SyntaxError {
        let end = self.text.trim_end_matches(['\n', '\r']).len();
        let offset = if offset >= self.text.len() { end } else { offset };
        let position = self.position_from(origin, offset);
        SyntaxError { name: self.name().into(), position, kind, excerpt: excerpt(self, &position).into() }
    }
}

/// Whether a line ends with this byte.
fn ends_line(bytes: &[u8], index: usize) -> bool {
    bytes[index] == b'\n' || (bytes[index] == b'\r' && bytes.get(index + 1) != Some(&b'\n'))
}

/// Where the line begins that an offset is in.
fn line_start(bytes: &[u8], offset: usize) -> usize {
    memrchr2(b'\n', b'\r', &bytes[..offset]).map_or(0, |index| index + 1)
}

/// The line at a position with a caret under its column, without a final newline.
///
/// Long lines are cut around the column, control characters are replaced.
pub fn excerpt(source: &Source, position: &Position) -> String {
    underlined(source, position, 0)
}

/// The same with carets under that many bytes of the line, at least one.
pub fn underlined(source: &Source, position: &Position, bytes_marked: usize) -> String {
    let text = source.text();
    let offset = text.floor_char_boundary(position.offset);
    let bytes = text.as_bytes();
    let first = text.floor_char_boundary(offset.saturating_sub(MAX_EXCERPT_BYTES));
    let start = first + line_start(&bytes[first..], offset - first);
    let last = text.floor_char_boundary(offset.saturating_add(MAX_EXCERPT_BYTES.max(bytes_marked)));
    let end = memchr2(b'\n', b'\r', &bytes[offset..last]).map_or(last, |length| offset + length);
    let mut before: Vec<char> = text[start..offset].chars().rev().take(MAX_EXCERPT_CHARS).collect();
    let mut after: Vec<char> = text[offset..end].chars().take(MAX_EXCERPT_CHARS).collect();
    if text[start..end].chars().nth(MAX_EXCERPT_CHARS).is_some() {
        before.truncate((MAX_EXCERPT_CHARS / 2).max(MAX_EXCERPT_CHARS - after.len()));
        after.truncate(MAX_EXCERPT_CHARS - before.len());
    }
    let bytes_of = |part: &[char]| part.iter().map(|c| c.len_utf8()).sum::<usize>();
    let marked = text.get(offset..end.min(offset.saturating_add(bytes_marked)));
    let marked = marked.map_or(1, |marked| marked.trim_end().chars().count().clamp(1, after.len().max(1)));
    let head = if bytes_of(&before) < offset - start { "…" } else { "" };
    let tail = if bytes_of(&after) < end - offset { "…" } else { "" };
    before.retain(|c| *c != '\u{feff}');
    let gutter = position.line.to_string();
    let mut line = format!("{gutter} | {head}");
    let mut caret = format!("{:1$} | {2}", "", gutter.len(), if head.is_empty() { "" } else { " " });
    for c in before.iter().rev() {
        line.push(shown(*c));
        caret.push(if *c == '\t' { '\t' } else { ' ' });
    }
    line.extend(after.iter().map(|c| shown(*c)));
    line.push_str(tail);
    caret.extend(iter::repeat_n('^', marked));
    format!("{}\n{caret}", line.trim_end_matches(' '))
}

/// A character that a terminal can print.
fn shown(c: char) -> char {
    match c {
        '\t' => '\t',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}' => '\u{fffd}',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_code_points() {
        let source = Source::new("a.yaml", "\u{feff}é: 1\r\nb: ß2\rc: 3");
        for (part, line, column) in [("é", 1, 1), ("1", 1, 4), ("b", 2, 1), ("2", 2, 5), ("c", 3, 1)] {
            let at = source.position(source.text().find(part).unwrap());
            assert_eq!((at.line, at.column), (line, column), "{part}");
        }
    }

    #[test]
    fn positions_in_long_texts_are_those_counted_from_the_start() {
        let lines =
            ["a: é\r\n".repeat(BLOCK / 4), "ß".repeat(BLOCK), "\r\u{feff}x\n\n".repeat(BLOCK / 4)].concat();
        let source = Source::new("a.yaml", lines);
        let (mut line, mut column) = (1, 1);
        let mut previous = ' ';
        for (offset, c) in source.text().char_indices() {
            if previous == '\n' || (previous == '\r' && c != '\n') {
                (line, column) = (line + 1, 1);
            }
            if offset % 5 == 0 {
                assert_eq!(source.position(offset), Position { line, column, offset });
            }
            column += usize::from(c != '\u{feff}');
            previous = c;
        }
    }

    #[test]
    fn the_caret_is_below_the_column() {
        let source = Source::new("a.yaml", "x: 1\n\ta: ü b: c\u{1b}[31m\n");
        let at = source.position(source.text().find("b:").unwrap());
        assert_eq!(excerpt(&source, &at), "2 | \ta: ü b: c␛[31m\n  | \t     ^");
    }

    #[test]
    fn a_part_of_a_line_is_underlined() {
        let source = Source::new("a.yaml", "a: {{ ü.b }}\nc: d\n");
        let at = source.position(source.text().find('ü').unwrap());
        assert_eq!(underlined(&source, &at, "ü.b".len()), "1 | a: {{ ü.b }}\n  |       ^^^");
        assert_eq!(underlined(&source, &at, 100), "1 | a: {{ ü.b }}\n  |       ^^^^^^");
    }

    #[test]
    fn long_lines_are_cut_around_the_column() {
        let source = Source::new("a.yaml", format!("{}!{}", "a".repeat(1000), "b".repeat(1000)));
        let shown = excerpt(&source, &source.position(1000));
        let (line, caret) = shown.split_once('\n').unwrap();
        assert_eq!(line, format!("1 | …{}!{}…", "a".repeat(60), "b".repeat(59)));
        assert_eq!(line.chars().position(|c| c == '!'), Some(caret.chars().count() - 1));
        for offset in [0, 10, 1990, 2001] {
            let shown = excerpt(&source, &source.position(offset));
            assert!(shown.lines().all(|line| line.chars().count() <= MAX_EXCERPT_CHARS + 8), "{shown}");
        }
    }

    #[test]
    fn text_that_is_not_utf_8_is_rejected_with_its_position() {
        let error = Source::from_bytes("a.yaml", b"a: 1\nb: \xffx\n".to_vec()).unwrap_err();
        assert_eq!((error.position().line, error.position().column, error.position().offset), (2, 4, 8));
        let error = Source::from_bytes("a.yaml", b"\xff\xfea\0".to_vec()).unwrap_err();
        assert!(error.to_string().contains("UTF-16"), "{error}");
    }
}
