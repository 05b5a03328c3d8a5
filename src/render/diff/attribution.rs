//! The attribution of changed lines to rules.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::report::{ObjectReport, Outcome};
use crate::value::{Pointer, Text, Value, aligned};
use crate::yaml::Document;

use super::lines::Edit;

/// Paths of an object, each with the number of the rule that changed the node.
type ChangedPaths = Vec<(Pointer, usize)>;

/// The paths that rules removed or replaced in the object before, and those that they wrote in the object after.
fn changed_paths(report: &ObjectReport) -> (ChangedPaths, ChangedPaths) {
    let mut removed = Vec::new();
    let mut node = Node::original(&report.before, &Pointer::ROOT);
    let mut state = &report.before;
    let mut rules = 0;
    for (policy, rule) in report.rules() {
        if let (Outcome::Patched { before, after }, false) = (&rule.outcome, policy.has_error()) {
            node.update(state, before, None, &mut removed);
            node.update(before, after, Some(rules), &mut removed);
            state = after;
            rules += 1;
        }
    }
    node.update(state, &report.after, None, &mut removed);
    let mut written = Vec::new();
    node.collect_written(&mut Pointer::default(), &mut written);
    (removed, written)
}

/// The history of a node of an object.
#[derive(Debug)]
struct Node {
    /// Its path in the object before, if it existed.
    origin: Option<Pointer>,
    /// The rule that wrote it.
    rule: Option<usize>,
    children: Children,
}

#[derive(Debug)]
enum Children {
    None,
    List(Vec<Node>),
    Map(BTreeMap<Text, Node>),
}

impl Node {
    /// A node of the object before.
    fn original(value: &Value, at: &Pointer) -> Self {
        let children = match value {
            Value::Object(members) => {
                let child =
                    |(key, value): (&Text, _)| (key.clone(), Self::original(value, &at.key(key.clone())));
                Children::Map(members.iter().map(child).collect())
            }
            Value::Array(items) => {
                let child = |(index, value)| Self::original(value, &at.index(index));
                Children::List(items.iter().enumerate().map(child).collect())
            }
            _ => Children::None,
        };
        Self { origin: Some(at.clone()), rule: None, children }
    }

    /// A node that a rule wrote.
    fn written(value: &Value, rule: Option<usize>) -> Self {
        let child = |value| Self::written(value, rule);
        let children = match value {
            Value::Object(members) => {
                Children::Map(members.iter().map(|(key, value)| (key.clone(), child(value))).collect())
            }
            Value::Array(items) => Children::List(items.iter().map(child).collect()),
            _ => Children::None,
        };
        Self { origin: None, rule, children }
    }

    /// Changes the value of the node.
    fn update(&mut self, before: &Value, after: &Value, rule: Option<usize>, removed: &mut ChangedPaths) {
        if before.same_storage(after) || before == after {
            return;
        }
        match (before, after, &mut self.children) {
            (Value::Object(old), Value::Object(new), Children::Map(children)) => {
                for key in old.keys().filter(|key| !new.contains_key(key)) {
                    if let Some(child) = children.remove(key) {
                        child.remove(rule, removed);
                    }
                }
                for (key, after) in new.iter() {
                    match (old.get(key), children.get_mut(key)) {
                        (Some(before), Some(child)) => child.update(before, after, rule, removed),
                        _ => drop(children.insert(key.clone(), Self::written(after, rule))),
                    }
                }
            }
            (Value::Array(old), Value::Array(new), Children::List(children))
                if children.len() == old.len() =>
            {
                let mut known: Vec<Option<Self>> = std::mem::take(children).into_iter().map(Some).collect();
                for (origin, after) in aligned(old, new).into_iter().zip(new.iter()) {
                    let child = origin.and_then(|at| Some((known.get_mut(at)?.take()?, old.get(at)?)));
                    children.push(match child {
                        Some((mut child, before)) => {
                            child.update(before, after, rule, removed);
                            child
                        }
                        None => Self::written(after, rule),
                    });
                }
                known.into_iter().flatten().for_each(|child| child.remove(rule, removed));
            }
            _ => std::mem::replace(self, Self::written(after, rule)).remove(rule, removed),
        }
    }

    /// Records the rule that removed the node.
    fn remove(self, rule: Option<usize>, removed: &mut ChangedPaths) {
        removed.extend(self.origin.zip(rule));
    }

