//! Missing or unexpected responses: output that depends on them is marked as incomplete.

use std::fs;

use super::{ALL, Folder, discovery, ended, good, page, policy, status};
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

/// A Widget with a list that its definition merges by keys.
const WIDGET: &str = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"one","namespace":"web","uid":"1"},"spec":{"parts":[{"id":"a","x":1},{"id":"b","x":2}]}}"#;

/// A policy for Widgets.
fn widgets(name: &str, mutate: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: [Widget]}}}}]}}\n    mutate: {mutate}\n"
    )
}

const PARTS: &str = "{patchStrategicMerge: {spec: {parts: [{id: b, z: 3}]}}}";

/// A server with Widgets that does not tell what their lists are like.
fn without_schemas(answer: impl Fn() -> StubResponse + Send + Sync + 'static) -> StubServer {
    StubServer::start(move |request: &StubRequest| match &*request.path {
        "/apis" => {
            let definitions = r#"{"metadata":{"name":"apiextensions.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"customresourcedefinitions","responseKind":{"kind":"CustomResourceDefinition"},"scope":"Cluster","verbs":["get","list"]}]}]}"#;
            let body = discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{definitions},"));
            StubResponse::Body(200, body)
        }
        path if path.contains("customresourcedefinitions") => answer(),
        path if path.ends_with("/widgets") => {
            StubResponse::Body(200, format!(r#"{{"kind":"List","metadata":{{}},"items":[{WIDGET}]}}"#))
        }
        path if path.ends_with("/widgets/one") => StubResponse::Body(200, WIDGET.into()),
        _ => good(request),
    })
}

const FORBIDDEN: &str = "error[KYV408]: the schema of widgets.example.com cannot be read, and rules replace lists of 1 object that it \
                         may merge by keys (pass it with --crds): Error from server (Forbidden): no schemas for you";
const INCOMPLETE: &str =
    "error[KYV513]: the result is incomplete: not looked up: schema of widgets.example.com";

#[test]
fn output_that_needs_an_unknown_schema_is_incomplete() {
    let server = without_schemas(|| status(403, "Forbidden", "no schemas for you"));
    let folder = Folder::new(&server);
    let parts = folder.write("parts.yaml", &widgets("parts", PARTS));
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: widgets.example.com}\n\
        spec:\n  group: example.com\n  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n  - name: v1\n    \
        schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {parts: {type: array, \
        x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object}}}}}}}\n";
    let definition = folder.write("crd.yaml", definition);
    for (output, mark) in [
        ("diff", "incomplete: not looked up: schema of widgets.example.com"),
        ("json", r#""lookUps":["schema of widgets.example.com"]"#),
        ("markdown", "schema of widgets.example.com"),
        ("summary", "incomplete: not looked up: schema of widgets.example.com"),
    ] {
        let run = folder.run(&["diff", "widgets", "-p", &parts, "-o", output, "-q"]);
        assert_eq!((run.code, run.messages()), (Some(4), vec![FORBIDDEN, INCOMPLETE]), "{run:?}");
        assert!(run.stdout.contains(mark), "{mark} {}", run.stdout);
    }
    let run = folder.run(&["explain", "widgets", "-p", &parts, "-q"]);
    assert_eq!((run.code, run.messages()), (Some(4), vec![FORBIDDEN, INCOMPLETE]), "{run:?}");
    let loops = "{foreach: [{list: 'request.object.spec.parts', patchStrategicMerge: {spec: {parts: [{id: '{{element.id}}', z: 3}]}}}]}";
    let foreach = folder.write("foreach.yaml", &widgets("foreach", loops));
    assert_eq!(folder.run(&["diff", "widgets", "-p", &foreach]).code, Some(4));
    // As the target of a rule, too.
    let existing = "{targets: [{apiVersion: example.com/v1, kind: Widget, name: one, namespace: web}], \
                    patchStrategicMerge: {spec: {parts: [{id: b, z: 3}]}}}";
    let existing =
        folder.write("existing.yaml", &widgets("existing", existing).replace("[Widget]", "[ConfigMap]"));
    let run = folder.run(&["diff", "configmaps", "-p", &existing]);
    assert_eq!((run.code, run.changed()), (Some(4), vec!["Widget/web/one"]), "{run:?}");
    assert_eq!(folder.run(&["diff", "configmaps", "-p", &existing, "--crds", &definition]).code, Some(1));

    // Without lists, or with another kind of patch, no schema is needed.
    for mutate in [
        "{patchStrategicMerge: {spec: {size: 2}}}",
        "{patchStrategicMerge: {spec: {others: [{id: b}]}}}",
        "{patchStrategicMerge: {spec: {parts: [{id: a, x: 1}, {id: b, x: 2}]}}}",
        "{patchesJson6902: '[{\"op\": \"add\", \"path\": \"/spec/parts/0/z\", \"value\": 1}]'}",
    ] {
        let other = folder.write("other.yaml", &widgets("other", mutate));
        let run = folder.run(&["diff", "widgets", "-p", &other]);
        let code = i32::from(!mutate.contains("x: 2"));
        assert_eq!(run.code, Some(code), "{mutate} {run:?}");
        assert!(!run.stderr.contains("incomplete"), "{run:?}");
    }
    // With `--crds` the schema of the server is not needed.
    let run = folder.run(&["diff", "widgets", "-p", &parts, "--crds", &definition]);
    assert!(
        run.code == Some(1) && run.messages().iter().all(|said| said.starts_with("note[KYV-D36]: ")),
        "{run:?}"
    );
    assert!(run.stdout.contains("+    z: 3\n") && run.stdout.contains("+    x: 1\n"), "{run:?}");
    // Kyverno merges no lists of custom resources, whatever their schema says.
    let run = folder.run(&["diff", "widgets", "-p", &parts, "--semantics", "kyverno"]);
    assert_eq!(run.code, Some(1), "{run:?}");
}

