//! Against a real API server, built and started by the rig. Runs when `KYV_REAL_PROGRAMS` is 1.

#[path = "cluster/applied.rs"]
mod applied;
#[path = "cluster/explained.rs"]
mod explained;
#[path = "cluster/kyverno.rs"]
mod kyverno;
#[path = "cluster/reach.rs"]
mod reach;
mod rig;
#[path = "cluster/secrets.rs"]
mod secrets;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

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
    ended(output)
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

/// The objects whose diffs stand in a text, in order, but for what the server keeps for itself: the headers of those
/// that are in no file, and of the others what stands behind the numbers of their hunks.
fn changed(stdout: &str) -> Vec<&str> {
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

/// Arguments that name objects; each is put to kubectl, too.
const NAMED: [&[&str]; 24] = [
    &["configmaps", "nope", "-n", "web"],
    &["cm/nope", "-n", "web"],
    &["pods,svc", "nope"],
    &["ns", "nope"],
    &["nosuch"],
    &["nosuch/a"],
    &["widgets.foo"],
    &["widgets.v1.foo"],
    &["pods.apps"],
    &["pods,"],
    &["all", "a"],
    &["pod/a", "svc"],
    &["pods", "svc/a"],
    &["pod/a,svc/b"],
    &["pod/a/b"],
    &["pod/"],
    &["/a"],
    &["pods", ""],
    &["pods", "a%2fb"],
    &["pods/.."],
    &["pods", "a", "-l", "x=y"],
    &["pods", "a", "-A"],
    &["pods", "--field-selector", "spec.foo=1"],
    &["pods", "-l", "a in ("],
];

#[test]
fn names_are_read_and_refused_as_kubectl_does() {
    if rig::left_out("kubectl's grammar") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let all = policies.argument("team");
    let words = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).trim().to_owned();
    for arguments in NAMED {
        let run = kyv(server.kubeconfig(), &[&["diff", "-p", &all], arguments].concat());
        let kubectl = server.kubectl_with(&[&["get"], arguments].concat(), "");
        let said: Vec<&str> =
            run.stderr.lines().filter(|line| line.to_lowercase().starts_with("error")).collect();
        let said: Vec<&str> =
            said.into_iter().filter(|line| !line.contains("the answer is incomplete")).collect();
        assert_eq!(said.join("\n"), words(&kubectl), "{arguments:?} {run:?}");
        assert!(matches!(run.code, Some(2 | 4)), "{arguments:?} {run:?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
    }

    // Whom nothing is granted, as himself and as somebody else.
    for (arguments, other) in [
        (&["cm", "-n", "web"][..], None),
        (&["cm", "-A"], None),
        (&["nodes", "x"], None),
        (&["deploy/a", "-n", "web"], None),
        (&["secrets", "-n", "web"], Some(["--as", "bob", "--as-group", "devs"])),
    ] {
        let kubeconfig =
            if other.is_some() { server.kubeconfig() } else { server.kubeconfig_without_rights() };
        let other = other.as_ref().map_or(&[][..], |other| &other[..]);
        let run = kyv(kubeconfig, &[&["diff", "-p", &all], arguments, other].concat());
        let path = kubeconfig.to_str().expect("a plain path");
        let kubectl = server.kubectl_with(&[&["--kubeconfig", path, "get"], arguments, other].concat(), "");
        assert_eq!(run.stderr.lines().next(), Some(&*words(&kubectl)), "{arguments:?} {run:?}");
        assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{arguments:?} {run:?}");
    }

    // Every way to name a kind.
    for kind in [
        "deployments",
        "deploy",
        "Deployment",
        "deployment.apps",
        "deploy.v1.apps",
        "all",
        "deployments/site",
    ] {
        let run =
            kyv(server.kubeconfig(), &["diff", "-p", &policies.argument("replicas"), kind, "-n", "web"]);
        assert_eq!(
            (run.code, changed(&run.stdout)),
            (Some(1), vec!["Deployment/web/site"]),
            "{kind} {run:?}"
        );
    }
    let field = ["diff", "cm", "-n", "web", "--field-selector", "metadata.name=c", "-p", &all];
    let run = kyv(server.kubeconfig(), &field);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/c"]), "{run:?}");

    // No kind at all: those that the policies can match.
    let both = ["diff", "-A", "-p", &all, "-p", &policies.argument("replicas")];
    let run = kyv(server.kubeconfig(), &both);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 7), "{run:?}");
    let listed: Vec<String> = asked(&server)
        .into_iter()
        .rev()
        .take(3)
        .map(|(_, path)| path.split('?').next().unwrap().to_owned())
        .collect();
    assert!(listed.contains(&"/apis/apps/v1/deployments".to_owned()), "{listed:?}");
}

