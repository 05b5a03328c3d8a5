//! Secrets in the text of documents.

use std::ops::Range;
use std::sync::Arc;

use crate::report::ObjectReport;
use crate::secrets::{MASK, TaintedTexts};
use crate::value::{Pointer, Value};
use crate::yaml::{Document, Limits, Source, read};

use super::{Masked, mask_of};

/// Nodes with more members are masked as a whole: finding the span of a member takes time for each of the others.
const MAX_MEMBERS: usize = 1000;

/// The objects of a document that contain secrets, with their paths and masked states.
#[derive(Debug)]
pub(in crate::render) struct TextMasks<'r>(Vec<(&'r Pointer, &'r ObjectReport, Masked)>);

impl<'r> TextMasks<'r> {
    /// The masks of a document with these objects; `None` if nothing is secret.
    pub(in crate::render) fn of(
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)>,
    ) -> Option<Self> {
        let secret = |(pointer, report): (&'r Pointer, &'r ObjectReport)| {
            let masked = mask_of(report, &report.before, &report.after);
            let is_secret =
                !masked.texts.is_empty() || masked.before != report.before || masked.after != report.after;
            is_secret.then_some((pointer, report, masked))
        };
        let objects: Vec<_> = objects.filter_map(secret).collect();
        (!objects.is_empty()).then_some(Self(objects))
    }

    /// The masked text of the document before, with the same number of lines.
    pub(in crate::render) fn before(&self, document: &Document) -> String {
        self.text(document, |report, masked| (&report.before, &masked.before))
    }

    /// The masked new text of the document, with the same number of lines.
    pub(in crate::render) fn after(&self, text: &str) -> String {
        let source = Arc::new(Source::new("", text));
        let documents = read(&source, &Limits::unbounded()).unwrap_or_default();
        match documents.iter().find(|document| document.value().is_some()) {
            Some(document) => {
                let Range { start, end } = document.range().clone();
                let masked = self.text(document, |report, masked| (&report.after, &masked.after));
                format!("{}{masked}{}", &text[..start], &text[end..])
            }
            // Text that cannot be read could contain anything.
            None => mask_lines(text, MASK),
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
        let mut sections = Vec::new();
        for (pointer, report, masked) in &self.0 {
            let (real, masked_value) = state(report, masked);
            let mut at = (*pointer).clone();
            masked_parts(&mut at, real, masked_value, &mut |at, part, mask| {
                let span = match part {
                    Part::Key => document.key_span(at),
                    Part::Node => document.span(at),
                };
                spans.extend(span.map(|span| (within(span), Some(mask.to_owned()))));
            });
            // What an object is called is never masked, also where a policy made another value of it.
            for path in [&["apiVersion"][..], &["kind"], &["metadata", "name"], &["metadata", "namespace"]] {
                if real.path(path).is_some_and(|value| value.as_str().is_some()) {
                    let at = path.iter().fold((*pointer).clone(), |at, key| at.key(*key));
                    spans.extend(document.span(&at).map(|span| (within(span), None)));
                }
            }
            let end = document.span(pointer).map_or(0, |span| within(span).end);
            sections.push(Section::new(end, &masked.texts));
        }
        spans.sort_by_key(|(span, _)| (span.start, usize::MAX - span.end));
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        for (span, mask) in &spans {
            if span.start >= at {
                write_plain(text, at..span.start, &sections, &mut out);
                let part = &text[span.clone()];
                out.push_str(&mask.as_ref().map_or_else(|| part.to_owned(), |mask| mask_lines(part, mask)));
                at = span.end;
            }
        }
        write_plain(text, at..text.len(), &sections, &mut out);
        out
    }
}

/// A part of a member.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Node,
}

/// Calls a function with the path, the part and the mask of all masked parts below a node.
fn masked_parts(
    at: &mut Pointer,
    real: &Value,
    masked: &Value,
    found: &mut impl FnMut(&Pointer, Part, &str),
) {
    if real.same_storage(masked) {
        return;
    }
    match (real, masked) {
        (Value::Object(real), Value::Object(masked))
            if real.len() == masked.len() && real.len() <= MAX_MEMBERS =>
        {
            for ((key, real), (masked_key, masked)) in real.iter().zip(masked.iter()) {
                at.push_key(key.clone());
                if masked_key != key {
                    found(at, Part::Key, masked_key);
                }
                masked_parts(at, real, masked, found);
                at.pop();
            }
        }
        (Value::Array(real), Value::Array(masked))
            if real.len() == masked.len() && real.len() <= MAX_MEMBERS =>
        {
            for (index, (real, masked)) in real.iter().zip(masked.iter()).enumerate() {
                at.push_index(index);
                masked_parts(at, real, masked, found);
                at.pop();
            }
        }
        (real, masked) if real == masked => {}
        (_, masked) => found(at, Part::Node, masked.as_str().unwrap_or(MASK)),
    }
}

/// A part of a text with the secrets of one object.
struct Section {
    end: usize,
    /// Masked in comments.
    in_comments: TaintedTexts,
    /// Masked everywhere: all but single words, which may be names of fields.
    everywhere: TaintedTexts,
}

