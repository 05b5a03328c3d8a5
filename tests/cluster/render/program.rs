//! What our program makes of a build.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::builds::{Build, objects};
use super::policy_sets::PolicySet;

/// What the program knows beside policies and manifests.
pub(super) struct Surroundings {
    folder: TempDir,
}

/// Who sends requests, with the cluster roles that an API server without further bindings gives to administrators.
const USER: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: UserInfo
metadata: {name: admin}
clusterRoles: [cluster-admin, system:basic-user, system:discovery, system:public-info-viewer]
userInfo:
  username: admin
  uid: admin
  groups: [system:masters, system:authenticated]
";

/// What becomes of the objects of all builds, in their order.
pub(super) struct Rendered {
    /// Each object as it is printed.
    pub(super) objects: Vec<Value>,
    /// For each object the errors of its rules.
    pub(super) errors: Vec<Option<String>>,
    /// For each object whether a second evaluation is noted to change it.
    pub(super) is_unstable: Vec<bool>,
    /// For each object whether it is noted to depend on the order of policies.
    pub(super) depends_on_order: Vec<bool>,
    /// For each object whether a divergence of the two semantics is announced.
    pub(super) diverges: Vec<bool>,
}

impl Surroundings {
    /// With these objects of a cluster: namespaces, `ConfigMaps`, and definitions of custom resources.
    pub(super) fn new(context: &[Value], definitions: &[Value]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let stream = |objects: &[Value]| -> String {
            objects.iter().map(|object| format!("---\n{object}\n")).collect()
        };
        let write = |name: &str, text: String| {
            fs::write(folder.path().join(name), text).expect("the folder takes files");
        };
        write("context.yaml", stream(context));
        write("crds.yaml", stream(definitions));
        write("user.yaml", USER.to_owned());
        let namespaces = context.iter().filter(|object| object["kind"] == "Namespace");
        let labels = |namespace: &Value| {
            let metadata = &namespace["metadata"];
            json!({"name": metadata["name"], "labels": metadata["labels"]})
        };
        let labels: Vec<Value> = namespaces.map(labels).collect();
        let values = json!({"apiVersion": "cli.kyverno.io/v1alpha1", "kind": "Values",
            "metadata": {"name": "values"}, "namespaceSelector": labels});
        write("values.yaml", values.to_string());
        Self { folder }
    }

    /// Writes the policies of a set, for [`Self::render`].
    pub(super) fn policies(&self, set: &PolicySet) -> Vec<PathBuf> {
        let folder = self.folder.path().join("policies").join(&set.name);
        fs::create_dir_all(&folder).expect("a folder for policies");
        let paths = set.policies.iter().enumerate().map(|(index, policy)| {
            let path = folder.join(format!("{index}.yaml"));
            fs::write(&path, policy.to_string()).expect("the folder takes files");
            path
        });
        paths.collect()
    }

    /// The file of one kind of what is known: `context.yaml`, `crds.yaml`, `user.yaml` or `values.yaml`.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs policies, in this order, on all builds.
    ///
    /// # Errors
    ///
    /// What the program says if it refuses the policies.
    pub(super) fn render(
        &self,
        policies: &[PathBuf],
        builds: &[Build],
        semantics: &str,
    ) -> Result<Rendered, String> {
        let arguments = ["--check-idempotent", "--verbose", "--semantics", semantics];
        let (mutated, report) = std::thread::scope(|scope| {
            let report =
                scope.spawn(|| self.run(&["explain", "-o", "json"], &arguments[1..], policies, builds));
            (self.run(&["mutate"], &arguments, policies, builds), report.join().expect("the thread ends"))
        });
        let messages = String::from_utf8_lossy(&mutated.stderr).into_owned();
        if !matches!(mutated.status.code(), Some(0 | 3)) {
            return Err(messages);
        }
        let objects = objects("output.yaml", &String::from_utf8(mutated.stdout).expect("a text"));
        let report: Value = serde_json::from_slice(&report.stdout).expect("a report");
        let entries = report["objects"].as_array().expect("objects");
        let written: Vec<&Value> = builds.iter().flat_map(|build| &build.objects).collect();
        assert_eq!(objects.len(), written.len(), "an object each\n{messages}");
        assert_eq!(entries.len(), written.len(), "an entry each\n{messages}");
        for ((written, printed), entry) in written.iter().zip(&objects).zip(entries) {
            assert_eq!(written["kind"], printed["kind"], "the order of the input");
            assert_eq!(written["kind"], entry["object"]["kind"], "the order of the input");
        }
        let unstable: BTreeSet<&str> = messages
            .lines()
            .filter(|line| line.contains("a second run would"))
            .filter_map(|line| Some(line.strip_prefix("note[KYV802]: ")?.split_once(": ")?.0))
            .collect();
        let is_named = |entry: &Value| entry["origin"].as_str().is_some_and(|at| unstable.contains(at));
        let has = |entry: &Value, list: &str| !entry[list].as_array().is_none_or(Vec::is_empty);
        let error = |entry: &Value| {
            let mut rules = entry["rules"].as_array().expect("rules").iter();
            let failed = rules.find(|rule| rule["outcome"] == "error")?;
            Some(format!("{}: {}", failed["rule"], failed["reasons"]))
        };
        Ok(Rendered {
            errors: entries.iter().map(error).collect(),
            is_unstable: entries.iter().map(is_named).collect(),
            depends_on_order: entries.iter().map(|entry| has(entry, "order")).collect(),
            diverges: entries.iter().map(|entry| has(entry, "divergences")).collect(),
            objects,
        })
    }

    fn run(&self, command: &[&str], arguments: &[&str], policies: &[PathBuf], builds: &[Build]) -> Output {
        let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        program.args(command).args(arguments).args(["--workers", "1"]).env_clear().stdin(Stdio::null());
        for policy in policies {
            program.arg("-p").arg(policy);
        }
        for build in builds {
            program.arg("-f").arg(&build.folder);
        }
        program.arg("--context-from").arg(self.file("context.yaml"));
        program.arg("--crds").arg(self.file("crds.yaml"));
        program.arg("--values").arg(self.file("values.yaml"));
        program.arg("--userinfo").arg(self.file("user.yaml"));
        program.output().expect("the program starts")
    }
}