    /// Collects the paths that rules wrote.
    fn collect_written(&self, at: &mut Pointer, written: &mut ChangedPaths) {
        written.extend(self.rule.map(|rule| (at.clone(), rule)));
        match &self.children {
            Children::None => {}
            Children::List(items) => items.iter().enumerate().for_each(|(index, item)| {
                at.push_index(index);
                item.collect_written(at, written);
                at.pop();
            }),
            Children::Map(members) => members.iter().for_each(|(key, member)| {
                at.push_key(key.clone());
                member.collect_written(at, written);
                at.pop();
            }),
        }
    }
}

/// The lines of a text that rules changed.
#[derive(Debug, Default)]
struct ChangedLines {
    /// The rules of the nodes that start on a line.
    starts: BTreeMap<usize, BTreeSet<usize>>,
    /// The lines of nodes with more than one line, and their rules.
    spans: Vec<(Range<usize>, usize)>,
}

/// A document with its line breaks.
#[derive(Debug)]
pub(super) struct DocumentLines<'d> {
    document: &'d Document,
    breaks: Vec<usize>,
}

impl<'d> DocumentLines<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, breaks: document.text().match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn line(&self, offset: usize) -> usize {
        let offset = offset.saturating_sub(self.document.range().start);
        self.breaks.partition_point(|at| *at < offset)
    }
}

impl ChangedLines {
    fn of(lines: &DocumentLines<'_>, base: &Pointer, paths: &ChangedPaths) -> Self {
        let document = lines.document;
        let mut changed = Self::default();
        for (path, rule) in paths {
            let path = base.join(path);
            let (Some(key), Some(span)) = (document.key_span(&path), document.span(&path)) else {
                continue;
            };
            let first = lines.line(key.start.min(span.start));
            let last = lines.line(span.end.saturating_sub(1).max(span.start)) + 1;
            changed.starts.entry(first).or_default().insert(*rule);
            if last > first + 1 {
                changed.spans.push((first..last, *rule));
            }
        }
        changed
    }

    /// The range of all changed lines.
    fn range(&self) -> Range<usize> {
        let ends = self.starts.first_key_value().zip(self.starts.last_key_value());
        let Some(((first, _), (last, _))) = ends else { return 0..0 };
        let end = self.spans.iter().map(|(span, _)| span.end).max().unwrap_or(0);
        *first..end.max(last + 1)
    }

    /// Adds the rules that changed some of these lines.
    fn rules(&self, lines: &Range<usize>, found: &mut BTreeSet<usize>) {
        let before = found.len();
        found.extend(self.starts.range(lines.clone()).flat_map(|(_, rules)| rules));
        if found.len() == before {
            let around =
                self.spans.iter().filter(|(span, _)| span.start < lines.end && lines.start < span.end);
            found.extend(around.min_by_key(|(span, _)| span.len()).map(|(_, rule)| *rule));
        }
    }
}

/// The rules that made edits of a document: the index of each edit with the numbers of the rules among those that
/// patched the object. Edits without a known rule are left out.
pub(super) fn attributed(
    (old, new): (&DocumentLines<'_>, &DocumentLines<'_>),
    (pointer, report): (&Pointer, &ObjectReport),
    edits: &[Edit],
) -> Vec<(usize, BTreeSet<usize>)> {
    let (removed, written) = changed_paths(report);
    let old = ChangedLines::of(old, pointer, &removed);
    let new = ChangedLines::of(new, pointer, &written);
    // An object of a long list has only a few of the edits, and these are consecutive.
    let near = |lines: Range<usize>, of: fn(&Edit) -> &Range<usize>| {
        let first = edits.partition_point(|edit| of(edit).end < lines.start);
        first..edits.partition_point(|edit| of(edit).start < lines.end).max(first)
    };
    let (by_old, by_new) = (near(old.range(), |edit| &edit.old), near(new.range(), |edit| &edit.new));
    let near = match (by_old.is_empty(), by_new.is_empty()) {
        (true, _) => by_new,
        (_, true) => by_old,
        _ => by_old.start.min(by_new.start)..by_old.end.max(by_new.end),
    };
    let rules = |edit: &Edit| {
        let mut found = BTreeSet::new();
        if !edit.old.is_empty() {
            old.rules(&edit.old, &mut found);
        }
        if !edit.new.is_empty() {
            new.rules(&edit.new, &mut found);
        }
        found
    };
    let found = edits[near.clone()].iter().map(rules);
    near.zip(found).filter(|(_, rules)| !rules.is_empty()).collect()
}
