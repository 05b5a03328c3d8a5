//! Policies and rules that were loaded and are not evaluated.

use std::collections::BTreeSet;
use std::fmt;

use crate::diagnostics::{Code, Coded};
use crate::policy::{NotEvaluated, Policy, Why};
use crate::value::Text;

use super::{LoadedPolicies, PolicyNote};

/// A policy whose result is missing in part or whole.
#[derive(Clone, Debug)]
pub struct Unsupported {
    /// The file and line.
    pub origin: String,
    /// The policy, or `POLICY/RULE` for a rule.
    pub name: String,
    /// Why.
    pub cause: UnsupportedCause,
}

/// Why the result of a policy is missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum UnsupportedCause {
    /// A rule, or a part of the policy, is not evaluated.
    Part(Why),
    /// A cluster refuses the policy, with this message.
    Refused(String),
}

impl Coded for UnsupportedCause {
    fn code(&self) -> Code {
        match self {
            Self::Part(_) => Code::UnsupportedRule,
            Self::Refused(_) => Code::RefusedByCluster,
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, name, cause } = self;
        match cause {
            UnsupportedCause::Part(why) => write!(f, "{origin}: {name}: not evaluated: {why}"),
            UnsupportedCause::Refused(message) => write!(f, "{origin}: {name}: {message}"),
        }
    }
}

impl LoadedPolicies {
    /// The kinds of the policies that mutate nothing, sorted.
    pub(super) fn other_kinds(&self) -> Vec<Text> {
        let kinds = self.notes.iter().filter_map(|note| match note {
            PolicyNote::Other { kind, .. } => Some(kind.clone()),
            _ => None,
        });
        Vec::from_iter(kinds.collect::<BTreeSet<_>>())
    }

    /// The policies whose result is missing in part or whole: unsupported rules, and policies that a cluster refuses.
    pub fn unsupported(&self) -> Vec<Unsupported> {
        let mut found = Vec::new();
        for (policy, origin) in self.policies.iter().zip(&self.origins) {
            let parts = policy.meta().not_evaluated.iter().filter(|skipped| skipped.why.changes_the_result());
            found.extend(parts.map(|skipped| not_evaluated(policy, origin, skipped)));
            found.extend(policy.meta().refused.iter().map(|error| {
                let difference = error.divergence.map_or_else(String::new, |number| format!(" ({number})"));
                Unsupported {
                    origin: origin.clone(),
                    name: policy.full_name().to_string(),
                    cause: UnsupportedCause::Refused(format!("{error}{difference}")),
                }
            }));
        }
        found
    }
}

/// A rule, or a whole policy, that is not evaluated.
pub fn not_evaluated(policy: &Policy, origin: &str, skipped: &NotEvaluated) -> Unsupported {
    let rule = skipped.rule.as_ref().map_or_else(String::new, |rule| format!("/{rule}"));
    Unsupported {
        origin: origin.to_owned(),
        name: format!("{}{rule}", policy.full_name()),
        cause: UnsupportedCause::Part(skipped.why),
    }
}
