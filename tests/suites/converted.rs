//! `kubectl kyv convert --tests`: the suites of both sides pass, here and in the Kyverno CLI.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use test_support::files::files_below;
use test_support::{conformance_folder, skip_without_real_programs, tool};

/// The policies of Kyverno's folder for which suites are written, at least.
const MIN_POLICIES: usize = 15;

/// Namespaces by their labels, and a condition.
const GOLD: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: gold}
spec:
  rules:
  - name: tier
    match: {any: [{resources: {kinds: [Service], namespaceSelector: {matchLabels: {tier: gold}}}}]}
    preconditions: {all: [{key: \"{{ request.object.spec.type || 'ClusterIP' }}\", operator: NotEquals, value: NodePort}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {+(tier): gold}}}}
";

/// Two rules, of which the second sees what the first one did, for Pods and controllers.
const IMAGES: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: images}
spec:
  rules:
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {containers: [{(image): '*:latest', imagePullPolicy: Always}]}}}
  - name: secret
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {imagePullSecrets: [{name: registry}]}}}
";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(arguments).current_dir(folder).env_clear().output().unwrap()
}

#[track_caller]
fn passes(ended: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    text(&ended.stdout)
}

#[test]
fn suites_of_both_sides_pass() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("policies")).unwrap();
    fs::write(folder.path().join("policies/gold.yaml"), GOLD).unwrap();
    fs::write(folder.path().join("policies/images.yaml"), IMAGES).unwrap();
    let arguments = ["convert", "-p", "policies", "-o", "new", "--proof", "fast", "--tests", "tests"];
    passes(&run(folder.path(), &arguments));
    let read = |name: &str| fs::read_to_string(folder.path().join("tests").join(name)).unwrap();
    let suite = read("gold/old/kyverno-test.yaml");
    assert!(suite.contains("\npolicies:\n- ../../../policies/gold.yaml\n"), "{suite}");
    assert!(suite.contains("\n- policy: gold\n  rule: tier\n  kind: Service\n"), "{suite}");
    assert!(read("gold/values.yaml").contains("\n  labels:\n    tier: gold\n"));
    let suite = read("images/new/kyverno-test.yaml");
    assert!(suite.contains("\npolicies:\n- ../../../new/images.yaml\n"), "{suite}");
    assert!(suite.contains("\n- policy: images\n  isMutatingPolicy: true\n  kind: Pod\n"), "{suite}");
    let printed = passes(&run(folder.path(), &["test", "tests"]));
    assert!(printed.contains("\n4 suites: ") && printed.contains(" 0 failed"), "{printed}");
    // What is there stays, unless it is to be overwritten.
    let check = ["convert", "--check", "policies", "new", "--proof", "fast", "--tests", "tests"];
    assert_eq!(run(folder.path(), &check).status.code(), Some(2));
    passes(&run(folder.path(), &[&check[..], &["--force"]].concat()));
    passes(&run(folder.path(), &["test", "tests"]));
    if !skip_without_real_programs("suites of converted policies, in the Kyverno CLI") {
        let theirs =
            Command::new(tool("kyverno")).args(["test", "tests"]).current_dir(folder.path()).output();
        passes(&theirs.unwrap());
    }
}

#[test]
fn suites_need_a_proof_and_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gold.yaml"), GOLD).unwrap();
    for (arguments, message) in [
        (
            &["--tests", "t"][..],
            "error[KYV004]: --tests needs files of new policies: write them with -o DIR or -i",
        ),
        (&["-i", "--proof", "none", "--tests", "t"], "error[KYV004]: --tests takes objects of the proof"),
    ] {
        let ended = run(folder.path(), &[&["convert", "-p", "gold.yaml"], arguments].concat());
        assert_eq!(ended.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains(message), "{said}");
    }
    assert!(!folder.path().join("t").exists());
}

#[test]
fn suites_of_kyvernos_policies_pass_in_the_kyverno_cli() {
    const WHAT: &str = "suites of Kyverno's converted policies, in the Kyverno CLI";
    if skip_without_real_programs(WHAT) {
        return;
    }
    let Some(conformance) = conformance_folder(WHAT) else { return };
    let kyverno = tool("kyverno");
    let mut policies = 0;
    let mut faults = Vec::new();
    for file in files_below(&conformance.join("policies"), &["yaml"]) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let is_test = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
        if !text.contains("mutate:") || !text.contains("kind: ClusterPolicy") || file.iter().any(is_test) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("old")).unwrap();
        fs::write(folder.path().join("old/policy.yaml"), text).unwrap();
        let arguments =
            ["convert", "-p", "old", "-o", "new", "--proof", "fast", "--tests", "tests", "--quiet"];
        run(folder.path(), &arguments);
        if !folder.path().join("tests").exists() {
            continue;
        }
        passes(&run(folder.path(), &["test", "tests"]));
        let theirs =
            Command::new(&kyverno).args(["test", "tests"]).current_dir(folder.path()).output().unwrap();
        if !theirs.status.success() {
            let printed = [&theirs.stdout[..], &theirs.stderr].concat();
            faults.push(format!("{}: {}", file.display(), String::from_utf8_lossy(&printed)));
        }
        policies += 1;
    }
    assert!(faults.is_empty(), "{} of {policies}:\n{}", faults.len(), faults.join("\n"));
    assert!(policies >= MIN_POLICIES, "{policies}");
}
