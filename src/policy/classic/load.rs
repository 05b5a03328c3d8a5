//! The way from a document to a policy.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use crate::semantics::{Dialect, Divergence, DivergenceTracker, LegacyMode, Semantics};
use crate::value::{MAX_DEPTH, Pointer, Value};

use super::autogen;
use super::rule::Source;
use super::{ApplyRules, ClassicPolicy, Rule, allowed, context, overlay_labels, refuse, schema};
use crate::policy::error::{PolicyError, in_document_order, name_rules};
use crate::policy::fields::{filled, is_blank};
use crate::policy::{FailurePolicy, Meta, NotEvaluated, Note, Why};

/// The operations that a rule may have, each with why it is not evaluated.
const OPERATIONS: [(&str, Option<Why>); 4] = [
    ("mutate", None),
    ("validate", Some(Why::Validate)),
    ("generate", Some(Why::Generate)),
    ("verifyImages", Some(Why::VerifyImages)),
];

/// The longest name of a rule, in characters.
const LONGEST_NAME: usize = 63;

/// Reads a classic policy strictly and compiles it.
///
/// # Errors
///
/// Everything that is wrong with it, in the order of the document: unknown and ill-typed fields, and what
/// Kyverno refuses when a policy is installed, unless these semantics accept it.
pub(in crate::policy) fn parse(
    document: &Value,
    dialect: impl Into<Dialect>,
) -> Result<ClassicPolicy, Vec<PolicyError>> {
    let Dialect { semantics, legacy } = dialect.into();
    if document.depth() > MAX_DEPTH {
        return Err(vec![PolicyError::new(Pointer::ROOT, format!("nested deeper than {MAX_DEPTH} levels"))]);
    }
    let mut errors = Vec::new();
    schema::check(document, &mut errors);
    let policy = Loader { document, semantics, legacy, errors: &mut errors, notes: Vec::new() }.policy();
    if errors.is_empty() {
        return Ok(policy);
    }
    name_rules(document, &mut errors);
    in_document_order(document, &mut errors);
    Err(errors)
}

struct Loader<'a> {
    document: &'a Value,
    semantics: Semantics,
    legacy: LegacyMode,
    errors: &'a mut Vec<PolicyError>,
    notes: Vec<Note>,
}

