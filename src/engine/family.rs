//! What a family of policies does with an object: one function for each step, with an arm for each family.
//!
//! `parts` are the parts of the policy that may concern the object.

use crate::policy::Policy;
use crate::report::PolicyReport;
use crate::value::Value;

use super::cel;
use super::classic;
use super::evaluation::{Evaluation, PolicyRun};
#[cfg(test)]
use super::fixed_label;
use super::targets::Targets;

/// Runs a policy on an object. `number` is that of the policy, if the index skipped policies before it.
///
/// A family decides by [`Evaluation::operation`] and [`Evaluation::candidate`], changes nothing on DELETE, returns no
/// object after a failed rule, tells the taint tracker of values that it derives from Secrets, and in a trace also reports
/// rules that do not match.
pub(super) fn run(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    parts: &[usize],
    number: Option<usize>,
    object: &Value,
) -> PolicyRun {
    match policy {
        Policy::Classic(policy) => classic::run(evaluation, policy, parts, number, object),
        Policy::Cel(policy) => cel::run(evaluation, policy, parts, object),
        #[cfg(test)]
        Policy::FixedLabel(policy) => fixed_label::run(evaluation, policy, object).unwrap_or_default(),
    }
}

/// Runs the mutate-existing rules of a policy that an object triggers; `None` if there is nothing to report.
pub(super) fn run_targets(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    parts: &[usize],
    targets: &mut Targets,
) -> Option<PolicyReport> {
    match policy {
        Policy::Classic(policy) => classic::run_targets(evaluation, policy, parts, targets),
        Policy::Cel(policy) => cel::run_targets(evaluation, policy, parts, targets),
        #[cfg(test)]
        Policy::FixedLabel(_) => None,
    }
}

/// Whether a policy that the index skips has nothing to report on an object. `next` is the number of the next policy
/// that runs.
pub(super) fn is_silent(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    parts: &[usize],
    next: Option<usize>,
    object: &Value,
) -> bool {
    match policy {
        Policy::Classic(policy) => classic::is_silent(evaluation, policy, parts, next, object),
        Policy::Cel(policy) => cel::is_silent(evaluation, policy, parts, object),
        #[cfg(test)]
        Policy::FixedLabel(policy) => !policy.selects(&evaluation.candidate(object, None)),
    }
}
