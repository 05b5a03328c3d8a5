//! Warnings about what loads and cannot be meant. The results are those of the Kyverno CLI 1.19.0.

use crate::commands::{LABEL, MAP};
use crate::folder::Folder;

/// A policy for `ConfigMap`s with the fields of a rule.
fn policy(rule: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  rules:
  - name: r
{rule}
"
    )
}

fn mutating(mutate: &str) -> String {
    policy(&format!("    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    mutate:\n{mutate}"))
}

fn labelling(value: &str) -> String {
    mutating(&format!("      patchStrategicMerge: {{metadata: {{labels: {{a: \"{value}\"}}}}}}"))
}

/// The input; what policies write comes after `name: c`.
fn object(metadata: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{metadata}}}\n")
}

/// Runs a policy: without an error, with this one warning and this result.
fn check(policy: &str, code: &str, warning: &str, result: &str) {
    let folder = Folder::new(&[("policy.yaml", policy), ("map.yaml", &object(""))]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
    let warnings: Vec<_> = run.stderr.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!(warnings, [format!("{code}: policy.yaml:{warning}")], "{}", run.stderr);
    assert_eq!((run.stdout.as_str(), run.code), (result, Some(0)), "{}", run.stderr);
    let strict = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml", "--strict"]);
    assert_eq!(strict.code, Some(3), "{}", strict.stderr);
}

#[test]
fn a_key_that_is_almost_an_anchor() {
    check(
        &mutating("      patchStrategicMerge:\n        metadata:\n          labels:\n            +(a: x"),
        "warning[KYV234]",
        "13:13: p/r: `+(a` is no anchor: it is written as the name of a field; write `+(a)`",
        &object(", labels: {+(a: x}"),
    );
}

#[test]
fn braces_that_begin_no_variable() {
    check(
        &labelling("{{ request.object.kind"),
        "warning[KYV235]",
        "10:49: p/r: `{{ request.object.kind` is no variable but plain text: close it with `}}`, or write `\\{{` where \
         text is meant",
        &object(", labels: {a: '{{ request.object.kind'}"),
    );
}

#[test]
fn a_metadata_of_null() {
    check(
        &mutating("      patchStrategicMerge:\n        metadata:\n        data: {a: b}"),
        "warning[KYV236]",
        "11:9: p/r: `metadata: null` deletes the name, labels and annotations of the object: remove it, or set fields \
         below it",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: b\n",
    );
}

#[test]
fn a_function_without_a_call() {
    check(
        &labelling("{{ request.object.kind | to_upper || 'none' }}"),
        "warning[KYV237]",
        "10:49: p/r: `to_upper` is a function, and here the name of a field, which objects do not have: write \
         `to_upper(…)`",
        &object(", labels: {a: none}"),
    );
}

#[test]
fn an_unknown_function_of_a_rule_that_does_not_run() {
    let rule = "    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: '{{ to_uper(request.object.kind) }}'}}}}";
    check(
        &policy(rule),
        "warning[KYV304]",
        "9:56: p/r: there is no function `to_uper`: the rule fails where it is called; did you mean `to_upper`?",
        &object(""),
    );
}

#[test]
fn a_plural_kind() {
    let rule = "    match: {any: [{resources: {kinds: [ConfigMaps]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}";
    check(
        &policy(rule),
        "warning[KYV230]",
        "8:40: p/r: `ConfigMaps` matches no built-in kind of Kubernetes; did you mean `ConfigMap`?",
        &object(""),
    );
}

#[test]
fn a_field_that_the_kind_does_not_have() {
    check(
        &mutating("      patchStrategicMerge:\n        metadata: {labells: {a: b}}"),
        "warning[KYV241]",
        "11:20: p/r: `metadata.labells` is no field of `ConfigMap`; did you mean `labels`?",
        &object(", labells: {a: b}"),
    );
}

#[test]
fn a_value_of_a_type_that_the_field_does_not_have() {
    check(
        &mutating("      patchStrategicMerge:\n        immutable: \"true\""),
        "warning[KYV242]",
        "11:9: p/r: `immutable` of `ConfigMap` is a boolean, not a string",
        &format!("{}immutable: \"true\"\n", object("")),
    );
}

#[test]
fn an_expression_without_braces_in_a_condition() {
    let rule = "    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: request.operation, operator: Equals, value: CREATE}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}";
    check(
        &policy(rule),
        "warning[KYV240]",
        "9:28: p/r: `request.operation` without braces is compared as text: write `{{ request.operation }}` for its value",
        &object(""),
    );
}

#[test]
fn a_name_with_wildcards_in_a_list() {
    check(
        // Fields of a kind that is not built in are not known.
        &mutating("      patchStrategicMerge: {x: [{name: '*', b: z}]}")
            .replace("[ConfigMap]", "[ConfigMap, example.com/v1/Map]"),
        "warning[KYV239]",
        "10:34: p/r: an element with the name `*` is added: write `(name)` for a condition on elements with such names",
        &format!("{}x:\n- name: '*'\n  b: z\n", object("")),
    );
}

#[test]
fn a_policy_without_rules() {
    check(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules: []\n",
        "warning[KYV238]",
        "5:3: p: the policy has no rules and does nothing: add `spec.rules`, or remove the policy",
        &object(""),
    );
}

#[test]
fn a_variable_about_the_user_without_user() {
    let policy = labelling("{{ to_string(request.userInfo.username) }}");
    check(
        &policy,
        "warning[KYV401]",
        "10:49: p/r: the user of the request is unknown and counts as null in \
         `to_string(request.userInfo.username)`; `--userinfo FILE` sets it",
        &object(", labels: {a: \"null\"}"),
    );
    let user = "apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nmetadata: {name: u}\nuserInfo: {username: ann}\n";
    let folder = Folder::new(&[("policy.yaml", &policy), ("map.yaml", &object("")), ("user.yaml", user)]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml", "--userinfo", "user.yaml"]);
    assert_eq!((run.stdout, run.code), (object(", labels: {a: ann}"), Some(0)));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
}

#[test]
fn warnings_of_one_cause_are_one_line_unless_verbose() {
    let first = labelling("{{ a");
    let second = first.replace("name: p", "name: q");
    let folder = Folder::new(&[("p.yaml", &first), ("q.yaml", &second), ("map.yaml", MAP)]);
    let warnings = |arguments: &[&str]| {
        let run =
            folder.run(&[&["diff", "-p", "p.yaml", "-p", "q.yaml", "-f", "map.yaml"], arguments].concat());
        run.stderr.lines().filter(|line| line.starts_with("warning")).map(str::to_owned).collect::<Vec<_>>()
    };
    let cause =
        "`{{ a` is no variable but plain text: close it with `}}`, or write `\\{{` where text is meant";
    assert_eq!(warnings(&[]), [format!("warning[KYV235]: {cause}: p/r (p.yaml:10:49), q/r (q.yaml:10:49)")]);
    assert_eq!(
        warnings(&["--verbose"]),
        [
            format!("warning[KYV235]: p.yaml:10:49: p/r: {cause}"),
            format!("warning[KYV235]: q.yaml:10:49: q/r: {cause}")
        ]
    );
    assert_eq!(warnings(&["--quiet"]), [""; 0]);
    assert_eq!(warnings(&["--policy-name", "q"]), [format!("warning[KYV235]: q.yaml:10:49: q/r: {cause}")]);
}

#[test]
fn markers_of_helm_templates_in_manifests() {
    let chart = object(", labels: {a: '{{ .Values.a }}'}");
    let folder = Folder::new(&[("policy.yaml", LABEL), ("map.yaml", &chart)]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
    let warning = "warning[KYV120]: map.yaml:3:30: a marker of a Helm template is text here; render the chart first (`helm template`)\n";
    assert!(run.stderr.contains(warning), "{}", run.stderr);
    assert_eq!(run.code, Some(0));
}

#[test]
fn braces_without_quotes_have_a_hint() {
    let policy = labelling("x").replace("\"x\"", "{{ request.object.kind }}");
    let folder =
        Folder::new(&[("policy.yaml", &policy), ("map.yaml", "metadata:\n  name: {{ .Values.name }}\n")]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
    assert_eq!(run.code, Some(2));
    let hint = "  hint: put a value with `{{ }}` in quotes: \"{{ … }}\"";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
    let folder =
        Folder::new(&[("policy.yaml", LABEL), ("map.yaml", "metadata:\n  name: {{ .Values.name }}\n")]);
    let run = folder.run(&["mutate", "-p", "policy.yaml", "-f", "map.yaml"]);
    let hint = "  hint: Helm templates are not read; render the chart first (`helm template`)";
    assert!(run.stderr.contains(hint), "{}", run.stderr);
}
