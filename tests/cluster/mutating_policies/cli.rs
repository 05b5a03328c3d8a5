//! The same policies in the Kyverno CLI, which sees manifests as they are: one run for each case.
//!
//! The CLI is no controller. Where it does something else than the admission controller, the case is in [`DEPARTURES`],
//! with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::yaml::{Limits, Source, read};
use kyv::{Outcome, Report, Semantics, View};
use serde_json::{Value, json};
use test_support::kyverno_cli::artefacts::with_whole_numbers;
use test_support::objects::differing_paths;
use test_support::{log, tool};

use super::objects;
use super::policies::{self, Case};
use crate::apply::widgets;

/// Of how many cases one is run, without `KYV_ALL_PAIRS`.
const STRIDE: usize = 12;

/// Of how many objects one is in a run.
const OBJECTS: usize = 5;

/// Where the CLI is not like the admission controller: how the names of cases begin, and why.
const DEPARTURES: &[(&str, &str)] = &[
    ("another-group-by-a-patch", "the API server refuses other groups, the CLI prints them"),
    ("another-kind", "the API server refuses other kinds, the CLI prints them"),
    ("another-served-version-by-a-patch", "the API server refuses other groups, the CLI prints them"),
    ("both-failure-policies", "the CLI has no webhooks"),
    ("exempt-expired", "the CLI does not look at `expiresAt`"),
    ("namespaces", "requests for namespaces have no namespace in the CLI"),
    ("old-object-in-a-condition-of-the-webhook", "no API server evaluates conditions before the CLI"),
    ("old-object-is-empty-for-the-webhook", "no API server evaluates conditions before the CLI"),
    ("refused-both-modes-off", "the CLI checks nothing but expressions"),
    ("refused-duplicate-conditions", "the CLI checks nothing but expressions"),
    ("refused-http-in-a-namespace", "the CLI checks nothing but expressions"),
    ("renamed", "the results are found by name here"),
    ("what-a-request-has", "the CLI has no options in requests"),
    ("with-targets", "the CLI mutates triggers as other objects"),
    ("without-admission", "the CLI mutates triggers as other objects"),
];

/// How expressions count with integers, which are doubles in the CLI: an error there.
const ARITHMETIC: [&str; 2] = ["spec.replicas + 1", "spec.replicas * 2"];

#[test]
fn the_kyverno_cli_does_what_is_predicted() {
    if test_support::skip_without_real_programs("MutatingPolicies in the Kyverno CLI") {
        return;
    }
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let mut cases = policies::written();
    cases.extend(policies::generated(if are_all { 60 } else { 12 }));
    let wanted = std::env::var("KYV_CASES").unwrap_or_default();
    cases.retain(|case| case.name.contains(&wanted));
    let is_departure = |case: &Case| DEPARTURES.iter().any(|(name, _)| case.name.starts_with(name));
    let left_out = cases.iter().filter(|case| is_departure(case)).count();
    cases.retain(|case| !is_departure(case));
    let is_run = |number: usize| are_all || !wanted.is_empty() || number.is_multiple_of(STRIDE);
    let (cli, all) = (tool("kyverno"), objects::manifests());
    let definition: Value = serde_json::from_str(&widgets::definition().to_json()).expect("JSON");
    let (mut faults, mut counts) = (Vec::new(), BTreeMap::new());
    for (number, case) in cases.iter().enumerate().filter(|(number, _)| is_run(*number)) {
        let objects = all.iter().enumerate().filter(|(index, _)| index % OBJECTS == number % OBJECTS);
        let objects: Vec<Value> =
            objects.map(|(_, object)| objects::placed(object, &case.name, &case.labels)).collect();
        let objects: Vec<Value> = objects.into_iter().map(without_embedded_object).collect();
        let before = faults.len();
        compare(&cli, case, &objects, &definition, &mut counts, &mut faults);
        if let Some(first) = faults.get(before) {
            log(&format!("{} disagreements, the first: {first}", faults.len() - before));
        }
    }
    log(&format!("{} cases, {left_out} left out as departures: {counts:?}", cases.len()));
    assert!(counts.get("changed").is_some_and(|changed| *changed > 0), "nothing was compared");
    assert!(faults.is_empty(), "{} disagreements:\n{}", faults.len(), faults.join("\n"));
}

fn compare(
    cli: &Path,
    case: &Case,
    objects: &[Value],
    definition: &Value,
    counts: &mut BTreeMap<&'static str, usize>,
    faults: &mut Vec<String>,
) {
    let builder = case.builder(Semantics::Kyverno, definition).view(View::Written);
    let mutator = builder.build().map_err(|error| error.to_string());
    let (mutator, applied) = match (mutator, apply(cli, case, objects, definition)) {
        (Ok(mutator), Ok(applied)) => (mutator, applied),
        (Err(_), Err(_)) => return *counts.entry("refused").or_default() += 1,
        (Ok(_), Err(said)) => return faults.push(format!("{}: only the CLI refuses it: {said}", case.name)),
        (Err(error), Ok(_)) => return faults.push(format!("{}: only we refuse it: {error}", case.name)),
    };
    if applied.has_panicked {
        let mut reports =
            objects.iter().map(|object| mutator.mutate(&object.to_string()).expect("an object"));
        if !reports.any(|report| errors(&report).contains("crash")) {
            faults.push(format!("{}: only the CLI panics: {}", case.name, applied.said));
        }
        return *counts.entry("panicked").or_default() += 1;
    }
    for object in objects {
        let report = mutator.mutate(&object.to_string()).expect("an object");
        let predicted = whole(&serde_json::from_str(&report.json()).expect("JSON"));
        let key = key(object);
        let found = whole(applied.objects.get(&key).unwrap_or(object));
        let name = format!("{}: {key}", case.name);
        let what = match (has_failed(&report), applied.failed.contains(&key)) {
            (true, true) => "failed",
            (true, false) => {
                faults.push(format!("{name}: only we fail: {}", errors(&report)));
                continue;
            }
            (false, true) if counts_with_integers(case) => "an error by doubles",
            (false, true) => {
                faults.push(format!("{name}: only the CLI fails: {}", applied.said));
                continue;
            }
            (false, false) if predicted != found => {
                faults.push(format!("{name}: {}", differing_paths(&predicted, &found)));
                continue;
            }
            (false, false) if report.is_changed() => "changed",
            (false, false) => "unchanged",
        };
        *counts.entry(what).or_default() += 1;
    }
}

