//! One patch on one object.

mod legacy;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::diagnostics::{Code, Coded as _};
use crate::patch::{
    AnchorOutcome, AnchorOutcomes, FailedCondition, InlineError, InlineResolver, JsonPatch,
    JsonPatchTemplate, MergeContext, Merged, OperationKind, Overlay, PatchError,
};
use crate::policy::{Patch, labels_as_texts};
use crate::report::{Outcome, RuleError, SkipReason};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Segment, Value};
use crate::variables::{Inline, InlineLeaf, Scope, Substituted, Substitution, Template};

use super::context::Context;
use super::hints::unresolved;

/// Applies a patch.
pub(super) fn patch(
    patch: &Patch,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Outcome, RuleError> {
    apply(patch, object, context, merge_context).map_err(|error| match patch {
        Patch::StrategicMerge { overlay: template, .. } | Patch::Json6902 { patch: template, .. } => {
            error.at(template.pointer(), None)
        }
        Patch::Legacy(_) => error.at(&Pointer::ROOT.key("mutate"), None),
    })
}

fn apply(
    patch: &Patch,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Outcome, RuleError> {
    let after = match patch {
        Patch::StrategicMerge { overlay, prepared } => {
            context.tracker().reach_all(overlay.divergences());
            note_anchored(overlay, object, context);
            let merged = match prepared {
                Some(prepared) => {
                    let merged = prepared.apply(object, merge_context, context.tracker(), None);
                    if context.is_traced() {
                        let semantics = context.tracker().semantics();
                        let outcomes = prepared.anchor_outcomes(object, merge_context, semantics, None);
                        trace_anchors(&outcomes, overlay, overlay.source(), context);
                    }
                    merged.map_err(|error| failed_patch(&error))?
                }
                None => substitute_overlay(overlay, object, context, merge_context)?,
            };
            match merged {
                Merged::Patched(after) => after,
                Merged::ConditionFailed(failed) => return Ok(Outcome::Skipped(not_met(failed))),
            }
        }
        Patch::Json6902 { patch, prepared, open } => {
            context.tracker().reach_all(patch.divergences());
            let patched = match prepared {
                Some(patch) => {
                    note_tests(patch, object, context);
                    patch.apply(object, context.tracker())
                }
                None => {
                    let (parsed, is_secret) = substitute_patch(patch, open.as_ref(), context)?;
                    note_tests(&parsed, object, context);
                    let patched = parsed.apply(object, context.tracker());
                    if let (Ok(after), true) = (&patched, is_secret) {
                        note_new(patch, object, after, context);
                    }
                    patched
                }
            };
            patched.map_err(|error| failed_patch(&error))?
        }
        Patch::Legacy(fields) => match legacy::run(fields, object, context, merge_context)? {
            Ok(after) => after,
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        },
    };
    context.taint().note_patch(object, &after);
    if after == *object {
        return Ok(Outcome::NoChange);
    }
    if after.get("kind").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(RuleError::new(Code::NoResult, "the patched object has no `kind`")
            .in_words_of_kyverno("failed to unmarshal patched resource: Object 'Kind' is missing"));
    }
    Ok(Outcome::Patched { before: object.clone(), after })
}

/// Adds what an overlay shows of its anchors to the trace. `value` is the overlay with its variables replaced.
fn trace_anchors(outcomes: &AnchorOutcomes, overlay: &Template, value: &Value, context: &mut Context<'_>) {
    for (at, AnchorOutcome { held, failed }) in outcomes.as_written(value, overlay.source()) {
        context.trace_anchor(&overlay.pointer().join(&at), held, failed);
    }
}

/// Records that a patch with a `test` operation depends on the object.
fn note_tests(patch: &JsonPatch, object: &Value, context: &Context<'_>) {
    if context.taint().is_replay()
        && patch.operations().iter().any(|operation| operation.kind() == OperationKind::Test)
    {
        context.taint().note_read(object);
    }
}

/// Records that an overlay with condition anchors depends on the object.
fn note_anchored(overlay: &Template, object: &Value, context: &Context<'_>) {
    if context.taint().is_replay() {
        let text = overlay.source().to_json();
        if text.contains("\"(") || text.contains("\"<(") {
            context.taint().note_read(object);
        }
    }
}

pub(super) fn not_met(failed: FailedCondition) -> SkipReason {
    SkipReason::Anchor { overlay: failed.overlay, at: failed.at, reason: failed.reason }
}

pub(super) fn failed_patch(error: &PatchError) -> RuleError {
    let words = error.original().unwrap_or_else(|| error.to_string());
    RuleError::new(error.code(), error.to_string())
        .in_words_of_kyverno(format!("failed to patch resource: {words}"))
}

/// The error of a patch that is null once its variables have values.
fn empty_patch() -> RuleError {
    RuleError::new(Code::NoResult, "the patch is empty").in_words_of_kyverno("empty mutate rule")
}

/// Applies an overlay with variables.
fn substitute_overlay(
    template: &Template,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Merged, RuleError> {
    let own = context.tracker().for_part();
    let merged = apply_substitute_overlay(&own, template, object, context, merge_context);
    let mut reached = own.reached();
    // `{{@}}` may differ between the semantics: compare the results.
    if reached.contains(Divergence::InlineElement) && !own.is_idle() {
        let other_tracker = DivergenceTracker::new(match own.semantics() {
            Semantics::Documented => Semantics::Kyverno,
            Semantics::Kyverno => Semantics::Documented,
        });
        let other = context.untraced(|context| {
            apply_substitute_overlay(&other_tracker, template, object, context, merge_context)
        });
        let is_same = match (&merged, &other) {
            (Ok(Merged::Patched(merged)), Ok(Merged::Patched(other))) => merged == other,
            (merged, other) => {
                matches!(merged, Ok(Merged::Patched(_))) == matches!(other, Ok(Merged::Patched(_)))
            }
        };
        if is_same {
            reached.remove(Divergence::InlineElement);
        }
    }
    context.tracker().reach_all(reached);
    merged
}

fn apply_substitute_overlay(
    tracker: &DivergenceTracker,
    template: &Template,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
) -> Result<Merged, RuleError> {
    // Kyverno replaces `{{@}}` by the value at the same path, which is not always that of the patched element. The
    // documented semantics wait until the element is known.
    let inline = match tracker.semantics() {
        Semantics::Documented => Inline::Deferred,
        Semantics::Kyverno => Inline::Path,
    };
    let settings = Substitution { tracker, ..context.substitution(inline) };
    let replaced = template.substitute(context, settings);
    let Substituted { value, inline } = replaced.map_err(|error| unresolved(&error, context))?;
    if value.is_null() {
        return Err(empty_patch());
    }
    let mut value = value;
    labels_as_texts(&mut value, tracker);
    let overlay = Overlay::prepare(&value, tracker).map_err(|error| failed_patch(&error))?;
    if context.is_traced() {
        let outcomes = context.untraced(|context| {
            with_resolver(&inline, context, tracker, |resolver| {
                overlay.anchor_outcomes(object, merge_context, tracker.semantics(), resolver)
            })
        });
        trace_anchors(&outcomes, template, &value, context);
    }
    with_resolver(&inline, context, tracker, |resolver| {
        overlay.apply(object, merge_context, tracker, resolver).map_err(|error| failed_patch(&error))
    })
}

/// Runs something with what resolves `{{@}}` in these strings, if there are any.
fn with_resolver<T>(
    inline: &BTreeMap<Pointer, InlineLeaf>,
    context: &mut Context<'_>,
    tracker: &DivergenceTracker,
    run: impl FnOnce(Option<&dyn InlineResolver>) -> T,
) -> T {
    if inline.is_empty() {
        return run(None);
    }
    run(Some(&InlineLeaves { inline, context: RefCell::new(context), tracker }))
}

/// The strings of an overlay in which `{{@}}` is the value at the patched element.
struct InlineLeaves<'a, 'c> {
    inline: &'a BTreeMap<Pointer, InlineLeaf>,
    context: RefCell<&'a mut Context<'c>>,
    tracker: &'a DivergenceTracker,
}

impl InlineResolver for InlineLeaves<'_, '_> {
    fn resolve(
        &self,
        overlay: &Pointer,
        at: &Pointer,
        base: Option<&Value>,
    ) -> Option<Result<Value, InlineError>> {
        let leaf = self.inline.get(overlay)?;
        if overlay.segments() != at.segments() || self.context.borrow().is_in_loop() {
            self.tracker.reach(Divergence::InlineElement);
        }
        let Some(base) = base else {
            let key = match at.segments().last() {
                Some(Segment::Key(key)) => key.to_string(),
                Some(Segment::Index(index)) => index.to_string(),
                None => String::new(),
            };
            let message = format!("no value for `{{{{@}}}}`: there is no key `{key}`");
            let original = Some(format!("`{{{{@}}}}` has no value at `{at}`: Unknown key \"{key}\" in path"));
            return Some(Err(InlineError { code: Code::KeyNotFound, message, original }));
        };
        let mut context = self.context.borrow_mut();
        let settings = Substitution { tracker: self.tracker, ..context.substitution(Inline::Deferred) };
        let scope: &mut dyn Scope = &mut **context;
        let resolved = leaf.resolve(base, scope, settings);
        Some(resolved.map_err(|error| InlineError {
            code: error.code(),
            message: error.to_string(),
            original: error.original().map(|words| format!("variable substitution failed: {words}")),
        }))
    }
}

/// Records the new values of a patch with secrets, which may be parsed from text.
fn note_new(template: &Template, before: &Value, after: &Value, context: &Context<'_>) {
    let source = template.source();
    let source = source.as_str().map_or_else(|| source.to_json(), str::to_owned);
    context.taint().note_new(before, after, &source);
}

/// A JSON patch with its variables replaced, and whether secrets were written into it.
fn substitute_patch(
    template: &Template,
    open: Option<&JsonPatchTemplate>,
    context: &mut Context<'_>,
) -> Result<(JsonPatch, bool), RuleError> {
    let settings = context.substitution(Inline::Path);
    let replaced = template.substitute_with_insertions(context, settings);
    let (value, words) = replaced.map_err(|error| unresolved(&error, context))?;
    let is_secret = context.taint().is_tainted(&value);
    let filled = || open?.fill(&words?);
    let parsed = match &value {
        Value::String(text) => filled().unwrap_or_else(|| JsonPatch::parse_as(text, context.tracker())),
        Value::Array(_) if template.source().as_array().is_some() => JsonPatch::from_value(&value),
        Value::Null => return Err(empty_patch()),
        other => {
            let found = other.type_name();
            let message = format!("expected a string in mutate.patchesJson6902, found {found}");
            let words = format!(
                "variable substitution failed: expected a string at path /mutate/patchesJson6902, found {found}"
            );
            return Err(RuleError::new(Code::PatchSyntax, message).in_words_of_kyverno(words));
        }
    };
    parsed.map(|patch| (patch, is_secret)).map_err(|error| failed_patch(&error))
}
