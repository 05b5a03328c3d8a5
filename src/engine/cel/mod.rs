//! CEL policies at work.

mod conditions;
mod decoding;
mod failure;
mod host;
#[cfg(test)]
mod host_tests;
mod invocations;
mod json_patch;
mod mutate_existing;
mod mutation;
mod not_stored;
#[cfg(test)]
mod order_tests;
mod scope;
#[cfg(test)]
mod tests;
mod trace;
mod type_names;

use std::cell::RefCell;

use crate::diagnostics::Code;
use crate::policy::{Candidate, CelPolicy, CelVariant, FailurePolicy, Operation};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::semantics::{Divergence, DivergenceSet, Semantics};
use crate::value::{Text, Value};

use super::evaluation::{Evaluation, PolicyRun};

use conditions::{Exempt, exemption, holds};
use invocations::{Invocation, invocations};
use not_stored::NotStored;
use scope::Scope;
use trace::Tracer;

pub(super) use mutate_existing::run as run_targets;

/// Runs a policy on an object. `parts` are the numbers of its variants.
pub(super) fn run(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    parts: &[usize],
    object: &Value,
) -> PolicyRun {
    let operation = evaluation.operation(&policy.meta.name);
    let side = evaluation.engine.settings.semantics;
    let tracker = evaluation.tracker();
    let mut current = object.clone();
    let (mut rules, mut has_failed) = (Vec::new(), false);
    for variant in parts.iter().filter_map(|part| policy.variants.get(*part)) {
        let run = VariantRun {
            evaluation,
            policy,
            variant,
            operation,
            object: &current,
            side,
            ignored: RefCell::default(),
            warnings: RefCell::default(),
        };
        let report = run.report();
        let doubtful = run.doubtful();
        if !doubtful.is_empty()
            && !tracker.is_idle()
            && effect(report.as_ref()) != effect(evaluation.aside(|| run.other_side().report()).as_ref())
        {
            tracker.reach_all(doubtful);
        }
        let Some(report) = report else { continue };
        let report = RuleReport { outcome: evaluation.within_memory(report.outcome), ..report };
        match &report.outcome {
            Outcome::Patched { after, .. } => current = after.clone(),
            Outcome::Error(_) => has_failed = true,
            _ => {}
        }
        rules.push(report);
    }
    if rules.is_empty() && tracker.reached().is_empty() {
        return PolicyRun::default();
    }
    let report = PolicyReport { policy: policy.meta.full_name(), rules, divergences: tracker.reached() };
    PolicyRun { report: Some(report), after: (!has_failed).then_some(current) }
}

/// What a rule does to an object; `None` for nothing.
fn effect(report: Option<&RuleReport>) -> Option<Result<&Value, ()>> {
    match &report?.outcome {
        Outcome::Patched { after, .. } => Some(Ok(after)),
        Outcome::Error(_) => Some(Err(())),
        _ => None,
    }
}

/// Whether no variant selects an object.
pub(super) fn is_silent(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    parts: &[usize],
    object: &Value,
) -> bool {
    let operation = Some(evaluation.operation(&policy.meta.name));
    let matched = matched_object(evaluation, policy, object);
    let candidate = evaluation.candidate(matched, operation);
    if !policy.meta.admits(&candidate) {
        return true;
    }
    let mut variants = parts.iter().filter_map(|part| policy.variants.get(*part));
    !variants.any(|variant| variant.constraints.selects(&candidate, evaluation.old))
}

/// The object that constraints are compared with. The API server compares those of all policies before it runs one.
fn matched_object<'o>(evaluation: &'o Evaluation<'_>, policy: &CelPolicy, object: &'o Value) -> &'o Value {
    if policy.kind.is_of_kyverno() { object } else { &evaluation.placed.object }
}

/// One variant of a policy on one object.
struct VariantRun<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a CelPolicy,
    variant: &'a CelVariant,
    operation: Operation,
    object: &'a Value,
    /// Which side of divergences applies.
    side: Semantics,
    /// Errors that the failure policy ignores.
    ignored: RefCell<Vec<RuleError>>,
    /// Changes that a cluster does not store.
    warnings: RefCell<Vec<RuleError>>,
}

