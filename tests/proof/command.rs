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
fn policies_see_the_time_of_the_run() {
    let condition = "    preconditions: {all: [{key: \"{{ time_before(time_now_utc(), '2020-01-01T00:00:00Z') }}\", operator: Equals, value: true}]}\n    mutate";
    let files = folder(&[
        ("old.yaml", &classic("a", "ConfigMap", "shop").replace("    mutate", condition)),
        ("new.yaml", &cel("a", "configmaps", "shop")),
    ]);
    let code = |now: &str| check(files.path(), &["old.yaml", "new.yaml", "--now", now]).0;
    assert_eq!(code("2019-12-31T23:59:59Z"), Some(0));
    assert_eq!(code("2020-01-01T00:00:01Z"), Some(1));
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

/// The label is the name of an object of a kind that nobody knows.
const OWNER: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: owner}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context: [{name: owner, apiCall: {urlPath: /apis/example.com/v1/namespaces/shop/owners/a}}]
    mutate: {patchStrategicMerge: {metadata: {labels: {owner: '{{ owner.spec.name }}'}}}}
";

#[test]
fn context_objects_are_looked_up() {
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: owners.example.com}
spec:
  group: example.com
  names: {kind: Owner, plural: owners, singular: owner}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let owner =
        "apiVersion: example.com/v1\nkind: Owner\nmetadata: {name: a, namespace: shop}\nspec: {name: jane}\n";
    let other = OWNER.replace("spec.name", "spec.surname");
    let files =
        folder(&[("old.yaml", OWNER), ("new.yaml", &other), ("owner.yaml", owner), ("crd.yaml", definition)]);
    let given = ["--context-from", "owner.yaml", "--crds", "crd.yaml"];
    assert_eq!(check(files.path(), &["old.yaml", "old.yaml"]).0, Some(3));
    let (code, stdout, stderr) = check(files.path(), &[&["old.yaml", "old.yaml"][..], &given].concat());
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let (code, stdout, _) = check(files.path(), &[&["old.yaml", "new.yaml"][..], &given].concat());
    assert_eq!(code, Some(1));
    assert!(stdout.contains("  OLD      changed: + metadata.labels: {owner: jane}"), "{stdout}");
}

#[test]
fn exceptions_and_values_are_those_of_the_run() {
    let classic_exception = "apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: e, namespace: default}
spec:
  exceptions: [{policyName: a, ruleNames: [r]}]
  match: {any: [{resources: {kinds: [ConfigMap]}}]}
";
    let call = "    context: [{name: tier, apiCall: {service: {url: 'http://a.b'}}}]\n    mutate";
    let gold = classic("a", "ConfigMap", "'{{ tier }}'").replace("    mutate", call);
    let files = folder(&[
        ("old.yaml", &classic("a", "ConfigMap", "shop")),
        ("new.yaml", &cel("a", "configmaps", "shop")),
        ("exception.yaml", classic_exception),
        ("tier.yaml", &gold),
        ("gold.yaml", &cel("a", "configmaps", "gold")),
    ]);
    // Only OLD is exempted.
    let (code, stdout, _) = check(files.path(), &["old.yaml", "new.yaml", "--exceptions", "exception.yaml"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("NEW changes what OLD leaves alone"), "{stdout}");
    assert_eq!(check(files.path(), &["tier.yaml", "gold.yaml"]).0, Some(3));
    let (code, stdout, stderr) = check(files.path(), &["tier.yaml", "gold.yaml", "--set", "tier=gold"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
}

#[test]
fn live_objects_are_compared() {
    let files = folder(&[("old.yaml", &classic("a", "ConfigMap", "shop"))]);
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/docs/diagnostic_examples/cluster");
    let objects = |arguments: &[&str]| {
        let (code, stdout, stderr) =
            check(files.path(), &[&["old.yaml", "old.yaml", "-o", "json"], arguments].concat());
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        let result = Value::from_json(&stdout).unwrap();
        let count = result.get("pairs").unwrap().at(0).unwrap().get("objects").unwrap().to_json();
        count.parse::<usize>().unwrap()
    };
    // The recording has twelve.
    assert_eq!(objects(&["configmaps", "-n", "web", "--replay", recording]), objects(&[]) + 12);
}

#[test]
fn secrets_that_are_given_are_not_shown() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: given}\ndata: {a: c2VjcmV0, b: x, c: x, d: x, e: x, f: x, g: x}\n";
    let new = cel("a", "secrets", "shop").replace(
        "  mutations:",
        "  matchConditions: [{name: few, expression: 'size(object.?data.orValue({})) != 7'}]\n  mutations:",
    );
    let files =
        folder(&[("old.yaml", &classic("a", "Secret", "shop")), ("new.yaml", &new), ("s.yaml", secret)]);
    let (code, stdout, _) = check(files.path(), &["old.yaml", "new.yaml", "-f", "s.yaml"]);
    assert_eq!(code, Some(1));
    assert!(stdout.contains("data: {a: '***'") && !stdout.contains("c2VjcmV0"), "{stdout}");
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
