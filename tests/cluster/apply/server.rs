//! Mutating admission policies with apply configurations in a real API server. The object that we print, created without
//! policies, must be what the object with its policy becomes.

use std::time::{Duration, Instant};

use kyv::{Input, Mutator};
use serde_json::{Value, json};

use test_support::api_server::ApiServer;
use test_support::objects::{differing_paths, without_server_fields};
use test_support::rest::Rest;

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"app": "x"}, "finalizers": ["example.com/f1"]},
    "spec": {"nodeSelector": {"n1": "v1"}, "containers": [
        {"name": "a", "image": "nginx:1", "args": ["one"], "env": [{"name": "FOO", "value": "1"}, {"name": "BAR", "value": "2"}],
         "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "500m"}}}, {"name": "b", "image": "busybox"}]}}"#;
const DEPLOYMENT: &str = r#"{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {}, "spec": {"replicas": 2,
    "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}},
    "spec": {"containers": [{"name": "a", "image": "nginx:1"}]}}}}"#;
const SERVICE: &str = r#"{"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"selector": {"app": "x"},
    "ports": [{"name": "http", "port": 80}]}}"#;
const CONFIG_MAP: &str = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"k": "v"}}"#;
const ACCOUNT: &str =
    r#"{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {}, "secrets": [{"name": "s"}]}"#;
const VOLUME: &str = r#"{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {}, "spec": {"capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, "claimRef": {"name": "c", "namespace": "default"}}}"#;
const ROLE: &str = r#"{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {}, "rules":
    [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}"#;
const WIDGET: &str = r#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {}, "spec": {"tags": ["a", "b"],
    "parts": [{"name": "p", "weight": 1}], "free": {"a": {"b": 1}}, "plain": ["x"]}}"#;

