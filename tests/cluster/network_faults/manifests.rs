//! Manifests evaluated with lookups in a cluster.

use std::time::{Duration, Instant};

use super::{ALL, Folder, good, kubeconfig, policy, status};
use test_support::stub_server::{StubRequest, StubResponse, StubServer};

#[test]
fn equal_lookups_are_sent_once_and_denials_are_rule_errors() {
    let context = |path: &str| {
        format!(
            "context: [{{name: found, apiCall: {{urlPath: '{path}'}}}}]\n    preconditions: {{all: [{{key: '{{{{ found.metadata.name }}}}', operator: Equals, value: shared}}]}}"
        )
    };
    let server = StubServer::start(|request| match &*request.path {
        "/api/v1/namespaces/web/configmaps/shared" => {
            StubResponse::Body(200, r#"{"kind":"ConfigMap","metadata":{"name":"shared"}}"#.into())
        }
        "/api/v1/nodes" => status(
            403,
            "Forbidden",
            "nodes is forbidden: User \"x\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let shared = folder.write(
        "shared.yaml",
        &policy(
            "shared",
            "[ConfigMap]",
            &context("/api/v1/namespaces/{{ request.namespace }}/configmaps/shared"),
        ),
    );
    let run = folder.run(&["diff", "-p", &shared, "configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(1), ALL.to_vec()), "{run:?}");
    assert_eq!(server.requests().iter().filter(|path| path.ends_with("/shared")).count(), 1);

    let nodes = folder.write("nodes.yaml", &policy("nodes", "[ConfigMap]", &context("/api/v1/nodes")));
    let run = folder.run(&["diff", "-p", &nodes, "configmaps"]);
    assert_eq!((run.code, run.changed()), (Some(4), vec![]), "{run:?}");
    let words = "GET /api/v1/nodes: nodes is forbidden: User \"x\" cannot list resource \"nodes\"";
    let is_grouped = run.stderr.starts_with("error[KYV309]: ")
        && run.stderr.contains("\n  on 3 objects, first: ConfigMap/web/a (cluster)\n")
        && run.stderr.matches(words).count() == 1;
    assert!(is_grouped, "{run:?}");
    assert_eq!(server.requests().iter().filter(|path| path.ends_with("/nodes")).count(), 1);

    // Offline nothing is sent.
    let before = server.requests().len();
    let manifest = folder.write("cm.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}");
    assert_eq!(folder.run(&["diff", "-p", &nodes, "-f", &manifest]).code, Some(3));
    assert_eq!(server.requests().len(), before);
    // A Pod's inside is no place to look things up.
    let exec = folder.write(
        "exec.yaml",
        &policy("exec", "[ConfigMap]", &context("/api/v1/namespaces/web/pods/p/exec?command=sh")),
    );
    let run = folder.run(&["diff", "-p", &exec, "-f", &manifest, "--live"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("calls through the API server to something else are never sent"), "{run:?}");
    assert!(!server.requests().iter().any(|path| path.contains("exec")));
}

#[test]
fn a_silent_server_is_waited_for_once() {
    let is_discovery = |request: &StubRequest| matches!(&*request.path, "/api" | "/apis");
    let server = StubServer::start(
        move |request| if is_discovery(request) { good(request) } else { StubResponse::Hang },
    );
    let folder = Folder::new(&server);
    let many: String = (0..60)
        .map(|number| format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{number}}}}}\n"))
        .collect();
    let manifests = folder.write("many.yaml", &many);
    let started = Instant::now();
    let run = folder.diff(&["-f", &manifests, "--live", "--request-timeout=1s"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    let edited = run.stdout.lines().filter(|line| line.starts_with('+') && line.contains("name: c"));
    assert_eq!((run.code, edited.count()), (Some(4), 60), "{run:?}");
    assert_eq!(
        run.messages(),
        [
            "error[KYV504]: Unable to connect to the server: it did not respond several times in a row, and gets no more requests",
            "error[KYV504]: Unable to connect to the server: no response within 1s (--request-timeout sets another limit)",
            "error[KYV513]: the result is incomplete: not looked up: configmaps \"c0\" in web, configmaps \"c1\" in web, \
             configmaps \"c10\" in web, configmaps \"c11\" in web, configmaps \"c12\" in web, \
             configmaps \"c13\" in web, configmaps \"c14\" in web, configmaps \"c15\" in web, \
             configmaps \"c16\" in web, configmaps \"c17\" in web and 50 more",
        ],
        "{run:?}"
    );

    // A server that tells nothing at all makes no context.
    let server = StubServer::start(|_| status(503, "ServiceUnavailable", "down"));
    folder.write("kubeconfig", &kubeconfig(&server.authority()));
    let run = folder.diff(&["-f", &manifests, "--live"]);
    let words = "error[KYV503]: Error from server (ServiceUnavailable): down";
    assert_eq!((run.code, run.messages(), &*run.stdout), (Some(4), vec![words], ""), "{run:?}");
}

#[test]
fn manifests_without_namespace_use_the_context() {
    let server = StubServer::start(|request| match &*request.path {
        path if path.ends_with("/configmaps/one") => {
            let namespace = path.split('/').nth(4).unwrap_or_default();
            let was = format!(
                r#"{{"metadata":{{"name":"one","namespace":"{namespace}"}},"data":{{"was":"in-{namespace}"}}}}"#
            );
            StubResponse::Body(200, was)
        }
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    let labels =
        "old: \"{{ request.oldObject.data.was || 'none' }}\", namespace: \"{{ request.namespace }}\"";
    let text = policy("old", "[ConfigMap]", "").replace("team: a", labels);
    let policy = folder.write("old.yaml", &text);
    for (arguments, old, namespace) in [
        (&["--live"][..], "in-web", "web"),
        (&["--live", "-n", ""], "in-web", "web"),
        (&["--live", "-n", "back"], "in-back", "back"),
        (&["-n", "back"], "none", "back"),
        (&["-A", "-A=false", "-R=false"], "none", "default"),
        (&[], "none", "default"),
    ] {
        let run = folder.run(&[&["diff", "-p", &policy, "-f", &manifest], arguments].concat());
        assert_eq!(run.code, Some(1), "{run:?}");
        let told = run.stdout.contains(&format!("old: {old}"))
            && run.stdout.contains(&format!("namespace: {namespace}"));
        assert!(told, "{arguments:?} {run:?}");
    }
}

#[test]
fn all_namespaces_is_refused_for_manifests() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    let run = folder.diff(&["-f", &manifest, "-A"]);
    let words = "error[KYV004]: -A selects live objects; a manifest names its namespace itself";
    assert_eq!((run.code, run.messages(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    assert_eq!(server.requests(), [""; 0]);
}

#[test]
fn kinds_defined_in_manifests_are_known() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gears.example.com}\n\
                      spec: {group: example.com, scope: Namespaced, names: {kind: Gear, plural: gears}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n";
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let gear = "{apiVersion: example.com/v1, kind: Gear, metadata: {name: g}}\n";
    let knob = "{apiVersion: example.com/v1, kind: Knob, metadata: {name: k}}\n";
    let both = folder.write("both.yaml", &format!("{gear}---\n{knob}---\n{definition}"));
    let crd = folder.write("crd.yaml", definition);
    let unserved = |kinds: &str| {
        format!(
            "note[KYV517]: the cluster has no kind {kinds}: such objects are evaluated as new ones, and for custom kinds only --crds says how their lists merge"
        )
    };
    let told = |arguments: &[&str]| -> Vec<String> {
        let run = folder.diff(&[&["-f", &both, "--live"], arguments].concat());
        run.messages().into_iter().filter(|line| line.contains("example.com/v1")).map(str::to_owned).collect()
    };
    let defined = "note[KYV408]: the manifests define Gear (example.com/v1): pass the definition with --crds, too, if lists of such objects merge by keys";
    let knobs = "CustomResourceDefinition (apiextensions.k8s.io/v1), Knob (example.com/v1)";
    assert_eq!(told(&[]), [&*unserved(knobs), defined]);
    assert_eq!(told(&["--crds", &crd]), [unserved(knobs)]);
}
