//! Rules for Pods that autogen writes no rules for controllers of.

use crate::diagnostics::Code;
use crate::policy::{AUTOGEN_ANNOTATION, KindSelector};
use crate::value::{Text, Value};

use super::{Lint, LintLevel, Rule};

/// The kinds that autogen makes rules for.
const CONTROLLERS: [&str; 7] =
    ["DaemonSet", "Deployment", "Job", "StatefulSet", "ReplicaSet", "ReplicationController", "CronJob"];

/// Adds a finding about a rule that is for Pods and for no controller, although the policy does not say so. `rules` are all
/// rules of the policy.
pub(super) fn check(
    policy: &Value,
    (rule, rules): (&Rule<'_>, &[Rule<'_>]),
    evaluated: &[Text],
    found: &mut Vec<Lint>,
) {
    let is_chosen = policy.path(&["metadata", "annotations", AUTOGEN_ANNOTATION]).is_some();
    let names = |rule: &Rule<'_>, kinds: &[&str]| {
        rule.kinds().any(|kind| kinds.contains(&&*KindSelector::parse(kind).kind))
    };
    let is_for_pods = names(rule, &["Pod"]) && !rules.iter().any(|other| names(other, &CONTROLLERS));
    let Some(name) = rule.name().filter(|_| is_for_pods && !is_chosen && !rule.has_targets()) else {
        return;
    };
    let is_generated = |other: &Text| other.strip_prefix("autogen-").is_some_and(|written| *written == *name);
    if !evaluated.is_empty() && !evaluated.iter().any(is_generated) {
        found.push(rule.found(
            Code::NoAutogen,
            LintLevel::Info,
            rule.at.key("match"),
            "autogen makes no rules of it: the templates of Deployments and other controllers stay as they are".to_owned(),
            "set the annotation of autogen to `none` if Pods are meant, or remove what turns it off",
        ));
    }
}
