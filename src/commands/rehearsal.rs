//! Whether a replay will tell the same of an object as the run that is recorded.

use std::collections::BTreeSet;

use crate::render::{DiffStyle, Explanation, Origin, RuleSources, object_json, unified_diff};
use crate::report::{ObjectReport, Outcome};
use crate::value::Value;

/// The rules that two reports tell different things about, as `policy/rule`; empty where both are printed alike.
pub(super) fn differing(report: &ObjectReport, other: &ObjectReport, is_traced: bool) -> BTreeSet<String> {
    let (told, others) = (told(report, is_traced), told(other, is_traced));
    if told == others {
        return BTreeSet::new();
    }
    let rows = |told: &[Value]| -> Vec<Value> {
        let rules = told.iter().filter_map(|told| told.get("rules")?.as_array());
        rules.flatten().cloned().collect()
    };
    let (rows, others) = (rows(&told), rows(&others));
    let mut found = BTreeSet::new();
    for at in 0..rows.len().max(others.len()) {
        let (row, other) = (rows.get(at), others.get(at));
        if row != other {
            found.extend([row, other].into_iter().flatten().filter_map(name));
        }
    }
    if found.is_empty() {
        let patched = report.rules().filter(|(_, rule)| matches!(rule.outcome, Outcome::Patched { .. }));
        found.extend(patched.map(|(policy, rule)| format!("{}/{}", policy.policy, rule.rule)));
    }
    found
}

fn name(row: &Value) -> Option<String> {
    let text = |name| row.get(name).and_then(Value::as_str);
    Some(format!("{}/{}", text("policy")?, text("rule")?))
}

/// What is printed of a report, in all formats. Masks are given in the order in which they are shown, so this must
/// not be the first to show the report's own.
fn told(report: &ObjectReport, is_traced: bool) -> Vec<Value> {
    let report = ObjectReport { secrets: report.secrets.unshown(), ..report.clone() };
    let (origin, sources) = (Origin::default(), RuleSources::default());
    let mut told =
        vec![object_json(&report, &origin), unified_diff(&report, &origin, &DiffStyle::default()).into()];
    if is_traced {
        told.push(Explanation::new(&report, &origin, &sources, &|_, _| Vec::new()).json());
    }
    told
}
