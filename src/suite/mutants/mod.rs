//! Mutants: policies with a small fault each. A suite that tests a policy notices them.

mod cel;
mod classic;

use std::collections::BTreeMap;

use crate::report::{FilePlace, Mutant};
use crate::value::{Pointer, Segment, Text, Value};

/// The most mutants of a policy; the first ones are made.
const MOST: usize = 1_000;

/// A policy with a fault.
#[derive(Clone, Debug)]
pub struct MutatedPolicy {
    /// The rule with the fault; the policy itself if it has no rules.
    pub rule: Text,
    /// The node with the fault, in the policy as it is written.
    pub at: Pointer,
    /// What is wrong now, in a few words.
    pub fault: String,
    /// The policy.
    pub policy: Value,
}

/// The mutants of a policy, in the order of its text.
pub fn mutants(policy: &Value) -> Vec<MutatedPolicy> {
    let mut maker = Maker { policy, rule: Text::default(), found: Vec::new() };
    let rules = Pointer::ROOT.key("spec").key("rules");
    match policy.pointed(&rules).and_then(Value::as_array) {
        Some(list) => (0..list.len()).for_each(|index| classic::rule(&mut maker, &rules.index(index))),
        None => cel::policy(&mut maker),
    }
    maker.found.truncate(MOST);
    maker.found
}

/// What suites notice of mutants. A policy of two files is two policies.
#[derive(Clone, Debug, Default)]
pub struct Mutants(BTreeMap<Key, Mutant>);

/// File, line, policy, the number of the mutant of its policy.
type Key = (Text, usize, Text, usize);

impl Mutants {
    /// Adds the mutant with this number of a policy, whose text begins at a place.
    pub fn insert(&mut self, policy: &FilePlace, number: usize, mutant: Mutant) {
        let key = (policy.file.clone(), policy.line, mutant.policy.clone(), number);
        self.add(Self(BTreeMap::from([(key, mutant)])));
    }

    /// Adds what another suite notices.
    pub fn add(&mut self, other: Self) {
        for (key, mutant) in other.0 {
            self.0.entry(key).and_modify(|known| known.is_noticed |= mutant.is_noticed).or_insert(mutant);
        }
    }

    /// All of them, by file and line.
    pub fn all(&self) -> impl Iterator<Item = &Mutant> {
        self.0.values()
    }
}

/// Makes mutants of a policy.
struct Maker<'p> {
    policy: &'p Value,
    /// The rule that it is at.
    rule: Text,
    found: Vec<MutatedPolicy>,
}

impl<'p> Maker<'p> {
    fn node(&self, at: &Pointer) -> Option<&'p Value> {
        self.policy.pointed(at)
    }

    /// The length of a list; 0 for something else.
    fn length(&self, at: &Pointer) -> usize {
        self.node(at).and_then(Value::as_array).map_or(0, <[Value]>::len)
    }

    /// Adds a mutant, if there is room and the change is possible.
    fn add(&mut self, at: &Pointer, fault: impl Into<String>, change: impl FnOnce(&mut Value) -> Option<()>) {
        if self.found.len() >= MOST {
            return;
        }
        let mut policy = self.policy.clone();
        if change(&mut policy).is_some() && policy != *self.policy {
            let (rule, at, fault) = (self.rule.clone(), at.clone(), fault.into());
            self.found.push(MutatedPolicy { rule, at, fault, policy });
        }
    }

    /// A mutant without a node, if that exists.
    fn without(&mut self, at: &Pointer, what: &str) {
        self.add(at, format!("{what} removed"), |policy| remove(policy, at));
    }

    /// A mutant without an element of a list, and without the list if that was the only one.
    fn without_element(&mut self, list: &Pointer, index: usize, what: &str) {
        let at = list.index(index);
        let removed = if self.length(list) == 1 { list.clone() } else { at.clone() };
        self.add(&at, format!("{what} removed"), |policy| remove(policy, &removed));
    }

    /// A mutant with another value.
    fn with(&mut self, at: &Pointer, value: Value, fault: String) {
        self.add(at, fault, |policy| {
            *policy.pointed_mut(at.segments())? = value;
            Some(())
        });
    }
}

