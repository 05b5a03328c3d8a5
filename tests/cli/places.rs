//! The places in policies at which rules fail.

use crate::folder::Folder;

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec: {template: {spec: {containers: [{name: a, image: b}]}}}
";

/// A policy for Pods whose rule has these lines.
fn policy(lines: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
    - name: r
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
{lines}"
    )
}

/// The lines on stderr of a run on a Deployment, without the message of the error and what comes after its objects.
fn error_lines(folder: &Folder) -> (String, Vec<String>) {
    let run = folder.run(&["diff", "-p", "policy.yaml", "-f", "in.yaml"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    let mut lines = run.stderr.lines().map(str::to_owned);
    let head = lines.next().unwrap_or_default();
    let place = head.split(": ").nth(1).unwrap_or_default().to_owned();
    (place, lines.take_while(|line| !line.starts_with("1 object")).collect())
}

#[test]
fn a_generated_rule_has_the_place_of_the_written_one() {
    let policy = policy(
        "      mutate:
        patchStrategicMerge:
          spec:
            nodeName: \"x-{{ request.object.spec.node }}\"
",
    );
    let (place, lines) = error_lines(&Folder::new(&[("policy.yaml", &policy), ("in.yaml", DEPLOYMENT)]));
    assert_eq!(place, "policy.yaml:11:29");
    let excerpt = [
        "11 |             nodeName: \"x-{{ request.object.spec.node }}\"",
        "   |                             ^^^^^^^^^^^^^^^^^^^^^^^^",
        "  on Deployment/shop/web (in.yaml:1)",
    ];
    assert_eq!(lines[..3], excerpt);
}

#[test]
fn a_loop_has_the_place_of_its_patch() {
    let policy = policy(
        "      mutate:
        foreach:
          - list: request.object.spec.template.spec.containers
            patchesJson6902: |-
              - {op: add, path: /a, value: b}
          - list: request.object.spec.template.spec.containers
            patchesJson6902: |-
              - {op: replace, path: /metadata/x/y/z, value: \"{{ element.tag }}\"}
",
    )
    .replace("[Pod]", "[Deployment]");
    let (place, lines) = error_lines(&Folder::new(&[("policy.yaml", &policy), ("in.yaml", DEPLOYMENT)]));
    assert_eq!(place, "policy.yaml:15:65");
    assert_eq!(lines[1], format!("   | {}^^^^^^^^^^^", " ".repeat(64)), "{lines:?}");
}

#[test]
fn an_excerpt_with_a_value_of_a_secret_is_left_out() {
    let policy = policy(
        "      mutate:
        patchStrategicMerge:
          metadata:
            labels: {a: \"{{ request.object.data.none }}\"} # of hunter2
",
    )
    .replace("[Pod]", "[Secret]");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter2}\n";
    let (place, lines) = error_lines(&Folder::new(&[("policy.yaml", &policy), ("in.yaml", secret)]));
    assert_eq!(place, "policy.yaml:11:29");
    assert_eq!(lines[0], "  on Secret/s (in.yaml:1)", "{lines:?}");
}

#[test]
fn a_divergence_names_its_rules_and_objects() {
    let policy = policy(
        "      mutate:
        patchesJson6902: |-
          - {op: replace, path: /metadata/labels/a, value: b}
",
    )
    .replace("[Pod]", "[ConfigMap]");
    let map = |name: &str| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
    let second = policy.replace("{name: p}", "{name: q}").replace("[ConfigMap]", "[ConfigMap], names: [two]");
    let folder = Folder::new(&[
        ("p/p.yaml", &policy),
        ("p/q.yaml", &second.replace("- name: r", "- name: s")),
        ("in.yaml", &format!("{}{}", map("one"), map("two"))),
        ("one.yaml", &map("one")),
    ]);
    let notes = |file: &str| -> Vec<String> {
        let run = folder.run(&["diff", "-p", "p", "-f", file]);
        run.stderr.lines().filter(|line| line.starts_with("note[KYV-D01]")).map(str::to_owned).collect()
    };
    let two = notes("in.yaml");
    assert_eq!(two.len(), 1, "{two:?}");
    let start = "note[KYV-D01]: p/r (2 objects, first: ConfigMap/one): replace of a missing map member: ";
    assert!(two[0].starts_with(start), "{two:?}");
    let one = notes("one.yaml");
    assert!(one[0].starts_with("note[KYV-D01]: p/r (1 object, ConfigMap/one): replace of "), "{one:?}");
}
