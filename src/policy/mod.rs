//! Policies, compiled: what they say of themselves and which objects they concern.
//!
//! [`parse`] reads a document strictly and lists everything that is wrong with it. What comes out is a
//! [`Policy`] of one of several families. A [`PolicySet`] keeps policies in the order they run and finds by index
//! those that may concern an object; it knows no rule of any family. Knows nothing of files and evaluates no rules.
//!
//! # Adding a family of policies
//!
//! The test family in `fixed_label.rs`, here and in `engine`, is the smallest example. A family provides
//!
//! 1. a type that holds a [`Meta`] and implements [`PolicyFamily`], whose methods say what is needed and what may
//!    be left to its default;
//! 2. a row in the table of `document.rs`: its kinds, and the function that reads them;
//! 3. a variant of [`Policy`], with an arm in the macro `each_family`;
//! 4. an arm in each function of `engine/family.rs`: how a policy runs on one object, and when it leaves it alone.
//!
//! Nothing in the folder of another family changes.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod candidate;
mod classic;
mod document;
mod error;
mod family;
mod fields;
mod filters;
#[cfg(test)]
mod fixed_label;
mod index;
mod kinds;
mod labels;
mod meta;
mod requests;
mod set;
mod target_selector;
mod user;

use crate::value::{GroupVersionKind, Text};

pub use crate::pattern::nearest;
pub use candidate::{Candidate, Operation};
pub use classic::{
    ApplyRules, ClassicPolicy, ContextEntry, ContextSource, Edit, ForeachEntry, LegacyMutation, LegacyPart,
    Mismatch, MutateExisting, Mutation, Order, Patch, PolicyException, PolicyExceptions, Rule, Selection,
    Target, labels_as_texts, other_namespace,
};
pub use document::{DocumentKind, kind_of, parse};
pub use error::PolicyError;
pub use family::{PolicyFamily, RuleSummary};
pub use filters::ResourceFilters;
#[cfg(test)]
pub use fixed_label::FixedLabelPolicy;
pub use index::{IndexKey, KindKeys, Part};
pub use kinds::KindSelector;
pub use labels::SelectorError;
pub use meta::{FailurePolicy, Meta, NotEvaluated, Note, Why};
pub use requests::RequestFilters;
pub use set::{Candidates, PolicySet, Walk};
pub use target_selector::{TargetError, TargetSelector};
pub use user::UserInfo;

/// A policy of any family, compiled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Policy {
    /// A `ClusterPolicy` or `Policy` of `kyverno.io`.
    Classic(ClassicPolicy),
    /// The smallest family there can be.
    #[cfg(test)]
    FixedLabel(FixedLabelPolicy),
}

/// The same expression for the policy of every family.
macro_rules! each_family {
    ($policy:expr, $inner:ident => $result:expr) => {
        match $policy {
            Policy::Classic($inner) => $result,
            #[cfg(test)]
            Policy::FixedLabel($inner) => $result,
        }
    };
}

impl Policy {
    /// What the policy says of itself.
    pub fn meta(&self) -> &Meta {
        each_family!(self, policy => policy.meta())
    }

    /// The name that reports use: `namespace/name`, or the name alone for a policy of the whole cluster.
    pub fn full_name(&self) -> Text {
        self.meta().full_name()
    }

    /// The rules of the policy, in the order they run.
    pub fn rules(&self) -> Vec<RuleSummary<'_>> {
        each_family!(self, policy => policy.rules())
    }

    /// The parts by which the index finds the policy.
    pub fn parts(&self) -> Vec<Part<'_>> {
        each_family!(self, policy => policy.parts())
    }

    /// Whether these parts of the policy take an object.
    pub fn concerns(&self, parts: &[usize], candidate: &Candidate<'_>) -> bool {
        each_family!(self, policy => policy.concerns(parts, candidate))
    }

    /// Whether the policy may take objects of a kind, or change them as targets.
    pub fn may_change(
        &self,
        kind: &GroupVersionKind,
        (parent, subresource): (&GroupVersionKind, &str),
    ) -> bool {
        each_family!(self, policy => policy.may_change(kind, (parent, subresource)))
    }

    /// Whether some decision of the policy depends on the labels of a namespace.
    pub fn uses_namespace_labels(&self) -> bool {
        each_family!(self, policy => policy.uses_namespace_labels())
    }

    /// Whether what these parts do with objects of a kind may depend on the labels of their namespace.
    pub fn needs_namespace_labels(
        &self,
        parts: &[usize],
        (kind, subresource): (&GroupVersionKind, &str),
        exceptions: &PolicyExceptions,
    ) -> bool {
        each_family!(self, policy => policy.needs_namespace_labels(parts, (kind, subresource), exceptions))
    }

    /// The failure policy of the webhook through which every request for objects of its kinds reaches the policy.
    pub fn sees_all_requests(&self) -> Option<FailurePolicy> {
        each_family!(self, policy => policy.sees_all_requests())
    }

    /// Whether the policy changes other objects than the one that triggers it.
    pub fn has_targets(&self) -> bool {
        each_family!(self, policy => policy.has_targets())
    }

    /// The policy if it is a classic one.
    pub const fn as_classic(&self) -> Option<&ClassicPolicy> {
        match self {
            Self::Classic(policy) => Some(policy),
            #[cfg(test)]
            Self::FixedLabel(_) => None,
        }
    }
}
