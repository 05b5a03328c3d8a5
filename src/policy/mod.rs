//! The policy kinds, compiled: expressions parsed, patterns prepared, autogen, selection.
//!
//! [`parse`] reads a document strictly and lists everything that is wrong with it; what comes out answers
//! which objects a rule takes and holds what it does to them. Knows nothing of files, and does not evaluate
//! rules.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod candidate;
mod classic;
mod document;
mod fault;
mod filters;
mod index;
mod kinds;
mod labels;
mod requests;
mod set;
mod target_selector;
mod user;

use crate::value::{Text, Value};

pub use crate::pattern::nearest;
pub use candidate::{Candidate, Operation};
pub use classic::{
    ApplyRules, ContextEntry, ContextSource, FailurePolicy, ForeachEntry, LegacyMutation, LegacyPart,
    Mismatch, MutateExisting, Mutation, NotEvaluated, Order, Policy, PolicyException, PolicyExceptions,
    PolicyKind, Rule, Selection, Target, Why, labels_as_texts, other_namespace, parse,
};
pub use document::{DocumentKind, kind_of};
pub use fault::Fault;
pub use filters::ResourceFilters;
pub use kinds::KindSelector;
pub use requests::RequestFilters;
pub use set::{Candidates, PolicySet, Walk};
pub use target_selector::TargetSelector;
pub use user::UserInfo;

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
