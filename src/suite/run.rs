//! What the engine did with the objects of a suite.

use crate::policy::Operation;
use crate::report::{ObjectReport, Outcome, RuleReport};
use crate::value::{ObjectRef, Text, Value};

/// The outcomes of a suite's objects.
#[derive(Debug)]
pub struct SuiteRun {
    /// The operation of the requests, if an expectation names it; `None` for the suite's own.
    pub operation: Option<Operation>,
    /// The reports of the objects, in their order.
    pub reports: Vec<ObjectReport>,
    /// The objects that rules with targets changed.
    pub targets: Vec<TargetState>,
}

/// What rules with targets did with an object.
#[derive(Debug)]
pub struct TargetState {
    /// The report on these rules only.
    pub report: ObjectReport,
    /// Whether the suite names it as a target.
    pub is_named: bool,
}

impl SuiteRun {
    /// What a rule did with the targets that an object triggered.
    pub(super) fn triggered<'r>(
        &'r self,
        trigger: Option<&'r ObjectRef>,
        policy: &'r Text,
        rule: &'r Text,
    ) -> impl Iterator<Item = &'r RuleReport> {
        let reports = self.targets.iter().flat_map(|target| target.report.rules());
        reports.filter_map(move |(of, report)| {
            (of.policy == *policy && report.rule == *rule && report.trigger.as_ref() == trigger)
                .then_some(report)
        })
    }

    /// The last change of an object as a target of a policy, and its result.
    pub(super) fn changed_as_target(
        &self,
        object: Option<&ObjectRef>,
        policy: &Text,
    ) -> Option<(&RuleReport, &Value)> {
        let target = self.targets.iter().find(|target| target.report.object.as_ref() == object)?;
        let rules = target.report.rules().filter(|(of, _)| of.policy == *policy);
        let changes = rules.filter_map(|(_, rule)| match &rule.outcome {
            Outcome::Patched { after, .. } => Some((rule, after)),
            _ => None,
        });
        changes.last()
    }
}
