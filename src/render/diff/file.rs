//! The diff of a file: its own lines, before and after.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::render::mask::TextMasks;
use crate::report::ObjectReport;
use crate::value::{Pointer, Segment};
use crate::yaml::{Document, Limits, Source, read};

use super::attribution::{DocumentLines, attributed};
use super::hunk::{Change, Changes};
use super::lines::{Edit, edits, lines};
use super::name::header_name;
use super::{DiffStyle, dry_run_text, object_name, patched_by};

/// The suffix of the name of a file whose diff must not be applied.
const MASKED: &str = "(masked)";

/// A document of a file, before and after.
#[derive(Debug)]
pub(in crate::render) struct DocumentDiff {
    range: Range<usize>,
    /// The new text, if it changes.
    new: Option<String>,
    /// Both texts with masked secrets, line by line, if they hold secrets.
    masked: Option<String>,
    new_masked: Option<String>,
    /// The changed lines, counted from the start of the document.
    edits: Vec<Edit>,
    /// The rules behind each edit, for annotated diffs.
    rules: Vec<Vec<String>>,
    objects: Vec<ChangedObject>,
    /// The results of dry runs of its objects.
    server_dry_runs: String,
}

/// An object that changes.
#[derive(Debug)]
struct ChangedObject {
    name: String,
    /// Its first byte in the file.
    start: usize,
    rules: Vec<String>,
}

impl DocumentDiff {
    /// Compares a document with its new text, if it changes; its objects come with their paths.
    pub(in crate::render) fn new<'r>(
        document: &Document,
        new: Option<String>,
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)> + Clone,
        style: &DiffStyle,
    ) -> Self {
        let masks = TextMasks::of(objects.clone());
        let edits = new.as_deref().map_or_else(Vec::new, |new| edits(&lines(document.text()), &lines(new)));
        let changed = objects.filter(|(_, report)| report.is_changed());
        let start = object_starts(document);
        let mut diff = Self {
            range: document.range().clone(),
            masked: masks.as_ref().map(|masks| masks.before(document)),
            new_masked: masks.as_ref().zip(new.as_deref()).map(|(masks, new)| masks.after(new)),
            new,
            rules: vec![Vec::new(); edits.len()],
            edits,
            objects: Vec::new(),
            server_dry_runs: String::new(),
        };
        if style.annotate {
            diff.attribute(document, changed.clone());
        }
        for (pointer, report) in changed {
            diff.server_dry_runs.push_str(&dry_run_text(report, style));
            diff.objects.push(ChangedObject {
                name: object_name(report),
                start: start(pointer),
                rules: if style.annotate { patched_by(report) } else { Vec::new() },
            });
        }
        diff
    }

    /// Finds the rules behind each edit.
    fn attribute<'r>(
        &mut self,
        document: &Document,
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)>,
    ) {
        let Some(new) = &self.new else { return };
        let source = Arc::new(Source::new("", new.as_str()));
        let documents = read(&source, &Limits::unbounded()).unwrap_or_default();
        let Some(after) = documents.iter().find(|document| document.value().is_some()) else { return };
        // The text may have lines above the document, such as comments.
        let above = new[..after.range().start].matches('\n').count();
        let shift = |lines: &Range<usize>| lines.start.saturating_sub(above)..lines.end.saturating_sub(above);
        let shifted = self.edits.iter().map(|edit| Edit { old: edit.old.clone(), new: shift(&edit.new) });
        let shifted: Vec<Edit> = shifted.collect();
        let lines = (&DocumentLines::new(document), &DocumentLines::new(after));
        for (pointer, report) in objects {
            let names = patched_by(report);
            for (edit, numbers) in attributed(lines, (pointer, report), &shifted) {
                let names = numbers.into_iter().filter_map(|number| names.get(number)).cloned();
                self.rules[edit].extend(names);
            }
        }
    }
}

/// Finds the first byte of an object of a document. The items of a list are located all at once.
fn object_starts(document: &Document) -> impl Fn(&Pointer) -> usize {
    let list = Pointer::ROOT.key("items");
    let items = OnceCell::new();
    let spans = move || document.element_spans(&Pointer::ROOT.key("items")).unwrap_or_default().0;
    move |pointer| match pointer.segments() {
        [] => document.range().start,
        [_, Segment::Index(index)] if list.contains(pointer) => {
            let items: &Vec<Range<usize>> = items.get_or_init(spans);
            items.get(*index).map_or(document.range().start, |item| item.start)
        }
        _ => document.nearest_position(pointer).offset,
    }
}

/// The diff of a file, made from those of its documents.
#[derive(Debug)]
pub(in crate::render) struct FileDiff {
    source: Arc<Source>,
    /// The documents that change or hold secrets.
    documents: Vec<DocumentDiff>,
}

impl FileDiff {
    /// The diff of a text, without a document so far.
    pub(in crate::render) const fn new(source: Arc<Source>) -> Self {
        Self { source, documents: Vec::new() }
    }

    /// Adds the next document.
    pub(in crate::render) fn push(&mut self, document: DocumentDiff) {
        if document.new.is_some() || document.masked.is_some() {
            self.documents.push(document);
        }
    }

    /// Whether a document changes.
    pub(in crate::render) fn is_changed(&self) -> bool {
        self.documents.iter().any(|document| document.new.is_some())
    }

