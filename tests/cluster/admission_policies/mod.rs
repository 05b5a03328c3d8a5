//! Mutating admission policies here and in a real API server. Runs when `KYV_REAL_PROGRAMS` is 1.
//!
//! Each policy is bound to a namespace of its own. Every object is created there with `dryRun`, and what this program
//! makes of it is created in a namespace without policies: both must be equal, or refused by both.

pub(crate) mod generator;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kyv::{Input, Mutator, Semantics};
use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::cel_policies::{list_of, spec};
use test_support::log;
use test_support::objects::differing_paths;
use test_support::rest::{Answer, Request, Rest};

use crate::controllers::sample_objects;
use crate::render::comparison::Outcome;

/// The namespace without policies.
const PLAIN: &str = "plain";

/// How many generated policies are compared: with `KYV_ALL_PAIRS`, and in every run.
const GENERATED: [usize; 2] = [170, 15];

/// Fewer would mean that something was not compared at all.
const MIN_WRITTEN: usize = 60;

/// How often a policy with disagreements is compared again: what comes late on a busy machine is none.
const ROUNDS: usize = 3;

const TIMEOUT: Duration = Duration::from_secs(120);

/// A policy as `policies.yaml` writes it.
pub(super) struct Policy {
    name: String,
    document: Value,
}

impl Policy {
    pub(super) fn new(written: &Value) -> Self {
        let name = written["name"].as_str().expect("a name").to_owned();
        let mut spec = spec(written);
        spec["reinvocationPolicy"] = json!("Never");
        let document = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": spec,
        });
        Self { name, document }
    }

    /// What binds it to the namespace of its name.
    fn binding(&self) -> Value {
        let selector = json!({"matchLabels": {"policy": self.name}});
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": self.name},
            "spec": {"policyName": self.name, "matchResources": {"namespaceSelector": selector}},
        })
    }

    /// The program with this policy; the error if it refuses it.
    fn mutator(&self) -> Result<Mutator, String> {
        let input = Input::text("policy.yaml", self.document.to_string());
        let labels = [("policy", &*self.name), ("kubernetes.io/metadata.name", &*self.name)];
        Mutator::builder()
            .policies(input)
            .semantics(Semantics::Kyverno)
            .namespace_labels(&self.name, labels)
            .build()
            .map_err(|error| error.to_string())
    }
}

#[test]
fn the_api_server_does_what_is_predicted() {
    if test_support::skip_without_real_programs("MutatingAdmissionPolicies in a real API server") {
        return;
    }
    let written = written();
    assert!(written.len() >= MIN_WRITTEN, "only {} policies", written.len());
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let generated = GENERATED[usize::from(!are_all)];
    let policies: Vec<Policy> = written
        .iter()
        .cloned()
        .chain(generator::policies(generated))
        .map(|written| Policy::new(&written))
        .collect();
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let objects = objects(&rest, are_all);
    let mut faults = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let accepted = install(&rest, &policies, &mut faults);
    for (policy, mutator) in &accepted {
        let mut found = Vec::new();
        for _ in 0..ROUNDS {
            let (count, disagreements) = compare(&rest, policy, mutator, &objects);
            found = disagreements;
            if found.is_empty() {
                count.into_iter().for_each(|(what, number)| *counts.entry(what).or_default() += number);
                break;
            }
        }
        faults.extend(found);
    }
    let refused = policies.len() - accepted.len();
    log(&format!(
        "{} policies, {refused} refused by both, {} objects: {counts:?}",
        policies.len(),
        objects.len()
    ));
    assert!(counts.get("changed").is_some_and(|changed| *changed > 0), "nothing was compared");
    assert!(counts.get("denied").is_some_and(|denied| *denied > 0), "nothing was denied");
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

/// The written policies.
pub(crate) fn written() -> Vec<Value> {
    list_of(include_str!("policies.yaml"))
}

/// Objects in namespaces that the API server takes.
fn objects(rest: &Rest, are_all: bool) -> Vec<Value> {
    rest.create(&namespace(PLAIN), "").expect("a namespace");
    let made =
        sample_objects::made().into_iter().filter(|object| object["metadata"]["namespace"].is_string());
    let mut all: Vec<Value> = made.map(|object| placed(&object, PLAIN)).collect();
    if are_all {
        let without_labels: Vec<Value> = all.iter().map(without_labels).collect();
        all.extend(without_labels);
    }
    let answers = send(rest, &all, "dryRun=All");
    let taken: Vec<Value> =
        all.into_iter().zip(answers).filter(|(_, answer)| answer.is_ok()).map(|(object, _)| object).collect();
    assert!(taken.len() >= 100, "only {} objects", taken.len());
    taken
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"policy": name}}})
}

