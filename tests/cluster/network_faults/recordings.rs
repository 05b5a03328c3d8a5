//! Recording runs, and replaying them without a server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{ALL, Folder, ended, good, is_second_page, policy, status};
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

/// A server with a Secret, which refuses Pods.
fn with_a_secret() -> StubServer {
    StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web/secrets" => {
            let item = r#"{"metadata":{"name":"login","namespace":"web"},"data":{"token":"aHVudGVyMiE=","other":"cGxhaW5seQ=="}}"#;
            StubResponse::Body(200, format!(r#"{{"kind":"SecretList","metadata":{{}},"items":[{item}]}}"#))
        }
        "/api/v1/namespaces/web/pods" => status(403, "Forbidden", "pods is forbidden"),
        _ => good(request),
    })
}

/// What is said of a recording without the values of Secrets, and of its replay.
const RECORDED: &str = "note[KYV521]: values of Secrets are not recorded: a replay reports rules that need them as not replayable \
                        (--show-secrets records them)\n";
const REPLAYED: &str = "note[KYV521]: the recording has no values of Secrets: rules that need them are not replayable (--record \
                        with --show-secrets keeps the values)\n";

const SECRETS: [&str; 4] = ["aHVudGVyMiE=", "hunter2!", "cGxhaW5seQ==", "plainly"];

/// The files of a recording.
pub(super) fn recorded(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut files: Vec<(String, String)> = entries
        .map(|entry| entry.expect("a file").path())
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("text"))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn replay_prints_the_same_bytes_without_a_server() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let time = "context: [{name: at, variable: {value: '{{ time_now() }}'}}]\n    \
                preconditions: {all: [{key: '{{ at }}', operator: NotEquals, value: ''}]}";
    let timed = folder.write(
        "time.yaml",
        &policy("time", "[ConfigMap, Pod, Secret]", time)
            .replace("team: a", "at: \"{{ at | replace_all(@, ':', '-') }}\""),
    );
    let moved = folder.write(
        "moved.yaml",
        &policy("moved", "[Secret]", "")
            .replace("team: a", "was: \"{{ request.object.data.token | base64_decode(@) }}\""),
    );
    let arguments = ["configmaps,secrets,pods", "--chunk-size=2", "-p", &timed];
    for output in [
        &["diff", "-o", "json"][..],
        &["diff"],
        &["diff", "-o", "summary"],
        &["diff", "-o", "markdown"],
        &["explain"],
    ] {
        let run = |more: &[&str]| folder.run(&[output, &arguments, more].concat());
        let live = run(&["--record", "tape"]);
        assert_eq!(live.code, Some(4), "{live:?}");
        let files = recorded(&folder.0.path().join("tape"));
        for (name, text) in &files {
            assert!(name == "recording.json" || text.starts_with("{\n  \"question\": {\n"), "{name}: {text}");
            assert!(SECRETS.iter().all(|secret| !text.contains(secret)), "{name}: {text}");
        }
        for start in
            ["list-configmaps-web-1-", "list-configmaps-web-2-", "list-kinds-", "list-secrets-web-1-"]
        {
            assert_eq!(files.iter().filter(|(name, _)| name.starts_with(start)).count(), 1, "{start}");
        }
        let asked = server.requests().len();
        let replayed = run(&["--replay", "tape", "--kubeconfig", "not-there"]);
        assert_eq!(server.requests().len(), asked);
        assert_eq!((replayed.code, &replayed.stdout), (live.code, &live.stdout), "{replayed:?}");
        assert_eq!(live.stderr.replace(RECORDED, REPLAYED), replayed.stderr);
        for shown in [&live, &replayed] {
            assert!(
                SECRETS.iter().all(|secret| !shown.stdout.contains(secret) && !shown.stderr.contains(secret))
            );
        }
    }

    // With --show-secrets the values are printed and recorded.
    let arguments = [&arguments[..], &["-p", &moved]].concat();
    let shown = folder.run(&[&["diff"][..], &arguments, &["--record", "tape", "--show-secrets"]].concat());
    assert!(shown.stdout.contains("+    was: hunter2!\n"), "{shown:?}");
    let files = recorded(&folder.0.path().join("tape"));
    assert!(files.iter().any(|(_, text)| text.contains("aHVudGVyMiE=")));
    let replayed = folder.run(&[&["diff"][..], &arguments, &["--replay", "tape", "--show-secrets"]].concat());
    assert_eq!((replayed.code, &replayed.stdout), (shown.code, &shown.stdout));
}

#[test]
fn a_recording_that_cannot_be_written_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tape = folder.path().join("tape");
    let lost = tape.clone();
    // The directory becomes a file after the first responses are written.
    let server = StubServer::start(move |request| {
        if request.path.ends_with("/configmaps") && lost.is_dir() {
            fs::remove_dir_all(&lost).expect("the recording goes");
            fs::write(&lost, "").expect("a file");
        }
        good(request)
    });
    let run = Folder::new(&server).diff(&["configmaps", "--record", tape.to_str().expect("UTF-8")]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let expected = ["error[KYV510]: the response cannot be recorded: ", "cannot be written: Not a directory"];
    assert!(expected.iter().all(|words| run.stderr.contains(words)), "{run:?}");
}

