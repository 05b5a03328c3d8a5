//! The policies of a run, found by the kind or resource of an object.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::value::{PathSet, Text};

use super::index::{KindKeys, Part, PolicyIndex};
use super::{Candidate, ClassicPolicy, FailurePolicy, Policy, Rule, SharedWebhooks};

/// Policies in the order in which they run, indexed by the kinds or resources of their parts, and then by index keys.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    policies: Vec<Policy>,
    /// The parts for a kind.
    by_kind: BTreeMap<Text, RuleIndex>,
    /// The parts for a resource, by its plural.
    by_resource: BTreeMap<Text, RuleIndex>,
    /// The parts for any object.
    any: RuleIndex,
    matches_resources: bool,
    /// Filled by [`PolicySet::paths`].
    paths: OnceLock<PathSet>,
    /// Policies that share two webhooks, one for each failure policy: groups of numbers.
    called_twice: Vec<Vec<usize>>,
}

/// Parts of policies.
#[derive(Clone, Debug, Default)]
struct RuleIndex {
    /// Policies in the order in which they run, and parts of each.
    list: Vec<(usize, Vec<usize>)>,
    /// The policies by index keys of these parts.
    index: PolicyIndex,
    /// The first policy that sees all requests, for each failure policy.
    first: Vec<(FailurePolicy, usize)>,
}

impl PolicySet {
    /// Indexes policies. Those that the API server runs itself come first; else policies keep their order.
    pub fn new(mut policies: Vec<Policy>) -> Self {
        policies.sort_by_key(|policy| !policy.runs_in_api_server());
        let mut by_kind: BTreeMap<Text, RuleIndex> = BTreeMap::new();
        let mut by_resource: BTreeMap<Text, RuleIndex> = BTreeMap::new();
        let mut any = RuleIndex::default();
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
        for index in by_kind.values_mut().chain(by_resource.values_mut()).chain([&mut any]) {
            index.index(&policies, &parts);
        }
        drop(parts);
        // Those for any resource are told which one it is.
        let is_cel = |policy: &Policy| matches!(policy, Policy::Cel(_));
        let matches_resources = !by_resource.is_empty() || policies.iter().any(is_cel);
        let called_twice = called_twice(&policies);
        let paths = OnceLock::new();
        Self { policies, by_kind, by_resource, any, matches_resources, paths, called_twice }
    }

    /// The policies, in the order in which they run.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// The rules of classic policies, in the order in which they run.
    pub fn classic_rules(&self) -> impl Iterator<Item = &Rule> {
        self.policies.iter().filter_map(Policy::as_classic).flat_map(|policy: &ClassicPolicy| &policy.rules)
    }

    /// Whether some policy matches objects by their resource.
    pub fn matches_resources(&self) -> bool {
        self.matches_resources
    }

    /// What the policies together may read and write, computed once.
    pub fn paths(&self) -> &PathSet {
        self.paths.get_or_init(|| all_paths(&self.policies))
    }

    /// The groups of policies, by number, that Kyverno evaluates twice where a policy that fails and one that ignores
    /// failures select an object.
    pub fn called_twice(&self) -> &[Vec<usize>] {
        &self.called_twice
    }

    /// The policies that may concern objects of a kind; `resource` is its plural, empty if not known.
    #[inline]
    pub fn of_kind(&self, kind: &str, resource: &str) -> Candidates<'_> {
        let by_resource = if resource.is_empty() { None } else { self.by_resource.get(resource) };
        let indexes = [self.by_kind.get(kind), by_resource, Some(&self.any)];
        Candidates { policies: &self.policies, indexes }
    }
}

fn all_paths(policies: &[Policy]) -> PathSet {
    let mut all = PathSet::default();
    for policy in policies {
        for rule in (0..policy.rules().len()).filter_map(|part| policy.paths(part)) {
            all.extend(&rule.reads);
            all.extend(&rule.writes);
        }
    }
    all
}

