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
fn what_an_accepted_difference_would_save_is_told() {
    let sidecar = LABELS.replace("Service", "Deployment").replace(
        "{metadata: {labels: {a: b}}}",
        "{spec: {template: {spec: {containers: [{name: agent, image: agent:1, volumeMounts: [{name: tmp, mountPath: /tmp}]}], volumes: [{name: tmp, emptyDir: {}}]}}}}",
    );
    let folder = Folder::new(&[]);
    folder.write("sidecar.yaml", &sidecar);
    let convert = ["convert", "-p", "sidecar.yaml", "--proof", "none"];
    let exact = folder.run(&convert);
    let shorter = folder.run(&[&convert[..], &["--accept", "order"]].concat());
    let [own, left] = [&exact, &shorter].map(|run| run.stdout.lines().count());
    assert!(left < own, "{} {}", exact.stdout, shorter.stdout);
    let line = format!("labels: {own} lines, {left} with --accept order");
    assert!(exact.stderr.contains(&line), "{line}: {}", exact.stderr);
    assert!(!shorter.stderr.contains(" lines, "), "{}", shorter.stderr);
}

#[test]
fn a_definition_tells_group_version_and_plural_of_a_kind() {
    let folder = Folder::new(&[]);
    folder.write("cacti.yaml", &LABELS.replace("Service", "Cactus").replace("labels}", "cacti}"));
    folder.write(
        "crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: cacti.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: cacti, singular: cactus, kind: Cactus}
  versions:
  - {name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
",
    );
    let unknown = folder.run(&["convert", "-p", "cacti.yaml"]);
    unknown.is(
        3,
        "",
        &["error[KYV811]: cacti.yaml:7:40: rule cacti/add is not converted: the kind `Cactus`"],
    );
    let known = folder.run(&["convert", "-p", "cacti.yaml", "--crds", "crd.yaml"]);
    assert_eq!(known.code, Some(0), "{}", known.stderr);
    for text in
        ["    - apiGroups: [shop.example]\n", "      apiVersions: [v2]\n", "      resources: [cacti]\n"]
    {
        assert!(known.stdout.contains(text), "{}", known.stdout);
    }
}

/// A field of a custom resource may keep a null, which an apply configuration cannot write.
#[test]
fn an_addition_leaves_a_null_of_a_custom_resource() {
    let folder = Folder::new(&[]);
    let policy = LABELS.replace("Service", "shop.example/v1/Shop");
    folder.write("shops.yaml", &policy.replace("{metadata: {labels: {a: b}}}", "{spec: {+(open): \"yes\"}}"));
    folder.write(
        "crd.yaml",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {open: {type: string, nullable: true}}}
",
    );
    let run = folder.run(&["convert", "-p", "shops.yaml", "--crds", "crd.yaml"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stderr.contains("labels: equal on "), "{}", run.stderr);
}

/// A lookup of an object of a kind that nobody knows.
const OWNER: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Service]}}]}
    context: [{name: owner, apiCall: {urlPath: '/apis/example.com/v1/owners/a'}}]
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: '{{ owner.spec.name }}'}}}}
";

/// Kyverno lets the first container decide for all of them.
const DIRECTORY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: directory
  annotations: {pod-policies.kyverno.io/autogen-controllers: none}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {containers: [{(name): '*', +(workingDir): /srv}]}}}
";

#[test]
fn a_new_policy_is_proven_before_it_is_written() {
    let folder = Folder::new(&[]);
    folder.write("labels.yaml", LABELS);
    let proven = folder.run(&["convert", "-p", "labels.yaml", "--proof", "fast", "-i"]);
    proven.is(0, "", &["labels: equal on ", " changed; conditions covered: all)\n1 rule converted\n"]);
    let report = folder.run(&["convert", "-p", "labels.yaml", "--proof", "fast", "-o", "json"]);
    assert!(report.stdout.contains("\"verdict\": \"equal\""), "{}", report.stdout);
    let unproven = folder.run(&["convert", "-p", "labels.yaml", "--proof", "none"]);
    assert_eq!((unproven.code, &*unproven.stderr), (Some(0), "1 rule converted\n"));
    folder.run(&["convert", "--check", "labels.yaml", "labels.mpol.yaml", "--proof", "none"]).is(
        2,
        "",
        &["error[KYV004]: --check proves: --proof none is for -p"],
    );
}

#[test]
fn what_does_not_do_the_same_is_not_written() {
    let folder = Folder::new(&[]);
    folder.write("directory.yaml", DIRECTORY);
    let arguments = ["convert", "-p", "directory.yaml", "--proof", "fast"];
    // As documented, each container decides for itself. That Kyverno does otherwise is said.
    let documented = folder.run(&arguments);
    assert_eq!(documented.code, Some(0), "{}", documented.stderr);
    assert!(documented.stderr.contains("note[KYV-D09]: directory ("), "{}", documented.stderr);
    let kyverno = [&arguments[..], &["--semantics", "kyverno"]].concat();
    folder.run(&kyverno).is(
        1,
        "",
        &[
            "error[KYV812]: directory.yaml:1:1: directory is not written: it does not do the same\ndirectory: differs on ",
            "\n  object   Pod: ",
            "\n  diff     from OLD to NEW\n    @@ ",
            "\n0 rules converted, 1 policy not written\n",
        ],
    );
    let unproven =
        folder.run(&["convert", "-p", "directory.yaml", "--semantics", "kyverno", "--proof", "none"]);
    assert_eq!((unproven.code, unproven.stdout), (Some(0), documented.stdout));
}

#[test]
fn what_cannot_be_compared_is_not_written() {
    let folder = Folder::new(&[]);
    folder.write("owner.yaml", OWNER);
    folder.write("labels.yaml", LABELS);
    let run = folder.run(&["convert", "-p", "owner.yaml,labels.yaml", "--proof", "fast"]);
    // The others are written.
    assert_eq!(run.stdout.matches("kind: MutatingPolicy\n").count(), 1, "{}", run.stdout);
    let message = "error[KYV813]: owner.yaml:1:1: owner is not written: not everything can be compared: owner/r: no value for `owner.spec.name`";
    assert!(run.stderr.contains(message), "{}", run.stderr);
    assert_eq!(run.code, Some(3));
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
