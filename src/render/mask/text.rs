//! Secrets in the text of documents.

use std::ops::Range;
use std::sync::Arc;

use crate::report::ObjectReport;
use crate::secrets::{MASK, TaintedTexts};
use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits, Source, read};

use super::{Masked, mask_of};

/// A node with more members is covered as a whole: to find the place of one takes as long as there are others.
const MOST_MEMBERS: usize = 1000;

/// The objects of a document that hold secrets, with their masks.
#[derive(Debug)]
pub(in crate::render) struct Cover<'r>(Vec<(&'r Pointer, &'r ObjectReport, Masked)>);

impl<'r> Cover<'r> {
    /// The cover of a document with these objects at these places; `None` if nothing is secret.
    pub(in crate::render) fn of(
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)>,
    ) -> Option<Self> {
        let secret = |(pointer, report): (&'r Pointer, &'r ObjectReport)| {
            let masked = mask_of(report, &report.before, &report.after);
            let holds =
                !masked.texts.is_empty() || masked.before != report.before || masked.after != report.after;
            holds.then_some((pointer, report, masked))
        };
        let objects: Vec<_> = objects.filter_map(secret).collect();
        (!objects.is_empty()).then_some(Self(objects))
    }

    /// The text of the document as it was, with as many lines.
    pub(in crate::render) fn was(&self, document: &Document) -> String {
        self.text(document, |report, masked| (&report.before, &masked.before))
    }

    /// The text that the document becomes, with as many lines.
    pub(in crate::render) fn becomes(&self, text: &str) -> String {
        let source = Arc::new(Source::new("", text));
        let documents = read(&source, &Limits::unbounded()).unwrap_or_default();
        match documents.iter().find(|document| document.value().is_some()) {
            Some(document) => {
                let Range { start, end } = document.range().clone();
                let shown = self.text(document, |report, masked| (&report.after, &masked.after));
                format!("{}{shown}{}", &text[..start], &text[end..])
            }
            // What nobody can read might be anything.
            None => stand_in(text, MASK),
        }
    }

    fn text(
        &self,
        document: &Document,
        state: impl for<'s> Fn(&'s ObjectReport, &'s Masked) -> (&'s Value, &'s Value),
    ) -> String {
        let (text, base) = (document.text(), document.range().start);
        let within = |span: Range<usize>| {
            let at = |offset: usize| offset.saturating_sub(base).min(text.len());
            at(span.start)..at(span.end)
        };
        let mut spans = Vec::new();
        let mut zones = Vec::new();
        for (pointer, report, masked) in &self.0 {
            let (real, shown) = state(report, masked);
            let mut at = (*pointer).clone();
            hidden(&mut at, real, shown, &mut |at, part, mask| {
                let span = match part {
                    Part::Key => document.key_span(at),
                    Part::Node => document.span(at),
                };
                spans.extend(span.map(|span| (within(span), mask.to_owned())));
            });
            let end = document.span(pointer).map_or(0, |span| within(span).end);
            zones.push(Zone::new(end, &masked.texts));
        }
        spans.sort_by_key(|(span, _)| (span.start, usize::MAX - span.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (span, mask) in &spans {
            if span.start >= at {
                plain(text, at..span.start, &zones, &mut out);
                out.push_str(&stand_in(&text[span.clone()], mask));
                at = span.end;
            }
        }
        plain(text, at..text.len(), &zones, &mut out);
        out
    }
}

/// What of a member is meant.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Node,
}

/// The places below a node that are shown otherwise than they are.
fn hidden(at: &mut Pointer, real: &Value, shown: &Value, found: &mut impl FnMut(&Pointer, Part, &str)) {
    if real.same_storage(shown) {
        return;
    }
    match (real, shown) {
        (Value::Object(real), Value::Object(shown))
            if real.len() == shown.len() && real.len() <= MOST_MEMBERS =>
        {
            for ((key, real), (name, shown)) in real.iter().zip(shown.iter()) {
                at.push_key(key.clone());
                if name != key {
                    found(at, Part::Key, name);
                }
                hidden(at, real, shown, found);
                at.pop();
            }
        }
        (Value::Array(real), Value::Array(shown))
            if real.len() == shown.len() && real.len() <= MOST_MEMBERS =>
        {
            for (index, (real, shown)) in real.iter().zip(shown.iter()).enumerate() {
                at.push_index(index);
                hidden(at, real, shown, found);
                at.pop();
            }
        }
        (real, shown) if real == shown => {}
        (_, shown) => found(at, Part::Node, shown.as_str().unwrap_or(MASK)),
    }
}

/// What is looked for in text up to some offset.
struct Zone {
    end: usize,
    /// In comments.
    lines: TaintedTexts,
    /// Everywhere: what is no word, and so no name of a field.
    marked: TaintedTexts,
}

