//! Patches in the legacy syntax: `overlay` and `patches`.

use crate::engine::classic::context::Context;
use crate::engine::classic::hints::unresolved;
use crate::patch::{LegacyBehavior, LegacyOverlay, LegacyPatches, MergeContext, Merged, PatchError};
use crate::policy::{LegacyMutation, LegacyPart, Patch};
use crate::report::{Outcome, RuleError, SkipReason};
use crate::value::Value;
use crate::variables::{Inline, Template};

use super::{failed_patch, not_met, note_anchors, patch};

/// What an early rule makes of an object, or why it does not apply.
type Made = Result<Value, SkipReason>;

/// Runs the early fields of a rule. Either of them failing fails the rule.
pub(super) fn run(
    early: &LegacyMutation,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Made, RuleError> {
    match early {
        LegacyMutation::Refused => Err(RuleError::new("a cluster refuses the early syntax")),
        LegacyMutation::Own { tracker, overlay, patches } => {
            let mut after = object.clone();
            if let Some(part) = overlay {
                match overlaid(part, *tracker, object, context, survey)? {
                    Ok(overlaid) => after = overlaid,
                    // The patches of the rule hang on the same conditions.
                    Err(reason) => return Ok(Err(reason)),
                }
                // The engine of the time took an overlay that changes nothing for one that does not apply.
                if *tracker == LegacyBehavior::Native && after == *object {
                    return Ok(Ok(after));
                }
            }
            if let Some(part) = patches {
                after = patched(part, *tracker, &after, context)?;
            }
            Ok(Ok(after))
        }
        LegacyMutation::Later(parts) => one_after_the_other(parts, object, context, survey),
    }
}

fn overlaid(
    part: &LegacyPart<LegacyOverlay>,
    tracker: LegacyBehavior,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Made, RuleError> {
    note_anchors(&part.template, object, context);
    let prepare = |value: &Value| LegacyOverlay::prepare(value, tracker);
    let made;
    let overlay = match &part.prepared {
        Some(overlay) => overlay,
        None => {
            made = substituted(&part.template, context, prepare)?;
            &made
        }
    };
    context.tracker().reach_all(part.template.divergences());
    let merged = overlay.apply(object, survey.schemas(), context.tracker());
    Ok(match merged.map_err(|error| failed_patch(&error))? {
        Merged::Patched(after) => Ok(after),
        Merged::ConditionFailed(failed) => Err(not_met(failed)),
    })
}

fn patched(
    part: &LegacyPart<LegacyPatches>,
    tracker: LegacyBehavior,
    object: &Value,
    context: &mut Context<'_>,
) -> Result<Value, RuleError> {
    let prepare = |value: &Value| LegacyPatches::from_value(value, tracker);
    let made;
    let patches = match &part.prepared {
        Some(patches) => patches,
        None => {
            made = substituted(&part.template, context, prepare)?;
            &made
        }
    };
    context.tracker().reach_all(part.template.divergences());
    patches.apply(object).map_err(|error| failed_patch(&error))
}

/// A field with variables: replaced, then prepared.
fn substituted<T>(
    template: &Template,
    context: &mut Context<'_>,
    prepare: impl FnOnce(&Value) -> Result<T, PatchError>,
) -> Result<T, RuleError> {
    let settings = context.substitution(Inline::Path);
    let replaced = template.substitute(context, settings);
    let value = replaced.map_err(|error| unresolved(&error, context))?.value;
    prepare(&value).map_err(|error| failed_patch(&error))
}

/// What became of the fields later is two rules.
fn one_after_the_other(
    parts: &[Patch],
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Made, RuleError> {
    let mut after = object.clone();
    let mut reason = None;
    for part in parts {
        match patch(part, &after, context, survey)? {
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
