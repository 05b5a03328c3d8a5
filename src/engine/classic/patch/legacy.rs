//! The legacy syntax: `overlay` and `patches`.

use crate::diagnostics::Code;
use crate::engine::classic::context::Context;
use crate::engine::classic::hints::unresolved;
use crate::patch::{LegacyBehavior, LegacyOverlay, LegacyPatches, MergeContext, Merged};
use crate::policy::{LegacyMutation, LegacyPart, Patch};
use crate::report::{Outcome, RuleError, SkipReason};
use crate::value::Value;
use crate::variables::{Inline, Template};

use super::{failed_patch, not_met, note_anchored, patch, trace_anchors};

/// The patched object, or why the rule does not apply.
type Patched = Result<Value, SkipReason>;

/// Applies the legacy fields of a rule. If one of them fails, the rule fails.
pub(super) fn run(
    legacy: &LegacyMutation,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Patched, RuleError> {
    match legacy {
        LegacyMutation::Refused => {
            Err(RuleError::new(Code::RefusedByCluster, "a cluster refuses the legacy syntax"))
        }
        LegacyMutation::Own { behavior, overlay, patches } => {
            let mut after = object.clone();
            if let Some(part) = overlay {
                match apply_overlay(part, *behavior, object, context, merge_context)? {
                    Ok(patched) => after = patched,
                    // The conditions of the overlay are also those of the patches.
                    Err(reason) => return Ok(Err(reason)),
                }
                // Kyverno before 1.2 treated an overlay without changes as one that does not apply.
                if *behavior == LegacyBehavior::Native && after == *object {
                    return Ok(Ok(after));
                }
            }
            if let Some(part) = patches {
                after = apply_patches(part, *behavior, &after, context)?;
            }
            Ok(Ok(after))
        }
        LegacyMutation::Later(parts) => apply_all(parts, object, context, merge_context),
    }
}

fn apply_overlay(
    part: &LegacyPart<LegacyOverlay>,
    behavior: LegacyBehavior,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Patched, RuleError> {
    note_anchored(&part.template, object, context);
    let (value, substituted);
    let (source, overlay) = match &part.prepared {
        Some(overlay) => (part.template.source(), overlay),
        None => {
            value = substitute(&part.template, context)?;
            substituted = LegacyOverlay::prepare(&value, behavior).map_err(|error| failed_patch(&error))?;
            (&value, &substituted)
        }
    };
    context.tracker().reach_all(part.template.divergences());
    if context.is_traced() {
        let outcomes = overlay.anchor_outcomes(object, merge_context.schemas());
        trace_anchors(&outcomes, &part.template, source, context);
    }
    let merged = overlay.apply(object, merge_context.schemas(), context.tracker());
    Ok(match merged.map_err(|error| failed_patch(&error))? {
        Merged::Patched(after) => Ok(after),
        Merged::ConditionFailed(failed) => Err(not_met(failed)),
    })
}

fn apply_patches(
    part: &LegacyPart<LegacyPatches>,
    behavior: LegacyBehavior,
    object: &Value,
    context: &mut Context<'_>,
) -> Result<Value, RuleError> {
    let substituted;
    let patches = match &part.prepared {
        Some(patches) => patches,
        None => {
            let value = substitute(&part.template, context)?;
            substituted =
                LegacyPatches::from_value(&value, behavior).map_err(|error| failed_patch(&error))?;
            &substituted
        }
    };
    context.tracker().reach_all(part.template.divergences());
    patches.apply(object).map_err(|error| failed_patch(&error))
}

/// A field with its variables replaced.
fn substitute(template: &Template, context: &mut Context<'_>) -> Result<Value, RuleError> {
    let settings = context.substitution(Inline::Path);
    let replaced = template.substitute(context, settings);
    Ok(replaced.map_err(|error| unresolved(&error, context))?.value)
}

/// Applies the patches that later versions of Kyverno convert the fields to.
fn apply_all(
    parts: &[Patch],
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Patched, RuleError> {
    let mut after = object.clone();
    let mut reason = None;
    for part in parts {
        match patch(part, &after, context, merge_context)? {
            Outcome::Patched { after: patched, .. } => after = patched,
            Outcome::Skipped(skipped) => reason = reason.or(Some(skipped)),
            Outcome::NoChange | Outcome::Triggered { .. } | Outcome::Error(_) => {}
        }
    }
    Ok(match reason {
        Some(reason) if after == *object => Err(reason),
        _ => Ok(after),
    })
}
