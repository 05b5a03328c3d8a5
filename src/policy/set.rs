//! The policies of a run, found by kind.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::value::Text;

use super::{Policy, Rule};

/// Policies in the order they run, with an index from kinds to rules.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The rules that name a kind.
    by_kind: BTreeMap<Text, Places>,
    /// The rules that may take any kind.
    open: Places,
}

/// Rules by policy, in the order they run: the number of a policy, and those of rules of it.
type Places = Vec<(usize, Vec<usize>)>;

impl PolicySet {
    /// Indexes policies.
    pub fn new(policies: Vec<Policy>) -> Self {
        let mut by_kind: BTreeMap<Text, Places> = BTreeMap::new();
        let mut open = Places::new();
        for (rule, place) in rules(&policies) {
            match rule.matching.only_kinds() {
                None => add(&mut open, place),
                Some(kinds) => {
                    for kind in kinds {
                        add(by_kind.entry(kind.clone()).or_default(), place);
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
    pub fn candidates(&self, kind: &str) -> impl Iterator<Item = (&Policy, Cow<'_, [usize]>)> {
        let mut named = self.by_kind.get(kind).map(Vec::as_slice).unwrap_or_default().iter().peekable();
        let mut open = self.open.iter().peekable();
        std::iter::from_fn(move || {
            let order = match (named.peek(), open.peek()) {
                (Some((named, _)), Some((open, _))) => named.cmp(open),
                (Some(_), None) => Ordering::Less,
                (None, _) => Ordering::Greater,
            };
            let (policy, rules) = match order {
                Ordering::Less => named.next().map(|(policy, rules)| (policy, Cow::Borrowed(&**rules)))?,
                Ordering::Greater => open.next().map(|(policy, rules)| (policy, Cow::Borrowed(&**rules)))?,
                Ordering::Equal => {
                    let ((policy, named), (_, open)) = (named.next()?, open.next()?);
                    let mut rules = [&**named, open].concat();
                    rules.sort_unstable();
                    (policy, Cow::Owned(rules))
                }
            };
            Some((self.policies.get(*policy)?, rules))
        })
    }
}

/// Adds a rule, which may name a kind in several filters.
fn add(places: &mut Places, (policy, rule): (usize, usize)) {
    match places.last_mut().filter(|(last, _)| *last == policy) {
        Some((_, rules)) if rules.last() == Some(&rule) => {}
        Some((_, rules)) => rules.push(rule),
        None => places.push((policy, vec![rule])),
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
            set.candidates(kind)
                .map(|(policy, rules)| (policy.name.to_string(), rules.into_owned()))
                .collect()
        };
        assert_eq!(found("ConfigMap"), [("a".into(), vec![0, 1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Secret"), [("a".into(), vec![1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Service"), [("a".into(), vec![2]), ("b".into(), vec![0]), ("c".into(), vec![1])]);
        assert_eq!(found("Deployment"), [("a".into(), vec![2]), ("c".into(), vec![0, 1])]);
        assert_eq!(found("Other"), [("a".into(), vec![2]), ("c".into(), vec![1])]);
        assert_eq!(PolicySet::default().candidates("Pod").count(), 0);
    }
}
