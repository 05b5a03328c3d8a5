//! The output of `explain`: each folder of `tests/cli/explain_cases` holds `policy.yaml`, `input.yaml` and
//! `expected.txt`; where needed `options` (one argument a line) and `exit` (the exit code).

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::cases;

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");

fn explain(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(["explain", "-p", "policy.yaml", "-f", "input.yaml", "--view", "written"]).args(arguments);
    command.current_dir(folder).env_clear().output().expect("the program runs")
}

fn case(name: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = explain(&cases::folder("explain_cases").join(name), arguments);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn explain_output_matches_snapshots() {
    cases::check_all("explain_cases", 15, explain, |_| 0);
}

#[test]
fn explain_selects_objects_and_rules_by_name() {
    let case = |arguments: &[&str]| case("rules-for-other-kinds-listed", arguments);
    let (code, shown, _) = case(&["--object", "configmap/b"]);
    assert_eq!(code, Some(0));
    assert!(shown.starts_with("ConfigMap/b ") && !shown.contains("ConfigMap/a"), "{shown}");
    let (code, shown, said) = case(&["--object", "Secret/*"]);
    assert!(code == Some(2) && shown.is_empty() && said.contains("--object Secret/*: no object"), "{said}");
    let (code, shown, said) = case(&["--rule", "many/r9"]);
    assert!(code == Some(2) && shown.is_empty() && said.contains("--rule many/r9: no mutate rule"), "{said}");
    let (code, shown, _) = case(&["--rule", "many", "--all"]);
    assert!(code == Some(0) && shown.matches("OTHER KIND ").count() == 16, "{shown}");
}

/// A policy of two rules, one for each object, and a policy that changes both.
#[test]
fn only_the_rules_that_are_shown_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let rule = |name: &str, object: &str, label: &str| {
        format!(
            "{{name: {name}, match: {{any: [{{resources: {{kinds: [ConfigMap], names: [{object}]}}}}]}}, \
             mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{label}}}}}}}}}}}"
        )
    };
    let policy = |name: &str, rules: &[String]| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec: {{rules: [{}]}}\n",
            rules.join(", ")
        )
    };
    let two = policy("two", &[rule("first", "a", "x: \"1\""), rule("second", "b", "x: \"2\"")]);
    let both = policy("both", &[rule("all", "'*'", "x: \"3\"")]);
    let object = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\n")
    };
    fs::write(folder.path().join("policy.yaml"), format!("{two}---\n{both}")).unwrap();
    fs::write(folder.path().join("input.yaml"), format!("{}---\n{}", object("a"), object("b"))).unwrap();
    for (options, summary, notes) in [
        (&["--rule", "two/second"][..], "2 objects, 1 changed by 1 rule", 1),
        (&["--object", "ConfigMap/shop/b"], "1 object, 1 changed by 2 rules", 1),
        (&["--object", "ConfigMap/prod/*"], "no object has this name", 0),
        (&[], "2 objects, 2 changed by 3 rules", 1),
    ] {
        let output = explain(folder.path(), &[options, &["--verbose"]].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(summary), "{options:?}: {said}");
        assert_eq!(said.matches("in the other order").count(), notes, "{options:?}: {said}");
    }
}

#[test]
fn colour_only_on_terminals_or_on_request() {
    let plain = case("a-condition-anchor-that-does-not-hold", &[]).1;
    assert!(!plain.contains('\u{1b}'));
    let coloured = case("a-condition-anchor-that-does-not-hold", &["--color", "always"]).1;
    assert!(coloured.contains("\u{1b}[32mPATCHED"), "{coloured}");
}

#[test]
fn secrets_are_masked_in_json_too() {
    let (code, shown, said) = case("secrets-are-masked", &["-o", "json"]);
    assert_eq!(code, Some(0), "{said}");
    for secret in ["open-sesame", "OPEN-SESAME", "b3Blbi1zZXNhbWU=", "bmV3"] {
        assert!(!shown.contains(secret) && !said.contains(secret), "{secret} is in\n{shown}{said}");
    }
}

#[test]
fn strict_exit_code_is_that_of_other_commands() {
    let (code, _, said) = case("a-difference-that-was-reached", &["--strict"]);
    assert!(code == Some(3) && said.contains("KYV-D02"), "{said}");
}

#[test]
fn explain_marks_values_that_are_cut() {
    let (code, text, _) = case("long-values-are-shown-with-verbose", &[]);
    assert_eq!(code, Some(0));
    assert!(text.contains("(114 characters)") && !text.contains("END"), "{text}");
}

#[test]
fn explain_names_failed_tests_as_json() {
    let (code, text, _) = case("a-test-of-a-json-patch-that-fails", &["-o", "json"]);
    assert_eq!(code, Some(0));
    for failed in [
        r#""failedTest":{"path":"/data/mode","wanted":"b3Blbg==","found":"closed"}"#,
        r#""failedTest":{"path":"/data/none","wanted":null}"#,
        r#""failedTest":{"path":"/data/mode","wanted":"***","found":"***"}"#,
    ] {
        assert!(text.contains(failed), "{failed} in {text}");
    }
}
