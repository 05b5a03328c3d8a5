//! Notes on results that depend on the order of policies.

use crate::folder::Folder;

const FIXED: &str = "a cluster runs policies in no fixed order";

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: main
        image: main:1
";

/// A policy for Deployments with one rule, given the fields of its `resources` and the rule's own.
fn policy(name: &str, resources: &str, fields: &str) -> String {
    format!(
        "---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: {name}
spec:
  rules:
  - name: rule
    match: {{any: [{{resources: {{kinds: [Deployment]{resources}}}}}]}}
{fields}
"
    )
}

/// A rule that merges this into objects.
fn merge(name: &str, overlay: &str) -> String {
    policy(name, "", &format!("    mutate: {{patchStrategicMerge: {overlay}}}"))
}

/// The notes on order of `mutate`.
fn notes(policies: &[String], manifests: &str) -> Vec<String> {
    let folder = Folder::new(&[("policies.yaml", &policies.concat()), ("in.yaml", manifests)]);
    let run = folder.run(&["mutate", "-p", "policies.yaml", "-f", "in.yaml"]);
    let notes = run.stderr.lines().filter(|line| line.contains(FIXED));
    notes.map(|line| line.trim_end_matches(FIXED).trim_end_matches("; ").to_owned()).collect()
}

#[test]
fn two_policies_for_one_field_depend_on_their_order() {
    let policies = [merge("few", "{spec: {replicas: 2}}"), merge("many", "{spec: {replicas: 5}}")];
    let others: String =
        ["api", "db", "job"].map(|name| format!("---\n{}", WEB.replace("web", name))).concat();
    assert_eq!(
        notes(&policies, &format!("{WEB}{others}")),
        [
            "note[KYV801]: Deployment/web and 3 more: policies few and many give another result in the other order (spec.replicas)"
        ]
    );
}

#[test]
fn policies_that_commute_are_not_noted() {
    for [one, other] in [
        // Different fields.
        ["{spec: {replicas: 2}}", "{metadata: {labels: {team: shop}}}"],
        // The same value.
        ["{spec: {replicas: 2}}", "{spec: {replicas: 2}}"],
        // Fields of the same elements.
        [
            "{spec: {template: {spec: {containers: [{(name): '*', imagePullPolicy: Always}]}}}}",
            "{spec: {template: {spec: {containers: [{(name): '*', tty: true}]}}}}",
        ],
    ] {
        assert_eq!(notes(&[merge("a", one), merge("b", other)], WEB), [""; 0], "{one} {other}");
    }
}

#[test]
fn a_policy_for_a_label_that_another_one_sets_depends_on_it() {
    let set = merge("set-tier", "{metadata: {labels: {tier: gold}}}");
    let scale = policy(
        "scale-gold",
        ", selector: {matchLabels: {tier: gold}}",
        "    mutate: {patchStrategicMerge: {spec: {replicas: 3}}}",
    );
    for (policies, names) in
        [([&set, &scale], "set-tier and scale-gold"), ([&scale, &set], "scale-gold and set-tier")]
    {
        assert_eq!(
            notes(&policies.map(String::clone), WEB),
            [format!(
                "note[KYV801]: Deployment/web: policies {names} give another result in the other order (spec.replicas)"
            )]
        );
    }
}

#[test]
fn a_default_and_a_value_depend_on_their_order() {
    let fill = merge("fill", "{metadata: {annotations: {+(owner): nobody}}}");
    let own = merge("own", "{metadata: {annotations: {+(owner): shop}}}");
    assert_eq!(
        notes(&[fill, own], WEB),
        [
            "note[KYV801]: Deployment/web: policies fill and own give another result in the other order (metadata.annotations.owner)"
        ]
    );
}

#[test]
fn three_policies_are_named_where_no_two_of_them_show_it() {
    // The third one acts between the others only.
    let step = |name, from, to| {
        let condition = format!(
            "    preconditions: {{all: [{{key: \"{{{{ request.object.metadata.labels.step || '0' }}}}\", operator: \
             Equals, value: '{from}'}}]}}\n"
        );
        let patch = format!("    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{to}}}}}}}}}");
        policy(name, "", &format!("{condition}{patch}"))
    };
    let policies =
        [step("one", "0", "step: '1'"), step("two", "1", "step: '2'"), step("three", "2", "done: 'yes'")];
    assert_eq!(
        notes(&policies, WEB),
        [
            "note[KYV801]: Deployment/web: policies one and two give another result in the other order (metadata.labels.step)"
        ]
    );
    // Each of two changes what the other one needs; the third needs both.
    let both = policy(
        "both",
        ", selector: {matchLabels: {a: x, b: x}}",
        "    mutate: {patchStrategicMerge: {metadata: {labels: {c: x}}}}",
    );
    let policies =
        [both, merge("a", "{metadata: {labels: {a: x}}}"), merge("b", "{metadata: {labels: {b: x}}}")];
    assert_eq!(
        notes(&policies, WEB),
        [
            "note[KYV801]: Deployment/web: policies both, a and b give another result in another order (metadata.labels.c)"
        ]
    );
}

#[test]
fn a_policy_that_fails_in_one_order_depends_on_it() {
    let add = merge("add", "{metadata: {annotations: {url: x}}}");
    let copy =
        merge("copy", "{metadata: {annotations: {copy: '{{ request.object.metadata.annotations.url }}'}}}");
    assert_eq!(
        notes(&[add, copy], WEB),
        ["note[KYV801]: Deployment/web: policies add and copy give another result in the other order \
             (metadata.annotations.copy; copy fails in one of them)"]
    );
}

