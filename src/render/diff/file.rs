//! The diff of a file: its own lines, as they are and as they become.

use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::render::mask::Cover;
use crate::report::ObjectReport;
use crate::value::{Pointer, Segment};
use crate::yaml::{Document, Limits, Source, read};

use super::attribution::{DocumentLines, attributed};
use super::hunk::{Change, Changes};
use super::lines::{Edit, edits, lines};
use super::name::written;
use super::{DiffStyle, dry_run_text, object_name, patched_by};

/// What is put behind the name of a file whose diff must not be applied.
const MASKED: &str = "(masked)";

/// A document of a file with what becomes of it.
#[derive(Debug)]
pub struct FilePart {
    range: Range<usize>,
    /// The text it becomes, if it changes.
    new: Option<String>,
    /// Both texts with placeholders for secrets, line by line, if they hold secrets.
    shown: Option<String>,
    new_shown: Option<String>,
    /// What differs, in lines of the document.
    edits: Vec<Edit>,
    /// The rules behind each of these, for annotated diffs.
    rules: Vec<Vec<String>>,
    objects: Vec<Changed>,
    /// The results of dry runs of its objects.
    server_dry_runs: String,
}

/// An object that changes.
#[derive(Debug)]
struct Changed {
    name: String,
    /// Where it starts, in bytes of the file.
    start: usize,
    rules: Vec<String>,
}

impl FilePart {
    /// A document with its objects and where they stand, and with its new text if it changes. Takes the time that
    /// the comparison needs.
    pub fn new<'r>(
        document: &Document,
        new: Option<String>,
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)> + Clone,
        style: &DiffStyle,
    ) -> Self {
        let range = document.range().clone();
        let cover = Cover::of(objects.clone());
        let shown = cover.as_ref().map(|cover| cover.was(document));
        let new_shown = cover.as_ref().zip(new.as_deref()).map(|(cover, new)| cover.becomes(new));
        let edits = new.as_deref().map_or_else(Vec::new, |new| edits(&lines(document.text()), &lines(new)));
        let changed = objects.filter(|(_, report)| report.is_changed());
        let starts = Starts::of(document);
        let mut part = Self {
            range,
            new,
            shown,
            new_shown,
            rules: vec![Vec::new(); edits.len()],
            edits,
            objects: Vec::new(),
            server_dry_runs: String::new(),
        };
        if style.annotate {
            part.name_rules(document, changed.clone());
        }
        for (pointer, report) in changed {
            part.server_dry_runs.push_str(&dry_run_text(report, style));
            part.objects.push(Changed {
                name: object_name(report),
                start: starts.start(pointer),
                rules: if style.annotate { patched_by(report) } else { Vec::new() },
            });
        }
        part
    }

    /// Finds the rules behind each edit.
    fn name_rules<'r>(
        &mut self,
        document: &Document,
        objects: impl Iterator<Item = (&'r Pointer, &'r ObjectReport)>,
    ) {
        let Some(new) = &self.new else { return };
        let source = Arc::new(Source::new("", new.as_str()));
        let documents = read(&source, &Limits::unbounded()).unwrap_or_default();
        let Some(again) = documents.iter().find(|document| document.value().is_some()) else { return };
        // Documents are read with the lines above them.
        let above = new[..again.range().start].matches('\n').count();
        let shifted: Vec<Edit> = self
            .edits
            .iter()
            .map(|edit| Edit {
                old: edit.old.clone(),
                new: edit.new.start.saturating_sub(above)..edit.new.end.saturating_sub(above),
            })
            .collect();
        let (was, is) = (DocumentLines::new(document), DocumentLines::new(again));
        for (pointer, report) in objects {
            let names = patched_by(report);
            for (edit, numbers) in attributed((&was, &is), (pointer, report), &shifted) {
                let names = numbers.into_iter().filter_map(|number| names.get(number)).cloned();
                self.rules[edit].extend(names);
            }
        }
    }
}

/// Where the objects of a document start. Those of a long list are found at once.
struct Starts<'d> {
    document: &'d Document,
    list: Pointer,
    items: Vec<Range<usize>>,
}

impl<'d> Starts<'d> {
    fn of(document: &'d Document) -> Self {
        let list = Pointer::ROOT.key("items");
        let items = document.element_spans(&list).map_or_else(Vec::new, |(items, _)| items);
        Self { document, list, items }
    }

    fn start(&self, pointer: &Pointer) -> usize {
        match pointer.segments() {
            [] => self.document.range().start,
            [_, Segment::Index(index)] if self.list.contains(pointer) => {
                self.items.get(*index).map_or(self.document.range().start, |item| item.start)
            }
            _ => self.document.nearest_position(pointer).offset,
        }
    }
}

/// A file whose documents come one after the other.
#[derive(Debug)]
pub struct FileDiff {
    source: Arc<Source>,
    /// The documents that change or hold secrets.
    parts: Vec<FilePart>,
}

/// What there is to show of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileText {
    /// The diff, empty if nothing changes.
    pub text: String,
    /// Whether the diff shows placeholders of secrets, and so does not apply.
    pub masked: bool,
}

impl FileDiff {
    /// The diff of a text, without a document so far.
    pub const fn new(source: Arc<Source>) -> Self {
        Self { source, parts: Vec::new() }
    }

    /// Takes the next document in.
    pub fn push(&mut self, part: FilePart) {
        if part.new.is_some() || part.shown.is_some() {
            self.parts.push(part);
        }
    }

    /// Whether a document changes.
    pub fn is_changed(&self) -> bool {
        self.parts.iter().any(|part| part.new.is_some())
    }

