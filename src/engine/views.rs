//! Where the admitted view and the object as written lead to different results.

use crate::report::{Outcome, PolicyReport, RuleReport, SkipReason, ViewDifference, ViewReport};
use crate::value::{Change, ChangeKind, PathSet, Pointer, Value, changes, changes_within};

use super::evaluation::Evaluation;
use super::order_check::Step as PolicyStep;
use super::rerun::{
    Differences, Effect, ListPairs, Ran, Rerun, apply_change, has_same_elements, is_scalar, keeps_place,
    rerun,
};

/// So many fields of a rule are tried, to find those that decide.
const MAX_TRIED_FIELDS: usize = 16;

/// What the view changes for the policies of an object. `after` is the object after them, with their changes alone.
pub(super) fn report(
    evaluation: &Evaluation<'_>,
    (reports, steps): (&[(usize, PolicyReport)], &[PolicyStep]),
    after: &Value,
) -> ViewReport {
    let not_admitted = evaluation.placed.not_admitted.as_ref();
    let not_admitted = not_admitted
        .filter(|_| reports.iter().any(|(number, report)| needs_fields(evaluation, *number, report)));
    ViewReport {
        not_admitted: not_admitted.map(ToString::to_string),
        without_webhooks: None,
        differences: differences(evaluation, (reports, steps), after).unwrap_or_default(),
    }
}

/// Whether a rule that ran may read or write fields that can have defaults: not the metadata alone.
fn needs_fields(evaluation: &Evaluation<'_>, number: usize, report: &PolicyReport) -> bool {
    const WITHOUT_DEFAULTS: [&str; 3] = ["apiVersion", "kind", "metadata"];
    let reaches = |paths: &PathSet| paths.reaches_outside(&WITHOUT_DEFAULTS);
    evaluation.policies.at(number).is_some_and(|(policy, _)| {
        let rules = policy.rules();
        let ran = rules.iter().enumerate().filter(|(_, rule)| {
            report.rules.iter().any(|report| report.rule == *rule.name && did_run(report))
        });
        ran.filter_map(|(part, _)| policy.paths(part))
            .any(|paths| reaches(&paths.reads) || reaches(&paths.writes))
    })
}

pub(super) fn did_run(rule: &RuleReport) -> bool {
    !matches!(rule.outcome, Outcome::Skipped(SkipReason::NotSelected(_)))
}

/// A value that the API server sets, changes or removes.
struct Default {
    field: Pointer,
    written: Option<Value>,
    admitted: Option<Value>,
}

fn differences(
    evaluation: &Evaluation<'_>,
    (reports, steps): (&[(usize, PolicyReport)], &[PolicyStep]),
    after: &Value,
) -> Option<Vec<ViewDifference>> {
    let written = evaluation.placed.written.as_ref()?;
    if reports.is_empty() {
        return None;
    }
    let admitted = &evaluation.placed.object;
    let of_written = Differences::between(evaluation, admitted, written);
    if of_written.is_empty() {
        return None;
    }
    let policies = ran(evaluation, reports, steps)?;
    if !policies.iter().any(|policy| of_written.concern(policy)) {
        return None;
    }
    let on_written = rerun(evaluation, &policies, || written.clone(), of_written);
    let effects = &on_written.effects;
    let mut differing = Vec::new();
    for (index, (policy, effect)) in policies.iter().zip(effects).enumerate() {
        let rules = policy.report.rules.iter().filter(|rule| did_run(rule));
        differing.extend(rules.filter_map(|rule| match compare(effect, rule) {
            Comparison::Same => None,
            Comparison::Other(set) => Some(Differing { policy: index, rule, set }),
        }));
    }
    let fields = |one: &Differing<'_>| fields(&policies[one.policy], one.rule, (written, admitted));
    let differing = differing.into_iter().map(|one| (fields(&one), one));
    let differing: Vec<_> = differing.filter(|(fields, _)| !fields.is_empty()).collect();
    let has_same_failure = |((_, report), effect): (&(usize, PolicyReport), &Effect)| match effect {
        Effect::Same => true,
        Effect::Rerun(other) => report.has_error() == other.as_ref().is_some_and(PolicyReport::has_error),
    };
    if differing.is_empty()
        || reports.iter().zip(effects).all(has_same_failure)
            && !on_written.is_surely_other(evaluation, &policies, after)
            && !differing.iter().any(|(_, one)| sets_other(&policies, effects, one, after))
            && evaluation.placed.without_namespace(on_written.result(evaluation, &policies, written))
                == *after
    {
        return None;
    }
    let mut found = Vec::new();
    for (fields, one) in differing {
        let (rule, policies) = (one.rule, &policies[..=one.policy]);
        let set = set_otherwise(evaluation, policies, effects, &one, &fields);
        let deciding = set.unwrap_or_else(|| deciding(evaluation, policies, rule, &fields));
        found.extend(deciding.into_iter().map(|field| ViewDifference {
            policy: reports[one.policy].1.policy.clone(),
            rule: rule.rule.clone(),
            is_policy: rule.is_policy,
            field: field.field.clone(),
            default: field.admitted.clone(),
        }));
    }
    Some(found)
}

