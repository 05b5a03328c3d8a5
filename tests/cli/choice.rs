//! Which policies and rules are evaluated: `--skip-unsupported`, `--policy-name` and `--rule`.

use crate::commands::{LABEL, MAP};
use crate::folder::Folder;

const PLANNED: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: later}\nspec:\n  \
    rules: [{name: r, match: {any: [{resources: {kinds: [Secret]}}]}, mutate: {overlay: {metadata: {labels: {a: b}}}}}]\n";

/// Validates and generates.
const OTHER_RULES: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: others}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: no, pattern: {metadata: {name: '?*'}}}
  - name: make
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    generate: {apiVersion: v1, kind: ConfigMap, name: x, namespace: y, data: {}}
";

/// Two rules for `ConfigMap`s, and one for Pods, from which others are generated.
const RULES: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: rules}
spec:
  rules:
  - name: first
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {first: x}}}}
  - name: second
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {second: x}}}}
  - name: pods
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {pods: x}}}}
";

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {app: web}}
";

fn folder() -> Folder {
    let refused =
        LABEL.replace("name: label", "name: refused").replace("    mutate:", "    mode: x\n    mutate:");
    let labelled = MAP.replace("name: map\n", "name: map\n  labels:\n    a: b\n");
    Folder::new(&[
        ("p/label.yaml", LABEL),
        ("p/others.yaml", OTHER_RULES),
        ("p/planned.yaml", PLANNED),
        ("q/label.yaml", LABEL),
        ("q/refused.yaml", &refused),
        ("q/rules.yaml", RULES),
        ("map.yaml", MAP),
        ("labelled.yaml", &labelled),
        ("web.yaml", DEPLOYMENT),
    ])
}

#[test]
fn unsupported_policies_can_be_notes() {
    let folder = folder();
    for (file, code) in [("map.yaml", 1), ("labelled.yaml", 0)] {
        let run = folder.run(&["diff", "--semantics", "kyverno", "-p", "p", "-f", file]);
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        let run =
            folder.run(&["diff", "--semantics", "kyverno", "-p", "p", "-f", file, "--skip-unsupported"]);
        assert_eq!(run.code, Some(code), "{}", run.stderr);
        let note = "note[KYV223]: p/planned.yaml:1: later/r: not evaluated: mutate rule with `overlay` or `patches`\n";
        assert!(run.stderr.contains(note), "{}", run.stderr);
        assert!(
            run.stderr.contains("note[KYV224]: 1 validate rule, 1 generate rule ignored\n"),
            "{}",
            run.stderr
        );
    }
    let strict = folder.run(&[
        "diff",
        "--semantics",
        "kyverno",
        "-p",
        "p",
        "-f",
        "map.yaml",
        "--skip-unsupported",
        "--strict",
    ]);
    assert_eq!(strict.code, Some(3), "{}", strict.stderr);
}

#[test]
fn policies_are_chosen_by_name() {
    let folder = folder();
    for command in ["mutate", "diff", "explain"] {
        // The refused policy has another name.
        let run = folder.run(&[command, "-p", "q", "-f", "map.yaml", "--policy-name", "lab*,nothing?"]);
        run.is(2, &run.stdout, &["error[KYV006]: --policy-name nothing?: no policy has this name\n"]);
        assert!(!run.stderr.contains("refused"), "{}", run.stderr);
        let run =
            folder.run(&[command, "-p", "q,p/planned.yaml", "-f", "map.yaml", "--policy-name", "label"]);
        assert_eq!(run.code, Some(i32::from(command == "diff")), "{}", run.stderr);
        let is_labelled = ["a: b", "label/add"].iter().any(|text| run.stdout.contains(text));
        assert!(is_labelled && !run.stdout.contains("first"), "{}", run.stdout);
        assert!(!run.stderr.contains("MutatingPolicy"), "{}", run.stderr);
        let run = folder.run(&[command, "-p", "q", "-f", "map.yaml", "--policy-name", "*"]);
        assert!(run.stderr.contains("error[KYV201]: q/refused.yaml:"), "{}", run.stderr);
    }
}

#[test]
fn rules_are_chosen_by_name() {
    let folder = folder();
    let labels = |rules: &[&str], file: &str| {
        let arguments = ["mutate", "-q", "-p", "q/label.yaml", "-p", "q/rules.yaml", "-f", file];
        let run = folder.run(&[&arguments, rules].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let names = ["a: b", "first: x", "second: x", "pods: x"];
        names.into_iter().filter(|name| run.stdout.contains(name)).collect::<Vec<_>>()
    };
    assert_eq!(labels(&[], "map.yaml"), ["a: b", "first: x", "second: x"]);
    assert_eq!(labels(&["--rule", "rules/second"], "map.yaml"), ["second: x"]);
    assert_eq!(labels(&["--rule", "rules"], "map.yaml"), ["first: x", "second: x"]);
    assert_eq!(labels(&["--rule", "*/first,label/add"], "map.yaml"), ["a: b", "first: x"]);
    assert_eq!(labels(&["--rule", "*/second", "--policy-name", "r*"], "map.yaml"), ["second: x"]);
    // Generated rules have the name of their source, too.
    assert_eq!(labels(&["--rule", "rules/pods"], "web.yaml"), ["pods: x"]);
    assert_eq!(labels(&["--rule", "rules/autogen-pods"], "web.yaml"), ["pods: x"]);
    assert!(labels(&["--rule", "rules/first"], "web.yaml").is_empty());
    for command in ["mutate", "diff", "explain"] {
        let arguments = [command, "-p", "q/rules.yaml", "-f", "map.yaml", "--rule", "rules/first,rules/none"];
        let run = folder.run(&arguments);
        run.is(2, &run.stdout, &["error[KYV006]: --rule rules/none: no mutate rule has this name\n"]);
    }
}