#[test]
fn time_and_random_values_are_the_same_in_each_order() {
    let values =
        "{metadata: {annotations: {id: \"{{ random('[a-z]{9}') }}\", at: \"{{ time_now_utc() }}\"}}}";
    let id = merge("id", values);
    let copy = merge("copy", "{metadata: {annotations: {other: \"{{ random('[a-z]{9}') }}\"}}}");
    let read = policy(
        "read",
        "",
        "    preconditions: {all: [{key: \"{{ length(request.object.metadata.annotations || `{}`) }}\", operator: \
         GreaterThanOrEquals, value: 0}]}\n    mutate: {patchStrategicMerge: {spec: {replicas: 3}}}",
    );
    assert_eq!(notes(&[id, copy, read], WEB), [""; 0]);
}

#[test]
fn one_applied_rule_is_respected() {
    let one = "---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: one
spec:
  applyRules: One
  rules:
  - name: gold
    match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {tier: gold}}}}]}
    mutate: {patchStrategicMerge: {spec: {replicas: 3}}}
  - name: rest
    match: {any: [{resources: {kinds: [Deployment]}}]}
    mutate: {patchStrategicMerge: {spec: {paused: true}}}
";
    let tier = merge("tier", "{metadata: {labels: {tier: gold}}}");
    assert_eq!(
        notes(&[one.to_owned(), tier], WEB),
        [
            "note[KYV801]: Deployment/web: policies one and tier give another result in the other order (spec.paused, spec.replicas)"
        ]
    );
}

#[test]
fn strict_runs_fail_and_reports_have_the_order() {
    let policies = [merge("few", "{spec: {replicas: 2}}"), merge("many", "{spec: {replicas: 5}}")].concat();
    let folder = Folder::new(&[("policies.yaml", &policies), ("in.yaml", WEB)]);
    for command in ["mutate", "diff", "explain"] {
        let run = folder.run(&[command, "-p", "policies.yaml", "-f", "in.yaml", "--strict"]);
        assert_eq!(run.code, Some(3), "{command}: {}", run.stderr);
        assert!(
            run.stderr.contains("error[KYV801]: Deployment/web: policies few and many"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains(&format!("{FIXED} (--strict)")), "{}", run.stderr);
    }
    let order = r#""order":[{"policies":["few","many"],"fields":["/spec/replicas"],"failing":[]}]"#;
    for command in ["diff", "explain"] {
        let run = folder.run(&[command, "-p", "policies.yaml", "-f", "in.yaml", "-o", "json"]);
        let packed: String = run.stdout.split_whitespace().collect();
        assert!(packed.contains(order), "{command}: {}", run.stdout);
    }
}

#[test]
fn policies_of_one_name_are_told_by_their_kinds() {
    let mutating = "---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata:
  name: many
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{spec: Object.spec{replicas: 3}}'}
";
    let policies = [merge("many", "{spec: {replicas: 5}}"), mutating.to_owned()];
    let found = notes(&policies, WEB);
    assert!(
        matches!(&*found, [note] if note.contains("ClusterPolicy many") && note.contains("MutatingPolicy many")),
        "{found:?}"
    );
}

#[test]
fn a_failure_of_a_policy_that_runs_again_is_told_once() {
    let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: twice
spec:
  failurePolicy: Ignore
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/spec/replicas\", value: 2}]'}
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/spec/paused\", value: object.nope}]'}
";
    let folder = Folder::new(&[("policies.yaml", policy), ("in.yaml", WEB)]);
    let run = folder.run(&["mutate", "-p", "policies.yaml", "-f", "in.yaml"]);
    let warnings: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("warning[KYV393]")).collect();
    assert_eq!(warnings.len(), 1, "{}", run.stderr);
    assert!(
        run.stderr.contains("  on Deployment/default/web") || run.stderr.contains("  on Deployment/web"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("2 objects"), "{}", run.stderr);
}

/// A loop over the containers that merges this into each.
fn each_container(name: &str, patch: &str) -> String {
    let list = "list: 'request.object.spec.template.spec.containers[]'";
    policy(name, "", &format!("    mutate: {{foreach: [{{{list}, {patch}}}]}}"))
}

#[test]
fn a_policy_that_moves_containers_takes_no_field_to_another_one() {
    let merged = |fields: &str| {
        let containers = format!("[{{(name): '{{{{ element.name }}}}', {fields}}}]");
        format!("patchStrategicMerge: {{spec: {{template: {{spec: {{containers: {containers}}}}}}}}}")
    };
    let variable = "patchesJson6902: '[{op: add, path: /spec/template/spec/containers/{{elementIndex}}/env/-, \
                    value: {name: IMAGE, value: \"{{ element.image }}\"}}]'";
    let annotation = "patchStrategicMerge: {metadata: {annotations: {'seen-{{ element.name }}': 'true'}}}";
    // A merge puts the container that it changes in front.
    let policies = [
        each_container("a-requests", &merged("resources: {requests: {+(cpu): 100m}}")),
        each_container("b-variable", variable),
        each_container("c-image", &merged("image: 'same:1'")),
        each_container("d-annotation", annotation),
    ];
    let two = format!(
        "{WEB}        resources: {{requests: {{cpu: 1}}}}\n      - name: side\n        image: side:2\n"
    );
    assert_eq!(
        notes(&policies, &two),
        [
            "note[KYV801]: Deployment/web: policies b-variable and c-image give another result in the other order (spec.template.spec.containers[0].env[0].value, spec.template.spec.containers[1].env[0].value)"
        ]
    );
}
