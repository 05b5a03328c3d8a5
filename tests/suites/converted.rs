//! `kubectl kyv convert --tests`: the suites of both sides pass, here and in the Kyverno CLI.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use test_support::files::files_below;
use test_support::{conformance_folder, log, skip_without_real_programs, tool};

/// The policies of each of the two folders for which suites are written, at least.
const MIN_POLICIES: usize = 15;

/// Of how many policies of the corpus one is converted, without `KYV_ALL_PAIRS`.
const STEP: usize = 16;

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

/// A kind that one filter names, and the other one leaves out.
const NARROW: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: narrow}
spec:
  rules:
  - name: hit
    match: {all: [{resources: {kinds: [ConfigMap, Secret]}}, {resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {hit: \"yes\"}}}}
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
    fs::write(folder.path().join("policies/narrow.yaml"), NARROW).unwrap();
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
    // A CEL policy has no result for objects that its constraints do not match.
    assert!(read("narrow/old/kyverno-test.yaml").contains("\n  kind: Secret\n"));
    assert!(!read("narrow/new/kyverno-test.yaml").contains("\n  kind: Secret\n"));
    let printed = passes(&run(folder.path(), &["test", "tests"]));
    assert!(printed.contains("\n6 suites: ") && printed.contains(" 0 failed"), "{printed}");
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

/// Both sides in the real Kyverno: each policy with the objects of its suites.
#[test]
fn suites_of_converted_policies_pass_in_the_kyverno_cli() {
    const WHAT: &str = "suites of converted policies, in the Kyverno CLI";
    if skip_without_real_programs(WHAT) {
        return;
    }
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let step = if are_all { 1 } else { STEP };
    let own: Vec<PathBuf> = policies_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus"));
    // Kyverno 1.19 does not read the legacy syntax.
    let own =
        own.into_iter().filter(|file| !file.iter().any(|part| part.to_string_lossy().starts_with("legacy")));
    let mut folders: Vec<Vec<PathBuf>> = vec![own.step_by(step).collect()];
    folders.extend(conformance_folder(WHAT).map(|folder| policies_below(&folder.join("policies"))));
    for files in folders {
        let (mut policies, mut objects) = (0, 0);
        let mut faults = Vec::new();
        for file in files.iter().filter(|file| !is_other_in_the_cli(file)) {
            let Some((count, fault)) = suites(file) else { continue };
            policies += 1;
            objects += count;
            faults.extend(fault.map(|fault| format!("{}: {fault}", file.display())));
        }
        log(&format!("{policies} policies with {objects} objects, each on both sides"));
        assert!(faults.is_empty(), "{} of {policies}:\n{}", faults.len(), faults.join("\n"));
        assert!(policies >= MIN_POLICIES, "{policies}");
    }
}

/// Cases with which the Kyverno CLI does something else than a cluster.
fn is_other_in_the_cli(policy: &Path) -> bool {
    const CASES: [&str; 13] = [
        // It panics on conditions of a webhook.
        "autogen/conditions-of-the-webhook-are-not-generated",
        "match/a-condition-of-the-webhook-fails",
        "match/a-condition-of-the-webhook-fails-for-an-object-that-no-rule-selects",
        "match/a-condition-of-the-webhook-may-fail",
        "match/a-condition-of-the-webhook-sees-earlier-changes",
        "match/conditions-of-the-webhook-must-all-be-true",
        // It reads the numbers of manifests as doubles.
        "preconditions/a-large-number-is-compared-in-plain-digits",
        // Its parser of YAML refuses a plain scalar that ends with `?` before a comma.
        "preconditions/many-wildcards-in-both-lists",
        // Which of two annotations it evaluates first is random, and the other one sees it.
        "context/the-entry-of-the-rule-sees-its-own-scope",
        // Namespaced policies change the objects of all namespaces.
        "match/cluster-and-namespaced-policies-work-together",
        // A request for a Namespace has no namespace.
        "variables/a-request-for-an-object-of-the-cluster-has-no-namespace",
        // It reads no file with other documents, and none with an unknown field.
        "not-evaluated/other-documents-beside-a-policy",
        "krm-function/skip-unsupported",
    ];
    CASES.iter().any(|case| policy.parent().is_some_and(|folder| folder.ends_with(case)))
}

/// The files of classic policies that mutate, without those of tests.
fn policies_below(folder: &Path) -> Vec<PathBuf> {
    let is_test = |part: &std::ffi::OsStr| part.to_string_lossy().starts_with('.');
    let is_policy = |file: &PathBuf| {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.contains("mutate:") && text.contains("kind: ClusterPolicy") && !file.iter().any(is_test)
    };
    files_below(folder, &["yaml"]).into_iter().filter(is_policy).collect()
}

/// Converts a policy, and runs the suites of both sides here and in the Kyverno CLI. Returns the number of their objects
/// and what the CLI says if it fails; `None` if the policy is not converted exactly.
fn suites(policy: &Path) -> Option<(usize, Option<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("old")).unwrap();
    fs::copy(policy, path("old/policy.yaml")).unwrap();
    let arguments = ["convert", "-p", "old", "-o", "new", "--proof", "fast", "--tests", "tests", "--quiet"];
    run(folder.path(), &arguments);
    if !path("tests").exists() {
        return None;
    }
    passes(&run(folder.path(), &["test", "tests"]));
    let resources = files_below(&path("tests"), &["yaml"]);
    let resources = resources.iter().filter(|file| file.ends_with("resources.yaml"));
    let texts = resources.map(|file| fs::read_to_string(file).unwrap());
    let objects = texts.map(|text| text.lines().filter(|line| line.starts_with("kind:")).count()).sum();
    let theirs = Command::new(tool("kyverno")).args(["test", "tests"]).current_dir(folder.path()).output();
    let theirs = theirs.unwrap();
    let printed = [&theirs.stdout[..], &theirs.stderr].concat();
    let fault = (!theirs.status.success()).then(|| String::from_utf8_lossy(&printed).into_owned());
    Some((objects, fault))
}
