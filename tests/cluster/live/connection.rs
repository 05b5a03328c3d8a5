//! Addresses, credentials, proxies and certificates of a real API server.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;

use super::proxy::tunnel;
use super::{Policies, Run, changed_objects, ended, kyv, server_with_objects};
use test_support::api_server::ApiServer;

/// Runs the program with this environment and no other.
fn reach(variables: &[(&str, &str)], arguments: &[&str]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    command.args(arguments).env_clear().envs(variables.iter().copied()).stdin(Stdio::null());
    ended(command.output().expect("the program starts"))
}

/// A file's text without the line break at its end.
fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("it can be read").trim().to_owned()
}

/// The token of a user of the test cluster.
fn token_in(kubeconfig: &Path) -> String {
    let text = text(kubeconfig);
    let (_, rest) = text.split_once("token: ").expect("there is a token");
    rest.split(['}', '\n']).next().expect("a token").to_owned()
}

/// A folder as a Pod finds it, of a service account that may read `ConfigMaps` in its namespace.
fn account(server: &ApiServer) -> tempfile::TempDir {
    server.kubectl_ok(&["create", "serviceaccount", "reader", "-n", "web"], "");
    let rights = ["create", "role", "reader", "-n", "web", "--verb=get,list", "--resource=configmaps"];
    server.kubectl_ok(&rights, "");
    let binding =
        ["create", "rolebinding", "reader", "-n", "web", "--role=reader", "--serviceaccount=web:reader"];
    server.kubectl_ok(&binding, "");
    let token = server.kubectl_ok(&["create", "token", "reader", "-n", "web"], "");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = server.kubeconfig().with_file_name("certs/apiserver.crt");
    fs::copy(authority, folder.path().join("ca.crt")).expect("it can be copied");
    // With the line end that an editor leaves.
    fs::write(folder.path().join("token"), format!("{}\n", token.trim())).expect("the folder takes files");
    fs::write(folder.path().join("namespace"), "web").expect("the folder takes files");
    folder
}

#[test]
fn in_cluster_configuration_is_used() {
    if test_support::skip_without_real_programs("the service account of a Pod") {
        return;
    }
    let server = server_with_objects();
    let folder = account(&server);
    let policies = Policies::new();
    let team = policies.argument("team");
    let home = policies.0.path().display().to_string();
    let (host, port) =
        server.address().trim_start_matches("https://").rsplit_once(':').expect("an address with a port");
    let path = folder.path().display().to_string();
    let pod = [
        ("KUBERNETES_SERVICE_HOST", host),
        ("KUBERNETES_SERVICE_PORT", port),
        ("KYV_SERVICE_ACCOUNT", &*path),
        ("HOME", &*home),
    ];
    let diff = ["diff", "cm", "-p", &team];
    let run = reach(&pod, &diff);
    assert_eq!(
        (run.code, changed_objects(&run.stdout).len()),
        (Some(1), 5),
        "the namespace is that of the Pod: {run:?}"
    );

    let admin = token_in(server.kubeconfig());
    let refused = |user: &str, namespace: &str| {
        format!(
            "error[KYV503]: Error from server (Forbidden): configmaps is forbidden: User \"{user}\" cannot list resource \
             \"configmaps\" in API group \"\" in the namespace \"{namespace}\""
        )
    };
    let reader = "system:serviceaccount:web:reader";
    for (variables, arguments, code, words) in [
        (&[][..], &["-n", "back"][..], 4, refused(reader, "back")),
        (&[("POD_NAMESPACE", "back")], &[], 4, refused(reader, "back")),
        (&[], &["-n", "back", "--token", &*admin], 1, String::new()),
        (&[], &["--token", &admin, "--as", "jane"], 4, refused("jane", "web")),
        (&[], &["--tls-server-name", "nobody"], 4, "certificate not valid for name \"nobody\"".to_owned()),
        (&[], &["--tls-server-name", "nobody", "--insecure-skip-tls-verify"], 1, String::new()),
        (&[], &["--context", "x"], 2, "context was not found for specified context: x".to_owned()),
        (&[("KUBERNETES_SERVICE_PORT", "")], &[], 2, "there is none where KUBECONFIG".to_owned()),
        (&[("KYV_SERVICE_ACCOUNT", "/nonexistent")], &[], 2, "there is none where KUBECONFIG".to_owned()),
    ] {
        let run = reach(&[&pod[..], variables].concat(), &[&diff[..], arguments].concat());
        assert!(run.code == Some(code) && run.stderr.contains(&words), "{variables:?} {arguments:?} {run:?}");
    }

    // A kubeconfig that says something wins; one that says nothing does not.
    let other = server.kubeconfig_without_rights().display().to_string();
    let run = reach(&[&pod[..], &[("KUBECONFIG", &other)]].concat(), &diff);
    assert!(run.code == Some(4) && run.stderr.contains("\"nobody-special\""), "{run:?}");
    fs::write(policies.path("empty"), "apiVersion: v1\nkind: Config\n").expect("the folder takes files");
    let run = reach(&[&pod[..], &[("KUBECONFIG", &policies.argument("empty"))]].concat(), &diff);
    assert_eq!(run.code, Some(1), "{run:?}");

    // Who is believed is decided by the account's own file.
    fs::write(
        folder.path().join("ca.crt"),
        text(ApiServer::start().kubeconfig().with_file_name("certs/apiserver.crt")),
    )
    .expect("the folder takes files");
    let run = reach(&pod, &diff);
    let words = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert!(run.code == Some(4) && run.stderr.contains(words), "{run:?}");
    fs::remove_file(folder.path().join("ca.crt")).expect("it is there");
    let run = reach(&pod, &diff);
    assert!(run.code == Some(2) && run.stderr.contains("ca.crt"), "{run:?}");
}

