//! `convert`: where the new policies go, and what is said of those that stay.

use crate::folder::Folder;

const LABELS: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [Service]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
";

const TEST: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: test}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Service]}}]}
    mutate:
      patchesJson6902: '[{\"op\": \"test\", \"path\": \"/spec/type\", \"value\": \"NodePort\"}]'
";

#[test]
fn new_policies_stand_beside_the_old_ones() {
    let folder = Folder::new(&[]);
    folder.write("labels.yaml", LABELS);
    folder.write("kustomization.yaml", "resources:\n- labels.yaml\n");
    folder.run(&["convert", "-p", "labels.yaml", "-i"]).is(0, "", &["1 rule converted"]);
    let kustomization = folder.run(&["convert", "-p", "labels.yaml"]).stdout;
    assert!(kustomization.contains("kind: MutatingPolicy\n"), "{kustomization}");
    folder.run(&["convert", "-p", "labels.yaml", "-i"]).is(
        2,
        "",
        &["error[KYV121]: labels.mpol.yaml: the file exists; --force overwrites it"],
    );
    folder.run(&["convert", "-p", "labels.yaml", "-i", "--force"]).is(0, "", &["1 rule converted"]);
}

#[test]
fn a_rule_without_exact_form_is_named_with_its_place() {
    let folder = Folder::new(&[]);
    folder.write("test.yaml", TEST);
    folder.run(&["convert", "-p", "test.yaml"]).is(
        3,
        "",
        &["error[KYV811]: test.yaml:9:7: rule test/r is not converted: the operation `test`"],
    );
}
