//! From a document to a policy.

use std::sync::{Arc, OnceLock};

use crate::cel::{self, Env, Program, Type, identifiers};
use crate::diagnostics::Code;
use crate::policy::fields::{given, list, string, text};
use crate::policy::{FailurePolicy, Meta, Policy, PolicyError};
use crate::semantics::Dialect;
use crate::value::{GroupVersionKind, Pointer, Text, Value};

use super::autogen::{self, Generated};
use super::findings::Findings;
use super::{
    CelMutation, CelPatch, CelPolicy, CelPolicyKind, CelTargets, CelVariables, CelVariant, Expression,
    MatchConstraints, SharedWebhooks, checks, field_checks, schema,
};

/// Reads a policy strictly and compiles it.
///
/// # Errors
///
/// Everything that is wrong with it: unknown and ill-typed fields, and what a cluster refuses when the policy is
/// created.
pub(in crate::policy) fn parse(document: &Value, dialect: Dialect) -> Result<Policy, Vec<PolicyError>> {
    let kind = CelPolicyKind::of(document);
    let mut findings = Findings::of(document)?;
    schema::check(kind, document, &mut findings.errors);
    checks::check(kind, document, &mut findings);
    let spec = document.get("spec").unwrap_or(&Value::Null);
    let mut meta = meta(kind, document, spec);
    let variant = Compiler { kind, spec, findings: &mut findings }.variant(meta.name.clone());
    let mut variants = vec![Arc::new(variant)];
    if !findings.errors.is_empty() {
        return Err(findings.errors);
    }
    field_checks::find(&variants[0], variants[0].env.dialect(), &mut findings.warnings);
    meta.warnings = findings.warnings;
    if kind.is_of_kyverno() {
        let generated = autogen::generate(spec, dialect.semantics).into_iter();
        variants.extend(generated.map(|one| Arc::new(generated_variant(kind, &meta.name, &one))));
    }
    let flag = |path: &[&str]| spec.path(path).and_then(Value::as_bool);
    let evaluates_admission = flag(&["evaluation", "admission", "enabled"]).unwrap_or(true);
    // A list of conditions is enough, be it empty.
    let has_own_conditions =
        given(spec, "matchConditions").is_some() && are_of_webhook(&variants[0].conditions);
    let has_own_webhook = !kind.is_of_kyverno() || !evaluates_admission || has_own_conditions;
    let shared_webhooks =
        if has_own_webhook { None } else { SharedWebhooks::of(spec, meta.namespace.as_ref()) };
    let param_kind = given(spec, "paramKind").filter(|_| !kind.is_of_kyverno());
    Ok(Policy::Cel(Box::new(CelPolicy {
        meta,
        kind,
        variants,
        evaluates_admission,
        mutates_existing: flag(&["evaluation", "mutateExisting", "enabled"]).unwrap_or(false),
        allows_atomic: flag(&["evaluation", "useServerSideApply"]).unwrap_or(false),
        reinvokes: !kind.is_of_kyverno() && string(spec, "reinvocationPolicy") == "IfNeeded",
        shared_webhooks,
        param_kind: param_kind
            .map(|kind| GroupVersionKind::new(string(kind, "apiVersion"), string(kind, "kind"))),
        bindings: None,
    })))
}

/// Compiles a generated policy, and what it is under the other semantics.
fn generated_variant(kind: CelPolicyKind, name: &str, generated: &Generated) -> CelVariant {
    let name = Text::from(format!("{}{name}", generated.prefix));
    let other = generated
        .other
        .as_ref()
        .map(|(spec, divergences)| (Arc::new(compiled_when_it_runs(kind, name.clone(), spec)), *divergences));
    CelVariant { other, ..compiled_when_it_runs(kind, name, &generated.spec) }
}

/// Compiles a generated policy. What is wrong with it, is wrong when it runs.
fn compiled_when_it_runs(kind: CelPolicyKind, name: Text, spec: &Value) -> CelVariant {
    let mut findings = Findings::default();
    let variant = Compiler { kind, spec, findings: &mut findings }.variant(name);
    let error = findings.errors.into_iter().next().map(|error| PolicyError {
        // The texts are not those of the document.
        offset: None,
        ..error
    });
    CelVariant { error, ..variant }
}

fn meta(kind: CelPolicyKind, document: &Value, spec: &Value) -> Meta {
    let metadata = document.get("metadata").unwrap_or(&Value::Null);
    let mut meta = Meta::new(kind.name(), text(metadata, "name"));
    if kind == CelPolicyKind::NamespacedMutatingPolicy {
        let namespace = text(metadata, "namespace");
        meta.namespace = Some(if namespace.is_empty() { "default".into() } else { namespace });
    }
    if string(spec, "failurePolicy") == "Ignore" {
        meta.failure_policy = FailurePolicy::Ignore;
    }
    meta
}

