//! Addresses and credentials of a stub server.

use std::fs;
use std::path::Path;

use super::{Folder, discovery, ended, good, kubeconfig, policy, status};
use test_support::stub_server::{StubResponse, StubServer};

#[test]
fn hints_at_namespace_labels_fit_the_policy_source() {
    let server = StubServer::start(|request| match &*request.path {
        "/apis" => {
            let kyverno = r#"{"metadata":{"name":"kyverno.io"},"versions":[{"version":"v1","resources":[{"resource":"clusterpolicies","responseKind":{"group":"kyverno.io","version":"v1","kind":"ClusterPolicy"},"scope":"Cluster","verbs":["get","list"]}]}]}"#;
            let served = discovery("/apis", "").replace("\"items\":[", &format!("\"items\":[{kyverno},"));
            StubResponse::Body(200, served)
        }
        "/apis/kyverno.io/v1/clusterpolicies" => {
            StubResponse::Body(200, r#"{"metadata":{},"items":[]}"#.into())
        }
        _ => good(request),
    });
    let folder = Folder::new(&server);
    let selector = "exclude: {any: [{resources: {namespaceSelector: {matchLabels: {tier: back}}}}]}";
    let policy = folder.write("selector.yaml", &policy("selector", "[ConfigMap]", selector));
    let manifest = folder.write("one.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}");
    for (arguments, remedy) in [
        (&["--cluster-policies"][..], "(`--live` reads them from the cluster)"),
        (&[], "(set them with `--values` or a Namespace among the objects)"),
    ] {
        let run = folder.run(&[&["diff", "-p", &policy, "-f", &manifest], arguments].concat());
        assert!(run.code == Some(1) && run.stderr.contains(remedy), "{arguments:?} {run:?}");
    }
}

#[test]
fn connection_flags_and_kubeconfig_fields() {
    let server = StubServer::start(|request| {
        let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
        if request.path.starts_with("/api/v1/") {
            let who = [
                header("authorization"),
                header("impersonate-user"),
                header("impersonate-group"),
                header("impersonate-uid"),
                header("impersonate-extra-team"),
            ];
            return status(403, "Forbidden", &who.join("|"));
        }
        good(request)
    });
    let folder = Folder::new(&server);
    let told = |arguments: &[&str]| {
        let run = folder.diff(&[&["configmaps"], arguments].concat());
        assert_eq!(run.code, Some(4), "{run:?}");
        run.messages()[0].trim_start_matches("error[KYV503]: Error from server (Forbidden): ").to_owned()
    };
    assert_eq!(told(&[]), "Bearer hidden||||");
    assert_eq!(told(&["--token", "other"]), "Bearer other||||");
    let who = ["--as", "jane", "--as-group", "devs", "--as-uid", "7", "--as-user-extra", "team=a"];
    assert_eq!(told(&who), "Bearer hidden|jane|devs|7|a");
    let address = format!("http://{}", server.authority());
    let empty = folder.write("empty", "apiVersion: v1\nkind: Config\n");
    assert_eq!(told(&["--kubeconfig", &empty, "--server", &address, "--token", "t"]), "Bearer t||||");

    // Of several files the first that says something wins, and one may be missing.
    let first =
        folder.write("first", "apiVersion: v1\nkind: Config\nusers: [{name: x, user: {token: first}}]\n");
    let list = format!("/nonexistent:{first}:{}/kubeconfig", folder.0.path().display());
    let run = ended(
        folder.command(&["diff", "-p", "team.yaml", "configmaps"]).env("KUBECONFIG", &list).output().unwrap(),
    );
    assert!(run.stderr.contains("Bearer first|"), "{run:?}");

    // An exec credential plugin.
    let plugin = folder.write("plugin", "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"made\"}}'\n");
    set_executable(Path::new(&plugin));
    let exec = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, command: '{plugin}', interactiveMode: Never}}}}"
    );
    let config = folder.write("exec", &kubeconfig(&server.authority()).replace("{token: hidden}", &exec));
    assert_eq!(told(&["--kubeconfig", &config]), "Bearer made||||");
    assert_eq!(told(&["--kubeconfig", &config, "--token", "given"]), "Bearer given||||");

    for (arguments, words) in [
        (
            &["--context", "y"][..],
            "error[KYV501]: Error in configuration: context was not found for specified context: y",
        ),
        (&["--cluster", "y"], "error[KYV501]: no server found for cluster \"y\""),
        (&["--user", "y"], "error[KYV501]: auth info \"y\" does not exist"),
        (
            &["--as-group", "g"],
            "error[KYV004]: requesting uid, groups or user-extra without impersonating a user (--as)",
        ),
        (
            &["pod/a"],
            "error[KYV004]: there is no need to specify a resource type as a separate argument when passing arguments in resource/name form (e.g. 'kubectl get resource/<resource_name>' instead of 'kubectl get resource resource/<resource_name>'",
        ),
        (&["a", "-l", "x=y"], "error[KYV004]: name cannot be provided when a selector is specified"),
        (
            &["a", "--field-selector", "x=y"],
            "error[KYV004]: name cannot be provided when a selector is specified",
        ),
    ] {
        let run = folder.diff(&[&["configmaps"], arguments].concat());
        assert_eq!((run.code, run.messages(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    }
    let run = folder.diff(&["configmaps", "--request-timeout", "soon"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("Invalid timeout value."), "{run:?}");
}

#[test]
fn no_request_without_a_kubeconfig() {
    let server = StubServer::start(good);
    let folder = Folder::new(&server);
    let mut command = folder.command(&["diff", "-p", "team.yaml", "configmaps"]);
    let run = ended(command.env_remove("KUBECONFIG").env("HOME", folder.0.path()).output().unwrap());
    let words = "error[KYV501]: kubeconfig: there is none where KUBECONFIG or the home folder should have it";
    assert_eq!((run.code, run.messages(), &*run.stdout), (Some(2), vec![words], ""), "{run:?}");
    assert_eq!(server.requests(), [""; 0]);
}

#[cfg(unix)]
fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[cfg(not(unix))]
fn set_executable(_: &Path) {}
