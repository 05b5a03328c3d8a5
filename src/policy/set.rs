//! The policies of a run, found by the kind or resource of an object.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::value::Text;

use super::index::{KindKeys, Part, PolicyIndex};
use super::{Candidate, ClassicPolicy, FailurePolicy, Policy, Rule};

/// Policies in the order they run, with an index from kinds and resources to the parts of policies, and from there
/// by the cheapest condition.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The parts that name a kind.
    by_kind: BTreeMap<Text, Places>,
    /// The parts that name a resource, by its plural.
    by_resource: BTreeMap<Text, Places>,
    /// The parts that may take any object.
    any: Places,
}

/// Parts by policy.
#[derive(Clone, Debug, Default)]
struct Places {
    /// In the order they run: the number of a policy, and those of its parts.
    list: Vec<(usize, Vec<usize>)>,
    /// The numbers of the policies, by index keys of their parts.
    index: PolicyIndex,
    /// The first policies that see all requests, one for each failure policy.
    first: Vec<(FailurePolicy, usize)>,
}

impl PolicySet {
    /// Indexes policies.
    pub fn new(policies: Vec<Policy>) -> Self {
        let mut by_kind: BTreeMap<Text, Places> = BTreeMap::new();
        let mut by_resource: BTreeMap<Text, Places> = BTreeMap::new();
        let mut any = Places::default();
        let parts: Vec<Vec<Part<'_>>> = policies.iter().map(Policy::parts).collect();
        for (number, parts) in parts.iter().enumerate() {
            for (index, part) in parts.iter().enumerate() {
                let (named, names) = match &part.kinds {
                    KindKeys::Any => {
                        any.add(number, index);
                        continue;
                    }
                    KindKeys::Kinds(kinds) => (&mut by_kind, kinds),
                    KindKeys::Resources(resources) => (&mut by_resource, resources),
                };
                for name in names {
                    named.entry(Text::clone(name)).or_default().add(number, index);
                }
            }
        }
        for places in by_kind.values_mut().chain(by_resource.values_mut()).chain([&mut any]) {
            places.index(&policies, &parts);
        }
        drop(parts);
        Self { policies, by_kind, by_resource, any }
    }

    /// The policies, in the order they run.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The rules of classic policies, in the order they run.
    pub fn classic_rules(&self) -> impl Iterator<Item = &Rule> {
        self.policies.iter().filter_map(Policy::as_classic).flat_map(|policy: &ClassicPolicy| &policy.rules)
    }

    /// The policies that may concern objects of a kind; `resource` is its plural, empty where it is not known.
    pub fn of_kind(&self, kind: &str, resource: &str) -> Candidates<'_> {
        let places = [self.by_kind.get(kind), self.by_resource.get(resource), Some(&self.any)];
        Candidates { policies: &self.policies, places }
    }
}

/// The policies with parts that may take objects of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'p> {
    policies: &'p [Policy],
    places: [Option<&'p Places>; LISTS],
}

/// Lists that a policy is found in: by kind, by resource, and those for any object.
const LISTS: usize = 3;

impl<'p> Candidates<'p> {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.places().all(|places| places.list.is_empty())
    }

    /// All, in the order they run, each with the numbers of these parts.
    pub fn all(self) -> impl Iterator<Item = (&'p Policy, Cow<'p, [usize]>)> {
        let mut behind = [0; LISTS];
        std::iter::from_fn(move || {
            let next = |(places, behind): (&Option<&Places>, &usize)| {
                places.and_then(|places| places.list.get(*behind)).map(|(number, _)| *number)
            };
            let number = self.places.iter().zip(&behind).filter_map(next).min()?;
            self.at_behind(&mut behind, number)
        })
    }

    /// A walk through those that may change an object, or that a report on it may mention.
    pub fn walk(self, candidate: &Candidate<'_>) -> Walk<'p> {
        Walk::new(self, candidate)
    }

    /// The policy of a number, if it is one of these, with its parts as [`Candidates::all`] has them.
    pub fn at(self, number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        self.at_behind(&mut [0; LISTS], number)
    }

    /// The same where the policy is known to be behind these places of the lists; they move behind it.
    fn at_behind(self, behind: &mut [usize; LISTS], number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        let mut parts: Option<Cow<'p, [usize]>> = None;
        for (places, behind) in self.places.into_iter().zip(behind) {
            let Some(more) = places.and_then(|places| places.parts_of(number, behind)) else { continue };
            parts = Some(match parts {
                None => Cow::Borrowed(more),
                Some(parts) => {
                    let mut all = [&*parts, more].concat();
                    all.sort_unstable();
                    Cow::Owned(all)
                }
            });
        }
        Some((self.policies.get(number)?, parts?))
    }

    /// The number of the first of these policies that sees all requests and has this failure policy.
    pub fn first_to_see(self, failure_policy: FailurePolicy) -> Option<usize> {
        let first = self.places().flat_map(|places| &places.first);
        first.filter(|(known, _)| *known == failure_policy).map(|(_, first)| *first).min()
    }

    fn places(self) -> impl Iterator<Item = &'p Places> {
        self.places.into_iter().flatten()
    }
}

/// A walk through the policies that an index key may hold for: no part of the others takes the object, rules with
/// targets aside.
#[derive(Debug)]
pub struct Walk<'p> {
    candidates: Candidates<'p>,
    /// The numbers to come, the next one last.
    numbers: Vec<usize>,
    /// Further numbers, found since a policy changed the object.
    gained: BTreeSet<usize>,
    /// The lists that these are from.
    known: BTreeSet<*const usize>,
    last: Option<usize>,
    /// The places behind it in the lists.
    behind: [usize; LISTS],
}