impl Section {
    fn new(end: usize, texts: &TaintedTexts) -> Self {
        let is_word = |line: &str| line.bytes().all(|byte| byte.is_ascii_alphabetic());
        Self { end, in_comments: texts.lines(|_| true), everywhere: texts.lines(|line| !is_word(line)) }
    }

    /// Writes a range of a text, masked.
    fn write(&self, text: &str, range: Range<usize>, out: &mut String) {
        let mut at = range.start;
        for line in text[range].split_inclusive('\n') {
            let is_comment = |(offset, _): &(usize, &str)| {
                text[..at + offset].chars().next_back().is_none_or(char::is_whitespace)
            };
            let comment = line.match_indices('#').find(is_comment).map_or(line.len(), |(offset, _)| offset);
            for (texts, part) in [(&self.everywhere, &line[..comment]), (&self.in_comments, &line[comment..])]
            {
                match texts.redacted_message(part) {
                    Some(masked) => out.push_str(&masked),
                    None => out.push_str(part),
                }
            }
            at += line.len();
        }
    }
}

/// Writes text between the values of secrets, in which comments may contain some all the same. The last section has no
/// end.
fn write_plain(text: &str, range: Range<usize>, sections: &[Section], out: &mut String) {
    let mut at = range.start;
    for (index, section) in sections.iter().enumerate() {
        let end = if index + 1 == sections.len() { range.end } else { section.end.min(range.end) };
        if end > at {
            section.write(text, at..end, out);
            at = end;
        }
    }
    out.push_str(&text[at..range.end.max(at)]);
}

/// A mask with as many lines as a text.
fn mask_lines(text: &str, mask: &str) -> String {
    let mut out = String::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        if index == 0 {
            out.push_str(mask);
        } else if !content.trim().is_empty() {
            out.push_str(&content[..content.len() - content.trim_start().len()]);
            out.push_str(MASK);
        } else if content.len() == line.len() {
            // Text follows on the same line.
            out.push_str(content);
        }
        out.push_str(&line[content.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(before: &str, after: &str) -> (String, String) {
        let read = |text| read(&Arc::new(Source::new("s.yaml", text)), &Limits::default()).unwrap().remove(0);
        let document = read(before);
        let mut report = ObjectReport::untouched(document.value().unwrap().clone());
        report.after = read(after).value().unwrap().clone();
        let root = Pointer::ROOT;
        let masks = TextMasks::of([(&root, &report)].into_iter()).unwrap();
        (masks.before(&document), masks.after(after))
    }

    #[test]
    fn secrets_are_masked_line_by_line() {
        let text = "kind: Secret # hunter2\nmetadata:\n  annotations: {copy: hunter2, \"x\": y}\ndata:\n  a: aHVudGVyMg== # c\n  \
                    b: >-\n    c2Vj\n    cmV0\nstringData:\n  c: \"d\"\n  e: |\n    f\n\n    g\n";
        let (old, new) = masked(text, &text.replace("\"d\"", "other"));
        assert_eq!(
            old,
            "kind: Secret # ***\nmetadata:\n  annotations: {copy: ***, \"x\": y}\ndata:\n  a: *** # c\n  b: >-\n    ***\n    ***\n\
             stringData:\n  c: *** (before)\n  e: |\n    ***\n\n    ***\n"
        );
        assert_eq!(new, old.replace("(before)", "(after)"));
    }

    #[test]
    fn keys_that_contain_secrets_are_masked_one_by_one() {
        let text = "kind: Secret\nstringData: {a: secret-text, b: other-text}\n\
                    other: {\"secret-te\\x78t\": 1, x/other-text: 2}\n\
                    map:\n  k: v\n  secret-text: other-text\n  ? >-\n    x other-text\n  : y\n  'other-text':\n    l: [secret-text]\n";
        let (old, _) = masked(text, text);
        assert_eq!(
            old,
            "kind: Secret\nstringData: {a: ***, b: ***}\nother: {***: 1, x/*** (2): 2}\n\
             map:\n  k: v\n  ***: ***\n  ? >-\n    x *** (2)\n  : y\n  *** (2):\n    l: [***]\n"
        );
    }

    #[test]
    fn names_of_objects_are_not_masked() {
        let text = "kind: Secret\nmetadata: {name: tgt1, namespace: ns-1, labels: {a: tgt1, b: ns-1}}\n\
                    stringData:\n  a: tgt1\n  b: ns-1\n";
        let (old, _) = masked(text, text);
        assert_eq!(
            old,
            "kind: Secret\nmetadata: {name: tgt1, namespace: ns-1, labels: {a: ***, b: ***}}\n\
             stringData:\n  a: ***\n  b: ***\n"
        );
    }

    #[test]
    fn documents_without_secrets_have_no_masks() {
        let report =
            ObjectReport::untouched(Value::from_json(r#"{"kind":"ConfigMap","data":{"a":"b"}}"#).unwrap());
        assert!(TextMasks::of([(&Pointer::ROOT, &report)].into_iter()).is_none());
    }
}