    /// The diff under the name of the file.
    pub fn finish(self, path: &Path, style: &DiffStyle) -> FileText {
        if !self.is_changed() {
            return FileText::default();
        }
        let text = self.source.text();
        let real = lines(text);
        let covered = self.covered(0..text.len(), false, true);
        let old = lines(&covered);
        let offsets: Vec<usize> = real
            .iter()
            .scan(0, |at, line| {
                *at += line.len();
                Some(*at - line.len())
            })
            .collect();
        let regions = self.regions();
        let mut changes = Vec::new();
        for region in &regions {
            self.changes(region, &offsets, &mut changes);
        }
        let mut body = String::new();
        let masked = Changes { old: &old, real: &real, changes }.print(style, &mut body);
        let suffix = if masked { MASKED } else { "" };
        let mut out = String::with_capacity(body.len() + 256);
        for (sign, prefix) in [("---", "a"), ("+++", "b")] {
            let name = written(prefix, path, suffix);
            style.palette.paint("1", &format!("{sign} {name}\n"), &mut out);
        }
        out.push_str(&body);
        self.parts.iter().for_each(|part| out.push_str(&part.server_dry_runs));
        FileText { text: out, masked }
    }

    /// A part of the text with documents in it, as they were or as they become, as they are or as they are shown.
    fn covered(&self, range: Range<usize>, becomes: bool, is_shown: bool) -> Cow<'_, str> {
        let text = self.source.text();
        let mut out = String::new();
        let mut at = range.start;
        for part in self.within(&range) {
            let (real, shown) = match &part.new {
                Some(_) if becomes => (part.new.as_ref(), part.new_shown.as_ref()),
                _ => (None, part.shown.as_ref()),
            };
            let stand_in = shown.filter(|_| is_shown).or(real);
            if let Some(stand_in) = stand_in {
                out.push_str(&text[at..part.range.start]);
                out.push_str(stand_in);
                at = part.range.end;
            }
        }
        if at == range.start {
            return Cow::Borrowed(&text[range]);
        }
        out.push_str(&text[at..range.end]);
        Cow::Owned(out)
    }

    /// The parts in a range; none stands in it in part only.
    fn within(&self, range: &Range<usize>) -> &[FilePart] {
        let first = self.parts.partition_point(|part| part.range.start < range.start);
        let end = self.parts.partition_point(|part| part.range.end <= range.end);
        self.parts.get(first..end).unwrap_or_default()
    }

    /// The changed documents, each with the rest of the lines it stands on, and with its neighbours on these.
    fn regions(&self) -> Vec<Region<'_>> {
        let text = self.source.text();
        let mut ranges: Vec<(Range<usize>, bool)> = Vec::new();
        for part in &self.parts {
            let Range { start, end } = part.range;
            let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
            let ends_line = end == first || text[..end].ends_with('\n');
            let last =
                if ends_line { end } else { text[end..].find('\n').map_or(text.len(), |at| end + at + 1) };
            match ranges.last_mut() {
                Some((range, changes)) if range.end > first => {
                    range.end = range.end.max(last);
                    *changes |= part.new.is_some();
                }
                _ => ranges.push((first..last, part.new.is_some())),
            }
        }
        let changed = ranges.into_iter().filter(|(_, changes)| *changes);
        changed.map(|(range, _)| self.region(range)).collect()
    }

    fn region(&self, range: Range<usize>) -> Region<'_> {
        match self.within(&range) {
            [FilePart { range: whole, new: Some(new), new_shown, edits, rules, .. }] if *whole == range => {
                Region {
                    range,
                    new: Cow::Borrowed(new),
                    shown: Cow::Borrowed(new_shown.as_ref().unwrap_or(new)),
                    edits: Cow::Borrowed(edits),
                    rules,
                }
            }
            _ => {
                let new = self.covered(range.clone(), true, false);
                let edits = edits(&lines(&self.source.text()[range.clone()]), &lines(&new));
                let shown = self.covered(range.clone(), true, true);
                Region { range, new, shown, edits: Cow::Owned(edits), rules: &[] }
            }
        }
    }

    /// Adds what changes in a region.
    fn changes<'a>(&'a self, region: &'a Region<'a>, offsets: &[usize], changes: &mut Vec<Change<'a>>) {
        let line_of = |offset: usize| offsets.partition_point(|start| *start <= offset).saturating_sub(1);
        let first = offsets.partition_point(|start| *start < region.range.start);
        let objects = self.within(&region.range).iter().flat_map(|part| &part.objects);
        let objects: Vec<(usize, &Changed)> = objects.map(|object| (line_of(object.start), object)).collect();
        let (new, shown) = (lines(&region.new), lines(&region.shown));
        for (index, edit) in region.edits.iter().enumerate() {
            let old = edit.old.start + first..edit.old.end + first;
            let line = if old.is_empty() { old.start.saturating_sub(1) } else { old.start };
            let at = objects.partition_point(|(start, _)| *start <= line).saturating_sub(1);
            let object = objects.get(at).map(|(_, object)| *object);
            changes.push(Change {
                old,
                new: shown[edit.new.clone()].to_vec(),
                masked: new[edit.new.clone()] != shown[edit.new.clone()],
                object: object.map_or("", |object| &object.name),
                rules: match region.rules.get(index) {
                    Some(rules) if !rules.is_empty() => rules,
                    _ => object.map_or(&[], |object| &object.rules),
                },
            });
        }
    }
}

/// Whole lines with changed documents.
struct Region<'a> {
    range: Range<usize>,
    new: Cow<'a, str>,
    /// The same as it is shown.
    shown: Cow<'a, str>,
    /// What differs, in lines of the region.
    edits: Cow<'a, [Edit]>,
    /// The rules behind these.
    rules: &'a [Vec<String>],
}
