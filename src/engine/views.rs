//! Where the admitted view and the object as written lead to different results.

use std::collections::BTreeMap;

use crate::policy::Policy;
use crate::report::{Outcome, PolicyReport, RuleReport, SkipReason, ViewDifference, ViewReport};
use crate::value::{Change, ChangeKind, PathSet, Pointer, Segment, Step, Text, Value, changes};

use super::evaluation::{Evaluation, PolicyRun};
use super::family;

/// So many fields of a rule are tried, to find those that decide.
const MAX_TRIED_FIELDS: usize = 16;

/// What the view changes for the policies of an object. `after` is the object after them, with their changes alone.
pub(super) fn report(evaluation: &Evaluation<'_>, reports: &[PolicyReport], after: &Value) -> ViewReport {
    let not_admitted = evaluation.placed.not_admitted.as_ref();
    let not_admitted = not_admitted.filter(|_| reports.iter().any(|report| needs_fields(evaluation, report)));
    ViewReport {
        not_admitted: not_admitted.map(ToString::to_string),
        differences: differences(evaluation, reports, after).unwrap_or_default(),
    }
}

/// Whether a rule that ran may read or write fields that can have defaults: not the metadata alone.
fn needs_fields(evaluation: &Evaluation<'_>, report: &PolicyReport) -> bool {
    const WITHOUT_DEFAULTS: [&str; 3] = ["apiVersion", "kind", "metadata"];
    let reaches = |paths: &PathSet| {
        let is_other = |path: &Vec<Step>| match path.first() {
            Some(Step::Key(key)) => !WITHOUT_DEFAULTS.contains(&&**key),
            _ => true,
        };
        paths.paths().iter().any(is_other)
    };
    let policies = evaluation.policies.all().map(|(policy, _)| policy);
    policies.filter(|policy| policy.full_name() == report.policy).any(|policy| {
        let rules = policy.rules();
        let ran = rules.iter().enumerate().filter(|(_, rule)| {
            report.rules.iter().any(|report| report.rule == *rule.name && did_run(report))
        });
        ran.filter_map(|(part, _)| policy.paths(part))
            .any(|paths| reaches(&paths.reads) || reaches(&paths.writes))
    })
}

fn did_run(rule: &RuleReport) -> bool {
    !matches!(rule.outcome, Outcome::Skipped(SkipReason::NotSelected(_)))
}

/// A value that the API server sets, changes or removes.
struct Default {
    field: Pointer,
    written: Option<Value>,
    admitted: Option<Value>,
}

/// A policy that matched, with the rules that ran and may read or write a default.
struct Concerned<'a> {
    policy: &'a Policy,
    parts: Vec<usize>,
    /// The report of the rule in the admitted view, and the defaults that concern it.
    rules: Vec<(&'a RuleReport, Vec<&'a Default>)>,
}

fn differences(
    evaluation: &Evaluation<'_>,
    reports: &[PolicyReport],
    after: &Value,
) -> Option<Vec<ViewDifference>> {
    let written = evaluation.placed.written.as_ref()?;
    let admitted = &evaluation.placed.object;
    if reports.is_empty() {
        return None;
    }
    let mut defaults = Vec::new();
    changes(written, admitted).into_iter().for_each(|change| add_defaults(change, &mut defaults));
    let by_name: BTreeMap<&Text, &PolicyReport> =
        reports.iter().map(|report| (&report.policy, report)).collect();
    let concerned: Vec<Concerned<'_>> = evaluation
        .policies
        .all()
        .filter_map(|(policy, parts)| {
            let report = by_name.get(&policy.full_name())?;
            Some(Concerned {
                policy,
                rules: concerned_rules(policy, report, &defaults),
                parts: parts.into_owned(),
            })
        })
        .collect();
    if concerned.iter().all(|policy| policy.rules.is_empty()) {
        return None;
    }
    let (on_written, result) = run(evaluation, &concerned, written);
    if evaluation.placed.without_namespace(result) == *after && have_same_errors(reports, &on_written) {
        return None;
    }
    let mut found = Vec::new();
    for (index, policy) in concerned.iter().enumerate() {
        let name = policy.policy.full_name();
        for (rule, fields) in &policy.rules {
            let expected = effect_of(&on_written, &name, &rule.rule);
            if Some(effect(&rule.outcome)) == expected {
                continue;
            }
            let matters = |field: &&&Default| {
                let object = field.undone(admitted);
                let (reports, _) = run(evaluation, &concerned[..=index], &object);
                effect_of(&reports, &name, &rule.rule) != Some(effect(&rule.outcome))
            };
            let mut deciding: Vec<_> = fields.iter().take(MAX_TRIED_FIELDS).filter(matters).collect();
            if deciding.is_empty() {
                // Only several fields together decide.
                deciding.extend(fields.first());
            }
            found.extend(deciding.into_iter().map(|field| ViewDifference {
                policy: name.clone(),
                rule: rule.rule.clone(),
                field: field.field.clone(),
                default: field.admitted.clone(),
            }));
        }
    }
    Some(found)
}

