//! Values of Secrets, and what policies make of them: in no output of any command in which masking is promised.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::test_runner::{Config, TestRunner};
use sha2::{Digest as _, Sha256};

use crate::folder::{Folder, RunOutput};

/// Rules in JMESPath and CEL that make texts of the Secret `db`: on the Secret itself, and on a `ConfigMap` by a lookup.
const POLICIES: &str = r#"apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: made}
spec:
  rules:
  - name: texts
    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}
    context: CONTEXT
    preconditions: {all: [{key: "{{ to_upper(word) }}", operator: NotEquals, value: "{{ to_lower(user) }}", message: "it is {{ word }}"}]}
    mutate:
      patchStrategicMerge:
        metadata:
          annotations:
            word: "{{ word }}"
            upper: "{{ to_upper(word) }}"
            lower: "{{ to_lower(word) }}"
            hash: "{{ sha256(word) }}"
            again: "{{ base64_encode(base64_encode(word)) }}"
            part: "{{ truncate(word, `8`) }}"
            joined: "{{ join('-', ['pre', to_lower(user)]) }}"
            "key-{{ user }}": "x"
  - name: skipped
    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}
    context: CONTEXT
    preconditions: {all: [{key: "{{ to_upper(word) }}", operator: Equals, value: "{{ user }}", message: "{{ word }} is not {{ user }}"}]}
    mutate: {patchStrategicMerge: {metadata: {annotations: {other: "{{ word }}"}}}}
  - name: looped
    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}
    context: CONTEXT
    mutate:
      foreach:
      - list: "[word, to_upper(user)]"
        patchesJson6902: |-
          - {op: add, path: /metadata/annotations/at, value: "{{ element }}"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: failing}
spec:
  rules:
  - name: missing
    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}
    context: CONTEXT
    mutate: {patchStrategicMerge: {metadata: {annotations: {other: "{{ request.object.none.\"{{ word }}\" }}"}}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tested}
spec:
  rules:
  - name: tested
    match: {any: [{resources: {kinds: [ConfigMap, Secret]}}]}
    context: CONTEXT
    mutate:
      patchesJson6902: |-
        - {op: test, path: /metadata/name, value: "{{ word }}"}
        - {op: add, path: /metadata/annotations, value: {made: "{{ word }}"}}
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: cel}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  variables:
  - {name: word, expression: "string(base64.decode(object.data.word))"}
  matchConditions: [{name: there, expression: "object.data.word != 'x'"}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "add", path: "/metadata/labels", value: {"l": variables.word, "u": variables.word.upperAscii(), "p": variables.word.substring(0, 8)}}]
---
apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {name: failing-cel}
spec:
  failurePolicy: Ignore
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  mutations:
  - patchType: JSONPatch
    jsonPatch: {expression: "[JSONPatch{op: \"add\", path: \"/metadata/none/\" + string(base64.decode(object.data.word)), value: int(object.data.word)}]"}
"#;

/// The context of rules.
const CONTEXT: &str = "
    - {name: word, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db, jmesPath: 'base64_decode(data.word)'}}
    - {name: user, apiCall: {urlPath: /api/v1/namespaces/shop/secrets/db, jmesPath: 'parse_json(base64_decode(data.json)).user'}}";

const SUITE: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: made}
policies: [policies.yaml]
resources: [objects.yaml]
results:
- {policy: made, rule: texts, kind: Secret, resources: [db], result: pass, patchedResources: [objects.yaml]}
- {policy: failing, rule: missing, kind: Secret, resources: [db], result: pass}
- {policy: cel, kind: Secret, resources: [db], result: skip}
";

/// Two values, and all texts that the policies make of them.
struct Texts {
    word: String,
    user: String,
}

