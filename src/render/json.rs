//! Reports as JSON.

use indexmap::IndexMap;

use crate::report::{
    Counts, Flag, Impact, MissingData, ObjectReport, Outcome, RuleReport, ServerDryRun, SkipReason, Totals,
};
use crate::semantics::DivergenceSet;
use crate::value::{Pointer, Text, Value, shortest_changes};

use super::Origin;
use super::mask::{Masked, mask_of};
use super::patch::{identity, json_patch};

/// Separators of a JSON list that is written row by row.
#[derive(Debug, Default)]
pub struct JsonRows {
    is_started: bool,
}

impl JsonRows {
    /// Whether no row was written yet.
    pub const fn is_empty(&self) -> bool {
        !self.is_started
    }

    /// The next row, given as JSON, behind what separates it from the one before.
    pub fn row(&mut self, json: &str) -> String {
        let lead = if std::mem::replace(&mut self.is_started, true) { ",\n" } else { "[\n" };
        format!("{lead}{json}")
    }

    /// What ends the list.
    pub const fn end(&self) -> &'static str {
        if self.is_started { "\n]" } else { "[]" }
    }
}

/// What the change of an object means for a cluster; `None` where there is nothing to say.
pub fn impact_json(impact: &Impact) -> Option<Value> {
    let row = || {
        [
            ("rollout", Value::from(impact.rollout)),
            ("immutable", places_json(&impact.immutable)),
            ("privilege", places_json(&impact.privilege)),
        ]
        .into_iter()
        .collect()
    };
    (!impact.is_none()).then(row)
}

fn places_json(places: &[Pointer]) -> Value {
    Value::array(places.iter().map(|place| Value::from(place.to_json_pointer())).collect())
}

/// One object's report: identity, origin, rules with outcome and patch, the differences announced.
/// Secrets are masked.
pub fn object_json(report: &ObjectReport, origin: &Origin) -> Value {
    let mut row: Value = [("origin", Value::from(origin.to_string()))].into_iter().collect();
    if let Some(object) = &report.object {
        row.insert("object", identity(object));
    }
    row.insert("changed", report.is_changed().into());
    let shown = mask_of(report, &report.before, &report.after);
    row.insert("patch", json_patch(&shortest_changes(&shown.before, &shown.after)));
    if let Some(server_dry_run) = &report.server_dry_run {
        row.insert("server", dry_run_json(server_dry_run, report, &shown));
    }
    let rules = report.rules().map(|(policy, rule)| {
        let mut row = rule_json(rule, &shown, report);
        row.insert(
            "applied",
            (!policy.has_error() && matches!(rule.outcome, Outcome::Patched { .. })).into(),
        );
        let mut named: Value = [("policy", Value::String(policy.policy.clone()))].into_iter().collect();
        for (key, value) in row.as_object().into_iter().flatten() {
            named.insert(key.clone(), value.clone());
        }
        named
    });
    row.insert("rules", Value::array(rules.collect()));
    row.insert("differences", divergences_json(report.divergences()));
    row
}

/// The result of a dry run: the verdict, with further changes or the message.
fn dry_run_json(server_dry_run: &ServerDryRun, report: &ObjectReport, object: &Masked) -> Value {
    let (verdict, name, value) = match server_dry_run {
        ServerDryRun::Accepted { sent, stored } => {
            let shown = mask_of(report, sent, stored);
            ("accepted", "patch", json_patch(&shortest_changes(&shown.before, &shown.after)))
        }
        ServerDryRun::Refused(words) => ("refused", "message", object.message(words).into()),
        ServerDryRun::Failed(words) => ("unanswered", "message", object.message(words).into()),
    };
    [("verdict", Value::from(verdict)), (name, value)].into_iter().collect()
}

fn rule_json(rule: &RuleReport, object: &Masked, report: &ObjectReport) -> Value {
    let mut row: Value =
        [("rule", Value::String(rule.rule.clone())), ("outcome", rule.outcome.word().into())]
            .into_iter()
            .collect();
    if let Some(trigger) = &rule.trigger {
        row.insert("trigger", identity(trigger));
    }
    match &rule.outcome {
        Outcome::Patched { before, after } => {
            let shown = mask_of(report, before, after);
            row.insert("patch", json_patch(&shortest_changes(&shown.before, &shown.after)));
        }
        Outcome::NoChange => {}
        Outcome::Triggered { targets, missing } => {
            row.insert("targets", Value::array(targets.iter().map(identity).collect()));
            let missing = missing.iter().map(|target| object.message(target).into());
            row.insert("missing", Value::array(missing.collect()));
        }
        Outcome::Skipped(reason) => {
            row.insert("reason", reason.to_string().into());
            if let SkipReason::Anchor { overlay, at, .. } = reason {
                let place = |at: &Pointer| Value::from(report.shown_place(at).to_json_pointer());
                row.insert("overlayPath", place(overlay));
                row.insert("objectPath", place(at));
            }
            if let SkipReason::Exceptions(names) = reason {
                row.insert("exceptions", Value::array(names.iter().cloned().map(Value::String).collect()));
            }
        }
        Outcome::Error(error) => {
            row.insert("error", object.message(&error.message).into());
            if let Some(hint) = &error.hint {
                row.insert("hint", object.message(hint).into());
            }
        }
    }
    row
}

