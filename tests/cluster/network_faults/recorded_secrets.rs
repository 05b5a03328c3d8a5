//! Recordings of policies that read Secrets: placeholders replace all tainted values.

use super::recordings::recorded;
use super::{Folder, good, policy, status};
use test_support::stub_server::{StubResponse, StubServer};

/// A server with a Secret; with `ConfigMaps` that hold what a policy makes of it, or are called so; it refuses one of them.
fn with_what_is_made_of_a_secret() -> StubServer {
    let map = |name: &str, rest: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"web"{rest}}},"data":{{"tier":"t-{name}"}}}}"#
        )
    };
    let maps = [
        map("a", ""),
        map(
            "b",
            r#","annotations":{"upper":"HUNTER2-SESAME","pair":"x:HUNTER2-SESAME","tier":"t-cm-hunter2"}"#,
        ),
        map("c", r#","annotations":{"pair":"x:HUNTER2-SESAME"}"#),
    ];
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login","namespace":"web","annotations":
        {"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"token\":\"b2xkLXRva2Vu\"}}","copy":"hunter2-sesame"}},
        "data":{"token":"aHVudGVyMi1zZXNhbWU=","word":"YXBw","count":"NDIxNw==","nested":"WTIwdGFIVnVkR1Z5TWc9PQ=="}}"#;
    StubServer::start(move |request| {
        match &*request.path {
        "/api/v1/namespaces/web/configmaps" => StubResponse::Body(
            200,
            format!(r#"{{"kind":"ConfigMapList","apiVersion":"v1","metadata":{{}},"items":[{}]}}"#, maps.join(",")),
        ),
        "/api/v1/namespaces/web/configmaps/cm-hunter2" => StubResponse::Body(200, map("cm-hunter2", "")),
        "/api/v1/namespaces/web/configmaps/a" if request.query.contains("dryRun=All") => {
            status(422, "Invalid", "ConfigMap \"a\" is invalid: HUNTER2-SESAME is no hunter2-sesame")
        }
        "/api/v1/namespaces/web/configmaps/c" if request.query.contains("dryRun=All") => {
            let annotations = r#","annotations":{"pair":"x:HUNTER2-SESAME","upper":"HUNTER2-SESAME","tier":"t-cm-hunter2","hook":"saw HUNTER2-SESAME"}"#;
            StubResponse::Body(200, map("c", annotations))
        }
        "/api/v1/namespaces/web/secrets/login" => StubResponse::Body(200, secret.replace('\n', "")),
        "/api/v1/namespaces/web/pods" if request.query.contains("hunter2") => {
            StubResponse::Body(200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}},{"metadata":{"name":"q"}}]}"#.into())
        }
        _ => good(request),
    }
    })
}

