//! What stands between nodes: blanks, line breaks, comments.

/// The first offset from here on that is neither blank nor comment.
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

/// Where the line of an offset starts.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().rposition(|byte| *byte == b'\n').map_or(0, |index| index + 1)
}

/// Where the line of an offset ends, its line break included.
pub(super) fn line_end(text: &str, at: usize, limit: usize) -> usize {
    text.as_bytes()
        .get(at..limit)
        .and_then(|rest| rest.iter().position(|byte| *byte == b'\n'))
        .map_or(limit, |length| at + length + 1)
}

/// Whether there is nothing but blanks and line breaks.
pub(super) fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))
}

/// How long the empty lines are that a piece starts with.
pub(super) fn empty_lines(piece: &str) -> usize {
    let lines = piece.split_inclusive('\n');
    lines.take_while(|line| line.ends_with('\n') && is_blank(line)).map(str::len).sum()
}

/// A line of nothing but a comment: how far it is indented.
fn comment_column(line: &str) -> Option<usize> {
    let comment = line.trim_start_matches([' ', '\t']);
    comment.starts_with('#').then(|| line.len() - comment.len())
}

/// The comments below an entry: for each where its line ends, and how far the least indented one up to it is
/// indented. Comments that change neither are left out.
#[derive(Debug, Default)]
pub(super) struct CommentsBelow(Vec<(usize, usize)>);

impl CommentsBelow {
    /// Reads the lines of comments and blanks from an offset on.
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

    /// Where an entry ends that starts in a column: behind the comments that are indented further.
    pub(super) fn tail(&self, from: usize, column: usize) -> usize {
        let inside = self.0.partition_point(|(_, indent)| *indent > column);
        inside.checked_sub(1).map_or(from, |last| self.0[last].0)
    }
}

/// Where an entry starts whose own line starts at an offset: with the comments right above it, indented as
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

/// So many lines of comments below a list are looked at: each of the lists that end there asks for them.
const LIST_COMMENTS: usize = 256;

/// Where a list ends that stands in the column of its key and whose last line ends at an offset: behind the comments
/// that are elements made comments, and behind all comments at once below it if nothing follows that they could be
/// about.
pub(super) fn below_list(text: &str, from: usize, column: usize, is_last: bool, limit: usize) -> usize {
    let mut at = from;
    let mut lines = 0;
    // How far the dash in the comments is indented.
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

/// The comment behind the indicator of an entry or the header of a text, with the blanks before it.
pub(super) fn comment_behind(line: &str) -> &str {
    let blank = |at: usize| line[..at].ends_with([' ', '\t']);
    let found = line.match_indices('#').map(|(at, _)| at).find(|at| blank(*at));
    found.map_or("", |at| line[line[..at].trim_end_matches([' ', '\t']).len()..].trim_end())
}

/// The comment in a piece of one line that holds nothing else, with the blanks before it.
pub(super) fn comment(piece: &str) -> &str {
    let piece = piece.trim_end_matches(['\r', '\n', ' ', '\t']);
    if piece.trim_start_matches([' ', '\t']).starts_with('#') { piece } else { "" }
}
