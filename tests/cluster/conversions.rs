//! Converted policies in real programs: the API server and Kyverno's admission controller must take all of them. Runs when
//! `KYV_REAL_PROGRAMS` is 1; with the policies of the folder that `KYV_CONFORMANCE` names, too, and with those of the
//! corpus if `KYV_ALL_PAIRS` is 1.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kyv::convert::{Comments, Options, Target, convert};
use kyv::policy::{Policy, parse};
use kyv::value::Pointer;
use kyv::yaml::{Limits, Source, read};
use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::rest::Rest;
use test_support::{conformance_folder, log};

/// Fewer would mean that something was not converted at all.
const MIN_POLICIES: usize = 40;

/// The longest wait for one policy.
const READY_TIMEOUT: Duration = Duration::from_secs(60);

const POLL_INTERVAL: Duration = Duration::from_millis(15);

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            found.push(path);
        }
    }
}

/// What the policies of the cases of conversions and of the conformance folder become, each with the file it is from.
fn converted(target: Target, what: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    files(&root.join("tests/convert/cases"), &mut found);
    if std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1") {
        files(&root.join("tests/corpus"), &mut found);
    }
    found.retain(|path| path.ends_with("policy.yaml"));
    if let Some(folder) = conformance_folder(what) {
        files(&folder, &mut found);
    }
    let options = Options { target, ..Options::default() };
    let mut converted = Vec::new();
    for path in found {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let source = Arc::new(Source::new("policies", text.as_str()));
        for document in read(&source, &Limits::default()).unwrap_or_default() {
            let Some(value) = document.value() else { continue };
            let Ok(Policy::Classic(policy)) = parse(value, kyv::Semantics::default()) else { continue };
            let comments = Comments::of(&document, &Pointer::ROOT);
            for text in convert(value, &policy, &comments, &options).documents {
                let source = Arc::new(Source::new("converted", text.as_str()));
                let new = read(&source, &Limits::default()).expect("YAML");
                let new = new.into_iter().find_map(kyv::yaml::Document::into_value).expect("a document");
                let new = serde_json::from_str(&new.to_json()).expect("JSON");
                converted.push((path.display().to_string(), new));
            }
        }
    }
    converted
}

/// Sends all policies, without storing them. Returns what was refused.
fn refused(rest: &Rest, policies: &[(String, Value)]) -> Vec<String> {
    let mut faults = Vec::new();
    for (file, policy) in policies {
        if let Err(refusal) = rest.create(policy, "dryRun=All&fieldValidation=Strict") {
            faults.push(format!("{file}: {}", refusal.message));
        }
    }
    log(&format!("{} policies, {} refused", policies.len(), faults.len()));
    faults
}

#[test]
fn the_api_server_takes_converted_policies() {
    const WHAT: &str = "converted policies in a real API server";
    if test_support::skip_without_real_programs(WHAT) {
        return;
    }
    let policies = converted(Target::AdmissionPolicy, WHAT);
    assert!(policies.len() >= MIN_POLICIES, "only {}", policies.len());
    let server = ApiServer::start();
    let faults = refused(&Rest::open(&server), &policies);
    assert!(faults.is_empty(), "{} refused:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn kyverno_takes_converted_policies() {
    const WHAT: &str = "converted policies in Kyverno's admission controller";
    if test_support::skip_without_real_programs(WHAT) {
        return;
    }
    let policies = converted(Target::MutatingPolicy, WHAT);
    assert!(policies.len() >= MIN_POLICIES, "only {}", policies.len());
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    // Policies of a namespace need it.
    for (_, policy) in &policies {
        if let Some(name) = policy["metadata"]["namespace"].as_str() {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let _exists = rest.create(&namespace, "");
        }
    }
    let _kyverno = Kyverno::start(&server);
    let faults: Vec<String> =
        policies.iter().filter_map(|(file, policy)| not_ready(&rest, file, policy)).collect();
    log(&format!("{} policies, {} refused or not ready", policies.len(), faults.len()));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Stores a policy until Kyverno says that it is ready. Returns why it is not.
fn not_ready(rest: &Rest, file: &str, policy: &Value) -> Option<String> {
    if let Err(refusal) = rest.create(policy, "fieldValidation=Strict") {
        return Some(format!("{file}: refused: {}", refusal.message));
    }
    let start = Instant::now();
    let mut status = Value::Null;
    let mut is_ready = false;
    while !is_ready && start.elapsed() < READY_TIMEOUT {
        status = rest.get(policy).unwrap_or_default()["status"].clone();
        is_ready = status["conditionStatus"]["ready"] == true;
        if !is_ready {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    rest.remove(policy);
    (!is_ready).then(|| format!("{file}: not ready: {status}"))
}
