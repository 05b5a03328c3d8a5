//! Rules for Pods that autogen writes no rules for controllers of.

use crate::diagnostics::Code;
use crate::value::{Text, Value};

use super::{Lint, LintLevel, Rule};

/// The annotation that chooses the controllers.
const CONTROLLERS: &str = "pod-policies.kyverno.io/autogen-controllers";

/// Adds a finding about a rule that is for Pods, although the policy does not say so.
pub(super) fn check(policy: &Value, rule: &Rule<'_>, evaluated: &[Text], found: &mut Vec<Lint>) {
    let mut kinds = rule.kinds().peekable();
    let is_for_pods = kinds.peek().is_some() && kinds.all(|kind| matches!(kind, "Pod" | "v1/Pod"));
    let is_chosen = policy.path(&["metadata", "annotations", CONTROLLERS]).is_some();
    let Some(name) = rule.name().filter(|_| is_for_pods && !is_chosen && !rule.has_targets()) else { return };
    let is_generated = |other: &Text| other.strip_prefix("autogen-").is_some_and(|written| *written == *name);
    if !evaluated.is_empty() && !evaluated.iter().any(is_generated) {
        found.push(rule.found(
            Code::NoAutogen,
            LintLevel::Info,
            rule.at.key("match"),
            "autogen makes no rules of it: Deployments and other controllers keep templates without the change".to_owned(),
            "match kinds alone and use no JSON patch in the policy, or set the annotation of autogen to `none`",
        ));
    }
}
