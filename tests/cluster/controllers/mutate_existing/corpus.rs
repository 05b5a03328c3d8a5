//! The cases of the corpus whose rules have targets.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::Value;

use super::test_cluster::{TestCluster, key, stored_object};
use crate::controllers::corpus_case::{Case, completed, make_namespaces};
use crate::controllers::mutate_output::predict_targets;
use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::log;
use test_support::objects::{differing_paths, without_server_fields};
use test_support::rest::{Refusal, Rest};

/// Fewer would mean that something was not compared at all.
const MIN_CASES: usize = 30;

/// Differences of which the outcome in a cluster is random, or depends on the number of attempts.
const REPEATED: [&str; 2] = ["KYV-D18", "KYV-D40"];

/// Options that also say how a trigger is sent.
const OPTIONS: [&str; 5] = ["--operation", "CREATE", "UPDATE", "DELETE", "--on-policy-update"];

/// Our own messages where Kyverno refuses a policy, too, in other words.
const OWN_WORDS: [&str; 4] = [
    "did you mean `name`",
    "a namespaced policy can only have targets in its own namespace",
    "variable target.metadata.namespace is not known before a target is",
    "variable v is not known before a target is",
];

#[derive(Default)]
struct Count {
    objects: usize,
    changed: usize,
    refused: usize,
    failures: usize,
    repeated: BTreeSet<String>,
    not_taken: BTreeSet<String>,
}

#[test]
fn corpus_cases_mutate_existing_as_predicted() {
    if test_support::skip_without_real_programs("rules with targets against Kyverno's controllers") {
        return;
    }
    let start = Instant::now();
    let cases = Case::all();
    let with_targets = |case: &&Case| {
        let asked = case.options.iter().all(|option| OPTIONS.contains(&option.as_str()));
        // What was not given to our program is there in a cluster.
        let given = !case.errors.iter().any(|error| error.contains("there is no data for"));
        case.name.starts_with("targets/") && asked && given
    };
    let cases: Vec<&Case> = cases.iter().filter(with_targets).collect();
    assert!(cases.len() >= MIN_CASES || std::env::var_os("KYV_CASES").is_some(), "too few cases");

    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let namespaces = make_namespaces(&rest, &cases);
    let _kyverno = Kyverno::start(&server);
    let mut run = ControllerRun { cluster: TestCluster::new(&rest), namespaces };
    let mut count = Count::default();
    let mut faults = Vec::new();
    for case in &cases {
        if let Err(fault) = run.case(case, &mut count) {
            log(&format!("{}: {fault}", case.name));
            faults.push(format!("{}: {fault}", case.name));
        }
    }
    log(&format!(
        "{} cases, {:?}: {} objects compared, {} of them changed, {} policies refused as expected, {} failed requests \
         with our words; repeated patches as announced: {:?}; not taken by the server: {:?}",
        cases.len(),
        start.elapsed(),
        count.objects,
        count.changed,
        count.refused,
        count.failures,
        count.repeated,
        count.not_taken
    ));
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

struct ControllerRun<'a> {
    cluster: TestCluster<'a>,
    namespaces: Vec<Value>,
}

