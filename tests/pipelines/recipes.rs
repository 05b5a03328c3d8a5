//! Recipes of the pages in the real programs.

use std::fs;
use std::path::Path;

use crate::folder::{Folder, RunOutput};

/// The YAML block of a page that begins with a comment, without the comment.
pub(crate) fn block(page: &str, comment: &str) -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).expect(page);
    let start = format!("```yaml\n# {comment}\n");
    let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{page} has no {comment}"));
    rest.split_once("```").expect("the block ends").0.to_owned()
}

const POLICY: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: team\nspec:\n  rules:\n  - name: label\n    \
                      match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    \
                      mutate: {patchStrategicMerge: {metadata: {labels: {+(team): none}}}}\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";

#[test]
fn a_validator_checks_and_changes_nothing() {
    if test_support::skip_without_real_programs("the validator in kustomize and kpt") {
        return;
    }
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  validators:\n  \
                   - {exec: kubectl-kyv, configPath: check.yaml}\n";
    let folder = Folder::with(&[
        ("Kptfile", kptfile),
        ("kustomization.yaml", "resources: [map.yaml]\nvalidators: [check.yaml]\n"),
        ("map.yaml", MAP),
        ("check.yaml", &block("docs/krm-function.md", "check.yaml")),
        ("policies/team.yaml", POLICY),
    ]);
    let build = || {
        let arguments = ["build", "--enable-alpha-plugins", "--enable-exec", "."];
        folder.run(&test_support::tool("kustomize"), &arguments)
    };
    let eval = || {
        let arguments =
            ["fn", "eval", ".", "--exec", "kubectl-kyv", "--fn-config", "check.yaml", "--results-dir"];
        folder.run(&test_support::tool("kpt"), &[&arguments[..], &["results"]].concat())
    };
    let render =
        || folder.run(&test_support::tool("kpt"), &["fn", "render", ".", "--allow-exec", "-o", "stdout"]);
    let reason = "ConfigMap/map: team/label: would change metadata.labels";
    for said in [build(), render(), eval()] {
        let RunOutput { success, stdout, stderr } = said;
        assert!(!success && format!("{stdout}{stderr}").contains(reason), "{stdout}{stderr}");
        assert_eq!(folder.read("map.yaml"), MAP);
    }
    let results = folder.read("results/results.yaml");
    assert!(results.contains("severity: error") && results.contains("name: map"), "{results}");

    folder.edit("check.yaml", "mode: validate", "mode: validate\n  severity: warning");
    let RunOutput { success, stderr, .. } = build();
    assert!(success && stderr.contains(&format!("warning[KYV704]: items[0]: {reason}")), "{stderr}");

    folder.edit("check.yaml", "\n  severity: warning", "");
    folder.write("map.yaml", &format!("{MAP}  labels: {{team: shop}}\n"));
    fs::remove_dir_all(folder.path().join("results")).expect("kpt wrote it");
    for RunOutput { success, stdout, stderr } in [build(), render(), eval()] {
        assert!(success, "{stdout}{stderr}");
    }
}