/// The policies of a run.
pub(super) fn ran<'a>(
    evaluation: &'a Evaluation<'_>,
    reports: &'a [(usize, PolicyReport)],
    steps: &'a [PolicyStep],
) -> Option<Vec<Ran<'a>>> {
    let ran = |(number, report): &'a (usize, PolicyReport)| {
        let (policy, parts) = evaluation.policies.at(*number)?;
        let (before, after) = states(evaluation, steps, *number);
        Some(Ran { number: *number, policy, parts, report, before, after })
    };
    reports.iter().map(ran).collect()
}

/// The object before a policy, and after it.
fn states<'a>(
    evaluation: &'a Evaluation<'_>,
    steps: &'a [PolicyStep],
    number: usize,
) -> (&'a Value, &'a Value) {
    let later = steps.partition_point(|step| step.number < number);
    let before = later.checked_sub(1).map_or(&evaluation.placed.object, |last| &steps[last].after);
    let own = steps.get(later).filter(|step| step.number == number);
    (before, own.map_or(before, |step| &step.after))
}

/// Whether a rule sets a value on the written object that stays there until the end, and that the object after the
/// policies with their changes alone does not have.
fn sets_other(policies: &[Ran<'_>], effects: &[Effect], one: &Differing<'_>, object: &Value) -> bool {
    let Some(Outcome::Patched { after, .. }) = only_outcome(&effects[one.policy], one.rule) else {
        return false;
    };
    let Some([on_written, _]) = &one.set else { return false };
    let (ran, later) = (&policies[one.policy], &policies[one.policy + 1..]);
    let last = later.last().map_or(ran.after, |policy| policy.after);
    effects[one.policy + 1..].iter().all(|effect| matches!(effect, Effect::Same))
        && on_written.iter().any(|(field, value)| {
            value.is_some()
                && object.pointed(field) != value.as_ref()
                && !later.iter().any(|policy| policy.may_write(field))
                && [[after, ran.after], [ran.after, last], [last, object]]
                    .into_iter()
                    .all(|objects| has_same_elements(objects, field))
        })
}

/// The defaults at which a rule of the last policy sets another value on the written object, where it reads none and the
/// policies before it do the same. `None` if that is not so for all of them, or there are none.
fn set_otherwise<'a>(
    evaluation: &Evaluation<'_>,
    policies: &[Ran<'_>],
    effects: &[Effect],
    one: &Differing<'_>,
    fields: &'a [Default],
) -> Option<Vec<&'a Default>> {
    let (policy, earlier) = policies.split_last()?;
    let mut pairs = ListPairs::default();
    let is_set_alone = |field: &Default| {
        [&field.written, &field.admitted].into_iter().flatten().all(is_scalar)
            && !policy.may_read(&field.field)
            && keeps_place(&evaluation.placed.object, &field.field, policy.before, &mut pairs)
    };
    let are_same = effects[..earlier.len()].iter().all(|effect| matches!(effect, Effect::Same));
    if !are_same || !fields.iter().all(is_set_alone) {
        return None;
    }
    only_outcome(&effects[earlier.len()], one.rule)?;
    let [on_written, own] = one.set.as_ref()?;
    let is_other = |field: &&Default| {
        let [on_written, own] =
            [on_written, own].map(|leaves| leaves.iter().find(|(leaf, _)| *leaf == field.field));
        on_written.map(|(_, value)| value) != own.map(|(_, value)| value)
    };
    let found: Vec<_> = fields.iter().take(MAX_TRIED_FIELDS).filter(is_other).collect();
    (!found.is_empty()).then_some(found)
}

/// The defaults without which a rule of the last policy does something else.
fn deciding<'a>(
    evaluation: &Evaluation<'_>,
    policies: &[Ran<'_>],
    rule: &RuleReport,
    fields: &'a [Default],
) -> Vec<&'a Default> {
    if let [field] = fields {
        return vec![field];
    }
    let matters = |field: &&Default| {
        let admitted = &evaluation.placed.object;
        let undo = field.undo();
        let undone = || {
            let mut object = admitted.clone();
            apply_change(&undo.kind, &undo.pointer, &mut object);
            object
        };
        let differences = Differences::of(admitted, undo.clone());
        let Rerun { effects, .. } = rerun(evaluation, policies, undone, differences);
        effects.last().is_some_and(|effect| !is_same(effect, rule))
    };
    let mut deciding: Vec<&Default> = fields.iter().take(MAX_TRIED_FIELDS).filter(matters).collect();
    if deciding.is_empty() {
        // Only several fields together decide.
        deciding.extend(fields.first());
    }
    deciding
}

