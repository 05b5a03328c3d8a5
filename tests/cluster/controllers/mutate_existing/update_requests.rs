//! `UpdateRequests` of the background controller: their states, messages and events, and the access that they need.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::test_cluster::{BACKGROUND, Request, TestCluster, stored_object};
use crate::controllers::mutate_output::failures;
use test_support::api_server::ApiServer;
use test_support::kyverno::Kyverno;
use test_support::rest::Rest;

/// How often a request is seen to have failed: it is tried five times, and the last failure deletes it.
const FAILURES: usize = 4;

/// What our program left.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    objects: BTreeMap<String, Value>,
    stderr: String,
}

/// Our program beside a cluster, with policies in files.
struct Kyv<'a> {
    server: &'a ApiServer,
    folder: TempDir,
}

impl<'a> Kyv<'a> {
    fn new(server: &'a ApiServer) -> Self {
        Self { server, folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// The prediction for live triggers and their targets.
    fn say(&self, policy: &Value, arguments: &[&str]) -> Run {
        let output = self.run("mutate", policy, arguments, self.server.kubeconfig());
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let objects = printed["items"].as_array().cloned().unwrap_or_else(|| vec![printed]);
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        Run {
            code: output.status.code(),
            objects: objects.into_iter().map(|object| (name(&object), object)).collect(),
            stderr: String::from_utf8(output.stderr).expect("it says text"),
        }
    }

    /// Whether what was recorded is said again, to the byte, where there is no cluster.
    fn repeats(&self, policy: &Value, arguments: &[&str], tape: &str) -> bool {
        let tape = self.folder.path().join(tape).display().to_string();
        let with = |option| [arguments, &[option, &*tape]].concat();
        let live = self.run("mutate", policy, &with("--record"), self.server.kubeconfig());
        live == self.run("mutate", policy, &with("--replay"), Path::new("not-there"))
    }

    /// What we report.
    fn reported(&self, policy: &Value, arguments: &[&str]) -> Value {
        let output = self.run("diff", policy, arguments, self.server.kubeconfig());
        serde_json::from_slice(&output.stdout).expect("a report")
    }

    /// What we report of an object.
    fn report(&self, policy: &Value, arguments: &[&str], name: &str) -> Value {
        let report = self.reported(policy, arguments);
        let objects = report["objects"].as_array().into_iter().flatten();
        objects.into_iter().find(|entry| entry["object"]["name"] == name).expect("it is told").clone()
    }

    fn run(&self, command: &str, policy: &Value, arguments: &[&str], kubeconfig: &Path) -> Output {
        let path = self.folder.path().join("policy.json");
        fs::write(&path, policy.to_string()).expect("the folder takes files");
        Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .arg(command)
            .args(arguments)
            .args(["-o", "json", "-p"])
            .arg(&path)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }
}

/// A policy with one rule.
fn policy(name: &str, rule: Value) -> Value {
    let mut rule = rule;
    rule["name"] = json!("r");
    json!({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name},
        "spec": {"rules": [rule]}})
}

/// A policy that labels a Deployment when a ConfigMap of the name `trigger` comes.
fn add_label(name: &str, value: &str) -> Value {
    policy(
        name,
        json!({
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["trigger"]}}]},
            "mutate": {
                "targets": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "foobar", "namespace": "default"}],
                "patchStrategicMerge": {"metadata": {"labels": {"foo": value}}},
            },
        }),
    )
}

fn trigger() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trigger", "namespace": "default"}})
}

fn target() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "foobar", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "foobar"}}, "template": {
            "metadata": {"labels": {"app": "foobar"}},
            "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}})
}

fn settings() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kyverno", "namespace": "kyverno"}})
}

/// The live trigger, sent as an update.
const UPDATE: [&str; 6] = ["cm", "trigger", "-n", "default", "--operation", "UPDATE"];

/// A fresh trigger and target.
fn set(rest: &Rest) {
    for object in [trigger(), target()] {
        rest.remove(&object);
        rest.create(&object, "").expect("the server takes it");
    }
}

