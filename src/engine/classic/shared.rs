//! What standard and mutate-existing rules have in common.

use crate::engine::evaluation::Evaluation;
use crate::engine::webhook_conditions::{Called, Stop};
use crate::policy::{Candidate, ClassicPolicy, Meta, Operation, PolicyException, Rule};
use crate::report::{Outcome, RuleReport, SkipReason};
use crate::semantics::DivergenceTracker;
use crate::value::{Text, Value};

use super::context::{Context, ContextInput, ExpressionWorld};
use super::exemption::Exemption;

impl Evaluation<'_> {
    /// Runs something with the context of a policy for a request; without an operation there is no request.
    pub(super) fn with_context<T>(
        &self,
        policy: &Meta,
        operation: Option<Operation>,
        object: Value,
        tracker: &DivergenceTracker,
        run: impl FnOnce(&mut Context<'_>) -> T,
    ) -> T {
        let settings = &self.engine.settings;
        let world = ExpressionWorld::new(self.world, self.identity);
        let mut context = Context::new(ContextInput {
            root: self.context_root(operation),
            object,
            policy: &policy.name,
            namespace: policy.namespace.as_ref(),
            settings,
            world: &world,
            tracker,
            taint: self.taint,
        });
        context.assign(settings.values.of(&policy.name, self.name()));
        let result = run(&mut context);
        self.add_steps(context.steps());
        result
    }

    /// Records what the decision depends on whether a rule matches. Returns the report of the rule if a replay cannot make
    /// the decision, because the recording has redacted values.
    pub(super) fn note_matching(&self, policy: &str, rule: &Rule, object: &Value) -> Option<RuleReport> {
        self.note_rule_needs(rule);
        let exceptions = || self.engine.settings.exceptions.of(policy, &rule.name);
        if self.taint.is_replay()
            && rule.may_match(self.kind, self.subresource)
            && (rule.uses_labels() || exceptions().any(PolicyException::uses_labels))
        {
            for field in ["labels", "annotations"] {
                object.path(&["metadata", field]).into_iter().for_each(|value| self.taint.note_read(value));
            }
        }
        Some(RuleReport::new(rule.name.clone(), Outcome::Error(self.not_replayable()?)))
    }

    /// Records which inputs the decision depends on whether a rule matches.
    #[inline]
    pub(super) fn note_rule_needs(&self, rule: &Rule) {
        let needs_labels =
            self.engine.uses_namespace_labels() && rule.needs_namespace_labels(self.kind, self.subresource);
        self.note_needs(needs_labels, rule.uses_user_info());
    }

    /// Whether a request reaches a rule that matches its object. The webhook is configured for what rules name. A rule
    /// with an empty filter in `exclude` adds nothing to it, and sees only requests that another rule needs.
    pub(super) fn reaches(&self, policy: &ClassicPolicy, rule: &Rule, candidate: &Candidate<'_>) -> bool {
        let is_existing = rule.existing().is_some();
        !rule.has_no_webhook() || {
            let mut classic =
                self.policies.all().filter_map(|(other, parts)| Some((other.as_classic()?, parts)));
            classic.any(|(other, parts)| {
                other.meta.failure_policy == policy.meta.failure_policy
                    && other.meta.admits(candidate)
                    && parts
                        .iter()
                        .filter_map(|part| other.rules.get(*part))
                        .any(|rule| rule.existing().is_some() == is_existing && rule.is_in_webhook(candidate))
            })
        }
    }

    /// What the conditions of a policy's webhooks say of a request that one of these rules is for. The webhooks of a policy
    /// for one namespace are called for all.
    pub(super) fn called_for<'r>(
        &self,
        policy: &ClassicPolicy,
        mut rules: impl Iterator<Item = &'r Rule>,
        candidate: &Candidate<'_>,
        tracker: &DivergenceTracker,
    ) -> Called {
        let conditions = policy.webhook_conditions.as_ref();
        let is_in_scope = policy.meta.namespace.is_none() || !candidate.namespace.is_empty();
        conditions.filter(|_| is_in_scope && rules.any(|rule| rule.is_in_webhook(candidate))).map_or_else(
            Called::default,
            |conditions| {
                let conditions = (&**conditions, policy.meta.failure_policy);
                self.called(conditions, candidate.operation, candidate.object, tracker)
            },
        )
    }

    /// The reports on rules of a policy for which Kyverno is not called; `None` if it is.
    pub(super) fn not_called<'r>(
        &self,
        called: &Called,
        policy: &ClassicPolicy,
        rules: impl Iterator<Item = &'r Rule>,
        candidate: &Candidate<'_>,
    ) -> Option<Vec<RuleReport>> {
        let (reason, mut ignored) = match called.stop.clone()? {
            Stop::Refuse(error) => {
                let report = RuleReport::new(policy.meta.name.clone(), Outcome::Error(error));
                let mut reports = vec![RuleReport { is_policy: true, ..report }];
                reports.iter_mut().for_each(|report| called.add_to(&mut report.trace));
                return Some(reports);
            }
            Stop::Skip(..) if !policy.meta.admits(candidate) => return None,
            Stop::Skip(reason, ignored) => (reason, ignored),
        };
        let mut reports = Vec::new();
        for rule in rules {
            if rule.selects(candidate) {
                let mut report = skipped(rule, reason.clone());
                report.ignored.extend(ignored.take());
                called.add_to(&mut report.trace);
                reports.push(report);
            } else {
                reports.extend(self.if_traced(|| not_selected(rule, candidate)));
            }
        }
        Some(reports)
    }

    /// The exceptions from a policy, for the object before the policy.
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

    /// Records what the exceptions from a rule depend on.
    pub(super) fn note_exceptions(&self, policy: &str, rule: &Rule) {
        let (count, size) = self.engine.settings.exceptions.size(policy);
        // A trace has each exception with what it does not select.
        let traced = if self.is_traced() { 64 * count as u64 + 8 * size } else { 0 };
        self.add_steps(2 * (count as u64 + size) + traced);
        for exception in self.engine.settings.exceptions.of(policy, &rule.name) {
            let needs_labels = exception.needs_namespace_labels(self.kind, self.subresource);
            self.note_needs(needs_labels, exception.uses_user_info());
        }
    }
}

/// The report of a rule that did not run.
pub(super) fn skipped(rule: &Rule, reason: SkipReason) -> RuleReport {
    RuleReport::new(rule.name.clone(), Outcome::Skipped(reason))
}

/// The report of a rule that does not match the object.
pub(super) fn not_selected(rule: &Rule, candidate: &Candidate<'_>) -> RuleReport {
    let mismatch = rule.mismatch(candidate).map(|mismatch| mismatch.details);
    skipped(rule, SkipReason::NotSelected(mismatch.unwrap_or_default()))
}

/// The report of a rule that no request reaches.
pub(super) fn not_reached(rule: &Rule) -> RuleReport {
    skipped(
        rule,
        SkipReason::NotSelected(vec![
            "an empty filter in `exclude` removes all kinds of the rule from the webhook".to_owned(),
        ]),
    )
}