/// The policies that share their webhooks, where there is one for each failure policy.
fn called_twice(policies: &[Policy]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(&SharedWebhooks, Vec<usize>)> = Vec::new();
    for (number, policy) in policies.iter().enumerate() {
        let Some(webhooks) = policy.shared_webhooks() else { continue };
        match groups.iter_mut().find(|(known, _)| *known == webhooks) {
            Some((_, group)) => group.push(number),
            None => groups.push((webhooks, vec![number])),
        }
    }
    let has_both = |group: &Vec<usize>| {
        [FailurePolicy::Fail, FailurePolicy::Ignore]
            .iter()
            .all(|wanted| group.iter().any(|number| policies[*number].meta().failure_policy == *wanted))
    };
    groups.into_iter().map(|(_, group)| group).filter(has_both).collect()
}

/// The policies with parts that may select objects of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'p> {
    policies: &'p [Policy],
    indexes: [Option<&'p RuleIndex>; INDEXES],
}

/// By kind, by resource, and for any object.
const INDEXES: usize = 3;

impl<'p> Candidates<'p> {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.indexes().all(|index| index.list.is_empty())
    }

    /// All, in the order in which they run, each with these parts.
    pub fn all(self) -> impl Iterator<Item = (&'p Policy, Cow<'p, [usize]>)> {
        self.numbered().map(|(_, policy, parts)| (policy, parts))
    }

    /// The same with their numbers.
    pub fn numbered(self) -> impl Iterator<Item = (usize, &'p Policy, Cow<'p, [usize]>)> {
        let mut behind = [0; INDEXES];
        std::iter::from_fn(move || {
            let next = |(index, behind): (&Option<&RuleIndex>, &usize)| {
                index.and_then(|index| index.list.get(*behind)).map(|(number, _)| *number)
            };
            let number = self.indexes.iter().zip(&behind).filter_map(next).min()?;
            let (policy, parts) = self.at_behind(&mut behind, number)?;
            Some((number, policy, parts))
        })
    }

    /// How many they are at most: one that is both for a kind and for any counts twice.
    pub fn most(self) -> usize {
        self.indexes.iter().flatten().map(|index| index.list.len()).sum()
    }

    /// Those that may change an object, or that a report on it may mention.
    pub fn walk(self, candidate: &Candidate<'_>) -> Walk<'p> {
        Walk::new(self, candidate)
    }

    /// Those of [`Candidates::walk`] for a changed object that it does not find for the object before.
    pub fn gained(self, before: &Candidate<'_>, candidate: &Candidate<'_>) -> Walk<'p> {
        let mut walk = Walk::of(self, Vec::new());
        walk.update(before, candidate);
        walk
    }

    /// The policy with a number, if it is one of these, and its parts as in [`Candidates::all`].
    pub fn at(self, number: usize) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        self.at_behind(&mut [0; INDEXES], number)
    }

    /// The same for a policy that is not before these places of the lists, which move behind it.
    fn at_behind(
        self,
        behind: &mut [usize; INDEXES],
        number: usize,
    ) -> Option<(&'p Policy, Cow<'p, [usize]>)> {
        let mut parts: Option<Cow<'p, [usize]>> = None;
        for (index, behind) in self.indexes.into_iter().zip(behind) {
            let Some(more) = index.and_then(|index| index.parts_of(number, behind)) else { continue };
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

    /// The number of the first policy that sees all requests and has this failure policy.
    pub fn first_to_see(self, failure_policy: FailurePolicy) -> Option<usize> {
        let first = self.indexes().flat_map(|index| &index.first);
        first.filter(|(known, _)| *known == failure_policy).map(|(_, first)| *first).min()
    }

    fn indexes(self) -> impl Iterator<Item = &'p RuleIndex> {
        self.indexes.into_iter().flatten()
    }
}

/// The policies with an index key that may hold for an object. No part of the others selects it, except rules with
/// targets.
#[derive(Debug)]
pub struct Walk<'p> {
    candidates: Candidates<'p>,
    /// The policies to come, the next one last.
    numbers: Vec<usize>,
    /// Further ones, found since a policy changed the object.
    gained: BTreeSet<usize>,
    /// The lists that they are from.
    known: BTreeSet<*const usize>,
    last: Option<usize>,
    /// The places behind the last one in the lists.
    behind: [usize; INDEXES],
}