#[test]
fn certificates_names_and_tokens_are_checked_and_proxies_are_used() {
    if rig::left_out("the connection to a real API server") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let team = policies.argument("team");
    let run =
        |more: &[&str]| kyv(server.kubeconfig(), &[&["diff", "cm", "-n", "web", "-p", &team], more].concat());

    let other = ApiServer::start();
    let authority = other.kubeconfig().with_file_name("certs/apiserver.crt");
    let authority = authority.to_str().expect("a plain path");
    for (arguments, words) in [
        (
            &["--certificate-authority", authority][..],
            "Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (&["--token", "expired"], "error: You must be logged in to the server (Unauthorized)"),
    ] {
        let refused = run(arguments);
        assert_eq!(
            (refused.code, refused.stderr.trim(), &*refused.stdout),
            (Some(4), words, ""),
            "{refused:?}"
        );
        let kubectl = server.kubectl_with(&[&["get", "cm"], arguments].concat(), "");
        let told = String::from_utf8_lossy(&kubectl.stderr);
        assert!(told.trim().ends_with(words), "{told}");
    }
    let refused = run(&["--tls-server-name", "foo"]);
    let words = "Unable to connect to the server: tls: failed to verify certificate: certificate not valid for name \"foo\"";
    assert!(refused.code == Some(4) && refused.stderr.starts_with(words), "{refused:?}");
    assert_eq!(run(&["--tls-server-name", "kubernetes"]).code, Some(1));
    assert_eq!(run(&["--tls-server-name", "foo", "--insecure-skip-tls-verify"]).code, Some(1));

    let (proxy, connections) = tunnel();
    let text = fs::read_to_string(server.kubeconfig()).expect("it can be read");
    let text = text.replace("    server:", &format!("    proxy-url: http://{proxy}\n    server:"));
    let kubeconfig = policies.path("proxied");
    fs::write(&kubeconfig, text).expect("the folder takes files");
    let through = kyv(&kubeconfig, &["diff", "cm", "-n", "web", "-p", &team]);
    assert_eq!((through.code, changed(&through.stdout).len()), (Some(1), 5), "{through:?}");
    assert!(connections.load(Ordering::SeqCst) > 0);
}

/// A proxy that knows CONNECT: its address, and how many connections went through it.
fn tunnel() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has an address").to_string();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut near = stream.expect("a connection");
            let counted = Arc::clone(&counted);
            thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && near.read(&mut byte).unwrap_or(0) > 0 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).expect("text");
                let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next())
                else {
                    return;
                };
                let mut far = TcpStream::connect(target).expect("the server listens");
                counted.fetch_add(1, Ordering::SeqCst);
                near.write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("somebody waits");
                let (mut back, mut forth) =
                    (far.try_clone().expect("a handle"), near.try_clone().expect("a handle"));
                let there = thread::spawn(move || drop(io::copy(&mut forth, &mut far)));
                drop(io::copy(&mut back, &mut near));
                drop(there);
            });
        }
    });
    (address, count)
}

