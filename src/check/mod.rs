//! How the policies of a set get along: what they do to each other's changes on an object, and to a cluster.
//!
//! Findings are data; rendering them is elsewhere. Pure but for what the given [`World`] looks up.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod generated;
mod overwritten;
mod pods;
mod settling;

use crate::admission::{Schema, without_dropped};
use crate::engine::{Engine, World};
use crate::proof;
use crate::report::{CheckFinding, CheckFindingKind, ObjectReport, OrderDependence, Writers};
use crate::value::{GroupVersionKind, Pointer, Text, Value};

pub use generated::on_generated;

/// The findings about an object: `report` is what the policies did with it, `stored` the stored object of an update. The report
/// loses the states of an object of a built-in kind before and after each rule: large objects take much memory.
/// `is_update` says whether the object exists already.
pub fn findings(
    engine: &Engine,
    report: &mut ObjectReport,
    (stored, is_update): (Option<&Value>, bool),
    world: &dyn World,
) -> Vec<CheckFinding> {
    let (mut found, writers) = of_steps(engine, report);
    if !report.is_changed() {
        return found;
    }
    drop_states(engine, report);
    found.extend(settling::finding(engine, report, stored, world));
    found.extend(pods::finding(engine, report, &writers, world));
    found.extend(of_impact(report, &writers, is_update));
    found.extend(refused(engine, report, &writers));
    found
}

/// Drops the states of an object of a built-in kind before and after each rule.
fn drop_states(engine: &Engine, report: &mut ObjectReport) {
    let kind = GroupVersionKind::of(&report.before);
    let schema = kind.and_then(|kind| engine.settings().kind_schemas.of(&kind));
    if schema.is_some_and(Schema::is_built_in) {
        report.drop_changes();
    }
}

/// The findings about what policies do to each other's changes, and what they wrote.
fn of_steps(engine: &Engine, report: &ObjectReport) -> (Vec<CheckFinding>, Writers) {
    let order: Vec<&OrderDependence> =
        report.order.iter().filter(|one| is_kept_in_cluster(engine, report, one)).collect();
    let mut found: Vec<CheckFinding> = order.iter().map(|one| of_order(report, one)).collect();
    let depends_on_order = |policies: &[Text]| {
        let is_known = |one: &OrderDependence| policies.iter().all(|policy| one.policies.contains(policy));
        order.iter().copied().any(is_known)
    };
    let writers = Writers::of(report);
    let overwritten = overwritten::findings(report, &writers).into_iter();
    found.extend(overwritten.filter(|one| !depends_on_order(&one.policies)));
    (found, writers)
}

/// That the API server refuses the object with the changes, and would take it without.
fn refused(engine: &Engine, report: &ObjectReport, writers: &Writers) -> Option<CheckFinding> {
    let kinds = &engine.settings().kind_schemas;
    let refusal = moved(report).or_else(|| proof::refusal(kinds, &report.after))?;
    if proof::refusal(kinds, &report.before).is_some() {
        return None;
    }
    let finding = CheckFinding::new(CheckFindingKind::Refused, writers.all_policies(), Vec::new());
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
        ..CheckFinding::new(CheckFindingKind::Order, policies.clone(), shown(report, fields.clone()))
    }
}

/// What the changes do to a cluster.
fn of_impact(report: &ObjectReport, writers: &Writers, is_update: bool) -> Vec<CheckFinding> {
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
            let finding = CheckFinding::new(kind, writers_of(writers, &fields), shown(report, fields));
            with_change(report, finding)
        })
    };
    all.into_iter().filter_map(finding).collect()
}

/// Fields of an object, with secrets in keys masked.
fn shown(report: &ObjectReport, mut fields: Vec<Pointer>) -> Vec<Pointer> {
    fields.iter_mut().for_each(|field| *field = report.shown_place(field));
    fields
}

/// The policies that changed one of these fields; all that changed something, if none did.
fn writers_of(writers: &Writers, fields: &[Pointer]) -> Vec<Text> {
    let found = writers.policies(fields);
    if found.is_empty() { writers.all_policies() } else { found }
}
