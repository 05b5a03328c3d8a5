//! The policies of a run, found by kind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::value::Text;

use super::index::{IndexKey, RuleIndex};
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
    index_keys: RuleIndex,
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
    /// into its [`Policy::controller_only_rules`].
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

    /// A walk through those that may change an object or have something to tell of it.
    pub fn walk(self, candidate: &Candidate<'_>) -> Walk<'p> {
        Walk::new(self, candidate)
    }

    /// The policy of a number, if it is one of these, with its rules as [`Candidates::all`] tells them.
    pub fn at(self, number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        self.at_behind(&mut [0, 0], number)
    }

    /// The same where it is known that the policy stands behind these places of the two lists; they move behind it.
    fn at_behind(self, behind: &mut [usize; 2], number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        let [named, open] = behind;
        let named = self.named.and_then(|places| places.rules_of(number, named));
        let rules = match (named, self.open.rules_of(number, open)) {
            (Some(named), Some(open)) => {
                let mut rules = [named, open].concat();
                rules.sort_unstable();
                Cow::Owned(rules)
            }
            (named, open) => Cow::Borrowed(named.or(open)?),
        };
        Some((self.policies.get(number)?, rules))
    }

    /// The number of the first policy of the whole cluster, with this failure policy, that sees all requests for
    /// objects of the kind.
    pub fn first_to_see(self, failure_policy: FailurePolicy) -> Option<usize> {
        let first = self.places().flat_map(|places| &places.first);
        first.filter(|(known, _)| *known == failure_policy).map(|(_, first)| *first).min()
    }

    fn places(self) -> impl Iterator<Item = &'p Places> {
        self.named.into_iter().chain([self.open])
    }
}

/// A walk through the policies that a sign may hold for: of those left out no rule takes the object, rules with targets
/// aside.
#[derive(Debug)]
pub struct Walk<'p> {
    candidates: Candidates<'p>,
    /// The numbers to come, the next one last.
    numbers: Vec<usize>,
    /// Further ones, which count since a policy changed the object.
    gained: BTreeSet<usize>,
    /// The lists that these are from.
    known: BTreeSet<*const usize>,
    last: Option<usize>,
    /// The places behind it in the two lists.
    behind: [usize; 2],
}

impl<'p> Walk<'p> {
    fn new(candidates: Candidates<'p>, candidate: &Candidate<'_>) -> Self {
        let mut found = Vec::new();
        for places in candidates.places() {
            places.index_keys.find(candidate, &mut found);
        }
        let mut numbers = found.concat();
        if found.len() > 1 {
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers.reverse();
        let (gained, known) = (BTreeSet::new(), BTreeSet::new());
        Self { candidates, numbers, gained, known, last: None, behind: [0, 0] }
    }

    /// Has the policies after the last one meet the object as it is now, if they left it out before.
    pub fn meet(&mut self, before: &Candidate<'_>, candidate: &Candidate<'_>) {
        let is_same = |name| {
            let (before, after) = (before.object.get(name), candidate.object.get(name));
            before.zip(after).is_some_and(|(before, after)| before.same_storage(after))
        };
        if is_same("metadata") && is_same("kind") {
            return;
        }
        let mut found = Vec::new();
        for places in self.candidates.places() {
            places.index_keys.find_gained(before, candidate, &mut found);
        }
        for numbers in found {
            // However often a sign comes and goes, what it stands for is taken once.
            if self.known.insert(numbers.as_ptr()) {
                self.gained.extend(numbers.iter().filter(|number| Some(**number) > self.last));
            }
        }
    }
}

impl<'p> Iterator for Walk<'p> {
    type Item = (usize, &'p Policy, Cow<'p, [usize]>);

