//! Policies and rules that were loaded and are not evaluated.

use crate::policy::{NotEvaluated, Policy};

use super::{LoadedPolicies, PolicyNote};

impl LoadedPolicies {
    /// Errors about policies whose result is missing in part or whole: unsupported kinds and rules, and policies that a
    /// cluster refuses.
    pub fn unsupported(&self) -> Vec<String> {
        let kinds = self.notes.iter().filter_map(|note| match note {
            PolicyNote::Planned { origin, kind, name } => {
                Some(format!("{origin}: {kind} {name}: this kind is not evaluated by this version"))
            }
            _ => None,
        });
        let mut errors: Vec<String> = kinds.collect();
        for (policy, origin) in self.policies.iter().zip(&self.origins) {
            let spoiling =
                policy.meta().not_evaluated.iter().filter(|skipped| skipped.why.changes_the_result());
            errors.extend(spoiling.map(|skipped| not_evaluated(policy, origin, skipped)));
            errors.extend(policy.meta().refused.iter().map(|error| {
                let difference = error.divergence.map_or_else(String::new, |number| format!(" ({number})"));
                format!("{origin}: {}: {error}{difference}", policy.full_name())
            }));
        }
        errors
    }
}

/// The message about a rule, or a whole policy, that is not evaluated.
pub fn not_evaluated(policy: &Policy, origin: &str, skipped: &NotEvaluated) -> String {
    let name = policy.full_name();
    let rule = skipped.rule.as_ref().map_or_else(String::new, |rule| format!("/{rule}"));
    format!("{origin}: {name}{rule}: not evaluated: {}", skipped.why)
}
