//! Impact of changes compared with a real API server: for objects of every kind, each field is changed by itself and
//! sent as a dry run. A change that the server refuses must be flagged as immutable, one that it accepts must not; a
//! rollout must be flagged exactly where the stored Pod template would change.
//!
//! Runs when `KYV_REAL_PROGRAMS` is 1: a part of the changes, spread over all fields, and with `KYV_ALL_CHANGES` 1
//! all of them, which takes minutes.

mod field_changes;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use kyv::report::Impact;
use kyv::value::Value as Object;
use kyv::yaml::{self, Limits, Source};
use serde_json::{Value, json};

use field_changes::{Change, Schema};
use test_support::api_server::ApiServer;
use test_support::rest::{Refusal, Request, Rest};

/// How many changes of one object are tried, unless all are.
const SAMPLE_SIZE: usize = 160;

/// How many requests are under way at a time.
const CONNECTIONS: usize = 8;

#[test]
fn impact_flags_match_the_api_server() {
    if test_support::skip_without_real_programs("flags of changes against an API server") {
        return;
    }
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let mut documents: BTreeMap<String, Value> = BTreeMap::new();
    let (mut wrong, mut counts) = (Vec::new(), Counts::default());
    let are_all = std::env::var_os("KYV_ALL_CHANGES").is_some_and(|value| value == "1");
    for mut object in objects() {
        let status = object.as_object_mut().and_then(|members| members.remove("status"));
        let label = format!("{} {}", object["kind"].as_str().unwrap_or_default(), object["metadata"]["name"]);
        let mut stored = rest.create(&object, "").unwrap_or_else(|refusal| panic!("{label}: {refusal:?}"));
        if let Some(status) = status {
            stored["status"] = status;
            let path = format!("{}/status", rest.path(&stored).expect("the kind is served"));
            stored = rest
                .ask("PUT", &path, Some(&stored))
                .unwrap_or_else(|refusal| panic!("{label}: {refusal:?}"));
        }
        for (field, value) in [("apiVersion", &object["apiVersion"]), ("kind", &object["kind"])] {
            stored[field] = value.clone();
        }
        let version = object["apiVersion"].as_str().expect("a version");
        let document = documents.entry(version.to_owned()).or_insert_with(|| {
            let root = if version.contains('/') { "apis" } else { "api" };
            rest.ask("GET", &format!("/openapi/v3/{root}/{version}"), None)
                .expect("the server describes itself")
        });
        let kind = object["kind"].as_str().expect("a kind");
        let schema = Schema::of(document, kind, version).unwrap_or_else(|| panic!("{label}: no schema"));
        let mut changes = schema.changes(&stored);
        if !are_all {
            sample(&mut changes);
        }
        for message in judge(&rest, &stored, &changes, &mut counts) {
            wrong.push(format!("{label}: {message}"));
        }
    }
    println!("{counts:?}");
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Leaves so many of many changes, the same in every run.
fn sample(changes: &mut Vec<Change>) {
    let number = changes.len();
    let mut index = 0;
    changes.retain(|_| {
        index += 1;
        index * SAMPLE_SIZE / number.max(SAMPLE_SIZE) != (index - 1) * SAMPLE_SIZE / number.max(SAMPLE_SIZE)
    });
}

#[derive(Debug, Default)]
struct Counts {
    changes: usize,
    taken: usize,
    refused: usize,
    /// Refused, and no object of that content could be made at all.
    invalid: usize,
    rollouts: usize,
}

/// Sends changes and says where the flags are not what the server did.
fn judge(rest: &Rest, stored: &Value, changes: &[Change], counts: &mut Counts) -> Vec<String> {
    let path = rest.path(stored).expect("the kind is served");
    let update = |change: &Change| Request {
        method: "PUT",
        path: format!("{path}?dryRun=All"),
        body: Some(change.after.clone()),
    };
    let updates = rest.ask_all(&changes.iter().map(update).collect::<Vec<_>>(), CONNECTIONS);
    let refused: Vec<&Change> = changes
        .iter()
        .zip(&updates)
        .filter(|(_, answer)| answer.is_err())
        .map(|(change, _)| change)
        .collect();
    let (collection, _) = path.rsplit_once('/').expect("a path");
    let create = |change: &&Change| Request {
        method: "POST",
        path: format!("{collection}?dryRun=All"),
        body: Some(recreated(stored, &change.after)),
    };
    let creates = rest.ask_all(&refused.iter().map(create).collect::<Vec<_>>(), CONNECTIONS);
    let mut creates = creates.into_iter();
    let before = ours(stored);
    let mut wrong = Vec::new();
    counts.changes += changes.len();
    for (change, answer) in changes.iter().zip(updates) {
        let impact = Impact::of(&before, &ours(&change.after), true);
        let places = impact.immutable.iter().fold(String::new(), |mut text, insert_pod| {
            write!(text, " {insert_pod}").expect("a string takes text");
            text
        });
        match answer {
            Ok(taken) => {
                counts.taken += 1;
                if !impact.immutable.is_empty() {
                    wrong.push(format!("{}: taken, flagged as immutable:{places}", change.what));
                }
                if stored["kind"] != "Pod" {
                    let is_rolled_out =
                        has_rollout(stored) && taken["spec"]["template"] != stored["spec"]["template"];
                    counts.rollouts += usize::from(is_rolled_out);
                    if is_rolled_out != impact.rollout {
                        wrong.push(format!(
                            "{}: rolled out: {is_rolled_out}, flagged: {}",
                            change.what, impact.rollout
                        ));
                    }
                }
            }
            Err(Refusal { message, .. }) => match creates.next().expect("asked for each") {
                Err(_) => counts.invalid += 1,
                Ok(_) => {
                    counts.refused += 1;
                    if impact.immutable.is_empty() {
                        let message: String = message.chars().take(300).collect();
                        wrong.push(format!("{}: refused, not flagged: {message}", change.what));
                    }
                }
            },
        }
    }
    wrong
}

fn has_rollout(stored: &Value) -> bool {
    matches!(stored["kind"].as_str(), Some("Deployment" | "DaemonSet" | "StatefulSet"))
}

/// The content of an object as one that is not there yet.
fn recreated(stored: &Value, object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["name"] = match object["kind"].as_str() {
        Some("IPAddress") => json!("10.0.0.78"),
        Some("CSIDriver") => json!("b.example.com"),
        _ => json!("fresh"),
    };
    for field in ["uid", "resourceVersion", "generation", "managedFields"] {
        object["metadata"].as_object_mut().expect("metadata").remove(field);
    }
    // Values that the server assigns to one object are unique to it.
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return object };
    match stored["kind"].as_str() {
        Some("Job") => {
            spec.as_object_mut().expect("a spec").remove("selector");
            if let Some(labels) = spec.pointer_mut("/template/metadata/labels").and_then(Value::as_object_mut)
            {
                labels.retain(|label, _| !label.ends_with("controller-uid") && !label.ends_with("job-name"));
            }
        }
        Some("Service") => {
            let own = &stored["spec"];
            for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
                if spec.get(field) == own.get(field) && own[field] != "None" {
                    spec.as_object_mut().expect("a spec").remove(field);
                }
            }
            let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
            for port in ports.into_iter().flatten().filter(|port| port.is_object()) {
                let ports = own["ports"].as_array();
                if ports.is_some_and(|ports| ports.iter().any(|own| own["nodePort"] == port["nodePort"])) {
                    port.as_object_mut().map(|port| port.remove("nodePort"));
                }
            }
        }
        _ => {}
    }
    object
}

