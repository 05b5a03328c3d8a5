//! `kubectl kyv test`, on the suites of `tests/suites`, and on Kyverno's own where `KYV_CONFORMANCE` points to
//! a folder of them.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kyv::value::Value;
use test_support::conformance_folder;

pub(crate) struct RunOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites")
}

/// Runs `kubectl kyv test` in a folder.
pub(crate) fn kyv(folder: &Path, arguments: &[&str]) -> RunOutput {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .arg("test")
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    RunOutput { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).unwrap()
}

/// The rows of all suites of a report: policy/rule, resource, result, reason.
pub(crate) fn rows(stdout: &str) -> Vec<String> {
    let report = Value::from_json(stdout).unwrap();
    list(&report, "suites")
        .iter()
        .flat_map(|suite| list(suite, "rows"))
        .map(|row| {
            let cell = |field| text(row, field);
            format!(
                "{}/{} {} {}: {}",
                cell("policy"),
                cell("rule"),
                cell("resource"),
                cell("result"),
                cell("reason")
            )
        })
        .collect()
}

/// A copy of a suite that may be written to.
pub(crate) fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(suites().join(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

#[test]
fn every_expectation_gives_its_rows() {
    let table: &[(&str, i32, &[&str])] = &[
        (
            "passing",
            0,
            &[
                "label/add v1/ConfigMap/map pass: Ok",
                "label/add v1/ConfigMap/done pass: Ok",
                "label/add v1/ConfigMap/map pass: Ok",
            ],
        ),
        (
            "difference",
            1,
            &[
                "label/add v1/ConfigMap/map fail: Resource diff",
                "label/add v1/ConfigMap/done fail: Want pass, got skip",
            ],
        ),
        (
            "dropped",
            1,
            &[
                "label/add v1/ConfigMap/map fail: Resource error: patched.yaml does not have the object",
                "label/add v1/ConfigMap/map fail: Resource error: patched.yaml does not have the object",
            ],
        ),
        ("only-dropped", 0, &["label/add v1/ConfigMap/map dropped: patched.yaml does not have the object"]),
        (
            "no-names",
            1,
            &[
                "label/add v1/ConfigMap/map pass: Ok",
                "label/add v1/ConfigMap/other dropped: patched.yaml does not have the object",
                "label/add v1/ConfigMap/map fail: Resource error: elsewhere.yaml does not have the object",
                "label/add v1/ConfigMap/other fail: Resource error: elsewhere.yaml does not have the object",
            ],
        ),
        ("failed-rule", 1, &["label/add v1/ConfigMap/map fail: Resource diff"]),
        (
            "excluded",
            0,
            &["label/add v1/Service/service skip: Excluded", "label/add v1/Service/service skip: Excluded"],
        ),
        // As the Kyverno CLI has it, whatever is expected.
        (
            "not-matched",
            1,
            &[
                "plain/ v1/ConfigMap/map fail: Not found: the policy does not match the object",
                "generated/ v1/ConfigMap/map skip: Excluded",
                "selecting/ v1/ConfigMap/map skip: Excluded",
                "admission/ v1/ConfigMap/map fail: Not found: the policy does not match the object",
                "plain/ v1/ConfigMap/map fail: Not found: the policy does not match the object",
                "generated/ v1/ConfigMap/map skip: Excluded",
                "selecting/ v1/ConfigMap/map skip: Excluded",
                "admission/ v1/ConfigMap/map fail: Not found: the policy does not match the object",
            ],
        ),
        ("values", 0, &["label/add v1/ConfigMap/map pass: Ok"]),
        ("values-inline", 0, &["label/add v1/ConfigMap/map pass: Ok"]),
        ("answers", 0, &["label/add v1/ConfigMap/default/map pass: Ok"]),
        (
            "params",
            0,
            &["label/ v1/ConfigMap/default/map pass: Ok", "label/ v1/ConfigMap/default/map pass: Ok"],
        ),
        ("cluster", 0, &["label/add v1/ConfigMap/default/map pass: Ok"]),
        ("chained", 0, &["first/add v1/ConfigMap/map pass: Ok", "second/add v1/ConfigMap/map pass: Ok"]),
        (
            "request",
            0,
            &[
                "label/add v1/ConfigMap/map pass: Ok",
                "label/add v1/ConfigMap/map pass: Ok",
                "label/by-alice v1/ConfigMap/map pass: Ok",
            ],
        ),
        (
            "generated",
            0,
            &[
                "label/autogen-add apps/v1/Deployment/web pass: Ok",
                "label/autogen-add apps/v1/Deployment/web pass: Ok",
            ],
        ),
        (
            "statuses",
            0,
            &[
                "two/first v1/ConfigMap/map pass: Ok",
                "two/second v1/ConfigMap/map pass: Ok",
                "later/add v1/ConfigMap/map pass: Ok",
                "condition/add v1/ConfigMap/map pass: Ok",
            ],
        ),
        (
            "nothing-selected",
            1,
            &[
                "label/add mapp fail: Not found: the suite has no such object",
                "label/ad map fail: Not found: the policy has no such rule",
                "labels/add map fail: Not found: the suite has no such policy",
                "label/add v1/ConfigMap/map pass: Ok",
            ],
        ),
        ("exceptions", 0, &["label/add v1/ConfigMap/map pass: Ok", "other/add v1/ConfigMap/map pass: Ok"]),
        (
            "missing-file",
            1,
            &[
                "label/add v1/ConfigMap/map fail: Resource error: missing-file/no-such-file.yaml: cannot be read: no such file or directory",
            ],
        ),
        (
            "targets",
            1,
            &[
                "label/secrets v1/Secret/mine pass: Ok",
                "label/secrets v1/Secret/mine pass: Ok",
                "label/secrets v1/Secret/token pass: Ok",
                "label/secrets v1/Secret/token pass: Ok",
                "label/secrets v1/Secret/elsewhere/elsewhere skip: Excluded",
                "label/secrets v1/ConfigMap/trigger-1 pass: Ok",
                "label/secrets v1/ConfigMap/trigger-1 fail: Want pass, got skip",
                "label/secrets v1/ConfigMap/other skip: Excluded",
            ],
        ),
        (
            "own-targets",
            0,
            &[
                "itself/ v1/ConfigMap/shop/a pass: Ok",
                "constrained/ v1/ConfigMap/shop/a pass: Ok",
                "constrained/ v1/ConfigMap/shop/b pass: Ok",
                "background/ v1/ConfigMap/shop/a pass: Ok",
                "background/ v1/ConfigMap/shop/b pass: Ok",
            ],
        ),
        (
            "not-evaluated",
            0,
            &["check/check map not evaluated: validate rule", "cel/ map not evaluated: ValidatingPolicy"],
        ),
        (
            "unsupported",
            3,
            &[
                "guarded/add map not evaluated: mutate rule with `overlay` or `patches`",
                "guarded/check map not evaluated: validate rule",
            ],
        ),
    ];
    for (name, code, expected) in table {
        // A cluster refuses the legacy syntax of that suite.
        let semantics = if *name == "unsupported" { "kyverno" } else { "documented" };
        let ended = kyv(&suites(), &[name, "-o", "json", "-q", "--semantics", semantics]);
        assert_eq!(ended.code, Some(*code), "{name}: {}", ended.stderr);
        assert_eq!(rows(&ended.stdout), *expected, "{name}");
    }
}

#[test]
fn discarded_or_unevaluated_rows_fail_only_when_strict() {
    for name in ["only-dropped", "not-evaluated"] {
        assert_eq!(kyv(&suites(), &[name]).code, Some(0), "{name}");
        assert_eq!(kyv(&suites(), &[name, "--strict"]).code, Some(1), "{name}");
    }
    assert_eq!(kyv(&suites(), &["passing", "excluded", "--strict"]).code, Some(0));
}

#[test]
fn mutations_that_are_not_evaluated_are_errors() {
    let ended = kyv(&suites(), &["--semantics", "kyverno", "unsupported"]);
    let errors =
        "error[KYV605]: 1 expectation not evaluated: mutate rule with `overlay` or `patches`: guarded/add on map (unsupported/kyverno-test.yaml)
";
    assert_eq!((ended.code, &*ended.stderr), (Some(3), errors));
    // What is not as expected does not hide it.
    assert_eq!(kyv(&suites(), &["--semantics", "kyverno", "unsupported", "difference"]).code, Some(3));
}

#[test]
fn a_difference_is_shown_as_a_unified_diff() {
    let ended = kyv(&suites(), &["difference"]);
    let expected = "\
difference/kyverno-test.yaml (difference)
ID   POLICY   RULE   RESOURCE            RESULT   REASON
1    label    add    v1/ConfigMap/map    fail     Resource diff
2    label    add    v1/ConfigMap/done   fail     Want pass, got skip

--- patched.yaml\texpected
+++ v1/ConfigMap/map by label/add
@@ -3,4 +3,4 @@
 metadata:
   name: map
   labels:
-    a: c
+    a: b

2: the object already has what the rule sets

1 suite: 0 passed, 2 failed
";
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), (expected, ""));
}

