//! The rules that wrote a field of an object.

use std::collections::{BTreeMap, BTreeSet};

use crate::value::{Pointer, Segment, Text};

use super::{ObjectReport, PolicyReport, RuleReport};

/// The rules that changed an object, by what they changed. Changes beside an error of the policy are discarded.
pub struct Writers<'r> {
    rules: Vec<(&'r PolicyReport, &'r RuleReport)>,
    root: Node,
}

/// A place of the object. Rules are numbers, in the order they ran.
#[derive(Default)]
struct Node {
    /// The rules that changed this very place.
    here: Vec<usize>,
    /// The rules that changed it or something below it.
    within: Vec<usize>,
    below: Below,
}

/// The places below a place, by their segments. Most have a few: a tree of its own takes a kilobyte.
enum Below {
    Few(Vec<(Segment, Node)>),
    Many(BTreeMap<Segment, Node>),
}

/// So many places are searched one by one.
const FEW: usize = 8;

impl<'r> Writers<'r> {
    /// Those of a report.
    pub fn of(report: &'r ObjectReport) -> Self {
        let policies = report.policies.iter().filter(|policy| !policy.has_error());
        let rules = policies.flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)));
        let rules: Vec<_> = rules.collect();
        let mut root = Node::default();
        for (number, (_, rule)) in rules.iter().enumerate() {
            for change in rule.changes() {
                root.add(change.pointer.segments(), number);
            }
        }
        Self { rules, root }
    }

    /// The rules that changed one of these fields, or something above or below one, with their policies.
    pub fn rules(&self, fields: &[Pointer]) -> Vec<(&'r PolicyReport, &'r RuleReport)> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        for field in fields {
            let mut node = Some(&self.root);
            for segment in field.segments() {
                let Some(above) = node else { break };
                found.extend(&above.here);
                node = above.below.get(segment);
            }
            found.extend(node.iter().flat_map(|node| &node.within));
        }
        found.into_iter().filter_map(|number| self.rules.get(number).copied()).collect()
    }

    /// The policies of these rules, each once.
    pub fn policies(&self, fields: &[Pointer]) -> Vec<Text> {
        let mut found: Vec<Text> = Vec::new();
        for (policy, _) in self.rules(fields) {
            if !found.contains(&policy.policy) {
                found.push(policy.policy.clone());
            }
        }
        found
    }
}

impl Node {
    fn add(&mut self, segments: &[Segment], rule: usize) {
        let mut node = self;
        push(&mut node.within, rule);
        for segment in segments {
            node = node.below.entry(segment);
            push(&mut node.within, rule);
        }
        push(&mut node.here, rule);
    }
}

impl Default for Below {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Below {
    fn get(&self, segment: &Segment) -> Option<&Node> {
        match self {
            Self::Few(places) => places.iter().find(|(known, _)| known == segment).map(|(_, node)| node),
            Self::Many(places) => places.get(segment),
        }
    }

    /// The place of a segment, which is added if there is none.
    fn entry(&mut self, segment: &Segment) -> &mut Node {
        if let Self::Few(places) = self
            && places.len() == FEW
            && !places.iter().any(|(known, _)| known == segment)
        {
            *self = Self::Many(std::mem::take(places).into_iter().collect());
        }
        match self {
            Self::Many(places) => places.entry(segment.clone()).or_default(),
            Self::Few(places) => {
                let known = places.iter().position(|(known, _)| known == segment);
                let index = known.unwrap_or(places.len());
                if known.is_none() {
                    places.reserve_exact(1);
                    places.push((segment.clone(), Node::default()));
                }
                &mut places[index].1
            }
        }
    }
}

/// Adds a rule to a list; its last one is at most this one.
fn push(rules: &mut Vec<usize>, rule: usize) {
    if rules.last() != Some(&rule) {
        // A place has one or two mostly.
        if rules.is_empty() {
            rules.reserve_exact(1);
        }
        rules.push(rule);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Code;
    use crate::report::{Outcome, RuleError};
    use crate::semantics::DivergenceSet;
    use crate::value::Value;

    fn policy(name: &str, outcomes: impl IntoIterator<Item = Outcome>) -> PolicyReport {
        let rules = outcomes.into_iter().enumerate();
        let rules = rules.map(|(number, outcome)| RuleReport::new(number.to_string().into(), outcome));
        PolicyReport { policy: name.into(), rules: rules.collect(), divergences: DivergenceSet::NONE }
    }

    fn patched(before: &str, after: &str) -> Outcome {
        let [before, after] = [before, after].map(|text| Value::from_json(text).unwrap());
        Outcome::Patched { before, after }
    }

    #[test]
    fn rules_are_found_by_what_is_above_and_below_a_field() {
        let [start, list, label] =
            [r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[1,3]}}"#, r#"{"a":{"b":[1,3],"c":1}}"#];
        let policies = vec![
            policy("one", [patched(start, list), Outcome::NoChange, patched(list, label)]),
            policy("failing", [patched(label, "{}"), Outcome::Error(RuleError::new(Code::NoResult, "no"))]),
            policy("two", [patched(label, r#"{"a":7}"#)]),
        ];
        let report = ObjectReport { policies, ..ObjectReport::default() };
        let writers = Writers::of(&report);
        let root = Pointer::ROOT;
        let (a, b) = (root.key("a"), root.key("a").key("b"));
        for (fields, expected) in [
            (vec![root.clone()], "one/0 one/2 two/0"),
            (vec![a.clone()], "one/0 one/2 two/0"),
            (vec![b.clone()], "one/0 two/0"),
            (vec![b.index(0)], "two/0"),
            (vec![b.index(1).key("x")], "one/0 two/0"),
            (vec![a.key("c"), b.index(1)], "one/0 one/2 two/0"),
            (vec![root.key("d")], ""),
            (vec![], ""),
        ] {
            let titles = writers.rules(&fields).into_iter().map(|(policy, rule)| rule.title(&policy.policy));
            assert_eq!(titles.collect::<Vec<_>>().join(" "), expected, "{fields:?}");
        }
        assert_eq!(writers.policies(&[root]), ["one", "two"].map(Text::from));
    }

    #[test]
    fn fields_of_a_large_object_are_found() {
        let fields: Vec<String> = (0..3 * FEW).map(|number| format!(r#""f{number}":1"#)).collect();
        let after = format!("{{{}}}", fields.join(","));
        let policies = vec![policy("one", [patched("{}", &after), patched("{}", r#"{"f3":2}"#)])];
        let report = ObjectReport { policies, ..ObjectReport::default() };
        let writers = Writers::of(&report);
        for number in 0..3 * FEW {
            let found = writers.rules(&[Pointer::ROOT.key(format!("f{number}"))]);
            assert_eq!(found.len(), if number == 3 { 2 } else { 1 }, "{number}");
        }
        assert!(writers.rules(&[Pointer::ROOT.key("g")]).is_empty());
    }
}
