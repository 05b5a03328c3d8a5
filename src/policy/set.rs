//! The policies of a run, found by kind.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::value::Text;

use super::signs::{Sign, Signs};
use super::{Candidate, FailurePolicy, Policy, Rule};

/// Policies in the order they run, with an index from kinds to rules, and on by the cheapest condition.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The rules that name a kind.
    by_kind: BTreeMap<Text, Places>,
    /// The rules that may take any kind.
    open: Places,
}

/// Rules by policy.
#[derive(Clone, Debug, Default)]
struct Places {
    /// In the order they run: the number of a policy, and those of rules of it.
    list: Vec<(usize, Vec<usize>)>,
    /// The numbers of the policies, by what their rules of the list ask for.
    signs: Signs,
    /// The first policies of the whole cluster that change the objects of their requests, one for each failure policy.
    first: Vec<(FailurePolicy, usize)>,
}

impl PolicySet {
    /// Indexes policies.
    pub fn new(policies: Vec<Policy>) -> Self {
        let mut by_kind: BTreeMap<Text, Places> = BTreeMap::new();
        let mut open = Places::default();
        for (rule, place) in rules(&policies) {
            match rule.matching.only_kinds() {
                None => open.add(place),
                Some(kinds) => {
                    for kind in kinds {
                        by_kind.entry(kind.clone()).or_default().add(place);
                    }
                }
            }
        }
        for places in by_kind.values_mut().chain([&mut open]) {
            places.index(&policies);
        }
        Self { policies, by_kind, open }
    }

    /// The policies, in the order they run.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Those of them that may concern objects of a kind.
    pub fn of_kind(&self, kind: &str) -> Candidates<'_> {
        Candidates { policies: &self.policies, named: self.by_kind.get(kind), open: &self.open }
    }
}

/// The policies with rules that may take objects of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'p> {
    policies: &'p [Policy],
    named: Option<&'p Places>,
    open: &'p Places,
}

impl<'p> Candidates<'p> {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.places().all(|places| places.list.is_empty())
    }

    /// All, in the order they run, each with the indexes of these rules. Those beyond the rules of a policy count on
    /// into its [`Policy::only_there`].
    pub fn all(self) -> impl Iterator<Item = (&'p Policy, Cow<'p, [usize]>)> {
        let named = self.named.map(|places| places.list.as_slice()).unwrap_or_default();
        let (mut named, mut open) = (named.iter().peekable(), self.open.list.iter().peekable());
        std::iter::from_fn(move || {
            let number = match (named.peek(), open.peek()) {
                (Some((named, _)), Some((open, _))) => *named.min(open),
                (Some((number, _)), None) | (None, Some((number, _))) => *number,
                (None, None) => return None,
            };
            named.next_if(|(named, _)| *named == number);
            open.next_if(|(open, _)| *open == number);
            self.at(number)
        })
    }

    /// The numbers of those that may change an object or have something to tell of it, in the order they run. Of those
    /// left out no rule takes the object, rules with targets aside.
    pub fn numbers(self, candidate: &Candidate<'_>) -> Vec<usize> {
        let mut numbers = Vec::new();
        for places in self.places() {
            places.signs.find(candidate, &mut numbers);
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// Adds to such numbers those after one of them that count since its policy changed the object.
    pub fn add_gained(
        self,
        (before, candidate): (&Candidate<'_>, &Candidate<'_>),
        after: usize,
        numbers: &mut Vec<usize>,
    ) {
        let is_same = |name| {
            let (before, after) = (before.object.get(name), candidate.object.get(name));
            before.zip(after).is_some_and(|(before, after)| before.same_storage(after))
        };
        if is_same("metadata") && is_same("kind") {
            return;
        }
        let mut gained = Vec::new();
        for places in self.places() {
            places.signs.find_gained(before, candidate, &mut gained);
        }
        gained.retain(|number| *number > after);
        if !gained.is_empty() {
            numbers.extend(gained);
            numbers.sort_unstable();
            numbers.dedup();
        }
    }

    /// The policy of a number, if it is one of these, with its rules as [`Candidates::all`] tells them.
    pub fn at(self, number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        let policy = self.policies.get(number)?;
        let named = self.named.and_then(|places| places.rules_of(number));
        let rules = match (named, self.open.rules_of(number)) {
            (Some(named), Some(open)) => {
                let mut rules = [named, open].concat();
                rules.sort_unstable();
                Cow::Owned(rules)
            }
            (named, open) => Cow::Borrowed(named.or(open)?),
        };
        Some((policy, rules))
    }

    /// Whether a policy of the whole cluster before this number, with this failure policy, sees all requests for
    /// objects of the kind.
    pub fn is_seen_before(self, number: usize, failure_policy: FailurePolicy) -> bool {
        let mut first = self.places().flat_map(|places| &places.first);
        first.any(|(known, first)| *known == failure_policy && *first < number)
    }

    fn places(self) -> impl Iterator<Item = &'p Places> {
        self.named.into_iter().chain([self.open])
    }
}

