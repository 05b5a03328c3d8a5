//! What the text of a classic policy has beside its values: comments, and the form of long annotations.

use std::ops::Range;

use crate::value::{Pointer, Segment, Text, Value};
use crate::yaml::Document;

/// The comments of a policy, as they are written: those above it and those of its rules.
#[derive(Clone, Debug, Default)]
pub struct Comments {
    /// The lines above it.
    pub head: Vec<String>,
    /// For each rule the comments above it and in it, without `#`.
    rules: Vec<Vec<String>>,
    /// The annotations on several lines, by key: folded descriptions above all.
    annotations: Vec<(Text, Vec<String>)>,
}

impl Comments {
    /// The comments of the policy at a place of a document.
    pub fn of(document: &Document, at: &Pointer) -> Self {
        let head = if at.is_root() { head(document) } else { Vec::new() };
        let place = at.join(&Pointer::ROOT.key("spec").key("rules"));
        let Some(value) = document.value() else { return Self { head, ..Self::default() } };
        let count = value.pointed(&place).and_then(Value::as_array).map_or(0, <[Value]>::len);
        let start = document.key_span(&at.join(&Pointer::ROOT.key("spec"))).map_or(0, |key| key.end);
        let mut scalars = Vec::new();
        if let Some(policy) = value.pointed(at) {
            collect_scalars(document, policy, at, &mut scalars);
        }
        scalars.sort_by_key(|scalar| (scalar.start, scalar.end));
        let found = comments(document, &lines_of(document, at, &scalars), &scalars);
        let mut rules = Vec::new();
        let mut from = start;
        for index in 0..count {
            let is_last = index + 1 == count;
            // The last value: comments behind it are those above the next rule, but for one on its line.
            let span = document.span(&place.index(index)).unwrap_or(from..from);
            let inside = between(&scalars, |one| one.start < span.start, |one| one.end <= span.end);
            let end = inside.last().map_or(from, |scalar| line_end(document, scalar.end));
            let own = between(&found, |(offset, _)| *offset < from, |(offset, _)| *offset < end || is_last);
            rules.push(own.iter().map(|(_, text)| text.clone()).collect());
            from = end;
        }
        Self { head, rules, annotations: annotations(document, value, at) }
    }

    /// The annotations on several lines, by key: their lines as they are written, the later ones without indentation.
    pub(super) fn annotations(&self) -> &[(Text, Vec<String>)] {
        &self.annotations
    }

    /// Those of a rule.
    pub(super) fn of_rule(&self, pointer: &Pointer) -> Vec<String> {
        let Some(Segment::Index(index)) = pointer.segments().last() else { return Vec::new() };
        self.rules.get(*index).cloned().unwrap_or_default()
    }
}

/// The annotations of a policy that are scalars on several lines.
fn annotations(document: &Document, value: &Value, at: &Pointer) -> Vec<(Text, Vec<String>)> {
    let at = at.join(&Pointer::ROOT.key("metadata").key("annotations"));
    let members = value.pointed(&at).and_then(Value::as_object);
    let base = document.range().start;
    let lines = |key: &Text| {
        let at = at.key(key.clone());
        // From the colon on: the indicators of a block are not in its span.
        let (start, end) = (document.key_span(&at)?.end, document.span(&at)?.end);
        let (_, written) =
            document.text().get(start.checked_sub(base)?..end.checked_sub(base)?)?.split_once(':')?;
        let written = written.trim_start_matches(' ');
        // Without the line below, of which only the indentation is left.
        let end = written.trim_end().len();
        let end = written.get(end..)?.find('\n').map_or(written.len(), |line_end| end + line_end);
        let (first, rest) = written.get(..end)?.split_once('\n')?;
        let is_empty = |line: &&str| line.trim().is_empty();
        let indents = rest.lines().filter(|line| !is_empty(line));
        let indent = indents.map(|line| line.len() - line.trim_start_matches(' ').len()).min()?;
        let rest = rest.lines().map(|line| line.get(indent..).unwrap_or_default());
        Some(std::iter::once(first).chain(rest).map(|line| line.trim_end_matches('\r').to_owned()).collect())
    };
    members
        .into_iter()
        .flat_map(|members| members.iter())
        .filter_map(|(key, _)| Some((key.clone(), lines(key)?)))
        .collect()
}

/// The comments above a document.
fn head(document: &Document) -> Vec<String> {
    let lines = document.text().lines().filter(|line| line.trim() != "---");
    let lines = lines.skip_while(|line| line.trim().is_empty());
    lines.take_while(|line| line.starts_with('#')).map(str::to_owned).collect()
}

