//! `PolicyException`: which objects a rule leaves alone although it selects them.

use crate::pattern::{self, Conditions};
use crate::semantics::{DivergenceTracker, Semantics};
use crate::value::{GroupVersionKind, MAX_DEPTH, Pointer, Text, Value};
use crate::variables::Template;

use super::selection::Selection;
use super::{conditions, refuse, schema};
use crate::policy::error::{PolicyError, in_document_order};
use crate::policy::fields::{is_blank, texts};
use crate::policy::{Candidate, Note, Policy};

/// An exception from classic policies, compiled.
#[derive(Clone, Debug)]
pub struct PolicyException {
    /// Its name.
    pub name: Text,
    /// Its namespace, if it names one.
    pub namespace: Option<Text>,
    /// What must hold besides.
    pub conditions: Option<Conditions<Template>>,
    /// What its author may want to know.
    pub notes: Vec<Note>,
    exempted: Vec<Exempted>,
    matching: Selection,
}

/// The rules of a policy that an exception is from.
#[derive(Clone, Debug)]
struct Exempted {
    policy: Text,
    /// Patterns for the names of rules, generated ones included.
    rules: Vec<Text>,
}

impl PolicyException {
    /// Reads an exception strictly and compiles it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, in the order of the document: unknown and ill-typed fields, and what
    /// Kyverno refuses when an exception is installed.
    pub fn parse(document: &Value, semantics: Semantics) -> Result<Self, Vec<PolicyError>> {
        if document.depth() > MAX_DEPTH {
            return Err(vec![PolicyError::new(
                Pointer::ROOT,
                format!("nested deeper than {MAX_DEPTH} levels"),
            )]);
        }
        let mut errors = Vec::new();
        let mut notes = Vec::new();
        schema::check_exception(document, &mut errors);
        let at = Pointer::ROOT.key("spec");
        let empty = Value::empty_object();
        let spec = document.get("spec").filter(|spec| spec.as_object().is_some()).unwrap_or(&empty);
        let background = spec.get("background").and_then(Value::as_bool).unwrap_or(true);
        refuse::check_exception(spec, &at, background, &mut errors, &mut notes);
        let below = Pointer::ROOT.key("conditions");
        let conditions = if spec.get("conditions").is_some_and(|block| block.as_object().is_some()) {
            conditions::read(spec, &below, &at, semantics, &mut errors)
        } else {
            None
        };
        let exempted = exempted(spec, &at, &mut errors);
        if spec.get("podSecurity").is_some_and(|controls| !is_blank(controls)) {
            notes.push(Note::new("podSecurity concerns validate rules only, and is left aside"));
        }
        let block = spec.get("match").cloned().unwrap_or_default();
        if ["any", "all"].iter().all(|branch| block.get(branch).is_none_or(is_blank)) {
            notes.push(Note::new("its match has no filter, so that it is for no object at all"));
        }
        if !errors.is_empty() {
            in_document_order(document, &mut errors);
            return Err(errors);
        }
        let text = |field| document.path(&["metadata", field]).and_then(Value::as_text).cloned();
        Ok(Self {
            name: text("name").unwrap_or_default(),
            namespace: text("namespace").filter(|namespace| !namespace.is_empty()),
            conditions,
            notes,
            exempted,
            matching: Selection::read(&block),
        })
    }

