//! What policies in a cluster are for Flux: its controllers compare with a server-side dry run, which goes through
//! admission. Only policies that change their own results again, or act on creation alone, show as drift, and
//! `drift --tool flux` names the fields. `check` names policies that change their own results; what Git sets, the dry run
//! takes back first, so that such a policy is stable there. Runs when `KYV_REAL_PROGRAMS` is 1.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::rest::Rest;
use test_support::{flux, log};

const TIMEOUT: Duration = Duration::from_secs(120);

/// A policy of the API server, and whether each admission changes its result again.
struct Policy {
    name: &'static str,
    mutation: Value,
    /// The JSON pointer that Flux has to ignore; `None` if the result is stable for Flux.
    unstable: Option<&'static str>,
    /// Whether it is for objects that are created alone.
    is_for_creation: bool,
    /// Whether another admission changes the result again, but in a list that Git sets as a whole.
    is_reset: bool,
}

const IMAGE: &str = r#"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
    containers: [Object.spec.template.spec.containers{name: "web", image: "mirror.example/web:1"}]}}}}"#;

const SIDECAR: &str = r#"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
    containers: [Object.spec.template.spec.containers{name: "agent", image: "agent:1"}]}}}}"#;

const ORDER: &str = r#"object.spec.template.spec.containers[0].env[0].name != "A" ? [] : [JSONPatch{op: "move",
    from: "/spec/template/spec/containers/0/env/1", path: "/spec/template/spec/containers/0/env/0"}]"#;

fn policies() -> Vec<Policy> {
    let apply = |name, expression| Policy {
        name,
        mutation: json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}),
        unstable: None,
        is_for_creation: false,
        is_reset: false,
    };
    let patch = |name, expression, unstable| Policy {
        name,
        mutation: json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}),
        unstable,
        is_for_creation: false,
        is_reset: name == "tolerations",
    };
    vec![
        apply("image", IMAGE),
        apply("label", r#"Object{metadata: Object.metadata{labels: {"owner": "shop"}}}"#),
        apply("sidecar", SIDECAR),
        apply("replicas", "Object{spec: Object.spec{replicas: 5}}"),
        patch(
            "removed",
            r#"has(object.spec.minReadySeconds) ? [JSONPatch{op: "remove", path: "/spec/minReadySeconds"}] : []"#,
            None,
        ),
        patch(
            "tolerations",
            r#"[JSONPatch{op: "add", path: "/spec/template/spec/tolerations/-",
               value: Object.spec.template.spec.tolerations{key: "batch", operator: "Exists"}}]"#,
            None,
        ),
        patch(
            "turned",
            r#"[JSONPatch{op: "add", path: "/metadata/labels/turn",
               value: object.metadata.?labels.?turn.orValue("") == "left" ? "right" : "left"}]"#,
            Some("/metadata/labels/turn"),
        ),
        Policy {
            unstable: Some("/spec/replicas"),
            is_for_creation: true,
            ..apply("created", "Object{spec: Object.spec{replicas: 7}}")
        },
        Policy {
            unstable: Some("/spec/template/spec/containers/0/image"),
            is_for_creation: true,
            ..apply("created-image", IMAGE)
        },
        Policy { is_for_creation: true, ..apply("created-sidecar", SIDECAR) },
        Policy {
            is_for_creation: true,
            ..patch("created-order", ORDER, Some("/spec/template/spec/containers/0/env"))
        },
        patch("order", ORDER, None),
    ]
}

fn deployment(namespace: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web.v1", "namespace": namespace, "labels": {"app": "web"}},
        "spec": {
            "replicas": 2, "minReadySeconds": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{
                        "name": "web", "image": "web:1",
                        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                    }],
                    "tolerations": [{"key": "own", "operator": "Exists"}],
                },
            },
        },
    })
}

/// The documents of a policy, which is for the namespaces with its label.
fn documents(policy: &Policy) -> [Value; 2] {
    let metadata = json!({"name": policy.name});
    let selector = json!({"matchLabels": {"policy": policy.name}});
    let operations = if policy.is_for_creation { json!(["CREATE"]) } else { json!(["CREATE", "UPDATE"]) };
    [
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": operations,
                    "resources": ["deployments"],
                }]},
                "failurePolicy": "Fail", "reinvocationPolicy": "Never", "mutations": [policy.mutation],
            },
        }),
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {"policyName": policy.name, "matchResources": {"namespaceSelector": selector}},
        }),
    ]
}