#[test]
fn secrets_are_masked_in_every_format() {
    for format in [&[][..], &["-o", "json"], &["-o", "junit"], &["-o", "markdown"], &["--detailed-results"]] {
        let ended = kyv(&suites(), &[&["secret"], format].concat());
        assert_eq!(ended.code, Some(1));
        assert!(ended.stdout.contains("*** (after)"), "{}", ended.stdout);
        for secret in ["b2xk", "bmV3", "b3Ro"] {
            assert!(!ended.stdout.contains(secret) && !ended.stderr.contains(secret), "{}", ended.stdout);
        }
    }
    let folder = copy("secret");
    let ended = kyv(folder.path(), &["--update"]);
    assert!(!ended.stderr.contains("bmV3") && ended.stderr.contains("*** (after)"), "{}", ended.stderr);
    assert!(fs::read_to_string(folder.path().join("patched.yaml")).unwrap().contains("key: bmV3LXZhbHVl"));
}

#[test]
fn a_suite_that_cannot_be_loaded_is_an_error_and_the_others_run() {
    let ended = kyv(
        &suites(),
        &["unknown-field", "old-layout", "unloadable-inputs", "passing", "difference", "-o", "json"],
    );
    assert_eq!(ended.code, Some(2));
    assert_eq!(rows(&ended.stdout).len(), 5);
    for error in [
        "[KYV601]: unknown-field/kyverno-test.yaml:7:1: resource: unknown field",
        "[KYV601]: old-layout/kyverno-test.yaml:1:1: name: this field is of the layout before Kyverno 1.11",
        "[KYV601]: old-layout/kyverno-test.yaml:1:1: apiVersion and kind are missing: the layout before Kyverno 1.11",
        "[KYV601]: old-layout/kyverno-test.yaml:7:3: results[0].resource: this field is of the layout before",
        "[KYV201]: unloadable-inputs/no-policy.yaml:12:5: policy label, rule add: spec.rules[0].mode: unknown field",
        "[KYV101]: unloadable-inputs/no-such-file.yaml: cannot be read: no such file or directory",
        "[KYV113]: unloadable-inputs/values.yaml:3:1: globalvalues: unknown field",
        "[KYV602]: 3 suites could not be loaded",
    ] {
        assert!(ended.stderr.contains(&format!("error{error}")), "{error}\n{}", ended.stderr);
    }
}

