//! Resource arguments and errors, as kubectl reads and words them.

use serde_json::Value;

use super::{Policies, changed_objects, kyv, logged_requests, server_with_objects};

#[test]
fn cluster_errors_match_kubectl() {
    if test_support::skip_without_real_programs("the cluster's refusals") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let team = policies.argument("team");

    // Whom nothing is granted.
    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "configmaps", "-n", "web", "-p", &team]);
    let mark = "# incomplete: not read: configmaps\n";
    assert_eq!((refused.code, &*refused.stdout), (Some(4), mark), "{refused:?}");
    let kubeconfig = server.kubeconfig_without_rights().to_str().expect("a plain path");
    let kubectl = server.kubectl_with(&["--kubeconfig", kubeconfig, "get", "configmaps", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(words.contains("(Forbidden)"), "{words}");
    assert!(super::without_codes(&refused.stderr).contains(words.trim()), "{refused:?} does not say {words}");

    // What is not there, beside what is.
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "a", "nope", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(4), vec!["ConfigMap/web/a"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "configmap", "nope", "-n", "web"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(super::without_codes(&run.stderr).contains(words.trim()), "{run:?} does not say {words}");

    let run = kyv(admin, &["diff", "cm,widgets", "-n", "back", "-p", &team]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(4), vec!["ConfigMap/back/z"]), "{run:?}");
    let kubectl = server.kubectl_with(&["get", "widgets"], "");
    let words = String::from_utf8(kubectl.stderr).expect("kubectl says text");
    assert!(super::without_codes(&run.stderr).contains(words.trim()), "{run:?} does not say {words}");
    // kubectl has no way to say that a list lacks something, and prints none. Ours says it in every format.
    let kubectl = server.kubectl_with(&["get", "cm,widgets", "-n", "back"], "");
    assert!(!kubectl.status.success() && kubectl.stdout.is_empty(), "{kubectl:?}");
    assert!(run.stdout.ends_with("# incomplete: not read: widgets\n"), "{run:?}");

    // Labels of namespaces that cannot be read, though a policy uses them.
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "rolebinding", "reader", "-n", "web", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let other = server.kubeconfig_without_rights();
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &policies.argument("front")]);
    let mark = "# incomplete: not looked up: namespaces \"web\"\n";
    assert_eq!((run.code, &*run.stdout), (Some(4), mark), "{run:?}");
    assert!(
        run.stderr.contains("error[KYV503]: Error from server (Forbidden): namespaces \"web\" is forbidden"),
        "{run:?}"
    );
    // A policy that does not ask for them needs no such right.
    let run = kyv(other, &["diff", "cm", "-n", "web", "-p", &team]);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 5), "{run:?}");
}

