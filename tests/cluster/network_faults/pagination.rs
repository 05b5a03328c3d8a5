//! Lists: read page by page, prefetched, and never all in memory.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{ALL, Folder, ended, good, is_second_page, kubeconfig, page, policy, status};
use test_support::process_usage::ProcessUsage;
use test_support::stub_server::{StubResponse, StubServer};

/// A server with so many `ConfigMaps` and Pods each, on pages as long as they are asked for.
fn crowded(objects: usize, answer_after: Duration) -> StubServer {
    StubServer::start(move |request| {
        let Some((kind, own)) = [
            ("configmaps", r#""data":{"number":"#),
            ("pods", r#""spec":{"containers":[{"name":"web","image":"web:latest","env":[{"name":"A","value":"b"}]}],"x":"#),
        ]
        .into_iter()
        .find(|(kind, _)| request.path.ends_with(&format!("/web/{kind}"))) else {
            return match request.path.split_once("/configmaps/app-") {
                Some((_, name)) => StubResponse::Body(200, format!(r#"{{"kind":"ConfigMap","data":{{"name":"{name}"}}}}"#)),
                None => good(request),
            };
        };
        thread::sleep(answer_after);
        let asked = |name: &str| {
            let value = request.query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
            value.and_then(|value| value.parse::<usize>().ok())
        };
        let start = asked("continue").unwrap_or(0);
        let end = (start + asked("limit").unwrap_or(objects)).min(objects);
        let fields: Vec<String> =
            (0..20).map(|field| format!(r#""f:field-{field}":{{"f:inner":{{}}}}"#)).collect();
        let fields = fields.join(",");
        let items: Vec<String> = (start..end)
            .map(|number| {
                format!(
                    r#"{{"metadata":{{"name":"app-{kind}-{number}","namespace":"web","managedFields":[{{"fieldsV1":{{{fields}}}}}]}},{own}"{number}"}}}}"#
                )
            })
            .collect();
        let next = if end < objects { end.to_string() } else { String::new() };
        StubResponse::Body(
            200,
            format!(r#"{{"kind":"List","metadata":{{"continue":"{next}"}},"items":[{}]}}"#, items.join(",")),
        )
    })
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_bounded_for_many_objects() {
    // Each object is looked up by a call of its own, too, and changes.
    let call = "context: [{name: own, apiCall: {urlPath: \"/api/v1/namespaces/web/configmaps/{{ request.name }}\", jmesPath: data.name}}]";
    for arguments in [&["-o", "diff"][..], &["-o", "json"], &["-o", "summary"]] {
        let peaks = [500, 2500].map(|objects| {
            let folder = Folder::new(&crowded(objects, Duration::ZERO));
            let server = crowded(objects, Duration::ZERO);
            folder.write("kubeconfig", &kubeconfig(&server.authority()));
            folder.write(
                "own.yaml",
                &policy("own", "[ConfigMap]", call).replace("team: a", "own: \"{{ own }}\""),
            );
            let mut command =
                folder.command(&["diff", "-p", "own.yaml", "-p", "team.yaml", "configmaps,pods"]);
            let printed = fs::File::create(folder.0.path().join("printed")).unwrap();
            command.args(arguments).args(["--workers", "2"]).stdout(printed).stderr(Stdio::null());
            let gauge = ProcessUsage::measure(&mut command);
            let printed = fs::read_to_string(folder.0.path().join("printed")).unwrap();
            assert_eq!(gauge.code, Some(1), "{gauge:?} {printed}");
            assert!(printed.contains("own"), "{printed}");
            gauge.peak
        });
        assert!(peaks[1] * 10 <= peaks[0] * 13, "{arguments:?}: {peaks:?} KiB");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_only_on_terminals() {
    let server = crowded(8, Duration::from_millis(400));
    let folder = Folder::new(&server);
    let arguments = ["diff", "-p", "team.yaml", "configmaps,pods", "--chunk-size", "2"];
    let bar = "of 2 kinds, ";
    let plain = folder.run(&arguments);
    assert_eq!(plain.code, Some(1), "{plain:?}");
    assert!(!plain.stderr.contains(bar) && !plain.stderr.contains('\u{1b}'), "{plain:?}");

    // The result goes elsewhere, as with a pipe; what is said goes to the terminal.
    let run = |more: &str| {
        let line = format!("{} {} {more} >result", env!("CARGO_BIN_EXE_kubectl-kyv"), arguments.join(" "));
        let mut command = Command::new("script");
        command.args(["-q", "-e", "-c", &line, "typescript"]).current_dir(folder.0.path()).env_clear();
        command.env("KUBECONFIG", folder.0.path().join("kubeconfig")).env("TERM", "xterm");
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("SHELL", "/bin/sh");
        let run = ended(command.stdin(Stdio::null()).output().expect("script is installed"));
        let result = fs::read_to_string(folder.0.path().join("result")).unwrap();
        assert_eq!((run.code, &result), (Some(1), &plain.stdout), "{run:?}");
        run.stdout
    };
    let shown = run("");
    // First one kind is being read, at last both were.
    let bars: Vec<&str> = shown.split(['\r', '\n']).filter(|line| line.contains(bar)).collect();
    for part in [" objects, ", "/s"] {
        assert!(!bars.is_empty() && bars.iter().all(|line| line.contains(part)), "{shown:?}");
    }
    // Whole numbers, of the whole run.
    let rate = |line: &str| {
        let digits = line.split_once("/s")?.0.rsplit(' ').next()?.replace(',', "");
        digits.parse::<u32>().ok()
    };
    assert!(bars.iter().all(|line| rate(line).is_some_and(|rate| rate <= 16)), "{shown:?}");
    assert!(
        bars.iter().any(|line| line.contains("0 of 2 kinds, ") || line.contains("1 of 2 kinds, ")),
        "{shown:?}"
    );
    // The bar is gone when the summary comes.
    let end = shown.rsplit(bar).next().unwrap_or_default();
    assert!(
        end.contains("\u{1b}[2K") && end.contains("16 objects, 16 would be changed by 1 rule"),
        "{shown:?}"
    );
    assert!(!run("--quiet").contains(bar), "{shown:?}");
}

#[test]
fn the_next_list_is_prefetched() {
    // The second page of ConfigMaps is held back until Secrets are requested; the output is in order.
    let asked = Arc::new(AtomicBool::new(false));
    let server = StubServer::start(move |request| {
        if request.path.ends_with("/web/secrets") {
            asked.store(true, Ordering::SeqCst);
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        while is_second_page(request) && !asked.load(Ordering::SeqCst) {
            if Instant::now() > deadline {
                return status(500, "InternalError", "nobody asked for Secrets");
            }
            thread::sleep(Duration::from_millis(5));
        }
        good(request)
    });
    let run = Folder::new(&server).diff(&["configmaps,secrets,pods"]);
    let all = [&ALL[..], &["Secret/web/one", "Pod/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(1), all), "{run:?}");
}

#[test]
fn namespace_labels_are_read_in_one_list() {
    for is_listed in [true, false] {
        let server = StubServer::start(move |request| match &*request.path {
            "/api/v1/namespaces" if is_listed => {
                let labelled = r#"{"metadata":{"name":"web","labels":{"tier":"front"}}}"#;
                StubResponse::Body(
                    200,
                    format!(r#"{{"kind":"NamespaceList","metadata":{{}},"items":[{labelled}]}}"#),
                )
            }
            "/api/v1/namespaces" => status(403, "Forbidden", "not for you"),
            "/api/v1/namespaces/web" => StubResponse::Body(
                200,
                r#"{"kind":"Namespace","metadata":{"name":"web","labels":{"tier":"front"}}}"#.into(),
            ),
            "/api/v1/configmaps" => StubResponse::Body(200, page(&["a", "b"], "")),
            _ => good(request),
        });
        let folder = Folder::new(&server);
        let selector = "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {tier: back}}}}]}";
        let policy = folder.write("selector.yaml", &policy("selector", "[ConfigMap]", selector));
        let run = folder.run(&["diff", "-p", &policy, "-A"]);
        assert_eq!(
            (run.code, run.changed(), run.messages()),
            (Some(1), ALL[..2].to_vec(), vec![]),
            "{run:?}"
        );
        let asked = server.requests();
        let count = |path: &str| asked.iter().filter(|asked| asked.split('?').next() == Some(path)).count();
        assert_eq!(count("/api/v1/namespaces"), 1, "{asked:?}");
        assert_eq!(count("/api/v1/namespaces/web"), usize::from(!is_listed), "{asked:?}");
    }
}

#[test]
fn large_objects_are_mutated() {
    let server = StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web/configmaps" => {
            let data = "x".repeat(3 << 20);
            let object =
                format!(r#"{{"metadata":{{"name":"big","namespace":"web"}},"data":{{"k":"{data}"}}}}"#);
            StubResponse::Body(200, format!(r#"{{"metadata":{{}},"items":[{object},{object},{object}]}}"#))
        }
        _ => good(request),
    });
    let run = Folder::new(&server).diff(&["configmaps"]);
    assert_eq!((run.code, run.changed().len(), run.messages()), (Some(1), 3, vec![]));
}
