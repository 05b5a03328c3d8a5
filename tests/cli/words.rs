//! Plain words in messages, and Kyverno's behind `--verbose`.

use crate::commands::MAP;
use crate::folder::{Folder, RunOutput};

/// A run of a rule that sets a label of the object to a text.
fn label(text: &str, arguments: &[&str]) -> RunOutput {
    let policy = format!(
        "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  background: false
  rules:
    - name: r
      match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
      context: [{{name: settings, variable: {{value: {{a: 1}}}}}}]
      mutate: {{patchStrategicMerge: {{metadata: {{labels: {{a: \"{text}\"}}}}}}}}
"
    );
    let folder = Folder::new(&[("p.yaml", &policy), ("in.yaml", MAP)]);
    folder.run(&[&["diff", "-p", "p.yaml", "-f", "in.yaml"], arguments].concat())
}

#[test]
fn errors_of_functions_are_in_plain_words() {
    for (text, plain, original) in [
        (
            "{{ request.object.metadata.labels.b }}",
            "p/r: no value for `request.object.metadata.labels.b` in mutate.patchStrategicMerge.metadata.labels.a: \
             there is no key `labels`\n",
            "variable substitution failed: failed to resolve request.object.metadata.labels.b at path \
             /mutate/patchStrategicMerge/metadata/labels/a: JMESPath query failed: Unknown key \"labels\" in path\n",
        ),
        (
            "{{ split(request.object.metadata, ',') }}",
            "split: argument 1 is an object, expected a string",
            "Invalid type for: object, expected: []jmespath.JpType{\"string\"}",
        ),
        (
            "{{ replace_all('a', 'b') }}",
            "replace_all takes 3 arguments (string, string, string), 2 given",
            "incorrect number of args",
        ),
        (
            "{{ to_upper(`null`) }}",
            "to_upper: argument 1 is null, expected a string",
            "Invalid type for: <nil>",
        ),
        (
            "{{ join(',', ['a', `1`]) }}",
            "argument 2 is a list of other values, expected a list of strings",
            "",
        ),
        (
            "{{ divide('1', '0') }}",
            "divide: division by zero",
            "JMESPath function 'divide': Zero divisor passed",
        ),
        (
            "{{ lookup(`{}`, `1`) }}",
            "lookup: argument 2 is no string",
            "JMESPath function 'lookup': argument #2 is not of type String",
        ),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(3), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(plain) && !run.stderr.contains("  Kyverno: "), "{text}: {}", run.stderr);
        let run = label(text, &["--verbose"]);
        assert!(run.stderr.contains(plain), "{text}: {}", run.stderr);
        let words = run.stderr.split_once("\n  Kyverno: ").map_or("", |(_, words)| words);
        assert!(words.contains(original) && !words.is_empty(), "{text}: {}", run.stderr);
        let run = label(text, &["-o", "json"]);
        assert!(run.stdout.contains("\"original\":"), "{text}: {}", run.stdout);
    }
}

/// What a rule with these lines on a `ConfigMap` prints that fails, in plain words and in Kyverno's.
const FAILING_RULES: &[(&str, &str, &str)] = &[
    (
        "      mutate: {patchesJson6902: '- {op: add, path: /data/k/x, value: d}'}",
        "KYV313]: p.yaml:8:16: p/r: `/data/k/x`: a parent of it is neither an object nor a list",
        "failed to patch resource: invalid state detected: a parent of '/data/k/x' is neither an object nor a list",
    ),
    (
        "      mutate: {patchesJson6902: '- {op: replace, path: /data/none, value: d}'}",
        "KYV313]: p.yaml:8:16: p/r: replace `/data/none`: the object has nothing there",
        "failed to patch resource: replace operation does not apply: doc is missing key: /data/none: missing value",
    ),
    (
        "      mutate: {patchesJson6902: '- {op: test, path: /data/k, value: x}'}",
        "KYV314]: p.yaml:8:16: p/r: test `/data/k`: the object has another value",
        "failed to patch resource: testing value /data/k failed: test failed",
    ),
    (
        "      mutate: {patchesJson6902: '- {op: move, from: /data/none, path: /data/x}'}",
        "KYV313]: p.yaml:8:16: p/r: move from `/data/none`: the object has nothing there",
        "move operation does not apply: doc is missing from path: /data/none: missing value",
    ),
    (
        "      preconditions: {all: [{key: '{{ request.object.none.x }}', operator: Equals, value: a}]}
      mutate: {patchStrategicMerge: {data: {a: b}}}",
        "KYV301]: p.yaml:8:39: p/r: no value for `request.object.none.x` in preconditions.all[0].key: there is no key \
         `none`",
        "failed to evaluate preconditions: failed to substitute variables in condition key: failed to resolve \
         request.object.none.x at path /preconditions/all/0/key: JMESPath query failed: Unknown key \"none\" in path",
    ),
    (
        "      mutate: {foreach: [{list: request.object.none, patchStrategicMerge: {data: {a: b}}}]}",
        "KYV310]: p.yaml:8:33: p/r: the list `request.object.none` cannot be evaluated: there is no key `none`",
        "failed to evaluate list request.object.none: JMESPath query failed: Unknown key \"none\" in path",
    ),
    (
        "      context: [{name: settings, configMap: {name: cfg, namespace: shop}}]
      mutate: {patchStrategicMerge: {data: {a: '{{ settings.data.a }}'}}}",
        "KYV404]: p.yaml:9:52: p/r: no value for `settings.data.a` in mutate.patchStrategicMerge.data.a: context entry \
         `settings`: no data for ConfigMap shop/cfg; pass the object with `--context-from PATH`, or the entry with `--values \
         FILE`",
        "failed to retrieve config map for context entry settings: failed to get configmap shop/cfg : ",
    ),
    (
        "      context: [{name: pods, apiCall: {urlPath: /api/v1/pods}}]
      mutate: {patchStrategicMerge: {data: {a: '{{ pods.items[0].a }}'}}}",
        "context entry `pods`: no data for GET /api/v1/pods; pass the objects with `--context-from PATH`, or a value of \
         pods with `--values FILE`",
        "failed to fetch data for APICall: failed to GET resource with raw url: /api/v1/pods: ",
    ),
    (
        "      context: [{name: v, variable: {jmesPath: request.object.none.x}}]
      mutate: {patchStrategicMerge: {data: {a: '{{ v }}'}}}",
        "context entry `v`: no value for `request.object.none.x`: there is no key `none`",
        "failed to apply jmespath request.object.none.x to variable v: JMESPath query failed: Unknown key \"none\" in path",
    ),
];

#[test]
fn errors_of_rules_are_in_plain_words() {
    for (lines, plain, original) in FAILING_RULES {
        let policy = format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
    - name: r
      match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}
{lines}
"
        );
        let map = format!("{MAP}data: {{k: v}}\n");
        let folder = Folder::new(&[("p.yaml", &policy), ("in.yaml", &map)]);
        // The admission controller has an error for a missing list of a loop.
        let run = |more: &[&str]| {
            folder.run(&[&["diff", "-p", "p.yaml", "-f", "in.yaml", "--semantics", "kyverno"], more].concat())
        };
        let short = run(&[]);
        assert_eq!(short.code, Some(3), "{lines}: {}", short.stderr);
        let is_plain = short.stderr.contains(plain) && !short.stderr.contains("  Kyverno: ");
        assert!(is_plain, "{lines}: {}", short.stderr);
        let verbose = run(&["--verbose"]);
        let words = verbose.stderr.split_once("\n  Kyverno: ").map_or("", |(_, words)| words);
        assert!(verbose.stderr.contains(plain) && words.contains(original), "{lines}: {}", verbose.stderr);
    }
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
    - name: r
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {data: {a: '{{ request.object.none }}'}}}
";
    let folder = Folder::new(&[("p.yaml", policy), ("in.yaml", MAP)]);
    let explain = |more: &[&str]| folder.run(&[&["explain", "-p", "p.yaml", "-f", "in.yaml"], more].concat());
    assert!(!explain(&[]).stdout.contains("    kyverno  "));
    assert!(
        explain(&["-v"]).stdout.contains("    kyverno      variable substitution failed: failed to resolve")
    );
    assert!(explain(&["-o", "json"]).stdout.contains("\"original\":\"variable substitution failed: "));
}

#[test]
fn errors_of_expressions_name_characters() {
    for (text, expected) in [
        ("{{ request.object.a[ }}", ": expected `*`, found the end"),
        ("{{ request.object.(a) }}", ": expected a name, `[` or `{`"),
        ("{{ request.object.a[1:x] }}", ": expected `:` or a number, found a name"),
        ("{{ request.object.a b }}", ": unexpected a name after the expression"),
        ("{{ request.object.'a }}", ": the quote ' is not closed"),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(2), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{text}: {}", run.stderr);
    }
}

#[test]
fn misspelt_variables_have_a_suggestion() {
    for (text, code, expected) in [
        ("{{ request.objct.metadata.name }}", 3, "\n  hint: did you mean `object`?\n"),
        ("{{ request.namspace }}", 3, "\n  hint: did you mean `namespace`?\n"),
        ("{{ object.metadata.name }}", 2, " nor declared in context, did you mean `request.object`?\n"),
        ("{{ elem.image }}", 3, "\n  hint: did you mean `element`?\n"),
        ("{{ elment.name }}", 2, " nor declared in context, did you mean `element`?\n"),
        ("{{ setings.a }}", 2, " nor declared in context, did you mean `settings`?\n"),
    ] {
        let run = label(text, &[]);
        assert_eq!(run.code, Some(code), "{text}: {}", run.stderr);
        assert!(run.stderr.contains(expected) && !run.stderr.contains("--values"), "{text}: {}", run.stderr);
    }
}
