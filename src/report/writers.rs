//! The rules that wrote a field of an object.

use indexmap::IndexSet;

use crate::value::{Pointer, Text};

use super::{ObjectReport, RuleReport};

/// The rules that changed an object, by what they changed. Changes beside an error of the policy are discarded.
pub struct Writers {
    /// In the order they ran.
    rules: Vec<Writer>,
}

/// A rule that changed an object.
struct Writer {
    policy: Text,
    /// The rule with its policy.
    title: Text,
    /// What it changed, sorted; nothing that is below something else of it.
    places: Vec<Pointer>,
}

impl Writers {
    /// Those of a report.
    pub fn of(report: &ObjectReport) -> Self {
        let policies = report.policies.iter().filter(|policy| !policy.has_error());
        let rules = policies.flat_map(|policy| policy.rules.iter().map(move |rule| (policy, rule)));
        let writers = rules.filter_map(|(policy, rule)| {
            let places = places(rule);
            let title = || rule.title(&policy.policy).into();
            (!places.is_empty()).then(|| Writer { policy: policy.policy.clone(), title: title(), places })
        });
        Self { rules: writers.collect() }
    }

    /// The rules that changed one of these fields, or something above or below one.
    fn rules(&self, fields: &[Pointer]) -> impl Iterator<Item = &Writer> {
        self.rules.iter().filter(|writer| fields.iter().any(|field| writer.has_written(field)))
    }

    /// The titles of these rules.
    pub fn titles(&self, fields: &[Pointer]) -> Vec<Text> {
        self.rules(fields).map(|writer| writer.title.clone()).collect()
    }

    /// Whether some rule changed a field, or something above or below it.
    pub fn has_written(&self, field: &Pointer) -> bool {
        self.rules.iter().any(|writer| writer.has_written(field))
    }

    /// Whether a rule of another policy changed a field, or something above or below it.
    pub fn others_have_written(&self, policy: &Text, field: &Pointer) -> bool {
        self.rules.iter().any(|writer| writer.policy != *policy && writer.has_written(field))
    }

    /// The policies of these rules, each once.
    pub fn policies(&self, fields: &[Pointer]) -> Vec<Text> {
        let names: IndexSet<&Text> = self.rules(fields).map(|writer| &writer.policy).collect();
        names.into_iter().cloned().collect()
    }

    /// The policies that changed something, each once.
    pub fn all_policies(&self) -> Vec<Text> {
        let names: IndexSet<&Text> = self.rules.iter().map(|writer| &writer.policy).collect();
        names.into_iter().cloned().collect()
    }
}

/// What a rule changed: the uppermost places, sorted.
fn places(rule: &RuleReport) -> Vec<Pointer> {
    let changes = rule.changes();
    let mut places = Vec::with_capacity(changes.len());
    places.extend(changes.into_iter().map(|change| change.pointer));
    places.sort_unstable();
    // What is below a place comes behind it.
    places.dedup_by(|below, above| above.contains(below));
    places
}

impl Writer {
    /// Whether the rule changed a field, or something above or below it.
    fn has_written(&self, field: &Pointer) -> bool {
        let next = self.places.partition_point(|place| place < field);
        let above = next.checked_sub(1).and_then(|last| self.places.get(last));
        above.is_some_and(|above| above.contains(field))
            || self.places.get(next).is_some_and(|below| field.contains(below))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Code;
    use crate::report::{Outcome, PolicyReport, RuleError};
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
            assert_eq!(writers.titles(&fields).join(" "), expected, "{fields:?}");
        }
        assert_eq!(writers.policies(&[root]), ["one", "two"].map(Text::from));
        assert_eq!(writers.all_policies(), ["one", "two"].map(Text::from));
    }

    #[test]
    fn fields_of_a_large_object_are_found() {
        let fields: Vec<String> = (0..30).map(|number| format!(r#""f{number}":1"#)).collect();
        let after = format!("{{{}}}", fields.join(","));
        let policies = vec![policy("one", [patched("{}", &after), patched("{}", r#"{"f3":2}"#)])];
        let report = ObjectReport { policies, ..ObjectReport::default() };
        let writers = Writers::of(&report);
        for number in 0..30 {
            let found = writers.titles(&[Pointer::ROOT.key(format!("f{number}"))]);
            assert_eq!(found.len(), if number == 3 { 2 } else { 1 }, "{number}");
        }
        assert!(writers.titles(&[Pointer::ROOT.key("g")]).is_empty());
    }
}
