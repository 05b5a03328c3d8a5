//! Codes of diagnostics: a case for each that no other test names.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::commands::{LABEL, MAP};
use crate::folder::Folder;

/// How a message begins, the case of the corpus that it is about, the semantics, and further arguments. The words are
/// those of `error.txt` and `stderr.txt` there.
const OF_CORPUS: &[(&str, &str, &str, &str)] = &[
    (
        "error[KYV103]: nowhere-*.yaml:",
        "refused/a-pattern-of-paths-without-a-match",
        "documented",
        "-p nowhere-*.yaml",
    ),
    ("error[KYV106]:", "refused/a-policy-file-without-policy", "documented", ""),
    ("error[KYV108]: input.yaml:6:9:", "refused/input-that-is-no-utf-8", "documented", ""),
    ("error[KYV109]: input.yaml:8:3:", "refused/duplicate-keys-in-the-input", "documented", ""),
    ("error[KYV111]: input.yaml:9:27:", "refused/aliases-that-grow-without-end", "documented", ""),
    ("note[KYV118]:", "yaml/an-alias-does-not-share-a-change", "documented", ""),
    ("note[KYV119]: values.yaml:7:5:", "context/values-of-a-loop", "documented", "--values values.yaml"),
    ("error[KYV202]: policy.yaml:7:3:", "refused/rules-as-a-map", "documented", ""),
    ("error[KYV203]: policy.yaml:8:7:", "refused/a-rule-without-name", "documented", ""),
    ("error[KYV204]: policy.yaml:7:3:", "refused/an-unknown-choice-of-rules", "documented", ""),
    (
        "error[KYV205]: exceptions.yaml:2:1:",
        "exceptions/a-kind-with-a-typing-error-is-refused",
        "documented",
        "--exceptions exceptions.yaml",
    ),
    ("error[KYV207]: policy.yaml:19:5:", "rules/two-rules-of-one-name-are-refused", "documented", ""),
    ("error[KYV208]: policy.yaml:8:5:", "rules/a-rule-with-two-operations-is-refused", "documented", ""),
    ("error[KYV209]: policy.yaml:9:7:", "refused/any-and-all-together", "documented", ""),
    ("error[KYV210]: policy.yaml:12:15:", "refused/every-kind-in-a-background-policy", "documented", ""),
    (
        "error[KYV211]: policy.yaml:14:5:",
        "documents/m05-both-patch-kinds-in-one-rule-are-refused",
        "documented",
        "",
    ),
    ("error[KYV212]: policy.yaml:15:7:", "documents/j13-missing-operation-is-refused", "documented", ""),
    ("error[KYV213]: policy.yaml:16:29:", "strategic-merge/a-null-label-is-refused", "documented", ""),
    ("error[KYV214]: policy.yaml:19:13:", "foreach/f04-no-patch", "documented", ""),
    ("error[KYV215]: policy.yaml:13:5:", "targets/x07-the-flag-without-targets", "documented", ""),
    (
        "error[KYV217]: policy.yaml:15:13:",
        "refused/a-reference-that-leads-nowhere-in-a-precondition",
        "documented",
        "",
    ),
    ("error[KYV219]: policy.yaml:16:13:", "refused/a-condition-without-operator", "documented", ""),
    ("error[KYV220]: policy.yaml:12:7:", "legacy/x-19-an-overlay-that-is-no-map", "documented", ""),
    ("error[KYV221]: policy.yaml:2:", "legacy/e-01-a-cluster-refuses-both-fields", "kyverno", ""),
    ("error[KYV223]: policy.yaml:2:", "legacy/e-01-a-cluster-refuses-both-fields", "kyverno", ""),
    (
        "warning[KYV230]: policy.yaml:2:",
        "match/group-slash-kind-is-read-as-kind-and-subresource",
        "documented",
        "",
    ),
    ("note[KYV231]: policy.yaml:2:", "legacy/e-01-a-cluster-refuses-both-fields", "documented", ""),
    (
        "note[KYV232]: policy.yaml:2:",
        "documents/j15-a-json-patch-turns-conversion-off-for-the-policy",
        "documented",
        "",
    ),
    ("error[KYV302]: policy.yaml:19:13:", "foreach/f04-no-list", "documented", ""),
    (
        "error[KYV304]: policy.yaml:23:25:",
        "variables/an-unknown-function-is-an-error-of-the-rule",
        "documented",
        "",
    ),
    ("error[KYV307]: policy.yaml:17:13:", "variables/a-key-must-become-a-text", "documented", ""),
    ("error[KYV308]: policy.yaml:17:13:", "variables/a-reference-to-a-map-finds-nothing", "documented", ""),
    ("error[KYV310]: policy.yaml:19:19:", "foreach/f02-a-list-that-is-not-there", "kyverno", ""),
    ("error[KYV311]: policy.yaml:8:7:", "preconditions/in-takes-a-key-of-strings", "kyverno", ""),
    ("error[KYV312]: policy.yaml:14:9:", "json-patch/brackets-around-yaml", "kyverno", ""),
    ("error[KYV313]: policy.yaml:14:9:", "json-patch/the-empty-key-is-no-index", "documented", ""),
    ("error[KYV314]: policy.yaml:15:7:", "json-patch/a-test-that-fails-is-an-error", "documented", ""),
    (
        "error[KYV315]: policy.yaml:10:7:",
        "strategic-merge/a-list-over-a-map-before-a-failed-global",
        "documented",
        "",
    ),
    (
        "error[KYV316]: policy.yaml:15:7:",
        "strategic-merge/an-element-without-the-merge-key",
        "documented",
        "",
    ),
    (
        "error[KYV317]: policy.yaml:14:9:",
        "strategic-merge/an-unknown-directive-in-a-new-element",
        "documented",
        "",
    ),
    (
        "error[KYV318]: policy.yaml:15:7:",
        "documents/s08-two-conditions-in-one-list-that-fit-nothing",
        "kyverno",
        "",
    ),
    (
        "error[KYV319]: policy.yaml:11:5:",
        "legacy/x-12-a-failed-patch-drops-the-overlay-too",
        "documented",
        "",
    ),
    ("error[KYV320]: policy.yaml:8:5:", "targets/a-rule-without-targets-beside", "kyverno", ""),
    ("error[KYV321]: policy.yaml:8:5:", "targets/x04-a-target-that-is-not-there", "documented", ""),
    ("error[KYV322]: policy.yaml:8:5:", "targets/a-patch-that-renames-a-target", "documented", ""),
    ("error[KYV404]: policy.yaml:27:22:", "context/a-service-is-never-called", "documented", ""),
    ("note[KYV410]:", "context/a-call-answered-by-the-manifests", "documented", ""),
    ("note[KYV411]:", "variables/values-from-a-file", "documented", "--values values.yaml"),
    ("note[KYV809]:", "strategic-merge/a-condition-that-is-null-removes-its-member", "documented", ""),
    ("note[KYV810]:", "request/kinds-that-configure-admission-have-no-webhooks", "documented", ""),
];