impl Loader<'_> {
    fn spec(&self, field: &str) -> Option<&Value> {
        self.document.path(&["spec", field]).filter(|value| !value.is_null())
    }

    fn error(&mut self, pointer: Pointer, message: impl Into<String>) {
        self.errors.push(PolicyError::new(pointer, message));
    }

    fn policy(mut self) -> ClassicPolicy {
        let text = |path: &[&str]| self.document.path(path).and_then(Value::as_text).cloned();
        let is_namespaced = self.document.get("kind").and_then(Value::as_str) == Some("Policy");
        let namespace = text(&["metadata", "namespace"]).filter(|namespace| !namespace.is_empty());
        if let Some(namespace) = namespace.as_ref().filter(|_| !is_namespaced) {
            // kustomize writes one into every kind that it does not know.
            self.notes.push(Note::new(format!(
                "a ClusterPolicy lives in no namespace: the API server drops `metadata.namespace: {namespace}`, and the \
                 policy is for all namespaces"
            )));
        }
        let namespace = is_namespaced.then(|| namespace.unwrap_or_else(|| "default".into()));
        let name = text(&["metadata", "name"]).unwrap_or_default();
        let written: Vec<Value> =
            self.spec("rules").and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default();
        self.whole(&written);
        let is_webhook = |field: &str| self.document.path(&["spec", "webhookConfiguration", field]);
        let failure_policy = is_webhook("failurePolicy").or_else(|| self.spec("failurePolicy"));
        let match_conditions = is_webhook("matchConditions").and_then(Value::as_array).unwrap_or_default();
        let kind = if is_namespaced { "Policy" } else { "ClusterPolicy" };
        let failure_policy = match failure_policy.and_then(Value::as_str) {
            Some("Ignore") => FailurePolicy::Ignore,
            _ => FailurePolicy::Fail,
        };
        let mut policy = ClassicPolicy {
            meta: Meta { namespace, failure_policy, ..Meta::new(kind, name) },
            rules: Vec::new(),
            controller_only_rules: Vec::new(),
            apply_rules: match self.spec("applyRules").and_then(Value::as_str) {
                Some("One") => ApplyRules::One,
                _ => ApplyRules::All,
            },
            on_policy_update: self
                .spec("mutateExistingOnPolicyUpdate")
                .and_then(Value::as_bool)
                .unwrap_or_default(),
            no_autogen: None,
        };
        if !match_conditions.is_empty() {
            policy.meta.not_evaluated.push(NotEvaluated {
                rule: None,
                pointer: Pointer::ROOT.key("spec").key("webhookConfiguration").key("matchConditions"),
                why: Why::MatchConditions,
            });
        }
        self.rules(written, &mut policy);
        policy.meta.notes = self.notes;
        policy
    }

    /// Checks what concerns the policy as a whole.
    fn whole(&mut self, rules: &[Value]) {
        let spec = Pointer::ROOT.key("spec");
        let mutates = rules.iter().any(mutates);
        if self.spec("admission").and_then(Value::as_bool) == Some(false) && mutates {
            let message = "disabling admission processing is only allowed with validation policies";
            self.error(spec.key("admission"), message);
        }
        let webhook = spec.key("webhookConfiguration").key("timeoutSeconds");
        for at in [spec.key("webhookTimeoutSeconds"), webhook] {
            let seconds = self.document.pointed(&at).and_then(Value::as_number);
            if seconds
                .and_then(|seconds| seconds.as_i64())
                .is_some_and(|seconds| !(1..=30).contains(&seconds))
            {
                self.error(at, "the timeout value must be between 1 and 30 seconds");
            }
        }
        let annotation = Pointer::ROOT.key("metadata").key("annotations").key(autogen::ANNOTATION);
        if self.document.pointed(&annotation).and_then(Value::as_str) == Some("all") {
            self.error(
                annotation,
                "Autogen annotation does not support 'all' anymore, remove the annotation or set it to a valid value",
            );
        }
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, rule) in rules.iter().enumerate() {
            let Some(name) = rule.get("name").and_then(Value::as_str) else { continue };
            let at = spec.key("rules").index(index).key("name");
            if name.chars().count() > LONGEST_NAME {
                self.errors.push(PolicyError::new(
                    at.clone(),
                    format!("a rule name has at most {LONGEST_NAME} characters"),
                ));
            }
            if names.insert(name, index).is_some() {
                let shown: String = name.chars().take(LONGEST_NAME).collect();
                self.errors.push(PolicyError::new(at, format!("Duplicate rule name: '{shown}'")));
            }
        }
    }

    fn rules(&mut self, mut written: Vec<Value>, policy: &mut ClassicPolicy) {
        let background = self.spec("background").and_then(Value::as_bool).unwrap_or(true);
        let direct = self.document.get("apiVersion").and_then(Value::as_str) != Some("kyverno.io/v2beta1");
        let filters = refuse::Setting { namespaced: policy.meta.namespace.is_some(), background, direct };
        let targets = written
            .iter()
            .any(|rule| rule.path(&["mutate", "targets"]).is_some_and(|targets| !targets.is_null()));
        let variables = allowed::Setting { semantics: self.semantics, background, targets };
        let places: Vec<Pointer> =
            (0..written.len()).map(|index| Pointer::ROOT.key("spec").key("rules").index(index)).collect();
        let readings: Vec<DivergenceTracker> =
            written.iter().map(|_| DivergenceTracker::new(self.semantics)).collect();
        let misspelt: BTreeSet<Pointer> = self.errors.iter().filter_map(holder_of_unknown_field).collect();
        for ((rule, at), tracker) in written.iter_mut().zip(&places).zip(&readings) {
            refuse::check(rule, at, filters, self.errors, &mut self.notes);
            self.operation(rule, at, misspelt.contains(at), policy);
            if !mutates(rule) {
                continue;
            }
            overlay_labels::as_texts(rule, at, tracker, self.errors);
            if self.legacy == LegacyMode::Later {
                overlay_labels::legacy_as_texts(rule, at, tracker, self.errors);
            }
            allowed::check(rule, at, variables, self.errors);
            self.targets(rule, at, policy);
            self.versions_of_targets(rule, at, policy);
            self.early(rule, at, tracker, policy);
        }
        // What only the generated rules come through is not for their sources.
        let carried: Vec<DivergenceTracker> =
            written.iter().map(|_| DivergenceTracker::new(self.semantics)).collect();
        let made = autogen::generate(self.document, &written, &carried);
        policy.no_autogen.clone_from(&made.stopped);
        let mut rules = Vec::new();
        for ((rule, at), tracker) in written.iter().zip(&places).zip(&readings) {
            let dropped = made.generated.iter().any(|generated| !generated.controller_only_rules)
                && autogen::is_generated_name(rule);
            if dropped || !mutates(rule) {
                continue;
            }
            let source = Source {
                namespace: policy.meta.namespace.as_ref(),
                pointer: at,
                generated_from: None,
                legacy: self.legacy,
            };
            rules.extend(Rule::read(rule, &source, tracker, self.errors, &mut self.notes));
        }
        self.notes.extend(made.notes);
        for generated in made.generated {
            let (Some(at), Some(source)) = (places.get(generated.source), written.get(generated.source))
            else {
                continue;
            };
            let made = self.generated(&generated.rule, source, at, policy);
            if generated.controller_only_rules {
                policy.controller_only_rules.extend(made);
                continue;
            }
            rules.extend(made.map(|mut rule| {
                for tracker in
                    [readings.get(generated.source), carried.get(generated.source)].into_iter().flatten()
                {
                    rule.divergences.extend(tracker.reached());
                }
                rule
            }));
        }
        // Of a policy that no cluster has, the other rules do not run either.
        if !policy.meta.refused.is_empty() && self.legacy == LegacyMode::Documented {
            rules.retain(|rule| rule.not_evaluated().is_some());
        }
        for rule in &rules {
            policy.meta.divergences.extend(rule.divergences);
            policy.meta.not_evaluated.extend(rule.as_not_evaluated());
        }
        for tracker in readings.iter().chain(&carried) {
            policy.meta.divergences.extend(tracker.reached());
        }
        policy.rules = rules;
    }

    fn generated(
        &mut self,
        rule: &Value,
        source: &Value,
        at: &Pointer,
        policy: &ClassicPolicy,
    ) -> Option<Rule> {
        let name = source.get("name").and_then(Value::as_text);
        let source = Source {
            namespace: policy.meta.namespace.as_ref(),
            pointer: at,
            generated_from: name,
            legacy: self.legacy,
        };
        let own = DivergenceTracker::new(self.semantics);
        let mut errors = Vec::new();
        let read = Rule::read(rule, &source, &own, &mut errors, &mut Vec::new());
        // What is wrong with the source is reported there.
        if self.errors.is_empty() && !errors.is_empty() {
            let name = rule.get("name").and_then(Value::as_str).unwrap_or_default();
            self.errors.extend(errors.into_iter().map(|error| PolicyError {
                pointer: at.clone(),
                message: format!("the generated rule `{name}` is at fault: {error}"),
                ..error
            }));
        }
        read
    }

    /// A rule does one thing. `misspelt` says that a field of it is unknown.
    fn operation(&mut self, rule: &Value, at: &Pointer, misspelt: bool, policy: &mut ClassicPolicy) {
        if rule.as_object().is_none() {
            return;
        }
        let name = rule.get("name").and_then(Value::as_text).cloned().unwrap_or_default();
        let found: Vec<_> = OPERATIONS.into_iter().filter(|(operation, _)| has(rule, operation)).collect();
        let listed = OPERATIONS.map(|(operation, _)| operation).join(", ");
        match found.as_slice() {
            // A misspelt operation was reported already.
            [] if misspelt => {}
            [] => self.error(
                at.clone(),
                format!("No operation defined in the rule '{name}' (supported operations: {listed})"),
            ),
            [(_, why)] => policy.meta.not_evaluated.extend(why.map(|why| NotEvaluated {
                rule: Some(name),
                pointer: at.clone(),
                why,
            })),
            several => {
                let several: Vec<_> = several.iter().map(|(operation, _)| *operation).collect();
                self.error(
                    at.clone(),
                    format!(
                        "Multiple operations defined in the rule '{name}', only one is allowed: {}",
                        several.join(", ")
                    ),
                );
            }
        }
        if mutates(rule) {
            if filled(rule, "celPreconditions").is_some() {
                self.error(at.key("celPreconditions"), "celPrecondition can only be used with validate.cel");
            }
            if filled(rule, "imageExtractors").is_some() {
                let message = "imageExtractors can only be defined for verifyImages rule";
                self.error(at.key("imageExtractors"), message);
            }
        }
    }

    /// Checks the rules about targets.
    fn targets(&mut self, rule: &Value, at: &Pointer, policy: &ClassicPolicy) {
        let mutate = at.key("mutate");
        let flag = rule
            .path(&["mutate", "mutateExistingOnPolicyUpdate"])
            .filter(|flag| !flag.is_null())
            .or_else(|| self.spec("mutateExistingOnPolicyUpdate"));
        let targets = rule.path(&["mutate", "targets"]).filter(|targets| !targets.is_null());
        if flag.and_then(Value::as_bool) == Some(true) && targets.is_none_or(is_blank) {
            let message = "targets has to be specified when mutateExistingOnPolicyUpdate is set";
            self.error(mutate.clone(), message);
        }
        for (index, target) in targets.and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
            let at = mutate.key("targets").index(index).key("context");
            context::check_kinds(target.get("context"), &at, self.errors);
            if target.get("uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty()) {
                let text = format!(
                    "the `uid` of targets[{index}] selects nothing: Kyverno looks at the other fields"
                );
                self.notes.push(Note::of_rule(rule, text));
            }
        }
        let Some(namespace) = &policy.meta.namespace else { return };
        for (index, target) in targets.and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
            let named = target.get("namespace").and_then(Value::as_str).filter(|named| !named.is_empty());
            if named.is_some_and(|named| named != &**namespace) {
                self.error(
                    mutate.key("targets").index(index).key("namespace"),
                    "a namespaced policy has targets in its own namespace alone",
                );
            }
        }
    }

    /// Clusters look up the kinds of targets, to see whether they may be changed, and find none without a version.
    /// Rules with loops they do not look at.
    fn versions_of_targets(&self, rule: &Value, at: &Pointer, policy: &mut ClassicPolicy) {
        if self.semantics == Semantics::Documented
            || rule.path(&["mutate", "foreach"]).is_some_and(|loops| !is_blank(loops))
        {
            return;
        }
        let targets = rule.path(&["mutate", "targets"]).and_then(Value::as_array).unwrap_or_default();
        for (index, target) in targets.iter().enumerate() {
            let text = |field: &str| target.get(field).and_then(Value::as_str).unwrap_or_default();
            let kind = text("kind");
            if text("apiVersion").is_empty() && !kind.contains("{{") {
                let message = format!("a cluster refuses this policy: failed to get GVR for kind /{kind}");
                let at = at.key("mutate").key("targets").index(index);
                policy
                    .meta
                    .refused
                    .push(PolicyError::new(at, message).because_of(Divergence::TargetWithoutVersion));
            }
        }
        name_rules(self.document, &mut policy.meta.refused);
    }

    /// Clusters refuse the early syntax.
    fn early(&self, rule: &Value, at: &Pointer, tracker: &DivergenceTracker, policy: &mut ClassicPolicy) {
        for field in ["overlay", "patches"] {
            if rule.path(&["mutate", field]).is_some_and(|value| !value.is_null())
                && !tracker.documented(Divergence::LegacySyntax)
            {
                let message = format!("a cluster refuses this policy: unknown field \"{field}\"");
                let mut error = PolicyError::new(at.key("mutate").key(field), message);
                name_rules(self.document, slice::from_mut(&mut error));
                policy.meta.refused.push(error.because_of(Divergence::LegacySyntax));
            }
        }
    }
}

/// The node that an unknown field stands in, if that is what is wrong.
fn holder_of_unknown_field(error: &PolicyError) -> Option<Pointer> {
    error.is_unknown_field.then(|| error.pointer.parent())
}

/// Whether a rule has an operation.
fn has(rule: &Value, operation: &str) -> bool {
    if operation == "mutate" { mutates(rule) } else { filled(rule, operation).is_some() }
}

/// Whether a rule mutates: a block of empty texts counts as none.
fn mutates(rule: &Value) -> bool {
    match rule.get("mutate") {
        None | Some(Value::Null) => false,
        Some(Value::Object(members)) => {
            members.values().any(|member| !member.is_null() && member.as_str() != Some(""))
        }
        // Of a wrong type, which the field table reports.
        Some(_) => true,
    }
}
