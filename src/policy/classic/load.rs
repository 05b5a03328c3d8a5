//! From a document to a policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostics::Code;
use crate::semantics::{Dialect, Divergence, DivergenceTracker, LegacyMode, Semantics};
use crate::value::{MAX_DEPTH, Pointer, Value};

use super::autogen::{self, Generated};
use super::findings::{Findings, name_rules};
use super::rule::Source;
use super::written::{WrittenRule, mutates, targets};
use super::{
    ApplyRules, ClassicPolicy, Rule, context, field_checks, match_checks, overlay_labels, schema,
    variable_checks, warnings,
};
use crate::policy::error::PolicyError;
use crate::policy::fields::{filled, given, is_blank, string, text};
use crate::policy::{FailurePolicy, Meta, NotEvaluated, Note, WebhookConditions, Why};

/// The operations of rules, with the reason why some are not evaluated.
const OPERATIONS: [(&str, Option<Why>); 4] = [
    ("mutate", None),
    ("validate", Some(Why::Validate)),
    ("generate", Some(Why::Generate)),
    ("verifyImages", Some(Why::VerifyImages)),
];

const ON_POLICY_UPDATE: &str = "mutateExistingOnPolicyUpdate";

/// The longest name of a rule, in characters.
const MAX_NAME_CHARS: usize = 63;

/// Reads a classic policy strictly and compiles it.
///
/// # Errors
///
/// Everything that is wrong with it, in the order of the document: unknown and ill-typed fields, and what Kyverno
/// refuses when a policy is installed, unless these semantics accept it.
pub(in crate::policy) fn parse(
    document: &Value,
    dialect: impl Into<Dialect>,
) -> Result<ClassicPolicy, Vec<PolicyError>> {
    check_depth(document)?;
    let mut findings = Findings::default();
    schema::check(document, &mut findings.errors);
    let mut loader = Loader { document, dialect: dialect.into(), policy: policy(document), findings };
    let rules = loader.written_rules();
    loader.check_policy(&rules);
    loader.webhook_conditions();
    loader.rules(rules);
    let Loader { mut policy, findings, .. } = loader;
    policy.meta.notes = findings.finish(document)?;
    Ok(policy)
}

pub(super) fn check_depth(document: &Value) -> Result<(), Vec<PolicyError>> {
    if document.depth() > MAX_DEPTH {
        let message = format!("nested deeper than {MAX_DEPTH} levels");
        return Err(vec![PolicyError::new(Code::TooDeep, Pointer::ROOT, message)]);
    }
    Ok(())
}

/// The fields of `spec`, in documents of any shape.
fn spec<'v>(document: &'v Value, field: &str) -> Option<&'v Value> {
    given(document.get("spec")?, field)
}

/// The policy without its rules.
fn policy(document: &Value) -> ClassicPolicy {
    let metadata = document.get("metadata").unwrap_or(&Value::Null);
    let webhook = |field: &str| document.path(&["spec", "webhookConfiguration", field]);
    let kind = if string(document, "kind") == "Policy" { "Policy" } else { "ClusterPolicy" };
    let mut meta = Meta::new(kind, text(metadata, "name"));
    if kind == "Policy" {
        let namespace = text(metadata, "namespace");
        meta.namespace = Some(if namespace.is_empty() { "default".into() } else { namespace });
    }
    let failure_policy = webhook("failurePolicy").or_else(|| spec(document, "failurePolicy"));
    if failure_policy.and_then(Value::as_str) == Some("Ignore") {
        meta.failure_policy = FailurePolicy::Ignore;
    }
    ClassicPolicy {
        meta,
        rules: Vec::new(),
        controller_only_rules: Vec::new(),
        apply_rules: match spec(document, "applyRules").and_then(Value::as_str) {
            Some("One") => ApplyRules::One,
            _ => ApplyRules::All,
        },
        on_policy_update: is_true(spec(document, ON_POLICY_UPDATE)),
        no_autogen: None,
        webhook_conditions: None,
    }
}

fn is_true(flag: Option<&Value>) -> bool {
    flag.and_then(Value::as_bool) == Some(true)
}

struct Loader<'a> {
    document: &'a Value,
    dialect: Dialect,
    policy: ClassicPolicy,
    findings: Findings,
}

