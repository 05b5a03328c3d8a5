//! Discovery: which kinds there are, and which of them are listed.

use super::{ALL, Folder, KINDS, discovery, good, page, policy, status};
use test_support::stub_server::{StubResponse, StubServer};

#[test]
fn kinds_that_vanish_after_discovery() {
    let server = StubServer::start(|request| {
        if request.path.ends_with("/widgets") {
            StubResponse::Body(404, "404 page not found\n".into())
        } else {
            good(request)
        }
    });
    let run = Folder::new(&server).diff(&["widgets,pods"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec!["Pod/web/one"]), "{run:?}");
    let told = "error[KYV503]: Error from server (NotFound): Unable to list \"example.com/v1, Resource=widgets\": the server could not find the requested resource";
    assert_eq!(
        run.messages(),
        [told, "error[KYV513]: the result is incomplete: not read: widgets.example.com"],
        "{run:?}"
    );
}

#[test]
fn unavailable_aggregated_apis_are_reported() {
    let server = StubServer::start(|request| match &*request.path {
        "/api" | "/apis" => StubResponse::Body(200, discovery(&request.path, "example.com")),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let down = "error[KYV507]: the kinds of example.com/v1 are not known: the server is currently unable to handle the request";
    let rest = "error[KYV513]: the result is incomplete: not read: example.com/v1";
    let run = folder.diff(&["widgets,pods"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec!["Pod/web/one"]), "{run:?}");
    assert_eq!(
        run.messages(),
        [
            down,
            "error[KYV506]: the server doesn't have a resource type \"widgets\"",
            &format!("{rest}, widgets")
        ],
        "{run:?}"
    );
    // Nobody knows whether a manifest is stored.
    let widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: web}}\n";
    let widget = folder.write("widget.yaml", widget);
    let run = folder.diff(&["-f", &widget, "--live"]);
    let missed = "error[KYV513]: the result is incomplete: not looked up: Widget (example.com/v1)";
    assert_eq!((run.code, run.messages()), (Some(4), vec![down, missed]), "{run:?}");
    // A policy matches a kind that may be served.
    let run = folder.diff(&["-n", "web"]);
    assert_eq!((run.code, run.messages()), (Some(4), vec![down, rest]), "{run:?}");
    // No policy matches kinds of the API that is down.
    let secrets = folder.write("secrets.yaml", &policy("team", "[Secret]", ""));
    let run = folder.run(&["diff", "-n", "web", "-p", &secrets]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Secret/web/one"]), "{run:?}");
    assert_eq!(run.messages(), [&*down.replace("error[", "note[")], "{run:?}");
}

#[test]
fn legacy_discovery_of_older_servers() {
    let server = StubServer::start(|request| {
        let list = |group: &str| {
            let kinds = KINDS.iter().filter(|kind| kind.0 == group);
            let resources: Vec<String> = kinds
                .map(|(_, _, kind, plural)| {
                    let namespaced = *kind != "Namespace";
                    format!(r#"{{"name":"{plural}","singularName":"","namespaced":{namespaced},"kind":"{kind}","verbs":["list"]}},{{"name":"{plural}/status","namespaced":{namespaced},"kind":"{kind}","verbs":["get"]}}"#)
                })
                .collect();
            StubResponse::Body(
                200,
                format!(r#"{{"kind":"APIResourceList","resources":[{}]}}"#, resources.join(",")),
            )
        };
        let group = |name: &str| {
            format!(
                r#"{{"name":"{name}","versions":[{{"groupVersion":"{name}/v1","version":"v1"}}],"preferredVersion":{{"version":"v1"}}}}"#
            )
        };
        match &*request.path {
            "/api" => StubResponse::Body(200, r#"{"kind":"APIVersions","versions":["v1"]}"#.into()),
            "/apis" => {
                let groups = [group("apps"), group("example.com"), group("gone.example.com")].join(",");
                StubResponse::Body(200, format!(r#"{{"kind":"APIGroupList","groups":[{groups}]}}"#))
            }
            "/api/v1" => list(""),
            "/apis/apps/v1" => list("apps"),
            "/apis/example.com/v1" => list("example.com"),
            "/apis/gone.example.com/v1" => {
                StubResponse::With(503, ("Retry-After", "3600".into()), "gone".into())
            }
            _ => good(request),
        }
    });
    let run = Folder::new(&server).diff(&["-n", "web"]);
    let expected =
        [&ALL[..], &["Pod/web/one", "Secret/web/one", "Deployment/web/one", "Widget/web/one"]].concat();
    assert_eq!((run.code, run.changed()), (Some(1), expected), "{run:?}");
    let down = "note[KYV507]: the kinds of gone.example.com/v1 are not known: the server is currently unable to handle the request";
    assert_eq!(run.messages(), [down], "{run:?}");
}

#[test]
fn only_kinds_that_policies_match_are_listed() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let listed = |server: &StubServer| {
        let asked = server.requests().into_iter().filter(|path| !matches!(&**path, "/api" | "/apis"));
        // Several kinds are listed at a time.
        let mut listed: Vec<String> = asked.map(|path| path.split('?').next().unwrap().to_owned()).collect();
        listed.sort();
        listed
    };
    let some = folder
        .write("some.yaml", &policy("some", "[Pod, apps/v1/Deployment, Namespace, Job, Pod/status]", ""));
    let run = folder.run(&["diff", "-p", &some, "-n", "web"]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Pod/web/one", "Deployment/web/one"]), "{run:?}");
    let outside = "note[KYV808]: these belong to no namespace and are left out, -A reads them: namespaces";
    let unserved = "note[KYV517]: rules name kinds that the cluster does not serve: Job";
    assert_eq!(run.messages(), [outside, unserved], "{run:?}");
    assert_eq!(listed(&server), ["/api/v1/namespaces/web/pods", "/apis/apps/v1/namespaces/web/deployments"]);

    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let run = folder.run(&["diff", "-p", &some, "-A"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(listed(&server), ["/api/v1/namespaces", "/api/v1/pods", "/apis/apps/v1/deployments"]);

    // With --strict a kind that is not served is an error.
    let run = folder.run(&["diff", "-p", &some, "-A", "--strict"]);
    let told = "error[KYV517]: rules name kinds that the cluster does not serve: Job (--strict)";
    assert_eq!((run.code, run.messages()), (Some(3), vec![told]), "{run:?}");

    // A category is its kinds.
    let run = folder.run(&["diff", "-p", &some, "some,pods", "-n", "web"]);
    assert_eq!((run.code, run.changed().len()), (Some(1), 3), "{run:?}");
    let run = folder.run(&["diff", "-p", &some, "some", "a"]);
    assert_eq!(
        (run.code, run.messages()),
        (Some(2), vec!["error[KYV004]: you must specify only one resource"]),
        "{run:?}"
    );

    // Without cluster flags no request is sent.
    let run = folder.run(&["diff", "-p", &some]);
    assert_eq!(run.code, Some(2), "{run:?}");
}

#[test]
fn objects_are_read_once_for_all_versions() {
    let server = StubServer::start(|request| match &*request.path {
        "/apis" => {
            let resource = |version: &str| {
                format!(
                    r#"{{"version":"{version}","resources":[{{"resource":"scalers","responseKind":{{"group":"autoscaling","version":"{version}","kind":"Scaler"}},"scope":"Namespaced","verbs":["get","list"]}}]}}"#
                )
            };
            let group = format!(
                r#"{{"metadata":{{"name":"autoscaling"}},"versions":[{},{}]}}"#,
                resource("v2"),
                resource("v1")
            );
            StubResponse::Body(
                200,
                discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{group},")),
            )
        }
        path if path.contains("/scalers") && path.ends_with("/one") => {
            StubResponse::Body(200, r#"{"metadata":{"name":"one","namespace":"web"}}"#.into())
        }
        path if path.ends_with("/scalers") => StubResponse::Body(200, page(&["one"], "")),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let first = folder.write("first.yaml", &policy("first", "[autoscaling/v1/Scaler]", ""));
    let second = folder.write("second.yaml", &policy("second", "[autoscaling/v2/Scaler]", ""));
    let third = folder.write("third.yaml", &policy("third", "[autoscaling/*/Scaler]", ""));
    let note = "note[KYV518]: scalers.autoscaling are read once, as autoscaling/v2: autoscaling/v1/Scaler in a rule sees none of them, and Kyverno would, converted";
    let idle = "note[KYV233]: 1 rule selected no object: first/r";
    let run = folder.run(&["diff", "-p", &first, "-p", &second, "-n", "web"]);
    assert_eq!(
        (run.code, run.changed(), run.messages()),
        (Some(1), vec!["Scaler/web/one"], vec![note, idle]),
        "{run:?}"
    );
    // The version that most rules see.
    let run = folder.run(&["diff", "-p", &first, "-p", &third, "-n", "web"]);
    assert_eq!(
        (run.code, run.changed(), run.messages()),
        (Some(1), vec!["Scaler/web/one"], vec![]),
        "{run:?}"
    );
    let run = folder.run(&["diff", "-p", &first, "-p", &second, "-n", "web", "--strict"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    for arguments in [
        &["scalers.v1.autoscaling,scalers.v2.autoscaling"][..],
        &["scalers.v1.autoscaling/one", "scalers/one"],
        &["scalers.v1.autoscaling,scalers", "one"],
    ] {
        let run = folder.run(&[&["diff", "-p", &third], arguments].concat());
        assert_eq!((run.code, run.changed()), (Some(1), vec!["Scaler/web/one"]), "{run:?}");
    }
}

#[test]
fn unreadable_schemas_are_reported() {
    let server = StubServer::start(|request| match &*request.path {
        "/apis" => {
            let definitions = r#"{"metadata":{"name":"apiextensions.k8s.io"},"versions":[{"version":"v1","resources":[{"resource":"customresourcedefinitions","responseKind":{"kind":"CustomResourceDefinition"},"scope":"Cluster","verbs":["get","list"]}]}]}"#;
            StubResponse::Body(
                200,
                discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{definitions},")),
            )
        }
        path if path.contains("customresourcedefinitions") => status(403, "Forbidden", "no schemas for you"),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let run = folder.diff(&["widgets"]);
    assert_eq!((run.code, run.changed()), (Some(1), vec!["Widget/web/one"]), "{run:?}");
    let words = "note[KYV408]: the schema of widgets.example.com cannot be read, lists in it merge without keys: Error from server (Forbidden): no schemas for you";
    assert_eq!(run.messages(), [words], "{run:?}");
    // It is not needed without such an object.
    let run = folder.diff(&["configmaps", "--strict"]);
    assert_eq!((run.code, run.messages()), (Some(1), vec![]), "{run:?}");
}