#[test]
fn manifests_are_evaluated_in_the_cluster() {
    if rig::left_out("manifests in a real cluster") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let path = policies.path("manifests");
    let manifests = path.to_str().expect("a plain path");
    let write = |text: &str| fs::write(&path, text).expect("the folder takes files");
    let stored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: new}}\n";
    let fresh = "{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: back}}\n";
    write(&format!("{stored}---\n{fresh}"));

    // The labels of the live namespaces decide, and nothing is known of them without the cluster.
    let front = policies.argument("front");
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &front]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    let run = kyv(admin, &["diff", "-f", manifests, "-p", &front]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "a cluster is named and not asked: {run:?}");

    // What is stored makes an update, and is the old object.
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &policies.argument("create")]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/back/new"]), "{run:?}");
    let old = policies.write(
        "old",
        "context: [{name: other, configMap: {name: z, namespace: back}}]\n    \
         preconditions: {all: [{key: '{{ request.oldObject.data.k || `\"none\"` }}', operator: Equals, value: a}]}\n    \
         mutate: {patchStrategicMerge: {data: {was: '{{ request.oldObject.data.k }}', other: '{{ other.data.k }}'}}}",
    );
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &old]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    assert!(run.stdout.contains("was: a") && run.stdout.contains("other: z"), "{run:?}");
    let reads =
        asked(&server).into_iter().filter(|(_, path)| path.ends_with("/namespaces/back/configmaps/z"));
    assert_eq!(reads.count(), 1);

    // Who may not read what is stored is told so.
    let run = kyv(
        server.kubeconfig_without_rights(),
        &["diff", "-f", manifests, "--live", "-p", &policies.argument("team")],
    );
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("Error from server (Forbidden): configmaps \"a\" is forbidden"), "{run:?}");

    // A call that is refused is an error of its rule.
    let call = policies.write(
        "call",
        "context: [{name: nodes, apiCall: {urlPath: /api/v1/nodes, jmesPath: 'length(items)'}}]\n    \
         mutate: {patchStrategicMerge: {data: {nodes: '{{ nodes }}'}}}",
    );
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let run = kyv(server.kubeconfig_without_rights(), &["diff", "-f", manifests, "--live", "-p", &call]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    assert!(
        run.stderr.contains("error: the answer is incomplete: not looked up: /api/v1/nodes\n"),
        "{run:?}"
    );
    let words = "failed to fetch data for APICall: failed to GET resource with raw url: /api/v1/nodes: nodes is forbidden: \
                 User \"nobody-special\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    assert_eq!(run.stderr.matches(words).count(), 2, "{run:?}");
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &call]);
    assert_eq!((run.code, run.stdout.matches("nodes: ").count()), (Some(1), 2), "{run:?}");

    // Schemas of custom resources say how their lists merge.
    server.kubectl_ok(&["apply", "-f", "-"], CRD);
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/widgets.example.com"], "");
    write(
        "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: web}, spec: {parts: [{id: a, size: 1}, {id: b, size: 1}]}}\n",
    );
    let widget =
        policies.write("widget", "mutate: {patchStrategicMerge: {spec: {parts: [{id: b, size: 2}]}}}");
    let text = fs::read_to_string(&widget).expect("it can be read").replace("[ConfigMap]", "[Widget]");
    fs::write(&widget, text).expect("the folder takes files");
    let run = kyv(admin, &["mutate", "-f", manifests, "--live", "-p", &widget, "-o", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let parts = result["spec"]["parts"].as_array().expect("a list");
    let mut sizes: Vec<_> = parts.iter().map(|part| (part["id"].as_str(), part["size"].as_u64())).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(Some("a"), Some(1)), (Some("b"), Some(2))], "{run:?}");

    for (verb, path) in asked(&server) {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items: {type: object, required: [id], properties: {id: {type: string}, size: {type: integer}}}
";

#[test]
fn the_policies_of_the_cluster_are_taken() {
    if rig::left_out("the policies of a real cluster") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    let words = "error: the server doesn't have a resource type \"clusterpolicies\"\n";
    assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(4), words, ""), "{run:?}");

    let crds = Command::new(rig::tool("kyverno-crds")).output().expect("it starts").stdout;
    let crds = String::from_utf8(crds).expect("text");
    server.kubectl_ok(&["apply", "--server-side", "-f", "-"], &crds);
    for crd in ["clusterpolicies.kyverno.io", "policies.kyverno.io"] {
        server.kubectl_ok(&["wait", "--for=condition=Established", &format!("crd/{crd}")], "");
    }
    let team = fs::read_to_string(policies.path("team")).expect("it can be read");
    let own = team
        .replace("kind: ClusterPolicy", "kind: Policy")
        .replace("{name: team}", "{name: own, namespace: back}");
    let own = own.replace("team: a", "own: x");
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{team}---\n{own}"));

    let run = kyv(admin, &["diff", "-A", "--cluster-policies", "-n", "web"]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 6), "{run:?}");
    assert_eq!(
        (run.stdout.matches("team: a").count(), run.stdout.matches("own: x").count()),
        (run.stdout.matches("\n--- ").count() + 1, 1),
        "{run:?}"
    );

    // One that is tried out stands in for that of the cluster.
    let path = policies.path("team-b");
    fs::write(&path, team.replace("team: a", "team: b")).expect("the folder takes files");
    let path = path.display().to_string();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies", "-p", &path]);
    assert_eq!(
        (run.stdout.matches("team: b").count(), run.stdout.matches("team: a").count()),
        (5, 0),
        "{run:?}"
    );
    assert!(run.stderr.contains("stands in for the policy team of the cluster"), "{run:?}");

    // An exception of the cluster takes one object out.
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: web}\nspec:\n  \
        exceptions: [{policyName: team, ruleNames: [r]}]\n  \
        match: {any: [{resources: {kinds: [ConfigMap], namespaces: [web], names: [c]}}]}\n";
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/policyexceptions.kyverno.io"], "");
    server.kubectl_ok(&["apply", "-f", "-"], exception);
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 4), "{run:?}");
    assert!(!run.stdout.contains("ConfigMap/web/c"), "{run:?}");

    // Manifests under the policies of the cluster.
    let manifest = policies.path("manifest");
    fs::write(&manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: back}}\n")
        .expect("it takes files");
    let run = kyv(admin, &["mutate", "-f", &manifest.display().to_string(), "--cluster-policies"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("team: a") && run.stdout.contains("own: x"), "{run:?}");

    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot list resource \"clusterpolicies\" in API group \"kyverno.io\""),
        "{refused:?}"
    );
}

