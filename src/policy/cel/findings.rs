//! What is found while a policy, binding or exception is read.

use crate::cel::{Env, Program};
use crate::diagnostics::Code;
use crate::policy::labels::{LabelSelector, SelectorError};
use crate::policy::webhook_conditions::compile_errors;
use crate::policy::{PolicyError, Warning, WarningCause};
use crate::value::{MAX_DEPTH, Pointer, Value};

/// Errors and warnings.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) errors: Vec<PolicyError>,
    pub(super) warnings: Vec<Warning>,
}

impl Findings {
    /// Those of a document whose nodes may be visited.
    ///
    /// # Errors
    ///
    /// A document that is nested too deep.
    pub(super) fn of(document: &Value) -> Result<Self, Vec<PolicyError>> {
        if document.depth() > MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(vec![PolicyError::new(Code::TooDeep, Pointer::ROOT, message)]);
        }
        Ok(Self::default())
    }

    pub(super) fn error(&mut self, code: Code, at: Pointer, message: impl Into<String>) {
        self.errors.push(PolicyError::new(code, at, message));
    }

    pub(super) fn invalid(&mut self, at: Pointer, message: impl Into<String>) {
        self.error(Code::InvalidField, at, message);
    }

    pub(super) fn missing(&mut self, at: Pointer, message: impl Into<String>) {
        self.error(Code::MissingField, at, message);
    }

    /// Adds that something selects nothing.
    pub(super) fn never_matches(&mut self, pointer: Pointer, text: impl Into<String>) {
        self.warnings.push(Warning {
            pointer,
            rule: None,
            cause: WarningCause::NeverMatches { text: text.into() },
        });
    }

    /// Adds that something has no effect.
    pub(super) fn no_effect(&mut self, pointer: Pointer, text: impl Into<String>) {
        self.warnings.push(Warning {
            pointer,
            rule: None,
            cause: WarningCause::NoEffect { text: text.into() },
        });
    }

    /// Compiles an expression. Its faults are errors.
    pub(super) fn compile(&mut self, env: &Env, at: &Pointer, source: &str) -> Option<Program> {
        let compiled = Program::compile(env, source);
        compiled.map_err(|error| self.errors.extend(compile_errors(at, &error))).ok()
    }

    /// Checks the selectors of constraints.
    pub(super) fn check_selectors(&mut self, constraints: &Value, at: &Pointer) {
        for name in ["namespaceSelector", "objectSelector", "selector"] {
            let Some(selector) = constraints.get(name).filter(|selector| !selector.is_null()) else {
                continue;
            };
            let selector = LabelSelector::read_plain(selector);
            // The check of the fields names an unknown operator.
            if let Some(error) = selector.invalid().filter(|error| **error != SelectorError::Operator) {
                self.invalid(at.key(name), error.to_string());
            }
        }
    }
}
