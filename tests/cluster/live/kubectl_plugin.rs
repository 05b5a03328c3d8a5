//! The plugin of a real kubectl.

use std::process::Command;

use super::{Policies, changed_objects, server_with_objects};

#[cfg(unix)]
#[test]
fn kubectl_runs_and_completes_the_plugin() {
    if test_support::skip_without_real_programs("the plugin of a real kubectl") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    for name in ["kubectl-kyv", "kubectl_complete-kyv"] {
        let link = policies.0.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kubectl-kyv"), link).expect("a link");
    }
    let kubectl = |arguments: &[&str]| {
        let output = Command::new(server.kubectl())
            .args(arguments)
            .env_clear()
            .env("PATH", policies.0.path())
            .env("KUBECONFIG", server.kubeconfig())
            .output()
            .expect("kubectl starts");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, stdout) = kubectl(&["kyv", "diff", "cm", "-n", "web", "-p", &policies.argument("team")]);
    assert_eq!((code, changed_objects(&stdout).len()), (Some(1), 5), "{stdout}");

    let kubeconfig = server.kubeconfig().display().to_string();
    for (words, expected, directive) in [
        (&["di"][..], &["diff"][..], ":4"),
        (&["diff", "depl"], &["deployments"], ":4"),
        (&["diff", "cm,depl"], &["cm,deployments"], ":4"),
        (&["diff", "deploy", "-n", "web", ""], &["site"], ":4"),
        (&["diff", "-n", "web", "cm", "a", "b", ""], &["c", "d", "e"], ":4"),
        (&["diff", "-n=web", "deploy/"], &["deploy/site"], ":4"),
        (&["diff", "cm", "-n", "we"], &["web"], ":4"),
        (&["diff", "cm", "--namespace=we"], &["--namespace=web"], ":4"),
        (&["diff", "--context", ""], &["test"], ":4"),
        (&["diff", "--user", ""], &["admin"], ":4"),
        (&["diff", "--kubeconfig", &kubeconfig, "--cluster", ""], &["test"], ":4"),
        (&["diff", "-o", "su"], &["summary"], ":4"),
        (&["diff", "--context", "nosuch", "cm", ""], &[], ":4"),
        (&["diff", "-p", ""], &[], ":0"),
    ] {
        let (code, stdout) = kubectl(&[&["__complete", "kyv"], words].concat());
        let mut lines: Vec<&str> = stdout.lines().collect();
        assert_eq!((code, lines.pop()), (Some(0), Some(directive)), "{words:?} {stdout}");
        lines.retain(|line| *line != "kube-root-ca.crt");
        assert_eq!(lines, expected, "{words:?}");
    }
    let (_, namespaces) = kubectl(&["__complete", "kyv", "diff", "-n", ""]);
    for namespace in ["back", "default", "kube-system", "web"] {
        assert!(namespaces.lines().any(|line| line == namespace), "{namespaces}");
    }
}
