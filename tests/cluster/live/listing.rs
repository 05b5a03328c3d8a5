//! Live objects, listed page by page.

use super::{Policies, changed_objects, kyv, logged_requests, server_with_objects};

#[test]
fn diff_of_live_objects_writes_nothing() {
    if test_support::skip_without_real_programs("the diff of live objects") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let team = policies.argument("team");

    let run = kyv(admin, &["diff", "configmaps", "-n", "web", "-p", &team, "--chunk-size", "2"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let all = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c", "ConfigMap/web/d", "ConfigMap/web/e"];
    assert_eq!(changed_objects(&run.stdout), all, "{run:?}");
    assert_eq!(run.stdout.matches("\n+    team: a\n").count(), 5, "{run:?}");
    assert!(!run.stdout.contains("managedFields"), "{run:?}");
    let lists: Vec<String> = logged_requests(&server)
        .into_iter()
        .filter(|(verb, _)| verb == "list")
        .map(|(_, path)| path)
        .collect();
    assert_eq!(lists.len(), 3, "three pages of two: {lists:?}");
    assert!(lists.iter().all(|path| path.starts_with("/api/v1/namespaces/web/configmaps?")), "{lists:?}");
    assert!(lists.iter().all(|path| path.contains("limit=2")), "{lists:?}");
    assert!(!lists[0].contains("continue=") && lists[1].contains("continue="), "{lists:?}");

    for arguments in [["cm", "b", "d"].as_slice(), &["configmap/b", "cm/d"], &["ConfigMap", "b", "d"]] {
        let arguments = [&["diff", "-n", "web", "-p", &team], arguments].concat();
        let run = kyv(admin, &arguments);
        assert_eq!(
            (run.code, changed_objects(&run.stdout)),
            (Some(1), vec![all[1], all[3]]),
            "{arguments:?} {run:?}"
        );
    }

    let run = kyv(admin, &["diff", "cm,deploy", "-A", "-p", &team, "-p", &policies.argument("replicas")]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(
        changed_objects(&run.stdout),
        ["ConfigMap/back/z", all[0], all[1], all[2], all[3], all[4], "Deployment/web/site"],
        "{run:?}"
    );
    assert!(run.stdout.contains("-  replicas: 1\n+  replicas: 3\n"), "{run:?}");
    assert!(!run.stdout.contains("status:"), "{run:?}");

    // What runs already is updated, not created.
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &policies.argument("create")]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");
    let create = ["diff", "cm", "-n", "web", "-p", &policies.argument("create"), "--operation", "CREATE"];
    assert_eq!(kyv(admin, &create).code, Some(1));

    // The labels of the live namespaces decide.
    let run = kyv(admin, &["diff", "cm", "-A", "-p", &policies.argument("front")]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), all.to_vec()), "{run:?}");

    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-l", "app=x", "-p", &policies.argument("secret")]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["Secret/web/login"]), "{run:?}");
    assert!(run.stdout.contains("*** (before)") && run.stdout.contains("*** (after)"), "{run:?}");
    for secret in ["b2xkLXRva2Vu", "a2VlcC1tZQ==", "bmV3", "old-token"] {
        assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
    }
    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-l", "app=y", "-p", &policies.argument("secret")]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");

    server.kubectl_ok(&["label", "configmaps", "--all", "-n", "web", "team=a"], "");
    let run = kyv(admin, &["diff", "configmaps", "-n", "web", "-p", &team]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");

    let asked = logged_requests(&server);
    assert!(!asked.is_empty());
    for (verb, path) in asked {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

#[test]
fn check_finds_what_policies_do_to_live_objects() {
    if test_support::skip_without_real_programs("the check of live objects") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let team = policies.argument("team");
    let other = policies.write("other", "mutate: {patchStrategicMerge: {metadata: {labels: {team: b}}}}");

    let alone = kyv(server.kubeconfig(), &["check", "configmaps", "-n", "web", "-p", &team]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    let both = ["check", "configmaps", "-n", "web", "-p", &team, "-p", &other, "-o", "json"];
    let run = kyv(server.kubeconfig(), &both);
    assert_eq!(run.code, Some(1), "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let kinds: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|finding| finding["kind"].as_str())
        .collect();
    assert!(kinds.contains(&"order"), "{run:?}");
    assert!(!run.stdout.contains("managedFields"), "{run:?}");
}
