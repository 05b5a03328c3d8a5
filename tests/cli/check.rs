//! The output of `check`: each folder of `tests/cli/check_cases` holds `policy.yaml`, `input.yaml` and `expected.txt`;
//! where needed `options` (one argument a line). The exit code is 1 if there is a finding.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kyv::value::Value;

use crate::{cases, json_schema};

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
    cases::check_all("check_cases", 12, check, code);
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

/// What `check` prints about a pair of policies without manifests.
fn without_manifests(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["check", "-p", "policy.yaml"]).args(arguments).current_dir(folder("generated-for-a-pair"));
    command.env_clear().output().expect("the program runs")
}

#[test]
fn generated_objects_need_no_manifests() {
    let run = || without_manifests(&["--generated", "-o", "json"]);
    let (first, second) = (run(), run());
    assert_eq!((first.stdout.clone(), first.status.code()), (second.stdout, Some(1)));
    let report: serde_json::Value = serde_json::from_slice(&first.stdout).expect("JSON");
    let finding = &report["findings"][0];
    assert_eq!(
        finding["generated"]["object"],
        serde_json::json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "a", "labels": {"plan": "gold"}}, "data": {"stage": "test"},
        })
    );
    assert_eq!((&finding["objects"], &finding["origin"]), (&0.into(), &"generated".into()));
    assert_eq!((&report["objects"], report["generated"].as_u64() >= Some(3)), (&0.into(), true));
    // Rules that no given object meets are not noted where none is given.
    assert_eq!(report["diagnostics"], serde_json::json!([]));
    let other_seed = without_manifests(&["-q", "--generated", "--seed", "7"]);
    assert!(String::from_utf8_lossy(&other_seed.stdout).starts_with("order: policies gold, test"));
}

#[test]
fn other_programs_read_that_an_object_is_generated() {
    for format in ["sarif", "github", "gitlab", "junit", "html"] {
        let output = without_manifests(&["-q", "--generated", "-o", format]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(text.contains("generated"), "{format}: {text}");
        assert_eq!(output.status.code(), Some(1), "{format}");
    }
}

#[test]
fn without_objects_the_error_says_that_they_can_be_generated() {
    let output = without_manifests(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("with --generated"), "{output:?}");
}

/// What `check` prints about two policies whose order matters, in the format of another program.
fn in_format(format: &str) -> String {
    let output = check(&folder("an-order"), &["-o", format]);
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stdout).expect("UTF-8")
}

const ORDER: &str = "team, owner: another order gives another result; a cluster runs policies in no fixed order; \
                     fields metadata.labels.owner; cure: write the rules in one policy: rules run in their order";

#[test]
fn findings_are_sarif_with_the_rule_and_the_smallest_object() {
    let log: serde_json::Value = serde_json::from_str(&in_format("sarif")).expect("JSON");
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/schemas/sarif-2.1.0.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("the schema")).expect("JSON");
    assert_eq!(json_schema::errors(&schema, &log), Vec::<String>::new());
    let results = log["runs"][0]["results"].as_array().expect("a list");
    let [result] = &results[..] else { panic!("{results:?}") };
    assert_eq!((&result["ruleId"], &result["level"]), (&"check/order".into(), &"warning".into()));
    assert_eq!(result["message"]["text"], format!("ConfigMap/small: check/order: {ORDER}"));
    let place = |one: &serde_json::Value| {
        let place = &one["physicalLocation"];
        (place["artifactLocation"]["uri"].clone(), place["region"]["startLine"].clone())
    };
    assert_eq!(place(&result["locations"][0]), ("policy.yaml".into(), 6.into()));
    assert_eq!(place(&result["relatedLocations"][0]), ("input.yaml".into(), 6.into()));
    // The finding needs no note.
    let notes = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes.as_array().map(Vec::len), Some(0), "{notes}");
}

#[test]
fn findings_are_written_for_ci_servers() {
    let line = format!(
        "::warning file=input.yaml,line=6,title=check/order::ConfigMap/small: check/order: {ORDER}\n"
    );
    assert_eq!(in_format("github"), line);
    let issues: serde_json::Value = serde_json::from_str(&in_format("gitlab")).expect("JSON");
    assert_eq!(issues[0]["check_name"], "check/order");
    assert_eq!(issues[0]["location"], serde_json::json!({"path": "input.yaml", "lines": {"begin": 6}}));
    let case = format!(
        "<testcase classname=\"check/order\" name=\"ConfigMap/small: team, owner\"><failure message=\"{ORDER}\">input.yaml:6</failure></testcase>"
    );
    let junit = in_format("junit");
    assert!(junit.contains(&case) && junit.ends_with("</testsuites>\n"), "{junit}");
    // Nothing found, and nothing read.
    let none = check(&folder("no-finding"), &["-o", "sarif"]);
    assert_eq!(none.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&none.stdout).contains("\"results\": []"));
    let unread = check(&folder("no-finding"), &["-p", "missing.yaml", "-o", "junit"]);
    assert_eq!(unread.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&unread.stdout).contains("<error message=\"missing.yaml"), "{unread:?}");
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

/// The loops take all the work that may be done before the objects for the condition are made.
#[test]
fn a_search_that_reaches_its_limit_says_so() {
    let loops = |loops: &str| format!("- list: split('{}', '')\n{loops}", "a".repeat(60));
    let indented = |text: &str, by: usize| text.replace('\n', &format!("\n{}", " ".repeat(by)));
    let inner = loops(
        "  preconditions: {all: [{key: \"{{ request.object.data.mode || '' }}\", operator: Equals, value: fast}]}\n  \
         patchStrategicMerge: {data: {mark: \"{{ element }}\"}}",
    );
    let outer = loops(&format!("  foreach:\n    {}", indented(&inner, 4)));
    let policy = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n    - name: r\n      \
         match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n      mutate:\n        foreach:\n          {}\n",
        indented(&outer, 10)
    );
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("policy.yaml"), policy).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(["check", "-p", "policy.yaml", "--generated", "-o", "sarif"]);
    let output = command.current_dir(&folder).env_clear().output().expect("the program runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(stderr.contains("note[KYV814]: fewer objects than planned were made"), "{stderr}");
    assert!(stdout.contains("fewer objects than planned were made"), "{stdout}");
    assert_eq!(output.status.code(), Some(0));
}
