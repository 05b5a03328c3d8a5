//! `PolicyException`: objects that a rule leaves alone although it selects them.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::diagnostics::Code;
use crate::pattern::{self, Conditions};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{GroupVersionKind, PathSet, Pointer, Text, Value};
use crate::variables::Template;

use super::findings::Findings;
use super::load::check_depth;
use super::rule::Rule;
use super::selection::Selection;
use super::{conditions, match_checks, schema};
use crate::policy::error::PolicyError;
use crate::policy::fields::{filled, list, text, texts};
use crate::policy::{Candidate, Note, Policy};

/// An exception from classic policies, compiled.
#[derive(Clone, Debug)]
pub struct PolicyException {
    /// Its name.
    pub name: Text,
    /// Its namespace, if it names one.
    pub namespace: Option<Text>,
    /// Its `conditions`.
    pub conditions: Option<Conditions<Template>>,
    /// What its author may want to know.
    pub notes: Vec<Note>,
    full_name: Text,
    exempted: Vec<Exempted>,
    /// The names, kinds and other values that are compared.
    size: u64,
    pub(super) matching: Selection,
    /// Filled by [`PolicyException::reads`].
    pub(super) reads: OnceLock<PathSet>,
}

/// Rules of a policy.
#[derive(Clone, Debug)]
struct Exempted {
    policy: Text,
    /// Patterns of the names of rules, generated ones included.
    rules: Vec<Text>,
    /// Those without wildcards.
    exact: BTreeSet<Text>,
    /// Those with wildcards.
    wildcards: Vec<Text>,
}

impl PolicyException {
    /// Reads an exception strictly and compiles it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, in the order of the document: unknown and ill-typed fields, and what Kyverno
    /// refuses when an exception is installed.
    pub fn parse(document: &Value, semantics: Semantics) -> Result<Self, Vec<PolicyError>> {
        check_depth(document)?;
        let mut findings = Findings::default();
        schema::check_exception(document, &mut findings.errors);
        let at = Pointer::ROOT.key("spec");
        let empty = Value::empty_object();
        let spec = document.get("spec").filter(|spec| spec.as_object().is_some()).unwrap_or(&empty);
        let background = spec.get("background").and_then(Value::as_bool).unwrap_or(true);
        match_checks::check_exception(spec, &at, background, &mut findings);
        let below = Pointer::ROOT.key("conditions");
        let conditions = spec.get("conditions").filter(|block| block.as_object().is_some());
        let conditions =
            conditions.and_then(|_| conditions::read(spec, &below, &at, semantics, &mut findings));
        let exempted = exempted(spec, &at, &mut findings);
        if filled(spec, "podSecurity").is_some() {
            let text = "podSecurity concerns validate rules only, and is ignored";
            findings.notes.push(Note::new(Code::IgnoredField, text));
        }
        let block = spec.get("match").unwrap_or(&Value::Null);
        if filled(block, "any").or_else(|| filled(block, "all")).is_none() {
            findings
                .notes
                .push(Note::new(Code::NeverMatches, "its match has no filter, so it applies to no object"));
        }
        let metadata = document.get("metadata").unwrap_or(&Value::Null);
        let name = text(metadata, "name");
        let namespace = Some(text(metadata, "namespace")).filter(|namespace| !namespace.is_empty());
        Ok(Self {
            full_name: match &namespace {
                Some(namespace) => format!("{namespace}/{name}").into(),
                None => name.clone(),
            },
            size: scalars(spec),
            name,
            namespace,
            conditions,
            exempted,
            matching: Selection::read(block),
            reads: OnceLock::new(),
            notes: findings.finish(document)?,
        })
    }

    /// The name in reports: `namespace/name`, or the name alone.
    pub fn full_name(&self) -> Text {
        self.full_name.clone()
    }

    /// How much a search for the exceptions from a rule looks at: its names, filters and conditions.
    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// The policies that it names.
    pub fn policies(&self) -> impl Iterator<Item = &Text> {
        self.exempted.iter().map(|exempted| &exempted.policy)
    }

