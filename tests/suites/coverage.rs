//! `test --coverage`: what suites reach of rules.

use std::path::Path;
use std::process::{Command, Output};

use kyv::value::Value;

fn test(arguments: &[&str]) -> Output {
    test_in("covered", arguments)
}

fn test_in(folder: &str, arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suites").join(folder);
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.arg("test").args(arguments).current_dir(folder).env_clear().output().expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn branches_that_no_object_reaches_are_listed() {
    let output = test(&["--coverage"]);
    let expected = "\
policy.yaml:7: labels/autogen-team: no object is changed
policy.yaml:7: labels/autogen-cronjob-team: no object is changed
policy.yaml:10: labels/tier: no object is changed

2 of 5 rules covered, 4 of 7 branches, 1 of 2 conditions and anchors
";
    assert_eq!(stdout(&output), expected);
    assert_eq!(String::from_utf8_lossy(&output.stderr), "1 suite: 1 passed, 0 failed, 2 skipped\n");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn all_rules_are_in_the_report() {
    let report = Value::from_json(&stdout(&test(&["-q", "--coverage=json"]))).expect("JSON");
    let rules = report.get("rules").and_then(Value::as_array).expect("rules");
    let shown: Vec<String> = rules
        .iter()
        .map(|rule| {
            let fields = ["rule", "line", "hasConditions", "changed", "unchanged"];
            fields.map(|field| rule.get(field).expect(field).to_json()).join(" ")
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#""team" 7 false 1 0"#,
            r#""autogen-team" 7 false 0 0"#,
            r#""autogen-cronjob-team" 7 false 0 0"#,
            r#""tier" 10 true 0 1"#,
            r#""config" 14 true 1 1"#,
        ]
    );
}

#[test]
fn programs_read_the_trace() {
    let expected = "\
TN:
SF:policy.yaml
FN:7,labels/team
FN:7,labels/autogen-team
FN:7,labels/autogen-cronjob-team
FN:10,labels/tier
FN:14,labels/config
FNDA:1,labels/team
FNDA:0,labels/autogen-team
FNDA:0,labels/autogen-cronjob-team
FNDA:0,labels/tier
FNDA:1,labels/config
FNF:5
FNH:2
BRDA:10,3,0,0
BRDA:10,3,1,1
BRDA:12,3,2,0
BRDA:12,3,3,1
BRDA:14,4,0,1
BRDA:14,4,1,1
BRDA:16,4,2,1
BRDA:16,4,3,1
BRF:8
BRH:6
DA:7,1
DA:10,0
DA:14,1
LF:3
LH:2
end_of_record
";
    assert_eq!(stdout(&test(&["-q", "--coverage=lcov"])), expected);
}

#[test]
fn conditions_and_anchors_that_no_object_reaches_are_listed() {
    let output = test_in("covered_parts", &["-q", "--coverage"]);
    let expected = "\
mutating.yaml:4: zone/zone: no object fails its conditions
mutating.yaml:14: zone/zone: matchConditions.named: never false
mutating.yaml:16: zone/zone: matchConditions.labelled: never false
policy.yaml:17: pull/pull: preconditions.any[0]: never true
policy.yaml:20: pull/pull: preconditions.any[1]: never false
policy.yaml:27: pull/pull: mutate.patchStrategicMerge.spec.containers[0].(image): never false
policy.yaml:9: pull/autogen-pull: no object fails its conditions
policy.yaml:13: pull/autogen-pull: preconditions.all[0]: never false
policy.yaml:17: pull/autogen-pull: preconditions.any[0]: never true
policy.yaml:20: pull/autogen-pull: preconditions.any[1]: never false
policy.yaml:27: pull/autogen-pull: mutate.patchStrategicMerge.spec.template.spec.containers[0].(image): never false
policy.yaml:28: pull/autogen-pull: mutate.patchStrategicMerge.spec.template.spec.containers[0].+(imagePullPolicy): never false

0 of 3 rules covered, 4 of 6 branches, 2 of 12 conditions and anchors
";
    assert_eq!(stdout(&output), expected);
}

/// In the condition `(securityContext)`, an anchor is a key like others.
#[test]
fn anchors_of_legacy_overlays_are_decided() {
    let output = test_in("covered_legacy", &["-q", "--coverage"]);
    let expected = "\
policy.yaml:15: legacy/pull: mutate.overlay.metadata.labels.+(pull): never false
policy.yaml:18: legacy/pull: mutate.overlay.spec.(securityContext): never false
policy.yaml:23: legacy/pull: mutate.overlay.spec.containers[0].+(terminationMessagePolicy): never false

0 of 1 rules covered, 2 of 2 branches, 2 of 5 conditions and anchors
";
    assert_eq!(stdout(&output), expected);
    let later = test_in("covered_legacy", &["-q", "--coverage", "--legacy", "smp"]);
    assert_eq!(stdout(&later), expected);
}

/// Pod `root` fails `=(runAsUser)`, so nothing after it is decided. The loop selects one container at a time, so the others fail
/// its condition. In labels, `ap*` is a key like others, and outside of conditions `=( )` is no anchor.
#[test]
fn anchors_with_variables_and_those_in_conditions_are_decided() {
    let output = test_in("covered_anchors", &["-q", "--coverage"]);
    let nested = "anchors/nested: mutate.patchStrategicMerge";
    let literal = "anchors/literal: mutate.patchStrategicMerge";
    let expected = format!(
        "\
policy.yaml:15: {nested}.metadata.labels.<(app): never false
policy.yaml:22: {nested}.spec.(securityContext).+(runAsGroup): never false
policy.yaml:21: {nested}.spec.(securityContext).<(fsGroup): never false
policy.yaml:20: {nested}.spec.(securityContext).X(windowsOptions): never false
policy.yaml:23: {nested}.spec.(volumes): never false
policy.yaml:24: {nested}.spec.(volumes)[0].(name): never false
policy.yaml:26: {nested}.spec.containers[0].(name): never false
policy.yaml:28: {nested}.spec.containers[0].+(imagePullPolicy): never false
policy.yaml:29: anchors/loop: no object fails its conditions
policy.yaml:38: anchors/loop: mutate.foreach[0].patchStrategicMerge.spec.containers[0].+(terminationMessagePolicy): never false
policy.yaml:39: anchors/literal: no object is changed
policy.yaml:45: {literal}.(spec): never false
policy.yaml:46: {literal}.(spec).^(containers): never false
policy.yaml:44: {literal}.metadata.labels.(ap*): never true

0 of 3 rules covered, 4 of 6 branches, 5 of 17 conditions and anchors
"
    );
    assert_eq!(stdout(&output), expected);
}