#[test]
fn suites_keep_their_order_with_threads() {
    let one = kyv(&suites(), &["-o", "json", "--workers", "1"]);
    let many = kyv(&suites(), &["-o", "json", "--workers", "8"]);
    assert_eq!((one.code, one.stdout, one.stderr), (many.code, many.stdout, many.stderr));
}

#[test]
fn expectations_are_selected_by_patterns() {
    let ended = kyv(
        &suites(),
        &["-t", "policy=la*,rule=add,resource=done", "-o", "json", "-q", "passing", "chained"],
    );
    assert_eq!(
        (ended.code, rows(&ended.stdout)),
        (Some(0), vec!["label/add v1/ConfigMap/done pass: Ok".to_owned()])
    );
    // An expectation without resources is about all objects that fit.
    let ended = kyv(&suites(), &["-t", "resource=d*", "-o", "json", "-q", "all-resources"]);
    assert_eq!(
        (ended.code, rows(&ended.stdout)),
        (Some(0), vec!["label/add v1/ConfigMap/done pass: Ok".to_owned()])
    );
    assert!(rows(&kyv(&suites(), &["-t", "resource=x", "-o", "json", "all-resources"]).stdout).is_empty());
    assert_eq!(kyv(&suites(), &["-t", "name=x", "passing"]).code, Some(2));
    // A suite without an expectation that is selected is not even loaded.
    assert_eq!(kyv(&suites(), &["-t", "policy=nothing", "unloadable-inputs"]).code, Some(0));
}