/// Whether Kyverno gives the API server the conditions of a policy: all or none. It does where the API server can compile
/// all of them; its webhooks do not know the namespace.
fn are_of_webhook(conditions: &[Expression]) -> bool {
    const API_SERVER: CelPolicyKind = CelPolicyKind::MutatingAdmissionPolicy;
    let env = API_SERVER.env();
    let is_known = |condition: &Expression| {
        let source = condition.program.source();
        let compiled = Program::compile(&env, source);
        !names(API_SERVER, source, "namespaceObject")
            && compiled.is_ok_and(|program| *program.output() == Type::Bool)
    };
    conditions.iter().all(is_known)
}

/// Whether an expression names something.
fn names(kind: CelPolicyKind, source: &str, name: &str) -> bool {
    source.contains(name) && identifiers(source, kind.dialect()).contains(name)
}

/// Compiles the expressions of a policy.
pub(super) struct Compiler<'a> {
    pub(super) kind: CelPolicyKind,
    pub(super) spec: &'a Value,
    pub(super) findings: &'a mut Findings,
}

/// Where named expressions are, and what they are called there.
struct Place {
    field: &'static str,
    name: &'static str,
    expression: &'static str,
}

const fn conditions(field: &'static str) -> Place {
    Place { field, name: "name", expression: "expression" }
}

