//! What standard rules and rules with targets need alike.

use crate::engine::evaluation::Evaluation;
use crate::policy::{Candidate, ClassicPolicy, Operation, PolicyException, Rule};
use crate::report::{Outcome, RuleReport, SkipReason};
use crate::value::{Text, Value};

use super::exemption::Exemption;
use super::request::Subject;

impl Evaluation<'_> {
    /// Notes that a rule depends on labels or annotations which a recording holds redacted.
    pub(super) fn note_matched(&self, policy: &str, rule: &Rule, object: &Value) {
        let candidate = self.candidate(object, None);
        let exceptions = || self.engine.settings.exceptions.of(policy, &rule.name);
        if self.taint.is_replay()
            && rule.may_take(candidate.kind, candidate.subresource)
            && (rule.uses_labels() || exceptions().any(PolicyException::uses_labels))
        {
            let metadata = |field| object.path(&["metadata", field]);
            ["labels", "annotations"]
                .into_iter()
                .filter_map(metadata)
                .for_each(|value| self.taint.note_read(value));
        }
    }

    /// The context that a request of this operation gives; `None` where no request is sent.
    pub(super) fn base(&self, operation: Option<Operation>) -> Value {
        self.classic.base(operation, || {
            let old = match operation {
                None | Some(Operation::Create | Operation::Connect) => None,
                Some(Operation::Update | Operation::Delete) => {
                    Some(self.old.unwrap_or(self.original).clone())
                }
            };
            let subject = Subject {
                operation,
                old,
                kind: self.own_kind,
                namespace: &self.placed.namespace,
                name: self.name(),
                subresource: self.subresource,
                user: self.engine.settings.user.as_ref(),
            };
            subject.base()
        })
    }

    /// Whether a request comes to a rule that takes its object. The webhook is configured for what the rules name. A
    /// rule that excludes everything by a filter without content adds nothing to it, and gets requests only where
    /// another rule does.
    pub(super) fn reaches(&self, policy: &ClassicPolicy, rule: &Rule, candidate: &Candidate<'_>) -> bool {
        let is_existing = rule.existing().is_some();
        !rule.asks_for_nothing() || {
            let classic = self.policies.all();
            let mut others = classic.filter_map(|(other, parts)| Some((other.as_classic()?, parts)));
            others.any(|(other, parts)| {
                other.meta.failure_policy == policy.meta.failure_policy
                    && other.meta.admits(candidate)
                    && parts
                        .iter()
                        .filter_map(|part| other.rules.get(*part))
                        .any(|rule| rule.existing().is_some() == is_existing && rule.asks_for(candidate))
            })
        }
    }

    /// The exceptions from a policy, for the object as it came to the policy.
    pub(super) fn exemption<'b>(
        &'b self,
        policy: &'b Text,
        object: &'b Value,
        operation: Option<Operation>,
    ) -> Exemption<'b> {
        Exemption {
            exceptions: &self.engine.settings.exceptions,
            policy,
            candidate: self.candidate(object, operation),
            undecided: &self.classic.undecided,
        }
    }

    /// Records what a rule's `match` or `exclude` depends on and is not known.
    pub(super) fn note_what_is_missing(&self, rule: &Rule) {
        let labels = self.engine.uses_namespace_labels()
            && rule.needs_namespace_labels(self.kind, self.subresource);
        self.note_needs(labels, rule.uses_user_info());
    }

    /// Records what the exceptions from a rule depend on and is not known.
    pub(super) fn note_what_exceptions_miss(&self, policy: &str, rule: &Rule) {
        for exception in self.engine.settings.exceptions.of(policy, &rule.name) {
            let labels = exception.needs_namespace_labels(self.kind, self.subresource);
            self.note_needs(labels, exception.uses_user_info());
        }
    }
}

/// The report of a rule that did not run.
pub(super) fn not_run(rule: &Rule, reason: SkipReason) -> RuleReport {
    RuleReport { rule: rule.name.clone(), outcome: Outcome::Skipped(reason), trigger: None, trace: None }
}

/// The report of a rule that does not select the object.
pub(super) fn not_selected(rule: &Rule, candidate: &Candidate<'_>) -> RuleReport {
    let mismatch = rule.mismatch(candidate).map(|mismatch| mismatch.details);
    not_run(rule, SkipReason::NotSelected(mismatch.unwrap_or_default()))
}

/// The reason of a rule that no request comes to.
pub(super) fn unreached() -> SkipReason {
    SkipReason::NotSelected(vec![
        "a filter of `exclude` without content takes all kinds out of what the rule asks the API server for"
            .to_owned(),
    ])
}