/// The rules of a policy that ran and may read or write a default.
fn concerned_rules<'a>(
    policy: &Policy,
    report: &'a PolicyReport,
    defaults: &'a [Default],
) -> Vec<(&'a RuleReport, Vec<&'a Default>)> {
    let names = policy.rules();
    let rules = report.rules.iter().filter(|rule| did_run(rule));
    rules
        .filter_map(|rule| {
            let part = names.iter().position(|summary| *summary.name == rule.rule)?;
            let paths = policy.paths(part)?;
            let touches = |default: &&Default| {
                paths.reads.overlaps(&default.field) || paths.writes.overlaps(&default.field)
            };
            let fields: Vec<&Default> = defaults.iter().filter(touches).collect();
            (!fields.is_empty()).then_some((rule, fields))
        })
        .collect()
}

/// Runs policies on a state of the object, without effect on the report.
fn run(
    evaluation: &Evaluation<'_>,
    policies: &[Concerned<'_>],
    object: &Value,
) -> (Vec<PolicyReport>, Value) {
    evaluation.aside(|| {
        let mut current = object.clone();
        let mut reports = Vec::new();
        for policy in policies {
            let PolicyRun { report, after } =
                family::run(evaluation, policy.policy, &policy.parts, None, &current);
            reports.extend(report);
            current = after.unwrap_or(current);
        }
        (reports, current)
    })
}

/// What a rule does: its outcome in a word, and the values that it sets or removes.
type Effect = (&'static str, BTreeMap<String, Option<Value>>);

fn effect(outcome: &Outcome) -> Effect {
    let mut leaves = Vec::new();
    if let Outcome::Patched { before, after } = outcome {
        changes(before, after).into_iter().for_each(|change| add_defaults(change, &mut leaves));
    }
    let leaves = leaves.into_iter().map(|leaf| (leaf.field.to_string(), leaf.admitted));
    (outcome.word(), leaves.collect())
}

fn effect_of(reports: &[PolicyReport], policy: &str, rule: &str) -> Option<Effect> {
    let report = reports.iter().find(|report| &*report.policy == policy)?;
    report.rules.iter().find(|report| &*report.rule == rule).map(|report| effect(&report.outcome))
}

fn have_same_errors(one: &[PolicyReport], other: &[PolicyReport]) -> bool {
    let failed = |reports: &[PolicyReport]| -> Vec<Text> {
        reports.iter().filter(|report| report.has_error()).map(|report| report.policy.clone()).collect()
    };
    failed(one) == failed(other)
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
    /// The admitted object with this field as it is written.
    fn undone(&self, admitted: &Value) -> Value {
        let mut object = admitted.clone();
        let Some((last, parents)) = self.field.segments().split_last() else { return object };
        let parent = parents.iter().try_fold(&mut object, |node, segment| match segment {
            Segment::Key(key) => node.as_object_mut()?.get_mut(key),
            Segment::Index(index) => node.as_array_mut()?.get_mut(*index),
        });
        match (parent, last, &self.written) {
            (Some(parent), Segment::Key(key), Some(value)) => parent.insert(key.clone(), value.clone()),
            (Some(parent), Segment::Key(key), None) => drop(parent.remove(key)),
            (Some(parent), Segment::Index(index), written) => {
                if let Some(items) = parent.as_array_mut().filter(|items| *index < items.len()) {
                    match written {
                        Some(value) => items[*index] = value.clone(),
                        None => drop(items.remove(*index)),
                    }
                }
            }
            (None, ..) => {}
        }
        object
    }
}
