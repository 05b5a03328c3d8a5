//! `test --update`, and rows about what is not evaluated.

use std::fs;

use crate::test_command::{copy, kyv, rows};

#[test]
fn update_adds_objects_that_a_file_lacks() {
    let folder = copy("dropped");
    let patched = folder.path().join("patched.yaml");
    let before = fs::read_to_string(&patched).unwrap();
    let ended = kyv(folder.path(), &["--update", "-o", "json"]);
    assert!(ended.stderr.contains("patched.yaml: extended by 1 object"), "{}", ended.stderr);
    let added = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n  namespace: default\n  labels:\n    a: b\n";
    assert_eq!(fs::read_to_string(&patched).unwrap(), format!("{before}{added}"));
    let expected =
        ["label/add v1/ConfigMap/map pass: Ok", "label/add v1/ConfigMap/map fail: Want fail, got pass"];
    assert_eq!(rows(&ended.stdout), expected);
    let again = kyv(folder.path(), &["--update"]);
    assert!(!again.stderr.contains("extended"), "{}", again.stderr);
}

#[test]
fn update_adds_nothing_for_rows_that_compare_nothing_on_purpose() {
    for name in ["only-dropped", "no-names"] {
        let folder = copy(name);
        let patched = folder.path().join("patched.yaml");
        let before = fs::read_to_string(&patched).unwrap();
        kyv(folder.path(), &["--update"]);
        assert_eq!(fs::read_to_string(&patched).unwrap(), before, "{name}");
    }
}

/// The object is as it was before the failed policy: no result to expect.
#[test]
fn update_writes_nothing_where_the_rule_failed() {
    for is_missing in [false, true] {
        let folder = copy("failed-rule");
        let patched = folder.path().join("patched.yaml");
        if is_missing {
            fs::remove_file(&patched).unwrap();
        }
        let before = fs::read_to_string(&patched).ok();
        let ended = kyv(folder.path(), &["--update"]);
        let error = "error[KYV607]: ./kyverno-test.yaml: label/add on v1/ConfigMap/map: the rule failed: ";
        assert!(ended.stderr.contains(error) && ended.stderr.contains("; not updated\n"), "{}", ended.stderr);
        assert_eq!((ended.code, fs::read_to_string(&patched).ok()), (Some(1), before));
    }
}

#[test]
fn messages_of_failed_rows_are_below_the_table() {
    let ended = kyv(copy("failed-rule").path(), &[]);
    let line = ended.stdout.lines().find(|line| line.starts_with("1: ")).unwrap();
    assert!(line.contains("nothing"), "{line}");
    let detailed = kyv(copy("failed-rule").path(), &["--detailed-results"]);
    assert!(!detailed.stdout.contains("\n1: "), "{}", detailed.stdout);
}

/// The report agrees with the exit code.
#[test]
fn rows_that_are_not_evaluated_are_errors_unless_they_are_skipped() {
    let folder = copy("unsupported");
    let ended = kyv(folder.path(), &["--semantics", "kyverno", "-o", "junit"]);
    let counts = "<testsuites tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\">";
    assert!(
        ended.stdout.contains(counts)
            && ended
                .stdout
                .contains("<error message=\"not evaluated: mutate rule with `overlay` or `patches`\">"),
        "{}",
        ended.stdout
    );
    assert_eq!(ended.code, Some(3));
    let skipped = kyv(folder.path(), &["--semantics", "kyverno", "-o", "junit", "--skip-unsupported"]);
    assert!(skipped.stdout.contains("failures=\"0\" errors=\"0\" skipped=\"2\">"), "{}", skipped.stdout);
    assert!(
        skipped
            .stderr
            .contains("note[KYV605]: 1 expectation not evaluated: mutate rule with `overlay` or `patches`"),
        "{}",
        skipped.stderr
    );
    assert_eq!(skipped.code, Some(0));
    let strict =
        kyv(folder.path(), &["--semantics", "kyverno", "-o", "junit", "--skip-unsupported", "--strict"]);
    assert!(strict.stdout.contains("failures=\"2\" errors=\"0\" skipped=\"0\">"), "{}", strict.stdout);
    assert_eq!(strict.code, Some(1));
}
