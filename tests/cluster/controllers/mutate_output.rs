//! What `mutate` prints for live objects.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::corpus_case::Case;
use test_support::api_server::ADMINISTRATOR;

/// What becomes of an object.
#[derive(Clone, Debug)]
pub(crate) enum MutateOutcome {
    Object(Value),
    /// A rule could not be evaluated, with everything that was said of it.
    Failed(String),
}

/// The inputs of `mutate` for a case besides its objects.
pub(crate) struct MutateCall<'a> {
    pub(crate) case: &'a Case,
    pub(crate) update: bool,
    /// The namespaces of the cluster.
    pub(crate) namespaces: &'a [Value],
}

impl MutateCall<'_> {
    /// What becomes of each object under Kyverno's semantics; what is said if a policy is refused.
    pub(crate) fn ask(&self, objects: &[Value], old: &[Value]) -> Result<Vec<MutateOutcome>, String> {
        let all = self.run(objects, old)?;
        if all.status.code() == Some(0) {
            let printed = printed(&all.stdout);
            assert_eq!(printed.len(), objects.len(), "{}: an object each", self.case.name);
            return Ok(printed.into_iter().map(MutateOutcome::Object).collect());
        }
        // Which of them failed shows when they come alone.
        let each = objects.iter().map(|object| {
            let alone = self.run(std::slice::from_ref(object), old)?;
            let mut printed = printed(&alone.stdout);
            Ok(match (alone.status.code(), printed.pop()) {
                (Some(0), Some(object)) => MutateOutcome::Object(object),
                _ => MutateOutcome::Failed(String::from_utf8_lossy(&alone.stderr).into_owned()),
            })
        });
        each.collect()
    }

    fn run(&self, objects: &[Value], old: &[Value]) -> Result<Output, String> {
        let mut asked = Invocation::new(self.case, objects, self.namespaces);
        asked.command.args(["--operation", if self.update { "UPDATE" } else { "CREATE" }]);
        if self.update {
            asked.add_file("--old", "old.yaml", &stream(old));
        }
        if self.case.folder.join("exceptions.yaml").exists() {
            asked.command.args(["--exceptions", "exceptions.yaml"]);
        }
        asked.run()
    }
}

/// A run of our program on the policy of a case, with the files that it is given.
struct Invocation {
    files: TempDir,
    command: Command,
}

impl Invocation {
    /// A call of `mutate` under Kyverno's semantics, as the administrator. Errors also have Kyverno's words.
    fn new(case: &Case, objects: &[Value], namespaces: &[Value]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        command.current_dir(&case.folder).env_clear().stdin(Stdio::null());
        command.args(["mutate", "-p", "policy.yaml", "--semantics", "kyverno", "-o", "json", "--verbose"]);
        let mut asked = Self { files: tempfile::tempdir().expect("a temporary folder"), command };
        asked.add_file("-f", "input.yaml", &stream(objects));
        asked.add_file("--context-from", "namespaces.yaml", &stream(namespaces));
        asked.add_file("--userinfo", "user.yaml", ADMINISTRATOR);
        asked
    }

    /// Passes a file to a flag.
    fn add_file(&mut self, flag: &str, name: &str, text: &str) {
        let path = self.files.path().join(name);
        fs::write(&path, text).expect("the folder takes files");
        self.command.arg(flag).arg(path);
    }

    /// The output, or the message if a policy is refused.
    fn run(mut self) -> Result<Output, String> {
        let output = self.command.output().expect("the program starts");
        refused(&output).map_or(Ok(output), Err)
    }
}

/// Objects as one file.
pub(crate) fn stream(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

/// The objects of an output in JSON, one or a list.
fn printed(text: &[u8]) -> Vec<Value> {
    let value: Value = serde_json::from_slice(text).unwrap_or(json!(null));
    match value["items"].as_array() {
        Some(items) if value["kind"] == "List" => items.clone(),
        _ if value.is_null() => Vec::new(),
        _ => vec![value],
    }
}

/// What our program says of rules with targets.
pub(crate) struct PredictedTargets {
    /// What becomes of objects, by their keys.
    pub(crate) objects: BTreeMap<String, Value>,
    /// What the requests that fail would say.
    pub(crate) failures: Vec<String>,
}

/// What our program says becomes of each of these objects when the first of them are triggers, under Kyverno's
/// semantics; what it says if it refuses the policies.
pub(crate) fn predict_targets(
    case: &Case,
    triggers: &[Value],
    targets: &[Value],
    namespaces: &[Value],
    key: fn(&Value) -> String,
) -> Result<PredictedTargets, String> {
    let mut asked = Invocation::new(case, triggers, namespaces);
    asked.command.args(&case.options);
    if !targets.is_empty() {
        asked.add_file("--targets", "targets.yaml", &stream(targets));
    }
    let output = asked.run()?;
    let objects = printed(&output.stdout).into_iter().map(|object| (key(&object), object)).collect();
    Ok(PredictedTargets { objects, failures: failures(&String::from_utf8_lossy(&output.stderr)) })
}

/// The predicted errors of requests to the background controller.
pub(crate) fn failures(stderr: &str) -> Vec<String> {
    let told = stderr.lines().filter_map(|line| line.split_once("the UpdateRequest would fail with: "));
    told.map(|(_, message)| message.to_owned()).collect()
}

/// What is said of policies that are refused, by us or as we say by a cluster.
fn refused(output: &Output) -> Option<String> {
    let message = String::from_utf8_lossy(&output.stderr);
    let taken = matches!(output.status.code(), Some(0 | 3));
    (!taken || message.contains("a cluster refuses this policy")).then(|| message.into_owned())
}