fn divergences_json(divergences: DivergenceSet) -> Value {
    let entries = divergences.iter().map(|difference| {
        [
            ("id", Value::from(difference.to_string())),
            ("title", difference.title().into()),
            ("documented", difference.documented().into()),
            ("kyverno", difference.kyverno().into()),
        ]
        .into_iter()
        .collect()
    });
    Value::array(entries.collect())
}

fn count(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn counts_json<S>(name: &'static str, of: &IndexMap<Text, Counts, S>) -> Value {
    let rows = of.iter().map(|(key, counts)| {
        [
            (name, Value::String(key.clone())),
            ("objects", count(counts.objects)),
            ("changed", count(counts.changed)),
            ("unchanged", count(counts.unchanged)),
            ("errors", count(counts.errors)),
            ("rollout", count(counts.flags.flagged(Flag::Rollout))),
            ("immutable", count(counts.flags.flagged(Flag::Immutable))),
            ("privilege", count(counts.flags.flagged(Flag::Privilege))),
        ]
        .into_iter()
        .collect()
    });
    Value::array(rows.collect())
}

fn gaps_json(gaps: &MissingData) -> Value {
    let names = |names: &[String]| Value::array(names.iter().map(|name| name.as_str().into()).collect());
    let lists = [
        ("kinds", names(&gaps.unreadable)),
        ("inPart", names(&gaps.partial)),
        ("objects", names(&gaps.not_found)),
        ("policies", names(&gaps.policies)),
        ("lookUps", names(&gaps.failed_lookups)),
    ];
    lists.into_iter().collect()
}

/// Counts: objects, changed, unchanged, errors, what could not be read, what the changes mean for a cluster with the
/// first objects, and rows for each policy, each kind and each namespace. [`tally_rows`] has all of them with the rule.
pub fn tally_json(tally: &Totals, gaps: &MissingData) -> Value {
    let flags = Flag::ALL.into_iter().map(|flag| {
        let first = tally.flags.get(&flag).into_iter().flat_map(|flagged| &flagged.first);
        let first = first.map(|(object, places)| {
            let mut row = identity(object);
            if !places.is_empty() {
                row.insert("paths", places_json(places));
            }
            row
        });
        let row: Value = [("objects", count(tally.flagged(flag))), ("first", Value::array(first.collect()))]
            .into_iter()
            .collect();
        (flag.word(), row)
    });
    let flags: Value = flags.collect();
    let mut all: Value = [
        ("objects", count(tally.objects)),
        ("changed", count(tally.changed)),
        ("errors", count(tally.errors)),
        ("unchanged", count(tally.unchanged)),
        ("notReadable", gaps_json(gaps)),
        ("impact", flags),
        ("byPolicy", counts_json("policy", &tally.by_policy)),
        ("byKind", counts_json("kind", &tally.by_kind)),
        ("byNamespace", counts_json("namespace", &tally.by_namespace)),
    ]
    .into_iter()
    .collect();
    if let Some(kyverno) = &tally.kyverno {
        let divergences = kyverno.divergences.iter().map(|divergence| Value::from(divergence.to_string()));
        let row = [
            ("version", Value::from(kyverno.version.as_str())),
            ("namespace", kyverno.namespace.as_str().into()),
            ("differences", Value::array(divergences.collect())),
            ("note", kyverno.message.as_str().into()),
        ];
        all.insert("kyverno", row.into_iter().collect());
    }
    let server_dry_runs = &tally.server_dry_runs;
    if !server_dry_runs.is_empty() {
        let counts = [
            ("accepted", count(server_dry_runs.accepted)),
            ("furtherChanges", count(server_dry_runs.changed)),
            ("refused", count(server_dry_runs.refused)),
            ("unanswered", count(server_dry_runs.failed)),
        ];
        all.insert("serverDryRun", counts.into_iter().collect());
    }
    all
}

/// The rows of a tally, by policy, rule, kind and namespace: there may be many.
pub fn tally_rows(tally: &Totals) -> impl Iterator<Item = Value> {
    tally.rows.iter().map(|(key, row)| {
        [
            ("policy", Value::String(key.policy.clone())),
            ("rule", Value::String(key.rule.clone())),
            ("kind", Value::String(key.kind.clone())),
            ("namespace", Value::String(key.namespace.clone())),
            ("patched", count(row.patched)),
            ("dropped", count(row.discarded)),
            ("noChange", count(row.no_change)),
            ("skipped", count(row.skipped)),
            ("errors", count(row.errors)),
            ("rollout", count(row.flags.flagged(Flag::Rollout))),
            ("immutable", count(row.flags.flagged(Flag::Immutable))),
            ("privilege", count(row.flags.flagged(Flag::Privilege))),
        ]
        .into_iter()
        .collect()
    })
}