impl<'p> Walk<'p> {
    fn new(candidates: Candidates<'p>, candidate: &Candidate<'_>) -> Self {
        let mut found = Vec::new();
        for index in candidates.indexes() {
            index.index.find(candidate, &mut found);
        }
        let mut numbers = found.concat();
        if found.len() > 1 {
            numbers.sort_unstable();
            numbers.dedup();
        }
        numbers.reverse();
        Self::of(candidates, numbers)
    }

    fn of(candidates: Candidates<'p>, numbers: Vec<usize>) -> Self {
        let (gained, known) = (BTreeSet::new(), BTreeSet::new());
        Self { candidates, numbers, gained, known, last: None, behind: [0; INDEXES] }
    }

    /// Adds the policies after the last one that are found for the changed object only.
    pub fn update(&mut self, before: &Candidate<'_>, candidate: &Candidate<'_>) {
        let is_same = |name| {
            let (before, after) = (before.object.get(name), candidate.object.get(name));
            before.zip(after).is_some_and(|(before, after)| before.same_storage(after))
        };
        if is_same("metadata") && is_same("kind") {
            return;
        }
        let mut found = Vec::new();
        for index in self.candidates.indexes() {
            index.index.find_gained(before, candidate, &mut found);
        }
        for numbers in found {
            // Each list is added once, however often a key comes and goes.
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

impl RuleIndex {
    /// Adds a part, which may have a kind several times.
    fn add(&mut self, policy: usize, part: usize) {
        match self.list.last_mut().filter(|(last, _)| *last == policy) {
            Some((_, parts)) if parts.last() == Some(&part) => {}
            Some((_, parts)) => parts.push(part),
            None => self.list.push((policy, vec![part])),
        }
    }

    /// The parts of a policy that is not before a place in the list, which moves behind it.
    fn parts_of(&self, number: usize, behind: &mut usize) -> Option<&[usize]> {
        let rest = self.list.get(*behind..)?;
        // Usually it is the next one.
        if rest.first().is_some_and(|(next, _)| *next < number) {
            *behind += rest.partition_point(|(other, _)| *other < number);
        }
        let (_, parts) = self.list.get(*behind).filter(|(found, _)| *found == number)?;
        *behind += 1;
        Some(parts)
    }

    /// Indexes the policies by the keys of their parts.
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
    use crate::yaml;

    use super::*;

    /// A policy with a rule for each of these `match`.
    fn matching(name: &str, blocks: &[impl AsRef<str>]) -> Policy {
        let rule = |(index, block): (usize, &str)| {
            format!(
                "{{name: r{index}, match: {block}, \
                  mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: b}}}}}}}}}}"
            )
        };
        let rules: Vec<String> = blocks.iter().map(AsRef::as_ref).enumerate().map(rule).collect();
        let document = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, \
              spec: {{background: false, rules: [{}]}}}}",
            rules.join(", ")
        );
        policy::parse(&value(&document), Semantics::Documented).unwrap()
    }

    /// A policy with a rule for each of these lists of kinds.
    fn policy(name: &str, kinds: &[&str]) -> Policy {
        let block = |kinds: &&str| format!("{{any: [{{resources: {{kinds: [{kinds}]}}}}]}}");
        matching(name, &kinds.iter().map(block).collect::<Vec<_>>())
    }

    fn value(text: &str) -> Value {
        yaml::parse_value(text).unwrap()
    }

    /// The numbers and parts of the policies for a ConfigMap.
    fn walk(set: &PolicySet, metadata: &str) -> Vec<(usize, usize)> {
        let object = value(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}"));
        let kind = GroupVersionKind::of(&object).unwrap();
        let walk = set.of_kind("ConfigMap", "").walk(&Candidate::new(&object, &kind, Operation::Create));
        walk.map(|(number, _, parts)| (number, parts.len())).collect()
    }