    fn next(&mut self) -> Option<Self::Item> {
        let number = match (self.numbers.last(), self.gained.first()) {
            (Some(number), Some(gained)) if gained < number => self.gained.pop_first()?,
            (None, Some(_)) => self.gained.pop_first()?,
            _ => {
                let number = self.numbers.pop()?;
                self.gained.remove(&number);
                number
            }
        };
        self.last = Some(number);
        let (policy, rules) = self.candidates.at_behind(&mut self.behind, number)?;
        Some((number, policy, rules))
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

    /// The rules of a policy that stands behind a place, which moves behind it.
    fn rules_of(&self, number: usize, behind: &mut usize) -> Option<&[usize]> {
        let rest = self.list.get(*behind..)?;
        // Most often it is the next one.
        if rest.first().is_some_and(|(next, _)| *next < number) {
            *behind += rest.partition_point(|(other, _)| *other < number);
        }
        let (_, rules) = self.list.get(*behind).filter(|(found, _)| *found == number)?;
        *behind += 1;
        Some(rules)
    }

    fn index(&mut self, policies: &[Policy]) {
        for (number, rules) in &self.list {
            let Some(policy) = policies.get(*number) else { continue };
            self.index_keys.add(*number, index_keys(policy, rules).as_deref());
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

/// Index keys of which one holds of each object that a policy has something to say about by these rules.
fn index_keys<'p>(policy: &'p Policy, rules: &[usize]) -> Option<Vec<IndexKey<'p>>> {
    if let Some(namespace) = &policy.namespace {
        return Some(vec![IndexKey::Home(namespace)]);
    }
    let mut index_keys = Vec::new();
    for index in rules {
        let rule = policy.rules.get(*index)?;
        // What nobody gave is told wherever a rule asks for it.
        if rule.asks_for_user() || rule.asks_for_namespace_labels() {
            return None;
        }
        if rule.existing().is_none() {
            index_keys.extend(rule.index_keys()?);
        }
    }
    Some(index_keys)
}

fn rules(policies: &[Policy]) -> impl Iterator<Item = (&Rule, (usize, usize))> {
    policies.iter().enumerate().flat_map(|(number, policy)| {
        let all = policy.rules.iter().chain(&policy.controller_only_rules);
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
            let walk = set.of_kind("ConfigMap").walk(&Candidate::new(&object, &kind, Operation::Create));
            walk.map(|(number, ..)| number).collect::<Vec<_>>()
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
    fn rules_that_share_a_sign_are_met_together_and_once() {
        for more in [
            r#""name":"web""#,
            r#""names":["web","web","we*","w*"]"#,
            r#""namespaces":["shop"]"#,
            r#""selector":{"matchLabels":{"app":"web"}}"#,
            r#""selector":{"matchExpressions":[{"key":"app","operator":"Exists"}]}"#,
            r#""selector":{"matchExpressions":[{"key":"app","operator":"In","values":["web","web"]}]}"#,
            r#""name":"*""#,
        ] {
            let one = format!(r#"{{"any":[{}]}}"#, filter(more));
            let twice = format!(r#"{{"any":[{0},{0}]}}"#, filter(more));
            let set = PolicySet::new(vec![
                matching("a", &[&one, &one]),
                matching("b", &[&twice]),
                matching("c", &[&one]),
            ]);
            let object = Value::from_json(
                r#"{"kind":"ConfigMap","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"}}}"#,
            );
            let object = object.unwrap();
            let kind = GroupVersionKind { group: "".into(), version: "v1".into(), kind: "ConfigMap".into() };
            let walk = set.of_kind("ConfigMap").walk(&Candidate::new(&object, &kind, Operation::Create));
            let found: Vec<_> =
                walk.map(|(number, policy, rules)| (number, policy.name.to_string(), rules.len())).collect();
            assert_eq!(found, [(0, "a".into(), 2), (1, "b".into(), 1), (2, "c".into(), 1)], "{more}");
        }
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
        let first = |failure_policy| set.of_kind("ConfigMap").first_to_see(failure_policy);
        assert_eq!(first(FailurePolicy::Fail), Some(0));
        assert_eq!(first(FailurePolicy::Ignore), Some(2));
    }

    #[test]
    fn what_a_policy_changes_is_met_once() {
        let labeled = |more: &str| format!(r#"{{"any":[{}]}}"#, filter(&format!(r#""selector":{more}"#)));
        let seq = |value: usize| labeled(&format!(r#"{{"matchLabels":{{"seq":"{value}"}}}}"#));
        let set = PolicySet::new(vec![
            matching("a", &[seq(0)]),
            matching("b", &[seq(1)]),
            matching("c", &[labeled(r#"{"matchExpressions":[{"key":"other","operator":"Exists"}]}"#)]),
            matching("d", &[seq(1)]),
            matching("e", &[seq(0)]),
        ]);
        let object = |labels: &str| {
            Value::from_json(&format!(r#"{{"kind":"ConfigMap","metadata":{{"labels":{{{labels}}}}}}}"#))
                .unwrap()
        };
        let kind = GroupVersionKind { group: "".into(), version: "v1".into(), kind: "ConfigMap".into() };
        let [zero, one, other] = [r#""seq":"0""#, r#""seq":"1""#, r#""seq":"1","other":"1""#].map(object);
        let [zero, one, other] =
            [&zero, &one, &other].map(|object| Candidate::new(object, &kind, Operation::Create));
        let mut walk = set.of_kind("ConfigMap").walk(&zero);
        let mut next = |change: Option<(&Candidate<'_>, &Candidate<'_>)>| {
            change.into_iter().for_each(|(before, after)| walk.meet(before, after));
            walk.next().map(|(number, ..)| number)
        };
        assert_eq!(next(None), Some(0));
        assert_eq!(next(Some((&zero, &one))), Some(1));
        assert_eq!(next(Some((&one, &zero))), Some(3));
        // What lies behind does not come back.
        assert_eq!(next(Some((&zero, &other))), Some(4));
        assert_eq!(next(None), None);
    }
}
