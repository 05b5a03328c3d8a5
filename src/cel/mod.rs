//! The Common Expression Language as the API server and Kyverno speak it.
//!
//! An expression is compiled once ([`Program::compile`]): parsed, checked by types, turned into a plan. It is evaluated
//! over the values of manifests without copying them, with the cost that Kubernetes counts.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod access;
mod apply_configuration;
mod ast;
mod check;
mod constant;
mod constructed;
mod cost;
mod env;
mod error;
mod estimate;
mod eval;
mod faults;
mod functions;
mod host;
mod image;
mod json;
mod lexer;
mod limits;
mod meter;
mod named_format;
mod names;
mod network;
mod opaque;
mod parser;
mod plan;
mod reasons;
mod stamp;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod types;
mod unescape;
mod value;
mod variables;

use std::fmt;
use std::sync::OnceLock;

use crate::value::Text;

pub use access::Access;
pub use apply_configuration::{ConfigurationError, ForeignValue, TypeNameMismatch, apply_configuration};
pub use constant::constant;
pub use constructed::constructed;
pub use env::{Dialect, Env};
pub use error::{CompileError, EvalError, Issue};
pub use estimate::CostEstimate;
pub use faults::Fault;
pub use functions::{Signature, signatures};
pub use host::{Host, HostError, HostLookup};
pub use image::Image;
pub use json::{part_to_json, to_json};
pub use limits::{COST_LIMIT, MAX_EXPRESSION_CHARS, MAX_EXPRESSION_DEPTH, MEMORY_LIMIT};
pub use meter::Meter;
pub use named_format::NamedFormat;
pub use names::identifiers;
pub use network::Network;
pub use opaque::{Opaque, ResourceName};
pub use parser::is_reserved;
pub use reasons::{Reason, reasons};
pub use stamp::Stamp;
pub use text::{canonical, quoted};
pub use types::Type;
pub use value::{Entries, Key, List, Mapping, MessageVal, Numbers, Val};
pub use variables::{Activation, Variables};

/// A compiled expression.
pub struct Program {
    source: Text,
    plan: plan::Step,
    dialect: Dialect,
    output: Type,
    /// How deep it is nested, with the policy's variables that it names.
    depth: usize,
    /// Its parts, compiled when it first fails.
    parts: OnceLock<Box<faults::Part>>,
}

impl Program {
    /// Compiles an expression.
    ///
    /// # Errors
    ///
    /// A text that is no expression, names that the environment does not have, types that do not fit:
    /// whatever the environment's owner refuses when a policy is created.
    pub fn compile(env: &Env, source: &str) -> Result<Self, CompileError> {
        let mut issues = Vec::new();
        let expr = parser::parse(source, env.dialect(), &mut issues);
        if !issues.is_empty() {
            return Err(CompileError::new(source, issues));
        }
        let (plan, output) = check::check(env, &expr, &mut issues);
        let depth = names::depth(env, &expr);
        if depth > limits::MAX_DEPTH && issues.is_empty() {
            let message =
                format!("the variables that it names are nested deeper than {} levels", limits::MAX_DEPTH);
            issues.push(Issue { offset: 0, message });
        }
        if !issues.is_empty() {
            return Err(CompileError::new(source, issues));
        }
        Ok(Self {
            source: source.into(),
            plan,
            dialect: env.dialect(),
            output,
            depth,
            parts: OnceLock::new(),
        })
    }

    /// The text that it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The type of its value.
    pub const fn output(&self) -> &Type {
        &self.output
    }

    /// What its evaluation costs at least and at most, without the variables of the policy that it uses.
    pub fn cost(&self) -> CostEstimate {
        estimate::cost(&self.plan)
    }

    /// Evaluates it.
    ///
    /// # Errors
    ///
    /// A missing key, values that a function does not take, an exceeded limit.
    pub fn evaluate(&self, variables: &dyn Variables, meter: &mut Meter) -> Result<Val, EvalError> {
        eval::evaluate(&self.plan, self.dialect, variables, meter)
    }

    /// Finds the smallest part that fails with the error of an evaluation. `env` is the one that the program was
    /// compiled for.
    pub fn fault(&self, env: &Env, variables: &dyn Variables, error: &EvalError) -> Fault {
        let parts = self.parts.get_or_init(|| Box::new(faults::Part::of(env, &self.source)));
        parts.fault(variables, error, &mut Meter::default())
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("source", &self.source)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}
