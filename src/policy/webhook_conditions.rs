//! CEL `matchConditions` of the webhooks by which the API server calls Kyverno for a classic policy.

use std::collections::BTreeSet;

use crate::cel::{Access, CompileError, Dialect, Env, Program, Type};
use crate::diagnostics::Code;
use crate::value::{PathSet, Pointer, Value};

use super::PolicyError;
use super::expression::Expression;
use super::fields::{string, text};
use super::labels::is_label_key;

/// The most conditions of a webhook or a `MutatingAdmissionPolicy`.
const MAX_CONDITIONS: usize = 64;

/// Conditions of a request. The API server calls Kyverno for the policy only if all are true.
#[derive(Debug)]
pub struct WebhookConditions {
    /// The variables of the conditions.
    pub env: Env,
    /// The conditions, in order.
    pub conditions: Vec<Expression>,
    /// Whether one may name `oldObject`.
    pub names_old: bool,
    /// Whether one may name the user of the request.
    pub names_user: bool,
    /// The paths of the object that decide.
    pub reads: PathSet,
}

impl WebhookConditions {
    /// Compiles a list of conditions at a place of the policy; without conditions there are none. Errors are added.
    pub(super) fn read(conditions: &[Value], at: &Pointer, errors: &mut Vec<PolicyError>) -> Option<Self> {
        if conditions.is_empty() {
            return None;
        }
        errors.extend(check_names(conditions, at));
        let env = Env::policy(Dialect::Kubernetes);
        let mut compiled = Vec::new();
        let mut access = Access::new(env.dialect(), false);
        for (index, condition) in conditions.iter().enumerate() {
            let pointer = at.index(index).key("expression");
            // The check of the fields names what is no text.
            let Some(source) = condition.get("expression").and_then(Value::as_str) else { continue };
            match Program::compile(&env, source) {
                Ok(program) if *program.output() == Type::Bool => {
                    access.read(source);
                    compiled.push(Expression { name: text(condition, "name"), pointer, program });
                }
                Ok(program) => {
                    let message = format!("must evaluate to bool but got {}", program.output());
                    errors.push(PolicyError::new(Code::CelRefused, pointer, message));
                }
                Err(error) => errors.extend(compile_errors(&pointer, &error)),
            }
        }
        let may_name =
            |name| compiled.iter().any(|condition: &Expression| condition.program.source().contains(name));
        Some(Self {
            names_old: may_name("oldObject"),
            names_user: may_name("userInfo"),
            env,
            conditions: compiled,
            reads: access.reads,
        })
    }
}

/// The errors of an expression that does not compile.
pub(super) fn compile_errors(at: &Pointer, error: &CompileError) -> impl Iterator<Item = PolicyError> {
    error.issues().iter().map(|issue| {
        let error = PolicyError::new(Code::CelRefused, at.clone(), issue.message.clone());
        PolicyError { offset: Some(issue.offset), ..error }
    })
}

/// What the API server refuses in the names of conditions, and in their number.
pub(super) fn check_names(conditions: &[Value], at: &Pointer) -> Vec<PolicyError> {
    let invalid = |at, message| PolicyError::new(Code::InvalidField, at, message);
    let mut errors = Vec::new();
    if conditions.len() > MAX_CONDITIONS {
        let count = conditions.len();
        let message = format!("{count} conditions, at most {MAX_CONDITIONS} are allowed");
        errors.push(invalid(at.clone(), message));
    }
    for (index, condition) in conditions.iter().enumerate() {
        let name = string(condition, "name");
        // Label keys are qualified names.
        if !is_label_key(name) {
            let message = format!("`{name}` is no qualified name, such as `example.com/a-name`");
            errors.push(invalid(at.index(index).key("name"), message));
        }
    }
    errors.extend(duplicate_names(conditions, at));
    errors
}

/// Names that a list has twice.
pub(super) fn duplicate_names(entries: &[Value], at: &Pointer) -> Vec<PolicyError> {
    let mut names = BTreeSet::new();
    let mut errors = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let name = string(entry, "name");
        // A name that is no text is reported as that.
        if !name.is_empty() && !names.insert(name) {
            let at = at.index(index).key("name");
            errors.push(PolicyError::new(Code::InvalidField, at, format!("`{name}` is used twice")));
        }
    }
    errors
}
