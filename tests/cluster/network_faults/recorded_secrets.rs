//! Recordings without the values of Secrets: what they hold, and what a replay makes of it.

use super::recordings::recorded;
use super::{Folder, Run, good, policy, status};
use test_support::stub_server::{StubResponse, StubServer};

/// The values of the Secret.
const VALUES: [&str; 6] = ["hunter2-sesame", "aHVudGVyMi1", "old-token", "b2xkLXRva2Vu", "YXBw", "WTIwdGFI"];
/// Parts of them that rules write somewhere.
const DERIVED: [&str; 4] = ["hunter2", "HUNTER2", "sesame", "SESAME"];

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
    let secret = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"login","namespace":"web","uid":"5ec2e7","labels":{"word":"app"},"annotations":
        {"kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"token\":\"b2xkLXRva2Vu\"}}","copy":"hunter2-sesame"}},
        "data":{"token":"aHVudGVyMi1zZXNhbWU=","word":"YXBw","count":"NDIxNw==","nested":"WTIwdGFIVnVkR1Z5TWc9PQ=="}}"#
        .replace('\n', "");
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
        "/api/v1/namespaces/web/secrets" => {
            StubResponse::Body(200, format!(r#"{{"kind":"SecretList","apiVersion":"v1","metadata":{{}},"items":[{secret}]}}"#))
        }
        "/api/v1/namespaces/web/secrets/login" => StubResponse::Body(200, secret.clone()),
        "/api/v1/namespaces/web/pods" if request.query.contains("hunter2") => {
            StubResponse::Body(200, r#"{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"metadata":{"name":"p"}},{"metadata":{"name":"q"}}]}"#.into())
        }
        _ => good(request),
    }
    })
}

/// A policy that looks up what it names by a Secret, and writes it down.
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

const NOT_REPLAYABLE: &str =
    "not replayable: the rule needs values of the Secret web/login, which the recording does not have";

/// All that a run printed, without line breaks.
fn words(run: &Run) -> String {
    let printed = format!("{} {}", run.stdout, run.stderr);
    printed.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Checks that neither the files of a recording nor what is printed hold a secret.
fn tells_nothing(folder: &Folder, runs: &[&Run], secrets: &[&str], what: &str) {
    for secret in secrets {
        for (name, text) in recorded(&folder.0.path().join("tape")) {
            assert!(!name.contains(secret) && !text.contains(secret), "{what} {secret}: {name}: {text}");
        }
        for run in runs {
            assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{what} {secret}: {run:?}");
        }
    }
}

#[test]
fn nothing_made_of_a_secret_is_recorded_and_the_replay_reports_the_rule() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let made = folder.write("made.yaml", &made_of_a_secret());
    for output in [
        &["diff"][..],
        &["diff", "-o", "json"],
        &["diff", "-o", "markdown"],
        &["explain"],
        &["explain", "-o", "json"],
        &["diff", "--server-dry-run"],
        &["diff", "-o", "json", "--server-dry-run"],
    ] {
        let what = output.join(" ");
        let run = |more: &[&str]| folder.run(&[output, &["configmaps", "-p", &made], more].concat());
        let plain = run(&[]);
        let live = run(&["--record", "tape"]);
        assert_eq!((plain.code, &plain.stdout), (live.code, &live.stdout), "{what} {live:?}");
        for told in ["values of Secrets", "lookups by values of Secrets"] {
            let told = format!("note[KYV521]: {told} are not recorded");
            assert_eq!(live.stderr.matches(&told).count(), 1, "{what} {live:?}");
        }
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!(replayed.code, Some(3), "{what} {replayed:?}");
        let printed = words(&replayed);
        assert!(printed.contains(NOT_REPLAYABLE), "{what} {replayed:?}");
        tells_nothing(&folder, &[&live, &replayed], &[&VALUES[..], &DERIVED].concat(), &what);
    }
    let files = recorded(&folder.0.path().join("tape"));
    let secret = files.iter().find(|(name, _)| name.contains("secrets_login"));
    let (_, text) = secret.expect("the Secret is recorded");
    for key in ["token", "word", "count", "nested"] {
        assert!(text.contains(&format!("\"{key}\": \"<redacted>\"")), "{text}");
    }
    assert!(text.contains("\"copy\": \"<redacted>\""), "{text}");

    // The results stay, and so do the values with --show-secrets.
    let run = folder.run(&["mutate", "configmaps", "-p", &made, "-o", "yaml"]);
    assert!(run.stdout.contains("upper: HUNTER2-SESAME") && run.stdout.contains("t-cm-hunter2"), "{run:?}");
    let shown = folder.run(&["diff", "configmaps", "-p", &made, "--record", "tape", "--show-secrets"]);
    assert!(shown.stdout.contains("upper: HUNTER2-SESAME"), "{shown:?}");
    let replayed = folder.run(&["diff", "configmaps", "-p", &made, "--replay", "tape", "--show-secrets"]);
    assert_eq!((replayed.code, &replayed.stdout), (shown.code, &shown.stdout));
}