impl Texts {
    fn folder(&self) -> Folder {
        let encoded = |text: &str| STANDARD.encode(text);
        let user = format!("{{\"user\": \"{}\"}}", self.user);
        let objects = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: db, namespace: shop}}\ndata: {{word: {}, json: {}}}\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings, namespace: shop}}\ndata: {{a: b}}\n",
            encoded(&self.word),
            encoded(&user),
        );
        let policies = POLICIES.replace(" CONTEXT", CONTEXT);
        Folder::new(&[
            ("policies.yaml", &policies),
            ("objects.yaml", &objects),
            ("tests/policies.yaml", &policies),
            ("tests/objects.yaml", &objects),
            ("tests/kyverno-test.yaml", SUITE),
        ])
    }

    fn hidden(&self) -> Vec<String> {
        let Self { word, user } = self;
        let hash =
            Sha256::digest(word).iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        let encoded = STANDARD.encode(word);
        vec![
            word.clone(),
            user.clone(),
            word.to_uppercase(),
            word.to_lowercase(),
            user.to_uppercase(),
            user.to_lowercase(),
            hash,
            encoded.clone(),
            STANDARD.encode(&encoded),
            word[..8].to_owned(),
            word[..8].to_uppercase(),
        ]
    }
}

/// Commands whose whole output hides values.
const MASKED: [&str; 41] = [
    "diff -o diff",
    "diff -o diff --annotate --color always",
    "diff -o summary -v",
    "diff -o json",
    "diff -o markdown",
    "diff -o html",
    "diff -o sarif",
    "diff -o github",
    "diff -o gitlab",
    "diff -o junit",
    "diff -o policyreport",
    "diff -o openreports",
    "diff -o diff --semantics kyverno",
    "diff -o diff --view written -v",
    "diff -o diff --check-idempotent",
    "explain",
    "explain -v --all",
    "explain -o json",
    "explain -o html",
    "explain -v --semantics kyverno",
    "check",
    "check -o json",
    "check -o html",
    "check -o sarif",
    "check -o junit",
    "check --operation UPDATE",
    "drift",
    "drift -o json",
    "drift -o html",
    "test tests",
    "test tests --strict",
    "test tests -o json",
    "test tests -o junit",
    "test tests -o markdown",
    "test tests -o sarif",
    "test tests -o github",
    "test tests -o gitlab",
    "test tests --coverage",
    "test tests --coverage=json",
    "test tests --mutants",
    "lint -p policies.yaml",
];

/// Commands whose result holds the values, but not what they say of it.
const RESULTS: [&str; 5] =
    ["mutate", "mutate -o json", "mutate -o patch", "mutate -v --check-idempotent", "mutate -i"];

fn run(folder: &Folder, command: &str) -> RunOutput {
    let mut arguments: Vec<&str> = command.split(' ').collect();
    if ["diff", "explain", "check", "drift", "mutate"].contains(&arguments[0]) {
        arguments.extend(["-p", "policies.yaml", "-f", "objects.yaml", "--context-from", "objects.yaml"]);
    }
    folder.run(&arguments)
}

fn assert_hides(hidden: &[String], command: &str, text: &str) {
    if let Some(found) = hidden.iter().find(|value| text.contains(&***value)) {
        let line = text.lines().find(|line| line.contains(&**found)).unwrap_or_default();
        panic!("{command}: {found} is in: {line}");
    }
}

#[test]
fn values_of_secrets_are_in_no_output() {
    let cases = if test_support::has_real_programs() { 10 } else { 2 };
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let checked = runner.run(
        &("[A-Z][a-z]{5}[0-9]{4}[a-zA-Z]{4,9}", "[A-Z][a-z]{6}[0-9]{3}[a-z]{3}"),
        |(word, user)| {
            let texts = Texts { word, user };
            let (folder, hidden) = (texts.folder(), texts.hidden());
            for command in MASKED {
                let RunOutput { code, stdout, stderr } = run(&folder, command);
                assert!(code.is_some_and(|code| code <= 4), "{command}: {code:?} {stderr}");
                assert!(!stdout.is_empty(), "{command}: {stderr}");
                assert_hides(&hidden, command, &stdout);
                assert_hides(&hidden, command, &stderr);
            }
            for command in RESULTS {
                assert_hides(&hidden, command, &run(&folder, command).stderr);
            }
            Ok(())
        },
    );
    checked.unwrap_or_else(|error| panic!("{error}"));
    // The policies do make these texts.
    let texts = Texts { word: "Abcdef1234Xyzw".to_owned(), user: "Bcdefgh123xyz".to_owned() };
    let made = run(&texts.folder(), "mutate").stdout;
    for value in texts.hidden() {
        assert!(made.contains(&value), "{value}: {made}");
    }
}