#[test]
fn cases_of_the_corpus_have_their_codes() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut faults = String::new();
    for (start, case, semantics, further) in OF_CORPUS {
        let run = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(["mutate", "-p", "policy.yaml", "-f", "input.yaml", "--semantics", semantics])
            .args(further.split_whitespace())
            .current_dir(corpus.join(case))
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&run.stderr);
        if !stderr.lines().any(|line| line.starts_with(start)) {
            let _ = writeln!(faults, "{case} ({semantics}): no line begins with `{start}`\n{stderr}");
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn options_and_files_have_their_codes() {
    let context =
        "    context: [{name: c, variable: {value: x}, configMap: {name: a, namespace: b}}]\n    match:";
    let many: String = (0..300).map(|number| format!("a: {number}\n")).collect();
    let deep = format!("{}{}", "[".repeat(900), "]".repeat(900));
    let folder = Folder::new(&[
        ("label.yaml", LABEL),
        ("other.yaml", LABEL),
        ("map.yaml", MAP),
        ("key.yaml", "? {a: b}\n: c\n"),
        ("many.yaml", &many),
        (
            "crd.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {group: 1}\n",
        ),
        ("two.yaml", &LABEL.replace("    match:", context)),
        ("deep.yaml", &LABEL.replace("spec:\n", &format!("spec:\n  x: {deep}\n"))),
    ]);
    for (arguments, start) in [
        ("diff --nope", "error[KYV001]: unexpected argument '--nope' found"),
        ("diff -p label.yaml -f map.yaml --semantics strict", "error[KYV002]: invalid value 'strict'"),
        ("diff -f map.yaml", "error[KYV003]: the following required arguments were not provided"),
        ("mutate -i -p label.yaml -f -", "error[KYV010]: "),
        (
            "diff cm -p label.yaml --record map.yaml/x --server http://127.0.0.1:1",
            "error[KYV102]: map.yaml/x: ",
        ),
        ("diff -p label.yaml -f https://example.com/a.yaml", "error[KYV104]: https://example.com/a.yaml: "),
        ("diff -p label.yaml -f key.yaml", "error[KYV110]: key.yaml:1:3: "),
        ("diff -p label.yaml -f many.yaml", "error[KYV112]: many.yaml:"),
        ("diff -p label.yaml -f map.yaml --old map.yaml --old map.yaml", "error[KYV115]: map.yaml:1:1: "),
        ("diff -p label.yaml -f map.yaml --crds crd.yaml", "error[KYV116]: crd.yaml:"),
        ("diff -p deep.yaml -f map.yaml --limit yaml-depth=1000", "error[KYV206]: deep.yaml:1:1: "),
        ("diff -p two.yaml -f map.yaml", "error[KYV216]: two.yaml:"),
        ("diff -p label.yaml -p other.yaml -f map.yaml", "note[KYV226]: other.yaml:1: "),
        ("fn", "error[KYV701]: stdin: "),
        ("explain kyv999", "error[KYV006]: no diagnostic has the code kyv999, did you mean KYV"),
    ] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        let run = folder.run_with(&arguments, MAP);
        assert!(run.stderr.lines().any(|line| line.starts_with(start)), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn codes_are_explained_in_upper_and_lower_case() {
    let folder = Folder::new(&[]);
    let run = folder.run(&["explain", "kyv012", "KYV-D16"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    assert!(run.stdout.starts_with("# KYV012: "), "{}", run.stdout);
    assert!(run.stdout.contains("\n# KYV-D16: foreach over a missing key\n"), "{}", run.stdout);
}