    /// Whether it names a rule of a policy. A namespaced policy has its namespace in its name, a generated rule its
    /// generated name.
    pub fn names(&self, policy: &str, rule: &str) -> bool {
        self.exempted.iter().any(|exempted| exempted.names(policy, rule))
    }

    /// The policies and rules that it names and that do not exist, with the nearest name, and generated rules for its kinds
    /// that it does not name although it names their sources: a line for each.
    /// `comparisons` is how many names may be compared; the others are left out.
    pub fn unmatched_names(&self, policies: &[Policy], comparisons: &mut Comparisons) -> Vec<String> {
        if self.exempted.is_empty() {
            return vec!["it names no rule".to_owned()];
        }
        let kinds: Vec<&str> =
            self.matching.only_kinds().unwrap_or_default().into_iter().map(|kind| &**kind).collect();
        let lines = self.exempted.iter().flat_map(|exempted| {
            let mut lines = exempted.unmatched_names(policies, comparisons);
            lines.extend(exempted.unnamed_generated_rules(policies, &kinds, comparisons));
            lines
        });
        lines.collect()
    }

    /// Whether its `match` selects an object, as it was before the policy.
    pub fn selects(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        self.matching.exempts(candidate, tracker)
    }

    /// Why its `match` does not select an object.
    pub fn mismatch(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let details = self.matching.mismatch_details(candidate);
        if !details.is_empty() {
            return details;
        }
        vec![if self.uses_user_info() {
            "its match needs the user of the request (`--userinfo`)".to_owned()
        } else {
            "its match selects nothing".to_owned()
        }]
    }

    /// Whether the labels of an object's namespace may decide.
    pub fn uses_namespace_labels(&self) -> bool {
        self.matching.uses_namespace_labels()
    }

    /// Whether the labels of their namespace may decide for objects of this kind.
    pub fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.matching.needs_namespace_labels(kind, subresource)
    }

    /// Whether the labels or annotations of an object may decide.
    pub fn uses_labels(&self) -> bool {
        self.matching.uses_labels()
    }

    /// Whether the user who sends the request may decide.
    pub fn uses_user_info(&self) -> bool {
        self.matching.uses_user_info()
    }
}

impl Exempted {
    fn names(&self, policy: &str, rule: &str) -> bool {
        *self.policy == *policy && self.names_rule(rule)
    }

    fn names_rule(&self, rule: &str) -> bool {
        self.exact.contains(rule) || self.wildcards.iter().any(|pattern| pattern::matches(pattern, rule))
    }

    fn unmatched_names(&self, policies: &[Policy], comparisons: &mut Comparisons) -> Vec<String> {
        let wanted = &self.policy;
        if !comparisons.allow(policies.len()) {
            return Vec::new();
        }
        let mut named = policies.iter().filter(|policy| *policy.full_name() == **wanted).peekable();
        if named.peek().is_none() {
            if !comparisons.allow(policies.len() * NEAREST) {
                return vec![format!("there is no policy `{wanted}`")];
            }
            let names: Vec<Text> = policies.iter().map(Policy::full_name).collect();
            let short = wanted.rsplit('/').next();
            let namesake =
                policies.iter().find(|policy| Some(&*policy.meta().name) == short).map(Policy::full_name);
            let nearest = pattern::nearest(wanted, names.iter().map(|name| &**name));
            let meant = namesake.as_deref().or(nearest);
            let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
            return vec![format!("there is no policy `{wanted}`{meant}")];
        }
        if self.rules.is_empty() {
            return vec![format!("of policy `{wanted}` it names no rule")];
        }
        let policies: Vec<&Policy> = named.collect();
        let rules = || {
            let mutating = policies.iter().flat_map(|policy| policy.rules()).map(|rule| rule.name);
            let others = policies.iter().flat_map(|policy| &policy.meta().not_evaluated);
            mutating.chain(others.filter_map(|other| other.rule.as_ref()))
        };
        let exact: BTreeSet<&Text> =
            if comparisons.allow(16 * policies.iter().map(|policy| policy.rules().len()).sum::<usize>()) {
                rules().collect()
            } else {
                return Vec::new();
            };
        let is_unmatched = |pattern: &&Text| {
            if self.exact.contains(*pattern) {
                return !exact.contains(*pattern);
            }
            comparisons.allow(exact.len()) && !exact.iter().any(|rule| pattern::matches(pattern, rule))
        };
        let unmatched: Vec<&Text> = self.rules.iter().filter(is_unmatched).collect();
        unmatched
            .into_iter()
            .map(|pattern| {
                let nearest = comparisons
                    .allow(exact.len() * NEAREST)
                    .then(|| pattern::nearest(pattern, rules().map(|rule| &**rule)))
                    .flatten();
                let meant = nearest.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
                format!("policy `{wanted}` has no rule `{pattern}`{meant}")
            })
            .collect()
    }

