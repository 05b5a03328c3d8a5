//! Against a real API server, built and started by `tests/tools`. Runs when `KYV_REAL_PROGRAMS` is 1.

mod apply_output;
mod connection;
mod drift;
mod impact;
mod kubectl_plugin;
mod kyverno_resources;
mod listing;
mod manifests;
mod policies;
mod policy_reports;
mod proxy;
mod resource_arguments;
mod secrets;
mod server_dry_run;
mod targets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use test_support::api_server::ApiServer;

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs the program with nothing of this process's environment.
fn kyv(kubeconfig: &Path, arguments: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(arguments)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .expect("the program starts");
    ended(output)
}

/// Messages without their codes, as kubectl prints them.
fn without_codes(stderr: &str) -> String {
    /// Sentences that kubectl prints without `error: `.
    const ALONE: [&str; 3] = ["Error ", "Unable to connect", "The connection to"];
    let lines = stderr.lines().map(|line| {
        match line.strip_prefix("error[").and_then(|rest| rest.split_once("]: ")) {
            Some((_, words)) if ALONE.iter().any(|start| words.starts_with(start)) => words.to_owned(),
            Some((_, words)) => format!("error: {words}"),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn ended(output: std::process::Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it prints text"),
        stderr: String::from_utf8(output.stderr).expect("it says text"),
    }
}

/// A folder of policies.
struct Policies(TempDir);

impl Policies {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        for (name, kind, rest) in [
            ("team", "ConfigMap", "mutate: {patchStrategicMerge: {metadata: {labels: {team: a}}}}"),
            ("secret", "Secret", "mutate: {patchStrategicMerge: {data: {token: bmV3}}}"),
            ("replicas", "Deployment", "mutate: {patchStrategicMerge: {spec: {replicas: 3}}}"),
            ("create", "ConfigMap", "mutate: {patchStrategicMerge: {metadata: {labels: {made: x}}}}"),
            ("front", "ConfigMap", "mutate: {patchStrategicMerge: {metadata: {labels: {tier: front}}}}"),
        ] {
            let selection = match name {
                "create" => ", operations: [CREATE]",
                "front" => ", namespaceSelector: {matchLabels: {tier: front}}",
                _ => "",
            };
            let text = format!(
                "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  \
                 - name: r\n    match: {{any: [{{resources: {{kinds: [{kind}]{selection}}}}}]}}\n    {rest}\n"
            );
            fs::write(folder.path(name), text).expect("the folder takes files");
        }
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name).with_extension("yaml")
    }

    /// Another policy for `ConfigMaps`; its path.
    fn write(&self, name: &str, rule: &str) -> String {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  \
             - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    {rule}\n"
        );
        fs::write(self.path(name), text).expect("the folder takes files");
        self.argument(name)
    }

    fn argument(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }
}

const OBJECTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: web, labels: {tier: front}}
---
apiVersion: v1
kind: Namespace
metadata: {name: back, labels: {tier: back}}
---
apiVersion: v1
kind: Secret
metadata: {name: login, namespace: web, labels: {app: x}}
data: {token: b2xkLXRva2Vu, other: a2VlcC1tZQ==}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: site, namespace: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: site}}
  template:
    metadata: {labels: {app: site}}
    spec: {containers: [{name: site, image: site:1}]}
";

/// A Deployment as Kyverno's is, without Kyverno in it.
const KYVERNO: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: policy-engine}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: kyverno-admission-controller
  namespace: policy-engine
  labels: {app.kubernetes.io/component: admission-controller, app.kubernetes.io/version: v1.19.1}
spec:
  selector: {matchLabels: {app: kyverno}}
  template:
    metadata: {labels: {app: kyverno}}
    spec: {containers: [{name: kyverno, image: 'reg.kyverno.io/kyverno/kyverno:v1.19.1'}]}
";

fn server_with_objects() -> ApiServer {
    let server = ApiServer::start();
    let mut objects = OBJECTS.to_owned();
    for (namespace, name) in
        [("web", "a"), ("web", "b"), ("web", "c"), ("web", "d"), ("web", "e"), ("back", "z")]
    {
        let metadata = format!("{{name: {name}, namespace: {namespace}}}");
        let object =
            format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\ndata: {{k: {name}}}\n");
        objects.push_str(&object);
    }
    server.kubectl_ok(&["apply", "-f", "-"], &objects);
    server
}

/// The objects whose diffs stand in a text, in order, but for what the server keeps for itself: the headers of those
/// that are in no file, and of the others the text after the numbers of their hunks.
fn changed_objects(stdout: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut is_file = false;
    for line in stdout.lines() {
        if let Some(header) = line.strip_prefix("--- ") {
            is_file = header.starts_with("a/");
            names.extend(header.split('\t').next().filter(|_| !is_file));
        } else if let Some((_, title)) = line.strip_prefix("@@ -").and_then(|head| head.split_once(" @@ ")) {
            for name in title.split("; ").filter(|_| is_file) {
                if names.last() != Some(&name) {
                    names.push(name);
                }
            }
        }
    }
    names.retain(|name| !name.contains("/kube-system/"));
    names
}

/// The requests of the program in the server's audit log: verb and path.
fn logged_requests(server: &ApiServer) -> Vec<(String, String)> {
    let log = fs::read_to_string(server.audit_log()).expect("the audit log can be read");
    let rows = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.filter(|row| text(row, "userAgent").starts_with("kubectl-kyv/"))
        .map(|row| (text(&row, "verb"), text(&row, "requestURI")))
        .collect()
}

/// A policy of one rule.
fn mutate_existing_rule(policies: &Policies, name: &str, matching: &str, mutate: &str) -> String {
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  \
         - name: r\n    match: {{any: [{{resources: {{{matching}}}}}]}}\n    mutate: {{{mutate}}}\n"
    );
    fs::write(policies.path(name), text).expect("the folder takes files");
    policies.argument(name)
}

#[test]
fn the_api_server_stores_what_kubectl_applies() {
    if test_support::skip_without_real_programs("the API server") {
        return;
    }
    let server = ApiServer::start();
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {text: hello}\n";
    server.kubectl_ok(&["apply", "-f", "-"], manifest);
    let text = server.kubectl_ok(&["get", "configmap", "greeting", "-o", "jsonpath={.data.text}"], "");
    assert_eq!(text, "hello");
}