impl Zone {
    fn new(end: usize, texts: &TaintedTexts) -> Self {
        let is_word = |line: &str| line.bytes().all(|byte| byte.is_ascii_alphabetic());
        Self { end, lines: texts.lines(|_| true), marked: texts.lines(|line| !is_word(line)) }
    }

    /// A part of a text, redacted.
    fn write(&self, text: &str, part: Range<usize>, out: &mut String) {
        let mut at = part.start;
        for line in text[part].split_inclusive('\n') {
            let is_comment = |(offset, _): &(usize, &str)| {
                text[..at + offset].chars().next_back().is_none_or(char::is_whitespace)
            };
            let comment = line.match_indices('#').find(is_comment).map_or(line.len(), |(offset, _)| offset);
            for (texts, part) in [(&self.marked, &line[..comment]), (&self.lines, &line[comment..])] {
                match texts.redacted_message(part) {
                    Some(hidden) => out.push_str(&hidden),
                    None => out.push_str(part),
                }
            }
            at += line.len();
        }
    }
}

/// Writes text that is no value of a secret: comments may hold some all the same. Each zone ends at an offset and
/// knows its own secrets; the last one goes on.
fn plain(text: &str, piece: Range<usize>, zones: &[Zone], out: &mut String) {
    let mut at = piece.start;
    for (index, zone) in zones.iter().enumerate() {
        let end = if index + 1 == zones.len() { piece.end } else { zone.end.min(piece.end) };
        if end > at {
            zone.write(text, at..end, out);
            at = end;
        }
    }
    out.push_str(&text[at..piece.end.max(at)]);
}

/// A mask of as many lines as a text has.
fn stand_in(text: &str, mask: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        if index == 0 {
            out.push_str(mask);
        } else if !content.trim().is_empty() {
            out.push_str(&content[..content.len() - content.trim_start().len()]);
            out.push_str(MASK);
        } else if content.len() == line.len() {
            // What follows stands on the same line.
            out.push_str(content);
        }
        out.push_str(&line[content.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, becomes: &str) -> (String, String) {
        let source = Arc::new(Source::new("s.yaml", text));
        let documents = read(&source, &Limits::default()).unwrap();
        let again = Arc::new(Source::new("s.yaml", becomes));
        let after = read(&again, &Limits::default()).unwrap();
        let mut report = ObjectReport::untouched(documents[0].value().unwrap().clone());
        report.after = after[0].value().unwrap().clone();
        let root = Pointer::ROOT;
        let cover = Cover::of([(&root, &report)].into_iter()).unwrap();
        (cover.was(&documents[0]), cover.becomes(becomes))
    }

    #[test]
    fn secrets_are_covered_line_by_line() {
        let text = "kind: Secret # hunter2\nmetadata:\n  annotations: {copy: hunter2, \"x\": y}\ndata:\n  a: aHVudGVyMg== # c\n  \
                    b: >-\n    c2Vj\n    cmV0\nstringData: {c: \"d\", e: |\n f}\n";
        let text = text.replace(
            "stringData: {c: \"d\", e: |\n f}\n",
            "stringData:\n  c: \"d\"\n  e: |\n    f\n\n    g\n",
        );
        let becomes = text.replace("\"d\"", "other");
        let (old, new) = shown(&text, &becomes);
        assert_eq!(
            old,
            "kind: Secret # ***\nmetadata:\n  annotations: {copy: ***, \"x\": y}\ndata:\n  a: *** # c\n  b: >-\n    ***\n    ***\n\
             stringData:\n  c: *** (before)\n  e: |\n    ***\n\n    ***\n"
        );
        assert_eq!(new, old.replace("(before)", "(after)"));
    }

    #[test]
    fn keys_that_hold_secrets_are_covered_one_by_one() {
        let text = "kind: Secret\nstringData: {a: secret-text, b: other-text}\n\
                    other: {\"secret-te\\x78t\": 1, x/other-text: 2}\n\
                    map:\n  k: v\n  secret-text: other-text\n  ? >-\n    x other-text\n  : y\n  'other-text':\n    l: [secret-text]\n";
        let (old, _) = shown(text, text);
        assert_eq!(
            old,
            "kind: Secret\nstringData: {a: ***, b: ***}\nother: {***: 1, x/*** (2): 2}\n\
             map:\n  k: v\n  ***: ***\n  ? >-\n    x *** (2)\n  : y\n  *** (2):\n    l: [***]\n"
        );
    }

    #[test]
    fn what_holds_no_secret_has_no_cover() {
        let report =
            ObjectReport::untouched(Value::from_json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#).unwrap());
        assert!(Cover::of([(&Pointer::ROOT, &report)].into_iter()).is_none());
    }
}
