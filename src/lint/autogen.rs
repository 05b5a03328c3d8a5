//! Rules for Pods that autogen writes no rules for controllers of.

use std::collections::BTreeSet;

use crate::diagnostics::Code;
use crate::policy::{AUTOGEN_ANNOTATION, KindSelector};
use crate::value::Value;

use super::{Lint, LintLevel, Rule};

/// The kinds that autogen makes rules for.
const CONTROLLERS: [&str; 7] =
    ["DaemonSet", "Deployment", "Job", "StatefulSet", "ReplicaSet", "ReplicationController", "CronJob"];

/// What a policy says of autogen.
pub(super) struct Autogen<'p> {
    /// The names of all rules, those of autogen included.
    evaluated: &'p BTreeSet<&'p str>,
    /// Whether the annotation says it, or a rule is for controllers.
    is_chosen: bool,
}

impl<'p> Autogen<'p> {
    pub(super) fn new(policy: &Value, rules: &[Rule<'_>], evaluated: &'p BTreeSet<&'p str>) -> Self {
        let is_chosen = policy.path(&["metadata", "annotations", AUTOGEN_ANNOTATION]).is_some()
            || rules.iter().any(|rule| names(rule, &CONTROLLERS));
        Self { evaluated, is_chosen }
    }

    /// Adds a finding about a rule that is for Pods and for no controller, although the policy does not say so.
    pub(super) fn check(&self, rule: &Rule<'_>, found: &mut Vec<Lint>) {
        let is_meant = self.is_chosen || self.evaluated.is_empty() || rule.has_targets();
        let Some(name) = rule.name().filter(|_| !is_meant && names(rule, &["Pod"])) else { return };
        if !self.evaluated.contains(&*format!("autogen-{name}")) {
            found.push(rule.found(
                Code::NoAutogen,
                LintLevel::Info,
                rule.at.key("match"),
                "autogen makes no rules of it: the templates of Deployments and other controllers stay as they are".to_owned(),
                "set the annotation of autogen to `none` if Pods are meant, or remove what turns it off",
            ));
        }
    }
}

/// Whether a rule names one of these kinds.
fn names(rule: &Rule<'_>, kinds: &[&str]) -> bool {
    rule.kinds().any(|kind| kinds.contains(&&*KindSelector::parse(kind).kind))
}
