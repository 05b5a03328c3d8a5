//! Changes of one policy that another one replaces, removes or takes back.

use std::collections::BTreeMap;

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::report::{CheckFinding, CheckFindingKind, ObjectReport, Outcome, Writers};
use crate::value::{ChangeKind, Pointer, Segment, Text, Value, changes, distinct};

/// From so many elements on, a list is searched with an index.
const LONG: usize = 32;

/// A field as a policy left it.
struct Written {
    policy: Text,
    before: Option<Value>,
    after: Option<Value>,
}

/// One finding for each pair of policies and kind, with all their fields.
pub(super) fn findings(report: &ObjectReport, writers: &Writers) -> Vec<CheckFinding> {
    let mut written: BTreeMap<Pointer, Written> = BTreeMap::new();
    let mut found: BTreeMap<(Text, Text, CheckFindingKind), Found<'_>> = BTreeMap::new();
    for (policy, rule) in report.rules().filter(|(policy, _)| !policy.has_error()) {
        let Outcome::Patched { before, after } = &rule.outcome else { continue };
        let mut elements = Elements::default();
        let fields = changes(before, after).into_iter();
        let fields = fields.flat_map(|change| leaves(change.pointer, &change.kind));
        for field in fields.filter(|field| writers.others_have_written(&policy.policy, field)) {
            let [was, is] = [before, after].map(|object| object.pointed(&field).cloned());
            let earlier = written.get(&field).filter(|earlier| earlier.policy != policy.policy);
            // Elements of lists may have moved in between, or by this policy.
            let earlier = earlier
                .filter(|earlier| earlier.after == was && !is_moved(before, after, &field, &mut elements));
            if let Some(earlier) = earlier {
                let kind = if earlier.before == is {
                    CheckFindingKind::Undone
                } else {
                    CheckFindingKind::Overwritten
                };
                let pair = (earlier.policy.clone(), policy.policy.clone(), kind);
                let pair = found.entry(pair).or_insert(Found { fields: Vec::new(), before, after });
                pair.after = after;
                pair.fields.push(report.shown_place(&field));
            }
            written.insert(field, Written { policy: policy.policy.clone(), before: was, after: is });
        }
    }
    let finding = |((first, second, kind), Found { fields, before, after })| CheckFinding {
        results: Some(Box::new([before.clone(), after.clone()])),
        secrets: report.secrets.clone(),
        ..CheckFinding::new(kind, vec![first, second], fields)
    };
    found.into_iter().map(finding).collect()
}

/// What one policy replaces of another one's changes: the fields, and the object before and after it.
struct Found<'r> {
    fields: Vec<Pointer>,
    before: &'r Value,
    after: &'r Value,
}

/// The elements of long lists, by the addresses of the lists: many fields are below the same ones.
#[derive(Default)]
struct Elements<'v>(BTreeMap<usize, IndexSet<&'v Value, RandomState>>);

impl<'v> Elements<'v> {
    fn contain(&mut self, list: &'v [Value], element: &Value) -> bool {
        if list.len() < LONG {
            return list.contains(element);
        }
        self.0.entry(list.as_ptr().addr()).or_insert_with(|| distinct(list)).contains(element)
    }
}

/// Whether a field is in an element of a list that is now at another place.
fn is_moved<'v>(before: &Value, after: &'v Value, field: &Pointer, elements: &mut Elements<'v>) -> bool {
    let segments = field.segments();
    let lists = segments.iter().enumerate().filter_map(|(depth, segment)| match segment {
        Segment::Index(index) => Some((segments[..depth].iter().cloned().collect::<Pointer>(), *index)),
        Segment::Key(_) => None,
    });
    let mut lists = lists.filter_map(|(list, index)| {
        let element = before.pointed(&list)?.at(index)?;
        let left = after.pointed(&list)?.as_array()?;
        Some(left.get(index) != Some(element) && elements.contain(left, element))
    });
    lists.any(|is_moved| is_moved)
}

