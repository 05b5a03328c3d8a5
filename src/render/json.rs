//! Reports as JSON.

use indexmap::IndexMap;

use crate::report::{
    Counts, Flag, FlagCounts, Impact, MissingData, ObjectReport, OrderDependence, Outcome, RuleReport,
    ServerDryRun, SkipReason, Totals,
};
use crate::semantics::Divergence;
use crate::value::{Pointer, Text, Value, shortest_changes};

use super::Origin;
use super::mask::{Masked, StateMasks, mask_of};
use super::patch::{identity, json_patch};

/// A number of things.
pub(super) fn number(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A list of values.
pub(super) fn list(items: impl IntoIterator<Item = impl Into<Value>>) -> Value {
    Value::array(items.into_iter().map(Into::into).collect())
}

/// The impact of a change on a cluster; `None` without impact.
pub fn impact_json(impact: &Impact) -> Option<Value> {
    let row = || {
        Value::from_iter([
            ("rollout", Value::from(impact.rollout)),
            ("immutable", paths_json(&impact.immutable)),
            ("privilege", paths_json(&impact.privilege)),
        ])
    };
    (!impact.is_none()).then(row)
}

fn paths_json(paths: &[Pointer]) -> Value {
    list(paths.iter().map(Pointer::to_json_pointer))
}

/// The difference of two states as a JSON patch.
fn patch(masked: &Masked) -> Value {
    json_patch(&shortest_changes(&masked.before, &masked.after))
}

/// The report of an object: identity, origin, rules with outcome and patch, and divergences. Secrets are masked.
pub fn object_json(report: &ObjectReport, origin: &Origin) -> Value {
    let mut row = Value::from_iter([("origin", origin.to_string().into())]);
    if let Some(object) = &report.object {
        row.insert("object", identity(object));
    }
    row.insert("changed", report.is_changed().into());
    let masks = StateMasks::of(report);
    let masked = masks.masked(&report.before, &report.after);
    row.insert("patch", patch(&masked));
    if let Some(server_dry_run) = &report.server_dry_run {
        row.insert("server", dry_run_json(server_dry_run, report, &masked));
    }
    let rules = report.rules().map(|(policy, rule)| {
        let mut row = Value::from_iter([("policy", policy.policy.clone().into())]);
        rule_json(rule, &masked, (report, &masks), &mut row);
        let applied = !policy.has_error() && matches!(rule.outcome, Outcome::Patched { .. });
        row.insert("applied", applied.into());
        row
    });
    row.insert("rules", list(rules));
    let divergences = report.divergences();
    let divergences = divergences.iter().map(|divergence| Value::from_iter(divergence_members(divergence)));
    row.insert("divergences", list(divergences));
    if !report.order.is_empty() {
        row.insert("order", order_json(report));
    }
    row
}

/// The policies whose order makes a difference, and where.
pub(super) fn order_json(report: &ObjectReport) -> Value {
    list(report.order.iter().map(|OrderDependence { policies, fields, failing, .. }| {
        let fields: Vec<Pointer> = fields.iter().map(|field| report.shown_place(field)).collect();
        Value::from_iter([
            ("policies", list(policies.iter().cloned())),
            ("fields", paths_json(&fields)),
            ("failing", list(failing.iter().cloned())),
        ])
    }))
}

/// The result of a dry run: the verdict, with further changes or the message.
fn dry_run_json(server_dry_run: &ServerDryRun, report: &ObjectReport, object: &Masked) -> Value {
    let (verdict, name, value) = match server_dry_run {
        ServerDryRun::Accepted { sent, stored } => {
            ("accepted", "patch", patch(&mask_of(report, sent, stored)))
        }
        ServerDryRun::Refused(message) => ("refused", "message", object.message(message).into()),
        ServerDryRun::Failed(message) => ("unanswered", "message", object.message(message).into()),
    };
    Value::from_iter([("verdict", verdict.into()), (name, value)])
}

fn rule_json(
    rule: &RuleReport,
    object: &Masked,
    (report, masks): (&ObjectReport, &StateMasks),
    row: &mut Value,
) {
    row.insert("rule", rule.rule.clone().into());
    row.insert("outcome", rule.outcome.word().into());
    if let Some(trigger) = &rule.trigger {
        row.insert("trigger", identity(trigger));
    }
    match &rule.outcome {
        Outcome::Patched { before, after } => row.insert("patch", patch(&masks.masked(before, after))),
        Outcome::NoChange => {}
        Outcome::Triggered { targets, missing } => {
            row.insert("targets", list(targets.iter().map(identity)));
            row.insert("missing", list(missing.iter().map(|target| object.message(target))));
        }
        Outcome::Skipped(reason) => {
            row.insert("reason", reason.to_string().into());
            if let SkipReason::Anchor { overlay, at, .. } = reason {
                let path = |at: &Pointer| Value::from(report.shown_place(at).to_json_pointer());
                row.insert("overlayPath", path(overlay));
                row.insert("objectPath", path(at));
            }
            if let SkipReason::Exceptions(names) = reason {
                row.insert("exceptions", list(names.iter().cloned()));
            }
        }
        Outcome::Error(error) => {
            row.insert("code", error.code.name().into());
            row.insert("error", object.message(&error.message).into());
            if let Some(hint) = &error.hint {
                row.insert("hint", object.message(hint).into());
            }
            if let Some(original) = &error.original {
                row.insert("original", object.message(original).into());
            }
        }
    }
}

/// The members of the JSON of a divergence.
pub(super) fn divergence_members(divergence: Divergence) -> [(&'static str, Value); 4] {
    [
        ("id", divergence.to_string().into()),
        ("title", divergence.title().into()),
        ("documented", divergence.documented().into()),
        ("kyverno", divergence.kyverno().into()),
    ]
}

/// The number of objects with each flag.
fn flag_counts(flags: FlagCounts) -> impl Iterator<Item = (&'static str, Value)> {
    Flag::ALL.into_iter().map(move |flag| (flag.word(), number(flags.flagged(flag))))
}

fn counts_json<S>(name: &'static str, counts: &IndexMap<Text, Counts, S>) -> Value {
    list(counts.iter().map(|(key, counts)| {
        let row = [
            (name, key.clone().into()),
            ("objects", number(counts.objects)),
            ("changed", number(counts.changed)),
            ("unchanged", number(counts.unchanged)),
            ("errors", number(counts.errors)),
        ];
        Value::from_iter(row.into_iter().chain(flag_counts(counts.flags)))
    }))
}

fn gaps_json(gaps: &MissingData) -> Value {
    let names = |names: &[String]| list(names.iter().map(String::as_str));
    Value::from_iter([
        ("kinds", names(&gaps.unreadable)),
        ("inPart", names(&gaps.partial)),
        ("objects", names(&gaps.not_found)),
        ("policies", names(&gaps.policies)),
        ("refusedPolicies", names(&gaps.refused_policies)),
        ("files", names(&gaps.unread_files)),
        ("lookUps", names(&gaps.failed_lookups)),
    ])
}

/// The totals: numbers of objects, what could not be read, the impact with the first objects, and rows for each policy,
/// kind and namespace. `tally_rows` has those for each rule.
pub fn tally_json(tally: &Totals, gaps: &MissingData) -> Value {
    let flags = Flag::ALL.into_iter().map(|flag| {
        let first = tally.flags.get(&flag).into_iter().flat_map(|flagged| &flagged.first);
        let first = first.map(|(object, paths)| {
            let mut row = identity(object);
            if !paths.is_empty() {
                row.insert("paths", paths_json(paths));
            }
            row
        });
        let row = [("objects", number(tally.flagged(flag))), ("first", list(first))];
        (flag.word(), Value::from_iter(row))
    });
    let mut all = Value::from_iter([
        ("objects", number(tally.objects)),
        ("changed", number(tally.changed)),
        ("errors", number(tally.errors)),
        ("unchanged", number(tally.unchanged)),
        ("notReadable", gaps_json(gaps)),
        ("impact", flags.collect()),
        ("byPolicy", counts_json("policy", &tally.by_policy)),
        ("byKind", counts_json("kind", &tally.by_kind)),
        ("byNamespace", counts_json("namespace", &tally.by_namespace)),
    ]);
    if let Some(kyverno) = &tally.kyverno {
        let row = [
            ("version", kyverno.version.as_str().into()),
            ("namespace", kyverno.namespace.as_str().into()),
            ("divergences", list(kyverno.divergences.iter().map(|divergence| divergence.to_string()))),
            ("note", kyverno.message.as_str().into()),
        ];
        all.insert("kyverno", Value::from_iter(row));
    }
    let server_dry_runs = &tally.server_dry_runs;
    if !server_dry_runs.is_empty() {
        let counts = [
            ("accepted", number(server_dry_runs.accepted)),
            ("furtherChanges", number(server_dry_runs.changed)),
            ("refused", number(server_dry_runs.refused)),
            ("unanswered", number(server_dry_runs.failed)),
        ];
        all.insert("serverDryRun", Value::from_iter(counts));
    }
    all
}

/// The totals by policy, rule, kind and namespace, one row at a time: there may be many.
pub(super) fn tally_rows(tally: &Totals) -> impl Iterator<Item = Value> {
    tally.rows.iter().map(|(key, row)| {
        let counts = [
            ("policy", key.policy.clone().into()),
            ("rule", key.rule.clone().into()),
            ("kind", key.kind.clone().into()),
            ("namespace", key.namespace.clone().into()),
            ("patched", number(row.patched)),
            ("discarded", number(row.discarded)),
            ("noChange", number(row.no_change)),
            ("skipped", number(row.skipped)),
            ("errors", number(row.errors)),
        ];
        Value::from_iter(counts.into_iter().chain(flag_counts(row.flags)))
    })
}