impl Places {
    /// Adds a rule, which may name a kind in several filters.
    fn add(&mut self, (policy, rule): (usize, usize)) {
        match self.list.last_mut().filter(|(last, _)| *last == policy) {
            Some((_, rules)) if rules.last() == Some(&rule) => {}
            Some((_, rules)) => rules.push(rule),
            None => self.list.push((policy, vec![rule])),
        }
    }

    /// The rules of a policy.
    fn rules_of(&self, number: usize) -> Option<&[usize]> {
        let at = self.list.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.list.get(at).map(|(_, rules)| &**rules)
    }

    fn index(&mut self, policies: &[Policy]) {
        for (number, rules) in &self.list {
            let Some(policy) = policies.get(*number) else { continue };
            self.signs.add(*number, signs(policy, rules).as_deref());
            let failure_policy = policy.failure_policy;
            if policy.namespace.is_none()
                && policy.rules.iter().any(|rule| rule.existing().is_none())
                && !self.first.iter().any(|(known, _)| *known == failure_policy)
            {
                self.first.push((failure_policy, *number));
            }
        }
    }
}

/// Signs of which one holds of each object that a policy has something to say about by these rules.
fn signs<'p>(policy: &'p Policy, rules: &[usize]) -> Option<Vec<Sign<'p>>> {
    if let Some(namespace) = &policy.namespace {
        return Some(vec![Sign::Home(namespace)]);
    }
    let mut signs = Vec::new();
    for index in rules {
        let rule = policy.rules.get(*index)?;
        // What nobody gave is told wherever a rule asks for it.
        if rule.asks_for_user() || rule.asks_for_namespace_labels() {
            return None;
        }
        if rule.existing().is_none() {
            signs.extend(rule.signs()?);
        }
    }
    Some(signs)
}

fn rules(policies: &[Policy]) -> impl Iterator<Item = (&Rule, (usize, usize))> {
    policies.iter().enumerate().flat_map(|(number, policy)| {
        let all = policy.rules.iter().chain(&policy.only_there);
        all.enumerate().map(move |(index, rule)| (rule, (number, index)))
    })
}

#[cfg(test)]
mod tests {
    use crate::policy::{self, Operation};
    use crate::semantics::Semantics;
    use crate::value::{GroupVersionKind, Value};

    use super::*;