    /// Generated rules for some of the kinds that no pattern names, while one names the rule that they are generated from.
    fn unnamed_generated_rules(
        &self,
        policies: &[Policy],
        kinds: &[&str],
        comparisons: &mut Comparisons,
    ) -> Vec<String> {
        let rules = policies.iter().filter_map(|policy| match policy {
            Policy::Classic(classic) if *policy.full_name() == *self.policy => Some(&classic.rules),
            _ => None,
        });
        let line = |rule: &Rule| {
            let source = rule.generated_from.as_ref()?;
            if !comparisons.allow(2 * self.wildcards.len() + kinds.len()) {
                return None;
            }
            if !self.names(&self.policy, source) || self.names(&self.policy, &rule.name) {
                return None;
            }
            let of_rule = rule.matching.only_kinds().unwrap_or_default();
            let common = kinds.iter().find(|kind| of_rule.iter().any(|of_rule| ***of_rule == ***kind))?;
            Some(format!(
                "policy `{}`: a {common} is not exempt from the generated rule `{name}`: add `{name}` to `ruleNames`",
                self.policy,
                name = rule.name
            ))
        };
        rules.flatten().filter_map(line).collect()
    }
}

/// How many names the notes on exceptions may still compare. Were all compared with all, long lists would take hours.
#[derive(Debug)]
pub struct Comparisons(usize);

/// How many comparisons the search for a similar name counts as, for each candidate.
const NEAREST: usize = 64;

impl Comparisons {
    /// Takes so many; `false` if there are not as many left.
    pub const fn allow(&mut self, count: usize) -> bool {
        match self.0.checked_sub(count) {
            Some(left) => self.0 = left,
            None => self.0 = 0,
        }
        self.0 > 0
    }

    /// Whether all were taken, so that some names were not compared.
    pub const fn are_used_up(&self) -> bool {
        self.0 == 0
    }
}

impl Default for Comparisons {
    fn default() -> Self {
        Self(50_000_000)
    }
}

/// The number of scalars in a value.
fn scalars(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(scalars).sum(),
        Value::Object(members) => members.values().map(scalars).sum(),
        _ => 1,
    }
}

