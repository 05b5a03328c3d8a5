//! Against a real API server, built and started by the rig. Runs when `KYV_REAL_PROGRAMS` is 1.

mod rig;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rig::apiserver::ApiServer;
use serde_json::Value;
use tempfile::TempDir;

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

fn filled() -> ApiServer {
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

/// The headers of the diffs in a text: what changed, in order, but for what the server keeps for itself.
fn changed(stdout: &str) -> Vec<&str> {
    let headers = stdout.lines().filter_map(|line| line.strip_prefix("--- "));
    let names = headers.filter_map(|header| header.split('\t').next());
    names.filter(|name| !name.contains("/kube-system/")).collect()
}

/// What the program asked the server for, from its audit log: verb and path.
fn asked(server: &ApiServer) -> Vec<(String, String)> {
    let log = fs::read_to_string(server.audit_log()).expect("the audit log can be read");
    let rows = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("a row is JSON"));
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.filter(|row| text(row, "userAgent").starts_with("kubectl-kyv/"))
        .map(|row| (text(&row, "verb"), text(&row, "requestURI")))
        .collect()
}

#[test]
fn the_diff_of_live_objects_is_shown_and_nothing_is_written() {
    if rig::left_out("the diff of live objects") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let team = policies.argument("team");

    let run = kyv(admin, &["diff", "configmaps", "-n", "web", "-p", &team, "--chunk-size", "2"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let all = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c", "ConfigMap/web/d", "ConfigMap/web/e"];
    assert_eq!(changed(&run.stdout), all, "{run:?}");
    assert_eq!(run.stdout.matches("\n+    team: a\n").count(), 5, "{run:?}");
    assert!(!run.stdout.contains("managedFields"), "{run:?}");
    let lists: Vec<String> =
        asked(&server).into_iter().filter(|(verb, _)| verb == "list").map(|(_, path)| path).collect();
    assert_eq!(lists.len(), 3, "three pages of two: {lists:?}");
    assert!(lists.iter().all(|path| path.starts_with("/api/v1/namespaces/web/configmaps?")), "{lists:?}");
    assert!(lists.iter().all(|path| path.contains("limit=2")), "{lists:?}");
    assert!(!lists[0].contains("continue=") && lists[1].contains("continue="), "{lists:?}");

    for arguments in [["cm", "b", "d"].as_slice(), &["configmap/b", "cm/d"], &["ConfigMap", "b", "d"]] {
        let arguments = [&["diff", "-n", "web", "-p", &team], arguments].concat();
        let run = kyv(admin, &arguments);
        assert_eq!(
            (run.code, changed(&run.stdout)),
            (Some(1), vec![all[1], all[3]]),
            "{arguments:?} {run:?}"
        );
    }

    let run = kyv(admin, &["diff", "cm,deploy", "-A", "-p", &team, "-p", &policies.argument("replicas")]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(
        changed(&run.stdout),
        ["ConfigMap/back/z", all[0], all[1], all[2], all[3], all[4], "Deployment/web/site"],
        "{run:?}"
    );
    assert!(run.stdout.contains("-  replicas: 1\n+  replicas: 3\n"), "{run:?}");
    assert!(!run.stdout.contains("status:"), "{run:?}");

    // What runs already is updated, not created.
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &policies.argument("create")]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");
    let create = ["diff", "cm", "-n", "web", "-p", &policies.argument("create"), "--operation", "CREATE"];
    assert_eq!(kyv(admin, &create).code, Some(1));

    // The labels of the live namespaces decide.
    let run = kyv(admin, &["diff", "cm", "-A", "-p", &policies.argument("front")]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), all.to_vec()), "{run:?}");

    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-l", "app=x", "-p", &policies.argument("secret")]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["Secret/web/login"]), "{run:?}");
    assert!(run.stdout.contains("*** (before)") && run.stdout.contains("*** (after)"), "{run:?}");
    for secret in ["b2xkLXRva2Vu", "a2VlcC1tZQ==", "bmV3", "old-token"] {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
    }
    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-l", "app=y", "-p", &policies.argument("secret")]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");

    server.kubectl_ok(&["label", "configmaps", "--all", "-n", "web", "team=a"], "");
    let run = kyv(admin, &["diff", "configmaps", "-n", "web", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");

    let asked = asked(&server);
    assert!(!asked.is_empty());
    for (verb, path) in asked {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

#[test]
fn what_the_cluster_refuses_is_told_in_kubectls_words() {
    if rig::left_out("the cluster's refusals") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let team = policies.argument("team");

    // Whom nothing is granted.
    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "configmaps", "-n", "web", "-p", &team]);
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    let kubeconfig = server.kubeconfig_without_rights().to_str().expect("a plain path");
    let kubectl = server.kubectl_with(&["--kubeconfig", kubeconfig, "get", "configmaps", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(words.contains("(Forbidden)"), "{words}");
    assert!(refused.stderr.contains(words.trim()), "{refused:?} does not say {words}");

    // What is not there, beside what is.
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "a", "nope", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(4), vec!["ConfigMap/web/a"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "configmap", "nope", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(run.stderr.contains(words.trim()), "{run:?} does not say {words}");

    let run = kyv(admin, &["diff", "cm,widgets", "-n", "back", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(4), vec!["ConfigMap/back/z"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "widgets"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(run.stderr.contains(words.trim()), "{run:?} does not say {words}");

    // Labels of namespaces that cannot be read, though a policy asks for them.
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "rolebinding", "reader", "-n", "web", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let other = server.kubeconfig_without_rights();
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &policies.argument("front")]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    assert!(run.stderr.contains("Error from server (Forbidden): namespaces \"web\" is forbidden"), "{run:?}");
    // A policy that does not ask for them needs no such right.
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 5), "{run:?}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let policies = Policies::new();
    let kubeconfig = policies.path("kubeconfig");
    fs::write(
        &kubeconfig,
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\n\
         contexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {token: hidden-token}}]\n",
    )
    .expect("the folder takes files");
    let team = policies.argument("team");

    let run = kyv(&kubeconfig, &["diff", "cm", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    let words =
        "The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?";
    assert!(run.stderr.contains(words), "{run:?}");
    assert!(!run.stderr.contains("hidden-token"), "{run:?}");

    let run = kyv(&kubeconfig, &["diff", "cm", "-p", &team, "--context", "y"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("context \"y\" does not exist"), "{run:?}");

    let run = kyv(&policies.path("missing"), &["diff", "cm", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("missing.yaml"), "{run:?}");
}

#[test]
fn the_api_server_keeps_what_kubectl_applies() {
    if rig::left_out("the API server") {
        return;
    }
    let server = ApiServer::start();
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {text: hello}\n";
    server.kubectl_ok(&["apply", "-f", "-"], manifest);
    let text = server.kubectl_ok(&["get", "configmap", "greeting", "-o", "jsonpath={.data.text}"], "");
    assert_eq!(text, "hello");
}