fn namespace(name: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

/// Waits until a policy changes objects in its namespace.
fn wait(rest: &Rest, policy: &Policy) {
    let written = deployment(policy.name);
    let start = Instant::now();
    loop {
        let created = rest.create(&written, "dryRun=All").expect("a dry run");
        let pod = |object: &Value, field: &str| object["spec"]["template"]["spec"][field].clone();
        let number = |object: &Value, field: &str| pod(object, field).as_array().map_or(0, Vec::len);
        let has_changed = ["replicas", "minReadySeconds"]
            .iter()
            .any(|field| created["spec"][field] != written["spec"][field])
            || created["metadata"]["labels"] != written["metadata"]["labels"]
            || ["containers", "tolerations"].iter().any(|field| number(&created, field) != 1)
            || pod(&created, "containers")[0]["image"] != "web:1"
            || pod(&created, "containers")[0]["env"][0]["name"] != "A";
        if has_changed {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{} is not in force", policy.name);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What a command says of a policy and its object, as JSON.
fn said(policy: &Policy, command: &[&str]) -> Value {
    serde_json::from_str(&printed(policy, &[command, &["-o", "json"]].concat())).expect("JSON")
}

/// What a command prints about a policy and its object.
fn printed(policy: &Policy, command: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, documents: &[Value]| {
        let text: String = documents.iter().map(|document| format!("---\n{document}\n")).collect();
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("policy.yaml", &documents(policy));
    write(
        "objects.yaml",
        &[namespace(policy.name, &json!({"policy": policy.name})), deployment(policy.name)],
    );
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(command)
        .args(["-q", "-p", "policy.yaml", "-f", "objects.yaml"])
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Whether `check` says that the result of a policy is not stable.
fn is_predicted_unstable(policy: &Policy) -> bool {
    let report = said(policy, &["check"]);
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().any(|finding| finding["kind"] == "not-idempotent")
}

/// The rules that `drift` says Flux has to have, and whether the drift is at each reconciliation.
fn predicted(policy: &Policy) -> (Value, bool) {
    let report = said(policy, &["drift", "--tool", "flux"]);
    let mut objects = report["objects"].as_array().expect("objects").iter();
    (report["ignore"].clone(), objects.any(|object| object["lasting"] == true))
}

/// The question about the object of a policy with what `drift` prints for Flux pasted into a `HelmRelease` and a `Kustomization`.
fn ignoring(policy: &Policy) -> Value {
    let rules = printed(policy, &["drift", "-o", "flux"]);
    let (detection, ignore) = rules.split_once('\n').expect("lines");
    let parse = |spec: &str| -> Value {
        let text = format!("spec:\n{}", spec.lines().map(|line| format!("  {line}\n")).collect::<String>());
        let spec = kyv::yaml::parse_value(&text).expect("YAML");
        serde_json::from_str(&spec.to_json()).expect("JSON")
    };
    let mut release = parse(&format!("{detection}\n  mode: enabled\n{ignore}"));
    let unindented: String = ignore.lines().map(|line| format!("{}\n", &line[2..])).collect();
    let mut kustomization = parse(&unindented);
    for (object, api_version, kind) in [
        (&mut release, "helm.toolkit.fluxcd.io/v2", "HelmRelease"),
        (&mut kustomization, "kustomize.toolkit.fluxcd.io/v1", "Kustomization"),
    ] {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": policy.name, "namespace": policy.name});
    }
    json!({"object": deployment(policy.name), "helmRelease": release, "kustomization": kustomization})
}

#[test]
fn flux_shows_what_is_predicted() {
    if test_support::skip_without_real_programs("drift beside Flux") {
        return;
    }
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let policies = policies();
    let late = |policy: &Policy| format!("late-{}", policy.name);
    for policy in &policies {
        rest.create(&namespace(policy.name, &json!({"policy": policy.name})), "").expect("a namespace");
        rest.create(&namespace(&late(policy), &json!({})), "").expect("a namespace");
        for document in documents(policy) {
            rest.create(&document, "").expect("a policy");
        }
    }
    policies.iter().for_each(|policy| wait(&rest, policy));
    let ask =
        |make: &dyn Fn(&Policy) -> Value| flux::ask(&server, &policies.iter().map(make).collect::<Vec<_>>());
    let applied = ask(&|policy| json!({"object": deployment(policy.name), "apply": true}));
    assert!(applied.iter().all(|answer| answer.kustomization == "created"), "{applied:?}");
    let mut unstable = 0;
    let compared = ask(&|policy| json!({"object": deployment(policy.name)}));
    let ignored = ask(&ignoring);
    for ((policy, answer), ignored) in policies.iter().zip(&compared).zip(&ignored) {
        let name = policy.name;
        let is_unstable = policy.unstable.is_some();
        let (rules, is_lasting) = predicted(policy);
        let paths = rules.as_array().expect("rules").iter().map(|rule| rule["paths"].clone());
        let paths: Vec<Value> = paths.collect();
        assert_eq!(paths, Vec::from_iter(policy.unstable.map(|path| json!([path]))), "{name}");
        assert_eq!(is_lasting, is_unstable && !policy.is_for_creation, "{name}");
        assert_eq!(is_predicted_unstable(policy), is_lasting || policy.is_reset, "{name}");
        let expected = if is_unstable { "configured" } else { "unchanged" };
        assert_eq!(answer.kustomization, expected, "{name}: {answer:?}");
        assert_eq!(answer.helm_release.is_null(), !is_unstable, "{name}: {answer:?}");
        assert_eq!(ignored.kustomization, "unchanged", "{name}: {ignored:?}");
        assert!(ignored.helm_release.is_null(), "{name}: {ignored:?}");
        unstable += usize::from(is_unstable);
    }
    // After the next reconciliation the drift is gone, or there again.
    ask(&|policy| json!({"object": deployment(policy.name), "apply": true}));
    let later = ask(&|policy| json!({"object": deployment(policy.name)}));
    for (policy, answer) in policies.iter().zip(&later) {
        let expected = if predicted(policy).1 { "configured" } else { "unchanged" };
        assert_eq!(answer.kustomization, expected, "{}: {answer:?}", policy.name);
    }
    // What someone changes shows, also beside the rules.
    for policy in &policies {
        let mut changed = rest.get(&deployment(policy.name)).expect("the object");
        changed["metadata"]["labels"]["app"] = json!("edited");
        rest.replace(&changed, "").expect("an update");
    }
    let edited = ask(&ignoring);
    for (policy, answer) in policies.iter().zip(&edited) {
        assert_eq!(answer.kustomization, "configured", "{}: {answer:?}", policy.name);
        assert!(!answer.helm_release.is_null(), "{}: {answer:?}", policy.name);
    }
    // Beside the cluster, `drift` has that change, too, without a rule.
    let kubeconfig = server.kubeconfig().display().to_string();
    for policy in &policies {
        let report = said(policy, &["drift", "--tool", "flux", "--live", "--kubeconfig", &kubeconfig]);
        let objects = report["objects"].as_array().expect("objects").iter();
        let fields: Vec<&Value> =
            objects.flat_map(|object| object["fields"].as_array().expect("fields")).collect();
        let edited = fields.iter().find(|field| field["path"] == "/metadata/labels/app");
        let edited = edited.unwrap_or_else(|| panic!("{}: {report}", policy.name));
        assert!(edited["ignorable"] == false && edited["rules"] == json!([]), "{report}");
        let is_shown = |path: &&str| fields.iter().any(|field| field["path"] == **path);
        // The change went through the policy, too, which then added another element.
        let added = policy.is_reset.then_some("/spec/template/spec/tolerations");
        let expected = policy.unstable.filter(|_| !policy.is_for_creation).or(added);
        assert!(expected.iter().all(is_shown) && fields.len() == 1 + expected.iter().len(), "{report}");
    }
    // Of a kind that the cluster does not have nobody can say what becomes of it.
    let folder = tempfile::tempdir().expect("a folder");
    let unknown = json!({"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a", "namespace": "order"}});
    for (name, document) in [("policy.yaml", &documents(&policies[0])[0]), ("objects.yaml", &unknown)] {
        std::fs::write(folder.path().join(name), document.to_string()).expect("a file");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["drift", "-q", "--live", "-p", "policy.yaml", "-f", "objects.yaml", "-o", "json"]);
    command.args(["--kubeconfig", &kubeconfig]).current_dir(&folder);
    let output = command.output().expect("the program runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["incomplete"], "not looked up: Shop (example.com/v1)", "{report}");
    assert_eq!(output.status.code(), Some(4));
    // A policy that comes later changes the objects at the next reconciliation, once.
    let first = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    assert!(first.iter().all(|answer| answer.kustomization == "created"), "{first:?}");
    for policy in &policies {
        rest.replace(&namespace(&late(policy), &json!({"policy": policy.name})), "").expect("a namespace");
    }
    let start = Instant::now();
    loop {
        let answers = ask(&|policy| json!({"object": deployment(&late(policy))}));
        let mut answers_of_updates =
            policies.iter().zip(&answers).filter(|(policy, _)| !policy.is_for_creation);
        if answers_of_updates.all(|(_, answer)| answer.kustomization == "configured") {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{answers:?}");
    }
    let again = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    for (policy, answer) in policies.iter().zip(&again) {
        let expected = if policy.is_for_creation { "unchanged" } else { "configured" };
        assert_eq!(answer.kustomization, expected, "{}: {answer:?}", policy.name);
    }
    let stable = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    for (policy, answer) in policies.iter().zip(&stable) {
        let expected = if predicted(policy).1 { "configured" } else { "unchanged" };
        assert_eq!(answer.kustomization, expected, "{}: {answer:?}", policy.name);
    }
    log(&format!("Flux: {} policies, {unstable} of them unstable, as predicted", policies.len()));
}