fn exempted(spec: &Value, at: &Pointer, findings: &mut Findings) -> Vec<Exempted> {
    let read = |(index, entry): (usize, &Value)| {
        let policy = entry.get("policyName").and_then(Value::as_text);
        if policy.is_some_and(|policy| policy.is_empty()) {
            let at = at.key("exceptions").index(index).key("policyName");
            findings.error(Code::MissingField, at, "An exception requires a policy name");
        }
        let rules = texts(entry.get("ruleNames"));
        let (wildcards, exact): (Vec<Text>, Vec<Text>) =
            rules.iter().cloned().partition(|name| name.contains(['*', '?']));
        let exact = BTreeSet::from_iter(exact);
        Exempted { policy: policy.cloned().unwrap_or_default(), rules, exact, wildcards }
    };
    list(spec, "exceptions").iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(spec: &str) -> Result<PolicyException, Vec<String>> {
        let document = format!(
            r#"{{"apiVersion":"kyverno.io/v2","kind":"PolicyException","metadata":{{"name":"e","namespace":"ns"}},
                "spec":{spec}}}"#
        );
        PolicyException::parse(&Value::from_json(&document).unwrap(), Semantics::Documented)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    const MATCH: &str = r#""match":{"any":[{"resources":{"kinds":["Pod"]}}]}"#;

    #[test]
    fn rules_are_named_by_policy_and_pattern() {
        let exception = parse(&format!(
            r#"{{"exceptions":[{{"policyName":"p","ruleNames":["add*"]}},{{"policyName":"ns/q","ruleNames":["r"]}}],{MATCH}}}"#
        ))
        .unwrap();
        for (policy, rule, expected) in [
            ("p", "add-label", true),
            ("p", "autogen-add-label", false),
            ("q", "r", false),
            ("ns/q", "r", true),
            ("ns/p", "add", false),
        ] {
            assert_eq!(exception.names(policy, rule), expected, "{policy} {rule}");
        }
        assert_eq!(&*exception.full_name(), "ns/e");
        assert_eq!(
            exception.unmatched_names(&[], &mut Comparisons::default()),
            ["there is no policy `p`", "there is no policy `ns/q`"].map(str::to_owned)
        );
    }

    #[test]
    fn an_exception_without_rules_is_noted() {
        let exception = parse(&format!(r#"{{"exceptions":[],{MATCH}}}"#)).unwrap();
        assert_eq!(exception.unmatched_names(&[], &mut Comparisons::default()), ["it names no rule"]);
    }

    #[test]
    fn all_errors_have_their_place() {
        for (spec, expected) in [
            (
                format!(r#"{{"exceptions":[{{"policyname":"p","ruleNames":["r"]}}],{MATCH}}}"#),
                vec![
                    "spec.exceptions[0]: required field `policyName` is missing",
                    "spec.exceptions[0].policyname: unknown field `policyname`, did you mean `policyName`?",
                ],
            ),
            (
                format!(r#"{{"exceptions":[{{"policyName":"","ruleNames":["r"]}}],{MATCH}}}"#),
                vec!["spec.exceptions[0].policyName: An exception requires a policy name"],
            ),
            (
                r#"{"exceptions":[],"match":{"resources":{"kinds":["Pod"]}}}"#.into(),
                vec!["spec.match.resources: unknown field `resources`"],
            ),
            (
                r#"{"exceptions":[],"match":{"any":[],"all":[]}}"#.into(),
                vec!["spec.match: Can't specify any and all together"],
            ),
            (
                r#"{"exceptions":[],"match":{"any":[{"clusterRoles":["admin"]}]}}"#.into(),
                vec![
                    "spec.match.any[0].clusterRoles: invalid variable used at path: \
                     spec/match/any[0]/clusterRoles: match cannot ask for users in background mode, set \
                     spec.background to false",
                ],
            ),
            (
                format!(
                    r#"{{"exceptions":[],"conditions":{{"all":[{{"key":"a","operator":"AnyInn","value":1}}]}},{MATCH}}}"#
                ),
                vec!["spec.conditions.all[0].operator: unknown operator, did you mean `AnyIn`?"],
            ),
            (
                format!(r#"{{"exceptions":[],"conditions":[],{MATCH}}}"#),
                vec!["spec.conditions: expected an object, found a list"],
            ),
        ] {
            assert_eq!(parse(&spec).unwrap_err(), expected, "{spec}");
        }
        let user = r#"{"background":false,"exceptions":[],"match":{"any":[{"clusterRoles":["admin"]}]}}"#;
        assert!(parse(user).unwrap().uses_user_info());
    }
}
