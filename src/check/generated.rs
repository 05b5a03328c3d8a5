//! Findings on generated objects: made from the conditions of each policy, and of those pairs that touch the same fields.

use std::collections::{BTreeMap, BTreeSet};

use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::engine::Engine;
use crate::policy::{Operation, Policy};
use crate::proof::{self, Case, Creations};
use crate::report::{
    CheckFinding, CheckFindingKind, GeneratedFinding, GeneratedFindings, ObjectReport, Settling, Writers,
};
use crate::value::{GroupVersionKind, Text};

/// So many creations are evaluated at once.
const BATCH: usize = 256;

/// The most pairs of policies for which objects are made.
const MAX_PAIRS: usize = 2000;

/// What findings are grouped by: a finding is shown once for the same policies.
type Key = (CheckFindingKind, Vec<Text>, Option<Settling>);

fn key(finding: &CheckFinding) -> Key {
    (finding.kind, finding.policies.clone(), finding.settling)
}

/// The findings about all policies of an engine on generated objects, each with its smallest object. `progress` gets the
/// number of objects that were evaluated since its last call.
pub fn on_generated(
    engine: &Engine,
    creations: &Creations<'_>,
    progress: &mut dyn FnMut(usize),
) -> GeneratedFindings {
    let Cases { cases, has_pairs_left_out } = cases(engine.policies().policies(), creations);
    let mut smallest: BTreeMap<Key, &Case> = BTreeMap::new();
    for batch in cases.chunks(BATCH) {
        let of_all = Finder { engine, creations };
        let found: Vec<Vec<CheckFinding>> = batch.par_iter().map(|case| of_all.evaluate(case).1).collect();
        progress(batch.len());
        for (case, findings) in batch.iter().zip(found) {
            for finding in findings {
                let known = smallest.entry(key(&finding)).or_insert(case);
                if case.object.weight() < known.object.weight() {
                    *known = case;
                }
            }
        }
    }
    // What fewer policies show needs no more.
    let is_minimal = |(kind, policies, _): &Key| {
        !smallest.keys().any(|(other_kind, fewer, _)| {
            other_kind == kind
                && fewer.len() < policies.len()
                && fewer.iter().all(|name| policies.contains(name))
        })
    };
    let wanted: Vec<(&Key, &Case)> =
        smallest.iter().map(|(key, case)| (key, *case)).filter(|(key, _)| is_minimal(key)).collect();
    let findings = wanted.par_iter().filter_map(|(key, case)| shrunk(engine, creations, key, case));
    GeneratedFindings {
        objects: cases.len(),
        stopped_early: has_pairs_left_out || creations.have_stopped_early(),
        findings: findings.collect(),
    }
}

/// The finding with its smallest object: on that of as few policies as show it, if all policies together do, too.
fn shrunk(engine: &Engine, creations: &Creations<'_>, key: &Key, case: &Case) -> Option<GeneratedFinding> {
    let of_all = Finder { engine, creations };
    let others = needed(&of_all, key, case);
    let narrowed = engine.narrowed(&[&key.1[..], &others].concat());
    let of_few = Finder { engine: &narrowed, creations };
    for (finder, others) in [(&of_few, others), (&of_all, Vec::new())] {
        let Some(start) = finder.one(case, key) else { continue };
        let (_, found) = creations.shrink((case.clone(), start), |case| {
            finder.one(case, key).filter(|_| of_all.one(case, key).is_some())
        });
        return Some(GeneratedFinding { others, ..found });
    }
    None
}

/// The policies without which those of a finding do not show it.
fn needed(of_all: &Finder<'_>, key: &Key, case: &Case) -> Vec<Text> {
    let Finder { engine, creations } = *of_all;
    let is_shown = |others: &[Text]| {
        let engine = &engine.narrowed(&[&key.1[..], others].concat());
        Finder { engine, creations }.one(case, key).is_some()
    };
    if is_shown(&[]) {
        return Vec::new();
    }
    let mut others = Writers::of(&of_all.evaluate(case).0).all_policies();
    others.retain(|name| !key.1.contains(name));
    let mut next = 0;
    while next < others.len() {
        let mut fewer = others.clone();
        fewer.remove(next);
        if is_shown(&fewer) {
            others = fewer;
        } else {
            next += 1;
        }
    }
    others
}