/// The fields without members of their own that a change sets or removes.
fn leaves(at: Pointer, kind: &ChangeKind) -> Vec<Pointer> {
    let values: &[&Value] = match kind {
        ChangeKind::Add(value) | ChangeKind::Remove(value) => &[value],
        ChangeKind::Replace { before, after } => &[before, after],
    };
    let mut found = Vec::new();
    let mut open: Vec<(Pointer, &Value)> = values.iter().map(|value| (at.clone(), *value)).collect();
    while let Some((at, value)) = open.pop() {
        match value.as_object().filter(|members| !members.is_empty()) {
            Some(members) => open.extend(members.iter().map(|(key, member)| (at.key(key.clone()), member))),
            None => found.push(at),
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{PolicyReport, RuleReport};

    fn object(labels: &str) -> Value {
        let text =
            format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","labels":{labels}}}}}"#);
        Value::from_json(&text).unwrap()
    }

    #[test]
    fn a_later_policy_overwrites_or_undoes_what_an_earlier_one_set() {
        for (states, expected) in [
            (
                vec![("a", "{}"), ("a", r#"{"x":"1"}"#), ("b", r#"{"x":"2"}"#)],
                "a b overwritten metadata.labels.x",
            ),
            (vec![("a", "{}"), ("a", r#"{"x":"1"}"#), ("b", "{}")], "a b undone metadata.labels.x"),
            (vec![("a", r#"{"x":"0"}"#), ("a", "{}"), ("b", r#"{"x":"0"}"#)], "a b undone metadata.labels.x"),
            (vec![("a", "{}"), ("a", r#"{"x":"1"}"#), ("a", r#"{"x":"2"}"#)], ""),
            (vec![("a", "{}"), ("a", r#"{"x":"1"}"#), ("b", r#"{"x":"1","y":"2"}"#)], ""),
        ] {
            let steps = states.windows(2).map(|pair| {
                let outcome = Outcome::Patched { before: object(pair[0].1), after: object(pair[1].1) };
                let rules = vec![RuleReport::new("r".into(), outcome)];
                PolicyReport { policy: pair[1].0.into(), rules, divergences: Default::default() }
            });
            let report = ObjectReport { policies: steps.collect(), ..ObjectReport::untouched(object("{}")) };
            let found: Vec<String> = findings(&report, &Writers::of(&report))
                .iter()
                .map(|one| format!("{} {} {}", one.policies.join(" "), one.kind.name(), one.fields[0]))
                .collect();
            assert_eq!(found.join("\n"), expected);
        }
    }

    #[test]
    fn an_element_that_moves_is_not_overwritten() {
        let with = |env: &str| {
            Value::from_json(&format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"env":{env}}}"#
            ))
            .unwrap()
        };
        for (last, expected) in [
            (r#"[{"name":"a"},{"name":"b","value":"2"},{"name":"own","value":"1"}]"#, ""),
            (r#"[{"name":"a"},{"name":"own","value":"3"}]"#, "overwritten env[1].value"),
        ] {
            let states = [r#"[{"name":"a"}]"#, r#"[{"name":"a"},{"name":"own","value":"1"}]"#, last];
            let steps = states.windows(2).zip(["a", "b"]).map(|(pair, policy)| {
                let outcome = Outcome::Patched { before: with(pair[0]), after: with(pair[1]) };
                let rules = vec![RuleReport::new("r".into(), outcome)];
                PolicyReport { policy: policy.into(), rules, divergences: Default::default() }
            });
            let report = ObjectReport { policies: steps.collect(), ..ObjectReport::untouched(with("[]")) };
            let found = findings(&report, &Writers::of(&report));
            let shown = found.iter().map(|one| format!("{} {}", one.kind.name(), one.fields[0]));
            assert_eq!(shown.collect::<Vec<_>>().join("\n"), expected);
        }
    }
}
