//! Policies that mutate stored objects: one object triggers them, others are changed.

use crate::cel::{EvalError, Meter, Program, Val, to_json};
use crate::diagnostics::Code;
use crate::engine::evaluation::Evaluation;
use crate::engine::targets::{TargetId, Targets};
use crate::engine::{LookupError, TargetAccess, World};
use crate::policy::{
    Candidate, CelPolicy, CelTargets, CelVariant, MatchConstraints, Operation, TargetSelector,
};
use crate::report::{Outcome, PolicyReport, RuleError, RuleReport, SkipReason};
use crate::semantics::{Divergence, DivergenceSet, DivergenceTracker, Semantics};
use crate::value::{GroupVersionKind, Value};

use super::conditions::{Exempt, exemption, holds};
use super::mutation;
use super::not_stored::NotStored;
use super::scope::Scope;
use super::trace::Tracer;

/// Mutates the targets of a policy that an object triggers; `None` if there is nothing to report.
pub(in crate::engine) fn run(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    parts: &[usize],
    targets: &mut Targets,
) -> Option<PolicyReport> {
    if !policy.mutates_existing {
        return None;
    }
    let variants = parts.iter().filter_map(|part| policy.variants.get(*part));
    let tracker = &DivergenceTracker::new(evaluation.engine.settings().semantics);
    let rules: Vec<RuleReport> = variants
        .filter_map(|variant| Trigger { evaluation, policy, variant, tracker }.run(targets))
        .collect();
    let (policy, divergences) = (policy.meta.full_name(), tracker.reached());
    (!rules.is_empty()).then_some(PolicyReport { policy, rules, divergences })
}

/// A policy and the object that triggers it.
struct Trigger<'a> {
    evaluation: &'a Evaluation<'a>,
    policy: &'a CelPolicy,
    variant: &'a CelVariant,
    tracker: &'a DivergenceTracker,
}

