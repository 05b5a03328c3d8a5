//! Values of Secrets and values derived from them are neither printed nor recorded.

use std::fs;
use std::path::Path;

use super::{Policies, kyv, logged_requests, server_with_objects};

/// The objects of the cluster: a Secret with the name of a `ConfigMap`, a word and a value that is everywhere.
const OBJECTS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: keys, namespace: web, labels: {app: keys}}
data: {name: dGFyZ2V0LTdx, word: WnE3LUJhcmxleQ==, app: YXBw, kind: Q29uZmlnTWFw}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: target-7q, namespace: web, labels: {app: x}}
data: {k: found}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: done, namespace: web, labels: {app: x}, annotations: {upper: ZQ7-BARLEY}}
data: {app: app}
";

const MADE: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: made}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [web]}}]}
    context:
    - {name: keys, apiCall: {urlPath: /api/v1/namespaces/web/secrets/keys}}
    - {name: word, variable: {jmesPath: base64_decode(keys.data.word)}}
    - {name: named, configMap: {namespace: web, name: '{{ base64_decode(keys.data.name) }}'}}
    - name: same
      apiCall: {urlPath: '/api/v1/namespaces/web/configmaps/{{ base64_decode(keys.data.name) }}', jmesPath: data.k}
    mutate:
      patchStrategicMerge:
        metadata:
          labels: {named: '{{ named.data.k }}', same: '{{ same }}', MORE: x}
          annotations: {upper: '{{ to_upper(word) }}'}
";

const EXISTING: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: existing}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [Secret], namespaces: [web], names: [keys]}}]}
    mutate:
      targets:
      - {apiVersion: v1, kind: ConfigMap, namespace: web, name: '{{ base64_decode(request.object.data.name) }}'}
      patchStrategicMerge:
        metadata: {annotations: {upper: '{{ to_upper(base64_decode(request.object.data.word)) }}'}}
";

/// The texts that must not be printed or recorded.
const SECRETS: [&str; 6] =
    ["dGFyZ2V0LTdx", "target-7q", "WnE3LUJhcmxleQ", "Zq7-Barley", "ZQ7-BARLEY", "YXBw"];

fn holds_no_secret(folder: &Path, but: &[&str]) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        let text = fs::read_to_string(&path).expect("text");
        for secret in SECRETS.iter().filter(|secret| !but.contains(secret)) {
            assert!(!path.display().to_string().contains(secret), "{}", path.display());
            assert!(!text.contains(secret), "{secret} is in {}: {text}", path.display());
        }
    }
}

#[test]
fn recordings_hold_no_secrets_and_a_replay_names_what_it_cannot_evaluate() {
    if test_support::skip_without_real_programs("what policies make of secrets") {
        return;
    }
    let server = server_with_objects();
    server.kubectl_ok(&["apply", "-f", "-"], OBJECTS);
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let write = |name: &str, text: &str| {
        fs::write(policies.path(name), text).expect("the folder takes files");
        policies.argument(name)
    };
    let made = write("made", &MADE.replace(", MORE: x", ""));
    let refused = write("refused", &MADE.replace("MORE: x", "word: '{{ word }}!'"));
    let existing = write("existing", EXISTING);
    let tape = policies.path("tape").display().to_string();
    // The name of an object is no secret; only lookups by it are masked.
    let names: &[&str] = &["target-7q"];
    for (arguments, but, needed) in [
        (&["diff", "cm", "a", "done", "-n", "web", "-p", &made][..], &[][..], "web/keys"),
        (&["diff", "cm", "-n", "web", "-p", &made, "-o", "json"], names, "web/keys"),
        (&["diff", "cm", "-n", "web", "-p", &made, "-o", "markdown"], names, "web/keys"),
        (&["explain", "cm", "done", "-n", "web", "-p", &made], &[], "web/keys"),
        (&["explain", "cm", "done", "-n", "web", "-p", &made, "-o", "json"], &[], "web/keys"),
        (&["diff", "cm", "a", "done", "-n", "web", "-p", &made, "--server-dry-run"], &[], "web/keys"),
        (&["diff", "cm", "a", "done", "-n", "web", "-p", &refused, "--server-dry-run"], &[], "web/keys"),
        (
            &["diff", "cm", "a", "-n", "web", "-p", &refused, "--server-dry-run", "-o", "json"],
            &[],
            "web/keys",
        ),
        (&["diff", "secrets", "keys", "-n", "web", "-p", &existing], names, "web/keys"),
        (&["explain", "secrets", "keys", "-n", "web", "-p", &existing], names, "web/keys"),
        (
            &["diff", "secrets", "-n", "web", "-p", &policies.argument("secret"), "--server-dry-run"],
            &[],
            // It overwrites a value that is unknown.
            "web/login",
        ),
    ] {
        let live = kyv(admin, &[arguments, &["--record", &tape]].concat());
        assert!(matches!(live.code, Some(0 | 1 | 3)), "{arguments:?} {live:?}");
        holds_no_secret(Path::new(&tape), but);
        for secret in SECRETS.iter().filter(|secret| !but.contains(secret)) {
            assert!(!live.stdout.contains(secret) && !live.stderr.contains(secret), "{secret}: {live:?}");
        }
        let requests = logged_requests(&server).len();
        let replayed = kyv(admin, &[arguments, &["--replay", &tape]].concat());
        assert_eq!(logged_requests(&server).len(), requests);
        let printed = format!("{}{}", replayed.stdout, replayed.stderr);
        assert!(
            replayed.code == Some(3) && printed.contains(&format!("needs values of the Secret {needed}")),
            "{arguments:?} {replayed:?}"
        );
    }
    let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &refused, "--server-dry-run"]);
    let words = "\"a\" is invalid: metadata.labels: Invalid value: \"***!\"";
    assert!(run.code == Some(3) && run.stdout.contains(words), "{run:?}");

    // A value that is a word of everywhere leaves objects readable.
    let run = kyv(admin, &["diff", "cm", "done", "-n", "web", "-p", &made]);
    for line in ["\n   labels:\n", "\n     app: x\n", "+    named: found\n", "--- ConfigMap/web/done\t"] {
        assert!(run.stdout.contains(line), "{line}: {run:?}");
    }
    let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &made, "--show-secrets"]);
    assert!(run.stdout.contains("+    upper: ZQ7-BARLEY\n"), "{run:?}");
    let run = kyv(admin, &["mutate", "cm", "a", "-n", "web", "-p", &made]);
    assert!(run.stdout.contains("upper: ZQ7-BARLEY"), "{run:?}");
}