impl VariantRun<'_> {
    /// The result; `None` if there is nothing to report.
    fn report(&self) -> Option<RuleReport> {
        let Self { evaluation, policy, variant, operation, object, .. } = *self;
        if !policy.evaluates_admission || policy.has_own_targets() {
            return None;
        }
        let matched = matched_object(evaluation, policy, object);
        let candidate = evaluation.candidate(matched, Some(operation));
        let is_admitted = policy.meta.admits(&candidate);
        if is_admitted && variant.constraints.depends_on_namespace(&candidate, evaluation.old) {
            evaluation.note_needs(true, false);
        }
        if !is_admitted || !self.selects(&candidate) {
            if is_admitted && let Some(version) = variant.constraints.converted_to(&candidate, evaluation.old)
            {
                let reason = SkipReason::OtherVersion(version);
                return Some(self.result(Outcome::Skipped(reason)));
            }
            return evaluation.if_traced(|| {
                let mut reasons = variant.constraints.mismatch(&candidate, evaluation.old);
                if reasons.is_empty() {
                    let namespace = policy.meta.namespace.as_deref().unwrap_or_default();
                    reasons.push(crate::policy::other_namespace(namespace, &candidate));
                }
                self.result(Outcome::Skipped(SkipReason::NotSelected(reasons)))
            });
        }
        if operation == Operation::Delete {
            return Some(self.result(Outcome::Skipped(SkipReason::Deleted)));
        }
        if let Some(error) = &variant.error {
            let failed = RuleError::new(error.code, error.to_string()).at(&error.pointer, None);
            return Some(self.result(Outcome::Error(failed)));
        }
        let mut tracer = Tracer::new(evaluation);
        let outcome = self.failure_ignored(evaluation.replayable(self.outcome(&mut tracer)));
        let ignored = self.ignored.take();
        let is_patched = matches!(outcome, Outcome::Patched { .. });
        let warnings = self.warnings.take().into_iter().filter(|_| is_patched).collect();
        Some(RuleReport { trace: tracer.finish(), ignored, warnings, ..self.result(outcome) })
    }

    fn selects(&self, candidate: &Candidate<'_>) -> bool {
        let constraints = &self.variant.constraints;
        match self.side {
            Semantics::Kyverno => constraints.selects(candidate, self.evaluation.old),
            Semantics::Documented => constraints.selects_as_documented(candidate, self.evaluation.old),
        }
    }

    /// The divergences that may decide the result.
    fn doubtful(&self) -> DivergenceSet {
        let Self { evaluation, policy, variant, operation, object, .. } = *self;
        let mut set = DivergenceSet::NONE;
        if !policy.kind.is_of_kyverno() {
            return set;
        }
        let is_creation = matches!(operation, Operation::Create | Operation::Connect);
        if let Some((_, divergences)) = &variant.other {
            set.extend(*divergences);
        }
        if is_creation && variant.names_old {
            set.insert(Divergence::OldObjectOfCreation);
        }
        if variant.constraints.names_may_be_generated(&evaluation.candidate(object, Some(operation))) {
            set.insert(Divergence::NameOfGeneratedName);
        }
        set
    }

    /// The same under the other semantics.
    fn other_side(&self) -> Self {
        let variant = self.variant.other.as_ref().map_or(self.variant, |(other, _)| other);
        let side = match self.side {
            Semantics::Kyverno => Semantics::Documented,
            Semantics::Documented => Semantics::Kyverno,
        };
        Self { variant, side, ignored: RefCell::default(), warnings: RefCell::default(), ..*self }
    }

    fn result(&self, outcome: Outcome) -> RuleReport {
        let is_policy = self.variant.name == self.policy.meta.name;
        RuleReport { is_policy, ..RuleReport::new(self.variant.name.clone(), outcome) }
    }

    /// A cluster admits the object without the policy if it fails and has `failurePolicy: Ignore`. What fails here alone,
    /// because an input is missing, stays an error. So does what the API server refuses to decode.
    fn failure_ignored(&self, outcome: Outcome) -> Outcome {
        const MISSING_INPUTS: [Code; 4] = [Code::NoData, Code::NoParams, Code::NoSchema, Code::NotReplayable];
        // Parameters that are known not to be there are missing in a cluster, too.
        let is_missing_input = |error: &RuleError| {
            MISSING_INPUTS.contains(&error.code) && (error.code != Code::NoParams || error.hint.is_some())
        };
        match outcome {
            Outcome::Error(error)
                if self.policy.meta.failure_policy == FailurePolicy::Ignore
                    && error.code != Code::NotDecoded
                    && !is_missing_input(&error) =>
            {
                let reason = SkipReason::FailureIgnored(error.message.clone());
                self.ignored.borrow_mut().push(error);
                Outcome::Skipped(reason)
            }
            other => other,
        }
    }

    /// Runs the policy once for each binding and parameter.
    fn outcome(&self, tracer: &mut Tracer<'_>) -> Outcome {
        let Self { evaluation, policy, object, .. } = *self;
        let invocations = match invocations(evaluation, policy, self.operation) {
            Ok(invocations) => invocations,
            Err(error) => return Outcome::Error(error),
        };
        let mut current = object.clone();
        let mut skipped = None;
        for invocation in &invocations {
            match self.invoke(invocation, &current, tracer) {
                Ok(Some(after)) => current = after,
                Ok(None) => {}
                Err(Stop::Skip(reason)) => skipped = Some(reason),
                Err(Stop::Error(error)) => return Outcome::Error(error),
            }
        }
        match skipped {
            _ if current != *object => {
                evaluation.taint_new(object, &current, self.variant);
                Outcome::Patched { before: object.clone(), after: current }
            }
            Some(reason) if invocations.len() == 1 => Outcome::Skipped(reason),
            _ if invocations.is_empty() => Outcome::Skipped(SkipReason::NotBound),
            _ => Outcome::NoChange,
        }
    }

    /// Runs the policy for one binding and one parameter; `None` if it changes nothing.
    fn invoke(
        &self,
        invocation: &Invocation<'_>,
        object: &Value,
        tracer: &mut Tracer<'_>,
    ) -> Result<Option<Value>, Stop> {
        let Self { evaluation, policy, variant, operation, .. } = *self;
        let mut scope = Scope::new(evaluation, (policy, variant, self.side), operation, object.clone())
            .with_params(&invocation.params);
        tracer.enter(invocation);
        match exemption(evaluation, policy, &scope)? {
            Exempt::Fully(names) => return Err(Stop::Skip(SkipReason::Exceptions(names))),
            Exempt::Partly(allowed) => scope.allow(allowed),
        }
        if let Some(name) = self.webhook_condition(&scope)? {
            return Err(Stop::Skip(SkipReason::MatchCondition(name)));
        }
        let held = scope.while_matching(|| holds(&variant.conditions, &scope, tracer));
        tracer.variables(&scope);
        if let Some(name) = held? {
            return Err(Stop::Skip(SkipReason::MatchCondition(name)));
        }
        let result = self.mutate(&scope, tracer);
        tracer.variables(&scope);
        result?;
        let after = scope.object();
        Ok((!after.same_storage(object)).then_some(after))
    }

    /// The first condition that is false for the API server, which has null for the stored object of a creation.
    fn webhook_condition(&self, scope: &Scope<'_>) -> Result<Option<Text>, RuleError> {
        let Self { evaluation, policy, variant, operation, .. } = *self;
        let is_creation = matches!(operation, Operation::Create | Operation::Connect);
        if variant.webhook_conditions.is_empty() || self.side == Semantics::Documented || !is_creation {
            return Ok(None);
        }
        let conditions = variant.webhook_conditions.iter().filter_map(|index| variant.conditions.get(*index));
        let side = Semantics::Documented;
        let scope = Scope::new(evaluation, (policy, variant, side), operation, scope.object());
        holds(conditions, &scope, &mut Tracer::without_trace(evaluation))
    }

    /// Applies the mutations, one after the other: each sees the changes of the earlier ones.
    fn mutate(&self, scope: &Scope<'_>, tracer: &mut Tracer<'_>) -> Result<(), Stop> {
        let Self { evaluation, policy, variant, .. } = *self;
        let mut first_error = None;
        let before = scope.object();
        let mut not_stored = NotStored::default();
        for (index, mutation) in variant.mutations.iter().enumerate() {
            let is_last = index + 1 == variant.mutations.len();
            let result = mutation::apply(evaluation, policy, mutation, scope, tracer);
            if let Ok(after) = &result {
                not_stored.add(evaluation, mutation, &scope.object(), after);
            }
            match result {
                // The API server sets defaults after each mutation.
                Ok(after) if !is_last && !policy.kind.is_of_kyverno() => {
                    scope.set_object(evaluation.placed.with_defaults(after));
                }
                Ok(after) => scope.set_object(after),
                Err(error) if policy.kind.is_of_kyverno() || error.code == Code::NotDecoded => {
                    return Err(self.explained(error, scope).into());
                }
                // The API server goes on with the other mutations.
                Err(error) if policy.meta.failure_policy == FailurePolicy::Ignore => {
                    self.ignored.borrow_mut().push(error);
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        for annotation in &variant.audit_annotations {
            let value = scope.evaluate(&annotation.program);
            tracer.expression(&annotation.pointer, Some(&annotation.name), &annotation.program, &value);
            if let Err(error) = value {
                return Err(scope.failed(&annotation.pointer, &annotation.program, &error).into());
            }
        }
        self.warnings.borrow_mut().extend(not_stored.warnings(evaluation, &before, &scope.object()));
        first_error.map_or(Ok(()), |error| Err(self.explained(error, scope).into()))
    }

    /// An error, with a hint if the user of the request is not known and may be the reason.
    fn explained(&self, error: RuleError, scope: &Scope<'_>) -> RuleError {
        let lacks_user = self.evaluation.engine.settings.user.is_none();
        if error.hint.is_none() && lacks_user && scope.reads_request() && self.variant.names_user() {
            return error.with_hint("pass the user of the request with --userinfo FILE");
        }
        error
    }
}

/// Why a policy stops before its mutations are applied.
enum Stop {
    Skip(SkipReason),
    Error(RuleError),
}

impl From<RuleError> for Stop {
    fn from(error: RuleError) -> Self {
        Self::Error(error)
    }
}

impl Evaluation<'_> {
    /// Notes the texts that a policy derived from Secrets, if it may have read one.
    fn taint_new(&self, before: &Value, after: &Value, variant: &CelVariant) {
        if !self.taint.is_blank() {
            self.taint.note_new(before, after, &variant.sources());
        }
    }
}