fn remove(policy: &mut Value, at: &Pointer) -> Option<()> {
    let (last, parents) = at.segments().split_last()?;
    let parent = policy.pointed_mut(parents)?;
    match last {
        Segment::Key(key) => {
            parent.as_object_mut()?.shift_remove(key)?;
        }
        Segment::Index(index) => {
            let list = parent.as_array_mut()?;
            (*index < list.len()).then(|| list.remove(*index))?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::yaml;

    use super::*;

    fn faults(policy: &str) -> Vec<String> {
        let policy = yaml::parse_value(policy).unwrap();
        mutants(&policy).iter().map(|one| format!("{}: {}: {}", one.rule, one.at, one.fault)).collect()
    }

    #[test]
    fn classic_rules_have_faults() {
        let policy = "
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod], namespaces: [a]}}]}
    exclude: {any: [{subjects: []}]}
    preconditions:
      all:
      - {key: a, operator: Equals, value: b}
      any:
      - {key: a, operator: AnyIn, value: [b]}
      - {key: a, operator: GreaterThan, value: 1}
    mutate:
      patchStrategicMerge:
        spec:
          (hostNetwork): true
          containers: [{(name): '*', +(replicas): 1}]
  - name: s
    mutate:
      foreach:
      - list: l
        preconditions: [{key: a, operator: NotIn, value: b}]
        patchesJson6902: |-
          - {op: add, path: /a, value: b}
          - {op: remove, path: /b}
";
        let expected = [
            "r: spec.rules[0].exclude: `exclude` removed",
            "r: spec.rules[0].match.any[0].resources.namespaces: `namespaces` removed",
            "r: spec.rules[0].preconditions.any[0]: condition removed",
            "r: spec.rules[0].preconditions.any[0].operator: `AnyIn` is `AllNotIn`",
            "r: spec.rules[0].preconditions.any[1]: condition removed",
            "r: spec.rules[0].preconditions.any[1].operator: `GreaterThan` is `LessThanOrEquals`",
            "r: spec.rules[0].preconditions.all[0]: condition removed",
            "r: spec.rules[0].preconditions.all[0].operator: `Equals` is `NotEquals`",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.(hostNetwork): anchor removed",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.(hostNetwork): true is false",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.containers[0].(name): anchor removed",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.containers[0].(name): \"*\" is \"*-other\"",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.containers[0].+(replicas): anchor removed",
            "r: spec.rules[0].mutate.patchStrategicMerge.spec.containers[0].+(replicas): 1 is 2",
            "s: spec.rules[1].mutate.foreach[0].preconditions[0]: condition removed",
            "s: spec.rules[1].mutate.foreach[0].preconditions[0].operator: `NotIn` is `In`",
            "s: spec.rules[1].mutate.foreach[0].patchesJson6902: operation 1 (add /a) removed",
            "s: spec.rules[1].mutate.foreach[0].patchesJson6902: operation 2 (remove /b) removed",
        ];
        assert_eq!(faults(policy), expected);
    }

    #[test]
    fn cel_policies_have_faults() {
        let policy = "
metadata: {name: p}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {a: b}}
    resourceRules: [{resources: [pods]}]
  matchConditions: [{name: c, expression: 'a == 1 && b != 2'}]
  variables: [{name: v, expression: '1'}]
  mutations:
  - {patchType: JSONPatch, jsonPatch: {expression: 'a || b'}}
  - {patchType: JSONPatch, jsonPatch: {expression: '[]'}}
";
        let expected = [
            "p: spec.matchConstraints.namespaceSelector: `namespaceSelector` removed",
            "p: spec.matchConditions[0]: condition removed",
            "p: spec.matchConditions[0].expression: the condition is negated",
            "p: spec.matchConditions[0].expression: `==` is `!=`",
            "p: spec.matchConditions[0].expression: `!=` is `==`",
            "p: spec.matchConditions[0].expression: `&&` is `||`",
            "p: spec.mutations[0]: mutation removed",
            "p: spec.mutations[0].jsonPatch.expression: `||` is `&&`",
            "p: spec.mutations[1]: mutation removed",
        ];
        assert_eq!(faults(policy), expected);
    }
}
