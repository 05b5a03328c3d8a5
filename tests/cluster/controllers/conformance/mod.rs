//! Predictions for live objects against what Kyverno's real admission controller then does. Runs when `KYV_REAL_PROGRAMS`
//! is 1, with the policies of the folder that `KYV_CONFORMANCE` names.
//!
//! The objects are stored with no policy installed. The program predicts what a policy makes of each, as an update and
//! as a creation, under both semantics. The predictions are sent to the API server while there still is no policy, so
//! that they carry the server's defaults. Then each policy is installed alone, the same objects are sent through the
//! real webhooks, and what the cluster answers and stores must be what was predicted.

mod predictions;
mod stored_objects;

use std::collections::BTreeMap;

use serde_json::Value;

use super::conformance_policies::{Folder, Policy};
use super::sample_objects;
use predictions::{BothSemantics, Operation, PredictedObjects, Types};
use stored_objects::{Answer, Key, Objects, held, remove, send};
use test_support::api_server::ApiServer;
use test_support::conformance_folder;
use test_support::kyverno::Kyverno;
use test_support::log;
use test_support::objects::{differing_paths, without_server_fields};
use test_support::policy_installer::PolicyInstaller;
use test_support::rest::{Refusal, Rest};

/// Fewer would mean that something was not compared at all.
const MIN_OBJECTS: usize = 200;
const MIN_POLICIES: usize = 30;

/// Of how many policies one is run, without `KYV_ALL_PAIRS`.
const STRIDE: usize = 2;

/// How often the objects are sent before a disagreement counts: what comes late on a busy machine is none.
const ROUNDS: usize = 4;

/// How often the cluster did what we said.
#[derive(Clone, Copy, Default)]
struct Count {
    pairs: usize,
    changed: usize,
    denied: usize,
    /// Pairs where the default semantics said something else and announced why.
    announced: usize,
}

impl Count {
    fn add(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.changed += other.changed;
        self.denied += other.denied;
        self.announced += other.announced;
    }
}

/// What is skipped without real programs and without Kyverno's policies.
const WHAT: &str = "Kyverno's policies against its controllers";

