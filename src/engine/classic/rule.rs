//! One rule on one object.

use std::cell::RefCell;

use crate::patch::{
    FailedCondition, InlineError, InlineResolver, JsonPatch, JsonPatchTemplate, MergeContext, Merged, Overlay,
};
use crate::pattern::{ConditionError, Conditions, Evaluated, IntegerTyping, Verdict};
use crate::policy::{MutateExisting, Mutation, Rule, labels_as_texts};
use crate::report::{ConditionTrace, Outcome, RuleError, SkipReason};
use crate::semantics::{Divergence, DivergenceTracker, Semantics};
use crate::value::{Pointer, Segment, Value};
use crate::variables::{
    Inline, InlineLeaf, QueryError, Scope, Substituted, Substitution, SubstitutionError, Template,
};

use super::context::Context;
use super::exemption::Exemption;
use super::{foreach, legacy};

/// What a rule did.
pub(in crate::engine) struct Run {
    pub(in crate::engine) outcome: Outcome,
    /// The rule failed in its handler: Kyverno goes on with an empty object.
    pub(in crate::engine) emptied: bool,
}

impl Run {
    const fn of(outcome: Outcome) -> Self {
        Self { outcome, emptied: false }
    }
}

/// Runs a rule that selects the object.
pub(in crate::engine) fn run(
    rule: &Rule,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
    exemption: &Exemption<'_>,
) -> Run {
    let seen = match admit(rule, context, exemption) {
        Ok(seen) => seen,
        Err(run) => return *run,
    };
    if let Some(conditions) = &rule.preconditions
        && !matches!(rule.mutation, Mutation::Foreach(_))
        && let Err(error) = unseen(conditions, &seen, context)
    {
        return Run::of(Outcome::Error(error));
    }
    let outcome = match &rule.mutation {
        Mutation::Foreach(entries) => foreach::run(entries, object, context, survey),
        other => patch(other, object, context, survey),
    };
    let is_loop = matches!(rule.mutation, Mutation::Foreach(_));
    let outcome = outcome.and_then(|outcome| {
        if !is_loop {
            unused(rule, context)?;
        }
        Ok(outcome)
    });
    match outcome {
        Ok(outcome) => Run::of(outcome),
        Err(error) => Run { outcome: Outcome::Error(error), emptied: true },
    }
}

/// Evaluates preconditions: `None` if they hold, else their message.
pub(in crate::engine) fn preconditions(
    conditions: &Conditions<Template>,
    context: &mut Context<'_>,
) -> Result<Option<String>, RuleError> {
    let verdict = decide(conditions, context).map_err(|error| {
        let message = format!("failed to evaluate preconditions: {error}");
        let hint = error.into_cause().and_then(|cause| hint(&cause, context));
        RuleError { message, hint }
    })?;
    Ok((!verdict.met).then_some(verdict.message))
}

/// Asks the preconditions and then the exceptions: the conditions that were looked at, or what keeps the rule
/// from doing anything.
pub(in crate::engine) fn admit(
    rule: &Rule,
    context: &mut Context<'_>,
    exemption: &Exemption<'_>,
) -> Result<Vec<Evaluated>, Box<Run>> {
    let mut seen = Vec::new();
    if let Some(conditions) = &rule.preconditions {
        let verdict = decide(conditions, context).map_err(|error| {
            let message = format!("failed to evaluate preconditions: {error}");
            let hint = error.into_cause().and_then(|cause| hint(&cause, context));
            Box::new(Run::of(Outcome::Error(RuleError { message, hint })))
        })?;
        if !verdict.met {
            let message = verdict.message;
            return Err(Box::new(Run::of(Outcome::Skipped(SkipReason::Preconditions { message }))));
        }
        seen = verdict.seen;
    }
    match exemption.of(rule, context) {
        Some(reason) => Err(Box::new(Run::of(Outcome::Skipped(reason)))),
        None => Ok(seen),
    }
}

/// Decides whether conditions hold, and notes those that were looked at.
pub(in crate::engine) fn decide(
    conditions: &Conditions<Template>,
    context: &mut Context<'_>,
) -> Result<Verdict, Box<ConditionError<SubstitutionError>>> {
    let tracker = context.tracker();
    let settings = context.substitution(Inline::Path);
    let verdict = {
        let mut resolve = |operand: &Template, _at: &Pointer| resolve(operand, context, settings);
        conditions.evaluate(&mut resolve, tracker)
    };
    let verdict = verdict.map_err(Box::new)?;
    for seen in &verdict.seen {
        context.see(seen_condition(seen));
    }
    Ok(verdict)
}