/// A policy that asks by what it makes of a Secret, and writes it down.
fn made_of_a_secret() -> String {
    policy(
        "made",
        "[ConfigMap]",
        "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
         - {name: word, variable: {jmesPath: base64_decode(login.data.token)}}\n    \
         - {name: map, configMap: {namespace: web, name: \"cm-{{ split(word, '-')[0] }}\"}}\n    \
         - name: pods\n      apiCall:\n        urlPath: \"/api/v1/namespaces/web/pods?labelSelector=of%3D{{ split(word, '-')[0] }}\"\n        \
         jmesPath: length(items)",
    )
    .replace(
        "labels: {team: a}",
        "annotations: {upper: '{{ to_upper(word) }}', pair: 'x:{{ to_upper(word) }}', tier: '{{ map.data.tier }}', \
         pods: '{{ to_string(pods) }}'}",
    )
}

#[test]
fn recordings_hold_no_tainted_values_and_replay() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let made = folder.write("made.yaml", &made_of_a_secret());
    let secrets = ["hunter2", "aHVudGVyMi1", "sesame", "old-token", "b2xkLXRva2Vu", "YXBw", "WTIwdGFI"];
    for output in [
        &["diff"][..],
        &["diff", "-o", "json"],
        &["diff", "-o", "markdown"],
        &["explain"],
        &["explain", "-o", "json"],
        &["diff", "--server-dry-run"],
        &["diff", "-o", "json", "--server-dry-run"],
    ] {
        let run = |more: &[&str]| folder.run(&[output, &["configmaps", "-p", &made], more].concat());
        let plain = run(&[]);
        let live = run(&["--record", "tape"]);
        assert_eq!((plain.code, &plain.stdout), (live.code, &live.stdout), "{output:?} {live:?}");
        let is_dry = output.contains(&"--server-dry-run");
        assert_eq!(
            live.code,
            Some(if is_dry {
                4
            } else if output[0] == "diff" {
                1
            } else {
                0
            }),
            "{live:?}"
        );
        assert!(!live.stderr.contains("cannot be recorded"), "{live:?}");
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{output:?} {replayed:?}");
        let files = recorded(&folder.0.path().join("tape"));
        for secret in secrets {
            for (name, text) in &files {
                let both = format!("{name} {text}").to_lowercase();
                assert!(!both.contains(&secret.to_lowercase()), "{output:?} {secret}: {name}: {text}");
            }
            for shown in [&live, &replayed] {
                let both = format!("{} {}", shown.stdout, shown.stderr).to_lowercase();
                assert!(!both.contains(&secret.to_lowercase()), "{output:?} {secret}: {shown:?}");
            }
        }
        if output == ["diff"] {
            assert_eq!(live.changed(), ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c"]);
            assert!(live.stdout.contains("***") && live.stdout.contains("pods:"), "{live:?}");
        }
    }

    // The results are what they are, and so are the values for whoever asks for them.
    let run = folder.run(&["mutate", "configmaps", "-p", &made, "-o", "yaml"]);
    assert!(run.stdout.contains("upper: HUNTER2-SESAME") && run.stdout.contains("t-cm-hunter2"), "{run:?}");
    let shown = folder.run(&["diff", "configmaps", "-p", &made, "--record", "tape", "--show-secrets"]);
    assert!(shown.stdout.contains("upper: HUNTER2-SESAME"), "{shown:?}");
    let replayed = folder.run(&["diff", "configmaps", "-p", &made, "--replay", "tape", "--show-secrets"]);
    assert_eq!((replayed.code, &replayed.stdout), (shown.code, &shown.stdout));
}

/// A policy for `ConfigMaps` that sees the decoded values of the Secret as `word` and `short`.
fn looking(name: &str, rest: &str, metadata: &str) -> String {
    let context = "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
                   - {name: word, variable: {jmesPath: base64_decode(login.data.token)}}\n    \
                   - {name: short, variable: {jmesPath: base64_decode(login.data.word)}}";
    policy(name, "[ConfigMap]", &format!("{context}{rest}")).replace("labels: {team: a}", metadata)
}

#[test]
fn replay_prints_the_same_bytes_or_names_differing_rules() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let only_if = |key: &str, value: &str| {
        format!(
            "\n    preconditions: {{all: [{{key: '{{{{ {key} }}}}', operator: Equals, value: '{value}'}}]}}"
        )
    };
    let label = "labels: {team: a}";
    for (name, is_same, text) in [
        (
            "inside",
            true,
            looking("inside", "", "annotations: {made: 'x{{ short }}y', upper: '{{ to_upper(short) }}'}"),
        ),
        (
            "keys",
            true,
            looking(
                "keys",
                "",
                "labels: {'{{ word }}': a, '{{ short }}': b, 'x{{ short }}': c, 'x-{{ word }}': d}",
            ),
        ),
        (
            "cut",
            true,
            looking(
                "cut",
                "",
                "annotations: {made: '{{ truncate(word, `2`) }}', hash: '{{ sha256(short) }}'}",
            ),
        ),
        ("met", false, looking("met", &only_if("word", "hunter2-sesame"), label)),
        ("unmet", true, looking("unmet", &only_if("word", "other"), label)),
        ("long", false, looking("long", "", "labels: {long: '{{ length(word) }}'}")),
        ("parts", false, looking("parts", "", "annotations: {made: \"{{ split(word, '-')[1] }}\"}")),
        (
            "number",
            true,
            looking(
                "number",
                &only_if("to_number(base64_decode(login.data.count)) > `1`", "true")
                    .replace("'true'", "true"),
                label,
            ),
        ),
    ] {
        let path = folder.write(&format!("{name}.yaml"), &text);
        for output in [&["diff"][..], &["diff", "-o", "json"], &["explain"], &["explain", "-o", "json"]] {
            let run = |more: &[&str]| folder.run(&[output, &["configmaps", "-p", &path], more].concat());
            let live = run(&["--record", "tape"]);
            let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
            let told = format!(
                "note: what these rules do depends on what the values of Secrets are, and a replay prints something else where \
                 texts stand in for them (--record with --show-secrets keeps the values): {name}/r on 3 objects, first \
                 ConfigMap/web/a\n"
            );
            assert_eq!(live.stdout == replayed.stdout, is_same, "{name} {output:?} {live:?} {replayed:?}");
            for run in [&live, &replayed] {
                assert_eq!(run.stderr.contains(&told), !is_same, "{name} {output:?} {run:?}");
                assert_eq!(run.stderr.contains("depends on"), !is_same, "{name} {output:?} {run:?}");
            }
            for (file, text) in recorded(&folder.0.path().join("tape")) {
                assert!(!text.contains("hunter2-sesame"), "{name} {output:?} {file} {text}");
            }
        }
    }
}

#[test]
fn lookups_keyed_by_a_manifest_secret() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let own = folder.write(
        "own.yaml",
        "{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: web}, data: {token: aHVudGVyMi14}}",
    );
    let context = "context:\n    - name: tier\n      apiCall:\n        \
                   urlPath: \"/api/v1/namespaces/web/configmaps/cm-{{ split(base64_decode(request.object.data.token), '-')[0] }}\"\n        \
                   jmesPath: data.tier";
    let text =
        policy("own", "[Secret]", context).replace("labels: {team: a}", "annotations: {tier: '{{ tier }}'}");
    let policies = folder.write("asks.yaml", &text);
    for output in [&["diff"][..], &["diff", "-o", "json"], &["explain"]] {
        let run =
            |more: &[&str]| folder.run(&[output, &["-f", &own, "--live", "-p", &policies], more].concat());
        let live = run(&["--record", "tape"]);
        assert!(live.code.is_some_and(|code| code < 2) && !live.stderr.contains("depends on"), "{live:?}");
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{output:?} {replayed:?}");
        for (file, text) in recorded(&folder.0.path().join("tape")) {
            assert!(!format!("{file} {text}").contains("hunter2"), "{output:?} {file} {text}");
        }
    }
}

