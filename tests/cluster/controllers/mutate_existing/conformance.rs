//! The policies of the conformance folder whose rules have targets.
//!
//! Each of their triggers is updated, removed and made again; everything that is stored is then compared with what was
//! predicted for that one trigger before there was a policy. What is predicted to trigger nothing is sent all at once.

use std::collections::BTreeMap;

use serde_json::Value;

use super::objects;
use super::predictions::{Event, Operation, PredictedObjects, Prediction};
use super::test_cluster::{BACKGROUND, TestCluster, key, stored_object};
use crate::controllers::conformance_policies::{Folder, Policy};
use test_support::api_server::ApiServer;
use test_support::conformance_folder;
use test_support::kyverno::Kyverno;
use test_support::log;
use test_support::objects::{differing_paths, without_server_fields};
use test_support::rest::Rest;

/// Fewer would mean that something was not compared at all. Two of the folder's policies are word for word the same,
/// and are played once.
const MIN_POLICIES: usize = 3;
const MIN_OBJECTS: usize = 200;

/// Objects by what tells them apart.
type Objects = BTreeMap<String, Value>;

#[derive(Default)]
struct Count {
    pairs: usize,
    triggering: usize,
    objects: usize,
    changed: usize,
    announced: usize,
}

/// What is skipped without real programs and without Kyverno's policies.
const WHAT: &str = "Kyverno's policies with targets against its controllers";

#[test]
fn conformance_policies_mutate_existing_as_predicted() {
    if test_support::skip_without_real_programs(WHAT) {
        return;
    }
    let Some(folder) = conformance_folder(WHAT) else { return };
    let folder = Folder::read(&folder);
    let policies: Vec<&Policy> = folder.policies.iter().filter(|policy| policy.has_targets()).collect();
    assert!(policies.len() >= MIN_POLICIES, "only {} policies", policies.len());

    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let quiet = Rest::open_as(&server, BACKGROUND);
    let mut run = ControllerRun::prepare((&rest, &quiet), objects::objects_for(&policies), &folder.objects);
    let predictions: Vec<Prediction> =
        policies.iter().map(|policy| Prediction::ask(&server, policy, &run.stored)).collect();
    run.default(&predictions);

    let _kyverno = Kyverno::start(&server);
    let mut cluster = TestCluster::new(&rest);
    let mut faults = Vec::new();
    for (policy, predictions) in policies.iter().zip(&predictions) {
        let mut count = Count::default();
        let before = faults.len();
        run.policy(policy, predictions, &mut cluster, &mut count, &mut faults);
        log(&format!(
            "{}: {} pairs of trigger and operation, {} of them triggering; {} objects compared, {} changed, {} announced as \
             differences of the default semantics, {} disagreements",
            policy.origin,
            count.pairs,
            count.triggering,
            count.objects,
            count.changed,
            count.announced,
            faults.len() - before
        ));
        assert!(count.changed > 0, "{} changed nothing: nothing was compared", policy.origin);
    }
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

struct ControllerRun<'a> {
    rest: &'a Rest,
    /// The same as the background controller, whose requests are no events.
    quiet: &'a Rest,
    stored: Objects,
    /// Those that can be removed and made again as they were.
    again: Objects,
    /// What the server makes of what we said, by its text.
    defaulted: BTreeMap<String, Value>,
}

impl<'a> ControllerRun<'a> {
    /// Stores the objects, and those of others that the server takes.
    fn prepare((rest, quiet): (&'a Rest, &'a Rest), objects: Vec<Value>, others: &[Value]) -> Self {
        let mut stored = Objects::new();
        for (index, object) in objects.iter().chain(others).enumerate() {
            // Namespaces may be there already.
            let made = rest.create(object, "");
            match stored_object(rest, object) {
                Some(stored_object) => drop(stored.insert(key(&stored_object), stored_object)),
                None => assert!(index >= objects.len(), "{} is not taken: {made:?}", key(object)),
            }
        }
        let mut run = Self { rest, quiet, stored, again: Objects::new(), defaulted: BTreeMap::new() };
        for object in run.stored.values() {
            rest.remove(object);
            drop(rest.create(object, ""));
        }
        let made = run.holds();
        run.again = run.stored.clone();
        run.again.retain(|key, object| made.get(key) == Some(object));
        run.stored = made;
        assert!(run.stored.len() >= MIN_OBJECTS, "only {} objects", run.stored.len());
        log(&format!(
            "{} objects; {} of them can be made again as they were",
            run.stored.len(),
            run.again.len()
        ));
        run
    }

    /// The stored objects that the cluster has now.
    fn holds(&self) -> Objects {
        let kinds: BTreeMap<String, &Value> = self
            .stored
            .values()
            .map(|object| (format!("{} {}", object["apiVersion"], object["kind"]), object))
            .collect();
        let lists =
            kinds.values().map(|object| self.rest.list(object).expect("a kind that is stored is listed"));
        let objects = lists.flatten().map(|object| (key(&object), without_server_fields(&object)));
        objects.filter(|(key, _)| self.stored.contains_key(key)).collect()
    }

