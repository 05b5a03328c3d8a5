//! Late, refused, truncated or wrong responses: which are retried, and how the others are reported.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::{ALL, Folder, ended, good, is_second_page, kubeconfig, page, second_page, status};
use test_support::stub_server::{StubResponse, StubServer};

#[test]
fn transient_failures_are_retried() {
    let kinds: [(usize, fn() -> StubResponse); 5] = [
        (2, || StubResponse::With(429, ("Retry-After", "1".into()), String::new())),
        (2, || status(503, "ServiceUnavailable", "later")),
        (2, || StubResponse::Body(502, "<html>".into())),
        (2, || StubResponse::Drop),
        (2, || StubResponse::Cut(page(&["c"], ""))),
    ];
    for (times, answer) in kinds {
        let server = second_page(times, answer);
        let started = Instant::now();
        let run = Folder::new(&server).diff(&["cm"]);
        assert_eq!((run.code, run.changed()), (Some(4), vec![]), "an unknown short name: {run:?}");
        let run = Folder::new(&server).diff(&["configmaps"]);
        assert_eq!(
            (run.code, run.changed(), run.messages()),
            (Some(1), ALL.to_vec(), vec![]),
            "{:?} {run:?}",
            answer()
        );
        let second = server.requests().into_iter().filter(|path| path.contains("continue=2")).count();
        assert_eq!(second, times + 1, "{:?}", answer());
        if matches!(answer(), StubResponse::With(..)) {
            assert!(started.elapsed() >= Duration::from_secs(2), "it was asked to wait");
        }
    }
}

/// An answer, its message, and the number of attempts.
type Fault = (fn() -> StubResponse, &'static str, usize);

#[test]
fn permanent_failures_mark_the_output_incomplete() {
    let kinds: [Fault; 9] = [
        (
            || status(503, "ServiceUnavailable", "later"),
            "error[KYV503]: Error from server (ServiceUnavailable): later",
            5,
        ),
        (
            || StubResponse::With(429, ("Retry-After", "3600".into()), String::new()),
            "error[KYV503]: Error from server (TooManyRequests): the server has received too many requests and has asked us to try again later",
            1,
        ),
        (
            || status(500, "InternalError", "boom"),
            "error[KYV503]: Error from server (InternalError): boom",
            1,
        ),
        (|| StubResponse::Drop, "error[KYV504]: Unable to connect to the server: unexpected EOF", 5),
        (
            || StubResponse::Cut("{".into()),
            "error[KYV504]: Unable to connect to the server: unexpected EOF",
            5,
        ),
        (
            || StubResponse::Hang,
            "error[KYV504]: Unable to connect to the server: no response within 1s (--request-timeout sets another limit)",
            1,
        ),
        (
            || StubResponse::Body(200, page(&["c"], "2")),
            "error[KYV505]: the server's response for configmaps cannot be read: it names the same page again and again",
            1,
        ),
        (
            || status(410, "Expired", "The provided continue parameter is too old"),
            "error[KYV503]: Error from server (Expired): The provided continue parameter is too old",
            1,
        ),
        (
            || status(401, "Unauthorized", "Unauthorized"),
            "error[KYV502]: You must be logged in to the server (Unauthorized)",
            1,
        ),
    ];
    for (answer, words, asked) in kinds {
        let server = second_page(100, answer);
        let run = Folder::new(&server).diff(&["configmaps", "--request-timeout=1s"]);
        let rest = "error[KYV513]: the result is incomplete: read in part: configmaps";
        assert_eq!((run.code, run.messages()), (Some(4), vec![words, rest]), "{run:?}");
        assert_eq!(run.changed(), ALL[..2], "{run:?}");
        let second = server.requests().into_iter().filter(|path| path.contains("continue=2")).count();
        assert_eq!(second, asked, "{words}");
    }
}

#[test]
fn invalid_json_pages_are_reported() {
    let server = second_page(1, || StubResponse::Body(200, "<html>Bad Gateway</html>".into()));
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(4), ALL[..2].to_vec()), "{run:?}");
    let [fault, rest] = run.messages()[..] else { panic!("{run:?}") };
    assert!(
        fault.starts_with("error[KYV505]: the server's response for configmaps cannot be read: "),
        "{fault}"
    );
    assert_eq!(rest, "error[KYV513]: the result is incomplete: read in part: configmaps");
    assert!(!run.stderr.contains("Bad Gateway"), "{run:?}");
}