#[test]
fn values_without_a_placeholder_are_counted_and_reported_when_missing() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let context = "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
                   - {name: map, configMap: {namespace: web, name: \"{{ base64_decode(base64_decode(login.data.nested)) }}\"}}";
    let text = policy("made", "[ConfigMap]", context).replace("team: a", "tier: '{{ map.data.tier }}'");
    let made = folder.write("made.yaml", &text);
    let live = folder.run(&["diff", "configmaps", "-p", &made, "--record", "tape"]);
    assert_eq!(live.code, Some(1), "{live:?}");
    let told = "note: 1 answer to what a policy asks for by values of Secrets cannot be recorded without them, and will be \
                missing in a replay (--show-secrets records them)\n";
    assert!(live.stderr.contains(told), "{live:?}");
    let replayed = folder.run(&["diff", "configmaps", "-p", &made, "--replay", "tape"]);
    assert_eq!(replayed.code, Some(3), "{replayed:?}");
    let told = "note: 1 answer to what a policy asks for by values of Secrets could not be recorded without them: rules that \
                want them fail (--show-secrets records them)\n";
    assert!(replayed.stderr.contains(told), "{replayed:?}");
    for (name, text) in recorded(&folder.0.path().join("tape")) {
        assert!(!format!("{name} {text}").contains("cm-hunter2"), "{name}: {text}");
    }
}
