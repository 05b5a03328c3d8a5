//! What mutating costs beside reading and printing, measured in one run on generated manifests.
//!
//! `cargo bench --bench mutate [-- NUMBER]` prints the best of five runs for each step and its ratio to the
//! first step; only the ratios mean something on a machine that others use too. With `"step=NAME"` it takes one
//! step once, so that its instructions can be counted. `KYV_CONFORMANCE` may name a folder of policies to take
//! instead of the ones written here.

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

/// A way through all documents; gives the size of the result.
type Step<'a> = (String, Box<dyn Fn() -> usize + 'a>);

/// What becomes of an object.
type Change = fn(&Value) -> Value;

/// What is made of a document.
type Write = Box<dyn Fn(&Document, &Value, &mut String)>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(1000);
    let text = manifests(number);
    let source = Arc::new(Source::new("manifests.yaml", text.as_str()));
    let policies = policies();
    let engine = Engine::new(PolicySet::new(policies.clone()), Settings::default());
    let steps = steps(&source, &engine);
    // One step, once: for programs that count instructions.
    if let Some(wanted) = arguments.iter().find_map(|argument| argument.strip_prefix("step=")) {
        let (_, run) = steps.iter().find(|(name, _)| name == wanted).unwrap();
        println!("{wanted}: {} bytes", run());
        return;
    }
    println!("{number} manifests, {} bytes, {} policies", text.len(), policies.len());
    let reading = best(&steps[0].1);
    for (name, run) in &steps {
        let time = best(run);
        let ratio = time.as_secs_f64() / reading.as_secs_f64();
        println!("{name:<40} {:>9.1} ms  {ratio:>5.2} x", time.as_secs_f64() * 1e3);
    }
}

fn steps<'a>(source: &'a Arc<Source>, engine: &'a Engine) -> Vec<Step<'a>> {
    let each = move |write: Write| -> Box<dyn Fn() -> usize> {
        let source = Arc::clone(source);
        Box::new(move || {
            let mut out = String::new();
            for document in documents(&source) {
                let Some(value) = document.value() else { continue };
                write(&document, value, &mut out);
            }
            out.len()
        })
    };
    let mut steps: Vec<Step<'a>> = vec![
        ("read".into(), Box::new(move || documents(source).len())),
        ("read, copy".into(), each(Box::new(|document, _, out| out.push_str(document.text())))),
        ("read, print".into(), each(Box::new(|_, value, out| print(value, out)))),
    ];
    let changes: [(&str, Change); 3] =
        [("nothing", Value::clone), ("a label", labelled), ("a field of each container", pulled)];
    for (what, change) in changes {
        let named = |step: &str| format!("read, change {what}{step}");
        steps.push((named(""), each(Box::new(move |_, value, out| out.push_str(change(value).type_name())))));
        let print = move |document: &Document, value: &Value, out: &mut String| {
            out.push_str(&document.with_value(&change(value)));
        };
        steps.push((named(", print"), each(Box::new(print))));
        let edit = move |document: &Document, value: &Value, out: &mut String| {
            out.push_str(&document.edited_unchecked(&change(value)).text);
        };
        steps.push((named(", edit"), each(Box::new(edit))));
        let check = move |document: &Document, value: &Value, out: &mut String| {
            out.push_str(&document.edited(&change(value)).text);
        };
        steps.push((named(", edit, check"), each(Box::new(check))));
    }
    let mutate = move || {
        let mut out = String::new();
        for document in documents(source) {
            let Some(value) = document.value() else { continue };
            print(&engine.mutate(value, None, &EmptyWorld).after, &mut out);
        }
        out.len()
    };
    steps.push(("read, mutate, print".into(), Box::new(mutate)));
    steps
}

/// The object with a policy for pulling in each container that it has none in.
fn pulled(value: &Value) -> Value {
    let mut value = value.clone();
    let Some(spec) = value.as_object_mut().and_then(|members| members.get_mut("spec")) else { return value };
    let Some(spec) = spec.as_object_mut() else { return value };
    let pods = match spec.get_mut("template") {
        Some(template) => template.as_object_mut().and_then(|members| members.get_mut("spec")),
        None => None,
    };
    let pods = match pods {
        Some(pods) => pods.as_object_mut(),
        None => Some(spec),
    };
    let containers = pods.and_then(|pods| pods.get_mut("containers")).and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        container.insert("imagePullPolicy", Value::from("Always"));
    }
    value
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
fn best(run: &dyn Fn() -> usize) -> Duration {
    let time = || {
        let start = Instant::now();
        assert!(run() > 0);
        start.elapsed()
    };
    (0..RUNS).map(|_| time()).min().unwrap()
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
