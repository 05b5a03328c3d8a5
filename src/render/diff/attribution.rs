//! The attribution of changed lines to rules.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::report::{ObjectReport, Outcome};
use crate::value::{Pointer, Text, Value, aligned};
use crate::yaml::Document;

use super::lines::Edit;

/// The places of an object that rules changed, as it was and as it is, with the number of the rule.
#[derive(Debug, Default)]
pub(super) struct Attribution {
    old: Vec<(Pointer, usize)>,
    new: Vec<(Pointer, usize)>,
}

impl Attribution {
    /// Follows the nodes of an object through its rules, in the order in which they ran.
    pub(super) fn of(report: &ObjectReport) -> Self {
        let mut attribution = Self::default();
        let mut node = Node::first(&report.before, &Pointer::ROOT);
        let mut state = &report.before;
        let mut rules = 0;
        for (policy, rule) in report.rules() {
            if let (Outcome::Patched { before, after }, false) = (&rule.outcome, policy.has_error()) {
                node.becomes(state, before, None, &mut attribution.old);
                node.becomes(before, after, Some(rules), &mut attribution.old);
                state = after;
                rules += 1;
            }
        }
        node.becomes(state, &report.after, None, &mut attribution.old);
        node.gather(&mut Pointer::default(), &mut attribution.new);
        attribution
    }
}

/// A node of an object with what is known of it.
#[derive(Debug)]
struct Node {
    /// Its place in the object as it was, if it was there.
    origin: Option<Pointer>,
    /// The rule that made it what it is.
    rule: Option<usize>,
    children: Children,
}

#[derive(Debug)]
enum Children {
    None,
    List(Vec<Node>),
    Mapping(BTreeMap<Text, Node>),
}

impl Node {
    /// A node of the object as it was.
    fn first(value: &Value, at: &Pointer) -> Self {
        let children = Children::of(value, &|segment| match segment {
            Step::Key(key, value) => Self::first(value, &at.key(key.clone())),
            Step::Index(index, value) => Self::first(value, &at.index(index)),
        });
        Self { origin: Some(at.clone()), rule: None, children }
    }

    /// A node that a rule wrote.
    fn fresh(value: &Value, rule: Option<usize>) -> Self {
        let children =
            Children::of(value, &|(Step::Key(_, value) | Step::Index(_, value))| Self::fresh(value, rule));
        Self { origin: None, rule, children }
    }

    /// Makes the node another value.
    fn becomes(
        &mut self,
        before: &Value,
        after: &Value,
        rule: Option<usize>,
        gone: &mut Vec<(Pointer, usize)>,
    ) {
        if before.same_storage(after) || before == after {
            return;
        }
        match (before, after, &mut self.children) {
            (Value::Object(old), Value::Object(new), Children::Mapping(children)) => {
                for key in old.keys().filter(|key| !new.contains_key(key)) {
                    if let Some(child) = children.remove(key) {
                        child.goes(rule, gone);
                    }
                }
                for (key, is) in new.iter() {
                    match (old.get(key), children.get_mut(key)) {
                        (Some(was), Some(child)) => child.becomes(was, is, rule, gone),
                        _ => drop(children.insert(key.clone(), Self::fresh(is, rule))),
                    }
                }
            }
            (Value::Array(old), Value::Array(new), Children::List(children))
                if children.len() == old.len() =>
            {
                let mut known: Vec<Option<Self>> = std::mem::take(children).into_iter().map(Some).collect();
                for (origin, is) in aligned(old, new).into_iter().zip(new.iter()) {
                    let child = origin.and_then(|at| Some((known.get_mut(at)?.take()?, old.get(at)?)));
                    children.push(match child {
                        Some((mut child, was)) => {
                            child.becomes(was, is, rule, gone);
                            child
                        }
                        None => Self::fresh(is, rule),
                    });
                }
                known.into_iter().flatten().for_each(|child| child.goes(rule, gone));
            }
            _ => {
                let origin = self.origin.take();
                gone.extend(origin.zip(rule));
                *self = Self::fresh(after, rule);
            }
        }
    }

    /// Remembers who took the node away.
    fn goes(self, rule: Option<usize>, gone: &mut Vec<(Pointer, usize)>) {
        gone.extend(self.origin.zip(rule));
    }

    fn gather(&self, at: &mut Pointer, found: &mut Vec<(Pointer, usize)>) {
        found.extend(self.rule.map(|rule| (at.clone(), rule)));
        match &self.children {
            Children::None => {}
            Children::List(items) => items.iter().enumerate().for_each(|(index, item)| {
                at.push_index(index);
                item.gather(at, found);
                at.pop();
            }),
            Children::Mapping(members) => members.iter().for_each(|(key, member)| {
                at.push_key(key.clone());
                member.gather(at, found);
                at.pop();
            }),
        }
    }
}