impl ControllerRun<'_> {
    fn case(&mut self, case: &Case, count: &mut Count) -> Result<(), String> {
        let all: Vec<Value> = case.inputs.iter().chain(&case.targets).cloned().map(completed).collect();
        for object in &all {
            if let Err(refusal) = self.cluster.rest.create(object, "fieldValidation=Ignore") {
                count.not_taken.insert(format!("{} ({})", case.name, refusal.message));
                all.iter().for_each(|object| self.cluster.rest.remove(object));
                return Ok(());
            }
        }
        let verdict = self.compare(case, &all, case.inputs.len(), count);
        case.policies.iter().for_each(|policy| self.cluster.rest.remove(policy));
        self.cluster.installer.settle();
        self.cluster.drain();
        all.iter().for_each(|object| self.cluster.rest.remove(object));
        verdict
    }

    /// Compares the stored objects of the cluster with the predicted ones; the first of them are the triggers.
    fn compare(
        &mut self,
        case: &Case,
        all: &[Value],
        triggers: usize,
        count: &mut Count,
    ) -> Result<(), String> {
        let rest = self.cluster.rest;
        let stored: Vec<Value> =
            all.iter().map(|object| stored_object(rest, object).unwrap_or_default()).collect();
        let (inputs, targets) = stored.split_at(triggers);
        let said = predict_targets(case, inputs, targets, &self.namespaces, key);
        let wanted = said.as_ref().map(|said| self.defaulted(&stored, &said.objects));
        drop(self.cluster.requests());
        match (self.cluster.install(&case.policies), &wanted) {
            (Err(refusal), Err(_)) => {
                count.refused += 1;
                let words = &refusal.message;
                let is_told = case.errors.iter().any(|error| {
                    let error = error.trim_start_matches("a cluster refuses this policy: ");
                    OWN_WORDS.contains(&error) || words.contains(error)
                });
                return is_told.then_some(()).ok_or_else(|| format!("refused with other words: {words}"));
            }
            (Err(refusal), Ok(_)) => return Err(format!("refused, but we take it: {}", refusal.message)),
            (Ok(()), Err(ours)) => return Err(format!("installed, but we refuse it: {ours}")),
            (Ok(()), Ok(_)) => {}
        }
        let (wanted, failures) =
            (wanted.unwrap_or_default(), said.map(|said| said.failures).unwrap_or_default());
        if !case.options.iter().any(|option| option == "--on-policy-update") {
            for trigger in &stored[..triggers] {
                self.send(case, trigger).map_err(|refusal| refusal.message)?;
                self.cluster.drain();
            }
        } else {
            self.cluster.drain();
        }
        for (before, wanted) in stored.iter().zip(&wanted) {
            let did = stored_object(rest, before);
            count.objects += 1;
            count.changed += usize::from(did.as_ref().is_some_and(|did| did != before));
            let deleted = case.options.iter().any(|option| option == "DELETE") && did.is_none();
            if deleted || did.as_ref() == Some(wanted) {
                continue;
            }
            let did = did.unwrap_or_default();
            let differing_paths = differing_paths(wanted, &did);
            if case.announced.iter().any(|number| REPEATED.contains(&number.as_str())) && &did != before {
                count.repeated.insert(format!("{} ({differing_paths})", case.name));
                continue;
            }
            return Err(format!("{}: {differing_paths}", before["metadata"]["name"]));
        }
        self.compare_failures(case, &failures, count)
    }

    /// The words of failed requests against ours: each says some of ours, and all of ours are said.
    fn compare_failures(&self, case: &Case, ours: &[String], count: &mut Count) -> Result<(), String> {
        let failed = self.cluster.requests().into_iter().filter(|request| request.state == "Failed");
        let mut theirs: BTreeSet<String> = failed.map(|request| request.message).collect();
        if case.announced.iter().any(|number| REPEATED.contains(&number.as_str())) {
            theirs.retain(|message| !message.contains("the object has been modified"));
        }
        count.failures += theirs.len();
        if let Some(other) = theirs.iter().find(|message| !is_made_of(message, ours)) {
            return Err(format!("a request failed with `{other}`, and we said {ours:?}"));
        }
        match ours.iter().find(|message| !theirs.iter().any(|other| other.contains(*message))) {
            Some(message) => Err(format!("no request failed with `{message}`, but with {theirs:?}")),
            None => Ok(()),
        }
    }

    /// The predicted objects with the defaults of the server; one that it refuses stays as it was.
    fn defaulted(&self, stored: &[Value], said: &BTreeMap<String, Value>) -> Vec<Value> {
        let made = stored.iter().map(|before| {
            let Some(object) = said.get(&key(before)) else { return before.clone() };
            let answer = self.cluster.rest.replace(object, "dryRun=All&fieldValidation=Ignore");
            answer.map_or_else(|_| before.clone(), |object| without_server_fields(&object))
        });
        made.collect()
    }

    /// Sends a trigger, as it is stored now.
    fn send(&self, case: &Case, trigger: &Value) -> Result<(), Refusal> {
        let Some(now) = stored_object(self.cluster.rest, trigger) else { return Ok(()) };
        let says = |operation: &str| case.options.iter().any(|option| option == operation);
        if says("UPDATE") {
            return self.cluster.rest.replace(&now, "").map(drop);
        }
        self.cluster.rest.remove(trigger);
        if says("DELETE") {
            return Ok(());
        }
        self.cluster.rest.create(&now, "").map(drop)
    }
}

/// Whether a message is made of nothing but some parts.
fn is_made_of(message: &str, parts: &[String]) -> bool {
    let mut rest = parts.iter().filter_map(|part| message.strip_prefix(part.as_str()));
    rest.any(|rest| rest.is_empty() || rest.strip_prefix("; ").is_some_and(|rest| is_made_of(rest, parts)))
}
