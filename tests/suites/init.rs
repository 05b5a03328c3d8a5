//! `kubectl kyv test --init` and `--update` for files that do not exist: what is written passes, here and in the Kyverno
//! CLI.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use test_support::files::files_below;
use test_support::{conformance_folder, skip_without_real_programs, tool};

/// The policies of Kyverno's folder for which a suite can be made, at least.
const MIN_SUITES: usize = 20;

const POLICY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: read-only-latest}
spec:
  rules:
  - name: read-only
    match: {any: [{resources: {kinds: [Pod], namespaces: ['team-*'], selector: {matchLabels: {tier: web}}}}]}
    preconditions:
      all:
      - {key: \"{{ request.object.metadata.annotations.checked || '' }}\", operator: Equals, value: 'yes'}
    mutate:
      patchStrategicMerge:
        spec:
          containers:
          - (image): '*:latest'
            securityContext: {+(readOnlyRootFilesystem): true}
";

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.arg("test").args(arguments).current_dir(folder).env_clear().output().unwrap()
}

#[track_caller]
fn passes(ended: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
}

#[test]
fn a_suite_has_objects_of_both_kinds() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    let ended = run(folder.path(), &["--init", "policy.yaml"]);
    passes(&ended);
    assert!(String::from_utf8_lossy(&ended.stdout).ends_with("\n1 suite: 1 passed, 0 failed, 1 skipped\n"));
    let read = |name: &str| fs::read_to_string(folder.path().join(".kyverno-test").join(name)).unwrap();
    let suite = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata:
  name: policy
policies:
- ../policy.yaml
resources:
- resources.yaml
results:
- policy: read-only-latest
  rule: read-only
  kind: Pod
  resources:
  - read-only-1
  patchedResources: patched-read-only-latest.yaml
  result: pass
- policy: read-only-latest
  rule: read-only
  kind: Pod
  resources:
  - not-read-only-2
  result: skip
";
    assert_eq!(read("kyverno-test.yaml"), suite);
    let patched = "apiVersion: v1
kind: Pod
metadata:
  name: read-only-1
  namespace: team-x
  labels:
    tier: web
  annotations:
    checked: \"yes\"
spec:
  containers:
  - name: app
    image: x:latest
    securityContext:
      readOnlyRootFilesystem: true
";
    assert_eq!(read("patched-read-only-latest.yaml"), patched);
    // What is there stays.
    let again = run(folder.path(), &["--init", "policy.yaml"]);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(read("kyverno-test.yaml"), suite);
    passes(&run(folder.path(), &[]));
}

#[test]
fn update_creates_missing_files() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
    passes(&run(folder.path(), &["--init", "policy.yaml"]));
    let file = folder.path().join(".kyverno-test/patched-read-only-latest.yaml");
    let patched = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    assert_eq!(run(folder.path(), &[]).status.code(), Some(1));
    assert!(!file.exists());
    passes(&run(folder.path(), &["--update"]));
    assert_eq!(fs::read_to_string(&file).unwrap(), patched);
}

#[test]
fn suites_of_kyvernos_policies_pass_in_the_kyverno_cli() {
    if skip_without_real_programs("suites that --init writes, in the Kyverno CLI") {
        return;
    }
    let Some(conformance) = conformance_folder("suites that --init writes, in the Kyverno CLI") else {
        return;
    };
    let kyverno = tool("kyverno");
    let mut suites = 0;
    for file in files_below(&conformance.join("policies"), &["yaml"]) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let is_test = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
        if !text.contains("mutate:") || !text.contains("kind: ClusterPolicy") || file.iter().any(is_test) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.yaml"), text).unwrap();
        let ended = run(folder.path(), &["--init", "policy.yaml"]);
        if !folder.path().join(".kyverno-test").exists() {
            continue;
        }
        passes(&ended);
        let theirs = Command::new(&kyverno).args(["test", "."]).current_dir(folder.path()).output().unwrap();
        let printed = String::from_utf8_lossy(&theirs.stdout);
        assert!(theirs.status.success(), "{}: {printed}", file.display());
        suites += 1;
    }
    assert!(suites >= MIN_SUITES, "{suites}");
}

#[test]
fn a_policy_without_a_rule_to_test_has_no_suite() {
    let folder = tempfile::tempdir().unwrap();
    let rule = "name: any, match: {any: [{resources: {kinds: [Pod]}}]}, \
                mutate: {targets: [{apiVersion: v1, kind: Secret, name: s, namespace: a}], \
                patchStrategicMerge: {metadata: {labels: {a: b}}}}";
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec: {{rules: [{{{rule}}}]}}\n"
    );
    fs::write(folder.path().join("policy.yaml"), policy).unwrap();
    let ended = run(folder.path(), &["--init", "policy.yaml"]);
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("note[KYV608]: p/any: no object for it: "), "{said}");
    assert!(said.contains("error[KYV609]: policy.yaml: no suite can be made of its rules"), "{said}");
    assert!(!folder.path().join(".kyverno-test").exists());
}