/// Findings on creations.
struct Finder<'a> {
    engine: &'a Engine,
    creations: &'a Creations<'a>,
}

impl Finder<'_> {
    /// What the policies do with a creation, the findings, and whether generated objects were looked up.
    fn evaluate(&self, case: &Case) -> (ObjectReport, Vec<CheckFinding>, bool) {
        let is_update = self.engine.settings().operation == Some(Operation::Update);
        let ((report, found), has_generated_lookups) = self.creations.in_world_of(case, |world| {
            let report = self.engine.mutate(&case.object, None, world);
            let found = super::findings(self.engine, &mut report.clone(), (None, is_update), world);
            (report, found)
        });
        (report, found, has_generated_lookups)
    }

    /// One finding, if it is there.
    fn one(&self, case: &Case, wanted: &Key) -> Option<GeneratedFinding> {
        let (report, found, has_generated_lookups) = self.evaluate(case);
        let finding = found.into_iter().find(|finding| key(finding) == *wanted)?;
        Some(GeneratedFinding {
            finding,
            report,
            object: case.object.clone(),
            namespace_labels: case.labels_of_namespace().cloned(),
            has_generated_lookups,
            others: Vec::new(),
        })
    }
}

/// The creations to evaluate.
struct Cases {
    cases: Vec<Case>,
    /// Whether there are more than [`MAX_PAIRS`].
    has_pairs_left_out: bool,
}

/// The creations for each policy, and for the pairs that touch the same fields of the same kind; each once.
fn cases(policies: &[Policy], creations: &Creations<'_>) -> Cases {
    let of_policies: Vec<Vec<Case>> = policies.par_iter().map(|policy| creations.of(policy)).collect();
    let mut pairs = pairs(policies, MAX_PAIRS + 1);
    let has_pairs_left_out = pairs.len() > MAX_PAIRS;
    pairs.truncate(MAX_PAIRS);
    let of_pair = |(pair, kinds): &([usize; 2], Vec<GroupVersionKind>)| {
        creations.of_pair(pair.map(|number| (&policies[number], &*of_policies[number])), kinds)
    };
    let of_pairs: Vec<Vec<Case>> = pairs.par_iter().map(of_pair).collect();
    let mut known = BTreeSet::new();
    let mut all: Vec<Case> = of_policies.iter().chain(&of_pairs).flatten().cloned().collect();
    all.retain(|case| known.insert(case.identity()));
    Cases { cases: all, has_pairs_left_out }
}

/// The numbers of policies for a common kind of which one writes what the other reads or writes, and the kinds; at most
/// so many.
fn pairs(policies: &[Policy], most: usize) -> Vec<([usize; 2], Vec<GroupVersionKind>)> {
    let kinds: Vec<Vec<GroupVersionKind>> =
        policies.iter().map(|policy| proof::kinds(std::slice::from_ref(policy))).collect();
    let mut found = Vec::new();
    for (number, one) in policies.iter().enumerate() {
        for (later, other) in policies.iter().enumerate().skip(number + 1) {
            if found.len() == most {
                return found;
            }
            let is_shared = |kind: &&GroupVersionKind| kinds[later].contains(kind);
            let shared: Vec<GroupVersionKind> = kinds[number].iter().filter(is_shared).cloned().collect();
            if !shared.is_empty() && (touches(one, other) || touches(other, one)) {
                found.push(([number, later], shared));
            }
        }
    }
    found
}

/// Whether the first policy may write what the second one may read or write.
fn touches(one: &Policy, other: &Policy) -> bool {
    let paths = |policy: &'_ Policy| {
        let parts = 0..policy.parts().len();
        parts.filter_map(|part| policy.paths(part).cloned()).collect::<Vec<_>>()
    };
    let of_other = paths(other);
    paths(one).iter().any(|rule| {
        of_other
            .iter()
            .any(|read| rule.writes.intersects(&read.reads) || rule.writes.intersects(&read.writes))
    })
}
