//! Kyverno's own policies and suites, where `KYV_CONFORMANCE` points to a folder of them: every classic
//! policy loads, and the suites' resources become the suites' patched resources.
//!
//! What needs an unsupported feature is skipped, printed with its reason and counted.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use kyv::policy::{DocumentKind, kind_of};
use kyv::value::{ObjectRef, Value};
use kyv::yaml::{Limits, Source, print, read};
use test_support::conformance_folder;
use test_support::files::files_below;
use test_support::normalize::without_empty;

fn documents(path: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let source = Arc::new(Source::new(path.display().to_string(), text));
    let documents = read(&source, &Limits::default())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    Ok(documents.iter().filter_map(|document| document.value().cloned()).collect())
}

fn stream(documents: &[Value]) -> String {
    let mut out = String::new();
    for document in documents {
        out.push_str("---\n");
        print(document, &mut out);
    }
    out
}

/// Why a policy cannot be run yet.
fn beyond(policy: &Value) -> Option<&'static str> {
    let rules = policy.path(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let holds = |field: &[&str]| rules.iter().any(|rule| rule.path(field).is_some());
    if holds(&["mutate", "targets"]) { Some("targets") } else { None }
}

fn kyv(arguments: &[&str], folder: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn every_classic_policy_loads() {
    let Some(folder) = conformance_folder("loading Kyverno's policies") else { return };
    let files = files_below(&folder, &["yaml", "yml"]);
    let (mut loaded, mut faults) = (0, Vec::new());
    for file in files {
        let Ok(documents) = documents(&file) else { continue };
        for policy in documents.iter().filter(|document| kind_of(document) == DocumentKind::Policy) {
            if policy.path(&["spec", "rules"]).is_none() {
                continue;
            }
            match kyv::policy::parse(policy, kyv::semantics::Semantics::Documented) {
                Ok(_) => loaded += 1,
                Err(found) => faults.extend(found.iter().map(|fault| format!("{}: {fault}", file.display()))),
            }
        }
    }
    writeln!(std::io::stderr(), "{loaded} classic policies load").ok();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(loaded > 0, "no policy found");
}

/// One row of a suite that can be checked.
struct Row {
    policy: String,
    patched: PathBuf,
    /// The objects it is about, by name or namespace and name; all where it names none.
    resources: Vec<String>,
}

#[test]
fn suite_resources_become_patched_resources() {
    let Some(folder) = conformance_folder("Kyverno's suites through the engine") else { return };
    let files = files_below(&folder, &["yaml", "yml"]);
    let suites = files.into_iter().filter(|file| {
        file.file_name().is_some_and(|name| name == "kyverno-test.yaml" || name == "kyverno-test.yml")
    });
    let mut skipped: BTreeMap<String, usize> = BTreeMap::new();
    let (mut rows, mut faults) = (0, Vec::new());
    for suite in suites {
        for document in documents(&suite).unwrap() {
            match run_suite(&suite, &document, &mut skipped) {
                Ok(passed) => rows += passed,
                Err(found) => faults.extend(found),
            }
        }
    }
    let mut out = std::io::stderr();
    writeln!(out, "{rows} patched resources are as expected").ok();
    for (reason, count) in &skipped {
        writeln!(out, "skipped: {count} × {reason}").ok();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(rows > 0, "no row could be checked");
}

fn run_suite(
    suite: &Path,
    document: &Value,
    skipped: &mut BTreeMap<String, usize>,
) -> Result<usize, Vec<String>> {
    let folder = suite.parent().unwrap();
    let list = |field: &str| -> Vec<PathBuf> {
        let items = document.get(field).and_then(Value::as_array).unwrap_or_default();
        items.iter().filter_map(Value::as_str).map(|path| folder.join(path)).collect()
    };
    let mut policies = Vec::new();
    for file in list("policies") {
        let found = if file.is_dir() { files_below(&file, &["yaml", "yml"]) } else { vec![file] };
        for file in found {
            policies.extend(documents(&file).map_err(|error| vec![error])?);
        }
    }
    let temporary = tempfile::tempdir().unwrap();
    let mut resources = Vec::new();
    for file in list("resources") {
        resources.extend(documents(&file).map_err(|error| vec![error])?);
    }
    let resources_file = temporary.path().join("resources.yaml");
    fs::write(&resources_file, stream(&resources)).unwrap();
    let mut options: Vec<String> = Vec::new();
    let of_file = |file: &str| documents(&folder.join(file)).unwrap().into_iter().next();
    let variables = document.get("variables").and_then(Value::as_str);
    if let Some(mut values) = document.get("values").cloned().or_else(|| variables.and_then(of_file)) {
        // Suites name them in a field; `--values` wants their kind.
        values.insert("apiVersion", "cli.kyverno.io/v1alpha1".into());
        values.insert("kind", "Values".into());
        let file = temporary.path().join("values.yaml");
        fs::write(&file, stream(&[values])).unwrap();
        options.extend(["--values".into(), file.display().to_string()]);
    }
    for file in list("clusterResources") {
        options.extend(["--context-from".into(), file.display().to_string()]);
    }
    if let Some(file) = document.get("context").and_then(Value::as_str) {
        options.extend(["--context-from".into(), folder.join(file).display().to_string()]);
    }
    if let Some(file) = document.get("userinfo").and_then(Value::as_str) {
        options.extend(["--userinfo".into(), folder.join(file).display().to_string()]);
    }

    let mut leave = |reason: &str| *skipped.entry(reason.to_owned()).or_default() += 1;
    let mut wanted = Vec::new();
    for result in document.get("results").and_then(Value::as_array).unwrap_or_default() {
        let text = |field: &str| result.get(field).and_then(Value::as_str).unwrap_or_default();
        let name = text("policy").rsplit('/').next().unwrap_or_default();
        let named = policies
            .iter()
            .find(|policy| policy.path(&["metadata", "name"]).and_then(Value::as_str) == Some(name));
        let Some(policy) = named else {
            leave("rows of a policy that the suite does not hold");
            continue;
        };
        if kind_of(policy) != DocumentKind::Policy {
            leave("rows of MutatingPolicies and other kinds");
        } else if let Some(reason) = beyond(policy) {
            leave(&format!("rows of policies with {reason}"));
        } else if text("patchedResources").is_empty() && text("patchedResource").is_empty() {
            leave("rows without patched resources");
        } else {
            let file = if text("patchedResources").is_empty() {
                text("patchedResource")
            } else {
                text("patchedResources")
            };
            let resources = result.get("resources").and_then(Value::as_array).unwrap_or_default();
            let resources = resources.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            wanted.push(Row { policy: name.to_owned(), patched: folder.join(file), resources });
        }
    }
    let (mut passed, mut faults) = (0, Vec::new());
    for row in wanted {
        let position = policies.iter().position(|policy| {
            policy.path(&["metadata", "name"]).and_then(Value::as_str) == Some(&row.policy)
        });
        let chained: Vec<Value> = policies[..=position.unwrap()]
            .iter()
            .filter(|policy| kind_of(policy) == DocumentKind::Policy && beyond(policy).is_none())
            .cloned()
            .collect();
        let policy_file = temporary.path().join("policy.yaml");
        fs::write(&policy_file, stream(&chained)).unwrap();
        let (policy_file, resources_file) =
            (policy_file.display().to_string(), resources_file.display().to_string());
        let mut arguments = vec!["mutate", "-p", &policy_file, "-f", &resources_file, "--view", "written"];
        arguments.extend(options.iter().map(String::as_str));
        let (code, stdout, stderr) = kyv(&arguments, folder);
        if code == Some(2) {
            faults.push(format!("{}: {}: {stderr}", suite.display(), row.policy));
            continue;
        }
        let got_file = temporary.path().join("got.yaml");
        fs::write(&got_file, &stdout).unwrap();
        let got = documents(&got_file).map_err(|error| vec![error])?;
        for expected in documents(&row.patched).map_err(|error| vec![error])? {
            let selected = |object: &Value| {
                let object = ObjectRef::of(object).unwrap();
                let namespace = object.namespace.as_deref().unwrap_or("default");
                let names = [object.name.to_string(), format!("{namespace}/{}", object.name)];
                row.resources.is_empty() || names.iter().any(|name| row.resources.contains(name))
            };
            let found = got.iter().find(|object| same_object(object, &expected));
            let Some(actual) = found.filter(|object| selected(object)) else { continue };
            if normalized(actual) == normalized(&expected) {
                passed += 1;
            } else {
                faults.push(format!(
                    "{}: {}: {}\n  expected {}\n  got      {}\n{stderr}",
                    suite.display(),
                    row.policy,
                    ObjectRef::of(actual).unwrap(),
                    normalized(&expected).unwrap_or_default().to_go_json(),
                    normalized(actual).unwrap_or_default().to_go_json(),
                ));
            }
        }
    }
    if faults.is_empty() { Ok(passed) } else { Err(faults) }
}

/// Whether two documents are states of one object; no namespace is `default`.
fn same_object(a: &Value, b: &Value) -> bool {
    let identity = |object: &Value| {
        let object = ObjectRef::of(object)?;
        Some((object.kind, object.namespace.unwrap_or_else(|| "default".into()), object.name))
    };
    identity(a).is_some() && identity(a) == identity(b)
}

/// The value as Kyverno compares it: without nulls, empty maps and empty lists, and with a namespace.
fn normalized(value: &Value) -> Option<Value> {
    let mut value = value.clone();
    if let Some(metadata) = value.as_object_mut().and_then(|members| members.get_mut("metadata"))
        && metadata.get("namespace").is_none()
    {
        metadata.insert("namespace", "default".into());
    }
    without_empty(&value)
}