    #[test]
    fn policies_are_found_by_kind() {
        let set = PolicySet::new(vec![
            policy("a", &["ConfigMap", "v1/Secret, ConfigMap", "Config*"]),
            policy("b", &["Service"]),
            policy("c", &["apps/*/Deployment/scale", "'*/*'"]),
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

    fn filter(conditions: &str) -> String {
        format!("{{resources: {{kinds: [ConfigMap], {conditions}}}}}")
    }

    fn any(conditions: &str) -> String {
        format!("{{any: [{}]}}", filter(conditions))
    }

    #[test]
    fn policies_are_found_by_what_all_their_rules_require() {
        let (web, shop) = (filter("name: web"), filter("namespaces: [shop]"));
        let blocks = [
            vec![any("names: [web, api-*]")],
            vec![any("names: ['*-web']")],
            vec![any("names: ['*'], namespaces: [shop]")],
            vec![any("selector: {matchLabels: {app: web, tier: f*}}")],
            vec![any("selector: {matchExpressions: [{key: app, operator: In, values: [web, b]}]}")],
            vec![any("selector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}")],
            vec![any("selector: {matchExpressions: [{key: app, operator: Exists}]}")],
            // One of several filters, all of several, and several rules.
            vec![format!("{{any: [{web}, {shop}]}}")],
            vec![format!("{{all: [{}, {shop}]}}", filter("name: '*'"))],
            vec![any("name: web"), any("name: api-1")],
            vec![any("name: web"), any("name: '?'")],
            vec!["{resources: {kinds: ['*'], name: web}}".to_owned()],
            // An unknown user is reported.
            vec!["{any: [{resources: {kinds: [ConfigMap], name: web}, clusterRoles: [a]}]}".to_owned()],
        ];
        let policies =
            blocks.iter().enumerate().map(|(number, blocks)| matching(&format!("p{number:02}"), blocks));
        let set = PolicySet::new(policies.collect());
        let found = |metadata| walk(&set, metadata).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
        // Policies without an index key are always found.
        assert_eq!(found("{}"), [1, 5, 10, 12]);
        assert_eq!(found("{name: web}"), [0, 1, 5, 7, 9, 10, 11, 12]);
        assert_eq!(found("{name: api-1}"), [0, 1, 5, 9, 10, 12]);
        assert_eq!(found("{namespace: shop}"), [1, 2, 5, 7, 8, 10, 12]);
        assert_eq!(found("{labels: {app: web}}"), [1, 3, 4, 5, 6, 10, 12]);
        assert_eq!(found("{labels: {app: c}}"), [1, 5, 6, 10, 12]);
    }

    #[test]
    fn rules_that_share_a_key_are_found_together_and_once() {
        for conditions in [
            "name: web",
            "names: [web, web, we*, w*]",
            "namespaces: [shop]",
            "selector: {matchLabels: {app: web}}",
            "selector: {matchExpressions: [{key: app, operator: Exists}]}",
            "selector: {matchExpressions: [{key: app, operator: In, values: [web, web]}]}",
            "name: '*'",
        ] {
            let one = any(conditions);
            let twice = format!("{{any: [{0}, {0}]}}", filter(conditions));
            let policies = [matching("a", &[&one, &one]), matching("b", &[&twice]), matching("c", &[&one])];
            let found =
                walk(&PolicySet::new(policies.into()), "{name: web, namespace: shop, labels: {app: web}}");
            assert_eq!(found, [(0, 2), (1, 1), (2, 1)], "{conditions}");
        }
    }

    #[test]
    fn a_request_is_seen_by_the_first_policy_of_its_webhook() {
        let named = |name| matching(name, &[any("name: web")]);
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
    fn policies_for_a_changed_object_are_found_once() {
        let seq = |value| any(&format!("selector: {{matchLabels: {{seq: '{value}'}}}}"));
        let set = PolicySet::new(vec![
            matching("a", &[seq(0)]),
            matching("b", &[seq(1)]),
            matching("c", &[any("selector: {matchExpressions: [{key: other, operator: Exists}]}")]),
            matching("d", &[seq(1)]),
            matching("e", &[seq(0)]),
        ]);
        let object =
            |labels: &str| value(&format!("{{kind: ConfigMap, metadata: {{labels: {{{labels}}}}}}}"));
        let kind = GroupVersionKind::new("v1", "ConfigMap");
        let [zero, one, other] = ["seq: '0'", "seq: '1'", "seq: '1', other: '1'"].map(object);
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
        // Policies before the last one are not found again.
        assert_eq!(next(Some((&zero, &other))), Some(4));
        assert_eq!(next(None), None);
    }
}