/// An object as a run shows it: without what an update does not touch.
fn ours(object: &Value) -> Object {
    let mut object = object.clone();
    object.as_object_mut().expect("an object").remove("status");
    object["metadata"].as_object_mut().expect("metadata").remove("managedFields");
    Object::from_json(&object.to_string()).expect("JSON")
}

/// The objects that are changed.
fn objects() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/impact");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("the folder is whole");
    let pod = parse(&text("pod.yaml")).remove(0)["spec"].clone();
    let mut objects = parse(&text("objects.yaml"));
    for object in &mut objects {
        insert_pod(object, &pod);
    }
    objects
}

fn insert_pod(value: &mut Value, pod: &Value) {
    match value {
        Value::String(text) if text == "<pod>" => *value = pod.clone(),
        Value::Object(members) => members.values_mut().for_each(|member| insert_pod(member, pod)),
        Value::Array(items) => items.iter_mut().for_each(|item| insert_pod(item, pod)),
        _ => {}
    }
}

fn parse(text: &str) -> Vec<Value> {
    let source = Arc::new(Source::new("objects", text));
    let documents = yaml::read(&source, &Limits::default()).expect("YAML");
    let value = |document: &yaml::Document| document.value().map(Object::to_json);
    documents.iter().filter_map(value).map(|text| serde_json::from_str(&text).expect("JSON")).collect()
}
