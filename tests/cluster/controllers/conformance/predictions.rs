//! What the program predicts for live objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display, Formatter};
use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::stored_objects::{Key, Objects, parse};
use crate::controllers::conformance_policies::Policy;
use test_support::api_server::{ADMINISTRATOR, ApiServer};

/// How objects reach the webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Update,
    Create,
}

impl Operation {
    pub(crate) const BOTH: [Self; 2] = [Self::Update, Self::Create];

    const fn name(self) -> &'static str {
        match self {
            Self::Update => "UPDATE",
            Self::Create => "CREATE",
        }
    }
}

impl Display for Operation {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// The types of some objects, as kubectl wants them named.
pub(crate) struct Types(BTreeSet<String>);

impl Types {
    pub(crate) fn of<'a>(objects: impl Iterator<Item = &'a Value>) -> Self {
        let name = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            match object["apiVersion"].as_str().unwrap_or_default().split_once('/') {
                Some((group, version)) => format!("{kind}.{version}.{group}"),
                None => kind.to_owned(),
            }
        };
        Self(objects.map(name).collect())
    }

    pub(crate) fn joined(&self) -> String {
        self.0.iter().map(String::as_str).collect::<Vec<_>>().join(",")
    }
}

/// The predictions for all objects under one semantics.
#[derive(Default)]
pub(crate) struct PredictedObjects {
    /// Why the policy is refused.
    pub(crate) refused: Option<String>,
    pub(crate) changed: Objects,
    pub(crate) failed: BTreeMap<Key, String>,
    /// The objects with an announced difference.
    pub(crate) announced: BTreeSet<Key>,
}

/// What both semantics say.
pub(crate) struct BothSemantics {
    pub(crate) documented: PredictedObjects,
    pub(crate) kyverno: PredictedObjects,
}

impl BothSemantics {
    /// The default semantics first.
    pub(crate) const fn each(&self) -> [&PredictedObjects; 2] {
        [&self.documented, &self.kyverno]
    }

    /// Asks our program about all objects of these types in the cluster.
    pub(crate) fn ask(server: &ApiServer, policy: &Policy, operation: Operation, types: &Types) -> Self {
        let ask = |semantics| PredictedObjects::ask(server, policy, operation, types, semantics);
        Self { documented: ask("documented"), kyverno: ask("kyverno") }
    }
}

impl PredictedObjects {
    fn ask(
        server: &ApiServer,
        policy: &Policy,
        operation: Operation,
        types: &Types,
        semantics: &str,
    ) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("policy.json");
        fs::write(&file, &policy.text).expect("the folder takes files");
        let user = folder.path().join("user.yaml");
        fs::write(&user, ADMINISTRATOR).expect("the folder takes files");
        let run = |command: &[&str]| -> Output {
            Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
                .args(command)
                .args(["-o", "json", "-A", "--operation", operation.name(), "--semantics", semantics])
                .arg(types.joined())
                .arg("-p")
                .arg(&file)
                .arg("--userinfo")
                .arg(&user)
                .arg("--kubeconfig")
                .arg(server.kubeconfig())
                .env_clear()
                .stdin(Stdio::null())
                .output()
                .expect("the program starts")
        };
        let mutated = run(&["mutate"]);
        let messages = String::from_utf8_lossy(&mutated.stderr).into_owned();
        if mutated.status.code() == Some(2) {
            return Self { refused: Some(messages), ..Self::default() };
        }
        let all = parse(&mutated.stdout);
        let report = run(&["diff"]);
        assert!(report.status.code().is_some_and(|code| [0, 1, 3].contains(&code)), "{messages}");
        let report: Value = serde_json::from_slice(&report.stdout).expect("a report");
        let mut said = Self::default();
        for entry in report["objects"].as_array().expect("objects") {
            let key = key_of_entry(&entry["object"]);
            let rules = entry["rules"].as_array().expect("rules");
            if let Some(error) = rules.iter().find_map(|rule| rule["error"].as_str()) {
                said.failed.insert(key.clone(), error.to_owned());
            }
            if entry["changed"] == true {
                let object = all.get(&key).expect("every object is printed");
                said.changed.insert(key.clone(), object.clone());
            }
            if entry["divergences"].as_array().is_some_and(|differences| !differences.is_empty()) {
                said.announced.insert(key);
            }
        }
        said
    }
}

fn key_of_entry(object: &Value) -> Key {
    Key::of(&serde_json::json!({
        "kind": object["kind"],
        "metadata": {"name": object["name"], "namespace": object["namespace"]},
    }))
}
