//! One mutation of a policy.

use crate::cel::{Val, apply_configuration};
use crate::engine::evaluation::Evaluation;
use crate::patch::{self, ApplyError, Atomics, Computed, apply_computed};
use crate::policy::{CelMutation, CelPatch, CelPolicy};
use crate::report::RuleError;
use crate::value::{GroupVersionKind, Value};

use super::decoding;
use super::failure::MutationError;
use super::json_patch::operations;
use super::scope::Scope;
use super::trace::Tracer;

/// Applies a mutation to the object of a scope; returns the object after it.
///
/// # Errors
///
/// An expression that cannot be evaluated, a patch that cannot be applied.
pub(super) fn apply(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    mutation: &CelMutation,
    scope: &Scope<'_>,
    tracer: &mut Tracer<'_>,
) -> Result<Value, RuleError> {
    let object = scope.object();
    let (program, field) = match &mutation.patch {
        CelPatch::ApplyConfiguration(program) => (program, "applyConfiguration"),
        CelPatch::JsonPatch(program) => (program, "jsonPatch"),
        CelPatch::Ignored(_) => return Ok(object),
    };
    let place = mutation.pointer.key(field).key("expression");
    if !scope.allows_mutation(&object) {
        return Err(scope.failed_mutation(&place, program, &MutationError::TooMany));
    }
    let value = scope.evaluate_mutation(program);
    tracer.expression(&place, None, program, &value);
    let patched = value.map_err(MutationError::from).and_then(|value| match mutation.patch {
        CelPatch::JsonPatch(_) => json_patch(evaluation, policy, &object, &value, tracer),
        _ => configuration((evaluation, policy, scope), &object, &value),
    });
    patched.map_err(|error| scope.failed_mutation(&place, program, &error))
}

/// A patch of which a test fails changes nothing.
fn json_patch(
    evaluation: &Evaluation<'_>,
    policy: &CelPolicy,
    object: &Value,
    patch: &Val,
    tracer: &mut Tracer<'_>,
) -> Result<Value, MutationError> {
    let patched = match apply_computed(object, &operations(patch)?)? {
        Computed::Patched(patched) => patched,
        Computed::TestFailed(failed) => {
            tracer.failed_test(failed);
            return Ok(object.clone());
        }
    };
    let kind = GroupVersionKind::of(&patched).ok_or(MutationError::NoKind)?;
    let is_same =
        GroupVersionKind::of(object).is_none_or(|old| old.kind == kind.kind && old.group == kind.group);
    if !is_same {
        return Err(MutationError::OtherKind(kind));
    }
    if !policy.kind.is_of_kyverno() {
        decoding::check_strictly(evaluation, object, &patched)?;
    }
    Ok(patched)
}

fn configuration(
    (evaluation, policy, scope): (&Evaluation<'_>, &CelPolicy, &Scope<'_>),
    object: &Value,
    value: &Val,
) -> Result<Value, MutationError> {
    let configuration = apply_configuration(value)?;
    let kind = GroupVersionKind::of(object).ok_or(MutationError::NoKind)?;
    let schema = evaluation.engine.settings.kind_schemas.of(&kind);
    let schema = schema.ok_or_else(|| ApplyError::NoSchema(kind.clone()))?;
    // What earlier mutations made of the object has to fit, too.
    if scope.target().is_none() {
        patch::check_changed(&evaluation.placed.object, object, schema)?;
    }
    let atomics = if policy.allows_atomic { Atomics::Replaced } else { Atomics::Refused };
    let merged = patch::apply(object, &configuration, schema, atomics)?;
    if !policy.kind.is_of_kyverno() {
        decoding::check(object, &merged).map_err(MutationError::NotMerged)?;
    }
    Ok(merged)
}
