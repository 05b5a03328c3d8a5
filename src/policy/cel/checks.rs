//! What a cluster refuses when a policy is created, beside unknown fields and expressions that do not compile.

use crate::policy::fields::{any_of, filled, given, list, string, texts};
use crate::policy::webhook_conditions::{check_names, duplicate_names};
use crate::policy::{Operation, nearest};
use crate::resources::is_built_into_kubernetes;
use crate::value::{Pointer, Text, Value};

use super::constraints::{is_plural, meant_resource};
use super::findings::Findings;
use super::{CelPolicyKind, autogen, names};

/// Checks a policy.
pub(super) fn check(kind: CelPolicyKind, document: &Value, findings: &mut Findings) {
    let spec = document.get("spec").unwrap_or(&Value::Null);
    let at = Pointer::ROOT.key("spec");
    if !kind.is_of_kyverno() {
        names::check_metadata(document, findings);
    }
    let check = Check { spec, at, findings };
    if kind.is_of_kyverno() { check.mutating_policy() } else { check.admission_policy() }
}

struct Check<'a> {
    spec: &'a Value,
    at: Pointer,
    findings: &'a mut Findings,
}

impl Check<'_> {
    fn admission_policy(mut self) {
        let at = self.at.clone();
        if given(self.spec, "mutations").is_some() && list(self.spec, "mutations").is_empty() {
            self.findings.missing(at.key("mutations"), "mutations must contain at least one item");
        }
        if let Some(constraints) = given(self.spec, "matchConstraints") {
            let at = at.key("matchConstraints");
            if constraints.get("resourceRules").and_then(Value::as_array).is_some_and(<[Value]>::is_empty) {
                self.findings.missing(at.key("resourceRules"), "expected at least one resource rule");
            }
            check_constraints(constraints, &at, self.findings);
        }
        if let Some(kind) = given(self.spec, "paramKind") {
            names::check_param_kind(kind, &at.key("paramKind"), self.findings);
        }
        self.conditions();
        for (index, variable) in list(self.spec, "variables").iter().enumerate() {
            // A name that is no text is reported as that.
            let Some(name) = variable.get("name").and_then(Value::as_str) else { continue };
            if !is_identifier(name) {
                let at = at.key("variables").index(index).key("name");
                self.findings.invalid(at, format!("`{name}` is no CEL identifier"));
            }
        }
        for (index, mutation) in list(self.spec, "mutations").iter().enumerate() {
            self.strict_mutation(mutation, &at.key("mutations").index(index));
        }
    }

    fn conditions(&mut self) {
        let at = self.at.key("matchConditions");
        self.findings.errors.extend(check_names(list(self.spec, "matchConditions"), &at));
    }

    /// Reports names that a list has twice.
    fn duplicates(&mut self, field: &str) {
        self.findings.errors.extend(duplicate_names(list(self.spec, field), &self.at.key(field)));
    }

    /// A mutation has the block of its type and no other.
    fn strict_mutation(&mut self, mutation: &Value, at: &Pointer) {
        let (block, other) = match string(mutation, "patchType") {
            "ApplyConfiguration" => ("applyConfiguration", "jsonPatch"),
            "JSONPatch" => ("jsonPatch", "applyConfiguration"),
            _ => return,
        };
        let patch_type = string(mutation, "patchType");
        if given(mutation, block).is_none() {
            let message = format!("`{block}` must be specified when patchType is {patch_type}");
            self.findings.missing(at.clone(), message);
        }
        if given(mutation, other).is_some() {
            self.findings
                .invalid(at.key(other), format!("must not be specified when patchType is {patch_type}"));
        }
    }

    fn mutating_policy(mut self) {
        let at = self.at.clone();
        match given(self.spec, "matchConstraints") {
            Some(constraints) if !list(constraints, "resourceRules").is_empty() => {
                self.constraints(constraints, &at.key("matchConstraints"));
            }
            _ => {
                let message = "a matchConstraints with at least one resource rule is required";
                self.findings.missing(at.key("matchConstraints"), message);
            }
        }
        if let Some(targets) = given(self.spec, "targetMatchConstraints") {
            self.findings.check_selectors(targets, &at.key("targetMatchConstraints"));
        }
        for field in ["variables", "matchConditions", "targetMatchConditions"] {
            self.duplicates(field);
        }
        self.evaluation();
        for (index, variable) in list(self.spec, "variables").iter().enumerate() {
            // A name that is no text is reported as that.
            let Some(name) = variable.get("name").and_then(Value::as_str) else { continue };
            if !is_identifier(name) {
                let at = at.key("variables").index(index).key("name");
                self.findings.no_effect(at, format!("no expression can name the variable `{name}`"));
            }
        }
        if list(self.spec, "mutations").is_empty() {
            self.findings.no_effect(at.clone(), "the policy has no mutations and does nothing");
        }
        self.generated_admission_policy();
        let controllers = self.spec.path(&["autogen", "podControllers", "controllers"]);
        for (index, name) in texts(controllers).iter().enumerate() {
            if !autogen::CONTROLLERS.contains(&&**name) {
                let at = at.key("autogen").key("podControllers").key("controllers").index(index);
                let meant = nearest(name, autogen::CONTROLLERS.iter().copied());
                let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{meant}`?"));
                self.findings.no_effect(at, format!("`{name}` is no Pod controller{meant}"));
            }
        }
    }

    /// What Kyverno leaves out of the `MutatingAdmissionPolicy` that it makes of the policy.
    fn generated_admission_policy(&mut self) {
        let is_made = self.spec.path(&["autogen", "mutatingAdmissionPolicy", "enabled"]);
        if is_made.and_then(Value::as_bool) != Some(true) {
            return;
        }
        let constraints = self.spec.get("matchConstraints").unwrap_or(&Value::Null);
        for field in ["namespaceSelector", "objectSelector", "excludeResourceRules"] {
            if given(constraints, field).is_some() {
                let text = format!(
                    "Kyverno makes a MutatingAdmissionPolicy without `{field}`, which mutates more objects than the policy"
                );
                self.findings.no_effect(self.at.key("matchConstraints").key(field), text);
            }
        }
    }

    fn evaluation(&mut self) {
        let enabled = |name: &str| self.spec.path(&["evaluation", name, "enabled"]).and_then(Value::as_bool);
        if enabled("admission") == Some(false) && enabled("mutateExisting") != Some(true) {
            let message = "disabling both admission and mutateExisting evaluation modes is not allowed";
            self.findings.invalid(self.at.key("evaluation"), message);
        }
    }

    /// What Kyverno accepts, and what then matches nothing.
    fn constraints(&mut self, constraints: &Value, at: &Pointer) {
        self.findings.check_selectors(constraints, at);
        for (index, rule) in list(constraints, "resourceRules").iter().enumerate() {
            let at = at.key("resourceRules").index(index);
            for field in ["apiGroups", "apiVersions", "operations", "resources"] {
                if filled(rule, field).is_none() {
                    let text = format!("the rule matches nothing: it has no {field}");
                    self.findings.never_matches(at.clone(), text);
                }
            }
            check_known(rule, &at, self.findings);
            for (index, operation) in texts(rule.get("operations")).iter().enumerate() {
                let at = at.key("operations").index(index);
                if **operation == *"DELETE" {
                    self.findings.never_matches(at, "an object that is deleted cannot be mutated");
                } else if **operation != *"*" && Operation::parse(operation).is_none() {
                    self.findings
                        .never_matches(at, unsupported(operation, &["CREATE", "UPDATE", "CONNECT", "*"]));
                }
            }
            let scope = string(rule, "scope");
            if !["", "*", "Cluster", "Namespaced"].contains(&scope) {
                let text = unsupported(scope, &["*", "Cluster", "Namespaced"]);
                self.findings.never_matches(at.key("scope"), text);
            }
        }
        let policy = string(constraints, "matchPolicy");
        if !["", "Exact", "Equivalent"].contains(&policy) {
            self.findings.never_matches(at.key("matchPolicy"), unsupported(policy, &["Exact", "Equivalent"]));
        }
    }
}

fn unsupported(value: &str, known: &[&'static str]) -> String {
    let meant = nearest(value, known.iter().copied()).unwrap_or(known[0]);
    format!("Kyverno's webhook cannot be made with the unsupported value `{value}`, did you mean `{meant}`?")
}

/// Checks the constraints of a `MutatingAdmissionPolicy` or of a binding.
pub(super) fn check_constraints(constraints: &Value, at: &Pointer, findings: &mut Findings) {
    findings.check_selectors(constraints, at);
    for field in ["resourceRules", "excludeResourceRules"] {
        for (index, rule) in list(constraints, field).iter().enumerate() {
            check_rule(rule, &at.key(field).index(index), findings);
            check_known(rule, &at.key(field).index(index), findings);
        }
    }
}

/// Warns of resources that the groups of a rule do not have, if all are groups of Kubernetes.
fn check_known(rule: &Value, at: &Pointer, findings: &mut Findings) {
    let groups = texts(rule.get("apiGroups"));
    if let Some(index) = groups.iter().position(|group| **group == *"core") {
        let text = "there is no API group `core`; that of Pods and ConfigMaps is written as `\"\"`";
        findings.never_matches(at.key("apiGroups").index(index), text);
    }
    if groups.is_empty() || !groups.iter().all(|group| is_built_into_kubernetes(group)) {
        return;
    }
    for (index, resource) in texts(rule.get("resources")).iter().enumerate() {
        let name = resource.split('/').next().unwrap_or_default();
        if name.is_empty() || name == "*" || is_plural(&groups, name) {
            continue;
        }
        let meant = meant_resource(&groups, name);
        let meant = meant.map_or_else(String::new, |meant| format!(", did you mean `{}`?", meant.plural));
        let groups = any_of(&groups);
        let text = format!("there is no resource `{name}` in API group {groups}{meant}");
        findings.never_matches(at.key("resources").index(index), text);
    }
}

fn check_rule(rule: &Value, at: &Pointer, findings: &mut Findings) {
    names::check_resource_names(rule, at, findings);
    for field in ["apiGroups", "apiVersions", "operations", "resources"] {
        let at = at.key(field);
        let values = texts(rule.get(field));
        if given(rule, field).is_some() && values.is_empty() {
            findings.missing(at.clone(), format!("expected at least one of {field}"));
        }
        if field == "resources" {
            check_resources(&values, &at, findings);
            continue;
        }
        if values.len() > 1 && values.iter().any(|value| **value == *"*") {
            findings.invalid(at.clone(), format!("if `*` is present, must not specify other {field}"));
        }
        for (index, _) in
            values.iter().enumerate().filter(|(_, value)| field == "apiVersions" && value.is_empty())
        {
            findings.missing(at.index(index), "expected a version");
        }
    }
}

fn check_resources(resources: &[Text], at: &Pointer, findings: &mut Findings) {
    let has = |wanted: &str| resources.iter().any(|resource| **resource == *wanted);
    for (index, resource) in resources.iter().enumerate() {
        let at = at.index(index);
        if resource.is_empty() {
            findings.missing(at, "expected a resource");
        } else if let Some((main, sub)) = resource.split_once('/') {
            let earlier = resources.get(..index).unwrap_or_default();
            let is_before = |wanted: &str| earlier.iter().any(|other| **other == *wanted);
            let covering = [format!("{main}/*"), format!("*/{sub}")];
            if let Some(covering) = covering.iter().find(|covering| is_before(covering)) {
                findings.invalid(at, format!("if `{covering}` is present, must not specify `{resource}`"));
            }
        }
    }
    if resources.len() > 1 && has("*/*") {
        findings.invalid(at.clone(), "if `*/*` is present, must not specify other resources");
    }
    if has("*") && resources.iter().any(|resource| **resource != *"*" && !resource.contains('/')) {
        findings
            .invalid(at.clone(), "if `*` is present, must not specify other resources without subresources");
    }
}

/// Whether a name can be used as `variables.NAME`.
fn is_identifier(name: &str) -> bool {
    const RESERVED: [&str; 22] = [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "namespace",
        "null",
        "package",
        "return",
        "true",
        "var",
        "void",
        "while",
        "__accu__",
    ];
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !RESERVED.contains(&name)
}