#[cfg(unix)]
#[test]
fn kubectl_runs_the_plugin_and_completes_its_words() {
    if rig::left_out("the plugin of a real kubectl") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    for name in ["kubectl-kyv", "kubectl_complete-kyv"] {
        let link = policies.0.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kubectl-kyv"), link).expect("a link");
    }
    let kubectl = |arguments: &[&str]| {
        let output = Command::new(server.kubectl())
            .args(arguments)
            .env_clear()
            .env("PATH", policies.0.path())
            .env("KUBECONFIG", server.kubeconfig())
            .output()
            .expect("kubectl starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, stdout) = kubectl(&["kyv", "diff", "cm", "-n", "web", "-p", &policies.argument("team")]);
    assert_eq!((code, changed(&stdout).len()), (Some(1), 5), "{stdout}");

    let kubeconfig = server.kubeconfig().display().to_string();
    for (words, expected, directive) in [
        (&["di"][..], &["diff"][..], ":4"),
        (&["diff", "depl"], &["deployments"], ":4"),
        (&["diff", "cm,depl"], &["cm,deployments"], ":4"),
        (&["diff", "deploy", "-n", "web", ""], &["site"], ":4"),
        (&["diff", "-n", "web", "cm", "a", "b", ""], &["c", "d", "e"], ":4"),
        (&["diff", "-n=web", "deploy/"], &["deploy/site"], ":4"),
        (&["diff", "cm", "-n", "we"], &["web"], ":4"),
        (&["diff", "cm", "--namespace=we"], &["--namespace=web"], ":4"),
        (&["diff", "--context", ""], &["rig"], ":4"),
        (&["diff", "--user", ""], &["admin"], ":4"),
        (&["diff", "--kubeconfig", &kubeconfig, "--cluster", ""], &["rig"], ":4"),
        (&["diff", "-o", "su"], &["summary"], ":4"),
        (&["diff", "--context", "nosuch", "cm", ""], &[], ":4"),
        (&["diff", "-p", ""], &[], ":0"),
    ] {
        let (code, stdout) = kubectl(&[&["__complete", "kyv"], words].concat());
        let mut lines: Vec<&str> = stdout.lines().collect();
        assert_eq!((code, lines.pop()), (Some(0), Some(directive)), "{words:?} {stdout}");
        lines.retain(|line| *line != "kube-root-ca.crt");
        assert_eq!(lines, expected, "{words:?}");
    }
    let (_, namespaces) = kubectl(&["__complete", "kyv", "diff", "-n", ""]);
    for namespace in ["back", "default", "kube-system", "web"] {
        assert!(namespaces.lines().any(|line| line == namespace), "{namespaces}");
    }
}

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

/// Objects whose fields may not all change.
const FIXED: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: web}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: web}
spec: {activeDeadlineSeconds: 10, automountServiceAccountToken: false, containers: [{name: c, image: 'i:1'}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s, namespace: web}
spec:
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: c, image: 'i:1'}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: web}
spec:
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: 'i:1'}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: web}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'i:1'}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: w, namespace: web}
spec: {suspend: true, completionMode: Indexed, completions: 2, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'i:1'}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: v, namespace: web}
spec: {ports: [{port: 80}], selector: {app: s}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c, namespace: web}
spec: {storageClassName: x, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sealed, namespace: web}
immutable: true
data: {k: v}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: []
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: x}
provisioner: example.com/x
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: i}
spec: {controller: example.com/i}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: r}
handler: runc
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: e, namespace: web}
addressType: IPv4
endpoints: []
";