impl Compiler<'_> {
    pub(super) fn variant(mut self, name: Text) -> CelVariant {
        let at = Pointer::ROOT.key("spec");
        let mut env = self.kind.env();
        if given(self.spec, "paramKind").is_some() && !self.kind.is_of_kyverno() {
            env = env.with_variable("params", Type::Dyn);
        }
        let without_variables = env.clone();
        let variables = self.variables(&mut env);
        // The API server decides about conditions before it computes variables.
        let of_conditions = if self.kind.is_of_kyverno() { &env } else { &without_variables };
        let conditions = self.conditions(of_conditions, conditions("matchConditions"));
        let mutating = if self.kind.is_of_kyverno() { env.clone() } else { env.clone().with_messages() };
        let mutations = list(self.spec, "mutations").iter().enumerate();
        let mutations = mutations
            .filter_map(|(index, one)| self.mutation(&mutating, one, &at.key("mutations").index(index)))
            .collect();
        let variant = CelVariant {
            name,
            constraints: MatchConstraints::read(
                self.spec.get("matchConstraints").unwrap_or(&Value::Null),
                self.kind,
            ),
            webhook_conditions: self.webhook_conditions(&conditions),
            conditions,
            variables,
            mutations,
            audit_annotations: self.audit_annotations(&env),
            targets: self.targets(&env),
            error: None,
            other: None,
            names_old: false,
            paths: OnceLock::new(),
            env,
        };
        let names_old = variant.may_name_old_object();
        CelVariant { names_old, ..variant }
    }

    fn variables(&mut self, env: &mut Env) -> CelVariables {
        let mut variables = CelVariables::default();
        for (index, variable) in list(self.spec, "variables").iter().enumerate() {
            let at = Pointer::ROOT.key("spec").key("variables").index(index).key("expression");
            let name = text(variable, "name");
            let Some(program) = self.compile(env, &at, variable.get("expression")) else {
                // What uses it has no fault of its own.
                env.define(&name, None);
                continue;
            };
            env.define(&name, Some(&program));
            variables.names.push(name);
            variables.pointers.push(at);
            variables.programs.push(program);
        }
        variables
    }

    fn conditions(&mut self, env: &Env, place: Place) -> Vec<Expression> {
        let is_of_webhook = place.field == "matchConditions"
            && self.spec.path(&["autogen", "mutatingAdmissionPolicy", "enabled"]).and_then(Value::as_bool)
                == Some(true);
        let conditions = self.expressions(env, &place);
        for condition in &conditions {
            self.expect(condition, "bool", |output| *output == Type::Bool);
            if is_of_webhook && names(self.kind, condition.program.source(), "variables") {
                let message = "variables cannot be referenced in matchConditions when \
                    spec.autogen.mutatingAdmissionPolicy.enabled is true";
                self.findings.invalid(condition.pointer.clone(), message);
            }
        }
        conditions
    }

    /// Those of the conditions given to the API server that may have another result there.
    fn webhook_conditions(&self, conditions: &[Expression]) -> Vec<usize> {
        if !self.kind.is_of_kyverno() || !are_of_webhook(conditions) {
            return Vec::new();
        }
        let names_old = |index: &usize| conditions[*index].program.source().contains("oldObject");
        (0..conditions.len()).filter(names_old).collect()
    }

    fn audit_annotations(&mut self, env: &Env) -> Vec<Expression> {
        let place = Place { field: "auditAnnotations", name: "key", expression: "valueExpression" };
        let annotations = self.expressions(env, &place);
        for annotation in &annotations {
            self.expect(annotation, "string or null", |output| matches!(output, Type::String | Type::Null));
        }
        annotations
    }

    fn targets(&mut self, env: &Env) -> Option<CelTargets> {
        let constraints = given(self.spec, "targetMatchConstraints").filter(|_| self.kind.is_of_kyverno())?;
        let pointer = Pointer::ROOT.key("spec").key("targetMatchConstraints").key("expression");
        let written = given(constraints, "expression").filter(|written| written.as_str() != Some(""));
        let expression = written.and_then(|written| {
            let program = self.compile(env, &pointer, Some(written))?;
            let expression = Expression { name: Text::default(), pointer, program };
            let is_map = |output: &Type| *output == Type::map(Type::String, Type::Dyn);
            self.expect(&expression, "a map of any values by strings", is_map);
            Some(expression.program)
        });
        Some(CelTargets {
            constraints: MatchConstraints::read(constraints, self.kind),
            expression,
            conditions: self.conditions(env, conditions("targetMatchConditions")),
        })
    }

    fn mutation(&mut self, env: &Env, mutation: &Value, at: &Pointer) -> Option<CelMutation> {
        let mut program = |field: &str, expected: &str, is_right: fn(&Type) -> bool| {
            let block = given(mutation, field)?;
            let pointer = at.key(field).key("expression");
            let written = block.get("expression");
            // Kyverno compiles what is not written as an empty text.
            let empty = Value::String(Text::default());
            let written = written.or(self.kind.is_of_kyverno().then_some(&empty));
            let Some(program) = self.compile(env, &pointer, written) else { return Some(None) };
            let expression = Expression { name: Text::default(), pointer, program };
            self.expect(&expression, expected, is_right);
            Some(Some(expression.program))
        };
        let patch = match string(mutation, "patchType") {
            "ApplyConfiguration" => {
                let is_object = |output: &Type| *output == Type::named("Object");
                program("applyConfiguration", "Object", is_object)
                    .map(|program| program.map(CelPatch::ApplyConfiguration))
            }
            "JSONPatch" => {
                let is_list = |output: &Type| *output == Type::list(Type::named("JSONPatch"));
                program("jsonPatch", "list(JSONPatch)", is_list)
                    .map(|program| program.map(CelPatch::JsonPatch))
            }
            other => {
                let text = format!("the mutation is ignored: there is no patchType `{other}`");
                self.findings.no_effect(at.key("patchType"), text);
                Some(Some(CelPatch::Ignored("its patchType is unknown")))
            }
        };
        let patch = patch.unwrap_or_else(|| {
            self.findings.no_effect(at.clone(), "the mutation is ignored: it has no block for its patchType");
            Some(CelPatch::Ignored("it has no block for its patchType"))
        });
        Some(CelMutation { pointer: at.clone(), patch: patch? })
    }

    fn expressions(&mut self, env: &Env, place: &Place) -> Vec<Expression> {
        let spec = self.spec;
        let read = |(index, entry): (usize, &Value)| {
            let pointer = Pointer::ROOT.key("spec").key(place.field).index(index).key(place.expression);
            let program = self.compile(env, &pointer, entry.get(place.expression))?;
            Some(Expression { name: text(entry, place.name), pointer, program })
        };
        list(spec, place.field).iter().enumerate().filter_map(read).collect()
    }

    /// Compiles a text; the schema reports anything else.
    fn compile(&mut self, env: &Env, at: &Pointer, written: Option<&Value>) -> Option<Program> {
        let source = written.and_then(Value::as_str)?;
        if !self.kind.is_of_kyverno() && source.trim().is_empty() {
            self.findings.missing(at.clone(), "expected an expression");
            return None;
        }
        if self.kind == CelPolicyKind::NamespacedMutatingPolicy && names(self.kind, source, "http") {
            let message = "http.* is not allowed in namespaced policies; Kyverno's option \
                --allowHTTPInNamespacedPolicies allows it";
            self.findings.invalid(at.clone(), message);
            return None;
        }
        self.findings.compile(env, at, source)
    }

    /// Checks the type of an expression.
    fn expect(&mut self, expression: &Expression, expected: &str, is_right: impl Fn(&Type) -> bool) {
        let output = expression.program.output();
        if !is_right(output) && *output != Type::Error {
            let message = format!("must evaluate to {expected} but got {output}");
            self.findings.error(Code::CelRefused, expression.pointer.clone(), message);
        }
    }
}

impl CelPolicyKind {
    /// The kind of a document of [`super::KINDS`].
    fn of(document: &Value) -> Self {
        match string(document, "kind") {
            "MutatingPolicy" => Self::MutatingPolicy,
            "NamespacedMutatingPolicy" => Self::NamespacedMutatingPolicy,
            _ => Self::MutatingAdmissionPolicy,
        }
    }

    /// The dialect of its expressions.
    pub const fn dialect(self) -> cel::Dialect {
        if self.is_of_kyverno() { cel::Dialect::Kyverno } else { cel::Dialect::Kubernetes }
    }

    /// The environment of its conditions and variables, without the policy's own variables and parameters.
    pub(super) fn env(self) -> Env {
        let env = Env::policy(self.dialect());
        match self {
            Self::MutatingPolicy => env.with_messages(),
            Self::NamespacedMutatingPolicy => env.with_messages().namespaced(),
            Self::MutatingAdmissionPolicy => env,
        }
    }
}