#[cfg(unix)]
#[test]
fn kubeconfig_errors_match_kubectl() {
    use std::os::unix::fs::PermissionsExt as _;
    if test_support::skip_without_real_programs("faults of kubeconfigs") {
        return;
    }
    let server = ApiServer::start();
    let policies = Policies::new();
    let folder = policies.0.path();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("the folder takes files");
    fs::copy(server.kubeconfig().with_file_name("certs/apiserver.crt"), folder.join("ca.crt"))
        .expect("it can be copied");
    let admin = token_in(server.kubeconfig());
    write("plugin", "#!/bin/sh\ncat \"$(dirname \"$0\")/answer\"\nexit $1\n");
    fs::set_permissions(folder.join("plugin"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    write("text", "no certificate");
    let exec = |command: &str, code: u8, rest: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: {command}, args: ['{code}']{rest}}}"
        )
    };
    let path = |name: &str| folder.join(name).display().to_string();
    let (plugin, text) = (exec("./plugin", 0, ""), path("text"));
    let by = |status: &str| {
        format!(
            r#"{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{{{status}}}}}"#
        )
    };
    let token = |token: &str| by(&format!(r#""token":"{token}""#));
    let old = token("x").replace("/v1", "/v1beta1");
    for (user, answer, arguments, code) in [
        (&plugin, token(&format!("{admin}\\n")), &[][..], 4),
        (&plugin, token("a\\nb"), &[], 4),
        (&plugin, token("a\\u0001"), &[], 4),
        (&plugin, token(""), &[], 2),
        (&plugin, by(r#""token":"x","clientKeyData":"y""#), &[], 2),
        (&plugin, old, &[], 2),
        (&exec("./plugin", 3, ""), token("x"), &[], 2),
        (&exec("no-such-program", 0, ""), String::new(), &[], 2),
        (&exec("no-such-program", 0, ", installHint: 'brew install it'"), String::new(), &[], 2),
        (&exec("./no-such-program", 0, ""), String::new(), &[], 2),
        (&exec("./text", 0, ""), String::new(), &[], 2),
        (&exec("./plugin", 0, "").replace("Never", "Always"), token("x"), &[], 2),
        (&format!("token: {admin}"), String::new(), &["--certificate-authority", "/nonexistent.crt"], 2),
        (
            &format!("token: {admin}"),
            String::new(),
            &["--client-certificate", "/nonexistent.crt", "--client-key", &text],
            2,
        ),
        (
            &format!("token: {admin}"),
            String::new(),
            &["--client-certificate", &text, "--client-key", "/nonexistent.key"],
            2,
        ),
    ] {
        write("answer", &answer);
        write(
            "config",
            &format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{certificate-authority: ca.crt, server: '{}'}}}}]\n\
                 contexts: [{{name: x, context: {{cluster: x, user: u}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n",
                server.address(),
            ),
        );
        let config = path("config");
        let run = reach(
            &[("KUBECONFIG", &config), ("PATH", "/usr/bin:/bin")],
            &[&["diff", "cm", "-n", "default", "-p", &policies.argument("team")], arguments].concat(),
        );
        let kubectl = Command::new(server.kubectl())
            .args(["get", "cm", "-n", "default"])
            .args(arguments)
            .env_clear()
            .env("KUBECONFIG", &config)
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null())
            .output()
            .expect("kubectl starts");
        let kubectl = ended(kubectl);
        // kubectl sends several requests and logs them.
        let is_log = |line: &&str| {
            line.starts_with('E') && !line.starts_with("Error") || line.starts_with('\t') || *line == " >"
        };
        let words: Vec<&str> = kubectl.stderr.lines().filter(|line| !is_log(line)).collect();
        let said = super::without_codes(run.stderr.trim_end());
        assert_eq!(
            (run.code, &*run.stdout, &*said),
            (Some(code), "", words.join("\n").trim_end()),
            "{user} {answer} {arguments:?}"
        );
    }
    // Both name a file without a certificate, in their own words.
    let text = reach(
        &[("KUBECONFIG", &server.kubeconfig().display().to_string())],
        &["diff", "cm", "-p", &policies.argument("team"), "--certificate-authority", &text],
    );
    assert_eq!(text.code, Some(2), "{text:?}");
    assert!(text.stderr.contains("unable to load root certificates"), "{text:?}");
}

#[cfg(unix)]
#[test]
fn kubeconfig_users_and_impersonation() {
    use std::os::unix::fs::PermissionsExt as _;
    if test_support::skip_without_real_programs("users of kubeconfigs") {
        return;
    }
    let server = ApiServer::start();
    let policies = Policies::new();
    let team = policies.argument("team");
    let folder = policies.0.path();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).expect("the folder takes files");
    let (admin, nobody) = (token_in(server.kubeconfig()), token_in(server.kubeconfig_without_rights()));
    fs::copy(server.kubeconfig().with_file_name("certs/apiserver.crt"), folder.join("ca.crt"))
        .expect("it can be copied");
    write("token", &nobody);
    write(
        "plugin",
        "#!/bin/sh\n[ \"$1\" = fail ] && { echo 'no luck' >&2; echo \"$TOKEN\"; exit 3; }\n\
         [ \"$1\" = odd ] && { echo 'nothing fit'; exit 0; }\n\
         case \"$KUBERNETES_EXEC_INFO\" in *\"$1\"*) ;; *) echo \"$KUBERNETES_EXEC_INFO\" >&2; exit 4;; esac\n\
         printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%s\"}}' \"$TOKEN\"\n",
    );
    fs::set_permissions(folder.join("plugin"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let exec = |argument: &str, rest: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: ./plugin, args: [{argument}], \
             interactiveMode: Never, env: [{{name: TOKEN, value: {nobody}}}]{rest}}}"
        )
    };
    let as_user = |user: &str| format!("User \"{user}\" cannot list resource \"configmaps\"");
    let refused = |name: &str| as_user(name);
    for (user, cluster, arguments, code, words) in [
        (format!("token: {nobody}"), "", &[][..], 4, refused("nobody-special")),
        ("tokenFile: token".to_owned(), "", &[], 4, refused("nobody-special")),
        (format!("tokenFile: token, token: {admin}"), "", &[], 4, refused("nobody-special")),
        (format!("token: {admin}, as: jane, as-groups: [devs]"), "", &[], 4, refused("jane")),
        (format!("token: {admin}, as: jane"), "", &["--as", "bob"], 4, refused("bob")),
        (format!("token: {admin}"), "", &["--as", "bob", "--as-group", "system:masters"], 0, String::new()),
        (format!("token: {admin}"), "", &["--as-group", "system:masters"], 2, "without impersonating a user".to_owned()),
        (format!("token: {nobody}"), "", &["--token", &*admin], 0, String::new()),
        (exec("v1", ""), "", &[], 4, refused("nobody-special")),
        (
            exec("certificate-authority-data", ", provideClusterInfo: true"),
            "",
            &[],
            4,
            refused("nobody-special"),
        ),
        (exec("fail", ""), "", &[], 2, "no luck\nerror[KYV502]: Unable to connect to the server: getting credentials: exec: executable ".to_owned()),
        (exec("odd", ""), "", &[], 2, "getting credentials: decoding stdout: ".to_owned()),
        (format!("token: {admin}"), "", &["--client-certificate", "/nonexistent.crt", "--client-key", "/nonexistent.key"], 2, "/nonexistent.crt".to_owned()),
        (format!("token: {admin}"), "", &["--certificate-authority", "/nonexistent.crt"], 2, "/nonexistent.crt".to_owned()),
        ("exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-program, interactiveMode: Never}".to_owned(), "", &[], 2, "getting credentials: exec: executable no-such-program not found".to_owned()),
        (exec("fail", ""), "", &["--token", &admin], 0, String::new()),
        (format!("token: {admin}"), "tls-server-name: kubernetes", &[], 0, String::new()),
        (format!("token: {admin}"), "tls-server-name: nobody", &[], 4, "certificate not valid for name \"nobody\"".to_owned()),
        (format!("token: {admin}"), "tls-server-name: nobody", &["--tls-server-name", "kubernetes"], 0, String::new()),
        (format!("token: {admin}"), "insecure-skip-tls-verify: true, tls-server-name: nobody", &[], 0, String::new()),
        (format!("token: {admin}"), "proxy-url: 'http://127.0.0.1:1'", &[], 4, "127.0.0.1".to_owned()),
    ] {
        let authority = if cluster.contains("insecure") { "" } else { "certificate-authority: ca.crt, " };
        write(
            "config",
            &format!(
                "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{{authority}server: '{}'{}{cluster}}}}}]\n\
                 contexts: [{{name: x, context: {{cluster: x, user: x}}}}]\nusers: [{{name: x, user: {{{user}}}}}]\n",
                server.address(),
                if cluster.is_empty() { "" } else { ", " },
            ),
        );
        let config = folder.join("config").display().to_string();
        let diff = ["diff", "cm", "-p", &team];
        let run = reach(&[("KUBECONFIG", &config)], &[&diff[..], arguments].concat());
        let shown = user.replace(&admin, "ADMIN").replace(&nobody, "NOBODY");
        // The `default` namespace of an empty server has nothing to change.
        let code = if code == 0 { [0, 1] } else { [code, code] };
        assert!(
            code.contains(&run.code.unwrap_or(-1)) && run.stderr.contains(&words),
            "{shown} {cluster} {arguments:?}: expected {words}: {run:?}"
        );
        assert!(!run.stderr.contains(&admin) && !run.stderr.contains(&nobody), "{shown}: {run:?}");
    }

    // Of several files each adds what those before it do not say: the user comes from the second one.
    let (first, second) = (folder.join("first"), folder.join("second"));
    write(
        "first",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{certificate-authority: ca.crt, server: '{}'}}}}]\n\
             contexts: [{{name: x, context: {{cluster: x, user: far}}}}]\n",
            server.address()
        ),
    );
    write(
        "second",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: y\nclusters: [{{name: x, cluster: {{server: 'https://127.0.0.1:1'}}}}]\n\
             users: [{{name: far, user: {{token: {nobody}}}}}]\n"
        ),
    );
    let list =
        std::env::join_paths([Path::new("/nonexistent/config"), &first, &second]).expect("plain paths");
    let list = list.to_str().expect("plain paths");
    let run = reach(&[("KUBECONFIG", list)], &["diff", "cm", "-p", &team]);
    assert!(run.code == Some(4) && run.stderr.contains(&refused("nobody-special")), "{run:?}");
}