/// Arguments that name objects; each is put to kubectl, too.
const NAMED: [&[&str]; 39] = [
    &["configmaps", "nope", "-n", "web"],
    &["cm/nope", "-n", "web"],
    &["pods,svc", "nope"],
    &["ns", "nope"],
    &["nosuch"],
    &["DEPLOY"],
    &["Cm", "-n", "web"],
    &["HPA"],
    &["ALL"],
    &["DEPLOYMENTS.APPS"],
    &["deployments.V1.apps"],
    &["deploy", "nope", "-n", "nons"],
    &["deploy/nope", "cm/nope", "-n", "web"],
    &["nodes", "nope", "-n", "nons"],
    &["nosuch/a"],
    &["widgets.foo"],
    &["widgets.v1.foo"],
    &["pods.apps"],
    &["pods,"],
    &["cm,", "-n", "web"],
    &[",cm", "-n", "web"],
    &[","],
    &[""],
    &["cm,", "a", "-n", "web"],
    &["cm,", "a", "b", "-n", "web"],
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
fn resource_arguments_match_kubectl() {
    if test_support::skip_without_real_programs("kubectl's grammar") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let all = policies.argument("team");
    let words = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).trim().to_owned();
    for arguments in NAMED {
        let run = kyv(server.kubeconfig(), &[&["diff", "-p", &all], arguments].concat());
        let kubectl = server.kubectl_with(&[&["get"], arguments].concat(), "");
        let stderr = super::without_codes(&run.stderr);
        let said: Vec<&str> =
            stderr.lines().filter(|line| line.to_lowercase().starts_with("error")).collect();
        let said: Vec<&str> =
            said.into_iter().filter(|line| !line.contains("the result is incomplete")).collect();
        assert_eq!(said.join("\n"), words(&kubectl), "{arguments:?} {run:?}");
        assert!(matches!(run.code, Some(2 | 4)), "{arguments:?} {run:?}");
        let gaps = run
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix("error[KYV513]: the result is incomplete: "));
        let mark = gaps.map_or_else(String::new, |gaps| format!("# incomplete: {gaps}\n"));
        assert_eq!(run.stdout, mark, "{arguments:?}");
    }

    // A user without rights, as himself and impersonating another user.
    for (arguments, other, unread) in [
        (&["cm", "-n", "web"][..], None, "configmaps"),
        (&["cm", "-A"], None, "configmaps"),
        (&["nodes", "x"], None, "nodes"),
        (&["deploy/a", "-n", "web"], None, "deployments.apps"),
        (&["secrets", "-n", "web"], Some(["--as", "bob", "--as-group", "devs"]), "secrets"),
    ] {
        let kubeconfig =
            if other.is_some() { server.kubeconfig() } else { server.kubeconfig_without_rights() };
        let other = other.as_ref().map_or(&[][..], |other| &other[..]);
        let run = kyv(kubeconfig, &[&["diff", "-p", &all], arguments, other].concat());
        let path = kubeconfig.to_str().expect("a plain path");
        let kubectl = server.kubectl_with(&[&["--kubeconfig", path, "get"], arguments, other].concat(), "");
        // kubectl's words, behind the code.
        let first = run.stderr.lines().next().and_then(|line| line.strip_prefix("error[KYV503]: "));
        assert_eq!(first, Some(&*words(&kubectl)), "{arguments:?} {run:?}");
        let mark = format!("# incomplete: not read: {unread}\n");
        assert_eq!((run.code, run.stdout), (Some(4), mark), "{arguments:?}");
    }

    // Flags that are given twice, and truth values.
    for flags in [
        &["-n", "back", "-n", "web"][..],
        &["-A", "-A"],
        &["-A", "--all-namespaces"],
        &["--all-namespaces=true"],
        &["-A=false", "-n", "web"],
        &["-A", "--all-namespaces=F", "-n", "web"],
        &["-n", "web", "-l", "nosuch", "-l", "!nosuch"],
        &["-n", "web", "-l", "!nosuch", "--selector=nosuch"],
        &["-n", "web", "--field-selector", "metadata.name=b", "--field-selector", "metadata.name=a"],
        &["-n", "web", "--chunk-size=1", "--chunk-size=2"],
        &["-n", "web", "--request-timeout=1ns", "--request-timeout=30s"],
        &["-n", "web", "--context=nosuch", "--context="],
        &["-n", "web", "--as=bob", "--as=admin", "--as-group=nobodies", "--as-group=system:masters"],
        &["-n", "web", "--insecure-skip-tls-verify=false"],
        &["-n", ""],
    ] {
        let diff = ["diff", "cm", "-p", &all, "-o", "summary", "-o", "json"];
        let run = kyv(server.kubeconfig(), &[&diff[..], flags].concat());
        let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
        let objects = report["objects"].as_array().expect("a list").iter();
        let names: Vec<_> =
            objects.map(|row| format!("configmap/{}", row["object"]["name"].as_str().unwrap())).collect();
        let listed = server.kubectl_ok(&[&["get", "cm", "-o", "name"], flags].concat(), "");
        assert_eq!(names, listed.lines().collect::<Vec<_>>(), "{flags:?} {run:?}");
    }
    for flags in [&["-A=maybe"][..], &["-A="], &["--insecure-skip-tls-verify", "--certificate-authority=x"]] {
        let run = kyv(server.kubeconfig(), &[&["diff", "cm", "-p", &all], flags].concat());
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{flags:?} {run:?}");
        let kubectl = server.kubectl_with(&[&["get", "cm"], flags].concat(), "");
        assert!(!kubectl.status.success(), "{flags:?}");
    }

    // A namespace that does not exist is reported, also for lists, where kubectl prints that nothing was found.
    for (arguments, code, words) in [
        (&["-n", "nons"][..], 0, "note[KYV517]: the cluster has no namespace nons\n"),
        (&["cm", "-n", "nons"], 0, "note[KYV517]: the cluster has no namespace nons\n"),
        (
            &["cm", "-n", "nons", "--strict"],
            3,
            "error[KYV517]: the cluster has no namespace nons (--strict)\n",
        ),
        (&["pods", "-n", "web"], 0, "note[KYV516]: no resources found in namespace web\n"),
    ] {
        let run = kyv(server.kubeconfig(), &[&["diff", "-p", &all], arguments].concat());
        assert!(run.code == Some(code) && run.stderr.contains(words), "{arguments:?} {run:?}");
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
            (run.code, changed_objects(&run.stdout)),
            (Some(1), vec!["Deployment/web/site"]),
            "{kind} {run:?}"
        );
    }
    let field = ["diff", "cm", "-n", "web", "--field-selector", "metadata.name=c", "-p", &all];
    let run = kyv(server.kubeconfig(), &field);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/web/c"]), "{run:?}");

    // Who is named twice is read where kubectl reads it first, and changes once.
    for arguments in [
        &["cm", "b", "a", "b"][..],
        &["cm/b", "cm/a", "cm/b"],
        &["cm/b", "configmap/a", "configmaps/b", "ConfigMap/a"],
        &["cm,cm", "b"],
        &["cm,configmaps", "b"],
        &["cm,ConfigMap", "-l", "!team"],
    ] {
        let diff = ["diff", "-p", &all, "-n", "web", "-o", "json"];
        let run = kyv(server.kubeconfig(), &[&diff[..], arguments].concat());
        let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
        let objects = report["objects"].as_array().expect("a list").iter();
        let names: Vec<_> =
            objects.map(|row| format!("configmap/{}", row["object"]["name"].as_str().unwrap())).collect();
        let listed = server.kubectl_ok(&[&["get", "-n", "web", "-o", "name"], arguments].concat(), "");
        let mut expected: Vec<String> = Vec::new();
        for name in listed.lines() {
            if !expected.iter().any(|known| known == name) {
                expected.push(name.to_owned());
            }
        }
        assert_eq!(names, expected, "{arguments:?}");
        assert_eq!(report["summary"]["changed"], expected.len(), "{arguments:?}");
    }

    // So many at a time: what kubectl takes for the whole list is one.
    for size in [
        &["--chunk-size", "-1"][..],
        &["--chunk-size=-1"],
        &["--chunk-size=0"],
        &["--chunk-size=99999999999"],
    ] {
        let run = kyv(server.kubeconfig(), &[&["diff", "cm", "-n", "web", "-p", &all], size].concat());
        assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 5), "{size:?} {run:?}");
        let kubectl = server.kubectl_with(&[&["get", "cm", "-n", "web"], size].concat(), "");
        assert!(kubectl.status.success(), "{size:?}");
    }
    for size in ["--chunk-size=x", "--chunk-size="] {
        let run = kyv(server.kubeconfig(), &["diff", "cm", "-n", "web", "-p", &all, size]);
        assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{size} {run:?}");
        assert!(!server.kubectl_with(&["get", "cm", "-n", "web", size], "").status.success());
    }

    // No kind at all: those that the policies can match.
    let both = ["diff", "-A", "-p", &all, "-p", &policies.argument("replicas")];
    let run = kyv(server.kubeconfig(), &both);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 7), "{run:?}");
    let listed: Vec<String> = logged_requests(&server)
        .into_iter()
        .rev()
        .take(3)
        .map(|(_, path)| path.split('?').next().unwrap().to_owned())
        .collect();
    assert!(listed.contains(&"/apis/apps/v1/deployments".to_owned()), "{listed:?}");
}
