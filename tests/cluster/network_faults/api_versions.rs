//! Rules that name a kind in another version than that of the objects.

use super::{Folder, discovery, good, page, policy};
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

/// A server with Scalers, in version v2 and, less preferred, v1.
fn scalers(request: &StubRequest) -> StubResponse {
    match &*request.path {
        "/apis" => {
            let resource = |version: &str| {
                format!(
                    r#"{{"version":"{version}","resources":[{{"resource":"scalers","responseKind":{{"group":"autoscaling","version":"{version}","kind":"Scaler"}},"scope":"Namespaced","verbs":["get","list"],"categories":["lifts"]}}]}}"#
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
        path if path.ends_with("/scalers") => StubResponse::Body(200, page(&["one"], "")),
        _ => good(request),
    }
}

#[test]
fn unversioned_kinds_are_read_in_the_version_most_rules_name() {
    let server = StubServer::start(scalers);
    let folder = Folder::new(&server);
    let first = folder.write("first.yaml", &policy("first", "[autoscaling/v1/Scaler]", ""));
    let second = folder.write("second.yaml", &policy("second", "[autoscaling/v2/Scaler]", ""));
    for asked in ["scalers", "scaler", "scalers.autoscaling", "lifts"] {
        let run = folder.run(&["diff", asked, "-p", &first, "-U", "9"]);
        assert_eq!(
            (run.code, run.changed(), run.messages()),
            (Some(1), vec!["Scaler/web/one"], vec![]),
            "{run:?}"
        );
        assert!(run.stdout.contains("apiVersion: autoscaling/v1\n"), "{run:?}");
    }
    let note = |read: &str, named: &str| {
        format!(
            "note[KYV518]: scalers.autoscaling are read once, as autoscaling/{read}: autoscaling/{named}/Scaler in a rule sees none \
             of them, and Kyverno would, converted"
        )
    };
    let run = folder.run(&["diff", "scalers", "-p", &first, "-p", &second]);
    assert_eq!((run.code, run.messages().first()), (Some(1), Some(&&*note("v2", "v1"))), "{run:?}");
    let run = folder.run(&["diff", "scalers.v2.autoscaling", "-p", &first]);
    assert_eq!((run.code, run.messages().first()), (Some(0), Some(&&*note("v2", "v1"))), "{run:?}");
    assert_eq!(folder.run(&["diff", "scalers.v2.autoscaling", "-p", &first, "--strict"]).code, Some(3));
}

#[test]
fn rules_for_another_version_are_reported() {
    let server = StubServer::start(scalers);
    let folder = Folder::new(&server);
    let first = folder.write("first.yaml", &policy("first", "[autoscaling/v1/Scaler]", ""));
    let both =
        folder.write("both.yaml", &policy("both", "[autoscaling/v1/Scaler, autoscaling/v2/Scaler]", ""));
    let manifest =
        folder.write("scaler.yaml", "apiVersion: autoscaling/v2\nkind: Scaler\nmetadata: {name: two}\n");
    let note = "note[KYV518]: autoscaling/v1/Scaler in a rule sees none of the manifests of Scaler (autoscaling/v2), and Kyverno \
                would, converted";
    let run = folder.run(&["diff", "-f", &manifest, "--live", "-p", &first]);
    assert!(run.code == Some(0) && run.messages().contains(&note), "{run:?}");
    let run = folder.run(&["diff", "-f", &manifest, "--live", "-p", &both]);
    assert!(run.code == Some(1) && !run.messages().contains(&note), "{run:?}");
}