/// Objects, and the fields of configurations for them.
const CASES: &[(&str, &[&str])] = &[
    (
        POD,
        &[
            r#"metadata: Object.metadata{labels: {"a": "b"}}"#,
            r#"metadata: Object.metadata{finalizers: ["example.com/f2", "example.com/f1"]}"#,
            r#"metadata: Object.metadata{labels: {"app": null}}"#,
            r#"metadata: {"labels": {"a": "b"}}"#,
            r#"kind: "Foo", apiVersion: "x/v1""#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", imagePullPolicy: "Always"}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "b"}, Object.spec.containers{name: "a"}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "n", image: "i"}, Object.spec.containers{name: "b"}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a"}] + [Object.spec.containers{name: "b", tty: true}]}"#,
            r#"spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, tty: true})}"#,
            r#"spec: Object.spec{containers: object.spec.containers}"#,
            r#"spec: Object.spec{containers: [{"name": "a", "image": "i"}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{image: "i"}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", args: ["x"]}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", ports: [Object.spec.containers.ports{containerPort: 80, name: "http"}]}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", ports: [Object.spec.containers.ports{containerPort: 80, protocol: "UDP"}]}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", env: [Object.spec.containers.env{name: "FOO", value: "9"}, Object.spec.containers.env{name: "NEW", value: "1"}]}]}"#,
            r#"spec: Object.spec{containers: [Object.spec.containers{name: "a", resources: Object.spec.containers.resources{limits: {"memory": 2}}}]}"#,
            r#"spec: Object.spec{volumes: [Object.spec.volumes{name: "v", configMap: Object.spec.volumes.configMap{name: "x"}}]}"#,
            r#"spec: Object.spec{imagePullSecrets: [Object.spec.imagePullSecrets{name: "s"}]}"#,
            r#"spec: Object.spec{nodeSelector: {"z": "1"}, tolerations: [Object.spec.tolerations{key: "k"}]}"#,
            r#"spec: Object.spec{activeDeadlineSeconds: 5}"#,
            r#"spec: Object.spec{activeDeadlineSeconds: 5.0}"#,
            r#"spec: Object.spec{activeDeadlineSeconds: 1.5}"#,
            r#"spec: Object.spec{activeDeadlineSeconds: 5u}"#,
            r#"spec: Object.spec{nodeName: optional.none(), ?hostname: optional.of("h")}"#,
            r#"spec: Object.spec{nosuch: 1}"#,
            r#"spec: Object.wrong{}"#,
            r#"status: Object.status{phase: "Running"}"#,
        ],
    ),
    (
        DEPLOYMENT,
        &[
            r#"spec: Object.spec{replicas: object.spec.replicas + 1}"#,
            r#"spec: Object.spec{selector: Object.spec.selector{matchLabels: {"z": "1"}}}"#,
            r#"spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {"a": "b"}}}}"#,
            r#"spec: Object.spec{strategy: Object.spec.strategy{rollingUpdate: Object.spec.strategy.rollingUpdate{maxSurge: 1, maxUnavailable: "10%"}}}"#,
        ],
    ),
    (
        SERVICE,
        &[
            r#"spec: Object.spec{ports: [Object.spec.ports{port: 80, targetPort: 8080}, Object.spec.ports{port: 443, name: "https"}]}"#,
            r#"spec: Object.spec{selector: {"b": "c"}}"#,
        ],
    ),
    (
        CONFIG_MAP,
        &[r#"data: Object.data{k2: "v2"}"#, r#"data: {"a.b": "c", "k": "w"}"#, r#"immutable: true"#],
    ),
    (ACCOUNT, &[r#"secrets: [Object.secrets{name: "t"}]"#, r#"automountServiceAccountToken: false"#]),
    (
        VOLUME,
        &[r#"spec: Object.spec{claimRef: Object.spec.claimRef{uid: "u"}, capacity: {"storage": "2Gi"}}"#],
    ),
    (
        ROLE,
        &[
            r#"rules: [Object.rules{verbs: ["get"]}]"#,
            r#"metadata: Object.metadata{annotations: {"a": "b"}}"#,
        ],
    ),
    (
        WIDGET,
        &[
            r#"spec: Object.spec{tags: ["c", "b"], size: 3}"#,
            r#"spec: Object.spec{parts: [Object.spec.parts{name: "p", weight: 2}, Object.spec.parts{name: "p", zone: "z2"}]}"#,
            r#"spec: Object.spec{free: Object.spec.free{a: Object.spec.free.a{c: 2}}}"#,
            r#"spec: Object.spec{plain: ["y"]}"#,
            r#"spec: Object.spec{nosuch: 1}"#,
        ],
    ),
];

#[test]
fn policies_apply_configurations_as_in_a_real_api_server() {
    if test_support::skip_without_real_programs("apply configurations in an API server") {
        return;
    }
    let server = ApiServer::start();
    let rest = Rest::open(&server);
    let definition: Value = serde_json::from_str(&super::widgets::definition().to_json()).expect("JSON");
    rest.create(&definition, "").expect("a definition");
    let cases: Vec<(Value, String)> = CASES
        .iter()
        .flat_map(|(object, configurations)| configurations.iter().map(move |fields| (*object, *fields)))
        .enumerate()
        .map(|(number, (object, fields))| {
            let mut object: Value = serde_json::from_str(object).expect("JSON");
            object["metadata"]["name"] = json!(format!("case-{number}"));
            (object, format!("Object{{{fields}}}"))
        })
        .collect();
    let mut installed = Vec::new();
    for (object, expression) in &cases {
        let documents = policy(object["metadata"]["name"].as_str().expect("a name"), expression);
        documents.iter().for_each(|document| drop(rest.create(document, "").expect("a policy is taken")));
        installed.push(documents);
    }
    settle(&rest);
    let mut differences = Vec::new();
    let (mut changed, mut refused) = (0, 0);
    for ((object, expression), documents) in cases.iter().zip(&installed) {
        let theirs = rest.create(object, "dryRun=All");
        let ours = mutated(documents, &definition, object);
        match (&ours, &theirs) {
            (Err(_), Err(_)) => refused += 1,
            (Ok(ours), _) => {
                // Another name, so that no policy is for it.
                let mut other = ours.clone();
                other["metadata"]["name"] = json!("other");
                let alone = rest.create(&other, "dryRun=All").map(|mut alone| {
                    alone["metadata"]["name"] = ours["metadata"]["name"].clone();
                    without_server_fields(&alone)
                });
                let theirs = theirs.map(|theirs| without_server_fields(&theirs));
                changed += usize::from(ours != object);
                match (alone, theirs) {
                    (Ok(alone), Ok(theirs)) if alone == theirs => {}
                    (Ok(alone), Ok(theirs)) => {
                        differences.push(format!("{expression}: {}", differing_paths(&alone, &theirs)));
                    }
                    (Err(_), Err(_)) => refused += 1,
                    (alone, theirs) => differences.push(format!("{expression}: {alone:?}, not {theirs:?}")),
                }
            }
            (Err(ours), Ok(_)) => differences.push(format!("{expression}: we refuse: {ours}")),
        }
    }
    test_support::log(&format!("{} policies: {changed} changed their object, {refused} failed", cases.len()));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(changed > 20 && refused > 10, "{changed} changes, {refused} failures");
}

/// A policy for the object with this name, and its binding.
fn policy(name: &str, expression: &str) -> [Value; 2] {
    let version = "admissionregistration.k8s.io/v1";
    let rule =
        json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]});
    [
        json!({"apiVersion": version, "kind": "MutatingAdmissionPolicy", "metadata": {"name": name}, "spec": {
            "reinvocationPolicy": "Never", "failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "name", "expression":
                format!("has(object.metadata.name) && object.metadata.name == '{name}'")}],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}]}}),
        json!({"apiVersion": version, "kind": "MutatingAdmissionPolicyBinding", "metadata": {"name": name},
            "spec": {"policyName": name}}),
    ]
}

/// Waits until policies are in force, and the schema of the custom resource is known.
fn settle(rest: &Rest) {
    let probe = policy("zz-probe", r#"Object{metadata: Object.metadata{labels: {"seen": "yes"}}}"#);
    probe.iter().for_each(|document| drop(rest.create(document, "").expect("a policy is taken")));
    let mut widget: Value = serde_json::from_str(WIDGET).expect("JSON");
    widget["metadata"]["name"] = json!("zz-probe");
    let start = Instant::now();
    loop {
        let answer = rest.create(&widget, "dryRun=All");
        if answer.as_ref().is_ok_and(|widget| widget["metadata"]["labels"]["seen"] == "yes") {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(120), "the policies never come into force: {answer:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The object as our policies leave it, or the error.
fn mutated(documents: &[Value], definition: &Value, object: &Value) -> Result<Value, String> {
    let text: Vec<String> = documents.iter().map(ToString::to_string).collect();
    let mutator = Mutator::builder()
        .policies(Input::text("policy.yaml", text.join("\n---\n")))
        .crds(Input::text("crd.yaml", definition.to_string()))
        .build()
        .map_err(|error| error.to_string())?;
    let report = mutator.mutate(&object.to_string()).map_err(|error| error.to_string())?;
    if report.has_errors() {
        return Err(report.rules().map(|rule| format!("{:?}", rule.outcome())).collect());
    }
    Ok(serde_json::from_str(&report.json()).expect("JSON"))
}