    /// Asks the server what it makes of everything that we said.
    fn default(&mut self, predictions: &[Prediction]) {
        for said in predictions.iter().flat_map(Prediction::all) {
            for (key, object) in &said.changed {
                let answer = self.rest.replace(object, "dryRun=All&fieldValidation=Ignore");
                let made = answer.map(|object| without_server_fields(&object));
                let made = made.unwrap_or_else(|_| self.stored[key].clone());
                self.defaulted.insert(object.to_string(), made);
            }
        }
    }

    fn policy(
        &self,
        policy: &Policy,
        predictions: &Prediction,
        cluster: &mut TestCluster<'_>,
        count: &mut Count,
        faults: &mut Vec<String>,
    ) {
        if let Err(refusal) = cluster.install(std::slice::from_ref(&policy.value)) {
            faults.push(format!("{}: refused, but we take it: {}", policy.origin, refusal.message));
            return;
        }
        cluster.drain();
        let mut compare = |event: &Event, gone: &Objects, count: &mut Count| {
            self.compare(policy, event, predictions.of(event), gone, count, faults);
        };
        let none = Objects::new();
        compare(&Event::Policy, &none, count);
        self.restore();

        for operation in Operation::ALL {
            // What cannot come or go cannot do so either.
            let all = if operation == Operation::Update { &self.stored } else { &self.again };
            let (triggers, others): (Objects, Objects) =
                all.clone().into_iter().partition(|(key, _)| predictions.is_trigger(operation, key));
            count.pairs += all.len();
            count.triggering += triggers.len();

            for trigger in triggers.values() {
                // A dry run is no event.
                self.send(operation, trigger, "dryRun=All");
            }
            // What lives in a namespace goes before it.
            namespaces_first(&others).into_iter().rev().for_each(|object| self.send(operation, object, ""));
            cluster.drain();
            let gone = if operation == Operation::Delete { &others } else { &none };
            compare(&Event::Idle, gone, count);
            self.restore();

            for (key, trigger) in &triggers {
                self.send(operation, trigger, "");
                cluster.drain();
                let gone = Objects::from([(key.clone(), trigger.clone())]);
                let gone = if operation == Operation::Delete { &gone } else { &none };
                compare(&Event::Request(operation, key.clone()), gone, count);
                self.restore();
            }
        }
        self.rest.remove(&policy.value);
        cluster.installer.settle();
        cluster.drain();
    }

    /// Holds what the cluster has against what we said that it would.
    fn compare(
        &self,
        policy: &Policy,
        event: &Event,
        [documented, kyverno]: [&PredictedObjects; 2],
        gone: &Objects,
        count: &mut Count,
        faults: &mut Vec<String>,
    ) {
        let holds = self.holds();
        for (key, before) in &self.stored {
            if gone.contains_key(key) {
                continue;
            }
            let did = holds.get(key).cloned().unwrap_or_default();
            count.objects += 1;
            count.changed += usize::from(did != *before);
            let expected = self.expected(kyverno, key, before);
            if *expected != did {
                faults.push(format!(
                    "{}: {event}: {key}: {}",
                    policy.origin,
                    differing_paths(expected, &did)
                ));
            }
            if *self.expected(documented, key, before) != did {
                if documented.announced.is_empty() {
                    faults.push(format!(
                        "{}: {event}: {key}: the default semantics differ silently",
                        policy.origin
                    ));
                } else {
                    count.announced += 1;
                }
            }
        }
    }

    fn expected<'b>(&'b self, said: &PredictedObjects, key: &str, before: &'b Value) -> &'b Value {
        said.changed.get(key).map_or(before, |object| &self.defaulted[&object.to_string()])
    }

    fn send(&self, operation: Operation, object: &Value, query: &str) {
        let is_dry = !query.is_empty();
        match operation {
            Operation::Update => drop(self.rest.replace(object, query)),
            // An object that is there cannot be made, and none is removed for a dry run.
            Operation::Create | Operation::Delete if is_dry => {}
            Operation::Delete => self.rest.remove(object),
            Operation::Create => {
                self.rest.remove(object);
                self.rest.create(object, "").map(drop).unwrap_or_else(|refusal| {
                    panic!("{} cannot be made again: {}", key(object), refusal.message)
                });
            }
        }
    }

    /// Brings everything back as it was.
    fn restore(&self) {
        let holds = self.holds();
        for object in namespaces_first(&self.stored) {
            let key = key(object);
            let done = match holds.get(&key) {
                None => self.quiet.create(object, ""),
                Some(stored_object) if stored_object != object => self.quiet.replace(object, ""),
                Some(_) => continue,
            };
            if let Err(refusal) = done {
                panic!("{key} cannot be brought back: {}", refusal.message);
            }
        }
    }
}

fn namespaces_first(objects: &Objects) -> Vec<&Value> {
    let (mut namespaces, others): (Vec<_>, Vec<_>) =
        objects.values().partition(|object| object["kind"] == "Namespace");
    namespaces.extend(others);
    namespaces
}
