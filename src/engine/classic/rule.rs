//! One rule on one object.

use crate::patch::MergeContext;
use crate::pattern::{Conditions, Evaluated};
use crate::policy::{Edit, MutateExisting, Rule};
use crate::report::{Outcome, RuleError, SkipReason};
use crate::semantics::{Divergence, Semantics};
use crate::value::Value;
use crate::variables::{Inline, QueryError, SubstitutionError, Template};

use super::conditions::{decide, undecided};
use super::context::Context;
use super::exemption::Exemption;
use super::foreach;
use super::hints::unresolved;
use super::patch::patch;

/// What a rule did.
pub(super) struct Run {
    pub(super) outcome: Outcome,
    /// The rule failed in its handler: Kyverno goes on with an empty object.
    pub(super) emptied: bool,
}

impl Run {
    const fn of(outcome: Outcome) -> Self {
        Self { outcome, emptied: false }
    }
}

/// Runs a rule that selects the object.
pub(super) fn run(
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
    let is_loop = matches!(rule.edit(), Edit::Foreach(_));
    if let Some(conditions) = &rule.preconditions
        && !is_loop
        && let Err(error) = unseen(conditions, &seen, context)
    {
        return Run::of(Outcome::Error(error));
    }
    let outcome = match rule.edit() {
        Edit::Foreach(entries) => foreach::run(entries, object, context, survey),
        Edit::Patch(one) => patch(one, object, context, survey),
    };
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

/// Asks the preconditions and then the exceptions: the conditions that were looked at, or what keeps the rule
/// from doing anything.
pub(super) fn admit(
    rule: &Rule,
    context: &mut Context<'_>,
    exemption: &Exemption<'_>,
) -> Result<Vec<Evaluated>, Box<Run>> {
    let mut seen = Vec::new();
    if let Some(conditions) = &rule.preconditions {
        let verdict = decide(conditions, context).map_err(|error| {
            Box::new(Run::of(Outcome::Error(undecided(*error, "preconditions", context))))
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
pub(super) fn whole(
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