    /// The diff of a changed file, and whether masks of secrets in it keep it from being applied.
    pub(in crate::render) fn finish(self, path: &Path, style: &DiffStyle) -> (String, bool) {
        let text = self.source.text();
        let real = lines(text);
        let masked = self.text(0..text.len(), State::Before, true);
        let old = lines(&masked);
        let line_start = |end: &mut usize, line: &&str| {
            *end += line.len();
            Some(*end - line.len())
        };
        let line_starts: Vec<usize> = real.iter().scan(0, line_start).collect();
        let regions = self.regions();
        let mut changes = Vec::new();
        for region in &regions {
            self.add_changes(region, &line_starts, &mut changes);
        }
        let mut body = String::new();
        let is_masked = Changes { old: &old, real: &real, changes }.print(style, &mut body);
        let suffix = if is_masked { MASKED } else { "" };
        let mut out = String::with_capacity(body.len() + 256);
        for (sign, prefix) in [("---", "a"), ("+++", "b")] {
            let name = header_name(prefix, path, suffix);
            style.palette.paint("1", &format!("{sign} {name}\n"), &mut out);
        }
        out.push_str(&body);
        self.documents.iter().for_each(|document| out.push_str(&document.server_dry_runs));
        (out, is_masked)
    }

    /// A range of the text with its documents in one state, masked or not.
    fn text(&self, range: Range<usize>, state: State, is_masked: bool) -> Cow<'_, str> {
        let text = self.source.text();
        let mut out = String::new();
        let mut copied = range.start;
        for document in self.within(&range) {
            let (real, masked) = match &document.new {
                Some(_) if state == State::After => (document.new.as_ref(), document.new_masked.as_ref()),
                _ => (None, document.masked.as_ref()),
            };
            if let Some(replacement) = masked.filter(|_| is_masked).or(real) {
                out.push_str(&text[copied..document.range.start]);
                out.push_str(replacement);
                copied = document.range.end;
            }
        }
        if copied == range.start {
            return Cow::Borrowed(&text[range]);
        }
        out.push_str(&text[copied..range.end]);
        Cow::Owned(out)
    }

    /// The documents in a range, which contains each of them as a whole or not at all.
    fn within(&self, range: &Range<usize>) -> &[DocumentDiff] {
        let first = self.documents.partition_point(|document| document.range.start < range.start);
        let end = self.documents.partition_point(|document| document.range.end <= range.end);
        self.documents.get(first..end).unwrap_or_default()
    }

    /// The changed documents as whole lines, together with others on the same lines.
    fn regions(&self) -> Vec<Region<'_>> {
        let text = self.source.text();
        let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
        for document in &self.documents {
            let Range { start, end } = document.range;
            let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let ends_line = end == first || text[..end].ends_with('\n');
            let last =
                if ends_line { end } else { text[end..].find('\n').map_or(text.len(), |at| end + at + 1) };
            match ranges.last_mut() {
                Some((range, changes)) if range.end > first => {
                    range.end = range.end.max(last);
                    *changes |= document.new.is_some();
                }
                _ => ranges.push((first..last, document.new.is_some())),
            }
        }
        let changed = ranges.into_iter().filter(|(_, changes)| *changes);
        changed.map(|(range, _)| self.region(range)).collect()
    }

    fn region(&self, range: Range<usize>) -> Region<'_> {
        match self.within(&range) {
            [DocumentDiff { range: whole, new: Some(new), new_masked, edits, rules, .. }]
                if *whole == range =>
            {
                Region {
                    range,
                    new: Cow::Borrowed(new),
                    masked: Cow::Borrowed(new_masked.as_ref().unwrap_or(new)),
                    edits: Cow::Borrowed(edits),
                    rules,
                }
            }
            _ => {
                let new = self.text(range.clone(), State::After, false);
                let edits = edits(&lines(&self.source.text()[range.clone()]), &lines(&new));
                let masked = self.text(range.clone(), State::After, true);
                Region { range, new, masked, edits: Cow::Owned(edits), rules: &[] }
            }
        }
    }

    /// Adds the changes of a region.
    fn add_changes<'a>(
        &'a self,
        region: &'a Region<'a>,
        line_starts: &[usize],
        changes: &mut Vec<Change<'a>>,
    ) {
        let line_of = |offset: usize| line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let first = line_starts.partition_point(|start| *start < region.range.start);
        let objects = self.within(&region.range).iter().flat_map(|document| &document.objects);
        let objects: Vec<_> = objects.map(|object| (line_of(object.start), object)).collect();
        let (new, masked) = (lines(&region.new), lines(&region.masked));
        for (index, edit) in region.edits.iter().enumerate() {
            let old = edit.old.start + first..edit.old.end + first;
            let line = if old.is_empty() { old.start.saturating_sub(1) } else { old.start };
            let at = objects.partition_point(|(start, _)| *start <= line).saturating_sub(1);
            let object = objects.get(at).map(|(_, object)| *object);
            changes.push(Change {
                old,
                new: masked[edit.new.clone()].to_vec(),
                masked: new[edit.new.clone()] != masked[edit.new.clone()],
                object: object.map_or("", |object| &object.name),
                rules: match region.rules.get(index) {
                    Some(rules) if !rules.is_empty() => rules,
                    _ => object.map_or(&[], |object| &object.rules),
                },
            });
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    After,
}

/// Whole lines with changed documents.
struct Region<'a> {
    range: Range<usize>,
    /// The new text.
    new: Cow<'a, str>,
    /// The new text with masked secrets.
    masked: Cow<'a, str>,
    /// The changed lines, counted from the start of the region.
    edits: Cow<'a, [Edit]>,
    /// The rules behind each edit.
    rules: &'a [Vec<String>],
}