#[test]
fn only_failures_are_shown_on_request() {
    let ended = kyv(&suites(), &["--fail-only", "passing", "nothing-selected", "-o", "junit"]);
    assert_eq!(ended.stdout.matches("<testcase").count(), 3, "{}", ended.stdout);
    let ended = kyv(&suites(), &["--fail-only", "passing"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1 suite: 3 passed, 0 failed\n"));
}

#[test]
fn standard_output_holds_the_report_alone() {
    let all = ["passing", "not-evaluated", "unknown-field"];
    let json = kyv(&suites(), &[&all[..], &["-o", "json"]].concat()).stdout;
    let report = Value::from_json(&json).unwrap();
    assert_eq!(report.path(&["summary", "passed"]).map(Value::to_json).as_deref(), Some("3"));
    let junit = kyv(&suites(), &[&all[..], &["-o", "junit"]].concat()).stdout;
    assert!(junit.starts_with("<?xml") && junit.ends_with("</testsuites>\n"), "{junit}");
    let markdown = kyv(&suites(), &[&all[..], &["-o", "markdown"]].concat()).stdout;
    assert!(markdown.starts_with("### Kyverno test suites\n"), "{markdown}");
}

#[test]
fn expected_objects_are_rewritten_on_request() {
    let folder = copy("difference");
    let patched = folder.path().join("patched.yaml");
    let before = fs::read_to_string(&patched).unwrap();
    let ended = kyv(folder.path(), &["--update", "-o", "json"]);
    assert_eq!(fs::read_to_string(&patched).unwrap(), before.replacen("a: c", "a: b", 1));
    assert!(ended.stderr.contains("-    a: c\n+    a: b\n"), "{}", ended.stderr);
    assert!(ended.stderr.contains("patched.yaml: 1 object written"), "{}", ended.stderr);
    // The report is that of the rewritten file; a status is not rewritten.
    assert_eq!(ended.code, Some(1));
    assert_eq!(
        rows(&ended.stdout),
        ["label/add v1/ConfigMap/map pass: Ok", "label/add v1/ConfigMap/done fail: Want pass, got skip"]
    );
    let again = kyv(folder.path(), &["--update"]);
    assert!(!again.stderr.contains("written"), "{}", again.stderr);
}

#[test]
fn contradicting_expectations_are_not_rewritten() {
    let folder = copy("chained");
    let suite = folder.path().join("kyverno-test.yaml");
    let text = fs::read_to_string(&suite).unwrap();
    fs::write(&suite, text.replace("after-first.yaml", "one.yaml").replace("after-second.yaml", "one.yaml"))
        .unwrap();
    let one = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";
    fs::write(folder.path().join("one.yaml"), one).unwrap();
    let ended = kyv(folder.path(), &["--update"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("error[KYV607]: ")
            && ended.stderr.contains("contradict each other; not written"),
        "{}",
        ended.stderr
    );
    assert_eq!(fs::read_to_string(folder.path().join("one.yaml")).unwrap(), one);
}

#[test]
fn suites_are_found_below_folders_and_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let hidden = folder.path().join("a/.kyverno-test");
    fs::create_dir_all(&hidden).unwrap();
    for entry in fs::read_dir(suites().join("passing")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), hidden.join(entry.file_name())).unwrap();
    }
    let ended = kyv(folder.path(), &[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stdout.starts_with("./a/.kyverno-test/kyverno-test.yaml (passing)\n"), "{}", ended.stdout);
    let none = kyv(folder.path(), &["-f", "suite.yaml"]);
    assert_eq!(none.code, Some(0));
    assert!(none.stderr.contains("no suite (suite.yaml) in ."), "{}", none.stderr);
    assert_eq!(kyv(folder.path(), &["-f", "suite.yaml", "--require-tests"]).code, Some(1));
    assert_eq!(kyv(folder.path(), &["no-such-folder"]).code, Some(2));
}

/// A suite with one ConfigMap `map` and a policy `label` with a rule `add`; `head` are lines of the document, and
/// `row` is what else there is to its one expectation.
fn suite(policy: &str, head: &str, row: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("policy.yaml", policy);
    write("resources.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: map}\n");
    let document = format!(
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [policy.yaml]\n\
         resources: [resources.yaml]\n{head}results:\n- {{policy: label, result: pass{row}}}\n"
    );
    write("kyverno-test.yaml", &document);
    folder
}

/// A policy `label` whose rule `add` does this to objects of a kind.
fn label(kind: &str, mutate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: label}}\nspec:\n  rules:\n  - name: add\n    \
         match: {{any: [{{resources: {{kinds: [{kind}], names: ['*']}}}}]}}\n    mutate:\n      {mutate}\n"
    )
}

