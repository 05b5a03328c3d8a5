//! One rule on one object.

use crate::patch::MergeContext;
use crate::pattern::{Conditions, Evaluated};
use crate::policy::{Edit, MutateExisting, Rule};
use crate::report::{Outcome, RuleError, SkipReason};
use crate::semantics::{Divergence, Semantics};
use crate::value::Value;
use crate::variables::{Inline, QueryError, SubstitutionError, Template};

use super::conditions::{condition_error, evaluate};
use super::context::Context;
use super::exemption::Exemption;
use super::foreach;
use super::hints::unresolved;
use super::patch::patch;

/// The result of a rule.
pub(super) struct RuleRun {
    pub(super) outcome: Outcome,
    /// Whether the handler of the rule failed: then Kyverno continues with an empty object.
    pub(super) is_object_lost: bool,
}

impl From<Outcome> for RuleRun {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, is_object_lost: false }
    }
}

/// Runs a rule that matches the object.
pub(super) fn run(
    rule: &Rule,
    object: &Value,
    context: &mut Context<'_>,
    merge_context: &MergeContext<'_>,
    exemption: &Exemption<'_>,
) -> RuleRun {
    let evaluated = match check(rule, context, exemption) {
        Ok(evaluated) => evaluated,
        Err(outcome) => return RuleRun::from(*outcome),
    };
    let is_loop = matches!(rule.edit(), Edit::Foreach(_));
    if let Some(conditions) = &rule.preconditions
        && !is_loop
        && let Err(error) = substitute_other_conditions(conditions, &evaluated, context)
    {
        return RuleRun::from(Outcome::Error(error));
    }
    let outcome = match rule.edit() {
        Edit::Foreach(entries) => foreach::run(entries, object, context, merge_context),
        Edit::Patch(one) => patch(one, object, context, merge_context),
    };
    let outcome = outcome.and_then(|outcome| {
        if !is_loop {
            substitute_unused_entries(rule, context)?;
        }
        Ok(outcome)
    });
    match outcome {
        Ok(outcome) => RuleRun::from(outcome),
        Err(error) => RuleRun { outcome: Outcome::Error(error), is_object_lost: true },
    }
}

/// Checks the preconditions, then the exceptions. Returns the conditions that were evaluated, or the outcome if the rule
/// does not apply.
pub(super) fn check(
    rule: &Rule,
    context: &mut Context<'_>,
    exemption: &Exemption<'_>,
) -> Result<Vec<Evaluated>, Box<Outcome>> {
    let mut evaluated = Vec::new();
    if let Some(conditions) = &rule.preconditions {
        let verdict = evaluate(conditions, context)
            .map_err(|error| Box::new(Outcome::Error(condition_error(*error, "preconditions", context))))?;
        if !verdict.met {
            let message = verdict.message;
            return Err(Box::new(Outcome::Skipped(SkipReason::Preconditions { message })));
        }
        evaluated = verdict.seen;
    }
    match exemption.skip_reason(rule, context) {
        Some(reason) => Err(Box::new(Outcome::Skipped(reason))),
        None => Ok(evaluated),
    }
}

/// Substitutes the conditions that were not evaluated. Kyverno substitutes the whole rule before it patches: a variable
/// without a value then fails a rule without `foreach`.
fn substitute_other_conditions(
    conditions: &Conditions<Template>,
    evaluated: &[Evaluated],
    context: &mut Context<'_>,
) -> Result<(), RuleError> {
    // They were evaluated in the order in which they are written.
    let mut evaluated = evaluated.iter().peekable();
    for condition in conditions.iter() {
        if evaluated.next_if(|evaluated| *evaluated.pointer == *condition.pointer()).is_some() {
            continue;
        }
        for operand in [&condition.key, &condition.value] {
            substitute_unused(operand, context)?;
        }
    }
    Ok(())
}

/// Substitutes a part of the rule that is not used otherwise. An error counts only in Kyverno's semantics.
fn substitute_unused(part: &Template, context: &mut Context<'_>) -> Result<(), RuleError> {
    let tracker = context.tracker();
    let settings = context.substitution(Inline::Path);
    let Err(error) = part.substitute(context, settings) else { return Ok(()) };
    // An entry that cannot be loaded here may load in a cluster: no divergence.
    let is_load_error =
        matches!(&error, SubstitutionError::Variable { cause, .. } if matches!(**cause, QueryError::Load(_)));
    let is_documented = if is_load_error {
        tracker.semantics() == Semantics::Documented
    } else {
        tracker.documented(Divergence::WholeRuleSubstitution)
    };
    if is_documented { Ok(()) } else { Err(unresolved(&error, context)) }
}

/// Substitutes everything but the patch of a mutate-existing rule, while a target is being patched.
pub(super) fn substitute_rest(
    rule: &Rule,
    existing: &MutateExisting,
    context: &mut Context<'_>,
) -> Result<(), RuleError> {
    let conditions = rule.preconditions.iter().flat_map(Conditions::iter);
    for operand in conditions.flat_map(|condition| [&condition.key, &condition.value]) {
        substitute_unused(operand, context)?;
    }
    substitute_unused_entries(rule, context)?;
    for target in existing.targets.iter().filter(|target| target.whole.fixed().is_none()) {
        substitute_unused(&target.whole, context)?;
    }
    Ok(())
}

/// Substitutes the context entries that were not loaded.
fn substitute_unused_entries(rule: &Rule, context: &mut Context<'_>) -> Result<(), RuleError> {
    for entry in &rule.context {
        if entry.whole.fixed().is_none() && !context.is_loaded(entry) {
            substitute_unused(&entry.whole, context)?;
        }
    }
    Ok(())
}
