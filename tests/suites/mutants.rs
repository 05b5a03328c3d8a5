//! `test --mutants`: small faults in policies that suites notice or not.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use kyv::suite::mutants;
use kyv::value::Value;
use kyv::yaml::{parse_value, print};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use test_support::{conformance_folder, log, tool};

/// Of how many mutants one is run in the Kyverno CLI, without `KYV_ALL_PAIRS`.
const STRIDE: usize = 8;

/// What there is at least; with less the test compares too little to mean anything.
const MIN_MUTANTS: usize = 30;

fn test(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.arg("test").args(arguments).current_dir(folder).env_clear().output().expect("the program runs")
}

fn covered(arguments: &[&str]) -> Output {
    test(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites/covered"), arguments)
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn faults_that_no_suite_notices_are_listed() {
    let output = covered(&["--mutants"]);
    // The suite has a row for the first rule alone.
    let expected = "\
policy.yaml:12: labels/tier: spec.rules[1].preconditions.all[0]: condition removed
policy.yaml:12: labels/tier: spec.rules[1].preconditions.all[0].operator: `Equals` is `NotEquals`
policy.yaml:13: labels/tier: spec.rules[1].mutate.patchStrategicMerge.metadata.labels.tier: \"edge\" is \"edge-other\"
policy.yaml:16: labels/config: spec.rules[2].mutate.patchStrategicMerge.metadata.(name): anchor removed
policy.yaml:16: labels/config: spec.rules[2].mutate.patchStrategicMerge.metadata.(name): \"app-*\" is \"app-*-other\"
policy.yaml:16: labels/config: spec.rules[2].mutate.patchStrategicMerge.metadata.labels.config: \"app\" is \"app-other\"

1 of 7 mutants noticed
";
    assert_eq!(stdout(&output), expected);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "1 suite: 1 passed, 0 failed, 2 skipped\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn all_faults_are_in_the_report() {
    let report = Value::from_json(&stdout(&covered(&["-q", "--mutants=json"]))).expect("JSON");
    let all = report.get("mutants").and_then(Value::as_array).expect("mutants");
    assert_eq!(all.len(), 7);
    let expected = r#"{"policy":"labels","rule":"team","file":"policy.yaml","line":9,"path":"spec.rules[0].mutate.patchStrategicMerge.metadata.labels.team","fault":"\"shop\" is \"shop-other\"","noticed":true}"#;
    assert_eq!(all[0].to_json(), expected);
}

/// A mutant of a policy that a suite of the catalogue tests.
struct Case {
    /// The folder of the policy, which has the suite.
    folder: PathBuf,
    file: PathBuf,
    name: String,
    policy: Value,
    is_noticed: bool,
}

#[test]
fn the_kyverno_cli_notices_the_same_faults() {
    if test_support::skip_without_real_programs("mutants in the Kyverno CLI") {
        return;
    }
    let Some(conformance) = conformance_folder("mutants in the Kyverno CLI") else { return };
    let catalogue = conformance.join("policies");
    let report = test(&catalogue, &["-q", "--mutants=json"]);
    let report = Value::from_json(&stdout(&report)).expect("JSON");
    let all = report.get("mutants").and_then(Value::as_array).expect("mutants");
    let are_all = std::env::var_os("KYV_ALL_PAIRS").is_some_and(|value| value == "1");
    let cases = all.iter().filter_map(|row| case(&catalogue, row));
    let cases: Vec<Case> = cases.step_by(if are_all { 1 } else { STRIDE }).collect();
    assert!(cases.len() >= MIN_MUTANTS, "only {} mutants", cases.len());
    let noticed = cases.iter().filter(|case| case.is_noticed).count();
    log(&format!("{} mutants, {noticed} of them noticed", cases.len()));
    let cli = tool("kyverno");
    let compare = |case: &Case| {
        let found = is_noticed(&cli, case);
        (found != case.is_noticed).then(|| format!("{}: we said {}", case.name, case.is_noticed))
    };
    let faults: Vec<String> = cases.into_par_iter().filter_map(|case| compare(&case)).collect();
    log(&format!("{} disagreements: {faults:#?}", faults.len()));
    assert!(faults.is_empty(), "{faults:#?}");
}

/// The mutant of a row, if its policy is alone in its file and the suite is beside it.
fn case(catalogue: &Path, row: &Value) -> Option<Case> {
    let text = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default();
    let file = PathBuf::from(text("file"));
    let folder = catalogue.join(&file).parent()?.to_owned();
    folder.join(".kyverno-test").is_dir().then_some(())?;
    let written = fs::read_to_string(catalogue.join(&file)).expect("a policy");
    (written.matches("\nkind:").count() == 1).then_some(())?;
    let policy = parse_value(&written).expect("YAML");
    let is_it =
        |one: &kyv::suite::MutatedPolicy| one.at.to_string() == text("path") && one.fault == text("fault");
    let mutant = mutants(&policy).into_iter().find(is_it)?;
    let is_noticed = row.get("noticed") == Some(&Value::from(true));
    let name = format!("{}: {}: {}", text("file"), text("path"), text("fault"));
    let file = file.file_name()?.into();
    Some(Case { folder, file, name, policy: mutant.policy, is_noticed })
}

/// Whether a suite that passes fails in the Kyverno CLI with a mutant.
fn is_noticed(cli: &Path, case: &Case) -> bool {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let copied = folder.path().join("policy");
    copy(&case.folder, &copied);
    let mut text = String::new();
    print(&case.policy, &mut text);
    fs::write(copied.join(&case.file), text).expect("a file in a temporary folder");
    let run = Command::new(cli).arg("test").arg(&copied).env_clear().stdin(Stdio::null()).output();
    !run.expect("the Kyverno CLI starts").status.success()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder in a temporary folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("a file can be copied");
        }
    }
}
