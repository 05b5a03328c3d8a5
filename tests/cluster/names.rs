//! The names of objects, and what the cluster refuses, in kubectl's grammar and words.

use super::{Policies, asked, changed, filled, kyv, rig};

#[test]
fn what_the_cluster_refuses_is_told_in_kubectls_words() {
    if rig::left_out("the cluster's refusals") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let team = policies.argument("team");

    // Whom nothing is granted.
    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "configmaps", "-n", "web", "-p", &team]);
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    let kubeconfig = server.kubeconfig_without_rights().to_str().expect("a plain path");
    let kubectl = server.kubectl_with(&["--kubeconfig", kubeconfig, "get", "configmaps", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(words.contains("(Forbidden)"), "{words}");
    assert!(refused.stderr.contains(words.trim()), "{refused:?} does not say {words}");

    // What is not there, beside what is.
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "a", "nope", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(4), vec!["ConfigMap/web/a"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "configmap", "nope", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(run.stderr.contains(words.trim()), "{run:?} does not say {words}");

    let run = kyv(admin, &["diff", "cm,widgets", "-n", "back", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(4), vec!["ConfigMap/back/z"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "widgets"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(run.stderr.contains(words.trim()), "{run:?} does not say {words}");

    // Labels of namespaces that cannot be read, though a policy asks for them.
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "rolebinding", "reader", "-n", "web", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let other = server.kubeconfig_without_rights();
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &policies.argument("front")]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    assert!(run.stderr.contains("Error from server (Forbidden): namespaces \"web\" is forbidden"), "{run:?}");
    // A policy that does not ask for them needs no such right.
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 5), "{run:?}");
}

/// Arguments that name objects; each is put to kubectl, too.
const NAMED: [&[&str]; 24] = [
    &["configmaps", "nope", "-n", "web"],
    &["cm/nope", "-n", "web"],
    &["pods,svc", "nope"],
    &["ns", "nope"],
    &["nosuch"],
    &["nosuch/a"],
    &["widgets.foo"],
    &["widgets.v1.foo"],
    &["pods.apps"],
    &["pods,"],
    &["all", "a"],
    &["pod/a", "svc"],
    &["pods", "svc/a"],
    &["pod/a,svc/b"],
    &["pod/a/b"],
    &["pod/"],
    &["/a"],
    &["pods", ""],
    &["pods", "a%2fb"],
    &["pods/.."],
    &["pods", "a", "-l", "x=y"],
    &["pods", "a", "-A"],
    &["pods", "--field-selector", "spec.foo=1"],
    &["pods", "-l", "a in ("],
];

#[test]
fn names_are_read_and_refused_as_kubectl_does() {
    if rig::left_out("kubectl's grammar") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let all = policies.argument("team");
    let words = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).trim().to_owned();
    for arguments in NAMED {
        let run = kyv(server.kubeconfig(), &[&["diff", "-p", &all], arguments].concat());
        let kubectl = server.kubectl_with(&[&["get"], arguments].concat(), "");
        let said: Vec<&str> =
            run.stderr.lines().filter(|line| line.to_lowercase().starts_with("error")).collect();
        let said: Vec<&str> =
            said.into_iter().filter(|line| !line.contains("the answer is incomplete")).collect();
        assert_eq!(said.join("\n"), words(&kubectl), "{arguments:?} {run:?}");
        assert!(matches!(run.code, Some(2 | 4)), "{arguments:?} {run:?}");
        assert_eq!(run.stdout, "", "{arguments:?}");
    }

    // Whom nothing is granted, as himself and as somebody else.
    for (arguments, other) in [
        (&["cm", "-n", "web"][..], None),
        (&["cm", "-A"], None),
        (&["nodes", "x"], None),
        (&["deploy/a", "-n", "web"], None),
        (&["secrets", "-n", "web"], Some(["--as", "bob", "--as-group", "devs"])),
    ] {
        let kubeconfig =
            if other.is_some() { server.kubeconfig() } else { server.kubeconfig_without_rights() };
        let other = other.as_ref().map_or(&[][..], |other| &other[..]);
        let run = kyv(kubeconfig, &[&["diff", "-p", &all], arguments, other].concat());
        let path = kubeconfig.to_str().expect("a plain path");
        let kubectl = server.kubectl_with(&[&["--kubeconfig", path, "get"], arguments, other].concat(), "");
        assert_eq!(run.stderr.lines().next(), Some(&*words(&kubectl)), "{arguments:?} {run:?}");
        assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{arguments:?} {run:?}");
    }

    // Every way to name a kind.
    for kind in [
        "deployments",
        "deploy",
        "Deployment",
        "deployment.apps",
        "deploy.v1.apps",
        "all",
        "deployments/site",
    ] {
        let run =
            kyv(server.kubeconfig(), &["diff", "-p", &policies.argument("replicas"), kind, "-n", "web"]);
        assert_eq!(
            (run.code, changed(&run.stdout)),
            (Some(1), vec!["Deployment/web/site"]),
            "{kind} {run:?}"
        );
    }
    let field = ["diff", "cm", "-n", "web", "--field-selector", "metadata.name=c", "-p", &all];
    let run = kyv(server.kubeconfig(), &field);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/c"]), "{run:?}");

    // No kind at all: those that the policies can match.
    let both = ["diff", "-A", "-p", &all, "-p", &policies.argument("replicas")];
    let run = kyv(server.kubeconfig(), &both);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 7), "{run:?}");
    let listed: Vec<String> = asked(&server)
        .into_iter()
        .rev()
        .take(3)
        .map(|(_, path)| path.split('?').next().unwrap().to_owned())
        .collect();
    assert!(listed.contains(&"/apis/apps/v1/deployments".to_owned()), "{listed:?}");
}
