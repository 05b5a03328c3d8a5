//! `MutatingPolicies` here and in Kyverno's real admission controller. Runs when `KYV_REAL_PROGRAMS` is 1; with the policies
//! of the folder that `KYV_CONFORMANCE` names, too.
//!
//! The policies of each case act on a namespace of their own. Every object is sent there with `dryRun`, and what this
//! program makes of it is sent to a namespace without policies: both must be equal, or refused by both. Where
//! `--semantics documented` has another result, it announces a divergence.

mod cli;
mod objects;
mod policies;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kyv::{Mutator, Report, Semantics};
use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::objects::differing_paths;
use test_support::rest::{Answer, Rest};
use test_support::{conformance_folder, log};

use crate::apply::widgets;
use crate::render::comparison::Outcome;
use objects::{PLAIN, Sample, namespace, send};
use policies::Case;

/// How many generated policies are compared: with `KYV_ALL_PAIRS`, and in every run.
const GENERATED: [usize; 2] = [120, 15];

/// Of how many cases one is compared, without `KYV_ALL_PAIRS`.
const SAMPLED: usize = 3;

/// Of how many objects one is sent, without `KYV_ALL_PAIRS`.
const STRIDE: usize = 4;

/// Fewer would mean that something was not compared at all.
const MIN_WRITTEN: usize = 180;

/// How often a case with disagreements is compared again: what comes late on a busy machine is none.
const ROUNDS: usize = 3;

const TIMEOUT: Duration = Duration::from_secs(180);

#[test]
fn kyverno_does_what_is_predicted() {
    const WHAT: &str = "MutatingPolicies in Kyverno's admission controller";
    if test_support::skip_without_real_programs(WHAT) {
        return;
    }
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let mut cases = policies::written();
    assert!(cases.len() >= MIN_WRITTEN, "only {} written policies", cases.len());
    cases.extend(policies::generated(GENERATED[usize::from(!are_all)]));
    cases.extend(conformance_folder(WHAT).iter().flat_map(|folder| policies::catalogue(folder)));
    let wanted = std::env::var("KYV_CASES").unwrap_or_default();
    cases.retain(|case| case.name.contains(&wanted));
    if !are_all && wanted.is_empty() {
        let mut number = 0;
        cases.retain(|_| {
            number += 1;
            number % SAMPLED == 0
        });
    }

    let start = Instant::now();
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let definition: Value = serde_json::from_str(&widgets::definition().to_json()).expect("JSON");
    rest.create(&definition, "").expect("a definition");
    let mut faults = Vec::new();
    let mut predictions: Vec<Predicted> = Vec::new();
    let samples = objects::samples(&rest);
    for (number, case) in cases.iter().enumerate() {
        let own =
            samples.iter().enumerate().filter(|(index, _)| are_all || index % STRIDE == number % STRIDE);
        let own: Vec<&Sample> = own.map(|(_, sample)| sample).collect();
        predictions.push(Predicted::new(&rest, case, own, &definition));
    }
    log(&format!("predicted after {:?}", start.elapsed()));
    let _kyverno = Kyverno::start(&server);
    predictions.retain(|predicted| predicted.is_installed(&rest, &mut faults));
    settle(&rest);
    log(&format!("in force after {:?}", start.elapsed()));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for predicted in &predictions {
        let mut found = Vec::new();
        for round in 0..ROUNDS {
            let (count, disagreements) = predicted.compare(&rest);
            found = disagreements;
            if found.is_empty() || round + 1 == ROUNDS {
                count.into_iter().for_each(|(what, number)| *counts.entry(what).or_default() += number);
                break;
            }
        }
        if let Some(first) = found.first() {
            log(&format!("{} disagreements, the first: {first}", found.len()));
        }
        faults.extend(found);
    }
    log(&format!(
        "{} cases, {} of them accepted, {} objects: {counts:?}",
        cases.len(),
        predictions.len(),
        samples.len()
    ));
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
    assert!(counts.get("changed").is_some_and(|changed| *changed > 0), "nothing was compared");
    assert!(counts.get("denied").is_some_and(|denied| *denied > 0), "nothing was denied");
}

/// A case with what this program says of objects.
struct Predicted<'a> {
    case: &'a Case,
    samples: Vec<&'a Sample>,
    /// By semantics: the predictions in the order of the samples, or why a policy is refused.
    kyverno: Result<Vec<Prediction>, String>,
    documented: Result<Vec<Prediction>, String>,
}

/// What becomes of an object.
struct Prediction {
    outcome: Outcome,
    is_changed: bool,
    divergences: Vec<String>,
}

impl<'a> Predicted<'a> {
    fn new(rest: &Rest, case: &'a Case, samples: Vec<&'a Sample>, definition: &Value) -> Self {
        rest.create(&namespace(&case.name, &case.labels), "").expect("a namespace");
        rest.create(&case.config_map(), "").expect("a ConfigMap");
        let stored: Vec<Value> =
            samples.iter().filter_map(|sample| sample.stored(&case.name, &case.labels)).collect();
        for object in &stored {
            rest.create(object, "").unwrap_or_else(|refusal| panic!("{object}: {refusal:?}"));
        }
        let predict = |semantics| {
            let mutator = case.mutator(semantics, definition).map_err(|error| error.to_string())?;
            Ok(predictions(rest, case, &mutator, &samples))
        };
        let (kyverno, documented) = (predict(Semantics::Kyverno), predict(Semantics::Documented));
        Self { case, samples, kyverno, documented }
    }