#[test]
fn no_requests_after_the_server_goes_down() {
    let server = StubServer::start(|request| {
        if request.path.ends_with("/configmaps") {
            StubResponse::Last(page(&["a", "b"], "2"))
        } else {
            good(request)
        }
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps,secrets,pods"]);
    let refused = format!(
        "error[KYV504]: The connection to the server {} was refused - did you specify the right host or port?",
        server.authority()
    );
    let rest = "error[KYV513]: the result is incomplete: not read: secrets, pods; read in part: configmaps";
    assert_eq!((run.code, run.messages()), (Some(4), vec![&*refused, rest]), "{run:?}");
    assert_eq!(run.changed(), ALL[..2], "{run:?}");

    // And so is one that was down before.
    for arguments in [&["configmaps"][..], &["-A"]] {
        let run = folder.diff(arguments);
        assert_eq!((run.code, run.messages(), &*run.stdout), (Some(4), vec![&*refused], ""), "{run:?}");
    }
}

#[test]
fn expired_continue_tokens_are_replaced_with_a_note() {
    let server = StubServer::start(|request| {
        if is_second_page(request) {
            let body = r#"{"kind":"Status","metadata":{"continue":"now"},"reason":"Expired","message":"too old","code":410}"#;
            StubResponse::Body(410, body.into())
        } else if request.query.contains("continue=now") {
            StubResponse::Body(200, page(&["c"], ""))
        } else {
            good(request)
        }
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(1), ALL.to_vec()), "{run:?}");
    assert!(
        run.messages()[0].starts_with("note[KYV519]: configmaps: the list expired while it was read"),
        "{run:?}"
    );
    assert_eq!(folder.diff(&["configmaps", "--strict"]).code, Some(3));
}

#[test]
fn forbidden_kinds_are_named_beside_readable_ones() {
    let words = "secrets is forbidden: User \"x\" cannot list resource \"secrets\" in API group \"\" in the namespace \"web\"";
    let server = StubServer::start(move |request| {
        if request.path.ends_with("/secrets") { status(403, "Forbidden", words) } else { good(request) }
    });
    let run = Folder::new(&server).diff(&["configmaps,pods,secrets,deployments,widgets"]);
    let expected = [&ALL[..], &["Pod/web/one", "Deployment/web/one", "Widget/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(4), expected), "{run:?}");
    let told = format!("error[KYV503]: Error from server (Forbidden): {words}");
    assert_eq!(
        run.messages(),
        [&*told, "error[KYV513]: the result is incomplete: not read: secrets"],
        "{run:?}"
    );
}

#[test]
fn timeouts_are_reported_with_the_limit() {
    let server = StubServer::start(|_| StubResponse::Hang);
    let folder = Folder::new(&server);
    let run = folder.diff(&["configmaps", "--request-timeout=1s"]);
    let words = "error[KYV504]: Unable to connect to the server: no response within 1s (--request-timeout sets another limit)";
    assert_eq!((run.code, run.messages(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
    // It takes the connection and does not begin to speak TLS.
    let address = format!("https://{}", server.authority());
    let run = folder.diff(&["configmaps", "--request-timeout=1s", "--server", &address]);
    let words = "error[KYV504]: Unable to connect to the server: no connection within 1s";
    assert_eq!((run.code, run.messages(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
}

#[cfg(unix)]
#[test]
fn interrupted_runs_print_partial_output() {
    let server =
        StubServer::start(|request| if is_second_page(request) { StubResponse::Hang } else { good(request) });
    let folder = Folder::new(&server);
    let child = folder.command(&["diff", "-p", "team.yaml", "configmaps,secrets"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !server.requests().iter().any(|path| path.contains("continue=2")) {
        assert!(Instant::now() < deadline, "the second page is never asked for");
        thread::sleep(Duration::from_millis(10));
    }
    let started = Instant::now();
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let run = ended(child.wait_with_output().unwrap());
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!((run.code, run.changed()), (Some(130), ALL[..2].to_vec()), "{run:?}");
    let rest = "error[KYV513]: the result is incomplete: not read: secrets; read in part: configmaps";
    assert_eq!(run.messages(), ["error[KYV011]: interrupted", rest], "{run:?}");

    // With manifests there is nothing to tell yet.
    let server = StubServer::start(|request| {
        if request.path.ends_with("/configmaps/a") { StubResponse::Hang } else { good(request) }
    });
    folder.write("kubeconfig", &kubeconfig(&server.authority()));
    let manifest = folder.write("a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    let child = folder.command(&["diff", "-p", "team.yaml", "-f", &manifest, "--live"]).spawn().unwrap();
    while !server.requests().iter().any(|path| path.ends_with("/a")) {
        assert!(started.elapsed() < Duration::from_secs(30), "the object is never asked for");
        thread::sleep(Duration::from_millis(10));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let run = ended(child.wait_with_output().unwrap());
    assert_eq!((run.code, &*run.stdout), (None, ""), "{run:?}");
}

#[test]
fn dry_run_webhook_failures_are_reported() {
    let denied = "admission webhook \"v.example.com\" denied the request: not today\nnor tomorrow";
    let side_effects = "admission webhook \"v.example.com\" does not support dry run";
    let broken = "Internal error occurred: failed calling webhook \"v.example.com\": connection refused";
    let conflict = "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your \
                    changes to the latest version and try again";
    for (code, reason, message, exit, verdict) in [
        (403, "Forbidden", denied, 3, "refused"),
        (400, "", denied, 3, "refused"),
        (400, "BadRequest", side_effects, 4, "unanswered"),
        (500, "InternalError", broken, 4, "unanswered"),
        (409, "Conflict", conflict, 4, "unanswered"),
    ] {
        let server = StubServer::start(move |request| {
            if request.query.contains("dryRun=All") {
                status(code, reason, &message.replace('\n', "\\n"))
            } else {
                good(request)
            }
        });
        let folder = Folder::new(&server);
        let run = folder.diff(&["configmaps", "--server-dry-run", "-o", "json"]);
        assert_eq!(run.code, Some(exit), "{reason} {run:?}");
        let value: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        let missing: Vec<String> = ALL.iter().map(|name| format!("dry run of {name}")).collect();
        let missing = if exit == 4 { missing } else { Vec::new() };
        assert_eq!(value["summary"]["notReadable"]["lookUps"], serde_json::json!(missing));
        let told = serde_json::json!({"verdict": verdict, "message": message});
        assert_eq!(value["objects"][0]["server"], told);
        assert_eq!(value["summary"]["serverDryRun"][verdict], 3);
        // Each line of a message is marked as one.
        let run = folder.diff(&["configmaps", "--server-dry-run"]);
        assert!(run.stdout.lines().all(|line| line.starts_with(['-', '+', ' ', '@', '#'])), "{run:?}");
    }
    let run = Folder::new(&StubServer::start(good)).diff(&["-f", "team.yaml", "--server-dry-run"]);
    let words =
        "error[KYV007]: --server-dry-run needs a cluster: manifests are evaluated in it with --live\n";
    assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(2), words, ""), "{run:?}");
}
