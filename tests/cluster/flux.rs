//! What policies in a cluster are for Flux: its controllers compare with a server-side dry run, which goes through
//! admission. Only policies that change their own results again show as drift, and `check` names these; what Git sets, the
//! dry run takes back first, so that such a policy is stable there. Runs when `KYV_REAL_PROGRAMS` is 1.

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
    /// Whether another admission changes the result again, but in a list that Git sets as a whole.
    is_reset: bool,
}

fn policies() -> Vec<Policy> {
    let apply = |name, expression| Policy {
        name,
        mutation: json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}),
        unstable: None,
        is_reset: false,
    };
    let patch = |name, expression, unstable| Policy {
        name,
        mutation: json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}),
        unstable,
        is_reset: name == "tolerations",
    };
    vec![
        apply(
            "image",
            r#"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
               containers: [Object.spec.template.spec.containers{name: "web", image: "mirror.example/web:1"}]}}}}"#,
        ),
        apply("label", r#"Object{metadata: Object.metadata{labels: {"owner": "shop"}}}"#),
        apply(
            "sidecar",
            r#"Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
               containers: [Object.spec.template.spec.containers{name: "agent", image: "agent:1"}]}}}}"#,
        ),
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
    ]
}

fn deployment(namespace: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"app": "web"}},
        "spec": {
            "replicas": 2, "minReadySeconds": 3, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [{"name": "web", "image": "web:1"}],
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
    [
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
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
            || pod(&created, "containers")[0]["image"] != "web:1";
        if has_changed {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{} is not in force", policy.name);
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Whether `check` says that the result of a policy is not stable.
fn is_predicted_unstable(policy: &Policy) -> bool {
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
        .args(["check", "-q", "-p", "policy.yaml", "-f", "objects.yaml", "-o", "json"])
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().any(|finding| finding["kind"] == "not-idempotent")
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
    let ignoring = ask(&|policy| {
        let paths: Vec<&str> = policy.unstable.into_iter().collect();
        json!({"object": deployment(policy.name), "ignore": paths})
    });
    for ((policy, answer), ignored) in policies.iter().zip(&compared).zip(&ignoring) {
        let name = policy.name;
        let is_unstable = policy.unstable.is_some();
        assert_eq!(is_predicted_unstable(policy), is_unstable || policy.is_reset, "{name}");
        let expected = if is_unstable { "configured" } else { "unchanged" };
        assert_eq!(answer.kustomization, expected, "{name}: {answer:?}");
        assert_eq!(answer.helm_release.is_null(), !is_unstable, "{name}: {answer:?}");
        assert_eq!(ignored.kustomization, "unchanged", "{name}: {ignored:?}");
        assert!(ignored.helm_release.is_null(), "{name}: {ignored:?}");
        unstable += usize::from(is_unstable);
    }
    // What someone changes shows, also beside the rules.
    for policy in &policies {
        let mut changed = rest.get(&deployment(policy.name)).expect("the object");
        changed["metadata"]["labels"]["app"] = json!("edited");
        rest.replace(&changed, "").expect("an update");
    }
    let edited = ask(&|policy| {
        let paths: Vec<&str> = policy.unstable.into_iter().collect();
        json!({"object": deployment(policy.name), "ignore": paths})
    });
    for (policy, answer) in policies.iter().zip(&edited) {
        assert_eq!(answer.kustomization, "configured", "{}: {answer:?}", policy.name);
        assert!(!answer.helm_release.is_null(), "{}: {answer:?}", policy.name);
    }
    // A policy that comes later changes the objects at the next reconciliation, once.
    let first = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    assert!(first.iter().all(|answer| answer.kustomization == "created"), "{first:?}");
    for policy in &policies {
        rest.replace(&namespace(&late(policy), &json!({"policy": policy.name})), "").expect("a namespace");
    }
    let start = Instant::now();
    loop {
        let answers = ask(&|policy| json!({"object": deployment(&late(policy))}));
        if answers.iter().all(|answer| answer.kustomization == "configured") {
            break;
        }
        assert!(start.elapsed() < TIMEOUT, "{answers:?}");
    }
    let again = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    assert!(again.iter().all(|answer| answer.kustomization == "configured"), "{again:?}");
    let stable = ask(&|policy| json!({"object": deployment(&late(policy)), "apply": true}));
    for (policy, answer) in policies.iter().zip(&stable) {
        let expected = if policy.unstable.is_some() { "configured" } else { "unchanged" };
        assert_eq!(answer.kustomization, expected, "{}: {answer:?}", policy.name);
    }
    log(&format!("Flux: {} policies, {unstable} of them unstable, as predicted", policies.len()));
}
