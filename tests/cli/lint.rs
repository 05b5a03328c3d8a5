//! The output of `lint`: each folder of `tests/cli/lint_cases` holds `policy.yaml` and `expected.txt`; where needed `options`
//! (one argument a line). The exit code is 1 if there is a finding, 2 if a policy is refused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kyv::value::Value;

use crate::cases;

fn case(name: &str) -> PathBuf {
    cases::folder("lint_cases").join(name)
}

fn lint(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["lint", "-p", "policy.yaml"]).args(arguments);
    command.current_dir(folder).env_clear().output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[test]
fn findings_have_places_and_cures() {
    let code = |expected: &str| match expected {
        "" => 0,
        text if text.contains("error[") => 2,
        _ => 1,
    };
    cases::check_all("lint_cases", 12, lint, code);
}

#[test]
fn the_summary_counts_what_is_left_out() {
    let output = lint(&case("adds-again"), &[]);
    assert_eq!(stderr(&output), "1 finding in 1 of 1 policy, 1 suppressed\n");
    assert_eq!(stderr(&lint(&case("no-findings"), &[])), "no findings in 1 policy\n");
    assert_eq!(stderr(&lint(&case("adds-again"), &["-q"])), "");
}

#[test]
fn levels_choose_the_findings() {
    for (level, code) in [("error", 0), ("warning", 0), ("note", 1)] {
        let output = lint(&case("autogen"), &["--level", level]);
        assert_eq!(output.status.code(), Some(code), "{level}");
    }
}

#[test]
fn a_correction_changes_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(case("unknown-operator").join("policy.yaml")).expect("the policy");
    fs::write(folder.path().join("policy.yaml"), &text).expect("written");
    let output = lint(folder.path(), &["--fix"]);
    let expected = "policy.yaml: 1 finding corrected\nno findings in 1 policy\n";
    assert_eq!((stderr(&output).as_str(), output.status.code()), (expected, Some(0)));
    let corrected = fs::read_to_string(folder.path().join("policy.yaml")).expect("the policy");
    assert_eq!(corrected, text.replace("greaterthan", "GreaterThan"));
    assert_eq!(stdout(&output), "");
}

#[test]
fn standard_input_is_not_corrected() {
    let text = fs::File::open(case("unknown-operator").join("policy.yaml")).expect("the policy");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    let output =
        command.args(["lint", "-p", "-", "--fix"]).env_clear().stdin(text).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).starts_with("error[KYV010]: --fix edits regular files only"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn known_findings_are_left_out_until_they_are_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = |name: &str| {
        fs::copy(case(name).join("policy.yaml"), folder.path().join("policy.yaml")).expect("copied");
    };
    copy("adds-again");
    let output = lint(folder.path(), &["--write-baseline", "known.yaml"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(0)));
    assert_eq!(stderr(&output), "known.yaml: 1 finding written\n");
    let output = lint(folder.path(), &["--baseline", "known.yaml"]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(0)));
    assert_eq!(stderr(&output), "no findings in 1 policy, 1 suppressed, 1 in the baseline\n");
    let output = lint(folder.path(), &["--baseline", "known.yaml", "--level", "error"]);
    assert_eq!(stderr(&output), "no findings in 1 policy, 1 suppressed\n");
    copy("no-findings");
    let output = lint(folder.path(), &["--baseline", "known.yaml"]);
    let gone = "note[KYV911]: known.yaml: 1 finding gone: KYV903 of ports/metrics (policy.yaml); --write-baseline writes the file \
                again\n";
    assert!(stderr(&output).starts_with(gone), "{}", stderr(&output));
    fs::write(folder.path().join("known.yaml"), "version: 2\n").expect("written");
    let output = lint(folder.path(), &["--baseline", "known.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("expected `version: 1` and a list `findings`"), "{}", stderr(&output));
}

#[test]
fn a_baseline_knows_its_files_however_they_are_given() {
    let folder = tempfile::tempdir().expect("a folder");
    let policies = folder.path().join("policies");
    fs::create_dir(&policies).expect("made");
    fs::copy(case("other-name").join("policy.yaml"), policies.join("policy.yaml")).expect("copied");
    let run = |folder: &Path, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
        command
            .arg("lint")
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .output()
            .expect("the program runs")
    };
    let absolute = policies.to_str().expect("UTF-8");
    run(folder.path(), &["-p", "policies", "--write-baseline", "known.yaml"]);
    let known = fs::read_to_string(folder.path().join("known.yaml")).expect("the baseline");
    assert!(known.contains("file: policies/policy.yaml"), "{known}");
    let other = folder.path().join("other.yaml");
    run(Path::new("/"), &["-p", absolute, "--write-baseline", other.to_str().expect("UTF-8")]);
    assert_eq!(fs::read_to_string(other).expect("the baseline"), known);
    for (place, policies, baseline) in
        [(folder.path(), absolute, "known.yaml"), (&policies, ".", "../known.yaml")]
    {
        let output = run(place, &["-p", policies, "--baseline", baseline]);
        assert_eq!(stderr(&output), "no findings in 1 policy, 2 in the baseline\n");
    }
}