impl Trigger<'_> {
    fn run(&self, targets: &mut Targets) -> Option<RuleReport> {
        let Self { evaluation, policy, variant, .. } = *self;
        // Its conditions are about the request, not about what policies made of it.
        let trigger = evaluation.original;
        // A policy that is created or updated runs by itself, on updates that are made up.
        let is_made_up = evaluation.engine.settings().on_policy_update || !policy.evaluates_admission;
        let operation = if is_made_up { Operation::Update } else { evaluation.operation(&policy.meta.name) };
        let candidate = evaluation.candidate(trigger, Some(operation));
        // Then its targets are their own triggers, unless an expression finds them.
        let is_own_trigger = is_made_up && self.expression().is_none();
        let constraints = if is_own_trigger { self.target_constraints() } else { &variant.constraints };
        let constraints = if is_made_up { &constraints.for_any_operation() } else { constraints };
        let selects = |constraints: &MatchConstraints| constraints.selects(&candidate, evaluation.old);
        let is_admitted = policy.meta.admits(&candidate);
        if is_admitted && constraints.depends_on_namespace(&candidate, evaluation.old) {
            evaluation.note_needs(true, false);
        }
        let is_selected = if is_own_trigger {
            is_admitted && self.by_semantics(constraints, selects)
        } else {
            is_admitted && selects(constraints)
        };
        if !is_selected {
            return evaluation.if_traced(|| {
                let reasons = constraints.mismatch(&candidate, evaluation.old);
                self.result(Outcome::Skipped(SkipReason::NotSelected(reasons)))
            });
        }
        let mut tracer = Tracer::new(evaluation);
        let found = if is_own_trigger {
            Ok(Vec::from_iter(targets_number(targets, evaluation, trigger)))
        } else {
            self.found(trigger, operation, targets, &mut tracer)
        };
        let outcome = match found {
            Ok(found) => self.run_targets(found, operation, targets),
            Err(outcome) => *outcome,
        };
        Some(RuleReport { trace: tracer.finish(), ..self.result(evaluation.replayable(outcome)) })
    }

    fn result(&self, outcome: Outcome) -> RuleReport {
        let is_policy = self.variant.name == self.policy.meta.name;
        RuleReport { is_policy, ..RuleReport::new(self.variant.name.clone(), outcome) }
    }

    /// The expression that finds the targets.
    fn expression(&self) -> Option<&Program> {
        self.variant.targets.as_ref()?.expression.as_ref()
    }

    /// The constraints of targets: those of the policy if it has none of its own.
    fn target_constraints(&self) -> &MatchConstraints {
        let own = self.variant.targets.as_ref().filter(|targets| !targets.constraints.rules.is_empty());
        own.map_or(&self.variant.constraints, |targets| &targets.constraints)
    }

    /// What constraints of targets find: as they are written, or as Kyverno looks them up.
    fn by_semantics<T: PartialEq>(
        &self,
        constraints: &MatchConstraints,
        find: impl Fn(&MatchConstraints) -> T,
    ) -> T {
        let found = find(constraints);
        let Some(by_name) = constraints.looked_up().map(|looked_up| find(&looked_up)) else { return found };
        let is_as_written = by_name == found || self.tracker.documented(Divergence::TargetsByName);
        if is_as_written { found } else { by_name }
    }

    /// Finds the targets, if the conditions of the trigger hold.
    fn found(
        &self,
        trigger: &Value,
        operation: Operation,
        targets: &mut Targets,
        tracer: &mut Tracer<'_>,
    ) -> Result<Vec<TargetId>, Box<Outcome>> {
        let Self { evaluation, policy, variant, .. } = *self;
        let failed = |error: RuleError| Box::new(Outcome::Error(error));
        let scope = Scope::new(
            evaluation,
            (policy, variant, evaluation.engine.settings().semantics),
            operation,
            trigger.clone(),
        );
        if let Some(name) = holds(&variant.conditions, &scope, tracer).map_err(failed)? {
            return Err(Box::new(Outcome::Skipped(SkipReason::MatchCondition(name))));
        }
        let found = match self.expression() {
            Some(program) => {
                let place =
                    crate::value::Pointer::ROOT.key("spec").key("targetMatchConstraints").key("expression");
                let value = scope.evaluate(program);
                tracer.expression(&place, None, program, &value);
                let objects = value.and_then(|value| objects_of(&value));
                let objects = objects.map_err(|error| failed(scope.failed(&place, program, &error)))?;
                objects.iter().map(|object| self.known_or_added(object, targets)).collect()
            }
            None => {
                let selected = self.selected(targets);
                self.evaluation.add_steps(targets.take_compared());
                selected.map_err(failed)?
            }
        };
        tracer.variables(&scope);
        Ok(found)
    }

    fn known_or_added(&self, object: &Value, targets: &mut Targets) -> TargetId {
        targets_number(targets, self.evaluation, object)
            .unwrap_or_else(|| targets.add_found(self.evaluation.engine, object, self.evaluation.world))
    }

    /// The objects that the constraints select, those of the run first.
    fn selected(&self, targets: &mut Targets) -> Result<Vec<TargetId>, RuleError> {
        let Evaluation { engine, world, taint, .. } = *self.evaluation;
        // Their operations are not compared.
        let constraints = &self.target_constraints().for_any_operation();
        let looked_up = match self.tracker.semantics() {
            Semantics::Documented => None,
            Semantics::Kyverno => constraints.looked_up(),
        };
        for selector in selectors(world, looked_up.as_ref().unwrap_or(constraints)) {
            if let Some(refusal) = world.refusal(&TargetAccess::Find(&selector)) {
                return Err(RuleError::new(Code::TargetRefused, refusal.message).with_hint(refusal.hint));
            }
            match targets.find(&selector, engine, (world, taint)) {
                Ok(_) | Err(LookupError::NotFound | LookupError::NotGiven) => {}
                Err(error) => return Err(RuleError::new(Code::TargetNotFound, error.to_string())),
            }
        }
        Ok(self.by_semantics(constraints, |constraints| {
            targets.select(|kind, object, namespace| self.is_target(constraints, (kind, object, namespace)))
        }))
    }

    fn is_target(
        &self,
        constraints: &MatchConstraints,
        (kind, object, namespace): (&GroupVersionKind, &Value, &str),
    ) -> bool {
        let Self { evaluation, policy, .. } = *self;
        let resource = evaluation.world.resource(kind);
        let labels = if constraints.uses_namespace_labels() {
            evaluation.world.namespace_labels(namespace)
        } else {
            None
        };
        let candidate = Candidate {
            resource: &resource.plural,
            scope: resource.scope,
            namespace,
            namespace_labels: labels.as_ref(),
            ..Candidate::new(object, kind, evaluation.operation(&policy.meta.name))
        };
        if candidate.namespace_labels.is_none() && constraints.depends_on_namespace(&candidate, None) {
            evaluation.note_unlabelled(namespace);
        }
        policy.meta.admits(&candidate) && constraints.selects(&candidate, None)
    }

    fn run_targets(&self, found: Vec<TargetId>, operation: Operation, targets: &mut Targets) -> Outcome {
        let maximum = self.evaluation.engine.settings().limits.targets;
        if !targets.add_uses(found.len(), maximum) {
            let message = format!("too many targets in this run (limit targets={maximum})");
            let hint = self.evaluation.engine.settings().input_names.limit_hint("targets");
            return Outcome::Error(RuleError::new(Code::EvaluationLimit, message).with_hint(hint));
        }
        // An expression that finds none may mean none.
        let missing = (found.is_empty() && self.expression().is_none()).then(|| {
            let resources = self.target_constraints().resources();
            resources.map_or_else(|| "any resource".into(), |names| names.join(", ").into())
        });
        let identities = found.iter().filter_map(|id| targets.identity(*id)).collect();
        for id in found {
            if let Some(error) = self.evaluation.out_of_steps(0) {
                return Outcome::Error(error);
            }
            if self.evaluation.exceeds_memory() {
                break;
            }
            self.run_target(id, operation, targets);
        }
        Outcome::Triggered { targets: identities, missing: Vec::from_iter(missing) }
    }

    /// Runs the policy on one target.
    fn run_target(&self, id: TargetId, operation: Operation, targets: &mut Targets) {
        let Self { evaluation, policy, variant, .. } = *self;
        let Some(object) = targets.object(id).cloned() else { return };
        let mut tracer = Tracer::new(evaluation);
        evaluation.taint.track(&object);
        let mut warnings = Vec::new();
        let outcome =
            self.mutated(&object, operation, &mut tracer, &mut warnings).unwrap_or_else(Outcome::Error);
        let outcome = match evaluation.replayable(outcome) {
            Outcome::Patched { after, .. } if !targets.is_same(id, &after) => {
                let message = "the policy changes what the object is called, which an update cannot";
                Outcome::Error(RuleError::new(Code::InvalidTarget, message))
            }
            other => other,
        };
        let outcome = evaluation.within_memory(outcome);
        if let Outcome::Patched { before, after } = &outcome {
            evaluation.taint_new(before, after, variant);
            targets.set(id, after.clone());
        }
        let trigger = evaluation.identity.cloned();
        let rule = RuleReport { trigger, warnings, trace: tracer.finish(), ..self.result(outcome) };
        let (policy, divergences) = (policy.meta.full_name(), DivergenceSet::NONE);
        targets.add_report(id, PolicyReport { policy, rules: vec![rule], divergences });
    }

    fn mutated(
        &self,
        object: &Value,
        operation: Operation,
        tracer: &mut Tracer<'_>,
        warnings: &mut Vec<RuleError>,
    ) -> Result<Outcome, RuleError> {
        let Self { evaluation, policy, variant, .. } = *self;
        let mut scope = Scope::new(
            evaluation,
            (policy, variant, evaluation.engine.settings().semantics),
            operation,
            object.clone(),
        )
        .of_target();
        match exemption(evaluation, policy, &scope)? {
            Exempt::Fully(names) => return Ok(Outcome::Skipped(SkipReason::Exceptions(names))),
            Exempt::Partly(allowed) => scope.allow(allowed),
        }
        let conditions = variant.targets.as_ref().map_or(&[][..], |CelTargets { conditions, .. }| conditions);
        if let Some(name) = holds(conditions, &scope, tracer)? {
            return Ok(Outcome::Skipped(SkipReason::MatchCondition(name)));
        }
        let mut not_stored = NotStored::default();
        for mutation in &variant.mutations {
            let after = mutation::apply(evaluation, policy, mutation, &scope, tracer)?;
            not_stored.add(evaluation, mutation, &scope.object(), &after);
            scope.set_object(after);
        }
        tracer.variables(&scope);
        let after = scope.object();
        warnings.extend(not_stored.warnings(evaluation, object, &after));
        Ok(if after == *object {
            Outcome::NoChange
        } else {
            Outcome::Patched { before: object.clone(), after }
        })
    }
}

fn targets_number(targets: &Targets, evaluation: &Evaluation<'_>, object: &Value) -> Option<TargetId> {
    targets.known_number(evaluation.engine, object, evaluation.world)
}

/// The objects of a list, or the single one.
fn objects_of(value: &Val) -> Result<Vec<Value>, EvalError> {
    let value = to_json(value, &mut Meter::default())?;
    Ok(match value.get("items").and_then(Value::as_array) {
        Some(items) => items.to_vec(),
        None if value.get("kind").is_some() => vec![value],
        None => Vec::new(),
    })
}

/// Selectors for lookups of the objects that constraints may select.
fn selectors(world: &dyn World, constraints: &MatchConstraints) -> Vec<TargetSelector> {
    let mut kinds: Vec<GroupVersionKind> =
        constraints.rules.iter().flat_map(|rule| world.kinds(rule)).collect();
    kinds.sort();
    kinds.dedup();
    let fields = kinds.iter().map(|kind| {
        Value::from_iter([
            ("apiVersion", Value::from(kind.api_version())),
            ("kind", Value::String(kind.kind.clone())),
        ])
    });
    fields.filter_map(|fields| TargetSelector::read(&fields, None).ok()).collect()
}
