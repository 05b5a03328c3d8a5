//! Changed folded block scalars: lines whose words are unchanged are kept.

use crate::yaml::quote;

use super::writer::indent;

/// Header and lines of a text folded like the old one; `None` if it cannot be folded.
///
/// `written` is the old text from its header on, whose lines are indented up to `column`.
pub(super) fn folded(text: &str, written: &str, column: usize, newline: &str) -> Option<(String, String)> {
    let (header, body) = written.split_once('\n').filter(|_| written.starts_with('>'))?;
    let header = header.split(" #").next()?.trim_end();
    if header.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let content = text.strip_suffix('\n').unwrap_or(text);
    let blank = [' ', '\t'];
    // Lines that start with a blank are not folded, and blanks at the end of one are easily lost.
    let is_plain = |paragraph: &str| paragraph.trim_matches(blank).len() == paragraph.len();
    let edges = content.is_empty() || content.starts_with('\n') || content.ends_with('\n');
    if edges
        || !content.split('\n').all(is_plain)
        || !content.chars().all(|c| c == '\n' || quote::is_printable(c))
    {
        return None;
    }
    let lines: Vec<&str> =
        body.lines().map(|line| line.get(column..).unwrap_or_default().trim_end()).collect();
    if lines.iter().any(|line| line.starts_with(blank)) {
        return None;
    }
    let old: Vec<&[&str]> =
        lines.split(|line| line.is_empty()).filter(|paragraph| !paragraph.is_empty()).collect();
    let is_wrapped = old.iter().any(|paragraph| paragraph.len() > 1);
    let longest = lines.iter().map(|line| line.len()).max().unwrap_or(0);
    let width = if is_wrapped { longest } else { usize::MAX };
    let mut out = String::with_capacity(written.len() + text.len());
    let mut put = |line: &str| {
        if !line.is_empty() {
            indent(column, &mut out);
            out.push_str(line);
        }
        out.push_str(newline);
    };
    let mut number = 0;
    for (index, paragraph) in content.split('\n').enumerate() {
        if index > 0 {
            put("");
        }
        if paragraph.is_empty() {
            continue;
        }
        let same = old.iter().copied().find(|lines| lines.join(" ") == paragraph);
        match same {
            Some(lines) => lines.iter().for_each(|line| put(line)),
            None => wrapped(paragraph, old.get(number).copied().unwrap_or_default(), width)
                .into_iter()
                .for_each(&mut put),
        }
        number += 1;
    }
    Some((if text.ends_with('\n') { ">" } else { ">-" }.to_owned(), out))
}

/// The lines of a paragraph: those of the old one where they fit at its start and its end, and between them lines
/// of at most some length.
fn wrapped<'t>(paragraph: &'t str, old: &[&str], width: usize) -> Vec<&'t str> {
    let mut rest = paragraph;
    let mut lines = Vec::new();
    for line in old {
        let behind = rest.strip_prefix(line).and_then(|rest| rest.strip_prefix(' '));
        let Some(behind) = behind.filter(|behind| !behind.is_empty() && !behind.starts_with(' ')) else {
            break;
        };
        lines.push(&rest[..line.len()]);
        rest = behind;
    }
    let mut last = Vec::new();
    for line in old[lines.len()..].iter().rev() {
        let before = rest.strip_suffix(line).and_then(|rest| rest.strip_suffix(' '));
        let Some(before) = before.filter(|before| !before.is_empty() && !before.ends_with(' ')) else {
            break;
        };
        last.push(&rest[rest.len() - line.len()..]);
        rest = before;
    }
    while let Some(at) = break_of(rest, width) {
        lines.push(&rest[..at]);
        rest = &rest[at + 1..];
    }
    lines.push(rest);
    lines.extend(last.into_iter().rev());
    lines
}

/// The last single blank before a width, else the first after it; `None` if the text fits.
fn break_of(text: &str, width: usize) -> Option<usize> {
    if text.len() <= width {
        return None;
    }
    let bytes = text.as_bytes();
    let alone = |at: &usize| bytes[at - 1] != b' ' && bytes.get(at + 1).is_some_and(|next| *next != b' ');
    let blanks = text.match_indices(' ').map(|(at, _)| at).filter(|at| *at > 0).filter(alone);
    let mut found = None;
    for at in blanks {
        if at > width {
            return found.or(Some(at));
        }
        found = Some(at);
    }
    found
}
