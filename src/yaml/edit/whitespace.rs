//! The text between nodes: blanks, line breaks, comments.

/// The first offset that is neither blank nor comment.
pub(super) fn skip(text: &str, from: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = from.min(bytes.len());
    while let Some(byte) = bytes.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => {
                at = bytes[at..]
                    .iter()
                    .position(|byte| matches!(byte, b'\n' | b'\r'))
                    .map_or(bytes.len(), |length| at + length);
            }
            0xEF if text[at..].starts_with('\u{feff}') => at += '\u{feff}'.len_utf8(),
            _ => break,
        }
    }
    at
}

/// The start of the line of an offset.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1)
}

/// The end of the line of an offset, after its line break.
pub(super) fn line_end(text: &str, at: usize, limit: usize) -> usize {
    text.as_bytes()
        .get(at..limit)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
        .map_or(limit, |length| at + length + 1)
}

/// Whether there are only blanks and line breaks.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// The bytes of the empty lines at the start.
pub(super) fn empty_lines(piece: &str) -> usize {
    let lines = piece.split_inclusive('\n');
    lines.take_while(|line| line.ends_with('\n') && is_blank(line)).map(str::len).sum()
}

/// The indentation of a line that is only a comment.
fn comment_column(line: &str) -> Option<usize> {
    let comment = line.trim_start_matches([' ', '\t']);
    comment.starts_with('#').then(|| line.len() - comment.len())
}

/// The comments below an entry: for each the end of its line, and the smallest indentation up to it.
/// Comments that change neither are omitted.
#[derive(Debug, Default)]
pub(super) struct CommentsBelow(Vec<(usize, usize)>);

impl CommentsBelow {
    /// Reads the lines of comments and blanks from an offset.
    pub(super) fn read(text: &str, from: usize, limit: usize) -> Self {
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut at = from;
        while at < limit {
            let next = line_end(text, at, limit);
            let line = &text[at..next];
            match (comment_column(line), found.last_mut()) {
                (Some(indent), Some((end, least))) if indent >= *least => *end = next,
                (Some(indent), _) => found.push((next, indent)),
                (None, _) if is_blank(line) => {}
                (None, _) => break,
            }
            at = next;
        }
        Self(found)
    }

    /// The end of an entry in a column: after the comments that are indented further.
    pub(super) fn tail(&self, from: usize, column: usize) -> usize {
        let inside = self.0.partition_point(|(_, indent)| *indent > column);
        inside.checked_sub(1).map_or(from, |last| self.0[last].0)
    }
}

/// The start of an entry whose line starts at an offset: with the comments right above it that are indented like
/// it is.
pub(super) fn top(text: &str, line: usize, column: usize, floor: usize) -> usize {
    let mut start = line;
    while start > floor {
        let above = line_start(text, start - 1);
        if above < floor || comment_column(&text[above..start]) != Some(column) {
            break;
        }
        start = above;
    }
    start
}

/// The maximum number of comment lines below a list; each list that ends there reads them.
const LIST_COMMENTS: usize = 256;

/// The end of an unindented list whose last line ends at an offset: after commented-out elements, or after all
/// comments directly below if it is the last entry.
pub(super) fn below_list(text: &str, from: usize, column: usize, is_last: bool, limit: usize) -> usize {
    let mut at = from;
    let mut lines = 0;
    // The indentation of the dashes in the comments.
    let mut dash = None;
    while at < limit {
        let next = line_end(text, at, limit);
        let line = &text[at..next];
        if comment_column(line).is_none_or(|indent| indent < column) {
            break;
        }
        let words = line.trim_start_matches([' ', '\t', '#']);
        let indent = line.len() - words.len();
        let is_element = words.starts_with("- ") && dash.is_none_or(|dash| dash == indent);
        let continues = dash.is_some_and(|dash| indent > dash) && !words.trim().is_empty();
        if !is_last && !is_element && !continues {
            break;
        }
        dash = dash.or(is_element.then_some(indent));
        at = next;
        lines += 1;
        if lines > LIST_COMMENTS {
            return from;
        }
    }
    at
}

/// The comment after the indicator of an entry or a block scalar header, with the blanks before it.
pub(super) fn comment_behind(line: &str) -> &str {
    let blank = |at: usize| line[..at].ends_with([' ', '\t']);
    let found = line.match_indices('#').map(|(at, _)| at).find(|at| blank(*at));
    found.map_or("", |at| line[line[..at].trim_end_matches([' ', '\t']).len()..].trim_end())
}

/// The comment in a part of a line that contains nothing else, with the blanks before it.
pub(super) fn comment(piece: &str) -> &str {
    let piece = piece.trim_end_matches(['\r', '\n', ' ', '\t']);
    if piece.trim_start_matches([' ', '\t']).starts_with('#') { piece } else { "" }
}