const LABELLED: &str = "patchStrategicMerge: {metadata: {labels: {a: b}}}";

#[test]
fn unloadable_suites_are_in_every_report() {
    for (format, wanted) in [
        (
            "json",
            &[
                "\"notLoaded\": [\n",
                "unknown-field/kyverno-test.yaml:7:1: resource: unknown field",
                "\"notLoaded\": 1",
            ][..],
        ),
        (
            "junit",
            &[
                "failures=\"0\" errors=\"1\"",
                "<error message=\"the suite could not be loaded\" type=\"KYV601\">unknown-field/",
            ],
        ),
        (
            "markdown",
            &["**Not loaded**: unknown-field/kyverno-test.yaml: unknown-field/kyverno-test.yaml:7:1: "],
        ),
    ] {
        let ended = kyv(&suites(), &["unknown-field", "passing", "-o", format]);
        assert_eq!(ended.code, Some(2));
        for text in wanted {
            assert!(ended.stdout.contains(text), "{text}\n{}", ended.stdout);
        }
    }
}

#[test]
fn failed_rules_and_unloadable_suites_have_codes() {
    let fails = label("ConfigMap", "patchStrategicMerge: {data: {x: \"{{ request.object.data.y }}\"}}");
    let folder = suite(&fails, "", ", rule: add, resources: [map]");
    for (format, wanted) in [("json", "\"code\": \"KYV301\""), ("junit", " type=\"KYV301\">")] {
        let ended = kyv(folder.path(), &["-o", format]);
        assert!(ended.stdout.contains(wanted), "{}", ended.stdout);
    }
    let ended = kyv(&suites(), &["unknown-field", "-o", "json"]);
    let json = Value::from_json(&ended.stdout).unwrap();
    let diagnostic = &list(&list(&json, "notLoaded")[0], "diagnostics")[0];
    assert_eq!((text(diagnostic, "severity"), text(diagnostic, "code")), ("error", "KYV601"));
}

#[test]
fn policies_of_suites_have_warnings() {
    let odd = label("ConfigMap", "patchStrategicMerge: {metadata: {labels: {+(a: b}}}");
    let folder = suite(&odd, "", ", rule: add, resources: [map]");
    let ended = kyv(folder.path(), &[]);
    let warning = "warning[KYV234]: ./policy.yaml:9:49: label/add: `+(a` is no anchor";
    assert!(ended.stderr.contains(warning), "{}", ended.stderr);
    assert!(!kyv(folder.path(), &["-q"]).stderr.contains("warning["));
}