/// The value of an operand, with what Kyverno makes of its integers.
pub(in crate::engine) fn resolve(
    operand: &Template,
    context: &mut Context<'_>,
    settings: Substitution<'_>,
) -> Result<(Value, IntegerTyping), SubstitutionError> {
    context.take_integers();
    let resolved = operand.substitute(context, settings)?;
    Ok((resolved.value, context.take_integers()))
}

fn seen_condition(seen: &Evaluated) -> ConditionTrace {
    ConditionTrace {
        pointer: Pointer::clone(&seen.pointer),
        turn: None,
        key: seen.key.clone(),
        operator: seen.operator.name().into(),
        value: seen.value.clone(),
        met: seen.met,
    }
}

/// Kyverno substitutes the whole rule before it patches, conditions included that nobody had to look at:
/// a variable without a value fails the rule there, unless it has a foreach. Here such conditions are left alone.
fn unseen(
    conditions: &Conditions<Template>,
    seen: &[Evaluated],
    context: &mut Context<'_>,
) -> Result<(), RuleError> {
    for condition in conditions.iter() {
        if seen.iter().any(|seen| *seen.pointer == *condition.pointer()) {
            continue;
        }
        for operand in [&condition.key, &condition.value] {
            again(operand, context)?;
        }
    }
    Ok(())
}

/// Substitutes a part of the rule once more, as Kyverno does before it patches: what has no value fails the
/// rule there. What another entry could not be loaded for is told elsewhere, or is known to a cluster alone.
fn again(part: &Template, context: &mut Context<'_>) -> Result<(), RuleError> {
    let tracker = context.tracker();
    let settings = context.substitution(Inline::Path);
    let Err(error) = part.substitute(context, settings) else { return Ok(()) };
    let of_an_entry = matches!(&error, SubstitutionError::Variable { cause: QueryError::Load(_), .. });
    let is_documented = if of_an_entry {
        tracker.semantics() == Semantics::Documented
    } else {
        tracker.documented(Divergence::WholeRuleSubstitution)
    };
    if is_documented { Ok(()) } else { Err(unresolved(&error, context)) }
}

/// The same for all of a rule with targets but its patch, while one of them is being patched.
pub(in crate::engine) fn whole(
    rule: &Rule,
    existing: &MutateExisting,
    context: &mut Context<'_>,
) -> Result<(), RuleError> {
    let conditions = rule.preconditions.iter().flat_map(Conditions::iter);
    for operand in conditions.flat_map(|condition| [&condition.key, &condition.value]) {
        again(operand, context)?;
    }
    unused(rule, context)?;
    for target in existing.targets.iter().filter(|target| target.whole.fixed().is_none()) {
        again(&target.whole, context)?;
    }
    Ok(())
}

/// Kyverno substitutes context entries with the rule, those included that nobody asked for: a variable
/// without a value fails the rule there. Here such entries are left alone.
fn unused(rule: &Rule, context: &mut Context<'_>) -> Result<(), RuleError> {
    for entry in &rule.context {
        if entry.whole.fixed().is_none() && !context.is_loaded(entry) {
            again(&entry.whole, context)?;
        }
    }
    Ok(())
}

