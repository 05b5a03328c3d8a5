//! Nodes of a document: their pointers, the lines that they take, and the comments around them.

use std::ops::Range;

use kyv::value::{Pointer, Segment, Value};
use kyv::yaml::Document;

/// All places of a value, its root first, children after their parents.
pub(crate) fn all_pointers(value: &Value) -> Vec<Pointer> {
    let mut found = Vec::new();
    collect(value, &mut Pointer::default(), &mut found);
    found
}

/// The node a pointer leads to, to be changed.
pub(crate) fn node_mut<'v>(value: &'v mut Value, pointer: &Pointer) -> Option<&'v mut Value> {
    pointer.segments().iter().try_fold(value, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut()?.get_mut(key),
        Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
    })
}

/// The whole lines that a node takes, with its key and with the header of a text of several lines.
pub(crate) fn lines_of(document: &Document, at: &Pointer) -> Option<Range<usize>> {
    let text = document.source().text();
    let span = document.span(at)?;
    let start = document.key_span(at)?.start.min(span.start);
    // Blanks and line breaks before a node are its header's, where it has one.
    let start = start.min(text[..span.start].trim_end().len());
    let start = text[..start].rfind('\n').map_or(0, |line| line + 1);
    let from = span.end.max(start);
    let is_ended = from > start && text[..from].ends_with('\n');
    let rest =
        if is_ended { 0 } else { text[from..].find('\n').map_or(text.len() - from, |length| length + 1) };
    Some(start..from + rest)
}

/// The same with the comments and empty lines above it.
pub(crate) fn with_above(document: &Document, lines: Range<usize>) -> Range<usize> {
    let text = document.source().text();
    let mut start = lines.start;
    while start > 0 {
        let above = text[..start - 1].rfind('\n').map_or(0, |line| line + 1);
        let line = text[above..start].trim();
        if !line.is_empty() && !line.starts_with('#') {
            break;
        }
        start = above;
    }
    start..lines.end
}

/// The same with the comments and empty lines below it.
pub(crate) fn with_below(document: &Document, lines: Range<usize>) -> Range<usize> {
    let text = document.source().text();
    let below = text[lines.end..].split_inclusive('\n');
    let below = below.take_while(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    lines.start..lines.end + below.map(str::len).sum::<usize>()
}

/// All comments of a document, with the offsets in its source at which they start.
pub(crate) fn comments(document: &Document) -> Vec<(usize, &str)> {
    let text = document.source().text();
    let mut scalars: Vec<Range<usize>> = Vec::new();
    for at in document.value().map(all_pointers).unwrap_or_default() {
        let value = document.value().and_then(|value| value.pointed(&at));
        let is_scalar = value.is_some_and(|value| value.as_array().is_none() && value.as_object().is_none());
        scalars
            .extend(document.key_span(&at).filter(|_| matches!(at.segments().last(), Some(Segment::Key(_)))));
        scalars.extend(document.span(&at).filter(|_| is_scalar));
    }
    scalars.sort_by_key(|span| span.start);
    let range = document.range();
    let mut found: Vec<(usize, &str)> = Vec::new();
    let mut from = range.start;
    while let Some(at) = text[from..range.end].find('#').map(|at| from + at) {
        let next = scalars.partition_point(|span| span.start <= at);
        let inside = scalars[..next].last().is_some_and(|span| at < span.end);
        if inside || !(at == range.start || text[..at].ends_with([' ', '\t', '\n', '\u{feff}'])) {
            from = at + 1;
            continue;
        }
        from = text[at..range.end].find('\n').map_or(range.end, |length| at + length);
        found.push((at, text[at..from].trim_end()));
    }
    found
}

/// The comments of one document that another one lacks; those in a part of the source may go.
pub(crate) fn lost_comments<'d>(was: &'d Document, is: &Document, part: &Range<usize>) -> Vec<&'d str> {
    let mut kept: Vec<&str> = comments(is).into_iter().map(|(_, comment)| comment).collect();
    let must_stay = comments(was).into_iter().filter(|(at, _)| !part.contains(at));
    let is_lost = |comment: &&str| match kept.iter().position(|other| other == comment) {
        Some(index) => {
            kept.swap_remove(index);
            false
        }
        None => true,
    };
    must_stay.map(|(_, comment)| comment).filter(is_lost).collect()
}

/// Whether a change of a node concerns other users of an anchor: it holds one or an alias, or is reached through one.
pub(crate) fn is_shared(document: &Document, at: &Pointer, part: &Range<usize>) -> bool {
    let text = document.source().text();
    let signs = |piece: &str| {
        let bytes = piece.as_bytes();
        piece.match_indices(['&', '*']).any(|(at, _)| {
            at.checked_sub(1).is_none_or(|above| b" \t\n-[{,:".contains(&bytes[above]))
                && bytes.get(at + 1).is_some_and(|next| !b" \t\r\n".contains(next))
        })
    };
    if text.get(part.clone()).is_none_or(signs) {
        return true;
    }
    let mut pointer = at.clone();
    while !pointer.is_root() {
        // The text between the key of a node and its content.
        let (Some(key), Some(span)) = (document.key_span(&pointer), document.span(&pointer)) else {
            return true;
        };
        let is_alias = text[span.start..].starts_with('*');
        if is_alias || span.start < key.start || text.get(key.start..span.start).is_some_and(signs) {
            return true;
        }
        pointer = pointer.parent();
    }
    false
}

fn collect(value: &Value, at: &mut Pointer, found: &mut Vec<Pointer>) {
    found.push(at.clone());
    match value {
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            at.push_index(index);
            collect(item, at, found);
            at.pop();
        }),
        Value::Object(members) => members.iter().for_each(|(key, member)| {
            at.push_key(key.clone());
            collect(member, at, found);
            at.pop();
        }),
        _ => {}
    }
}