/// The defaults that a rule of a policy may read or write.
fn fields(policy: &Ran<'_>, rule: &RuleReport, (written, admitted): (&Value, &Value)) -> Vec<Default> {
    let part = policy.policy.rules().iter().position(|summary| *summary.name == rule.rule);
    let Some(paths) = part.and_then(|part| policy.policy.paths(part)) else { return Vec::new() };
    let touched = paths.touched();
    let mut defaults = Vec::new();
    for change in changes_within(touched, written, admitted) {
        add_defaults(change, &mut defaults);
    }
    defaults.retain(|default| touched.overlaps(&default.field));
    defaults
}

/// The outcome of a rule in another run of its policy.
fn outcome_of<'a>(effect: &'a Effect, rule: &RuleReport) -> Option<&'a Outcome> {
    let Effect::Rerun(Some(report)) = effect else { return None };
    report.rules.iter().find(|other| other.rule == rule.rule).map(|other| &other.outcome)
}

/// The same, if no other rule of the policy applied.
fn only_outcome<'a>(effect: &'a Effect, rule: &RuleReport) -> Option<&'a Outcome> {
    let Effect::Rerun(Some(report)) = effect else { return None };
    let mut applied = report.rules.iter().filter(|other| !matches!(other.outcome, Outcome::Skipped(_)));
    let only = applied.next().filter(|other| other.rule == rule.rule)?;
    applied.next().is_none().then_some(&only.outcome)
}

/// A rule that does something else on the written object.
struct Differing<'a> {
    /// The index of its policy, among those that ran.
    policy: usize,
    rule: &'a RuleReport,
    /// What it sets on the written object, and on this one; `None` if it was not asked there.
    set: Option<[Leaves; 2]>,
}

/// The values that a rule sets or removes, with their places.
type Leaves = Vec<(Pointer, Option<Value>)>;

/// What a rule does in another run of its policy.
enum Comparison {
    Same,
    /// What it sets there, and what in this run.
    Other(Option<[Leaves; 2]>),
}

fn compare(effect: &Effect, rule: &RuleReport) -> Comparison {
    if matches!(effect, Effect::Same) {
        return Comparison::Same;
    }
    let Some(other) = outcome_of(effect, rule) else { return Comparison::Other(None) };
    let mut set = [other, &rule.outcome].map(leaves);
    if other.word() == rule.outcome.word() && set[0].len() == set[1].len() {
        set.iter_mut().for_each(|leaves| leaves.sort_by(|(one, _), (other, _)| one.cmp(other)));
        if set[0] == set[1] {
            return Comparison::Same;
        }
    }
    Comparison::Other(Some(set))
}

/// Whether a rule does the same in another run of its policy.
pub(super) fn is_same(effect: &Effect, rule: &RuleReport) -> bool {
    matches!(compare(effect, rule), Comparison::Same)
}

/// The values that a rule sets or removes.
fn leaves(outcome: &Outcome) -> Leaves {
    let mut leaves = Vec::new();
    if let Outcome::Patched { before, after } = outcome {
        changes(before, after).into_iter().for_each(|change| add_defaults(change, &mut leaves));
    }
    leaves.into_iter().map(|leaf| (leaf.field, leaf.admitted)).collect()
}

/// Adds the values that a change sets or removes, those without members of their own.
fn add_defaults(change: Change, found: &mut Vec<Default>) {
    let Change { pointer: field, kind } = change;
    match kind {
        ChangeKind::Add(value) => add_leaves(field, &value, found),
        ChangeKind::Remove(value) => found.push(Default { field, written: Some(value), admitted: None }),
        ChangeKind::Replace { before, after } => {
            found.push(Default { field, written: Some(before), admitted: Some(after) });
        }
    }
}

fn add_leaves(field: Pointer, value: &Value, found: &mut Vec<Default>) {
    let mut open = vec![(field, value)];
    while let Some((field, value)) = open.pop() {
        match value {
            Value::Object(members) if !members.is_empty() => {
                open.extend(members.iter().rev().map(|(key, member)| (field.key(key.clone()), member)));
            }
            _ => found.push(Default { field, written: None, admitted: Some(value.clone()) }),
        }
    }
}

impl Default {
    /// What makes the field of the admitted object as it is written.
    fn undo(&self) -> Change {
        let kind = match (&self.written, &self.admitted) {
            (Some(written), Some(admitted)) => {
                ChangeKind::Replace { before: admitted.clone(), after: written.clone() }
            }
            (Some(written), None) => ChangeKind::Add(written.clone()),
            (None, admitted) => ChangeKind::Remove(admitted.clone().unwrap_or_default()),
        };
        Change { pointer: self.field.clone(), kind }
    }
}