/// The label that the target carries.
fn label(object: Option<&Value>) -> Option<String> {
    object?["metadata"]["labels"]["foo"].as_str().map(str::to_owned)
}

/// The events about a policy: reason, text, kind and name of the target.
fn events(rest: &Rest, policy: &str) -> Vec<[String; 4]> {
    let events = rest.ask("GET", "/apis/events.k8s.io/v1/events", None).expect("events can be listed");
    let events = events["items"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events
        .filter(|event| event["regarding"]["kind"] == "ClusterPolicy" && event["regarding"]["name"] == policy)
        .map(|event| {
            let related = &event["related"];
            [text(&event["reason"]), text(&event["note"]), text(&related["kind"]), text(&related["name"])]
        })
        .collect()
}

/// The states that each request went through, each named once.
fn phases_of(requests: &[Request]) -> Vec<Vec<String>> {
    let mut phases_of: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for Request { name, state, .. } in requests {
        let phases = phases_of.entry(name).or_default();
        if !state.is_empty() && phases.last() != Some(state) {
            phases.push(state.clone());
        }
    }
    phases_of.into_values().collect()
}

#[test]
fn update_requests_run_and_report_as_predicted() {
    if test_support::skip_without_real_programs("requests to Kyverno's background controller") {
        return;
    }
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let _kyverno = Kyverno::start(&server);
    let ours = Kyv::new(&server);
    let mut cluster = TestCluster::new(&rest);

    succeeds(&ours, &mut cluster);
    comes_again(&ours, &mut cluster);
    comes_with_the_policy(&ours, &mut cluster);
    reaches_webhooks(&ours, &mut cluster);
    changes_what_may_not(&ours, &mut cluster);
    lacks_rights(&ours, &mut cluster);
}

/// A request that succeeds is gone at once, and an event on the policy tells of it.
fn succeeds(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    set(rest);
    let policy = add_label("add-sec", "bar");
    let documented = ours.say(&policy, &UPDATE);
    let kyverno = ours.say(&policy, &[&UPDATE[..], &["--semantics", "kyverno"]].concat());
    let reported = ours.reported(&policy, &UPDATE)["summary"]["kyverno"].take();
    // Kyverno writes no event about success unless it is configured to.
    let mut settings = rest.get(&settings()).expect("Kyverno has settings");
    settings["data"]["generateSuccessEvents"] = json!("true");
    rest.replace(&settings, "").expect("they can be changed");
    cluster.install(std::slice::from_ref(&policy)).expect("Kyverno takes it");
    drop(cluster.requests());
    rest.replace(&trigger(), "").expect("the trigger is taken");
    cluster.drain();

    let did = stored_object(rest, &target()).expect("it is there");
    assert_eq!(label(Some(&did)).as_deref(), Some("bar"), "{did}");
    assert_eq!(kyverno.objects["foobar"]["metadata"]["labels"], did["metadata"]["labels"], "{kyverno:?}");
    assert!(failures(&kyverno.stderr).is_empty(), "{kyverno:?}");
    let phases = ["Pending", "Completed", "deleted"].map(str::to_owned);
    assert_eq!(phases_of(&cluster.requests()), [phases]);

    // The documentation promises an annotation and an event on the target; there is none, as predicted.
    let annotation = |object: &Value| {
        object["metadata"]["annotations"]["policies.kyverno.io/last-applied-patches"]
            .as_str()
            .map(str::to_owned)
    };
    assert!(annotation(&documented.objects["foobar"]).is_some(), "{documented:?}");
    assert_eq!(annotation(&kyverno.objects["foobar"]), annotation(&did), "{kyverno:?}");
    assert!(documented.stderr.contains("note[KYV-D04]: "), "{documented:?}");
    let told = ["PolicyApplied", "resource mutated", "Deployment", "foobar"].map(str::to_owned);
    cluster.installer.wait("an event tells of the change", |rest| events(rest, "add-sec").contains(&told));

    // The version that runs here is on the other side, as it really did.
    let version = "note[KYV806]: Kyverno v1.19.0 runs in the namespace kyverno of this cluster: for KYV-D04 it behaves as --semantics kyverno shows\n";
    assert!(documented.stderr.contains(version), "{documented:?}");
    assert_eq!(reported["version"], "v1.19.0", "{reported}");
    assert_eq!(reported["divergences"], json!(["KYV-D04"]), "{reported}");
    let version = "this cluster: for KYV-D04 it behaves as this run shows\n";
    assert!(kyverno.stderr.contains(version), "{kyverno:?}");
    rest.remove(&policy);
}

/// Every update of a trigger counts, if only an annotation comes; what reads the target as it is then grows.
fn comes_again(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    set(rest);
    let policy =
        add_label("grow", "{{ request.object.data.key }}-{{ target.metadata.labels.foo || 'none' }}");
    cluster.install(std::slice::from_ref(&policy)).expect("Kyverno takes it");
    for (key, expected) in [("one", "one-none"), ("one", "one-one-none"), ("uno", "uno-one-one-none")] {
        let mut sent = trigger();
        sent["data"] = json!({"key": key});
        sent["metadata"]["annotations"] = json!({"expected": expected});
        let path = ours.folder.path().join("trigger.json");
        fs::write(&path, sent.to_string()).expect("the folder takes files");
        let arguments = ["-f", path.to_str().expect("a plain path"), "--live", "--semantics", "kyverno"];
        let said = ours.say(&policy, &arguments);
        rest.replace(&sent, "").expect("the trigger is taken");
        cluster.drain();
        let did = label(stored_object(rest, &target()).as_ref());
        assert_eq!(
            (label(said.objects.get("foobar")), did.as_deref()),
            (did.clone(), Some(expected)),
            "{said:?}"
        );
    }
    rest.remove(&policy);
    cluster.installer.settle();
}

/// A policy that says so changes what exists when its rules come or change, and no other thing undoes or repeats it.
fn comes_with_the_policy(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    set(rest);
    let of = |value: &str| {
        let mut policy = add_label("on-update", value);
        policy["spec"]["rules"][0]["mutate"]["mutateExistingOnPolicyUpdate"] = json!(true);
        policy
    };
    let arguments = ["cm", "trigger", "-n", "default", "--on-policy-update", "--semantics", "kyverno"];
    for (value, is_new) in [("bar", true), ("baz", false)] {
        let said = ours.say(&of(value), &arguments);
        if is_new {
            cluster.install(&[of(value)]).expect("Kyverno takes it");
        } else {
            rest.replace(&of(value), "").expect("Kyverno takes it");
            cluster.installer.settle();
        }
        // The controller of policies makes the requests in its own time.
        cluster.installer.wait("the change of the policy is applied", |rest| {
            label(stored_object(rest, &target()).as_ref()) == label(said.objects.get("foobar"))
        });
        assert_eq!(label(said.objects.get("foobar")).as_deref(), Some(value), "{said:?}");
    }
    cluster.drain();
    drop(cluster.requests());

    // A change of its labels alone is no request.
    rest.replace(&target(), "").expect("the target can be reset");
    let mut labelled = of("baz");
    labelled["metadata"]["labels"] = json!({"seen": "yes"});
    rest.replace(&labelled, "").expect("Kyverno takes it");
    cluster.installer.settle();
    cluster.drain();
    assert_eq!(cluster.requests(), []);
    assert_eq!(label(stored_object(rest, &target()).as_ref()), None);

    // A deletion undoes nothing.
    rest.replace(&trigger(), "").expect("the trigger is taken");
    cluster.drain();
    rest.remove(&labelled);
    cluster.installer.settle();
    cluster.drain();
    assert_eq!(label(stored_object(rest, &target()).as_ref()).as_deref(), Some("baz"));
}

/// Triggers reach Kyverno through the validating webhook; the prediction names its operations.
fn reaches_webhooks(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    set(rest);
    let existing = add_label("existing", "bar");
    let pods = policy(
        "pods",
        json!({
            "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
            "mutate": {"patchStrategicMerge": {"metadata": {"labels": {"foo": "bar"}}}},
        }),
    );
    cluster.install(&[existing.clone(), pods.clone()]).expect("Kyverno takes them");
    let operations = |kind: &str, resource: &str| {
        let path = format!(
            "/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/kyverno-resource-{kind}-webhook-cfg"
        );
        let found = rest.ask("GET", &path, None).expect("Kyverno keeps it");
        let webhooks = found["webhooks"].as_array().into_iter().flatten();
        let rules = webhooks.filter_map(|webhook| webhook["rules"].as_array()).flatten();
        let rules = rules.filter(|rule| {
            rule["resources"].as_array().is_some_and(|all| all.iter().any(|one| one == resource))
        });
        let mut operations: Vec<String> = rules
            .filter_map(|rule| rule["operations"].as_array())
            .flatten()
            .filter_map(|operation| operation.as_str().map(str::to_owned))
            .collect();
        operations.sort();
        operations
    };
    assert_eq!(operations("validating", "configmaps"), ["CONNECT", "CREATE", "DELETE", "UPDATE"]);
    assert_eq!(operations("mutating", "configmaps"), [""; 0]);
    assert_eq!(operations("mutating", "pods"), ["CREATE", "UPDATE"]);
    assert_eq!(operations("validating", "pods"), [""; 0]);
    for (operation, asks) in [("CONNECT", true), ("CREATE", true), ("DELETE", false), ("UPDATE", true)] {
        let said = ours.say(&existing, &["cm", "trigger", "-n", "default", "--operation", operation]);
        assert_eq!(label(said.objects.get("foobar")).is_some(), asks, "{operation}: {said:?}");
    }
    [existing, pods].iter().for_each(|policy| rest.remove(policy));
    cluster.installer.settle();
}

/// A field that may not change is named, and the words in which the API server refuses the update are those of the
/// request.
fn changes_what_may_not(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    set(rest);
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "fixed", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    rest.create(&pod, "").expect("the server takes it");
    let before = stored_object(rest, &pod);
    let policy = policy(
        "fixed",
        json!({
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": ["trigger"]}}]},
            "mutate": {
                "targets": [{"apiVersion": "v1", "kind": "Pod", "name": "fixed", "namespace": "default"}],
                "patchStrategicMerge": {"spec": {"securityContext": {"runAsUser": 7}}},
            },
        }),
    );
    let arguments = [&UPDATE[..], &["--semantics", "kyverno", "--server-dry-run"]].concat();
    let said = ours.report(&policy, &arguments, "fixed");
    assert_eq!(said["impact"]["immutable"], json!(["/spec/securityContext/runAsUser"]), "{said}");
    assert_eq!(said["server"]["verdict"], "refused", "{said}");
    cluster.install(std::slice::from_ref(&policy)).expect("Kyverno takes it");
    drop(cluster.requests());
    rest.replace(&trigger(), "").expect("the trigger is taken");
    cluster.drain();
    assert_eq!(stored_object(rest, &pod), before);
    let failed = cluster.requests().into_iter().find(|request| request.state == "Failed");
    let words = failed.expect("the request fails").message;
    assert!(
        words.starts_with("Pod \"fixed\" is invalid: spec: Forbidden: pod updates may not change"),
        "{words}"
    );
    assert_eq!(said["server"]["message"], *words, "{said}");
    [policy, pod].iter().for_each(|object| rest.remove(object));
    cluster.installer.settle();
}

/// Missing access of the background controller is reported in the words of the request and of Kyverno.
fn lacks_rights(ours: &Kyv<'_>, cluster: &mut TestCluster<'_>) {
    let rest = cluster.rest;
    let policy = add_label("add-sec", "bar");
    let another = add_label("another", "baz");
    let check = [&UPDATE[..], &["--check-rights", BACKGROUND, "--semantics", "kyverno"]].concat();
    bind(rest, "kyv-own", &own_rules());
    bind(
        rest,
        "kyv-see",
        &[json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list"]})],
    );
    bind(
        rest,
        "kyv-do",
        &[json!({"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["update"]})],
    );
    rest.remove(&binding("kyverno-background-controller", ""));
    set(rest);
    assert_eq!(label(ours.say(&policy, &check).objects.get("foobar")).as_deref(), Some("bar"));
    cluster.install(std::slice::from_ref(&policy)).expect("all rights are there");

    for (right, verbs) in [("kyv-do", "update"), ("kyv-see", "get,update")] {
        rest.remove(&binding(right, ""));
        // Rights come into force a moment later.
        cluster
            .installer
            .wait("the right is gone", |_| !failures(&ours.say(&policy, &check).stderr).is_empty());
        let said = ours.say(&policy, &check);
        assert_eq!((said.code, said.objects.get("foobar")), (Some(3), None), "{said:?}");
        assert!(ours.repeats(&policy, &check, right), "{said:?}");
        let words = failures(&said.stderr);
        drop(cluster.requests());
        let earlier = events(rest, "add-sec").len();
        rest.replace(&trigger(), "").expect("the trigger is taken");
        cluster.drain();
        assert_eq!(label(stored_object(rest, &target()).as_ref()), None);

        // The same words at each attempt; then the request is gone, as the announced difference says.
        let requests = cluster.requests();
        let failed: Vec<&Request> = requests.iter().filter(|request| request.state == "Failed").collect();
        assert_eq!(failed.len(), FAILURES, "{requests:?}");
        assert!(failed.iter().all(|request| words == [&*request.message]), "{words:?} {failed:?}");
        assert!(said.stderr.contains("note[KYV-D41]: "), "{said:?}");
        let [phases] = &*phases_of(&requests) else { panic!("one request: {requests:?}") };
        assert_eq!(phases.last().map(String::as_str), Some("deleted"), "{phases:?}");

        // The update that was refused is an event; a target that cannot be read is none.
        if verbs == "update" {
            let text = format!("policy add-sec/r error: {}", words[0]);
            let told = ["PolicyError", &*text, "Deployment", "foobar"].map(str::to_owned);
            cluster
                .installer
                .wait("an event tells of the failure", |rest| events(rest, "add-sec").contains(&told));
        } else {
            assert_eq!(events(rest, "add-sec").len(), earlier);
        }

        // A new policy that needs the access is refused, as predicted.
        let refusal = cluster.install(std::slice::from_ref(&another)).expect_err("the right is missing");
        let lacking =
            format!("requires permissions {verbs} for resource apps/v1/Deployment in namespace default");
        let refused = format!(
            "auth check fails, additional privileges are required for the service account '{BACKGROUND}': \
             {BACKGROUND} {lacking}"
        );
        assert!(refusal.message.contains(&refused), "{}", refusal.message);
        let said = ours.say(&another, &check);
        assert!(
            said.stderr.contains(&format!("Kyverno refuses a new policy for that: `{lacking}`")),
            "{said:?}"
        );
    }
}

/// What the background controller needs for itself.
fn own_rules() -> Vec<Value> {
    let kyverno = ["kyverno.io", "policies.kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"];
    vec![
        json!({"apiGroups": kyverno, "resources": ["*"], "verbs": ["*"]}),
        json!({"apiGroups": ["coordination.k8s.io", "events.k8s.io"], "resources": ["*"], "verbs": ["*"]}),
        json!({"apiGroups": [""], "resources": ["*"], "verbs": ["get", "list", "watch"]}),
        json!({"apiGroups": [""], "resources": ["events"], "verbs": ["*"]}),
        json!({"apiGroups": ["apiextensions.k8s.io", "admissionregistration.k8s.io"], "resources": ["*"],
            "verbs": ["get", "list", "watch"]}),
    ]
}

/// Gives the background controller some rights.
fn bind(rest: &Rest, name: &str, rules: &[Value]) {
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name}, "rules": rules});
    for object in [role, binding(name, name)] {
        rest.create(&object, "").expect("rights can be given");
    }
}

fn binding(name: &str, role: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": "kyverno-background-controller", "namespace": "kyverno"}]})
}
