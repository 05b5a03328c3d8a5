//! What the program predicts for live triggers and their targets.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::test_cluster::key;
use crate::controllers::conformance_policies::Policy;
use test_support::api_server::{ADMINISTRATOR, ApiServer};
use test_support::objects::without_server_fields;

/// What is done to a trigger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Update,
    Delete,
    Create,
}

impl Operation {
    pub(crate) const ALL: [Self; 3] = [Self::Update, Self::Delete, Self::Create];

    const fn name(self) -> &'static str {
        match self {
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Create => "CREATE",
        }
    }
}

/// Something that may change what exists.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The policy is installed.
    Policy,
    /// One trigger.
    Request(Operation, String),
    /// Everything else.
    Idle,
}

impl Display for Event {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Policy => out.write_str("the policy is installed"),
            Self::Request(operation, trigger) => write!(out, "{} of {trigger}", operation.name()),
            Self::Idle => out.write_str("whatever is no trigger"),
        }
    }
}

/// The prediction for one event under one semantics.
#[derive(Debug, Default)]
pub(crate) struct PredictedObjects {
    /// The objects that change.
    pub(crate) changed: BTreeMap<String, Value>,
    /// The numbers of the differences that are announced.
    pub(crate) announced: BTreeSet<String>,
}

/// The predictions for a policy: those of all triggering events, the default semantics first.
pub(crate) struct Prediction {
    events: BTreeMap<Event, [PredictedObjects; 2]>,
    idle: [PredictedObjects; 2],
}

impl Prediction {
    /// Asks our program about everything in the cluster.
    pub(crate) fn ask(server: &ApiServer, policy: &Policy, stored: &BTreeMap<String, Value>) -> Self {
        let question = Question::new(server, policy);
        let mut events = BTreeMap::new();
        // With no TYPE: all objects that the policy can match.
        events.insert(Event::Policy, question.both(&["-A", "--on-policy-update"], stored));
        for operation in Operation::ALL {
            let all = ["-A", "--operation", operation.name()];
            let triggers: BTreeSet<String> = SEMANTICS
                .iter()
                .flat_map(|semantics| question.report(&all, semantics))
                .filter(is_trigger)
                .map(|entry| key_of(&entry["object"]))
                .collect();
            for trigger in triggers {
                let Some(object) = stored.get(&trigger) else { continue };
                let (kind, name) = (type_of(object), object["metadata"]["name"].as_str().unwrap_or_default());
                let mut one = vec![&*kind, name, "--operation", operation.name()];
                one.extend(object["metadata"]["namespace"].as_str().iter().flat_map(|name| ["-n", *name]));
                events.insert(Event::Request(operation, trigger.clone()), question.both(&one, stored));
            }
        }
        Self { events, idle: Default::default() }
    }

    /// Whether an operation on an object is predicted to trigger the policy.
    pub(crate) fn is_trigger(&self, operation: Operation, key: &str) -> bool {
        self.events.contains_key(&Event::Request(operation, key.to_owned()))
    }

    /// The predictions for an event, the default semantics first.
    pub(crate) fn of(&self, event: &Event) -> [&PredictedObjects; 2] {
        self.events.get(event).unwrap_or(&self.idle).each_ref()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &PredictedObjects> {
        self.events.values().flatten()
    }
}

const SEMANTICS: [&str; 2] = ["documented", "kyverno"];

/// Our program with a policy and a cluster.
struct Question<'a> {
    server: &'a ApiServer,
    origin: &'a str,
    _folder: TempDir,
    policy: PathBuf,
    user: PathBuf,
}

impl<'a> Question<'a> {
    fn new(server: &'a ApiServer, policy: &'a Policy) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("the folder takes files");
            path
        };
        let (file, user) = (write("policy.json", &policy.text), write("user.yaml", ADMINISTRATOR));
        Self { server, origin: &policy.origin, policy: file, user, _folder: folder }
    }

    fn both(&self, arguments: &[&str], stored: &BTreeMap<String, Value>) -> [PredictedObjects; 2] {
        SEMANTICS.map(|semantics| {
            let entries = self.report(arguments, semantics);
            let numbers = entries.iter().filter_map(|entry| entry["divergences"].as_array()).flatten();
            let announced =
                numbers.filter_map(|difference| difference["id"].as_str()).map(str::to_owned).collect();
            let changed: BTreeSet<String> = entries
                .iter()
                .filter(|entry| entry["changed"] == true)
                .map(|entry| key_of(&entry["object"]))
                .collect();
            let objects = self.run("mutate", arguments, semantics).stdout;
            let objects: Value = serde_json::from_slice(&objects).unwrap_or_default();
            let objects = match objects["items"].as_array() {
                Some(items) if objects["kind"] == "List" => items.clone(),
                _ => vec![objects],
            };
            let objects = objects.iter().map(|object| (key(object), without_server_fields(object)));
            // The cluster has more objects than those that are stored here.
            let changed =
                objects.filter(|(key, _)| changed.contains(key) && stored.contains_key(key)).collect();
            PredictedObjects { changed, announced }
        })
    }

    /// What `diff` says of each object.
    fn report(&self, arguments: &[&str], semantics: &str) -> Vec<Value> {
        let output = self.run("diff", arguments, semantics);
        let mut report: Value = serde_json::from_slice(&output.stdout).expect("a report");
        let entries = report["objects"].take();
        serde_json::from_value(entries).expect("objects")
    }

    fn run(&self, command: &str, arguments: &[&str], semantics: &str) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .arg(command)
            .args(arguments)
            .args(["-o", "json", "--semantics", semantics, "-p"])
            .arg(&self.policy)
            .arg("--userinfo")
            .arg(&self.user)
            .arg("--kubeconfig")
            .arg(self.server.kubeconfig())
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        // A rule of another kind is said not to be evaluated, and a failed rule ends in 3.
        assert!(
            matches!(output.status.code(), Some(0 | 1 | 3)),
            "{}: {arguments:?}: {}",
            self.origin,
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }
}

/// Whether a rule changes another object.
fn is_trigger(entry: &Value) -> bool {
    let rules = entry["rules"].as_array().into_iter().flatten();
    rules.into_iter().any(|rule| rule["outcome"] == "triggered" || rule["outcome"] == "error")
}

fn key_of(object: &Value) -> String {
    key(&json!({"kind": object["kind"],
        "metadata": {"name": object["name"], "namespace": object["namespace"]}}))
}

/// The type of an object, as kubectl wants it named.
fn type_of(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or_default();
    match object["apiVersion"].as_str().unwrap_or_default().split_once('/') {
        Some((group, version)) => format!("{kind}.{version}.{group}"),
        None => kind.to_owned(),
    }
}
