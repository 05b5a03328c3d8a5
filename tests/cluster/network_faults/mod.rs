//! API servers that fail, answer late or not at all: messages and exit codes. Stub servers, no real programs.

mod api_versions;
mod connection;
mod discovery;
mod hostile;
mod manifests;
mod pagination;
mod partial_output;
mod recorded_secrets;
mod recordings;
mod retries;
mod wrong_answers;

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

/// What a run of the program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Run {
    /// The objects whose changes are shown.
    fn changed(&self) -> Vec<&str> {
        let headers = self.stdout.lines().filter_map(|line| line.strip_prefix("--- "));
        headers.filter_map(|header| header.split('\t').next()).collect()
    }

    /// What is said besides the table of what was found.
    fn messages(&self) -> Vec<&str> {
        let is_told = |line: &&str| ["error[", "note[", "warning["].iter().any(|word| line.starts_with(word));
        self.stderr.lines().filter(is_told).collect()
    }
}

/// A folder with a kubeconfig for a server and with policies.
struct Folder(TempDir);

impl Folder {
    fn new(server: &StubServer) -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        folder.write("kubeconfig", &kubeconfig(&server.authority()));
        folder.write("team.yaml", &policy("team", "[ConfigMap, Secret, Pod, Deployment, Widget]", ""));
        folder
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        fs::write(&path, text).expect("the folder takes files");
        path.display().to_string()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        let kubeconfig = self.0.path().join("kubeconfig");
        command.args(arguments).env_clear().env("KUBECONFIG", kubeconfig).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        ended(self.command(arguments).output().expect("the program starts"))
    }

    fn diff(&self, arguments: &[&str]) -> Run {
        self.run(&[&["diff", "-p", "team.yaml"], arguments].concat())
    }
}

fn ended(output: std::process::Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it prints text"),
        stderr: String::from_utf8(output.stderr).expect("it says text"),
    }
}

fn kubeconfig(authority: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{server: 'http://{authority}'}}}}]\n\
         contexts: [{{name: x, context: {{cluster: x, user: x, namespace: web}}}}]\nusers: [{{name: x, user: {{token: hidden}}}}]\n"
    )
}

fn policy(name: &str, kinds: &str, context: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: {kinds}}}}}]}}\n    {context}\n    \
         mutate: {{patchStrategicMerge: {{metadata: {{labels: {{team: a}}}}}}}}\n"
    )
}

/// What kinds the server of these tests has: group, version, kind, plural.
const KINDS: [(&str, &str, &str, &str); 6] = [
    ("", "v1", "ConfigMap", "configmaps"),
    ("", "v1", "Pod", "pods"),
    ("", "v1", "Secret", "secrets"),
    ("", "v1", "Namespace", "namespaces"),
    ("apps", "v1", "Deployment", "deployments"),
    ("example.com", "v1", "Widget", "widgets"),
];

/// Discovery at once, for `/api` or `/apis`.
fn discovery(path: &str, stale: &str) -> String {
    let mut groups: Vec<String> = Vec::new();
    for group in ["", "apps", "example.com"].into_iter().filter(|group| group.is_empty() == (path == "/api"))
    {
        let kinds = KINDS.iter().filter(|kind| kind.0 == group && (stale.is_empty() || kind.0 != stale));
        let resources: Vec<String> = kinds
            .map(|(_, version, kind, plural)| {
                let scope = if *kind == "Namespace" { "Cluster" } else { "Namespaced" };
                format!(
                    r#"{{"resource":"{plural}","responseKind":{{"group":"{group}","version":"{version}","kind":"{kind}"}},"scope":"{scope}","verbs":["get","list"],"categories":["some"]}}"#
                )
            })
            .collect();
        let freshness = if group == stale && !stale.is_empty() { "Stale" } else { "Current" };
        groups.push(format!(
            r#"{{"metadata":{{"name":"{group}"}},"versions":[{{"version":"v1","freshness":"{freshness}","resources":[{}]}}]}}"#,
            resources.join(",")
        ));
    }
    format!(
        r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{}]}}"#,
        groups.join(",")
    )
}

fn page(names: &[&str], next: &str) -> String {
    let items: Vec<String> =
        names.iter().map(|name| format!(r#"{{"metadata":{{"name":"{name}","namespace":"web"}}}}"#)).collect();
    format!(r#"{{"kind":"List","metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(","))
}

fn status(code: u16, reason: &str, message: &str) -> StubResponse {
    let message = message.replace('"', "\\\"");
    let body = format!(
        r#"{{"kind":"Status","status":"Failure","reason":"{reason}","message":"{message}","code":{code}}}"#
    );
    StubResponse::Body(code, body)
}

/// The server without faults: `ConfigMaps` on two pages, one object of each other kind.
fn good(request: &StubRequest) -> StubResponse {
    StubResponse::Body(
        200,
        match &*request.path {
            "/api" | "/apis" => discovery(&request.path, ""),
            "/api/v1/namespaces/web/configmaps" if request.query.contains("continue=2") => page(&["c"], ""),
            "/api/v1/namespaces/web/configmaps" => page(&["a", "b"], "2"),
            path if KINDS.iter().any(|kind| path.ends_with(kind.3)) => page(&["one"], ""),
            _ => return status(404, "NotFound", "not found"),
        },
    )
}

/// The second page of `ConfigMaps`.
fn is_second_page(request: &StubRequest) -> bool {
    request.path.ends_with("/configmaps") && request.query.contains("continue=2")
}

const ALL: [&str; 3] = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c"];

/// A server whose first responses to the second page of `ConfigMaps` are these, so many times.
fn second_page(times: usize, answer: impl Fn() -> StubResponse + Send + Sync + 'static) -> StubServer {
    StubServer::start(move |request| {
        if is_second_page(request) && request.before < times { answer() } else { good(request) }
    })
}