/// A policy for `ConfigMaps` that sees the Secret as `login`.
fn looking(name: &str, rest: &str, metadata: &str) -> String {
    let context = "context:\n    - {name: login, apiCall: {urlPath: /api/v1/namespaces/web/secrets/login}}\n    \
                   - {name: all, apiCall: {urlPath: /api/v1/namespaces/web/secrets}}\n    \
                   - {name: word, variable: {jmesPath: base64_decode(login.data.token)}}";
    policy(name, "[ConfigMap]", &format!("{context}{rest}")).replace("labels: {team: a}", metadata)
}

/// A policy for Secrets with this body of `mutate`.
fn on_secrets(name: &str, mutate: &str) -> String {
    policy(name, "[Secret]", "").replace("{patchStrategicMerge: {metadata: {labels: {team: a}}}}", mutate)
}

#[test]
fn a_rule_that_needs_no_value_replays_equal_and_one_that_needs_one_is_an_error() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    let only_if = |condition: &str| format!("\n    preconditions: {{all: [{condition}]}}");
    let label = "labels: {team: a}";
    let maps = [
        ("meta", true, looking("meta", "", "labels: {of: '{{ login.metadata.name }}'}")),
        ("keys", true, looking("keys", "", "annotations: {keys: \"{{ join(',', keys(login.data)) }}\"}")),
        (
            "count",
            true,
            looking("count", "", "annotations: {n: '{{ length(all.items) }} of {{ length(login.data) }}'}"),
        ),
        ("unused", true, looking("unused", "", label)),
        ("written", false, looking("written", "", "annotations: {made: 'x{{ login.data.word }}y'}")),
        ("whole", false, looking("whole", "", "annotations: {made: '{{ to_string(login) }}'}")),
        ("inside", false, looking("inside", "", "annotations: {made: 'x {{ login.data }}'}")),
        ("key", false, looking("key", "", "labels: {'{{ login.data.word }}': a}")),
        ("long", false, looking("long", "", "labels: {long: '{{ length(login.data.token) }}'}")),
        ("met", false, looking("met", &only_if("{key: '{{ word }}', operator: Equals, value: x}"), label)),
        (
            "equal",
            false,
            looking("equal", "", "annotations: {made: \"{{ to_string(login.data == {token: 'x'}) }}\"}"),
        ),
        (
            "filter",
            false,
            looking(
                "filter",
                "",
                "annotations: {made: \"{{ to_string(all.items[?data.word].metadata.name) }}\"}",
            ),
        ),
        ("not", false, looking("not", "", "annotations: {made: '{{ to_string(!(login.data.token)) }}'}")),
        (
            "object",
            false,
            looking(
                "object",
                &only_if("{key: '{{ login.data }}', operator: Equals, value: {token: x}}"),
                label,
            ),
        ),
    ];
    let secrets = [
        ("labeled", true, policy("labeled", "[Secret]", "")),
        ("removed", true, on_secrets("removed", "{patchStrategicMerge: {data: {token: null}}}")),
        ("added", true, on_secrets("added", "{patchStrategicMerge: {data: {more: eA==, +(token): eA==}}}")),
        ("set", false, on_secrets("set", "{patchStrategicMerge: {data: {token: eA==}}}")),
        (
            "anchored",
            false,
            on_secrets(
                "anchored",
                "{patchStrategicMerge: {data: {(token): 'x*'}, metadata: {labels: {a: b}}}}",
            ),
        ),
        (
            "copied",
            false,
            on_secrets(
                "copied",
                "{patchesJson6902: '[{op: copy, from: /data/token, path: /metadata/annotations/made}]'}",
            ),
        ),
        (
            "tested",
            false,
            on_secrets(
                "tested",
                "{patchesJson6902: '[{op: test, path: /data/token, value: x}, {op: add, path: /data/new, value: eA==}]'}",
            ),
        ),
        (
            "own",
            false,
            policy(
                "own",
                "[Secret]",
                &only_if("{key: '{{ request.object.data.token }}', operator: Equals, value: x}")[5..],
            ),
        ),
        (
            "selected",
            false,
            policy("selected", "[Secret]", "")
                .replace("kinds: [Secret]", "kinds: [Secret], selector: {matchLabels: {word: app}}"),
        ),
    ];
    let all = [("configmaps", &maps[..]), ("secrets", &secrets[..])];
    for (objects, (name, is_same, text)) in
        all.iter().flat_map(|(objects, policies)| policies.iter().map(move |policy| (*objects, policy)))
    {
        let path = folder.write(&format!("{name}.yaml"), text);
        for output in [&["diff"][..], &["diff", "-o", "json"], &["explain"]] {
            let what = format!("{name} {}", output.join(" "));
            let run = |more: &[&str]| folder.run(&[output, &[objects, "-p", &path], more].concat());
            let live = run(&["--record", "tape"]);
            assert!(live.code.is_some_and(|code| code < 2) || !is_same, "{what} {live:?}");
            let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
            if *is_same {
                assert_eq!(
                    (replayed.code, &replayed.stdout),
                    (live.code, &live.stdout),
                    "{what} {replayed:?}"
                );
            } else {
                assert_eq!(replayed.code, Some(3), "{what} {replayed:?}");
                let printed = words(&replayed);
                assert!(printed.contains("not replayable: the rule needs values of"), "{what} {replayed:?}");
                assert!(printed.contains("web/login"), "{what} {replayed:?}");
            }
            tells_nothing(&folder, &[&live, &replayed], &VALUES, &what);
        }
    }
}

#[test]
fn a_secret_of_a_manifest_is_in_no_recording_either() {
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
        assert!(live.code.is_some_and(|code| code < 2), "{live:?}");
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        let printed = words(&replayed);
        assert!(replayed.code == Some(3) && printed.contains("not replayable"), "{output:?} {replayed:?}");
        tells_nothing(&folder, &[&live, &replayed], &DERIVED, &output.join(" "));
    }
}

#[test]
fn a_replay_prints_secrets_without_their_values_and_says_so() {
    let server = with_what_is_made_of_a_secret();
    let folder = Folder::new(&server);
    assert_eq!(folder.diff(&["secrets", "--record", "tape"]).code, Some(1));
    let run = folder.run(&["mutate", "-p", "team.yaml", "secrets", "--replay", "tape", "-o", "yaml"]);
    assert!(run.stdout.contains("token: <redacted>\n"), "{run:?}");
    let told = "note[KYV807]: the values of 1 Secret are printed as the recording has them: redacted, not fit to be applied \
                (--record with --show-secrets keeps the values)";
    assert!(run.messages().contains(&told), "{run:?}");
}