#[test]
fn a_refused_policy_is_in_no_baseline() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::copy(case("refused").join("policy.yaml"), folder.path().join("policy.yaml")).expect("copied");
    let output = lint(folder.path(), &["--write-baseline", "known.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stdout(&output).starts_with("error[KYV201]: policy.yaml:9:7: wrong/label: "),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).starts_with("known.yaml: 1 finding written\n"), "{}", stderr(&output));
}

#[test]
fn other_programs_read_the_findings() {
    let json =
        |output: &str| Value::from_json(&stdout(&lint(&case("merge-key"), &["-o", output]))).expect("JSON");
    let report = json("json");
    assert_eq!(report.get("version"), Some(&Value::from(1)));
    let finding = report.get("findings").and_then(|findings| findings.at(0)).expect("a finding");
    for (field, expected) in [
        ("level", r#""warning""#),
        ("code", r#""KYV904""#),
        ("file", r#""policy.yaml""#),
        ("line", "13"),
        ("policy", r#""pull""#),
        ("rule", r#""always""#),
        ("path", r#""/spec/rules/0/mutate/patchStrategicMerge/spec/containers/0""#),
        ("fixable", "false"),
    ] {
        assert_eq!(finding.get(field).expect(field).to_json(), expected);
    }
    let sarif = json("sarif");
    let result = sarif.get("runs").and_then(|runs| runs.at(0)?.get("results")?.at(0)).expect("a result");
    assert_eq!(result.get("ruleId"), Some(&Value::from("KYV904")));
    let gitlab = json("gitlab");
    assert_eq!(gitlab.at(0).and_then(|issue| issue.get("check_name")), Some(&Value::from("KYV904")));
    let github = stdout(&lint(&case("merge-key"), &["-o", "github"]));
    assert!(github.starts_with("::warning file=policy.yaml,line=13,"), "{github}");
    let junit = stdout(&lint(&case("merge-key"), &["-o", "junit"]));
    assert!(junit.contains("<testcase classname=\"pull/always\""), "{junit}");
}

#[test]
fn files_without_policies_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.yaml"), "a: 1\n").expect("written");
    let output = lint(folder.path(), &[]);
    assert_eq!((stdout(&output).as_str(), output.status.code()), ("", Some(2)));
    assert!(stderr(&output).contains("policy.yaml: no policy found"), "{}", stderr(&output));
    fs::write(folder.path().join("policy.yaml"), "a: [\n").expect("written");
    assert_eq!(lint(folder.path(), &[]).status.code(), Some(2));
}

/// A policy that is refused has no other findings until it is corrected.
#[test]
fn corrected_policies_are_linted_again() {
    let text = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n    - name: r\n      \
                match: {any: [{resources: {kinds: [Deployment]}}]}\n      \
                preconditions: {all: [{key: a, operator: equalz, value: a}]}   # a comment\n      \
                mutate: {patchStrategicMerge: {metadata: {labels: {count: 5}}, spec: {replcas: 3}}}\n";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.yaml");
    fs::write(&file, text).expect("a file");
    let output = lint(folder.path(), &["--fix"]);
    let corrected = text.replace("equalz", "Equals").replace("count: 5", "count: \"5\"");
    assert_eq!(fs::read_to_string(&file).expect("the file"), corrected);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("`spec.replcas` is no field of `Deployment`"), "{stdout}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn json_has_the_errors_of_files_that_cannot_be_read() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("policy.yaml"), "foo: [").expect("a file");
    let output = lint(folder.path(), &["-q", "-o", "json"]);
    let report = Value::from_json(&String::from_utf8_lossy(&output.stdout)).expect("JSON");
    let first = report.get("diagnostics").and_then(|list| list.at(0)).expect("a diagnostic");
    assert_eq!(first.get("code").and_then(Value::as_str), Some("KYV107"));
    assert_eq!(output.status.code(), Some(2));
}