/// The lines of a policy, as offsets in the source: those of an item of a list end with its last value, and comments after
/// it that are indented like its members.
fn lines_of(document: &Document, at: &Pointer, scalars: &[Range<usize>]) -> Range<usize> {
    let all = document.range();
    let Some(span) = document.span(at).filter(|_| !at.is_root()) else { return all.clone() };
    let (base, text) = (all.start, document.text());
    let before = text.get(..span.start.saturating_sub(base)).unwrap_or_default();
    let start = base + before.rfind('\n').map_or(0, |index| index + 1);
    let indent = span.start - start;
    let last = scalars.iter().map(|scalar| scalar.end).filter(|end| *end <= span.end).max();
    let mut end = line_end(document, last.unwrap_or(span.start));
    let rest = text.get(end.saturating_sub(base)..).unwrap_or_default();
    for line in rest.split_inclusive('\n') {
        let own = line.trim_start();
        let is_own = own.starts_with('#') && line.len() - own.len() >= indent;
        if !own.is_empty() && !is_own {
            break;
        }
        end += line.len();
    }
    start..end
}

/// The comments in lines of a document with their offsets: lines of their own, and those behind values.
fn comments(document: &Document, lines: &Range<usize>, scalars: &[Range<usize>]) -> Vec<(usize, String)> {
    let base = document.range().start;
    let text = document.text();
    let is_in_text = |at: usize| {
        let before = scalars.partition_point(|scalar| scalar.start <= at);
        before.checked_sub(1).and_then(|last| scalars.get(last)).is_some_and(|scalar| at < scalar.end)
    };
    let is_behind_scalar = |line: usize, at: usize| {
        let before = scalars.partition_point(|scalar| scalar.end <= at);
        let last = before.checked_sub(1).and_then(|last| scalars.get(last));
        last.is_some_and(|scalar| {
            scalar.end > line
                && text.get(scalar.end - base..at - base).is_some_and(|gap| gap.trim().is_empty())
        })
    };
    let mut found = Vec::new();
    let mut offset = lines.start;
    let own_lines = text.get(lines.start - base..lines.end - base).unwrap_or_default();
    for line in own_lines.split_inclusive('\n') {
        let own = line.trim_start();
        let at = offset + line.len() - own.len();
        if own.starts_with('#') {
            if !is_in_text(at) {
                found.push((at, text_of(own)));
            }
        } else if let Some(behind) = line
            .match_indices(" #")
            .map(|(index, _)| index + 1)
            .find(|index| is_behind_scalar(offset, offset + index) && !is_in_text(offset + index))
        {
            found.push((offset + behind, text_of(line.get(behind..).unwrap_or_default())));
        }
        offset += line.len();
    }
    found
}

/// The items of a sorted list that come after those before a range and are inside of it.
fn between<T>(sorted: &[T], is_before: impl Fn(&T) -> bool, is_inside: impl Fn(&T) -> bool) -> &[T] {
    let rest = sorted.get(sorted.partition_point(is_before)..).unwrap_or_default();
    rest.get(..rest.partition_point(is_inside)).unwrap_or_default()
}

/// The end of the line of an offset.
fn line_end(document: &Document, offset: usize) -> usize {
    let base = document.range().start;
    let rest = document.text().get(offset.saturating_sub(base)..).unwrap_or_default();
    offset + rest.find('\n').unwrap_or(rest.len())
}

fn text_of(comment: &str) -> String {
    let text = comment.trim_start_matches('#').trim_end();
    text.strip_prefix(' ').unwrap_or(text).to_owned()
}

fn collect_scalars(document: &Document, value: &Value, at: &Pointer, found: &mut Vec<Range<usize>>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (key, member) in members.iter() {
                collect_scalars(document, member, &at.key(key.clone()), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect_scalars(document, item, &at.index(index), found);
            }
        }
        _ => found.extend(document.span(at)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::yaml::{Limits, Source, read};

    use super::*;

    #[test]
    fn policies_of_a_list_have_the_comments_of_their_own_lines() {
        let policy = |name: &str| {
            format!(
                "# above {name}\n- metadata: {{name: {name}}}\n  spec:\n    rules:\n    # rule of {name}\n    - name: r # behind\n    # after {name}\n\n"
            )
        };
        let text = format!("items:\n{}{}# end\n", policy("a"), policy("b"));
        let documents = read(&Arc::new(Source::new("list", text)), &Limits::default()).unwrap();
        let rule = Pointer::ROOT.key("spec").key("rules").index(0);
        for (index, name) in ["a", "b"].into_iter().enumerate() {
            let comments = Comments::of(&documents[0], &Pointer::ROOT.key("items").index(index));
            let expected = [format!("rule of {name}"), "behind".to_owned(), format!("after {name}")];
            assert_eq!(comments.of_rule(&rule), expected);
        }
    }
}