fn without_labels(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object["metadata"].as_object_mut().expect("metadata");
    metadata.remove("labels");
    metadata.remove("annotations");
    let name = format!("{}-bare", metadata["name"].as_str().expect("a name"));
    metadata.insert("name".to_owned(), json!(name));
    object
}

fn placed(object: &Value, namespace: &str) -> Value {
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!(namespace);
    object
}

fn send(rest: &Rest, objects: &[Value], query: &str) -> Vec<Answer> {
    let request = |object: &Value| {
        let path = format!("{}?{query}", rest.collection(object)?);
        Ok(Request { method: "POST", path, body: Some(object.clone()) })
    };
    rest.ask_each(objects.iter().map(request).collect(), 2)
}

/// Installs the policies that neither side refuses, and waits until they are in force.
fn install<'p>(rest: &Rest, policies: &'p [Policy], faults: &mut Vec<String>) -> Vec<(&'p Policy, Mutator)> {
    let mut accepted = Vec::new();
    for policy in policies {
        rest.create(&namespace(&policy.name), "").expect("a namespace");
        let created = rest.create(&policy.document, "fieldValidation=Strict");
        match (created, policy.mutator()) {
            (Ok(_), Ok(mutator)) => {
                rest.create(&policy.binding(), "fieldValidation=Strict").expect("a binding");
                accepted.push((policy, mutator));
            }
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => faults.push(format!("{}: only we refuse it: {error}", policy.name)),
            (Err(refusal), Ok(_)) => {
                faults.push(format!("{}: only the API server refuses it: {}", policy.name, refusal.message));
            }
        }
    }
    // The server reads policies in the order in which they were stored.
    let last = Policy::new(&json!({"name": "zz-last", "mutations": [
        {"apply": "Object{metadata: Object.metadata{labels: {\"in\": \"force\"}}}"}]}));
    for object in [&namespace(&last.name), &last.document, &last.binding()] {
        rest.create(object, "").expect("the last policy is stored");
    }
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "namespace": last.name}});
    let start = Instant::now();
    loop {
        let answer = rest.create(&probe, "dryRun=All");
        if answer.is_ok_and(|object| object["metadata"]["labels"]["in"] == "force") {
            return accepted;
        }
        assert!(start.elapsed() < TIMEOUT, "the policies do not come into force");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Compares what both sides make of the objects. Returns how often what came out, and the disagreements.
fn compare(
    rest: &Rest,
    policy: &Policy,
    mutator: &Mutator,
    objects: &[Value],
) -> (BTreeMap<&'static str, usize>, Vec<String>) {
    let sent: Vec<Value> = objects.iter().map(|object| placed(object, &policy.name)).collect();
    let reports: Vec<_> =
        sent.iter().map(|object| mutator.mutate(&object.to_string()).expect("an object")).collect();
    let predicted: Vec<Value> = reports
        .iter()
        .map(|report| placed(&serde_json::from_str(&report.json()).expect("JSON"), PLAIN))
        .collect();
    let expected = send(rest, &predicted, "dryRun=All&fieldValidation=Strict");
    let held = send(rest, &sent, "dryRun=All");
    let (mut counts, mut faults) = (BTreeMap::new(), Vec::new());
    for (((object, report), expected), held) in sent.iter().zip(&reports).zip(expected).zip(held) {
        let name = format!("{}: {}/{}", policy.name, object["kind"], object["metadata"]["name"]);
        let what = match (report.has_errors(), &held) {
            (true, Err(_)) => "denied",
            (true, Ok(_)) => {
                let errors = report.rules().filter_map(|rule| match rule.outcome() {
                    kyv::Outcome::Error(error) => Some(error),
                    _ => None,
                });
                let errors: Vec<String> = errors.collect();
                faults.push(format!("{name}: only we refuse it: {}", errors.join("; ")));
                continue;
            }
            (false, _) => {
                let of = |answer: Answer| Outcome::of(answer.map(|object| placed(&object, PLAIN)), object);
                let (expected, held) = (of(expected), of(held));
                if !expected.is_like(&held) {
                    faults.push(format!("{name}: {}", difference(&expected, &held)));
                    continue;
                }
                match (report.is_changed(), &held) {
                    (_, Outcome::Refused(..) | Outcome::Denied(_)) => "refused by the server",
                    (true, Outcome::Held(_)) => "changed",
                    (false, Outcome::Held(_)) => "unchanged",
                }
            }
        };
        *counts.entry(what).or_default() += 1;
    }
    (counts, faults)
}

fn difference(expected: &Outcome, held: &Outcome) -> String {
    match (expected, held) {
        (Outcome::Held(expected), Outcome::Held(held)) => differing_paths(expected, held),
        _ => format!("we said {expected:?}, it is {held:?}"),
    }
}
