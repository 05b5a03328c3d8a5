//! `ClusterPolicy` and `Policy`.

mod allowed;
mod asked;
mod autogen;
mod conditions;
mod context;
mod exception;
mod exceptions;
mod legacy;
mod load;
mod misses;
mod mutation;
mod overlay_labels;
mod refuse;
mod rule;
mod schema;
mod selection;
mod subject;
mod targets;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::semantics::DivergenceSet;
use crate::value::{Pointer, Text, Value};

use super::{Candidate, Fault, Note};

pub use context::{ContextEntry, ContextSource};
pub use exception::PolicyException;
pub use exceptions::PolicyExceptions;
pub use legacy::{LegacyMutation, LegacyPart};
pub use load::parse;
pub use misses::other_namespace;
pub use mutation::{ForeachEntry, Mutation, Order};
pub use overlay_labels::labels_as_texts;
pub use rule::{Mismatch, Rule};
pub use selection::Selection;
pub use targets::{MutateExisting, Target};

/// The two kinds of classic policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// For the whole cluster.
    ClusterPolicy,
    /// For the namespace it lives in.
    Policy,
}

/// How many rules of a policy may apply to one object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyRules {
    /// All of them.
    #[default]
    All,
    /// The first that changes something.
    One,
}

/// What becomes of a request when a rule cannot be evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It is denied.
    #[default]
    Fail,
    /// It is let through unchanged.
    Ignore,
}

/// A classic policy, compiled.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Which of the two kinds it is.
    pub kind: PolicyKind,
    /// Its name.
    pub name: Text,
    /// Its namespace, if it has one; a `Policy` that names none lives in `default`.
    pub namespace: Option<Text>,
    /// The mutate rules: those written, in order, then those generated for pod controllers.
    pub rules: Vec<Rule>,
    /// Rules that Kyverno generates and the documentation does not know: not run, only told of.
    pub controller_only_rules: Vec<Rule>,
    /// How many of them may apply to one object.
    pub apply_rules: ApplyRules,
    /// Whether rules with targets that do not say so themselves run when the policy comes or changes.
    pub on_policy_update: bool,
    /// What becomes of a request when a rule cannot be evaluated.
    pub failure_policy: FailurePolicy,
    /// The CEL conditions of the webhook, not evaluated.
    pub match_conditions: Vec<Value>,
    /// What of the policy is not evaluated.
    pub not_evaluated: Vec<NotEvaluated>,
    /// Why no rules are generated from its rules for Pods, if none are.
    pub no_autogen: Option<String>,
    /// What its author may want to know.
    pub notes: Vec<Note>,
    /// The divergences that the policy itself reaches, whatever the objects: those of all its rules.
    pub divergences: DivergenceSet,
    /// Why a cluster refuses the policy although it is loaded here: it cannot be evaluated.
    pub refused: Vec<Fault>,
}

/// Something that is not evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEvaluated {
    /// The rule; `None` for the whole policy.
    pub rule: Option<Text>,
    /// Its place.
    pub pointer: Pointer,
    /// What it is.
    pub why: Why,
}

/// What is not evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// A validate rule.
    Validate,
    /// A generate rule.
    Generate,
    /// A rule that verifies images.
    VerifyImages,
    /// The CEL conditions of the webhook.
    MatchConditions,
    /// A mutate rule in the early syntax.
    LegacySyntax,
}

impl Why {
    /// Whether the result of the policy is not what a cluster would give: a mutate rule is left out, or what
    /// decides where the policy applies.
    pub const fn spoils_the_result(self) -> bool {
        match self {
            Self::LegacySyntax | Self::MatchConditions => true,
            Self::Validate | Self::Generate | Self::VerifyImages => false,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Validate => "validate rule",
            Self::Generate => "generate rule",
            Self::VerifyImages => "verifyImages rule",
            Self::MatchConditions => "CEL matchConditions",
            Self::LegacySyntax => "mutate rule with `overlay` or `patches`",
        })
    }
}

impl Policy {
    /// The name that reports use: `namespace/name`, or the name alone for a policy of the cluster.
    pub fn full_name(&self) -> Text {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name).into(),
            None => self.name.clone(),
        }
    }

    /// Whether the first rule that changes an object is the last.
    pub fn applies_one(&self) -> bool {
        self.apply_rules == ApplyRules::One
    }

    /// Whether the policy as a whole concerns an object: one of a namespace concerns only what lives there.
    pub fn admits(&self, candidate: &Candidate<'_>) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == candidate.namespace)
    }
}