impl Loader<'_> {
    fn written_rules(&self) -> Vec<WrittenRule> {
        let rules = spec(self.document, "rules").and_then(Value::as_array).unwrap_or_default();
        let rule =
            |(index, rule): (usize, &Value)| WrittenRule::new(rule.clone(), index, self.dialect.semantics);
        rules.iter().enumerate().map(rule).collect()
    }

    /// Checks what concerns the policy as a whole.
    fn check_policy(&mut self, rules: &[WrittenRule]) {
        let namespace =
            self.document.path(&["metadata", "namespace"]).and_then(Value::as_str).unwrap_or_default();
        if self.policy.meta.namespace.is_none() && !namespace.is_empty() {
            // kustomize writes one into every kind that it does not know.
            self.findings.notes.push(Note::new(Code::IgnoredField, format!(
                "a ClusterPolicy has no namespace: the API server removes `metadata.namespace: {namespace}`, and the policy applies to all namespaces"
            )));
        }
        let at = Pointer::ROOT.key("spec");
        let admission = spec(self.document, "admission").and_then(Value::as_bool);
        if admission == Some(false) && rules.iter().any(|rule| mutates(&rule.value)) {
            let message = "disabling admission processing is only allowed with validation policies";
            self.findings.error(Code::InvalidField, at.key("admission"), message);
        }
        let webhook = at.key("webhookConfiguration").key("timeoutSeconds");
        for at in [at.key("webhookTimeoutSeconds"), webhook] {
            let seconds = self.document.pointed(&at).and_then(Value::as_number);
            if seconds
                .and_then(|seconds| seconds.as_i64())
                .is_some_and(|seconds| !(1..=30).contains(&seconds))
            {
                self.findings.error(
                    Code::InvalidField,
                    at,
                    "the timeout value must be between 1 and 30 seconds",
                );
            }
        }
        let annotation = Pointer::ROOT.key("metadata").key("annotations").key(autogen::ANNOTATION);
        if self.document.pointed(&annotation).and_then(Value::as_str) == Some("all") {
            self.findings.error(Code::InvalidField,
                annotation,
                "Autogen annotation does not support 'all' anymore, remove the annotation or set it to a valid value",
            );
        }
        let mut names = BTreeSet::new();
        for rule in rules {
            let Some(name) = rule.value.get("name").and_then(Value::as_str) else { continue };
            let at = rule.at.key("name");
            if name.chars().count() > MAX_NAME_CHARS {
                let message = format!("a rule name has at most {MAX_NAME_CHARS} characters");
                self.findings.error(Code::RuleName, at.clone(), message);
            }
            if !names.insert(name) {
                let shown: String = name.chars().take(MAX_NAME_CHARS).collect();
                self.findings.error(Code::RuleName, at, format!("Duplicate rule name: '{shown}'"));
            }
        }
    }

    fn webhook_conditions(&mut self) {
        let at = Pointer::ROOT.key("spec").key("webhookConfiguration").key("matchConditions");
        let conditions = self.document.pointed(&at).and_then(Value::as_array).unwrap_or_default();
        let conditions = WebhookConditions::read(conditions, &at, &mut self.findings.errors);
        self.policy.webhook_conditions = conditions.map(Arc::new);
    }

    fn rules(&mut self, mut rules: Vec<WrittenRule>) {
        self.check_rules(&mut rules);
        let autogen = autogen::generate(self.document, &rules);
        self.policy.no_autogen = autogen.stopped;
        let namespace = self.policy.meta.namespace.clone();
        let conditions = self.policy.webhook_conditions.clone();
        let source = Source {
            namespace: namespace.as_ref(),
            pointer: &Pointer::ROOT,
            generated_from: None,
            written: None,
            legacy: self.dialect.legacy,
            conditions: conditions.as_ref(),
        };
        // Generated rules replace a written one with such a name.
        let is_replaced = |rule: &Value| {
            autogen.generated.iter().any(|generated| !generated.controller_only)
                && string(rule, "name").starts_with("autogen-")
        };
        // The place of each written rule among the compiled ones.
        let mut compiled_at = vec![None; rules.len()];
        for (rule, compiled_at) in rules.iter().zip(&mut compiled_at) {
            if !mutates(&rule.value) || is_replaced(&rule.value) {
                continue;
            }
            let source = Source { pointer: &rule.at, ..source };
            let compiled = Rule::read(&rule.value, &source, &rule.tracker, &mut self.findings);
            *compiled_at = compiled.is_some().then_some(self.policy.rules.len());
            self.policy.rules.extend(compiled);
        }
        self.findings.notes.extend(autogen.notes);
        for generated in &autogen.generated {
            self.generated_rule(generated, (&rules[generated.source], compiled_at[generated.source]), source);
        }
        // Of a policy that a cluster refuses, the other rules do not run either.
        let meta = &mut self.policy.meta;
        if !meta.refused.is_empty() && self.dialect.legacy == LegacyMode::Documented {
            self.policy.rules.retain(|rule| rule.not_evaluated().is_some());
        }
        name_rules(self.document, &mut meta.refused);
        for rule in &self.policy.rules {
            meta.divergences.extend(rule.divergences);
            meta.not_evaluated.extend(rule.as_not_evaluated());
        }
        meta.warnings = warnings::find(self.document, &rules);
        field_checks::find(&rules, &mut meta.warnings);
        for rule in &rules {
            meta.divergences.extend(rule.tracker.reached());
            meta.divergences.extend(rule.autogen_tracker.reached());
        }
    }

    /// Adds a generated rule, given the written one and its place among the compiled rules.
    fn generated_rule(
        &mut self,
        generated: &Generated,
        (written, compiled_at): (&WrittenRule, Option<usize>),
        source: Source<'_>,
    ) {
        let generated_from = written.value.get("name").and_then(Value::as_text);
        let compiled = compiled_at.filter(|_| !generated.controller_only);
        let edit = compiled.and_then(|at| self.policy.rules.get(at)).map(Rule::edit);
        let source = Source { pointer: &written.at, generated_from, written: edit, ..source };
        let tracker = DivergenceTracker::new(self.dialect.semantics);
        let mut findings = Findings::default();
        let rule = Rule::read(&generated.rule, &source, &tracker, &mut findings);
        // What is wrong with the written rule is reported there.
        if self.findings.errors.is_empty() {
            let name = string(&generated.rule, "name");
            self.findings.errors.extend(findings.errors.into_iter().map(|error| PolicyError {
                pointer: written.at.clone(),
                message: format!("the generated rule `{name}` is at fault: {error}"),
                ..error
            }));
        }
        let Some(mut rule) = rule else { return };
        if generated.controller_only {
            return self.policy.controller_only_rules.push(rule);
        }
        rule.divergences.extend(written.tracker.reached());
        rule.divergences.extend(written.autogen_tracker.reached());
        self.policy.rules.push(rule);
    }

    fn check_rules(&mut self, rules: &mut [WrittenRule]) {
        let background = spec(self.document, "background").and_then(Value::as_bool).unwrap_or(true);
        let match_settings = match_checks::Settings {
            namespaced: self.policy.meta.namespace.is_some(),
            background,
            direct: string(self.document, "apiVersion") != "kyverno.io/v2beta1",
        };
        let variable_settings = variable_checks::Settings {
            background,
            targets: rules.iter().any(|rule| targets(&rule.value).is_some()),
        };
        let unknown_fields = self.findings.errors.iter().filter(|error| error.is_unknown_field);
        let misspelt: BTreeSet<Pointer> = unknown_fields.map(|error| error.pointer.parent()).collect();
        for WrittenRule { value: rule, at, tracker, .. } in rules {
            match_checks::check(rule, at, match_settings, &mut self.findings);
            self.check_operation(rule, at, misspelt.contains(at));
            if !mutates(rule) {
                continue;
            }
            overlay_labels::as_texts(rule, at, tracker, &mut self.findings.errors);
            if self.dialect.legacy == LegacyMode::Later {
                overlay_labels::legacy_as_texts(rule, at, tracker, &mut self.findings.errors);
            }
            variable_checks::check(rule, at, variable_settings, &mut self.findings);
            self.check_targets(rule, at);
            self.check_target_versions(rule, at);
            self.check_legacy(rule, at, tracker);
        }
    }

    /// Checks that a rule has one operation. `misspelt` says that a field of it is unknown.
    fn check_operation(&mut self, rule: &Value, at: &Pointer, misspelt: bool) {
        if rule.as_object().is_none() {
            return;
        }
        let is_operation = |(name, _): &(&str, _)| match *name {
            "mutate" => mutates(rule),
            name => filled(rule, name).is_some(),
        };
        let operations: Vec<_> = OPERATIONS.into_iter().filter(is_operation).collect();
        let names = |operations: &[(&'static str, _)]| {
            operations.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        let name = text(rule, "name");
        match operations.as_slice() {
            // The schema reported the misspelt operation.
            [] if misspelt => {}
            [] => self.findings.error(
                Code::RuleType,
                at.clone(),
                format!(
                    "No operation defined in the rule '{name}' (supported operations: {})",
                    names(&OPERATIONS)
                ),
            ),
            [(_, why)] => self.policy.meta.not_evaluated.extend(why.map(|why| NotEvaluated {
                rule: Some(name),
                pointer: at.clone(),
                why,
            })),
            several => {
                let several = names(several);
                self.findings.error(
                    Code::RuleType,
                    at.clone(),
                    format!(
                        "Multiple operations defined in the rule '{name}', only one is allowed: {several}"
                    ),
                );
            }
        }
        for (field, message) in [
            ("celPreconditions", "celPrecondition can only be used with validate.cel"),
            ("imageExtractors", "imageExtractors can only be defined for verifyImages rule"),
        ] {
            if mutates(rule) && filled(rule, field).is_some() {
                self.findings.error(Code::InvalidField, at.key(field), message);
            }
        }
    }

    fn check_targets(&mut self, rule: &Value, at: &Pointer) {
        let mutate = at.key("mutate");
        let targets = targets(rule);
        let flag = rule.get("mutate").and_then(|mutate| given(mutate, ON_POLICY_UPDATE));
        let flag = flag.or_else(|| spec(self.document, ON_POLICY_UPDATE));
        if is_true(flag) && targets.is_none_or(is_blank) {
            let message = "targets has to be specified when mutateExistingOnPolicyUpdate is set";
            self.findings.error(Code::Targets, mutate.clone(), message);
        }
        for (index, target) in targets.and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
            let at = mutate.key("targets").index(index);
            context::check_kinds(target.get("context"), &at.key("context"), &mut self.findings);
            if !string(target, "uid").is_empty() {
                let text = format!(
                    "the `uid` of targets[{index}] selects nothing: Kyverno looks at the other fields"
                );
                self.findings.note(Code::IgnoredField, rule, text);
            }
            let named = string(target, "namespace");
            let own = self.policy.meta.namespace.as_deref();
            if !named.is_empty() && own.is_some_and(|own| own != named) {
                let message = "a namespaced policy can only have targets in its own namespace";
                self.findings.error(Code::Targets, at.key("namespace"), message);
            }
        }
    }

    /// A cluster looks up the kinds of targets, to check access, and finds none without a version. It does not look at
    /// rules with a foreach.
    fn check_target_versions(&mut self, rule: &Value, at: &Pointer) {
        if self.dialect.semantics == Semantics::Documented
            || rule.path(&["mutate", "foreach"]).is_some_and(|entries| !is_blank(entries))
        {
            return;
        }
        let targets = targets(rule).and_then(Value::as_array).unwrap_or_default();
        for (index, target) in targets.iter().enumerate() {
            let kind = string(target, "kind");
            if string(target, "apiVersion").is_empty() && !kind.contains("{{") {
                let message = format!("a cluster refuses this policy: failed to get GVR for kind /{kind}");
                let at = at.key("mutate").key("targets").index(index);
                let error = PolicyError::new(Code::RefusedByCluster, at, message)
                    .because_of(Divergence::TargetWithoutVersion);
                self.policy.meta.refused.push(error);
            }
        }
    }

    /// A cluster refuses the legacy syntax.
    fn check_legacy(&mut self, rule: &Value, at: &Pointer, tracker: &DivergenceTracker) {
        for field in ["overlay", "patches"] {
            let is_given = rule.get("mutate").is_some_and(|mutate| given(mutate, field).is_some());
            if is_given && !tracker.documented(Divergence::LegacySyntax) {
                let message = format!("a cluster refuses this policy: unknown field \"{field}\"");
                let error = PolicyError::new(Code::RefusedByCluster, at.key("mutate").key(field), message);
                self.policy.meta.refused.push(error.because_of(Divergence::LegacySyntax));
            }
        }
    }
}