impl<'p> Walk<'p> {
    fn new(candidates: Candidates<'p>, candidate: &Candidate<'_>) -> Self {
        let mut found = Vec::new();
        for places in candidates.places() {
            places.index.find(candidate, &mut found);
        }
        let mut numbers = found.concat();
        if found.len() > 1 {
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers.reverse();
        let (gained, known) = (BTreeSet::new(), BTreeSet::new());
        Self { candidates, numbers, gained, known, last: None, behind: [0; LISTS] }
    }

    /// Adds the policies after the last one that the object reaches now and did not before it was changed.
    pub fn update(&mut self, before: &Candidate<'_>, candidate: &Candidate<'_>) {
        let is_same = |name| {
            let (before, after) = (before.object.get(name), candidate.object.get(name));
            before.zip(after).is_some_and(|(before, after)| before.same_storage(after))
        };
        if is_same("metadata") && is_same("kind") {
            return;
        }
        let mut found = Vec::new();
        for places in self.candidates.places() {
            places.index.find_gained(before, candidate, &mut found);
        }
        for numbers in found {
            // However often a key comes and goes, its numbers are added once.
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
        let (policy, parts) = self.candidates.at_behind(&mut self.behind, number)?;
        Some((number, policy, parts))
    }
}

impl Places {
    /// Adds a part, which may name a kind several times.
    fn add(&mut self, policy: usize, part: usize) {
        match self.list.last_mut().filter(|(last, _)| *last == policy) {
            Some((_, parts)) if parts.last() == Some(&part) => {}
            Some((_, parts)) => parts.push(part),
            None => self.list.push((policy, vec![part])),
        }
    }

    /// The parts of a policy that is behind a place in the list, which moves behind it.
    fn parts_of(&self, number: usize, behind: &mut usize) -> Option<&[usize]> {
        let rest = self.list.get(*behind..)?;
        // Most often it is the next one.
        if rest.first().is_some_and(|(next, _)| *next < number) {
            *behind += rest.partition_point(|(other, _)| *other < number);
        }
        let (_, parts) = self.list.get(*behind).filter(|(found, _)| *found == number)?;
        *behind += 1;
        Some(parts)
    }

    /// Indexes the policies, given the parts of all.
    fn index(&mut self, policies: &[Policy], all: &[Vec<Part<'_>>]) {
        for (number, parts) in &self.list {
            let (Some(policy), Some(all)) = (policies.get(*number), all.get(*number)) else { continue };
            let keys: Option<Vec<_>> = parts.iter().map(|part| all.get(*part)?.keys.as_deref()).collect();
            self.index.add(*number, keys.map(|keys| keys.concat()).as_deref());
            if let Some(failure_policy) = policy.sees_all_requests()
                && !self.first.iter().any(|(known, _)| *known == failure_policy)
            {
                self.first.push((failure_policy, *number));
            }
        }
    }
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
            set.of_kind(kind, "")
                .all()
                .map(|(policy, rules)| (policy.meta().name.to_string(), rules.into_owned()))
                .collect()
        };
        assert_eq!(found("ConfigMap"), [("a".into(), vec![0, 1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Secret"), [("a".into(), vec![1, 2]), ("c".into(), vec![1])]);
        assert_eq!(found("Service"), [("a".into(), vec![2]), ("b".into(), vec![0]), ("c".into(), vec![1])]);
        assert_eq!(found("Deployment"), [("a".into(), vec![2]), ("c".into(), vec![0, 1])]);
        assert_eq!(found("Other"), [("a".into(), vec![2]), ("c".into(), vec![1])]);
        assert_eq!(PolicySet::default().of_kind("Pod", "").all().count(), 0);
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
            let walk = set.of_kind("ConfigMap", "").walk(&Candidate::new(&object, &kind, Operation::Create));
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
    fn rules_that_share_a_key_are_met_together_and_once() {
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
            let walk = set.of_kind("ConfigMap", "").walk(&Candidate::new(&object, &kind, Operation::Create));
            let found: Vec<_> = walk
                .map(|(number, policy, rules)| (number, policy.meta().name.to_string(), rules.len()))
                .collect();
            assert_eq!(found, [(0, "a".into(), 2), (1, "b".into(), 1), (2, "c".into(), 1)], "{more}");
        }
    }

    #[test]
    fn a_request_is_seen_by_the_first_policy_of_its_webhook() {
        let named = |name| matching(name, &[&format!(r#"{{"any":[{}]}}"#, filter(r#""name":"web""#))]);
        let ignoring = |name, namespace: Option<&str>| {
            let Policy::Classic(mut policy) = named(name) else { unreachable!() };
            policy.meta.failure_policy = FailurePolicy::Ignore;
            policy.meta.namespace = namespace.map(Text::from);
            Policy::Classic(policy)
        };
        let set =
            PolicySet::new(vec![named("a"), ignoring("b", Some("shop")), ignoring("c", None), named("d")]);
        let first = |failure_policy| set.of_kind("ConfigMap", "").first_to_see(failure_policy);
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
        let mut walk = set.of_kind("ConfigMap", "").walk(&zero);
        let mut next = |change: Option<(&Candidate<'_>, &Candidate<'_>)>| {
            change.into_iter().for_each(|(before, after)| walk.update(before, after));
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
