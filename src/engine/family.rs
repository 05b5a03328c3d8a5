//! What a family of policies does with an object: one function for each question, with an arm for each family.

use crate::policy::{Candidates, Policy};
use crate::report::PolicyReport;
use crate::value::Value;

use super::classic;
use super::evaluation::Evaluation;
#[cfg(test)]
use super::fixed_label;
use super::targets::Targets;

/// The turn of one policy.
#[derive(Clone, Copy)]
pub(super) struct Turn<'a> {
    /// The parts of the policy that may concern the object, by their kind.
    pub(super) parts: &'a [usize],
    /// The policies that may concern the object, this one among them.
    pub(super) candidates: Candidates<'a>,
    /// The number of the policy, where the index left out policies before it.
    pub(super) number: Option<usize>,
}

/// Runs a policy on an object; `None` where there is nothing to report.
pub(super) fn run(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    turn: Turn<'_>,
    current: &mut Value,
) -> Option<PolicyReport> {
    match policy {
        Policy::Classic(policy) => classic::run(evaluation, policy, turn, current),
        #[cfg(test)]
        Policy::FixedLabel(policy) => fixed_label::run(evaluation, policy, current),
    }
}

/// Runs the rules with targets of a policy that an object triggers; `None` where there is nothing to report.
pub(super) fn run_targets(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    parts: &[usize],
    targets: &mut Targets,
) -> Option<PolicyReport> {
    match policy {
        Policy::Classic(policy) => classic::run_targets(evaluation, policy, parts, targets),
        #[cfg(test)]
        Policy::FixedLabel(_) => None,
    }
}

/// Whether a policy that the index leaves out has nothing to report on an object. The number of the turn is that of
/// the next policy that runs.
pub(super) fn is_silent(
    evaluation: &Evaluation<'_>,
    policy: &Policy,
    turn: Turn<'_>,
    object: &Value,
) -> bool {
    match policy {
        Policy::Classic(policy) => classic::is_silent(evaluation, policy, turn, object),
        #[cfg(test)]
        Policy::FixedLabel(_) => !policy.concerns(turn.parts, &evaluation.candidate(object, None)),
    }
}