#[test]
fn tls_tokens_and_proxies() {
    if test_support::skip_without_real_programs("the connection to a real API server") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let team = policies.argument("team");
    let run =
        |more: &[&str]| kyv(server.kubeconfig(), &[&["diff", "cm", "-n", "web", "-p", &team], more].concat());

    let other = ApiServer::start();
    let authority = other.kubeconfig().with_file_name("certs/apiserver.crt");
    let authority = authority.to_str().expect("a plain path");
    for (arguments, words) in [
        (
            &["--certificate-authority", authority][..],
            "error[KYV504]: Unable to connect to the server: tls: failed to verify certificate: x509: certificate signed by unknown authority",
        ),
        (
            &["--token", "two\nlines"],
            "error[KYV504]: Unable to connect to the server: net/http: invalid header field value for \"Authorization\"",
        ),
        (&["--token", "expired"], "error[KYV502]: You must be logged in to the server (Unauthorized)"),
    ] {
        let refused = run(arguments);
        assert_eq!(
            (refused.code, refused.stderr.trim(), &*refused.stdout),
            (Some(4), words, ""),
            "{refused:?}"
        );
        let kubectl = server.kubectl_with(&[&["get", "cm"], arguments].concat(), "");
        let told = String::from_utf8_lossy(&kubectl.stderr);
        assert!(told.trim().ends_with(&super::without_codes(words)), "{told}");
    }
    let refused = run(&["--tls-server-name", "foo"]);
    let words = "error[KYV504]: Unable to connect to the server: tls: failed to verify certificate: certificate not valid for name \"foo\"";
    assert!(refused.code == Some(4) && refused.stderr.starts_with(words), "{refused:?}");
    assert_eq!(run(&["--tls-server-name", "kubernetes"]).code, Some(1));
    assert_eq!(run(&["--tls-server-name", "foo", "--insecure-skip-tls-verify"]).code, Some(1));

    let (proxy, connections) = tunnel();
    let text = fs::read_to_string(server.kubeconfig()).expect("it can be read");
    let text = text.replace("    server:", &format!("    proxy-url: http://{proxy}\n    server:"));
    let kubeconfig = policies.path("proxied");
    fs::write(&kubeconfig, text).expect("the folder takes files");
    let through = kyv(&kubeconfig, &["diff", "cm", "-n", "web", "-p", &team]);
    assert_eq!((through.code, changed_objects(&through.stdout).len()), (Some(1), 5), "{through:?}");
    assert!(connections.load(Ordering::SeqCst) > 0);
}

