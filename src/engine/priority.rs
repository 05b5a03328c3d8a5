//! The priority of a Pod, which the API server takes from a `PriorityClass` of the cluster.

use crate::report::{Outcome, PolicyReport, SkipReason};
use crate::value::{Pointer, Text, Value};

use super::evaluation::Evaluation;

/// The fields that follow from the class.
const FIELDS: [&str; 2] = ["priority", "preemptionPolicy"];

/// The class of a Pod in the admitted view whose priority is not known, if a rule that ran may read or write it.
pub(super) fn unknown_class(evaluation: &Evaluation<'_>, reports: &[(usize, PolicyReport)]) -> Option<Text> {
    let placed = &evaluation.placed;
    let pod = &placed.object;
    let is_pod = pod.get("kind")?.as_str()? == "Pod" && pod.get("apiVersion")?.as_str()? == "v1";
    let class = pod.path(&["spec", "priorityClassName"]).and_then(Value::as_text)?;
    let is_known = pod.path(&["spec", "priority"]).is_some();
    if placed.written.is_none() || !is_pod || is_known || class.is_empty() {
        return None;
    }
    let fields = FIELDS.map(|field| Pointer::ROOT.key(Text::from("spec")).key(Text::from(field)));
    let concerned = evaluation.policies.numbered().any(|(number, policy, _)| {
        let Some((_, report)) = reports.iter().find(|(ran, _)| *ran == number) else { return false };
        policy.rules().iter().enumerate().any(|(part, summary)| {
            let ran = report.rules.iter().any(|rule| {
                rule.rule == *summary.name
                    && !matches!(rule.outcome, Outcome::Skipped(SkipReason::NotSelected(_)))
            });
            ran && policy.paths(part).is_some_and(|paths| {
                fields.iter().any(|field| paths.reads.overlaps(field) || paths.writes.overlaps(field))
            })
        })
    });
    concerned.then(|| class.clone())
}
