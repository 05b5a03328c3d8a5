//! Policies, compiled, and which objects they concern.
//!
//! [`parse`] reads a document strictly and lists everything that is wrong with it. A [`PolicySet`] keeps policies in the
//! order in which they run, and finds by index those that may concern an object. It knows no rules of any family. Nothing
//! here knows files or evaluates rules.
//!
//! `CONTRIBUTING.md` says how to add a policy family; the test family in `fixed_label.rs`, here and in `engine`, is the
//! smallest example.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod candidate;
mod cel;
mod choice;
mod classic;
mod document;
mod error;
mod expression;
mod family;
mod fields;
mod filters;
#[cfg(test)]
mod fixed_label;
mod index;
mod kinds;
mod labels;
mod meta;
mod paths;
mod requests;
mod schema;
mod set;
mod target_selector;
mod user;
mod warning;
mod webhook_conditions;

use crate::value::{GroupVersionKind, Text};

pub use crate::pattern::nearest;
pub use candidate::{Candidate, Operation};
pub use cel::{
    Binding, CelException, CelExceptions, CelMutation, CelPatch, CelPolicy, CelPolicyKind, CelTargets,
    CelVariables, CelVariant, MatchConstraints, NotFound, ParamRef, ResourceRule, RuleScope, SharedWebhooks,
    metadata_errors,
};
pub use choice::{PolicyChoice, names_rule};
pub use classic::{
    AUTOGEN_ANNOTATION, ApplyRules, ClassicPolicy, Comparisons, ContextEntry, ContextSource, Edit,
    ForeachEntry, LegacyMutation, LegacyPart, Mismatch, MutateExisting, Mutation, Order, Patch,
    PolicyException, PolicyExceptions, Rule, Selection, Target, each_expression, is_variable_without_text,
    labels_as_texts, nearest_variable, other_namespace,
};
pub use document::{DocumentKind, kind_of, parse};
pub use error::PolicyError;
pub use expression::Expression;
pub use family::{PolicyFamily, RuleSummary};
pub use filters::ResourceFilters;
#[cfg(test)]
pub use fixed_label::FixedLabelPolicy;
pub use index::{IndexKey, KindKeys, Part};
pub use kinds::KindSelector;
pub use labels::{SelectorError, selector_error};
pub use meta::{FailurePolicy, Meta, NotEvaluated, Note, Why};
pub use paths::RulePaths;
pub use requests::RequestFilters;
pub use set::{Candidates, PolicySet, Walk};
pub use target_selector::{TargetError, TargetSelector};
pub use user::UserInfo;
pub use warning::{Warning, WarningCause};
pub use webhook_conditions::WebhookConditions;

/// A policy of any family, compiled.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[cfg_attr(
    not(test),
    expect(clippy::large_enum_variant, reason = "policies are few, and most are classic ones")
)]
pub enum Policy {
    /// A `ClusterPolicy` or `Policy` of `kyverno.io`.
    Classic(ClassicPolicy),
    /// A `MutatingPolicy`, `NamespacedMutatingPolicy` or `MutatingAdmissionPolicy`.
    Cel(Box<CelPolicy>),
    /// The test family.
    #[cfg(test)]
    FixedLabel(FixedLabelPolicy),
}

/// The same expression for the policy of every family.
macro_rules! each_family {
    ($policy:expr, $inner:ident => $result:expr) => {
        match $policy {
            Policy::Classic($inner) => $result,
            Policy::Cel($inner) => $result,
            #[cfg(test)]
            Policy::FixedLabel($inner) => $result,
        }
    };
}

/// The methods of [`PolicyFamily`], and shortcuts.
impl Policy {
    /// See [`PolicyFamily::meta`].
    pub fn meta(&self) -> &Meta {
        each_family!(self, policy => policy.meta())
    }

    /// See [`Meta::full_name`].
    pub fn full_name(&self) -> Text {
        self.meta().full_name()
    }

    /// See [`PolicyFamily::rules`].
    pub fn rules(&self) -> Vec<RuleSummary<'_>> {
        each_family!(self, policy => policy.rules())
    }

    /// See [`PolicyFamily::parts`].
    pub fn parts(&self) -> Vec<Part<'_>> {
        each_family!(self, policy => policy.parts())
    }

    /// See [`PolicyFamily::paths`].
    pub fn paths(&self, part: usize) -> Option<&RulePaths> {
        each_family!(self, policy => policy.paths(part))
    }

    /// See [`PolicyFamily::may_change`].
    pub fn may_change(&self, kind: &GroupVersionKind, matched: (&GroupVersionKind, &str)) -> bool {
        each_family!(self, policy => policy.may_change(kind, matched))
    }

    /// See [`PolicyFamily::uses_namespace_labels`].
    pub fn uses_namespace_labels(&self) -> bool {
        each_family!(self, policy => policy.uses_namespace_labels())
    }

    /// See [`PolicyFamily::needs_namespace_labels`].
    pub fn needs_namespace_labels(
        &self,
        parts: &[usize],
        matched: (&GroupVersionKind, &str),
        exceptions: &PolicyExceptions,
    ) -> bool {
        each_family!(self, policy => policy.needs_namespace_labels(parts, matched, exceptions))
    }

    /// See [`PolicyFamily::sees_all_requests`].
    pub fn sees_all_requests(&self) -> Option<FailurePolicy> {
        each_family!(self, policy => policy.sees_all_requests())
    }

    /// See [`PolicyFamily::has_targets`].
    pub fn has_targets(&self) -> bool {
        each_family!(self, policy => policy.has_targets())
    }

    /// Whether the API server runs it itself, before all webhooks.
    pub fn runs_in_api_server(&self) -> bool {
        matches!(self, Self::Cel(policy) if !policy.kind.is_of_kyverno())
    }

    /// Whether it runs again after changes of the object, its own included.
    pub fn reinvokes(&self) -> bool {
        matches!(self, Self::Cel(policy) if policy.reinvokes && !policy.kind.is_of_kyverno())
    }

    /// The webhooks that it shares with other policies, if Kyverno evaluates each of them for all of these.
    pub fn shared_webhooks(&self) -> Option<&SharedWebhooks> {
        match self {
            Self::Cel(policy) => policy.shared_webhooks.as_ref(),
            _ => None,
        }
    }

    /// The policy, if it is a classic one.
    pub const fn as_classic(&self) -> Option<&ClassicPolicy> {
        match self {
            Self::Classic(policy) => Some(policy),
            _ => None,
        }
    }
}