    /// Installs the policies, if neither side refuses them.
    fn is_installed(&self, rest: &Rest, faults: &mut Vec<String>) -> bool {
        let all = self.case.exceptions.iter().chain(&self.case.policies);
        let created: Result<Vec<Value>, _> =
            all.map(|document| rest.create(document, "fieldValidation=Strict")).collect();
        let name = &self.case.name;
        match (created, &self.kyverno) {
            (Ok(_), Ok(_)) => return true,
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => faults.push(format!("{name}: only we refuse it: {error}")),
            (Err(refusal), Ok(_)) => {
                faults.push(format!("{name}: only Kyverno refuses it: {}", refusal.message));
            }
        }
        false
    }

    /// Compares what both sides make of the objects. Returns how often what came out, and the disagreements.
    fn compare(&self, rest: &Rest) -> (BTreeMap<&'static str, usize>, Vec<String>) {
        let Ok(kyverno) = &self.kyverno else { return Default::default() };
        let sent: Vec<_> =
            self.samples.iter().map(|sample| sample.request(&self.case.name, &self.case.labels)).collect();
        let held = send(rest, &sent);
        let (mut counts, mut faults) = (BTreeMap::new(), Vec::new());
        for (index, (sample, held)) in self.samples.iter().zip(held).enumerate() {
            let name = format!("{}: {}", self.case.name, sample.name());
            let prediction = &kyverno[index];
            let held = outcome(held, sample, &self.case.labels);
            if !is_like(&prediction.outcome, &held) {
                faults.push(format!("{name}: {}", difference(&prediction.outcome, &held)));
                continue;
            }
            let documented = self.documented.as_ref().ok().map(|all| &all[index]);
            let is_same = documented.is_some_and(|documented| is_like(&documented.outcome, &held));
            let divergences = documented.map(|documented| &documented.divergences);
            if divergences.is_some_and(|all| all.is_empty() && !is_same) {
                faults.push(format!("{name}: the default semantics differ and announce nothing"));
            }
            *counts.entry("announced").or_default() += usize::from(!is_same);
            let what = match &held {
                Outcome::Denied(_) => "denied",
                Outcome::Refused(..) => "refused by the server",
                Outcome::Held(_) if prediction.is_changed => "changed",
                Outcome::Held(_) => "unchanged",
            };
            *counts.entry(what).or_default() += 1;
        }
        (counts, faults)
    }
}

/// What this program makes of objects, after the API server has set defaults.
fn predictions(rest: &Rest, case: &Case, mutator: &Mutator, samples: &[&Sample]) -> Vec<Prediction> {
    let reports: Vec<Report> = samples.iter().map(|sample| sample.mutate(mutator, case)).collect();
    let changed: Vec<usize> = (0..samples.len())
        .filter(|index| reports[*index].is_changed() && !reports[*index].has_errors())
        .collect();
    let requests: Vec<_> = changed
        .iter()
        .map(|index| {
            let after = serde_json::from_str(&reports[*index].json()).expect("JSON");
            samples[*index].request_of(after, PLAIN, &BTreeMap::new())
        })
        .collect();
    let mut answers: BTreeMap<usize, Answer> = changed.into_iter().zip(send(rest, &requests)).collect();
    let prediction = |(index, (sample, report)): (usize, (&&Sample, &Report))| {
        let errors = report.rules().filter_map(|rule| match rule.outcome() {
            kyv::Outcome::Error(error) => Some(error),
            _ => None,
        });
        let errors: Vec<String> = errors.collect();
        let outcome = if errors.is_empty() {
            outcome(
                answers.remove(&index).unwrap_or_else(|| sample.plain_answer.clone()),
                sample,
                &case.labels,
            )
        } else {
            Outcome::Denied(errors.join("; "))
        };
        Prediction { outcome, is_changed: report.is_changed(), divergences: report.divergences() }
    };
    samples.iter().zip(&reports).enumerate().map(prediction).collect()
}

/// An answer without what is the case's own: the namespace, and its labels where the object is one.
fn outcome(answer: Answer, sample: &Sample, labels: &BTreeMap<String, String>) -> Outcome {
    let without_case = |mut object: Value| {
        let is_namespace = object["kind"] == "Namespace";
        if let Some(own) = object["metadata"]["labels"].as_object_mut().filter(|_| is_namespace) {
            own.retain(|name, _| !labels.contains_key(name));
        }
        objects::placed(&object, PLAIN, &BTreeMap::new())
    };
    Outcome::of(answer.map(without_case), &sample.object)
}

/// A request is also denied by the conditions that the API server evaluates for a webhook, when the webhook panics, when
/// the patch cannot be applied, and when its result is not of the kind that it names.
fn is_like(predicted: &Outcome, held: &Outcome) -> bool {
    match (predicted, held) {
        (Outcome::Denied(_), Outcome::Refused(403 | 500, message)) => {
            const OTHER_KIND: [&str; 2] = ["unknown conversion", "is registered for version"];
            let words = ["resulted in error", "INTERNAL_ERROR", "illegal base64 data"];
            OTHER_KIND.iter().chain(&words).any(|words| message.contains(words))
        }
        _ => predicted.is_like(held),
    }
}

fn difference(predicted: &Outcome, held: &Outcome) -> String {
    match (predicted, held) {
        (Outcome::Held(predicted), Outcome::Held(held)) => differing_paths(predicted, held),
        _ => format!("we said {predicted:?}, it is {held:?}"),
    }
}

/// Waits until the policies are in force: until a later one is.
fn settle(rest: &Rest) {
    let last = Case::last();
    rest.create(&namespace(&last.name, &last.labels), "").expect("a namespace");
    rest.create(&last.policies[0], "").expect("the last policy");
    let probe = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "namespace": last.name}});
    let start = Instant::now();
    loop {
        let answer = rest.create(&probe, "dryRun=All");
        if answer.is_ok_and(|object| object["metadata"]["labels"]["in"] == "force") {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "the policies do not come into force");
        std::thread::sleep(Duration::from_millis(100));
    }
}
