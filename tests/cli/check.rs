//! The output of `check`: each folder of `tests/cli/check_cases` holds `policy.yaml`, `input.yaml` and `expected.txt`;
//! where needed `options` (one argument a line). The exit code is 1 if there is a finding.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kyv::value::Value;

use crate::cases;

fn folder(name: &str) -> PathBuf {
    cases::folder("check_cases").join(name)
}

fn check(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["check", "-q", "-p", "policy.yaml", "-f", "input.yaml"]).args(arguments);
    command.current_dir(folder).env_clear().output().expect("the program runs")
}

#[test]
fn findings_are_shown_with_the_smallest_object() {
    let code = |expected: &str| i32::from(!expected.starts_with("no findings"));
    cases::check_all("check_cases", 7, check, code);
}

#[test]
fn findings_are_json_too() {
    let output = check(&folder("an-order"), &["-o", "json"]);
    let report = Value::from_json(&String::from_utf8(output.stdout).expect("UTF-8")).expect("JSON");
    let finding = report.get("findings").and_then(|findings| findings.at(0)).expect("a finding");
    for (field, expected) in [
        ("kind", r#""order""#),
        ("policies", r#"["team","owner"]"#),
        ("fields", r#"["metadata.labels.owner"]"#),
        ("objects", "2"),
        ("smallest", r#""ConfigMap/small""#),
        ("origin", r#""input.yaml:6""#),
    ] {
        assert_eq!(finding.get(field).expect(field).to_json(), expected);
    }
    assert!(
        finding.get("diff").and_then(Value::as_str).is_some_and(|diff| diff.contains("-    owner: shop"))
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn inputs_that_cannot_be_read_are_no_clean_result() {
    let output = check(&folder("no-finding"), &["-f", "missing.yaml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("missing.yaml"));
}

#[test]
fn a_run_without_a_result_has_json_too() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["check", "-o", "json", "-p", "expected.txt", "-f", "input.yaml"]).env_clear();
    let output = command.current_dir(folder("no-finding")).output().expect("the program runs");
    let report = Value::from_json(&String::from_utf8(output.stdout).expect("UTF-8")).expect("JSON");
    assert_eq!(report.get("findings").map(Value::to_json).as_deref(), Some("[]"));
    let message = report.get("diagnostics").and_then(|all| all.at(0)).and_then(|one| one.get("message"));
    assert!(message.and_then(Value::as_str).is_some_and(|message| message.contains("expected.txt")));
    assert_eq!(output.status.code(), Some(2));
}