#[cfg(unix)]
#[test]
fn interrupted_recordings_are_incomplete() {
    let is_hanging =
        |request: &StubRequest| is_second_page(request) || request.path.ends_with("/configmaps/a");
    let server = StubServer::start(
        move |request| if is_hanging(request) { StubResponse::Hang } else { good(request) },
    );
    let folder = Folder::new(&server);
    let manifest = folder.write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    for objects in [&["configmaps,secrets"][..], &["-f", &manifest, "--live"]] {
        let asked = server.requests().len();
        let arguments = [&["diff", "-p", "team.yaml", "--record", "tape"], objects].concat();
        let child = folder.command(&arguments).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let hangs = |path: &String| path.contains("continue=2") || path.ends_with("/configmaps/a");
        while !server.requests().iter().skip(asked).any(hangs) {
            assert!(Instant::now() < deadline, "what hangs is never asked for");
            thread::sleep(Duration::from_millis(10));
        }
        let started = Instant::now();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let run = ended(child.wait_with_output().unwrap());
        assert!(started.elapsed() < Duration::from_secs(5), "{run:?}");
        assert_eq!(run.code, Some(130), "{run:?}");
        let told = "note[KYV521]: the recording is not complete: the run was interrupted\n";
        assert!(run.stderr.contains(told), "{run:?}");
        let head = fs::read_to_string(folder.0.path().join("tape/recording.json")).unwrap();
        assert!(head.contains("\"complete\": false"), "{head}");
        let replayed = folder.run(&[&["diff", "-p", "team.yaml", "--replay", "tape"], objects].concat());
        let told = "note[KYV521]: the recording is not complete: the run that made it was interrupted\n";
        assert!(replayed.code == Some(4) && replayed.stderr.contains(told), "{replayed:?}");
        assert!(replayed.stdout.contains("# incomplete: "), "{replayed:?}");
    }
    // The next run makes a whole one of it.
    assert_eq!(folder.diff(&["secrets", "--record", "tape"]).code, Some(1));
    let head = fs::read_to_string(folder.0.path().join("tape/recording.json")).unwrap();
    assert!(head.contains("\"complete\": true"), "{head}");
    assert!(!folder.diff(&["secrets", "--replay", "tape"]).stderr.contains("not complete"));
}

#[test]
fn requests_missing_in_a_recording_are_reported() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    assert_eq!(folder.diff(&["configmaps", "--record", "tape"]).code, Some(1));
    let run = folder.diff(&["configmaps,secrets", "--replay", "tape"]);
    assert_eq!((run.code, run.changed()), (Some(4), ALL.to_vec()), "{run:?}");
    let told = "error[KYV509]: the recording has no response: list secrets, version v1, namespace web, limit 500, page 1";
    assert_eq!(
        run.messages(),
        [told, "error[KYV513]: the result is incomplete: not read: secrets"],
        "{run:?}"
    );

    // A response that a policy needs.
    let call = folder.write(
        "call.yaml",
        &policy(
            "call",
            "[ConfigMap]",
            "context: [{name: nodes, apiCall: {urlPath: /api/v1/nodes, jmesPath: 'length(items)'}}]",
        )
        .replace("team: a", "nodes: '{{ nodes }}'"),
    );
    let run = folder.run(&["diff", "-p", &call, "configmaps", "--replay", "tape"]);
    let mark = "# incomplete: not looked up: /api/v1/nodes\n";
    assert_eq!((run.code, &*run.stdout), (Some(4), mark), "{run:?}");
    assert!(
        run.stderr.contains("error[KYV509]: the recording has no response: ask /api/v1/nodes\n"),
        "{run:?}"
    );

    for (arguments, words) in [
        (&["configmaps", "--replay", "."][..], "error[KYV511]: .: this directory is no recording\n"),
        (
            &["configmaps", "--replay", "none"],
            "error[KYV101]: none: cannot be read: no such file or directory\n",
        ),
        (
            &["configmaps", "--record", "."],
            "error[KYV511]: .: the directory is not empty, and it is no recording\n",
        ),
        (
            &["-f", "team.yaml", "--replay", "tape"],
            "error[KYV005]: a recording is named but no cluster is used: --live evaluates manifests with its data\n",
        ),
    ] {
        let run = folder.diff(arguments);
        assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(2), words, ""), "{arguments:?}");
    }
}

#[test]
fn manifests_are_replayed_with_recorded_answers() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let manifest = folder.write(
        "manifest.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: ../..}}\n---\n\
         {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n",
    );
    let arguments = ["-f", &*manifest, "--live"];
    let live = folder.diff(&[&arguments[..], &["--record", "deep/tape"]].concat());
    assert_eq!(live.code, Some(1), "{live:?}");
    let replayed = folder.diff(&[&arguments[..], &["--replay", "deep/tape"]].concat());
    assert_eq!((replayed.code, &replayed.stdout, &replayed.stderr), (live.code, &live.stdout, &live.stderr));
    assert_eq!(fs::read_dir(folder.0.path().join("deep")).unwrap().count(), 1);
}

#[test]
fn printed_secrets_are_noted() {
    let server = with_a_secret();
    let folder = Folder::new(&server);
    let told = "note[KYV807]: the values of 1 Secret are printed as they are";
    for (output, is_told) in
        [("yaml", true), ("json", true), ("patch", true), ("diff", false), ("name", false)]
    {
        let run = folder.run(&["mutate", "-p", "team.yaml", "secrets,configmaps", "-o", output]);
        assert_eq!((run.code, run.messages().contains(&told)), (Some(0), is_told), "{output} {run:?}");
    }
    let run = folder.run(&["mutate", "-p", "team.yaml", "secrets", "--show-secrets"]);
    assert_eq!(run.messages(), Vec::<&str>::new(), "{run:?}");
}
