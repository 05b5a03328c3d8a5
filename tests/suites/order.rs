//! The policies of Kyverno's catalogue together, where `KYV_CONFORMANCE` points to a folder of them: what is noted as
//! dependent on their order are exactly the pairs that alone have another result in the other order.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::policy::{DocumentKind, kind_of};
use kyv::value::Value;
use kyv::yaml::{Limits, Source, print, read};
use test_support::conformance_folder;
use test_support::files::files_below;

const MANIFESTS: &str = r"apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {vault.hashicorp.com/agent-inject: 'true', inject-certs: enabled}
    spec:
      containers:
      - {name: web, image: 'nginx:1.27', ports: [{containerPort: 80}], env: [{name: MODE, value: fast}]}
      - {name: side, image: 'busybox:1.36'}
      volumes:
      - {name: cache, emptyDir: {}}
---
apiVersion: v1
kind: Pod
metadata:
  name: single
  labels: {app: single}
  annotations: {inject-certs: enabled}
spec:
  containers:
  - {name: single, image: 'nginx:latest', securityContext: {runAsUser: 1000}}
  volumes:
  - {name: host, hostPath: {path: /tmp}}
  - {name: claim, persistentVolumeClaim: {claimName: claim}}
";

/// The policies with rules that mutate, without targets.
fn policies(folder: &Path) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for file in files_below(&folder.join("policies"), &["yaml"]) {
        let source = Arc::new(Source::new("policy", fs::read_to_string(&file).unwrap()));
        let Ok(documents) = read(&source, &Limits::default()) else { continue };
        for policy in documents.iter().filter_map(|document| document.value()) {
            let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
            let mutates = rules
                .iter()
                .all(|rule| rule.get("mutate").is_some() && rule.path(&["mutate", "targets"]).is_none());
            let name = policy.path(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            if kind_of(policy) == DocumentKind::Policy
                && mutates
                && !rules.is_empty()
                && !found.iter().any(|(known, _)| known == name)
            {
                found.push((name.to_owned(), policy.clone()));
            }
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

/// Standard output of a command on the manifests.
fn run(folder: &Path, policies: &[&(String, Value)], arguments: &[&str]) -> String {
    let mut text = String::new();
    for (_, policy) in policies {
        text.push_str("---\n");
        print(policy, &mut text);
    }
    fs::write(folder.join("policies.yaml"), text).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(arguments)
        .args(["-p", "policies.yaml", "-f", "in.yaml"])
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The policies of all dependences that `diff -o json` reports.
fn noted(folder: &Path, policies: &[&(String, Value)]) -> BTreeSet<BTreeSet<String>> {
    let report = Value::from_json(&run(folder, policies, &["diff", "-o", "json"])).unwrap();
    let objects = report.get("objects").and_then(Value::as_array).unwrap();
    let orders = objects.iter().filter_map(|object| object.get("order").and_then(Value::as_array)).flatten();
    let names = |order: &Value| -> BTreeSet<String> {
        let names = order.get("policies").and_then(Value::as_array).unwrap();
        names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    orders.map(names).collect()
}

#[test]
fn pairs_of_the_catalogue_that_depend_on_their_order_are_noted() {
    let Some(catalogue) = conformance_folder("the order of Kyverno's policies") else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("in.yaml"), MANIFESTS).unwrap();
    let policies = policies(&catalogue);
    let all: Vec<&(String, Value)> = policies.iter().collect();
    let reversed: Vec<&(String, Value)> = policies.iter().rev().collect();
    let noted = noted(folder, &all);
    assert!(!noted.is_empty() && noted == self::noted(folder, &reversed), "{noted:?}");
    assert_ne!(
        run(folder, &all, &["mutate", "-o", "json"]),
        run(folder, &reversed, &["mutate", "-o", "json"])
    );
    let mut dependent = BTreeSet::new();
    for (index, one) in policies.iter().enumerate() {
        for other in &policies[index + 1..] {
            let results = [[one, other], [other, one]].map(|pair| {
                let output = run(folder, &pair, &["mutate", "-o", "json"]);
                Value::from_json(&output).unwrap()
            });
            if results[0] != results[1] {
                dependent.insert(BTreeSet::from([one.0.clone(), other.0.clone()]));
            }
        }
    }
    assert_eq!(noted, dependent);
}
