//! The policies of a run, found by kind.

use std::collections::BTreeMap;

use crate::value::Text;

use super::{Policy, Rule};

/// Policies in the order they run, with an index from kinds to rules.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The rules that name a kind, by policy and rule.
    by_kind: BTreeMap<Text, Vec<(usize, usize)>>,
    /// The rules that may take any kind.
    open: Vec<(usize, usize)>,
}

impl PolicySet {
    /// Indexes policies.
    pub fn new(policies: Vec<Policy>) -> Self {
        let mut by_kind: BTreeMap<Text, Vec<(usize, usize)>> = BTreeMap::new();
        let mut open = Vec::new();
        for (rule, place) in rules(&policies) {
            match rule.matching.only_kinds() {
                None => open.push(place),
                Some(kinds) => {
                    for kind in kinds {
                        let places = by_kind.entry(kind.clone()).or_default();
                        // A rule may name a kind in several filters.
                        if places.last() != Some(&place) {
                            places.push(place);
                        }
                    }
                }
            }
        }
        Self { policies, by_kind, open }
    }

    /// The policies, in the order they run.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The policies with rules that may take objects of a kind, in the order they run, each with the
    /// indexes of these rules. Those beyond the rules of a policy count on into its [`Policy::only_there`].
    pub fn candidates(&self, kind: &str) -> impl Iterator<Item = (&Policy, Vec<usize>)> {
        let mut named = self.by_kind.get(kind).map(Vec::as_slice).unwrap_or_default().iter().peekable();
        let mut open = self.open.iter().peekable();
        let merged = std::iter::from_fn(move || match (named.peek(), open.peek()) {
            (Some(a), Some(b)) if a > b => open.next(),
            (Some(_), _) => named.next(),
            (None, _) => open.next(),
        });
        let mut merged = merged.peekable();
        std::iter::from_fn(move || {
            let (index, first) = *merged.next()?;
            let mut rules = vec![first];
            while let Some((_, rule)) = merged.next_if(|(policy, _)| *policy == index) {
                rules.push(*rule);
            }
            Some((self.policies.get(index)?, rules))
        })
    }
}

fn rules(policies: &[Policy]) -> impl Iterator<Item = (&Rule, (usize, usize))> {
    policies.iter().enumerate().flat_map(|(number, policy)| {
        let all = policy.rules.iter().chain(&policy.only_there);
        all.enumerate().map(move |(index, rule)| (rule, (number, index)))
    })
}

#[cfg(test)]
mod tests {
    use crate::policy;
    use crate::semantics::Semantics;
    use crate::value::Value;

    use super::*;

    fn policy(name: &str, kinds: &[&str]) -> Policy {
        let rules: Vec<String> = kinds
            .iter()
            .enumerate()
            .map(|(index, kinds)| {
                format!(
                    r#"{{"name":"r{index}","match":{{"any":[{{"resources":{{"kinds":[{kinds}]}}}}]}},
                        "mutate":{{"patchStrategicMerge":{{"data":{{"a":"b"}}}}}}}}"#
                )
            })
            .collect();
        let document = format!(
            r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"{name}"}},
                "spec":{{"background":false,"rules":[{}]}}}}"#,
            rules.join(",")
        );
        policy::parse(&Value::from_json(&document).unwrap(), Semantics::Documented).unwrap()
    }

    #[test]
    fn an_object_meets_only_rules_for_its_kind() {
        let set = PolicySet::new(vec![
            policy("a", &[r#""ConfigMap""#, r#""v1/Secret","ConfigMap""#, r#""Config*""#]),
            policy("b", &[r#""Service""#]),
            policy("c", &[r#""apps/*/Deployment/scale""#, r#""*/*""#]),
        ]);
        let found = |kind| -> Vec<(String, Vec<usize>)> {
            set.candidates(kind).map(|(policy, rules)| (policy.name.to_string(), rules)).collect()
        };
        assert_eq!(found("ConfigMap"), [("a".into(), vec![0, 1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Secret"), [("a".into(), vec![1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Service"), [("a".into(), vec![2]), ("b".into(), vec![0]), ("c".into(), vec![1])]);
        assert_eq!(found("Deployment"), [("a".into(), vec![2]), ("c".into(), vec![0, 1])]);
        assert_eq!(found("Other"), [("a".into(), vec![2]), ("c".into(), vec![1])]);
        assert_eq!(PolicySet::default().candidates("Pod").count(), 0);
    }
}
