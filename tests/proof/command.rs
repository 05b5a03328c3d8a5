//! The command: folders, formats, errors.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::Path;

use kyv::value::Value;
use tempfile::TempDir;

use crate::pairs::run;

fn classic(name: &str, kind: &str, label: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: {name}}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{team: {label}}}}}}}}}
"
    )
}

fn cel(name: &str, resource: &str, label: &str) -> String {
    format!(
        "apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: {name}}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [{resource}]}}]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {{expression: 'Object{{metadata: Object.metadata{{labels: {{\"team\": \"{label}\"}}}}}}'}}
"
    )
}

const VALIDATING: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: v}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, pattern: {metadata: {labels: {team: '?*'}}}}
";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn check(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    run(folder, &[&["convert", "--proof", "fast", "--check"], arguments].concat())
}

#[test]
fn folders_are_paired_by_names() {
    let files = folder(&[
        ("old/a.yaml", &classic("a", "ConfigMap", "shop")),
        ("new/a.yaml", &cel("a", "configmaps", "shop")),
        ("old/b/policy.yaml", &classic("b", "ConfigMap", "shop")),
        ("new/b/mpol.yaml", &cel("b", "configmaps", "web")),
        ("old/c.yaml", &classic("c", "ConfigMap", "shop")),
    ]);
    let (code, stdout, stderr) = check(files.path(), &["old", "new", "-o", "json"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("old: without a counterpart: c"), "{stderr}");
    assert!(stderr.contains("2 pairs: 1 equal, 0 equal but for named differences, 1 differ, 0 not compared"));
    let result = Value::from_json(&stdout).unwrap();
    let pairs = result.get("pairs").unwrap().as_array().unwrap();
    let text = |pair: &'_ Value, field: &str| pair.get(field).unwrap().as_str().unwrap().to_owned();
    let verdicts: Vec<_> = pairs.iter().map(|pair| (text(pair, "name"), text(pair, "verdict"))).collect();
    assert_eq!(verdicts, [("a".into(), "equal".into()), ("b".into(), "differs".into())]);
    let found = pairs[1].get("counterexamples").unwrap().at(0).unwrap();
    let label = |side: &str| {
        let object = found.path(&[side, "object"]).unwrap();
        object.path(&["metadata", "labels", "team"]).unwrap().as_str().map(str::to_owned)
    };
    assert_ne!(label("old"), label("new"));

    let (_, stdout, _) = check(files.path(), &["old", "new", "-o", "markdown"]);
    assert!(stdout.starts_with("| pair | verdict | objects |"), "{stdout}");
    assert!(stdout.contains("\n| a | equal | ") && stdout.contains("\n| b | **differs** | "), "{stdout}");
    assert!(stdout.contains("\n### b\n"), "{stdout}");
}

#[test]
fn the_same_seed_has_the_same_result() {
    let files = folder(&[
        ("old.yaml", &classic("a", "ConfigMap", "shop")),
        ("new.yaml", &cel("a", "configmaps", "web")),
    ]);
    let result = |seed: &str| check(files.path(), &["old.yaml", "new.yaml", "--seed", seed, "-o", "json"]).1;
    assert_eq!(result("1"), result("1"));
}

#[test]
fn given_objects_are_compared_first() {
    // No generated object has seven keys.
    let new = cel("a", "configmaps", "shop").replace(
        "  mutations:",
        "  matchConditions: [{name: few, expression: 'size(object.?data.orValue({})) != 7'}]\n  mutations:",
    );
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\ndata: {a: x, b: x, c: x, d: x, e: x, f: x, g: x}\n";
    let files = folder(&[
        ("old.yaml", &classic("a", "ConfigMap", "shop")),
        ("new.yaml", &new),
        ("object.yaml", object),
        ("broken.yaml", "a: ["),
    ]);
    assert_eq!(check(files.path(), &["old.yaml", "new.yaml"]).0, Some(0));
    let (code, stdout, _) = check(files.path(), &["old.yaml", "new.yaml", "-f", "object.yaml"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("NEW leaves alone what OLD changes"), "{stdout}");
    assert!(stdout.contains("data: {a: x, b: x, c: x, d: x, e: x, f: x, g: x}"), "{stdout}");
    let (code, stdout, stderr) = check(files.path(), &["old.yaml", "new.yaml", "-f", "broken.yaml"]);
    assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
}

#[test]
fn pairs_that_cannot_be_compared_are_errors() {
    let files = folder(&[
        ("old.yaml", &classic("a", "ConfigMap", "shop")),
        ("new.yaml", &cel("a", "configmaps", "shop")),
        ("other.yaml", &cel("a", "services", "shop")),
        ("validating.yaml", VALIDATING),
        ("broken.yaml", &cel("a", "configmaps", "shop").replace("Object{", "Object{{")),
        ("object.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"),
    ]);
    for (arguments, message) in [
        (["old.yaml", "missing.yaml"], "missing.yaml"),
        (["old.yaml", "object.yaml"], "object.yaml"),
        (["old.yaml", "broken.yaml"], "broken.yaml"),
        (["validating.yaml", "new.yaml"], "validating.yaml: no mutate rule to compare"),
        (["old.yaml", "other.yaml"], "old.yaml and other.yaml select no kind in common"),
    ] {
        let (code, stdout, stderr) = check(files.path(), &arguments);
        assert_eq!((code, &*stdout), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(message), "{arguments:?}: {stderr}");
    }
    let (code, _, stderr) = run(files.path(), &["convert"]);
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn what_cannot_be_looked_up_is_not_compared() {
    let old = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: answer, apiCall: {method: POST, service: {url: 'http://a.b'}, data: [{key: a, value: b}]}}]
    mutate: {patchStrategicMerge: {metadata: {labels: {team: '{{ answer }}'}}}}
";
    let files = folder(&[("old.yaml", old), ("new.yaml", &cel("a", "configmaps", "shop"))]);
    let (code, stdout, stderr) = check(files.path(), &["old.yaml", "new.yaml"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stdout.starts_with("old: not compared on 0 objects"), "{stdout}");
    assert!(stdout.contains("  not compared: a/r: "), "{stdout}");
}
