//! What mutating costs beside reading and printing, measured in one run on generated manifests.
//!
//! `cargo bench --bench mutate [-- NUMBER]` prints the best of five runs for each step and its ratio to the
//! first step; only the ratios mean something on a machine that others use too. `KYV_CONFORMANCE` may name a
//! folder of policies to take instead of the ones written here.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops where it cannot go on"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kyv::engine::{EmptyWorld, Engine, Settings};
use kyv::policy::{self, DocumentKind, Policy, PolicySet};
use kyv::semantics::Semantics;
use kyv::value::Value;
use kyv::yaml::{Document, Limits, Source, print, read};

const RUNS: usize = 5;

fn main() {
    let number = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let text = manifests(number);
    let source = Arc::new(Source::new("manifests.yaml", text.as_str()));
    let policies = policies();
    println!("{number} manifests, {} bytes, {} policies", text.len(), policies.len());
    let engine = Engine::new(PolicySet::new(policies), Settings::default());

    let reading = best(|| documents(&source).len());
    let printing = best(|| {
        let mut out = String::new();
        for document in documents(&source) {
            print(document.value().unwrap_or(&Value::Null), &mut out);
        }
        out.len()
    });
    let mutating = best(|| {
        let mut out = String::new();
        for document in documents(&source) {
            let Some(value) = document.value() else { continue };
            let report = engine.mutate(value, None, &EmptyWorld);
            print(&report.after, &mut out);
        }
        out.len()
    });
    let editing = best(|| {
        let mut out = String::new();
        for document in documents(&source) {
            let Some(value) = document.value() else { continue };
            out.push_str(&document.edited(&labelled(value)).text);
        }
        out.len()
    });
    let steps = [
        ("read", reading),
        ("read, print", printing),
        ("read, edit, check", editing),
        ("read, mutate, print", mutating),
    ];
    for (step, time) in steps {
        let ratio = time.as_secs_f64() / reading.as_secs_f64();
        println!("{step:<20} {:>9.1} ms  {ratio:>5.2} x", time.as_secs_f64() * 1e3);
    }
}

/// The object with one more label.
fn labelled(value: &Value) -> Value {
    let mut value = value.clone();
    let mut metadata = value.get("metadata").cloned().unwrap_or_else(Value::empty_object);
    let mut labels = metadata.get("labels").cloned().unwrap_or_else(Value::empty_object);
    labels.insert("edited", Value::from("yes"));
    metadata.insert("labels", labels);
    value.insert("metadata", metadata);
    value
}

/// The shortest of several runs.
fn best(mut run: impl FnMut() -> usize) -> Duration {
    let time = |run: &mut dyn FnMut() -> usize| {
        let start = Instant::now();
        assert!(run() > 0);
        start.elapsed()
    };
    (0..RUNS).map(|_| time(&mut run)).min().unwrap()
}

fn documents(source: &Arc<Source>) -> Vec<Document> {
    read(source, &Limits::default()).unwrap()
}

/// A mixture of kinds as a folder of manifests has them.
fn manifests(number: usize) -> String {
    let mut out = String::new();
    for index in 0..number {
        let namespace = index % 17;
        let head = |version: &str, kind: &str| {
            format!(
                "---\napiVersion: {version}\nkind: {kind}\nmetadata:\n  name: n{index}\n  namespace: team-{namespace}\n  labels:\n    app: n{index}\n"
            )
        };
        let containers = |indent: &str| {
            let mut text = String::new();
            for (name, image) in [
                ("main", if index % 3 == 0 { "nginx:latest" } else { "nginx:1.27" }),
                ("metrics", "registry.example/metrics:1.4"),
            ] {
                let _ = write!(
                    text,
                    "{indent}- name: {name}\n{indent}  image: {image}\n{indent}  env:\n{indent}    - name: LOG_LEVEL\n{indent}      value: info\n{indent}  ports:\n{indent}    - containerPort: 8080\n"
                );
            }
            text
        };
        match index % 10 {
            0..=3 => {
                out.push_str(&head("apps/v1", "Deployment"));
                let _ = write!(
                    out,
                    "spec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: n{index}\n  template:\n    metadata:\n      labels:\n        app: n{index}\n    spec:\n      containers:\n{}",
                    containers("        ")
                );
            }
            4..=6 => {
                out.push_str(&head("v1", "Pod"));
                let _ = write!(out, "spec:\n  containers:\n{}", containers("    "));
            }
            7 => {
                out.push_str(&head("v1", "Service"));
                out.push_str(
                    "spec:\n  ports:\n    - port: 80\n      targetPort: 8080\n      protocol: TCP\n",
                );
            }
            _ => {
                out.push_str(&head("v1", "ConfigMap"));
                let _ = write!(out, "data:\n  a.properties: |\n    one=1\n    two=2\n  key: \"{index}\"\n");
            }
        }
    }
    out
}

/// The policies of the folder that the environment names, or those written below.
fn policies() -> Vec<Policy> {
    let mut found = Vec::new();
    match std::env::var_os("KYV_CONFORMANCE") {
        Some(folder) => collect(Path::new(&folder), &mut found),
        None => compile(POLICIES, &mut found),
    }
    found
}

fn collect(folder: &Path, found: &mut Vec<Policy>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, found);
        } else if let Ok(text) = std::fs::read_to_string(&path) {
            compile(&text, found);
        }
    }
}

/// Compiles the policies of a text that can be evaluated as a whole.
fn compile(text: &str, found: &mut Vec<Policy>) {
    let Ok(documents) = read(&Arc::new(Source::new("policies.yaml", text)), &Limits::default()) else {
        return;
    };
    for document in documents.iter().filter_map(Document::value) {
        if policy::kind_of(document) != DocumentKind::Classic {
            continue;
        }
        let Ok(policy) = policy::parse(document, Semantics::Documented) else { continue };
        if !policy.rules.is_empty() && policy.not_evaluated.is_empty() {
            found.push(policy);
        }
    }
}

const POLICIES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pull-latest}
spec:
  rules:
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Deployment, ConfigMap]}}]}
    preconditions: {all: [{key: "{{ request.operation }}", operator: AnyIn, value: [CREATE, UPDATE]}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): "team-{{ request.namespace }}"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: resources}
spec:
  rules:
  - name: defaults
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate:
      patchStrategicMerge:
        spec: {containers: [{(name): "*", resources: {requests: {+(cpu): 100m, +(memory): 64Mi}}}]}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: mark}
spec:
  rules:
  - name: mark
    match: {any: [{resources: {kinds: [Service, ConfigMap]}}]}
    mutate:
      patchesJson6902: |-
        - {op: add, path: /metadata/annotations/example.com~1marked, value: "yes"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: elsewhere}
spec:
  rules:
  - name: elsewhere
    match: {any: [{resources: {kinds: [Ingress, NetworkPolicy]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
"#;
