//! Rules with targets against Kyverno's real controllers. Runs when `KYV_REAL_PROGRAMS` is 1; `KYV_CASES` is a text
//! that the names of the cases must contain.
//!
//! For each case of the corpus whose rules have targets the objects are stored with no policy installed. Our program
//! says of them, as the server holds them, what will become of the targets. Then the policy is installed, the
//! triggers are really sent, the background controller does its work, and what the cluster then holds must be what
//! was said.

#[path = "admission/case.rs"]
mod case;
#[path = "admission/ours.rs"]
mod ours;
mod rig;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};

use case::{Case, completed};
use ours::foretold;
use rig::apiserver::ApiServer;
use rig::force::Force;
use rig::kyverno::{Kyverno, say};
use rig::objects::{parting, without_bookkeeping};
use rig::rest::{Refusal, Rest};

/// Fewer would mean that something was not compared at all.
const LEAST_CASES: usize = 30;

/// Differences of which the outcome in a cluster is a matter of chance, or of the number of attempts.
const REPEATED: [&str; 2] = ["KYV-D18", "KYV-D40"];

/// Options that also say how a trigger is sent.
const OPTIONS: [&str; 5] = ["--operation", "CREATE", "UPDATE", "DELETE", "--on-policy-update"];

#[derive(Default)]
struct Count {
    objects: usize,
    changed: usize,
    refused: usize,
    repeated: BTreeSet<String>,
    not_taken: BTreeSet<String>,
}

#[test]
fn the_background_controller_does_what_we_say() {
    if rig::left_out("rules with targets against Kyverno's controllers") {
        return;
    }
    let start = Instant::now();
    let cases = Case::all();
    let with_targets = |case: &&Case| {
        let asked = case.options.iter().all(|option| OPTIONS.contains(&option.as_str()));
        // What was not given to our program is there in a cluster.
        let given = !case.errors.iter().any(|error| error.contains("is not given"));
        case.name.starts_with("targets/") && asked && given
    };
    let cases: Vec<&Case> = cases.iter().filter(with_targets).collect();
    assert!(cases.len() >= LEAST_CASES || std::env::var_os("KYV_CASES").is_some(), "too few cases");

    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let namespaces = case::make_namespaces(&rest, &cases);
    let _kyverno = Kyverno::start(&server);
    let mut stage = Stage { rest: &rest, force: Force::new(&rest), rounds: 0, namespaces };
    stage.make_round();
    let mut count = Count::default();
    let mut faults = Vec::new();
    for case in &cases {
        if let Err(fault) = stage.play(case, &mut count) {
            say(&format!("{}: {fault}", case.name));
            faults.push(format!("{}: {fault}", case.name));
        }
    }
    say(&format!(
        "{} cases, {:?}: {} objects compared, {} of them changed, {} policies refused as expected; repeated patches \
         as announced: {:?}; not taken by the server: {:?}",
        cases.len(),
        start.elapsed(),
        count.objects,
        count.changed,
        count.refused,
        count.repeated,
        count.not_taken
    ));
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

/// A cluster with Kyverno, between two cases.
struct Stage<'a> {
    rest: &'a Rest,
    force: Force<'a>,
    rounds: u32,
    namespaces: Vec<Value>,
}