#[test]
fn conformance_policies_admit_as_predicted() {
    if test_support::skip_without_real_programs(WHAT) {
        return;
    }
    let Some(folder) = conformance_folder(WHAT) else { return };
    let folder = Folder::read(&folder);
    let policies: Vec<&Policy> =
        folder.policies.iter().filter(|policy| !policy.has_targets() && !policy.has_other_rules()).collect();
    assert!(policies.len() >= MIN_POLICIES, "only {} policies", policies.len());
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let policies: Vec<&Policy> = policies.into_iter().step_by(if are_all { 1 } else { STRIDE }).collect();

    let server = ApiServer::start();
    let stored = store(&server, &folder.objects);
    assert!(stored.len() >= MIN_OBJECTS, "only {} objects", stored.len());
    let types = Types::of(stored.values());
    let said: Vec<[BothSemantics; 2]> = policies
        .iter()
        .map(|policy| Operation::BOTH.map(|operation| BothSemantics::ask(&server, policy, operation, &types)))
        .collect();

    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    // Updates: nothing is ever stored but what is put back.
    let defaulted =
        defaults(&server, &["replace", "--dry-run=server"], said.iter().map(|[update, _]| update));
    let unchanged: Objects =
        stored.iter().map(|(key, object)| (key.clone(), without_server_fields(object))).collect();
    let _kyverno = Kyverno::start(&server);
    let rest = Rest::open(&server);
    let mut installer = PolicyInstaller::new(&rest);
    for ((policy, [update, _]), defaulted) in policies.iter().zip(&said).zip(&defaulted) {
        let installed = installer.install(std::slice::from_ref(&policy.value));
        if let Some(fault) = disagreement_about_loading(policy, update, installed.as_ref().err()) {
            faults.push(fault);
        }
        if installed.is_err() {
            continue;
        }
        let (count, disagreements) = last_of_rounds(&policy.origin, &mut installer, || {
            let answer = send(&server, &["replace", "--dry-run=server"], stored.values());
            compare(policy, Operation::Update, update, (&unchanged, defaulted), &answer)
        });
        counts.entry(&policy.origin).or_default().add(count);
        faults.extend(disagreements);
        rest.remove(&policy.value);
    }
    installer.settle_webhooks();

    // Creations: of all objects that can be removed and made again as they were.
    remove(
        &server,
        stored.iter().filter(|(_, object)| object["kind"] != "Namespace").map(|(_, object)| object),
    );
    let again = send(&server, &["create", "--dry-run=server"], unchanged.values());
    let creatable: Objects = unchanged
        .iter()
        .filter(|(key, object)| {
            again.objects.get(*key).is_some_and(|made| without_server_fields(made) == **object)
        })
        .map(|(key, object)| (key.clone(), object.clone()))
        .collect();
    log(&format!("{} objects; {} of them can be made again as they were", stored.len(), creatable.len()));
    let defaulted = defaults(&server, &["create", "--dry-run=server"], said.iter().map(|[_, create]| create));
    for ((policy, [_, create]), defaulted) in policies.iter().zip(&said).zip(&defaulted) {
        if installer.install(std::slice::from_ref(&policy.value)).is_err() {
            continue;
        }
        let (count, disagreements) = last_of_rounds(&policy.origin, &mut installer, || {
            let answer = send(&server, &["create"], creatable.values());
            let (count, mut found) =
                compare(policy, Operation::Create, create, (&creatable, defaulted), &answer);
            let holds = held(&server, &types.joined());
            for (key, object) in &answer.objects {
                if holds
                    .get(key)
                    .is_none_or(|held| without_server_fields(held) != without_server_fields(object))
                {
                    found.push(format!(
                        "{}: {key}: the cluster holds something else than it answered",
                        policy.origin
                    ));
                }
            }
            remove(&server, answer.objects.values());
            (count, found)
        });
        counts.entry(&policy.origin).or_default().add(count);
        faults.extend(disagreements);
        rest.remove(&policy.value);
    }

    let mut total = Count::default();
    for (origin, count) in &counts {
        log(&format!(
            "{origin}: {} pairs, {} changed, {} denied, {} announced",
            count.pairs, count.changed, count.denied, count.announced
        ));
        total.add(*count);
    }
    log(&format!(
        "{} policies: {} pairs, {} changed, {} denied, {} announced as differences of the default semantics",
        counts.len(),
        total.pairs,
        total.changed,
        total.denied,
        total.announced
    ));
    assert!(total.changed > 0 && total.denied > 0, "nothing was compared");
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

/// What the rounds with a policy in force gave, of which the last counts.
fn last_of_rounds(
    origin: &str,
    installer: &mut PolicyInstaller,
    mut round: impl FnMut() -> (Count, Vec<String>),
) -> (Count, Vec<String>) {
    for _ in 1..ROUNDS {
        installer.settle_webhooks();
        let (count, found) = round();
        if found.is_empty() {
            return (count, found);
        }
        log(&format!("{origin}: {} disagreements, asked again; the first: {}", found.len(), found[0]));
    }
    installer.settle_webhooks();
    round()
}

/// Stores the objects made here and those of the folder that the server takes; everything that it then holds
/// of their kinds, but what it made for itself.
fn store(server: &ApiServer, others: &[Value]) -> Objects {
    let namespaces = sample_objects::namespaces();
    send(server, &["create"], namespaces.iter());
    let made = send(server, &["create"], sample_objects::made().iter());
    assert!(made.messages.is_empty(), "the server refuses objects: {}", made.messages);
    // Namespaces that only others live in.
    let of_others = others.iter().filter_map(|object| object["metadata"]["namespace"].as_str());
    let of_others: Vec<Value> = of_others
        .map(|name| serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        .collect();
    send(server, &["create"], of_others.iter());
    let mut kept = send(server, &["create"], others.iter()).objects;
    kept.extend(made.objects);
    kept.extend(namespaces.iter().map(|namespace| (Key::of(namespace), namespace.clone())));
    let types = Types::of(kept.values());
    let mut holds = held(server, &types.joined());
    holds.retain(|key, _| kept.contains_key(key));
    holds
}

/// What the server makes of everything that we said, while no policy is installed.
fn defaults<'a>(
    server: &ApiServer,
    verb: &[&str],
    sides: impl Iterator<Item = &'a BothSemantics>,
) -> Vec<[Answer; 2]> {
    sides.map(|sides| sides.each().map(|said| send(server, verb, said.changed.values()))).collect()
}

fn disagreement_about_loading(
    policy: &Policy,
    sides: &BothSemantics,
    refusal: Option<&Refusal>,
) -> Option<String> {
    let ours = sides.kyverno.refused.as_ref();
    match (ours, refusal) {
        (Some(_), Some(_)) | (None, None) => None,
        (Some(ours), None) => Some(format!("{}: installed, but we refuse it: {ours}", policy.origin)),
        (None, Some(theirs)) => {
            Some(format!("{}: refused, but we take it: {}", policy.origin, theirs.message))
        }
    }
}

/// Holds what the cluster did to each object against what we said.
fn compare(
    policy: &Policy,
    operation: Operation,
    sides: &BothSemantics,
    (before, defaulted): (&Objects, &[Answer; 2]),
    answer: &Answer,
) -> (Count, Vec<String>) {
    let mut count = Count::default();
    let mut faults = Vec::new();
    for (key, object) in before {
        count.pairs += 1;
        let did = answer.objects.get(key).map(without_server_fields);
        count.changed += usize::from(did.as_ref().is_some_and(|did| did != object));
        count.denied += usize::from(did.is_none());
        let [documented, kyverno] = sides.each();
        let [by_document, by_kyverno] = defaulted;
        let of = |said: &PredictedObjects, defaulted: &Answer| expected(said, defaulted, key, object);
        if of(kyverno, by_kyverno) != did {
            faults.push(format!(
                "{}: {operation} {key}: {}",
                policy.origin,
                difference(of(kyverno, by_kyverno).as_ref(), did.as_ref(), answer.message(key))
            ));
        }
        if of(documented, by_document) != did {
            if documented.announced.contains(key) || documented.refused.is_some() {
                count.announced += 1;
            } else {
                faults.push(format!(
                    "{}: {operation} {key}: the default semantics differ and announce nothing",
                    policy.origin
                ));
            }
        }
    }
    (count, faults)
}

/// What the cluster should answer; `None` where it should deny the request.
fn expected(said: &PredictedObjects, defaulted: &Answer, key: &Key, before: &Value) -> Option<Value> {
    if said.failed.contains_key(key) {
        return None;
    }
    if said.changed.contains_key(key) {
        return defaulted.objects.get(key).map(without_server_fields);
    }
    Some(before.clone())
}

/// The first difference of two responses.
fn difference(said: Option<&Value>, did: Option<&Value>, message: &str) -> String {
    match (said, did) {
        (None, Some(_)) => "we said it is denied, but it was taken".into(),
        (Some(_), None) => format!("it was denied: {message}"),
        (Some(said), Some(did)) => differing_paths(said, did),
        (None, None) => "both are denied".into(),
    }
}
