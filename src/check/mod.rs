//! How the policies of a set get along: what they do to each other's changes on an object, and to a cluster.
//!
//! Findings are data; rendering them is elsewhere. Pure but for what the given [`World`] looks up.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod generated;
mod overwritten;
mod pods;
mod settling;

use indexmap::IndexSet;

use crate::admission::without_dropped;
use crate::engine::{Engine, World};
use crate::proof;
use crate::report::{CheckFinding, CheckFindingKind, ObjectReport, OrderDependence, PolicyReport};
use crate::value::{GroupVersionKind, Pointer, Text, Value};

pub use generated::on_generated;

/// The findings about an object: `report` is what the policies did with it, `stored` the stored object of an update.
/// `is_update` says whether the object exists already.
pub fn findings(
    engine: &Engine,
    report: &ObjectReport,
    (stored, is_update): (Option<&Value>, bool),
    world: &dyn World,
) -> Vec<CheckFinding> {
    let order: Vec<&OrderDependence> =
        report.order.iter().filter(|one| is_kept_in_cluster(engine, report, one)).collect();
    let mut found: Vec<CheckFinding> = order.iter().map(|one| of_order(report, one)).collect();
    let depends_on_order = |policies: &[Text]| {
        let is_known = |one: &OrderDependence| policies.iter().all(|policy| one.policies.contains(policy));
        order.iter().copied().any(is_known)
    };
    found.extend(overwritten::findings(report).into_iter().filter(|one| !depends_on_order(&one.policies)));
    if !report.is_changed() {
        return found;
    }
    found.extend(settling::finding(engine, report, stored, world));
    found.extend(pods::finding(engine, report, world));
    found.extend(of_impact(report, is_update));
    found.extend(refused(engine, report));
    found
}

/// That the API server refuses the object with the changes, and would take it without.
fn refused(engine: &Engine, report: &ObjectReport) -> Option<CheckFinding> {
    let kinds = &engine.settings().kind_schemas;
    let refusal = moved(report).or_else(|| proof::refusal(kinds, &report.after))?;
    if proof::refusal(kinds, &report.before).is_some() {
        return None;
    }
    let finding = CheckFinding::new(CheckFindingKind::Refused, acting(report), Vec::new());
    Some(CheckFinding { refusal: Some(refusal), ..with_change(report, finding) })
}

/// That policies make an object of another namespace or kind of it.
fn moved(report: &ObjectReport) -> Option<String> {
    let field = report.changed_identity().filter(|field| *field != ["metadata", "name"])?;
    Some(format!("{}: it is not that of the request", field.join(".")))
}

/// A finding with the object before and after its policies.
fn with_change(report: &ObjectReport, finding: CheckFinding) -> CheckFinding {
    let results = Some(Box::new([report.before.clone(), report.after.clone()]));
    CheckFinding { results, secrets: report.secrets.clone(), ..finding }
}

/// Whether a cluster keeps what differs in another order: it does not keep what is empty.
pub fn is_kept_in_cluster(engine: &Engine, report: &ObjectReport, dependence: &OrderDependence) -> bool {
    let is_in_cluster = engine.settings().admission.is_some() && dependence.failing.is_empty();
    let (Some(results), Some(kind)) = (&dependence.results, GroupVersionKind::of(&report.before)) else {
        return true;
    };
    let [one, other] = &**results;
    !is_in_cluster || without_dropped(one, &kind) != without_dropped(other, &kind)
}

fn of_order(report: &ObjectReport, dependence: &OrderDependence) -> CheckFinding {
    let OrderDependence { policies, fields, failing, results } = dependence;
    CheckFinding {
        failing: failing.clone(),
        results: results.clone(),
        secrets: report.secrets.clone(),
        ..CheckFinding::new(CheckFindingKind::Order, policies.clone(), shown(report, fields.iter()))
    }
}

/// What the changes do to a cluster.
fn of_impact(report: &ObjectReport, is_update: bool) -> Vec<CheckFinding> {
    let impact = report.impact(is_update);
    let mut restarting = Vec::new();
    if impact.rollout {
        let template = Pointer::ROOT.key("spec").key("template");
        restarting.extend(report.changes().into_iter().map(|change| change.pointer));
        if restarting.iter().any(|field| template.contains(field)) {
            restarting.retain(|field| template.contains(field));
        }
    }
    let all = [
        (CheckFindingKind::Restart, impact.rollout, restarting),
        (CheckFindingKind::Privilege, !impact.privilege.is_empty(), impact.privilege),
        (CheckFindingKind::Immutable, !impact.immutable.is_empty(), impact.immutable),
    ];
    let finding = |(kind, is_found, fields): (CheckFindingKind, bool, Vec<Pointer>)| {
        is_found.then(|| {
            let finding = CheckFinding::new(kind, writers(report, &fields), shown(report, fields.iter()));
            with_change(report, finding)
        })
    };
    all.into_iter().filter_map(finding).collect()
}

/// Fields of an object, with secrets in keys masked.
fn shown<'f>(report: &ObjectReport, fields: impl Iterator<Item = &'f Pointer>) -> Vec<Pointer> {
    fields.map(|field| report.shown_place(field)).collect()
}

/// The policies that changed something. Changes beside an error of the policy are discarded.
fn acting(report: &ObjectReport) -> Vec<Text> {
    let is_acting = |policy: &&PolicyReport| {
        !policy.has_error() && policy.rules.iter().any(|rule| !rule.changes().is_empty())
    };
    let names: IndexSet<&Text> =
        report.policies.iter().filter(is_acting).map(|policy| &policy.policy).collect();
    names.into_iter().cloned().collect()
}

/// The policies that changed one of these fields; all that changed something, if none did.
fn writers(report: &ObjectReport, fields: &[Pointer]) -> Vec<Text> {
    let found = report.writers(fields);
    if found.is_empty() { acting(report) } else { found }
}
