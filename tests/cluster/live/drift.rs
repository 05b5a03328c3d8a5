//! `drift --live`: what explains each difference between manifests and objects of a cluster.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use serde_json::{Value, json};
use test_support::api_server::ApiServer;

use super::kyv as run_kyv;

/// A policy that the API server runs itself, for namespaces with a label: other objects of the cluster stay.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: mirror}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: >-
          Object{
            metadata: Object.metadata{labels: {"team": "shop"}},
            spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
              containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
                name: c.name, image: "mirror.example/" + c.image})}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: mirror}
spec: {policyName: mirror}
"#;

/// A policy that is not in the cluster yet.
const LATER: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: later}
spec:
  rules:
    - name: tier
      match: {any: [{resources: {kinds: [Deployment]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {tier: web}}, spec: {minReadySeconds: 5}}}
";

const MANIFESTS: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  minReadySeconds: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'web:1'}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {a: '1'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
data: {a: '1'}
";

/// An API server with the policy, and the objects but for the last, as admission left them.
fn server() -> ApiServer {
    let server = ApiServer::start();
    server.kubectl_ok(&["apply", "-f", "-"], POLICY);
    let probe = MANIFESTS.split("---").next().unwrap_or_default();
    let probe = |_: &usize| {
        let created = server.kubectl_ok(&["create", "--dry-run=server", "-o", "json", "-f", "-"], probe);
        let is_active = created.contains("mirror.example");
        if !is_active {
            sleep(Duration::from_millis(250));
        }
        is_active
    };
    assert!((0..240).any(|turn| probe(&turn)), "the API server never runs the policy");
    let (applied, _) = MANIFESTS.rsplit_once("---").expect("documents");
    server.kubectl_ok(&["apply", "-f", "-"], applied);
    server
}

#[test]
fn each_difference_is_explained() {
    if test_support::skip_without_real_programs("drift of live objects") {
        return;
    }
    let server = server();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("the folder takes files");
        path.display().to_string()
    };
    let [policy, later, manifests] =
        [("policy.yaml", POLICY), ("later.yaml", LATER), ("manifests.yaml", MANIFESTS)]
            .map(|(name, text)| write(name, text));
    let drift = |policies: &[&str], rest: &[&str]| {
        let policies = policies.iter().flat_map(|policy| ["-p", policy]);
        let arguments = ["drift", "--live", "-n", "default", "-q", "-f", &manifests].into_iter();
        run_kyv(
            server.kubeconfig(),
            &arguments.chain(policies).chain(rest.iter().copied()).collect::<Vec<_>>(),
        )
    };

    // What admission did.
    let run = drift(&[&policy], &[]);
    let deployment = format!("Deployment/web ({manifests}:2)");
    let image = r#".spec.template.spec.containers[] | select(.name == "web") | .image"#;
    let expected = format!(
        "{deployment}: OutOfSync
  {image}: another value by mirror
  .metadata.labels.team: not in Git, set by mirror
  12 defaults of the API server

1 of 3 objects OutOfSync in Argo CD
"
    );
    assert_eq!((run.code, &*run.stdout), (Some(1), &*expected), "{}", run.stderr);

    // What others did, and what a new policy would do.
    server.kubectl_ok(&["scale", "deployment", "web", "--replicas=5"], "");
    server.kubectl_ok(&["label", "--field-manager=someone", "deployment", "web", "by=hand"], "");
    server.kubectl_ok(
        &["patch", "configmap", "settings", "--field-manager=someone", "-p", r#"{"data":{"a":"2","b":"3"}}"#],
        "",
    );
    let run = drift(&[&policy, &later], &[]);
    let expected = format!(
        "{deployment}: OutOfSync
  .spec.replicas: another value, drift by kubectl
  {image}: another value by mirror
  .metadata.labels.tier: not in the cluster, set by later/tier
  .metadata.labels.by: not in Git, drift by someone
  .metadata.labels.team: not in Git, set by mirror
  .spec.minReadySeconds: not in the cluster, set by later/tier
  12 defaults of the API server
ConfigMap/settings ({manifests}:13): OutOfSync
  .data.a: another value, drift by someone
  .data.b: not in Git, drift by someone

2 of 3 objects OutOfSync in Argo CD
"
    );
    assert_eq!((run.code, &*run.stdout), (Some(1), &*expected), "{}", run.stderr);

    // Argo CD says the same of the state of each object.
    let documents = MANIFESTS.split("---");
    let config = |text: &str| -> Value {
        let parsed = kyv::yaml::parse_value(text).expect("YAML");
        let mut object: Value = serde_json::from_str(&parsed.to_json()).expect("JSON");
        object["metadata"]["namespace"] = json!("default");
        object
    };
    let question = |object: Value| {
        let [kind, name] =
            [&object["kind"], &object["metadata"]["name"]].map(|text| text.as_str().expect("a text"));
        let live = server.kubectl_ok(&["get", kind, name, "-o", "json", "--show-managed-fields"], "");
        let live: Value = serde_json::from_str(&live).expect("JSON");
        json!({"config": object, "live": live})
    };
    let questions: Vec<Value> = documents.take(2).map(|text| question(config(text))).collect();
    let modified: Vec<bool> =
        test_support::drift::compare(&questions).iter().map(|answer| answer.modified).collect();
    assert_eq!(modified, [true, true]);

    // Only what policies explain is ignored.
    let run = drift(&[&policy, &later], &["-o", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let rule = json!([{
        "group": "apps", "kind": "Deployment", "name": "web", "jqPathExpressions": [image],
    }]);
    assert_eq!(report["ignoreDifferences"], rule);
    assert_eq!(report["objects"][0]["fields"][0]["managers"], json!(["kubectl"]));
    assert_eq!(report["objects"][0]["others"][0]["rules"], json!(["later/tier"]));
}