/// A kind, a name, a change, and whether the API server refuses it.
const CHANGES: [(&str, &str, &str, bool); 41] = [
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"c","image":"i:2"}]}}"#, false),
    ("Pod", "p", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("Pod", "p", r#"{"spec":{"activeDeadlineSeconds":5}}"#, false),
    ("Pod", "p", r#"{"spec":{"activeDeadlineSeconds":20}}"#, true),
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"b"}]}]}}"#, true),
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"d","image":"i:1"}]}}"#, true),
    ("Pod", "p", r#"{"spec":{"terminationGracePeriodSeconds":5}}"#, true),
    ("Pod", "p", r#"{"spec":{"hostNetwork":true}}"#, true),
    ("Deployment", "site", r#"{"spec":{"replicas":2}}"#, false),
    ("Deployment", "site", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    (
        "Deployment",
        "site",
        r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        true,
    ),
    ("DaemonSet", "d", r#"{"spec":{"minReadySeconds":2}}"#, false),
    (
        "DaemonSet",
        "d",
        r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        true,
    ),
    ("StatefulSet", "s", r#"{"spec":{"minReadySeconds":2}}"#, false),
    ("StatefulSet", "s", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    ("StatefulSet", "s", r#"{"spec":{"serviceName":"other"}}"#, true),
    ("StatefulSet", "s", r#"{"spec":{"podManagementPolicy":"Parallel"}}"#, true),
    ("Job", "j", r#"{"spec":{"backoffLimit":3}}"#, false),
    ("Job", "j", r#"{"spec":{"completions":2}}"#, true),
    ("Job", "j", r#"{"spec":{"template":{"spec":{"hostNetwork":true}}}}"#, true),
    ("Job", "j", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, true),
    ("Job", "w", r#"{"spec":{"completions":3,"parallelism":3}}"#, false),
    ("Job", "w", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    ("Job", "w", r#"{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}"#, false),
    ("Service", "v", r#"{"spec":{"sessionAffinity":"ClientIP"}}"#, false),
    ("Service", "v", r#"{"spec":{"clusterIP":"10.0.0.77"}}"#, true),
    ("PersistentVolumeClaim", "c", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("PersistentVolumeClaim", "c", r#"{"spec":{"storageClassName":"y"}}"#, true),
    ("PersistentVolumeClaim", "c", r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#, true),
    ("PersistentVolume", "v", r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#, false),
    ("PersistentVolume", "v", r#"{"spec":{"hostPath":{"path":"/b"}}}"#, true),
    ("ConfigMap", "sealed", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("ConfigMap", "sealed", r#"{"data":{"k":"w"}}"#, true),
    ("Secret", "login", r#"{"type":"example.com/other"}"#, true),
    ("RoleBinding", "b", r#"{"roleRef":{"name":"edit"}}"#, true),
    ("StorageClass", "x", r#"{"allowVolumeExpansion":true}"#, false),
    ("StorageClass", "x", r#"{"provisioner":"example.com/y"}"#, true),
    ("IngressClass", "i", r#"{"spec":{"controller":"example.com/j"}}"#, true),
    ("RuntimeClass", "r", r#"{"handler":"gvisor"}"#, true),
    ("PriorityClass", "high", r#"{"value":11}"#, true),
    ("EndpointSlice", "e", r#"{"addressType":"IPv6"}"#, true),
];

#[test]
fn what_the_server_refuses_to_change_is_told_before() {
    if rig::left_out("fields that may not change") {
        return;
    }
    let server = filled();
    server.kubectl_ok(&["apply", "-f", "-"], FIXED);
    let policies = Policies::new();
    let mut wrong = Vec::new();
    for (kind, name, patch, is_refused) in CHANGES {
        let policy = existing(
            &policies,
            "change",
            &format!("kinds: [{kind}], names: [{name}]"),
            &format!("patchStrategicMerge: {patch}"),
        );
        let run = kyv(server.kubeconfig(), &["diff", kind, name, "-n", "web", "-p", &policy, "-o", "json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let said = (&report["summary"]["changed"], &report["summary"]["impact"]["immutable"]["objects"]);
        let arguments = ["patch", kind, name, "-n", "web", "--dry-run=server", "-p", patch];
        let kubectl = server.kubectl_with(&arguments, "");
        let words = String::from_utf8_lossy(&kubectl.stderr).into_owned();
        let expected = (&Value::from(1), &Value::from(usize::from(is_refused)));
        if kubectl.status.success() == is_refused || said != expected {
            wrong.push(format!("{kind} {patch}: said {said:?}, kubectl: {words}; {}", run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_says_what_changes_mean() {
    if rig::left_out("what changes mean") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let host = existing(
        &policies,
        "host",
        "kinds: [Deployment]",
        "patchStrategicMerge: {spec: {template: {spec: {hostNetwork: true}}}}",
    );
    let team = policies.argument("team");
    let base = ["diff", "deploy,cm", "-n", "web", "-p", &host, "-p", &team, "-o"];
    let run = kyv(server.kubeconfig(), &[&base[..], &["summary"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let end = "6 objects, 6 would change\n\n\
               rollout: 1 object would have its Pods replaced\n  Deployment/web/site\n\n\
               privilege: 1 object would be allowed more than before\n  \
               Deployment/web/site (spec.template.spec.hostNetwork)\n";
    assert!(run.stdout.ends_with(end), "{run:?}");
    assert!(run.stdout.contains("ERRORS   ROLLOUT   PRIVILEGE\n"), "{run:?}");
    let run = kyv(server.kubeconfig(), &[&base[..], &["markdown"]].concat());
    for words in [
        "**rollout: 1 object would have its Pods replaced**\n\n* Deployment/web/site\n",
        "| Errors | Rollout | Privilege |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        "| host | r | Deployment | web | 1 | 0 | 0 | 0 | 0 | 1 | 1 |\n",
    ] {
        assert!(run.stdout.contains(words), "{words} {run:?}");
    }
    let run = kyv(server.kubeconfig(), &[&base[..], &["json"]].concat());
    let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let summary = &report["summary"];
    assert_eq!(summary["impact"]["rollout"]["first"][0]["name"], "site", "{run:?}");
    assert_eq!(summary["impact"]["privilege"]["first"][0]["paths"][0], "/spec/template/spec/hostNetwork");
    assert_eq!(summary["unchanged"], 0);
    let site =
        report["objects"].as_array().expect("objects").iter().find(|row| row["object"]["name"] == "site");
    assert_eq!(site.expect("it is told")["impact"]["rollout"], true, "{run:?}");
}

/// A policy with targets.
fn existing(policies: &Policies, name: &str, matching: &str, mutate: &str) -> String {
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  \
         - name: r\n    match: {{any: [{{resources: {{{matching}}}}}]}}\n    mutate: {{{mutate}}}\n"
    );
    fs::write(policies.path(name), text).expect("the folder takes files");
    policies.argument(name)
}

#[test]
fn targets_are_read_from_the_cluster_and_their_rights_are_asked_for() {
    if rig::left_out("targets of the cluster") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let patch = "patchStrategicMerge: {metadata: {labels: {touched: \"yes\"}}}";
    let login = existing(
        &policies,
        "login",
        "kinds: [ConfigMap], namespaces: [web], names: [a], operations: [CREATE, UPDATE]",
        &format!("targets: [{{apiVersion: v1, kind: Secret, namespace: web, name: login}}], {patch}"),
    );

    // Live triggers; the target is none of them.
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &login]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["Secret/web/login"]), "{run:?}");
    assert!(run.stdout.contains("+    touched: \"yes\"\n"), "{run:?}");
    assert!(!run.stdout.contains("b2xkLXRva2Vu") && !run.stdout.contains("managedFields"), "{run:?}");
    let gets = asked(&server).into_iter().filter(|(_, path)| path.contains("/secrets"));
    assert_eq!(
        gets.collect::<Vec<_>>(),
        [("get".to_owned(), "/api/v1/namespaces/web/secrets/login".to_owned())]
    );

    // By a pattern of names, by labels, with no TYPE.
    for (name, target) in [
        ("by-name", "apiVersion: v1, kind: ConfigMap, namespace: \"w*\", name: \"[b]\""),
        ("pattern", "apiVersion: v1, kind: ConfigMap, namespace: \"*\", name: \"?\""),
        ("own", "apiVersion: v1, kind: ConfigMap, namespace: \"{{ request.namespace }}\", name: \"*\""),
        ("labels", "apiVersion: v1, kind: Secret, namespace: web, selector: {matchLabels: {app: x}}"),
    ] {
        let policy =
            existing(&policies, name, "kinds: [Deployment]", &format!("targets: [{{{target}}}], {patch}"));
        let run = kyv(admin, &["diff", "-A", "-p", &policy]);
        let all = [
            "ConfigMap/back/z",
            "ConfigMap/web/a",
            "ConfigMap/web/b",
            "ConfigMap/web/c",
            "ConfigMap/web/d",
            "ConfigMap/web/e",
        ];
        let expected: &[&str] = match name {
            "by-name" => &[],
            "pattern" => &all,
            "own" => &all[1..],
            _ => &["Secret/web/login"],
        };
        assert_eq!(changed(&run.stdout), expected, "{name} {run:?}");
    }

    // A subresource.
    let scale = existing(
        &policies,
        "scale",
        "kinds: [ConfigMap], names: [a]",
        "targets: [{apiVersion: apps/v1, kind: Deployment/scale, namespace: web, name: site}], \
         patchStrategicMerge: {spec: {replicas: 5}}",
    );
    let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &scale]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["Scale/web/site"]), "{run:?}");
    assert!(run.stdout.contains("-  replicas: 1\n+  replicas: 5\n"), "{run:?}");

    // What is not there, and what nobody serves.
    for (name, target, words) in [
        ("gone", "apiVersion: v1, kind: Secret, namespace: web, name: nope", "secrets \"nope\" not found"),
        (
            "unserved",
            "apiVersion: example.com/v1, kind: Widget, namespace: web, name: w",
            "the server doesn't have a resource type \"Widget\"",
        ),
    ] {
        let policy =
            existing(&policies, name, "kinds: [ConfigMap]", &format!("targets: [{{{target}}}], {patch}"));
        let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &policy]);
        assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    }

    // A manifest is compared with what is stored: only the changed data triggers.
    let on_change = existing(
        &policies,
        "on-change",
        "kinds: [ConfigMap]",
        &format!("targets: [{{apiVersion: v1, kind: Secret, namespace: web, name: login}}], {patch}"),
    );
    let text = fs::read_to_string(&on_change).expect("it was written").replace(
        "    mutate:",
        "    preconditions: {all: [{key: \"{{ request.object.data.k }}\", operator: NotEquals, value: \"{{ request.oldObject.data.k }}\"}]}\n    mutate:",
    );
    fs::write(&on_change, text).expect("the folder takes files");
    let manifest = policies.path("manifest");
    for (data, expected) in [("a", &[][..]), ("other", &["Secret/web/login"])] {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: web}}\ndata: {{k: {data}}}\n"
        );
        fs::write(&manifest, text).expect("the folder takes files");
        let run = kyv(admin, &["diff", "--live", "-f", &policies.argument("manifest"), "-p", &on_change]);
        assert_eq!(changed(&run.stdout), expected, "{data} {run:?}");
    }

    // Rights of a service account, read alone; then all of them.
    let account = "system:serviceaccount:kyverno:kyverno-background-controller";
    let deployment = existing(
        &policies,
        "deployment",
        "kinds: [ConfigMap], names: [a]",
        &format!("targets: [{{apiVersion: apps/v1, kind: Deployment, namespace: web, name: site}}], {patch}"),
    );
    let check = ["diff", "cm", "-n", "web", "-p", &deployment, "--check-rights", account];
    let refused = |verb: &str| {
        format!(
            "deployments.apps \"site\" is forbidden: User \"{account}\" cannot {verb} resource \"deployments\" in \
             API group \"apps\" in the namespace \"web\""
        )
    };
    let run = kyv(admin, &check);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains(&refused("get")), "{run:?}");
    assert!(!run.stderr.contains("note: Kyverno"), "{run:?}");
    // A difference was reached: the version that runs here is on one side of it.
    server.kubectl_ok(&["apply", "-f", "-"], KYVERNO);
    let run = kyv(admin, &check);
    let words = "note: Kyverno v1.19.1 runs in the namespace policy-engine of this cluster: for KYV-D";
    assert!(run.stderr.contains(words), "{run:?}");
    assert!(
        run.stderr.contains("it does what `kyverno` stands for, as --semantics kyverno shows\n"),
        "{run:?}"
    );
    let group = "--group=system:serviceaccounts:kyverno";
    server
        .kubectl_ok(&["create", "clusterrole", "see", "--verb=get,list", "--resource=deployments.apps"], "");
    server.kubectl_ok(&["create", "rolebinding", "see", "-n", "web", "--clusterrole=see", group], "");
    let run = kyv(admin, &check);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains(&refused("update")), "{run:?}");
    assert!(
        run.stderr.contains("requires permissions update for resource apps/v1/Deployment in namespace web"),
        "{run:?}"
    );
    assert!(run.stderr.contains("the UpdateRequest would fail with"), "{run:?}");
    // The same as the user in question, who also needs to read the triggers.
    server.kubectl_ok(&["create", "clusterrole", "cms", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(&["create", "rolebinding", "cms", "-n", "web", "--clusterrole=cms", group], "");
    let own = ["diff", "cm", "-n", "web", "-p", &deployment, "--as", account, "--as-group"];
    let own = [&own[..], &["system:serviceaccounts:kyverno", "--as-group", "system:authenticated"]].concat();
    let run = kyv(admin, &own);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains(&refused("update")), "{run:?}");
    assert!(!run.stderr.contains("note: Kyverno"), "who may not see it hears nothing of it: {run:?}");
    server.kubectl_ok(&["create", "clusterrole", "do", "--verb=update", "--resource=deployments.apps"], "");
    server.kubectl_ok(&["create", "rolebinding", "do", "-n", "web", "--clusterrole=do", group], "");
    for arguments in [&check[..], &own] {
        let run = kyv(admin, arguments);
        assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["Deployment/web/site"]), "{run:?}");
    }

    for (verb, path) in asked(&server) {
        let is_review = verb == "create" && path.contains("accessreviews");
        assert!(matches!(&*verb, "get" | "list") || is_review, "{verb} {path}");
    }
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
    assert!(
        run.stderr.contains("Error in configuration: context was not found for specified context: y"),
        "{run:?}"
    );

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

/// Denies `ConfigMaps` of one namespace that belong to team a.
const DENIAL: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-team}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations:
  - expression: \"object.metadata.namespace != 'back' || !has(object.metadata.labels) || object.metadata.labels.?team.orValue('') != 'a'\"
    message: team a may not be here
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-team}
spec: {policyName: no-team, validationActions: [Deny]}
";

/// Everything that the server holds of some kinds, versions included.
fn held(server: &ApiServer) -> String {
    server.kubectl_ok(&["get", "cm,secrets,deploy,ns", "-A", "-o", "json", "--show-managed-fields"], "")
}

#[test]
fn the_server_is_asked_what_it_would_store_and_stores_nothing() {
    if rig::left_out("dry runs on a real API server") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let team = policies.argument("team");
    server.kubectl_ok(&["apply", "-f", "-"], DENIAL);
    let denied = || {
        let label = ["label", "cm", "z", "-n", "back", "team=a", "--dry-run=server"];
        !server.kubectl_with(&label, "").status.success()
    };
    for _ in 0..300 {
        if denied() {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(100));
    }
    let before = held(&server);

    // What it takes as it is.
    let plain = kyv(admin, &["diff", "cm", "-n", "web", "-p", &team]);
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &team, "--server-dry-run"]);
    assert_eq!((run.code, &run.stdout), (Some(1), &plain.stdout), "{run:?}");
    assert!(run.stderr.ends_with("5 objects, 5 would change; server dry run: 5 accepted\n"), "{run:?}");

    // What an admission policy denies, beside what it takes.
    let words = "configmaps \"z\" is forbidden: ValidatingAdmissionPolicy 'no-team' with binding 'no-team' denied request: \
                 team a may not be here";
    let all =
        ["cm", "-A", "--field-selector", "metadata.namespace!=kube-system", "-p", &team, "--server-dry-run"];
    let run = kyv(admin, &[&["diff"][..], &all].concat());
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(3), 6), "{run:?}");
    assert!(
        run.stdout.contains(&format!("\n# ConfigMap/back/z: the API server refuses it: {words}\n")),
        "{run:?}"
    );
    assert!(
        run.stderr.contains(&format!("error: ConfigMap/back/z: the API server refuses it: {words}\n")),
        "{run:?}"
    );
    let run = kyv(admin, &[&["diff", "-o", "summary"][..], &all].concat());
    assert!(
        run.stdout.ends_with("6 objects, 6 would change; server dry run: 5 accepted, 1 refused\n"),
        "{run:?}"
    );
    let tape = policies.path("tape");
    let tape = tape.to_str().expect("a plain path");
    let json = kyv(admin, &[&["diff", "-o", "json", "--record", tape][..], &all].concat());
    let value: Value = serde_json::from_str(&json.stdout).expect("it prints JSON");
    assert_eq!(value["objects"][0]["server"]["verdict"], "refused");
    assert_eq!(value["objects"][0]["server"]["message"], words);
    assert_eq!(value["objects"][1]["server"], serde_json::json!({"verdict": "accepted", "patch": []}));
    assert_eq!(value["summary"]["serverDryRun"]["refused"], 1);

    // The same again, without the server.
    let requests = asked(&server).len();
    let replayed = kyv(admin, &[&["diff", "-o", "json", "--replay", tape][..], &all].concat());
    assert_eq!((replayed.code, &replayed.stdout), (json.code, &json.stdout), "{replayed:?}");
    assert_eq!(asked(&server).len(), requests);

    // What its own validation refuses.
    let negative = policies.argument("replicas");
    let text = fs::read_to_string(&negative).expect("it can be read").replace("replicas: 3", "replicas: -3");
    fs::write(policies.path("negative"), text).expect("the folder takes files");
    let negative = policies.argument("negative");
    let run = kyv(admin, &["diff", "deploy", "-n", "web", "-p", &negative, "--server-dry-run"]);
    let words = "Deployment.apps \"site\" is invalid: spec.replicas: Invalid value: -3: must be greater than or equal to 0";
    assert!(run.code == Some(3) && run.stdout.contains(words), "{run:?}");

    // Manifests: one is there, one is not, and gets its defaults.
    let path = policies.path("manifests");
    let manifests = path.to_str().expect("a plain path");
    let stored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: new}}\n";
    let fresh = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: new, namespace: web}, spec: {selector: {matchLabels: \
                 {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x:1}]}}}}\n";
    fs::write(&path, format!("{stored}---\n{fresh}")).expect("the folder takes files");
    let replicas = policies.argument("replicas");
    let run =
        kyv(admin, &["diff", "-f", manifests, "--live", "-p", &team, "-p", &replicas, "--server-dry-run"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("server dry run: 2 accepted ("), "{run:?}");
    let (ours, theirs) =
        run.stdout.split_once("+++ Deployment/web/new\tas the API server would store it\n").expect("changes");
    assert!(ours.contains("replicas: 3") && theirs.contains("+  revisionHistoryLimit: 10\n"), "{run:?}");

    // The values of Secrets are shown of neither state.
    let secret = policies.argument("secret");
    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-p", &secret, "--server-dry-run", "--record", tape]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let replayed =
        kyv(admin, &["diff", "secrets", "-n", "web", "-p", &secret, "--server-dry-run", "--replay", tape]);
    assert_eq!((replayed.code, &replayed.stdout), (run.code, &run.stdout), "{replayed:?}");
    let files = fs::read_dir(tape).expect("a folder");
    let files: String =
        files.map(|entry| fs::read_to_string(entry.expect("a file").path()).expect("text")).collect();
    for hidden in ["b2xkLXRva2Vu", "a2VlcC1tZQ==", "bmV3", "old-token"] {
        assert!(!run.stdout.contains(hidden) && !files.contains(hidden), "{hidden}");
    }

    // Who may not write is told that nothing is known.
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let one = ["diff", "cm", "a", "-n", "web", "-p", &team, "--server-dry-run"];
    let run = kyv(server.kubeconfig_without_rights(), &one);
    let words = "the API server does not say whether it takes it: configmaps \"a\" is forbidden: User \"nobody-special\" cannot \
                 update resource \"configmaps\" in API group \"\" in the namespace \"web\"";
    assert!(run.code == Some(4) && run.stderr.contains(words) && run.stdout.contains(words), "{run:?}");

    // Nothing was written, and nothing that could write was ever sent.
    assert_eq!(held(&server), before);
    let mut tried = 0;
    for (verb, path) in asked(&server) {
        match &*verb {
            "get" | "list" => {}
            "create" | "update" | "patch" => {
                tried += 1;
                assert!(path.contains("?dryRun=All&fieldManager=kubectl-kyv&"), "{verb} {path}");
            }
            _ => panic!("{verb} {path}"),
        }
    }
    assert!(tried > 20, "{tried}");
}
