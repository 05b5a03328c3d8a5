//! The policy kinds, compiled: expressions parsed, patterns prepared, autogen, selection.
//!
//! [`parse`] reads a document strictly and lists everything that is wrong with it; what comes out answers
//! which objects a rule takes and holds what it does to them. Knows nothing of files, and does not evaluate
//! rules.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod allowed;
mod asked;
mod autogen;
mod candidate;
mod classic;
mod conditions;
mod context;
mod document;
mod exception;
mod exceptions;
mod fault;
mod filters;
mod index;
mod kinds;
mod labels;
mod legacy;
mod load;
mod misses;
mod mutation;
mod overlay_labels;
mod refuse;
mod requests;
mod rule;
mod schema;
mod selection;
mod set;
mod subject;
mod targets;

#[cfg(test)]
mod tests;

use crate::value::{Text, Value};

pub use crate::pattern::nearest;
pub use candidate::{Candidate, Operation};
pub use classic::{ApplyRules, FailurePolicy, NotEvaluated, Policy, PolicyKind, Why};
pub use context::{ContextEntry, ContextSource};
pub use document::{DocumentKind, kind_of};
pub use exception::PolicyException;
pub use exceptions::PolicyExceptions;
pub use fault::Fault;
pub use filters::ResourceFilters;
pub use kinds::KindSelector;
pub use legacy::{LegacyMutation, LegacyPart};
pub use load::parse;
pub use misses::other_namespace;
pub use mutation::{ForeachEntry, Mutation, Order};
pub use overlay_labels::labels_as_texts;
pub use requests::RequestFilters;
pub use rule::{Mismatch, Rule};
pub use selection::Selection;
pub use set::{Candidates, PolicySet, Walk};
pub use subject::UserInfo;
pub use targets::{MutateExisting, Target, TargetSelector};

/// Something about a policy that is no fault, and that its author may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The rule it is about, if it is about one.
    pub rule: Option<Text>,
    /// What there is to know.
    pub text: String,
}

impl Note {
    fn new(text: impl Into<String>) -> Self {
        Self { rule: None, text: text.into() }
    }

    fn of_rule(rule: &Value, text: impl Into<String>) -> Self {
        Self { rule: rule.get("name").and_then(Value::as_text).cloned(), text: text.into() }
    }
}