#[test]
fn a_divergence_of_a_policy_is_announced() {
    let policy =
        label("ConfigMap", "patchStrategicMerge: {data: {x: \"{{ join('-' split('a,b', ',')) }}\"}}");
    let folder = suite(&policy, "", ", rule: add, resources: [map]");
    let ended = kyv(folder.path(), &[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("note[KYV-D32]: "), "{}", ended.stderr);
    assert_eq!(kyv(folder.path(), &["--semantics", "kyverno"]).code, Some(0));
}

#[test]
fn unmatched_names_are_noted_and_fail_when_strict() {
    let file = ", generatedResource: policy.yaml";
    for (row, wanted) in [
        ("rule: add, resources: [map, mapp]", "results[0]: the suite has no object `mapp`"),
        ("rule: add, resources: [default/map, other/map]", "results[0]: the suite has no object `other/map`"),
        (&format!("rule: add, resources: [map]{file}"), "results[0]: the rule is no generate rule"),
    ] {
        let folder = suite(&label("ConfigMap", LABELLED), "", &format!(", {row}"));
        let ended = kyv(folder.path(), &[]);
        assert_eq!(ended.code, Some(0), "{row}");
        assert!(
            ended.stderr.contains(&format!("note[KYV604]: ./kyverno-test.yaml: {wanted}")),
            "{}",
            ended.stderr
        );
        assert_eq!(kyv(folder.path(), &["--strict"]).code, Some(1), "{row}");
    }
}

#[test]
fn a_selector_that_matches_nothing_is_reported() {
    let run = |flags: &[&str]| kyv(&suites(), &[&["passing", "-t", "policy=typo"], flags].concat());
    let ended = run(&[]);
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("note[KYV603]: --test-case-selector selects no row"), "{}", ended.stderr);
    for flag in ["--strict", "--require-tests"] {
        let ended = run(&[flag]);
        assert_eq!(ended.code, Some(1), "{flag}");
        assert!(
            ended.stderr.contains("error[KYV603]: --test-case-selector selects no row"),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn unused_values_are_noted() {
    let values = "values: {policies: [{name: labels, resources: []}, {name: label, rules: [{name: ad, values: {x: y}}], \
                  resources: [{name: mapp, values: {x: y}}, {name: map, values: {x: y}}]}]}\n";
    let folder = suite(&label("ConfigMap", LABELLED), values, ", rule: add, resources: [map]");
    let ended = kyv(folder.path(), &[]);
    assert_eq!(ended.code, Some(0));
    for wanted in [
        "the values name a policy `labels` that does not exist, did you mean `label`?",
        "the values name a rule `label/ad` that does not exist, did you mean `add`?",
        "the values of policy `label` name an object `mapp` that does not exist, did you mean `map`?",
    ] {
        assert!(ended.stderr.contains(wanted), "{wanted}\n{}", ended.stderr);
    }
    assert_eq!(ended.stderr.matches("note[KYV606]: ").count(), 3, "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 3, "{}", ended.stderr);
}

#[test]
fn unknown_operations_are_refused() {
    let values = "values: {globalValues: {request.operation: update}}\n";
    let folder = suite(&label("ConfigMap", LABELLED), values, ", rule: add, resources: [map]");
    let ended = kyv(folder.path(), &[]);
    assert_eq!(ended.code, Some(2));
    let error =
        "kyverno-test.yaml:5:25: values.globalValues[\"request.operation\"]: `update` is no operation";
    assert!(ended.stderr.contains(error), "{}", ended.stderr);
}

/// As with Kyverno: such rows are skipped, and here the message says why.
#[test]
fn rows_of_missing_autogen_rules_are_skipped() {
    let folder = suite(&label("Pod", LABELLED), "", ", rule: autogen-add, resources: [map]");
    let ended = kyv(folder.path(), &["-o", "json", "--detailed-results"]);
    assert_eq!(
        (ended.code, rows(&ended.stdout)),
        (Some(0), vec!["label/autogen-add v1/ConfigMap/map skip: Excluded".to_owned()])
    );
    assert!(ended.stdout.contains("the policy has no such rule: none is generated here"), "{}", ended.stdout);
}

#[test]
fn update_rewrites_expectations_of_targets() {
    let policy = label(
        "ConfigMap",
        "targets: [{apiVersion: v1, kind: Secret, namespace: default, name: s}]\n      patchStrategicMerge: {metadata: {labels: {a: b}}}",
    );
    let folder =
        suite(&policy, "targetResources: [target.yaml]\n", ", rule: add, patchedResources: patched.yaml");
    let target = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\n";
    fs::write(folder.path().join("target.yaml"), target).unwrap();
    let patched = folder.path().join("patched.yaml");
    let expected = |label: &str| target.replace("default}", &format!("default, labels: {{a: {label}}}}}"));
    fs::write(&patched, expected("c")).unwrap();
    let ended = kyv(folder.path(), &["--update"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(fs::read_to_string(&patched).unwrap(), expected("b"));
}

#[test]
fn kyvernos_own_suites_pass() {
    let Some(folder) = conformance_folder("Kyverno's suites through `test`") else { return };
    let ended = kyv(&folder, &[".", "-o", "json", "-q"]);
    let report = Value::from_json(&ended.stdout).unwrap();
    let summary = report.get("summary").unwrap();
    writeln!(std::io::stderr(), "{}", summary.to_json()).ok();
    let failed: Vec<String> = rows(&ended.stdout).into_iter().filter(|row| row.contains(" fail: ")).collect();
    assert_eq!((ended.code, failed), (Some(0), Vec::new()), "{}", ended.stderr);
    let passed = summary.get("passed").map(Value::to_json);
    assert!(passed.is_some_and(|passed| passed != "0"), "no expectation came true");
}