    /// The name that reports use: `namespace/name`, or the name alone where no namespace is named.
    pub fn full_name(&self) -> Text {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name).into(),
            None => self.name.clone(),
        }
    }

    /// The policies that it is from, by the names it gives.
    pub fn policies(&self) -> impl Iterator<Item = &Text> {
        self.exempted.iter().map(|exempted| &exempted.policy)
    }

    /// Whether it is from a rule of a policy. A namespaced policy is named with its namespace, a generated
    /// rule by its generated name.
    pub fn is_from(&self, policy: &str, rule: &str) -> bool {
        self.exempted.iter().any(|exempted| exempted.is_from(policy, rule))
    }

    /// What it names that none of these policies has: a line for each, with what may have been meant.
    pub fn misses(&self, policies: &[Policy]) -> Vec<String> {
        if self.exempted.is_empty() {
            return vec!["it names no rule at all".to_owned()];
        }
        self.exempted.iter().flat_map(|exempted| exempted.misses(policies)).collect()
    }

    /// Whether its `match` takes an object, as it comes to the policy.
    pub fn takes(&self, candidate: &Candidate<'_>, tracker: &DivergenceTracker) -> bool {
        self.matching.exempts(candidate, tracker)
    }

    /// Why its `match` does not take an object, in words.
    pub fn mismatch(&self, candidate: &Candidate<'_>) -> Vec<String> {
        let missed = self.matching.misses(candidate);
        if !missed.is_empty() {
            return missed;
        }
        vec![if self.uses_user_info() {
            "its match asks who sends the request, and nobody said (`--userinfo` does)".to_owned()
        } else {
            "its match takes nothing".to_owned()
        }]
    }

    /// Whether it may ask for the labels of an object's namespace.
    pub fn uses_namespace_labels(&self) -> bool {
        self.matching.uses_namespace_labels()
    }

    /// Whether it may ask for the labels of the namespace of objects of this kind.
    pub fn needs_namespace_labels(&self, kind: &GroupVersionKind, subresource: &str) -> bool {
        self.matching.needs_namespace_labels(kind, subresource)
    }

    /// Whether it selects objects by their labels or annotations.
    pub fn uses_labels(&self) -> bool {
        self.matching.uses_labels()
    }

    /// Whether it may ask who sends the request.
    pub fn uses_user_info(&self) -> bool {
        self.matching.uses_user_info()
    }
}

impl Exempted {
    fn is_from(&self, policy: &str, rule: &str) -> bool {
        *self.policy == *policy && self.rules.iter().any(|pattern| pattern::matches(pattern, rule))
    }

    fn misses(&self, policies: &[Policy]) -> Vec<String> {
        let wanted = &self.policy;
        let mut named = policies.iter().filter(|policy| *policy.full_name() == **wanted).peekable();
        if named.peek().is_none() {
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
        let missed = self.rules.iter().filter(|pattern| !rules().any(|rule| pattern::matches(pattern, rule)));
        missed
            .map(|pattern| {
                let nearest = pattern::nearest(pattern, rules().map(|rule| &**rule));
                let meant = nearest.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
                format!("policy `{wanted}` has no rule `{pattern}`{meant}")
            })
            .collect()
    }
}

fn exempted(spec: &Value, at: &Pointer, errors: &mut Vec<PolicyError>) -> Vec<Exempted> {
    let list = spec.get("exceptions").and_then(Value::as_array).unwrap_or_default();
    let entries = list.iter().enumerate().map(|(index, entry)| {
        let policy = entry.get("policyName").and_then(Value::as_text);
        if policy.is_some_and(|policy| policy.is_empty()) {
            let at = at.key("exceptions").index(index).key("policyName");
            errors.push(PolicyError::new(at, "An exception requires a policy name"));
        }
        Exempted { policy: policy.cloned().unwrap_or_default(), rules: texts(entry.get("ruleNames")) }
    });
    entries.collect()
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
            assert_eq!(exception.is_from(policy, rule), expected, "{policy} {rule}");
        }
        assert_eq!(&*exception.full_name(), "ns/e");
        assert_eq!(
            exception.misses(&[]),
            ["there is no policy `p`", "there is no policy `ns/q`"].map(str::to_owned)
        );
    }

    #[test]
    fn naming_no_rule_is_a_miss() {
        let exception = parse(&format!(r#"{{"exceptions":[],{MATCH}}}"#)).unwrap();
        assert_eq!(exception.misses(&[]), ["it names no rule at all"]);
    }

    #[test]
    fn everything_that_is_wrong_is_named_with_its_place() {
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
