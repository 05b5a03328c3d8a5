//! What policies of all families have.

use std::fmt;

use crate::diagnostics::Code;
use crate::semantics::DivergenceSet;
use crate::value::{Pointer, Text, Value};

use super::{Candidate, PolicyError, Warning};

/// What policies of all families have.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Its kind, such as `ClusterPolicy`.
    pub kind: &'static str,
    /// Its name.
    pub name: Text,
    /// Its namespace; `None` for a cluster-scoped policy.
    pub namespace: Option<Text>,
    /// What happens to a request if a rule fails.
    pub failure_policy: FailurePolicy,
    /// The parts of it that are not evaluated.
    pub not_evaluated: Vec<NotEvaluated>,
    /// What its author may want to know.
    pub notes: Vec<Note>,
    /// What loads and cannot be meant.
    pub warnings: Vec<Warning>,
    /// The divergences that the policy itself reaches, whatever the objects.
    pub divergences: DivergenceSet,
    /// Why a cluster refuses the policy, which is loaded here nonetheless.
    pub refused: Vec<PolicyError>,
}

impl Meta {
    /// Those of a cluster-scoped policy without anything special.
    pub fn new(kind: &'static str, name: Text) -> Self {
        Self {
            kind,
            name,
            namespace: None,
            failure_policy: FailurePolicy::default(),
            not_evaluated: Vec::new(),
            notes: Vec::new(),
            warnings: Vec::new(),
            divergences: DivergenceSet::NONE,
            refused: Vec::new(),
        }
    }

    /// The name in reports: `namespace/name`, or the name alone.
    pub fn full_name(&self) -> Text {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name).into(),
            None => self.name.clone(),
        }
    }

    /// Whether another policy has the same name in reports.
    pub fn has_name_of(&self, other: &Self) -> bool {
        self.name == other.name && self.namespace == other.namespace
    }

    /// Whether the policy may concern an object: a namespaced policy is for its namespace.
    pub fn admits(&self, candidate: &Candidate<'_>) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == candidate.namespace)
    }
}

/// What happens to a request if a rule fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// It is denied.
    #[default]
    Fail,
    /// It is admitted unchanged.
    Ignore,
}

/// Something that the author of a policy may want to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The rule, if it is about one.
    pub rule: Option<Text>,
    /// The code of the cause.
    pub code: Code,
    /// The text.
    pub text: String,
}

impl Note {
    pub(super) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { rule: None, code, text: text.into() }
    }

    pub(super) fn of_rule(code: Code, rule: &Value, text: impl Into<String>) -> Self {
        Self { rule: rule.get("name").and_then(Value::as_text).cloned(), code, text: text.into() }
    }
}

/// A part of a policy that is not evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotEvaluated {
    /// The rule; `None` for the whole policy.
    pub rule: Option<Text>,
    /// Its place in the document.
    pub pointer: Pointer,
    /// Why.
    pub why: Why,
}

/// Why a part of a policy is not evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Why {
    /// A validate rule.
    Validate,
    /// A generate rule.
    Generate,
    /// A rule that verifies images.
    VerifyImages,
    /// A mutate rule in the legacy syntax.
    LegacySyntax,
}

impl Why {
    /// Whether the result differs from that of a cluster: a mutate rule is missing.
    pub const fn changes_the_result(self) -> bool {
        match self {
            Self::LegacySyntax => true,
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
            Self::LegacySyntax => "mutate rule with `overlay` or `patches`",
        })
    }
}