/// Applies a patch.
pub(in crate::engine) fn patch(
    mutation: &Mutation,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Outcome, RuleError> {
    if let Mutation::StrategicMerge { overlay: template, .. } | Mutation::Json6902 { patch: template, .. } =
        mutation
    {
        context.tracker().reach_all(template.divergences());
    }
    let after = match mutation {
        Mutation::StrategicMerge { overlay, prepared } => {
            let merged = match prepared {
                Some(overlay) => overlay
                    .apply(object, survey, context.tracker(), None)
                    .map_err(|error| failed_patch(&error))?,
                None => substituted_overlay(overlay, object, context, survey)?,
            };
            match merged {
                Merged::Patched(after) => after,
                Merged::ConditionFailed(failed) => return Ok(Outcome::Skipped(not_met(failed))),
            }
        }
        Mutation::Json6902 { patch, prepared, open } => match prepared {
            Some(patch) => patch.apply(object, context.tracker()),
            None => {
                let (parsed, is_secret) = substituted_patch(patch, open.as_ref(), context)?;
                let patched = parsed.apply(object, context.tracker());
                if let (Ok(after), true) = (&patched, is_secret) {
                    note_new(patch, object, after, context);
                }
                patched
            }
        }
        .map_err(|error| failed_patch(&error))?,
        Mutation::Legacy(early) => match legacy::run(early, object, context, survey)? {
            Ok(after) => after,
            Err(reason) => return Ok(Outcome::Skipped(reason)),
        },
        Mutation::Foreach(_) | Mutation::MutateExisting(_) => {
            return Err(RuleError::new("this kind of mutate rule is not evaluated by this version"));
        }
    };
    if after == *object {
        return Ok(Outcome::NoChange);
    }
    if after.get("kind").and_then(Value::as_str).is_none_or(str::is_empty) {
        return Err(RuleError::new("failed to unmarshal patched resource: Object 'Kind' is missing"));
    }
    Ok(Outcome::Patched { before: object.clone(), after })
}

/// A condition anchor that does not hold, as a reason.
pub(in crate::engine) fn not_met(failed: FailedCondition) -> SkipReason {
    SkipReason::Anchor { overlay: failed.overlay, at: failed.at, reason: failed.reason }
}

pub(in crate::engine) fn failed_patch(error: &dyn std::fmt::Display) -> RuleError {
    RuleError::new(format!("failed to patch resource: {error}"))
}

pub(in crate::engine) fn unresolved(error: &SubstitutionError, context: &Context<'_>) -> RuleError {
    RuleError { message: format!("variable substitution failed: {error}"), hint: hint(error, context) }
}

/// The overlay of a rule with variables: replaced, prepared, applied.
fn substituted_overlay(
    template: &Template,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Merged, RuleError> {
    let own = DivergenceTracker::new(context.tracker().semantics());
    let merged = overlay_as_read(&own, template, object, context, survey);
    let mut reached = own.reached();
    // Where `{{@}}` may be something else on the other side, only the result tells whether it is.
    if reached.contains(Divergence::InlineElement) {
        let other = DivergenceTracker::new(match own.semantics() {
            Semantics::Documented => Semantics::Kyverno,
            Semantics::Kyverno => Semantics::Documented,
        });
        let there = context.aside(|context| overlay_as_read(&other, template, object, context, survey));
        let is_same = match (&merged, &there) {
            (Ok(Merged::Patched(here)), Ok(Merged::Patched(there))) => here == there,
            (here, there) => {
                matches!(here, Ok(Merged::Patched(_))) == matches!(there, Ok(Merged::Patched(_)))
            }
        };
        if is_same {
            reached.remove(Divergence::InlineElement);
        }
    }
    context.tracker().reach_all(reached);
    merged
}

fn overlay_as_read(
    tracker: &DivergenceTracker,
    template: &Template,
    object: &Value,
    context: &mut Context<'_>,
    survey: &MergeContext<'_>,
) -> Result<Merged, RuleError> {
    // What Kyverno finds at the place of `{{@}}` and what stands at the patched element can differ; the
    // documented side leaves such strings open until the element is known.
    let inline = match tracker.semantics() {
        Semantics::Documented => Inline::Deferred,
        Semantics::Kyverno => Inline::Path,
    };
    let settings = Substitution { tracker, ..context.substitution(inline) };
    let replaced = template.substitute(context, settings);
    let Substituted { value, inline } = replaced.map_err(|error| unresolved(&error, context))?;
    if value.is_null() {
        return Err(RuleError::new("empty mutate rule"));
    }
    let mut value = value;
    labels_as_texts(&mut value, tracker);
    let overlay = Overlay::prepare(&value, tracker).map_err(|error| failed_patch(&error))?;
    if inline.is_empty() {
        return overlay.apply(object, survey, tracker, None).map_err(|error| failed_patch(&error));
    }
    let leaves = Leaves { inline: &inline, context: RefCell::new(context), tracker };
    overlay.apply(object, survey, tracker, Some(&leaves)).map_err(|error| failed_patch(&error))
}

/// The strings of an overlay whose `{{@}}` is the value at the patched element.
struct Leaves<'a, 'c> {
    inline: &'a std::collections::BTreeMap<Pointer, InlineLeaf>,
    context: RefCell<&'a mut Context<'c>>,
    tracker: &'a DivergenceTracker,
}

impl InlineResolver for Leaves<'_, '_> {
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
        let Some(here) = base else {
            let key = match at.segments().last() {
                Some(Segment::Key(key)) => key.to_string(),
                Some(Segment::Index(index)) => index.to_string(),
                None => String::new(),
            };
            let message = format!("`{{{{@}}}}` has no value at `{at}`: Unknown key \"{key}\" in path");
            return Some(Err(InlineError(message)));
        };
        let mut context = self.context.borrow_mut();
        let settings = Substitution { tracker: self.tracker, ..context.substitution(Inline::Deferred) };
        let scope: &mut dyn Scope = &mut **context;
        let resolved = leaf.resolve(here, scope, settings);
        Some(resolved.map_err(|error| InlineError(format!("variable substitution failed: {error}"))))
    }
}

/// Notes what a patch that secrets were written into brought to an object: it may be read from text.
fn note_new(template: &Template, before: &Value, after: &Value, context: &Context<'_>) {
    let source = template.source();
    let source = source.as_str().map_or_else(|| source.to_json(), str::to_owned);
    context.taint().note_new(before, after, &source);
}

/// The JSON patch of a rule with variables: replaced, then parsed where it was not read before. Whether secrets were
/// written into it.
fn substituted_patch(
    template: &Template,
    open: Option<&JsonPatchTemplate>,
    context: &mut Context<'_>,
) -> Result<(JsonPatch, bool), RuleError> {
    let settings = context.substitution(Inline::Path);
    let replaced = template.substitute_words(context, settings);
    let (value, words) = replaced.map_err(|error| unresolved(&error, context))?;
    let is_secret = context.taint().holds(&value);
    let filled = || open?.fill(&words?);
    let parsed = match &value {
        Value::String(text) => filled().unwrap_or_else(|| JsonPatch::parse_as(text, context.tracker())),
        Value::Array(_) if template.source().as_array().is_some() => JsonPatch::from_value(&value),
        Value::Null => return Err(RuleError::new("empty mutate rule")),
        other => {
            let found = other.type_name();
            return Err(RuleError::new(format!(
                "variable substitution failed: expected a string at path /mutate/patchesJson6902, found {found}"
            )));
        }
    };
    parsed.map(|patch| (patch, is_secret)).map_err(|error| failed_patch(&error))
}

/// The limit that an evaluation passed, if that is what failed: what is said of it, and its name.
pub(in crate::engine) fn passed_limit(error: &str) -> Option<(&str, &str)> {
    let cause = error.strip_prefix("JMESPath query failed: ").unwrap_or(error);
    let (name, _) = cause.strip_prefix("the evaluation passes the limit `")?.split_once('`')?;
    Some((cause, name))
}

/// What would help where a variable has no value.
pub(in crate::engine) fn hint(error: &SubstitutionError, context: &Context<'_>) -> Option<String> {
    let SubstitutionError::Variable { expression, cause, .. } = error else { return None };
    if let Some((_, limit)) = passed_limit(&cause.to_string()) {
        return context.settings().input_names.more_of(limit);
    }
    if !cause.is_not_found() {
        return None;
    }
    let metadata = context.object().get("metadata");
    let named = |field: &str| metadata.and_then(|metadata| metadata.get(field)).is_some();
    if expression.contains("metadata.name") && !named("name") && named("generateName") {
        return Some("the object has a generateName and no name yet: only a created object has one".into());
    }
    let names = context.settings().input_names;
    if expression.contains("request.namespace") {
        return Some(
            "the request for an object that lives in no namespace names none; `request.namespace || ''` allows that".into(),
        );
    }
    let user = ["request.userInfo", "request.roles", "request.clusterRoles", "serviceAccount"];
    if user.iter().any(|name| expression.contains(name)) {
        return Some(format!("{} says who makes the request", names.user));
    }
    if expression.contains("request.oldObject")
        && !context.substitution(Inline::Path).deleting
        && let Some(old) = names.old
    {
        return Some(format!("{old} gives the objects as they are stored before an update"));
    }
    if ["subResource", "requestSubResource"].iter().any(|name| expression.contains(name)) {
        return Some(format!(
            "{} says under `subresources` which kinds stand for a subresource",
            names.entries
        ));
    }
    let of_objects = ["request.object", "element", "target"];
    if !of_objects.iter().any(|name| expression.contains(name)) {
        return Some(format!("{} gives names of the context a value", names.values));
    }
    None
}
