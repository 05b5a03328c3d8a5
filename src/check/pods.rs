//! The Pods of a template: policies see them again when a controller creates them.

use std::collections::BTreeSet;

use crate::engine::{Engine, World};
use crate::report::{CheckFinding, CheckFindingKind, ObjectReport, Writers};
use crate::value::{Pointer, Segment, Text, Value};

/// The places of templates: those of most workloads, of a `CronJob`.
const TEMPLATES: [&[&str]; 2] = [&["spec", "template"], &["spec", "jobTemplate", "spec", "template"]];

/// That policies change the Pods of a template which they have changed.
pub(super) fn finding(
    engine: &Engine,
    report: &ObjectReport,
    writers: &Writers,
    world: &dyn World,
) -> Option<CheckFinding> {
    let (at, pod) = TEMPLATES.iter().find_map(|at| Some((at, pod_of(&report.after, at)?)))?;
    if report.before.path(at) == report.after.path(at) {
        return None;
    }
    let created = engine.mutate_alone(&pod, None, world);
    if !created.is_changed() {
        return None;
    }
    // Policies for Pods alone did not change the template. Other policies may take changes back.
    let of_workload = writers.all_policies();
    let changed: Vec<Pointer> = created.changes().into_iter().map(|change| change.pointer).collect();
    let left: BTreeSet<&[Segment]> = changed.iter().map(Pointer::segments).collect();
    // Something at or above the field, or below it.
    let is_left = |field: &Pointer| {
        let field = field.segments();
        (0..=field.len()).any(|depth| left.contains(&field[..depth]))
            || left.range(field..).next().is_some_and(|next| next.starts_with(field))
    };
    let mut policies: Vec<Text> = Vec::new();
    let mut fields = Vec::new();
    let template = at.iter().fold(Pointer::ROOT, |at, key| at.key(*key));
    for (policy, rule) in created.rules().filter(|(policy, _)| of_workload.contains(&policy.policy)) {
        let changes = if policy.has_error() { Vec::new() } else { rule.changes() };
        for change in changes.into_iter().filter(|change| is_left(&change.pointer)) {
            fields.push(template.join(&created.shown_place(&change.pointer)));
            if !policies.contains(&policy.policy) {
                policies.push(policy.policy.clone());
            }
        }
    }
    if policies.is_empty() {
        return None;
    }
    let mut secrets = report.secrets.clone();
    secrets.extend(&created.secrets);
    Some(CheckFinding {
        secrets,
        results: Some(Box::new([created.before.clone(), created.after])),
        ..CheckFinding::new(CheckFindingKind::PodChangedAgain, policies, fields)
    })
}

/// The Pod that a controller makes of a template. It has a name here, as that of the workload.
fn pod_of(workload: &Value, at: &[&str]) -> Option<Value> {
    let template = workload.path(at)?;
    template.path(&["spec", "containers"])?;
    let mut metadata = template.get("metadata").filter(|metadata| metadata.as_object().is_some()).cloned();
    let metadata = metadata.get_or_insert_with(Value::empty_object);
    for field in ["name", "namespace"] {
        if let Some(value) = workload.path(&["metadata", field]) {
            metadata.insert(field, value.clone());
        }
    }
    let members = [
        ("apiVersion", Value::from("v1")),
        ("kind", Value::from("Pod")),
        ("metadata", metadata.clone()),
        ("spec", template.get("spec")?.clone()),
    ];
    Some(members.into_iter().collect())
}