/// The way to a child, and its value.
enum Step<'v> {
    Key(&'v Text, &'v Value),
    Index(usize, &'v Value),
}

impl Children {
    fn of(value: &Value, child: &dyn Fn(Step<'_>) -> Node) -> Self {
        match value {
            Value::Object(members) => Self::Mapping(
                members.iter().map(|(key, value)| (key.clone(), child(Step::Key(key, value)))).collect(),
            ),
            Value::Array(items) => Self::List(
                items.iter().enumerate().map(|(at, value)| child(Step::Index(at, value))).collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::None,
        }
    }
}

/// Places of a text that rules made, in lines.
#[derive(Debug, Default)]
struct Marks {
    /// The rules of the nodes that start on a line.
    starts: BTreeMap<usize, BTreeSet<usize>>,
    /// The lines of nodes that take several, and their rules.
    spans: Vec<(Range<usize>, usize)>,
}

/// A document with its lines.
#[derive(Debug)]
pub(super) struct DocumentLines<'d> {
    document: &'d Document,
    breaks: Vec<usize>,
}

impl<'d> DocumentLines<'d> {
    /// Counts the lines of a document.
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, breaks: document.text().match_indices('\n').map(|(at, _)| at).collect() }
    }

    fn line(&self, offset: usize) -> usize {
        let offset = offset.saturating_sub(self.document.range().start);
        self.breaks.partition_point(|at| *at < offset)
    }
}

impl Marks {
    fn of(lined: &DocumentLines<'_>, base: &Pointer, places: &[(Pointer, usize)]) -> Self {
        let document = lined.document;
        let line = |offset: usize| lined.line(offset);
        let mut marks = Self::default();
        for (place, rule) in places {
            let place = base.join(place);
            let (Some(key), Some(span)) = (document.key_span(&place), document.span(&place)) else {
                continue;
            };
            let first = line(key.start.min(span.start));
            let last = line(span.end.saturating_sub(1).max(span.start)) + 1;
            marks.starts.entry(first).or_default().insert(*rule);
            if last > first + 1 {
                marks.spans.push((first..last, *rule));
            }
        }
        marks
    }

    /// The lines on which something is marked.
    fn lines(&self) -> Option<Range<usize>> {
        let starts = self.starts.first_key_value().zip(self.starts.last_key_value());
        let ((first, _), (last, _)) = starts?;
        let end = self.spans.iter().map(|(span, _)| span.end).max().unwrap_or(0);
        Some(*first..end.max(last + 1))
    }

    fn rules(&self, lines: Range<usize>, found: &mut BTreeSet<usize>) {
        let before = found.len();
        found.extend(self.starts.range(lines.clone()).flat_map(|(_, rules)| rules));
        if found.len() == before {
            let around =
                self.spans.iter().filter(|(span, _)| span.start < lines.end && lines.start < span.end);
            found.extend(around.min_by_key(|(span, _)| span.len()).map(|(_, rule)| *rule));
        }
    }
}

/// The rules that made edits of a document, each with the number of the edit and with their numbers among those that
/// patched the object. Edits that no rule is known for are left out.
pub(super) fn attributed(
    (old, new): (&DocumentLines<'_>, &DocumentLines<'_>),
    (pointer, report): (&Pointer, &ObjectReport),
    edits: &[Edit],
) -> Vec<(usize, BTreeSet<usize>)> {
    let attribution = Attribution::of(report);
    let (was, is) = (Marks::of(old, pointer, &attribution.old), Marks::of(new, pointer, &attribution.new));
    // Of a long list one object has a few of the edits, and these follow each other.
    let near = |lines: Option<Range<usize>>, of: fn(&Edit) -> &Range<usize>| {
        let lines = lines.unwrap_or(0..0);
        let first = edits.partition_point(|edit| of(edit).end < lines.start);
        first..edits.partition_point(|edit| of(edit).start < lines.end).max(first)
    };
    let (by_old, by_new) = (near(was.lines(), |edit| &edit.old), near(is.lines(), |edit| &edit.new));
    let near = match (by_old.is_empty(), by_new.is_empty()) {
        (true, _) => by_new,
        (_, true) => by_old,
        _ => by_old.start.min(by_new.start)..by_old.end.max(by_new.end),
    };
    let one = |edit: &Edit| {
        let mut found = BTreeSet::new();
        if !edit.old.is_empty() {
            was.rules(edit.old.clone(), &mut found);
        }
        if !edit.new.is_empty() {
            is.rules(edit.new.clone(), &mut found);
        }
        found
    };
    let found = edits[near.clone()].iter().map(one);
    near.zip(found).filter(|(_, rules)| !rules.is_empty()).collect()
}