#[test]
fn no_file_is_written_after_a_partial_answer() {
    let server = without_schemas(|| status(403, "Forbidden", "no schemas for you"));
    let folder = Folder::new(&server);
    let parts = folder.write("parts.yaml", &widgets("parts", PARTS));
    let file = folder.write("widget.yaml", WIDGET);
    let edit = ["mutate", "-i", "--live", "-f", &file, "-p", &parts];
    let run = folder.run(&edit);
    let nothing =
        "error[KYV009]: nothing was written because of these errors; --keep-going would write 1 file";
    assert_eq!((run.code, run.messages()), (Some(4), vec![FORBIDDEN, INCOMPLETE, nothing]), "{run:?}");
    assert_eq!(fs::read_to_string(&file).expect("it can be read"), WIDGET);
    let run = folder.run(&[&edit[..], &["--keep-going"]].concat());
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(fs::read_to_string(&file).expect("it can be read").contains(r#""z""#));

    // Nor where the stored object is unknown.
    let server = StubServer::start(|request| match &*request.path {
        path if path.ends_with("/configmaps/a") => status(403, "Forbidden", "not for you"),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    let file = folder.write("map.yaml", text);
    let run = folder.run(&["mutate", "-i", "--live", "-f", &file, "-p", "team.yaml"]);
    assert_eq!((run.code, run.messages().last()), (Some(4), Some(&nothing)), "{run:?}");
    assert_eq!(fs::read_to_string(&file).expect("it can be read"), text);
}

#[test]
fn no_unneeded_requests_are_sent() {
    let server = StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web" => status(403, "Forbidden", "no labels for you"),
        path if path.ends_with("/pods/p") => status(403, "Forbidden", "no pods for you"),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let by_labels = "match: {any: [{resources: {kinds: [ConfigMap]}}, {resources: {kinds: [apps/v1/Deployment], \
                     namespaceSelector: {matchLabels: {tier: front}}}}]}";
    let any = "match: {any: [{resources: {kinds: [x]}}]}";
    let labels = folder.write("labels.yaml", &policy("labels", "[x]", "").replace(any, by_labels));

    // The labels of namespaces are no matter of ConfigMaps here.
    let run = folder.run(&["diff", "configmaps", "-p", &labels]);
    assert_eq!((run.code, run.changed(), run.messages()), (Some(1), ALL.to_vec(), vec![]), "{run:?}");
    assert!(
        !server.requests().iter().any(|path| path == "/api/v1/namespaces/web"),
        "{:?}",
        server.requests()
    );
    let run = folder.run(&["diff", "deployments", "-p", &labels]);
    assert_eq!(run.code, Some(4), "{run:?}");
    // Nor without a cluster.
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: new}\n";
    let map = folder.write("map.yaml", map);
    assert_eq!(folder.run(&["diff", "-f", &map, "-p", &labels]).messages(), Vec::<&str>::new());

    // What no rule takes need not be read.
    let pod = folder.write("pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n");
    let run = folder.run(&["diff", "-f", &pod, "--live", "-p", &labels, "-q"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{run:?}");
    let run = folder.run(&["diff", "-f", &pod, "--live", "-p", "team.yaml"]);
    assert_eq!(run.code, Some(4), "{run:?}");
    // Unless it may be the target of one.
    let existing =
        "mutate: {targets: [{apiVersion: v1, kind: Pod, name: p, namespace: web}], patchStrategicMerge: ";
    let existing = policy("existing", "[ConfigMap]", "").replace("mutate: {patchStrategicMerge: ", existing);
    let existing = folder.write("existing.yaml", &existing);
    assert_eq!(folder.run(&["diff", "-f", &pod, "--live", "-p", &existing]).code, Some(4));
}

#[test]
fn unexpected_json_is_an_error() {
    let is_read =
        |request: &StubRequest| request.path.ends_with("/configmaps") && !request.query.contains("continue");
    let list = |items: &str| {
        format!(r#"{{"kind":"ConfigMapList","metadata":{{"continue":"2"}},"items":[{items}]}}"#)
    };
    for (items, fault, gap) in [
        (r#"1,"x",null"#, "one of its items is no object", "not read: configmaps"),
        (r#"{"metadata":{"name":"a"}},null"#, "one of its items is no object", "not read: configmaps"),
        (r#"{"kind":"Status"}"#, "one of its items is of another kind", "read in part: configmaps"),
    ] {
        let body = list(items);
        let server = StubServer::start(move |request| {
            if is_read(request) { StubResponse::Body(200, body.clone()) } else { good(request) }
        });
        let run = Folder::new(&server).diff(&["configmaps", "-q"]);
        let words = format!("error[KYV505]: the server's response for configmaps cannot be read: {fault}");
        let gap = format!("error[KYV513]: the result is incomplete: {gap}");
        assert_eq!((run.code, run.messages()), (Some(4), vec![&*words, &*gap]), "{run:?}");
    }

    // The labels of a namespace.
    let server = StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web" => StubResponse::Body(200, r#"{"apiVersion":"v1","kind":"Status"}"#.into()),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let labels = policy("labels", "[Pod], namespaceSelector: {matchLabels: {tier: front}}", "");
    let labels = folder.write("labels.yaml", &labels);
    let run = folder.run(&["diff", "pods", "-p", &labels, "-q"]);
    let words = r#"error[KYV505]: the server's response for namespaces "web" cannot be read: it is not the requested object"#;
    let gap = r#"error[KYV513]: the result is incomplete: not looked up: namespaces "web""#;
    assert_eq!((run.code, run.messages()), (Some(4), vec![words, gap]), "{run:?}");
}

#[test]
fn dry_run_must_return_the_same_object() {
    for body in [
        "{}",
        r#"{"apiVersion":"v1","kind":"Status","metadata":{}}"#,
        r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"one","namespace":"web"}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"two","namespace":"web"}}"#,
    ] {
        let server = StubServer::start(move |request| {
            if request.query.contains("dryRun=All") {
                StubResponse::Body(200, body.into())
            } else {
                good(request)
            }
        });
        let run = Folder::new(&server).diff(&["pods", "--server-dry-run"]);
        assert_eq!(run.code, Some(4), "{run:?}");
        assert!(run.stderr.contains("server dry run: 0 accepted, 1 without answer\n"), "{run:?}");
    }
    // What is too large for the server is refused by it, be it in its own words or in those of a proxy.
    for answer in [
        status(413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728"),
        StubResponse::Body(413, "<html>Request Entity Too Large</html>".into()),
    ] {
        let server = StubServer::start(move |request| {
            if request.query.contains("dryRun=All") { answer.clone() } else { good(request) }
        });
        let run = Folder::new(&server).diff(&["pods", "--server-dry-run"]);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("server dry run: 0 accepted, 1 refused\n"), "{run:?}");
    }
}

#[test]
fn failed_dry_runs_are_not_reported_as_denied() {
    let names: Vec<String> = (0..13).map(|number| format!("p{number:02}")).collect();
    for (code, reason, words) in [
        (500, "InternalError", "error[KYV514]: and 3 more whose dry run had no response"),
        (422, "Invalid", "error[KYV514]: and 3 more that the API server refuses"),
    ] {
        let names = names.clone();
        let server = StubServer::start(move |request| match &*request.path {
            _ if request.query.contains("dryRun=All") => status(code, reason, "no"),
            path if path.ends_with("/pods") => {
                StubResponse::Body(200, page(&names.iter().map(String::as_str).collect::<Vec<_>>(), ""))
            }
            _ => good(request),
        });
        let run = Folder::new(&server).diff(&["pods", "--server-dry-run"]);
        assert!(run.messages().contains(&words), "{run:?}");
    }
}

#[test]
fn unreadable_kubeconfig_files_are_named() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let broken = folder.write("broken", "apiVersion: v1\nkind: [\n");
    let list = std::env::join_paths([folder.write("empty", "{}"), broken.clone()]).expect("plain paths");
    let run = folder.command(&["diff", "-p", "team.yaml", "pods"]).env("KUBECONFIG", list).output();
    let run = ended(run.expect("the program starts"));
    assert!(
        run.code == Some(2) && run.stderr.starts_with(&format!("error[KYV501]: kubeconfig: {broken} ")),
        "{run:?}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn unwritable_recording_folders_fail_before_any_request() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    for place in ["/proc/kyv", "/proc/self", "team.yaml"] {
        let run = folder.diff(&["pods", "--record", place]);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{place} {run:?}");
    }
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[test]
fn secrets_changed_by_webhooks_are_masked() {
    let secret = |metadata: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"one","namespace":"web"{metadata}}},"data":{{"password":"aHVudGVyMg=="}}}}"#
        )
    };
    let server = StubServer::start(move |request| match &*request.path {
        _ if request.query.contains("dryRun=All") => {
            StubResponse::Body(200, secret(r#","labels":{"team":"a"},"annotations":{"copy":"2retnuh"}"#))
        }
        path if path.ends_with("/secrets") => {
            StubResponse::Body(200, format!(r#"{{"kind":"SecretList","items":[{}]}}"#, secret("")))
        }
        _ => good(request),
    });
    let folder = Folder::new(&server);
    for output in ["diff", "json", "markdown"] {
        let run = folder.diff(&["secrets", "--server-dry-run", "-o", output, "--record", "tape"]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(!run.stdout.contains("2retnuh") && run.stdout.contains("copy"), "{run:?}");
        for entry in fs::read_dir(folder.0.path().join("tape")).expect("a folder") {
            let text = fs::read_to_string(entry.expect("a file").path()).expect("text");
            assert!(!text.contains("2retnuh"), "{text}");
        }
        let replayed = folder.diff(&["secrets", "--server-dry-run", "-o", output, "--replay", "tape"]);
        assert_eq!((replayed.code, &replayed.stdout), (run.code, &run.stdout), "{replayed:?}");
    }
    let run = folder.diff(&["secrets", "--server-dry-run", "--show-secrets"]);
    assert!(run.stdout.contains("2retnuh"), "{run:?}");
}