#[test]
fn unreachable_servers_are_named() {
    let policies = Policies::new();
    let kubeconfig = policies.path("kubeconfig");
    fs::write(
        &kubeconfig,
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: x, cluster: {server: 'https://127.0.0.1:1'}}]\n\
         contexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {token: hidden-token}}]\n",
    )
    .expect("the folder takes files");
    let team = policies.argument("team");

    let run = kyv(&kubeconfig, &["diff", "cm", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    let words = "error[KYV504]: The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?";
    assert!(run.stderr.contains(words), "{run:?}");
    assert!(!run.stderr.contains("hidden-token"), "{run:?}");

    let run = kyv(&kubeconfig, &["diff", "cm", "-p", &team, "--context", "y"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(
        run.stderr.contains(
            "error[KYV501]: Error in configuration: context was not found for specified context: y"
        ),
        "{run:?}"
    );

    let run = kyv(&policies.path("missing"), &["diff", "cm", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("missing.yaml"), "{run:?}");
}

/// A kubeconfig for a server, with the fields of its user.
fn config(server: &ApiServer, folder: &Path, user: &str) -> String {
    let authority = server.kubeconfig().with_file_name("certs/apiserver.crt");
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{{name: x, cluster: {{certificate-authority: {}, server: '{}'}}}}]\n\
         contexts: [{{name: x, context: {{cluster: x, user: x}}}}]\nusers: [{{name: x, user: {{{user}}}}}]\n",
        authority.display(),
        server.address(),
    );
    let path = folder.join("config");
    fs::write(&path, text).expect("the folder takes files");
    path.display().to_string()
}

#[test]
fn client_certificates_authenticate() {
    if test_support::skip_without_real_programs("certificates of clients") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let folder = policies.0.path();
    let (certificate, key) = server.client_certificate();
    fs::copy(certificate, folder.join("client.crt")).expect("it can be copied");
    fs::copy(key, folder.join("client.key")).expect("it can be copied");
    let (certificate, key) = (certificate.display().to_string(), key.display().to_string());
    let own = |name: &str| {
        server.kubeconfig().with_file_name(format!("certs/apiserver.{name}")).display().to_string()
    };
    let (other, other_key) = (own("crt"), own("key"));
    let team = policies.argument("team");
    let admin = token_in(server.kubeconfig());
    let flags = ["--client-certificate", &*certificate, "--client-key", &*key];
    let files = "client-certificate: client.crt, client-key: client.key";
    let embedded = || {
        let path = config(&server, folder, "");
        let embed = ["config", "set-credentials", "x", "--embed-certs=true", "--kubeconfig", &path];
        server.kubectl_ok(&[&embed[..], &flags].concat(), "");
        let text = text(&path);
        assert!(text.contains("client-certificate-data:") && text.contains("client-key-data:"), "{text}");
        path
    };
    // With kubectl's flags, without rights and with them.
    for has_rights in [false, true] {
        if has_rights {
            server.kubectl_ok(&["create", "clusterrole", "maps", "--verb=list", "--resource=configmaps"], "");
            let group = "--group=certified-ones";
            server
                .kubectl_ok(&["create", "rolebinding", "maps", "-n", "web", "--clusterrole=maps", group], "");
        }
        for (user, arguments, is_certified) in [
            (Some(String::new()), &flags[..], true),
            (Some(files.to_owned()), &[], true),
            (None, &[], true),
            // Of two ways to be known the certificate is the first one that a server looks at.
            (Some(format!("token: {admin}")), &flags, true),
            (Some(files.to_owned()), &["--token", &admin], true),
            (Some(String::new()), &["--client-certificate", &other, "--client-key", &other_key], false),
        ] {
            let path = user.as_ref().map_or_else(embedded, |user| config(&server, folder, user));
            let diff = [&["diff", "cm", "-n", "web", "-p", &team][..], arguments].concat();
            let run = reach(&[("KUBECONFIG", &path)], &diff);
            let list =
                [&["--kubeconfig", &path, "get", "cm", "-n", "web", "-o", "name"][..], arguments].concat();
            let kubectl = server.kubectl_with(&list, "");
            let words = String::from_utf8_lossy(&kubectl.stderr).trim().to_owned();
            let shown = user.as_deref().unwrap_or("embedded").replace(&admin, "ADMIN");
            if has_rights && is_certified {
                assert!(kubectl.status.success(), "{shown} {words}");
                assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 5), "{shown} {run:?}");
            } else {
                assert_eq!(run.code, Some(4), "{shown} {run:?}");
                assert_eq!(
                    super::without_codes(&run.stderr).lines().next(),
                    Some(&*words),
                    "{shown} {run:?}"
                );
                assert_eq!(words.contains("User \"certified\" cannot list"), is_certified, "{words}");
            }
        }
    }
    // What is no pair is no way to be known.
    let path = config(&server, folder, "");
    for arguments in [
        &["--client-certificate", &*certificate][..],
        &["--client-key", &*key],
        &["--client-certificate", &certificate, "--client-key", &other_key],
        &["--client-certificate", &key, "--client-key", &key],
    ] {
        let run =
            reach(&[("KUBECONFIG", &path)], &[&["diff", "cm", "-n", "web", "-p", &team], arguments].concat());
        let kubectl = server
            .kubectl_with(&[&["--kubeconfig", &path, "get", "cm", "-n", "web"], arguments].concat(), "");
        let words = String::from_utf8_lossy(&kubectl.stderr).into_owned();
        assert!(!kubectl.status.success(), "{arguments:?}");
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(2), ""),
            "{arguments:?} {run:?} where kubectl says {words}"
        );
        assert!(!run.stderr.contains("PRIVATE KEY"), "{run:?}");
    }
}
