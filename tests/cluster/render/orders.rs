//! The order of policies: whether it is noted to matter exactly where it does.
//!
//! The policies of a set run one by one on the admitted view of an object, as they do in one request, in all orders.

use std::collections::{BTreeMap, BTreeSet};

use kyv::admission::{Admission, has_webhooks};
use kyv::value::{GroupVersionKind, Value};
use kyv::{Input, Mutator, Semantics, View};
use test_support::objects::differing_paths;

use super::cluster::Object;
use super::comparison::sort_tolerations;
use super::faults::{Counts, Faults};
use super::policy_sets::PolicySet;
use super::prediction::Prediction;
use super::program::Surroundings;

/// All orders of more policies are too many.
const MAX_POLICIES: usize = 6;

/// How policies leave an object: its manifest and the policies that fail.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Ending {
    manifest: String,
    failed: BTreeSet<usize>,
}

/// Evaluates all orders of the policies of a set, one policy after another.
pub(super) fn check(
    set: &PolicySet,
    (surroundings, definitions): (&Surroundings, &[serde_json::Value]),
    predictions: &[Prediction],
    counts: &mut Counts,
    faults: &mut Faults,
) {
    if set.policies.len() < 2 || set.policies.len() > MAX_POLICIES {
        return;
    }
    let mutators: Vec<Mutator> = set.policies.iter().map(|policy| mutator(policy, surroundings)).collect();
    let definitions: Vec<Value> = definitions.iter().map(value).collect();
    let admission = Admission::with_crds(&definitions);
    let half = predictions.len().div_ceil(2);
    let found: Vec<(&Object, String)> = std::thread::scope(|scope| {
        let parts: Vec<_> = predictions
            .chunks(half.max(1))
            .map(|part| {
                let (mutators, admission) = (&mutators, &admission);
                scope.spawn(move || {
                    let mut orders = Orders { mutators, admission, known: BTreeMap::new() };
                    part.iter()
                        .filter_map(|prediction| Some((prediction.object, orders.fault(prediction)?)))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("the thread ends")).collect()
    });
    counts.all_orders += predictions.len();
    found.into_iter().for_each(|(object, fault)| faults.add(object, fault));
}

fn mutator(policy: &serde_json::Value, surroundings: &Surroundings) -> Mutator {
    let file = |name: &str| Input::path(surroundings.file(name));
    let builder = Mutator::builder().policies(Input::text("policy", policy.to_string()));
    let builder = builder
        .semantics(Semantics::Kyverno)
        .view(View::Written)
        .user_info(file("user.yaml"))
        .values(file("values.yaml"));
    builder
        .crds(file("crds.yaml"))
        .context_objects(file("context.yaml"))
        .build()
        .expect("the program takes it")
}

struct Orders<'a> {
    mutators: &'a [Mutator],
    admission: &'a Admission,
    /// What a policy makes of a manifest, and whether it fails.
    known: BTreeMap<(usize, String), (String, bool)>,
}

impl Orders<'_> {
    /// What is wrong with the note, or its absence, for an object.
    fn fault(&mut self, prediction: &Prediction) -> Option<String> {
        self.known.clear();
        let written = value(&prediction.object.written);
        if !has_webhooks(&GroupVersionKind::of(&written)?) {
            return None;
        }
        let manifest = self.view(written).to_json();
        let begin = Ending { manifest, failed: BTreeSet::new() };
        let numbers: Vec<usize> = (0..self.mutators.len()).collect();
        let ending = numbers.iter().fold(begin.clone(), |ending, number| self.run(*number, ending));
        let printed = prediction.printed.as_ref().unwrap_or(&prediction.object.written);
        let (alone, together) = (self.held(&ending.manifest), self.held(&printed.to_string()));
        if prediction.error.is_none() && alone != together {
            return Some(format!("one policy after another: {}", differing_paths(&alone, &together)));
        }
        let mut by_policies = BTreeMap::from([(BTreeSet::<usize>::new(), BTreeSet::from([begin]))]);
        for _ in &numbers {
            let mut next: BTreeMap<BTreeSet<usize>, BTreeSet<Ending>> = BTreeMap::new();
            for (done, endings) in by_policies {
                for number in numbers.iter().filter(|number| !done.contains(*number)) {
                    let reached = next.entry(done.iter().copied().chain([*number]).collect()).or_default();
                    reached.extend(endings.iter().map(|ending| self.run(*number, ending.clone())));
                }
            }
            by_policies = next;
        }
        let endings: BTreeSet<Ending> = by_policies.into_values().flatten().collect();
        let other = endings
            .iter()
            .map(|other| (&other.failed, self.held(&other.manifest)))
            .find(|(failed, object)| **failed != ending.failed || *object != alone);
        match (other, prediction.depends_on_order) {
            (Some((failed, object)), false) => {
                let paths = differing_paths(&alone, &object);
                Some(format!("the order matters, which is not noted: {:?} {failed:?} {paths}", ending.failed))
            }
            (None, true) => Some("the order is noted to matter, and does not".to_owned()),
            _ => None,
        }
    }

    fn run(&mut self, number: usize, ending: Ending) -> Ending {
        let Ending { manifest, mut failed } = ending;
        let known = self.known.entry((number, manifest)).or_insert_with_key(|(number, manifest)| {
            let report = self.mutators[*number].mutate(manifest).expect("an object");
            (report.json(), report.has_errors())
        });
        if known.1 {
            failed.insert(number);
        }
        Ending { manifest: known.0.clone(), failed }
    }

    /// The object as webhooks get it, where that is known.
    fn view(&self, object: Value) -> Value {
        let kind = GroupVersionKind::of(&object).expect("a kind");
        self.admission.view(&object, &kind).unwrap_or(object)
    }

    /// The object as the server holds it.
    fn held(&self, manifest: &str) -> serde_json::Value {
        let view = self.view(Value::from_json(manifest).expect("an object"));
        let mut held = serde_json::from_str(&view.to_json()).expect("JSON");
        sort_tolerations(&mut held);
        held
    }
}

fn value(object: &serde_json::Value) -> Value {
    Value::from_json(&object.to_string()).expect("an object")
}