/// The CLI knows no fields of an embedded object that its schema does not list.
fn without_embedded_object(mut object: Value) -> Value {
    // Not by index, which adds the field where it is missing.
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strict");
    }
    object
}

fn counts_with_integers(case: &Case) -> bool {
    let texts = case.policies.iter().map(Value::to_string).collect::<String>();
    ARITHMETIC.iter().any(|text| texts.contains(text))
}

/// Whether a policy fails. The CLI reports ignored failures, too.
fn has_failed(report: &Report) -> bool {
    let is_ignored =
        |outcome: Outcome| matches!(outcome, Outcome::Skipped(why) if why.contains("failurePolicy"));
    report.has_errors() || report.rules().any(|rule| is_ignored(rule.outcome()))
}

fn errors(report: &Report) -> String {
    let errors = report.rules().filter_map(|rule| match rule.outcome() {
        Outcome::Error(error) | Outcome::Skipped(error) => Some(error),
        _ => None,
    });
    errors.collect::<Vec<_>>().join("; ")
}

/// What the CLI made of objects, by their keys.
struct Applied {
    objects: BTreeMap<String, Value>,
    failed: BTreeSet<String>,
    has_panicked: bool,
    /// The errors.
    said: String,
}

fn apply(cli: &Path, case: &Case, objects: &[Value], definition: &Value) -> Result<Applied, String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, documents: &[Value]| {
        let path = folder.path().join(name);
        let text: String = documents.iter().map(|document| format!("---\n{document}\n")).collect();
        fs::write(&path, text).expect("a file in a temporary folder");
        path
    };
    let values = json!({"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values", "metadata": {"name": "values"},
        "namespaceSelector": [{"name": case.name, "labels": case.all_labels()}]});
    let output = folder.path().join("output.yaml");
    let mut command = Command::new(cli);
    command.arg("apply").arg(file("policies.yaml", &case.policies)).arg("--remove-color");
    command.arg("--resource").arg(file("objects.yaml", objects)).arg("--output").arg(&output);
    command.arg("--values-file").arg(file("values.yaml", &[values]));
    command.arg("--crd-paths").arg(file("definition.yaml", std::slice::from_ref(definition)));
    if !case.exceptions.is_empty() {
        command.arg("--exceptions").arg(file("exceptions.yaml", &case.exceptions));
    }
    let ended = command.env_clear().stdin(Stdio::null()).output().expect("the Kyverno CLI starts");
    let said = String::from_utf8_lossy(&[&ended.stdout[..], &ended.stderr[..]].concat()).into_owned();
    if let Some(error) = said.lines().find(|line| line.starts_with("Error: ")) {
        return Err(error.to_owned());
    }
    let failed = said.lines().filter(|line| line.starts_with("error while applying mutate policy "));
    let failed = failed.filter_map(|line| line.split(" -> resource ").nth(1));
    let failed: BTreeSet<&str> = failed.map(str::trim).collect();
    // Objects without a name are printed without it.
    let has_failed = |object: &&Value| {
        let metadata = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        failed.contains(format!("{}/{kind}/{}", metadata("namespace"), metadata("name")).as_str())
    };
    let failed = objects.iter().filter(has_failed).map(key).collect();
    let text = fs::read_to_string(&output).unwrap_or_default();
    let documents = read(&Arc::new(Source::new("the Kyverno CLI", text)), &Limits::default());
    let documents = documents.map_err(|errors| format!("{errors:?}"))?;
    // The last of several documents of an object is the object after all policies.
    let printed = documents.iter().filter_map(|document| document.value());
    let printed = printed.map(|value| serde_json::from_str(&value.to_json()).expect("JSON"));
    let objects = printed.map(|object: Value| (key(&object), object)).collect();
    let has_panicked = said.contains("panic: ");
    let said = said.lines().filter(|line| line.starts_with("error")).collect::<Vec<_>>().join(" ");
    Ok(Applied { objects, failed, has_panicked, said })
}

fn key(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().or(metadata["generateName"].as_str());
    format!("{}/{}", object["kind"].as_str().unwrap_or_default(), name.unwrap_or_default())
}

/// With integers where doubles are whole.
fn whole(object: &Value) -> Value {
    let object = kyv::value::Value::from_json(&object.to_string()).expect("JSON");
    serde_json::from_str(&with_whole_numbers(object).to_json()).expect("JSON")
}