    /// A policy with a rule for each of these `match`.
    fn matching(name: &str, blocks: &[impl AsRef<str>]) -> Policy {
        let rules: Vec<String> = blocks
            .iter()
            .enumerate()
            .map(|(index, block)| {
                format!(
                    r#"{{"name":"r{index}","match":{},
                        "mutate":{{"patchStrategicMerge":{{"metadata":{{"labels":{{"a":"b"}}}}}}}}}}"#,
                    block.as_ref()
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

    /// A policy with a rule for each of these lists of kinds.
    fn policy(name: &str, kinds: &[&str]) -> Policy {
        let block = |kinds: &&str| format!(r#"{{"any":[{{"resources":{{"kinds":[{kinds}]}}}}]}}"#);
        matching(name, &kinds.iter().map(block).collect::<Vec<_>>())
    }

    #[test]
    fn an_object_meets_only_rules_for_its_kind() {
        let set = PolicySet::new(vec![
            policy("a", &[r#""ConfigMap""#, r#""v1/Secret","ConfigMap""#, r#""Config*""#]),
            policy("b", &[r#""Service""#]),
            policy("c", &[r#""apps/*/Deployment/scale""#, r#""*/*""#]),
        ]);
        let found = |kind| -> Vec<(String, Vec<usize>)> {
            set.of_kind(kind)
                .all()
                .map(|(policy, rules)| (policy.name.to_string(), rules.into_owned()))
                .collect()
        };
        assert_eq!(found("ConfigMap"), [("a".into(), vec![0, 1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Secret"), [("a".into(), vec![1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Service"), [("a".into(), vec![2]), ("b".into(), vec![0]), ("c".into(), vec![1])]);
        assert_eq!(found("Deployment"), [("a".into(), vec![2]), ("c".into(), vec![0, 1])]);
        assert_eq!(found("Other"), [("a".into(), vec![2]), ("c".into(), vec![1])]);
        assert_eq!(PolicySet::default().of_kind("Pod").all().count(), 0);
    }

    fn filter(more: &str) -> String {
        format!(r#"{{"resources":{{"kinds":["ConfigMap"],{more}}}}}"#)
    }

    #[test]
    fn policies_are_left_out_by_what_all_their_rules_ask_for() {
        let one = |more: &str| format!(r#"{{"any":[{}]}}"#, filter(more));
        let labels = r#""selector":{"matchLabels":{"app":"web","tier":"f*"}}"#;
        let blocks: Vec<Vec<String>> = vec![
            vec![one(r#""names":["web","api-*"]"#)],
            vec![one(r#""names":["*-web"]"#)],
            vec![one(r#""names":["*"],"namespaces":["shop"]"#)],
            vec![one(labels)],
            vec![one(
                r#""selector":{"matchExpressions":[{"key":"app","operator":"In","values":["web","b"]}]}"#,
            )],
            vec![one(
                r#""selector":{"matchExpressions":[{"key":"app","operator":"NotIn","values":["web"]}]}"#,
            )],
            vec![one(r#""selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}"#)],
            // One of several filters, all of several, and several rules.
            vec![format!(
                r#"{{"any":[{},{}]}}"#,
                filter(r#""name":"web""#),
                filter(r#""namespaces":["shop"]"#)
            )],
            vec![format!(
                r#"{{"all":[{},{}]}}"#,
                filter(r#""name":"*""#),
                filter(r#""namespaces":["shop"]"#)
            )],
            vec![one(r#""name":"web""#), one(r#""name":"api-1""#)],
            vec![one(r#""name":"web""#), one(r#""name":"?""#)],
            vec![r#"{"resources":{"kinds":["*"],"name":"web"}}"#.to_owned()],
            // What is not known of the sender is told.
            vec![
                r#"{"any":[{"resources":{"kinds":["ConfigMap"],"name":"web"},"clusterRoles":["a"]}]}"#
                    .to_owned(),
            ],
        ];
        let policies =
            blocks.iter().enumerate().map(|(number, blocks)| matching(&format!("p{number:02}"), blocks));
        let set = PolicySet::new(policies.collect());
        let found = |metadata: &str| {
            let object = format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{metadata}}}"#);
            let object = Value::from_json(&object).unwrap();
            let kind = GroupVersionKind::of(&object).unwrap();
            set.of_kind("ConfigMap").numbers(&Candidate::new(&object, &kind, Operation::Create))
        };
        // Those that are not for any beginning of a text are always there.
        assert_eq!(found("{}"), [1, 5, 10, 12]);
        assert_eq!(found(r#"{"name":"web"}"#), [0, 1, 5, 7, 9, 10, 11, 12]);
        assert_eq!(found(r#"{"name":"api-1"}"#), [0, 1, 5, 9, 10, 12]);
        assert_eq!(found(r#"{"namespace":"shop"}"#), [1, 2, 5, 7, 8, 10, 12]);
        assert_eq!(found(r#"{"labels":{"app":"web"}}"#), [1, 3, 4, 5, 6, 10, 12]);
        assert_eq!(found(r#"{"labels":{"app":"c"}}"#), [1, 5, 6, 10, 12]);
    }

    #[test]
    fn a_request_is_seen_by_the_first_policy_of_its_webhook() {
        let named = |name| matching(name, &[&format!(r#"{{"any":[{}]}}"#, filter(r#""name":"web""#))]);
        let set = PolicySet::new(vec![
            named("a"),
            Policy { failure_policy: FailurePolicy::Ignore, namespace: Some("shop".into()), ..named("b") },
            Policy { failure_policy: FailurePolicy::Ignore, ..named("c") },
            named("d"),
        ]);
        let seen = |number, failure_policy| set.of_kind("ConfigMap").is_seen_before(number, failure_policy);
        assert_eq!([0, 1, 3].map(|number| seen(number, FailurePolicy::Fail)), [false, true, true]);
        assert_eq!([1, 2, 3].map(|number| seen(number, FailurePolicy::Ignore)), [false, false, true]);
    }
}