impl Stage<'_> {
    fn play(&mut self, case: &Case, count: &mut Count) -> Result<(), String> {
        let all: Vec<Value> = case.inputs.iter().chain(&case.targets).cloned().map(completed).collect();
        for object in &all {
            if let Err(refusal) = self.rest.create(object, "fieldValidation=Ignore") {
                count.not_taken.insert(format!("{} ({})", case.name, refusal.message));
                all.iter().for_each(|object| self.rest.remove(object));
                return Ok(());
            }
        }
        let verdict = self.compare(case, &all, case.inputs.len(), count);
        case.policies.iter().for_each(|policy| self.rest.remove(policy));
        self.force.settle();
        self.drain();
        all.iter().for_each(|object| self.rest.remove(object));
        verdict
    }

    /// What the cluster makes of stored objects against what we say; the first of them are the triggers.
    fn compare(
        &mut self,
        case: &Case,
        all: &[Value],
        triggers: usize,
        count: &mut Count,
    ) -> Result<(), String> {
        let rest = self.rest;
        let stored: Vec<Value> = all.iter().map(|object| held(rest, object).unwrap_or_default()).collect();
        let (inputs, targets) = stored.split_at(triggers);
        let said = foretold(case, inputs, targets, &self.namespaces, key);
        let wanted = said.as_ref().map(|said| self.defaulted(&stored, said));
        match (self.force.install(&case.policies), &wanted) {
            (Err(_), Err(_)) => {
                count.refused += 1;
                return Ok(());
            }
            (Err(refusal), Ok(_)) => return Err(format!("refused, but we take it: {}", refusal.message)),
            (Ok(()), Err(ours)) => return Err(format!("installed, but we refuse it: {ours}")),
            (Ok(()), Ok(_)) => {}
        }
        let wanted = wanted.unwrap_or_default();
        if !case.options.iter().any(|option| option == "--on-policy-update") {
            for trigger in &stored[..triggers] {
                self.send(case, trigger).map_err(|refusal| refusal.message)?;
                self.drain();
            }
        } else {
            self.drain();
        }
        for (before, wanted) in stored.iter().zip(&wanted) {
            let did = held(rest, before);
            count.objects += 1;
            count.changed += usize::from(did.as_ref().is_some_and(|did| did != before));
            let deleted = case.options.iter().any(|option| option == "DELETE") && did.is_none();
            if deleted || did.as_ref() == Some(wanted) {
                continue;
            }
            let did = did.unwrap_or_default();
            let parting = parting(wanted, &did);
            if case.announced.iter().any(|number| REPEATED.contains(&number.as_str())) && &did != before {
                count.repeated.insert(format!("{} ({parting})", case.name));
                continue;
            }
            return Err(format!("{}: {parting}", before["metadata"]["name"]));
        }
        Ok(())
    }

    /// What the server makes of what we say; what it refuses stays as it was.
    fn defaulted(&self, stored: &[Value], said: &BTreeMap<String, Value>) -> Vec<Value> {
        let made = stored.iter().map(|before| {
            let Some(object) = said.get(&key(before)) else { return before.clone() };
            let answer = self.rest.replace(object, "dryRun=All&fieldValidation=Ignore");
            answer.map_or_else(|_| before.clone(), |object| without_bookkeeping(&object))
        });
        made.collect()
    }

    /// Sends a trigger, as it is held now.
    fn send(&self, case: &Case, trigger: &Value) -> Result<(), Refusal> {
        let Some(now) = held(self.rest, trigger) else { return Ok(()) };
        let says = |operation: &str| case.options.iter().any(|option| option == operation);
        if says("UPDATE") {
            return self.rest.replace(&now, "").map(drop);
        }
        self.rest.remove(trigger);
        if says("DELETE") {
            return Ok(());
        }
        self.rest.create(&now, "").map(drop)
    }

    /// A policy with a target that shows when everything before it was worked off.
    fn make_round(&mut self) {
        let policy = json!({
            "apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "zz-rig-round"},
            "spec": {"rules": [{
                "name": "round",
                "match": {"any": [{"resources": {"kinds": ["Lease"], "names": ["zz-rig-round"]}}]},
                "mutate": {
                    "targets": [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": "zz-rig-done",
                        "namespace": "default"}],
                    "patchStrategicMerge": {"spec": {"holderIdentity": "{{ request.object.spec.holderIdentity }}"}},
                },
            }]},
        });
        for name in ["zz-rig-round", "zz-rig-done"] {
            self.rest.create(&lease(name, "start"), "").expect("the server takes a lease");
        }
        self.force.install(&[policy]).expect("Kyverno takes the policy");
        self.drain();
    }

    /// Waits until the background controller has worked off every request: until one that came after is done, and
    /// none is left.
    fn drain(&mut self) {
        for _ in 0..2 {
            self.rounds += 1;
            let round = format!("r{}", self.rounds);
            self.rest.replace(&lease("zz-rig-round", &round), "").expect("the server takes a lease");
            self.force.wait("a target is changed", |rest| {
                let done = rest.get(&lease("zz-rig-done", "")).unwrap_or_default();
                done["spec"]["holderIdentity"] == round.as_str() && none_requested(rest)
            });
        }
    }
}

fn none_requested(rest: &Rest) -> bool {
    let requests = rest.ask("GET", "/apis/kyverno.io/v2/namespaces/kyverno/updaterequests", None);
    requests.is_ok_and(|requests| requests["items"].as_array().is_some_and(Vec::is_empty))
}

fn lease(name: &str, holder: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "default"}, "spec": {"holderIdentity": holder}})
}

/// What the cluster holds of an object.
fn held(rest: &Rest, object: &Value) -> Option<Value> {
    rest.get(object).ok().map(|object| without_bookkeeping(&object))
}

/// What tells an object from the others of a case.
fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"])
}
