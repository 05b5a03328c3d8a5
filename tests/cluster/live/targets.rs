//! Targets of rules, read from the cluster.

use std::fs;

use super::{
    KYVERNO, Policies, changed_objects, kyv, logged_requests, mutate_existing_rule, server_with_objects,
};

#[test]
fn targets_are_read_and_their_access_is_reviewed() {
    if test_support::skip_without_real_programs("targets of the cluster") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let patch = "patchStrategicMerge: {metadata: {labels: {touched: \"yes\"}}}";
    let login = mutate_existing_rule(
        &policies,
        "login",
        "kinds: [ConfigMap], namespaces: [web], names: [a], operations: [CREATE, UPDATE]",
        &format!("targets: [{{apiVersion: v1, kind: Secret, namespace: web, name: login}}], {patch}"),
    );

    // Live triggers; the target is none of them.
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &login]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["Secret/web/login"]), "{run:?}");
    assert!(run.stdout.contains("+    touched: \"yes\"\n"), "{run:?}");
    assert!(!run.stdout.contains("b2xkLXRva2Vu") && !run.stdout.contains("managedFields"), "{run:?}");
    let gets = logged_requests(&server).into_iter().filter(|(_, path)| path.contains("/secrets"));
    assert_eq!(
        gets.collect::<Vec<_>>(),
        [("get".to_owned(), "/api/v1/namespaces/web/secrets/login".to_owned())]
    );

    // By a pattern of names, by labels, with no TYPE.
    for (name, target) in [
        ("by-name", "apiVersion: v1, kind: ConfigMap, namespace: \"w*\", name: \"[b]\""),
        ("pattern", "apiVersion: v1, kind: ConfigMap, namespace: \"*\", name: \"?\""),
        ("own", "apiVersion: v1, kind: ConfigMap, namespace: \"{{ request.namespace }}\", name: \"*\""),
        ("labels", "apiVersion: v1, kind: Secret, namespace: web, selector: {matchLabels: {app: x}}"),
    ] {
        let policy = mutate_existing_rule(
            &policies,
            name,
            "kinds: [Deployment]",
            &format!("targets: [{{{target}}}], {patch}"),
        );
        let run = kyv(admin, &["diff", "-A", "-p", &policy]);
        let all = [
            "ConfigMap/back/z",
            "ConfigMap/web/a",
            "ConfigMap/web/b",
            "ConfigMap/web/c",
            "ConfigMap/web/d",
            "ConfigMap/web/e",
        ];
        let expected: &[&str] = match name {
            "by-name" => &[],
            "pattern" => &all,
            "own" => &all[1..],
            _ => &["Secret/web/login"],
        };
        assert_eq!(changed_objects(&run.stdout), expected, "{name} {run:?}");
    }

    // By the constraints of a CEL policy: a wildcard in the version, and the empty group.
    const ANY_VERSION: &str =
        r#"apiGroups: [""], apiVersions: ["*"], resources: [secrets], resourceNames: [login]"#;
    const NO_GROUP: &str =
        r#"apiGroups: [""], apiVersions: [v1], resources: [deployments], resourceNames: [site]"#;
    for (constraints, semantics, expected) in [
        (ANY_VERSION, "documented", &["Secret/web/login"][..]),
        (ANY_VERSION, "kyverno", &[]),
        (NO_GROUP, "documented", &[]),
        (NO_GROUP, "kyverno", &["Deployment/web/site"]),
    ] {
        let policy = policies.path("by-constraints");
        let rules = |rule: &str| format!("resourceRules: [{{{rule}, operations: [CREATE, UPDATE]}}]");
        let trigger =
            rules("apiGroups: [\"\"], apiVersions: [v1], resources: [configmaps], resourceNames: [a]");
        let targets = rules(constraints);
        let text = format!(
            "apiVersion: policies.kyverno.io/v1\nkind: MutatingPolicy\nmetadata: {{name: by-constraints}}\nspec:\n  \
             evaluation: {{mutateExisting: {{enabled: true}}}}\n  matchConstraints: {{{trigger}}}\n  \
             targetMatchConstraints: {{{targets}}}\n  mutations:\n  - patchType: ApplyConfiguration\n    \
             applyConfiguration: {{expression: 'Object{{metadata: Object.metadata{{labels: {{\"seen\": \"yes\"}}}}}}'}}\n"
        );
        fs::write(&policy, text).expect("the folder takes files");
        let policy = policy.to_str().expect("UTF-8");
        let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", policy, "--semantics", semantics]);
        assert_eq!(changed_objects(&run.stdout), expected, "{constraints} {semantics} {run:?}");
        // What was not looked up is not known to be another result.
        assert_eq!(run.stderr.contains("note[KYV-D82]"), !expected.is_empty(), "{run:?}");
    }

    // A subresource.
    let scale = mutate_existing_rule(
        &policies,
        "scale",
        "kinds: [ConfigMap], names: [a]",
        "targets: [{apiVersion: apps/v1, kind: Deployment/scale, namespace: web, name: site}], \
         patchStrategicMerge: {spec: {replicas: 5}}",
    );
    let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &scale]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["Scale/web/site"]), "{run:?}");
    assert!(run.stdout.contains("-  replicas: 1\n+  replicas: 5\n"), "{run:?}");

    // Without changes no access review is sent.
    let team = policies.argument("team");
    for (policy, object, words) in [
        (&team, "a", "note[KYV520]: no rule has targets: the rights of bob were not checked\n"),
        (&login, "b", "note[KYV520]: no target was selected: the rights of bob were not checked\n"),
    ] {
        let run = kyv(admin, &["diff", "cm", object, "-n", "web", "-p", policy, "--check-rights", "bob"]);
        assert!(run.stderr.contains(words), "{run:?}");
        assert!(!logged_requests(&server).iter().any(|(_, path)| path.contains("accessreviews")));
        let strict = ["diff", "cm", object, "-n", "web", "-p", policy, "--check-rights", "bob", "--strict"];
        assert_eq!(kyv(admin, &strict).code, Some(3));
    }

    // Who may read the triggers and not the targets.
    server.kubectl_ok(&["create", "clusterrole", "maps", "--verb=get,list", "--resource=configmaps"], "");
    let user = "--user=nobody-special";
    server.kubectl_ok(&["create", "rolebinding", "maps", "-n", "web", "--clusterrole=maps", user], "");
    let run = kyv(server.kubeconfig_without_rights(), &["explain", "cm", "a", "-n", "web", "-p", &login]);
    assert_eq!(run.code, Some(4), "{run:?}");
    let screen = "ConfigMap/web/a  cluster\n  0 of 1 rule changed it\n  ERROR          login/r: it could not be evaluated\n    \
                  error        secrets \"login\" is forbidden: User \"nobody-special\" cannot";
    assert!(run.stdout.starts_with(screen), "{}", run.stdout);
    let words = "\n  TRIGGERED      login/r: it ran on no target, because of its error\n";
    assert!(run.stdout.contains(words), "{}", run.stdout);
    let mark = "\n\nincomplete: not looked up: targets v1/Secret web/login\n";
    assert!(run.stdout.ends_with(mark), "{}", run.stdout);

    // Missing objects, and kinds that are not served.
    for (name, target, words) in [
        ("gone", "apiVersion: v1, kind: Secret, namespace: web, name: nope", "secrets \"nope\" not found"),
        (
            "unserved",
            "apiVersion: example.com/v1, kind: Widget, namespace: web, name: w",
            "the server doesn't have a resource type \"Widget\"",
        ),
    ] {
        let policy = mutate_existing_rule(
            &policies,
            name,
            "kinds: [ConfigMap]",
            &format!("targets: [{{{target}}}], {patch}"),
        );
        let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &policy]);
        assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
        assert!(run.stderr.contains(words), "{run:?}");
    }

    // A manifest is compared with what is stored: only the changed data triggers.
    let on_change = mutate_existing_rule(
        &policies,
        "on-change",
        "kinds: [ConfigMap]",
        &format!("targets: [{{apiVersion: v1, kind: Secret, namespace: web, name: login}}], {patch}"),
    );
    let text = fs::read_to_string(&on_change).expect("it was written").replace(
        "    mutate:",
        "    preconditions: {all: [{key: \"{{ request.object.data.k }}\", operator: NotEquals, value: \"{{ request.oldObject.data.k }}\"}]}\n    mutate:",
    );
    fs::write(&on_change, text).expect("the folder takes files");
    let manifest = policies.path("manifest");
    for (data, expected) in [("a", &[][..]), ("other", &["Secret/web/login"])] {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: web}}\ndata: {{k: {data}}}\n"
        );
        fs::write(&manifest, text).expect("the folder takes files");
        let run = kyv(admin, &["diff", "--live", "-f", &policies.argument("manifest"), "-p", &on_change]);
        assert_eq!(changed_objects(&run.stdout), expected, "{data} {run:?}");
    }

    // Rights of a service account, read alone; then all of them.
    let account = "system:serviceaccount:kyverno:kyverno-background-controller";
    let deployment = mutate_existing_rule(
        &policies,
        "deployment",
        "kinds: [ConfigMap], names: [a]",
        &format!("targets: [{{apiVersion: apps/v1, kind: Deployment, namespace: web, name: site}}], {patch}"),
    );
    let check = ["diff", "cm", "-n", "web", "-p", &deployment, "--check-rights", account];
    let refused = |verb: &str| {
        format!(
            "deployments.apps \"site\" is forbidden: User \"{account}\" cannot {verb} resource \"deployments\" in \
             API group \"apps\" in the namespace \"web\""
        )
    };
    let run = kyv(admin, &check);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains("error[KYV323]: ") && run.stderr.contains(&refused("get")), "{run:?}");
    assert!(!run.stderr.contains("note[KYV806]: Kyverno"), "{run:?}");
    // A difference was reached: the version that runs here is on one side of it.
    server.kubectl_ok(&["apply", "-f", "-"], KYVERNO);
    let run = kyv(admin, &check);
    let words =
        "note[KYV806]: Kyverno v1.19.1 runs in the namespace policy-engine of this cluster: for KYV-D";
    assert!(run.stderr.contains(words), "{run:?}");
    assert!(run.stderr.contains("it behaves as --semantics kyverno shows\n"), "{run:?}");
    let group = "--group=system:serviceaccounts:kyverno";
    server
        .kubectl_ok(&["create", "clusterrole", "see", "--verb=get,list", "--resource=deployments.apps"], "");
    server.kubectl_ok(&["create", "rolebinding", "see", "-n", "web", "--clusterrole=see", group], "");
    let run = kyv(admin, &check);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains(&refused("update")), "{run:?}");
    assert!(
        run.stderr.contains("requires permissions update for resource apps/v1/Deployment in namespace web"),
        "{run:?}"
    );
    assert!(run.stderr.contains("the UpdateRequest would fail with"), "{run:?}");
    // The same as the user in question, who also needs to read the triggers.
    server.kubectl_ok(&["create", "clusterrole", "cms", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(&["create", "rolebinding", "cms", "-n", "web", "--clusterrole=cms", group], "");
    let own = ["diff", "cm", "-n", "web", "-p", &deployment, "--as", account, "--as-group"];
    let own = [&own[..], &["system:serviceaccounts:kyverno", "--as-group", "system:authenticated"]].concat();
    let run = kyv(admin, &own);
    assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
    assert!(run.stderr.contains(&refused("update")), "{run:?}");
    assert!(!run.stderr.contains("note[KYV806]: Kyverno"), "who may not see it hears nothing of it: {run:?}");
    server.kubectl_ok(&["create", "clusterrole", "do", "--verb=update", "--resource=deployments.apps"], "");
    server.kubectl_ok(&["create", "rolebinding", "do", "-n", "web", "--clusterrole=do", group], "");
    for arguments in [&check[..], &own] {
        let run = kyv(admin, arguments);
        assert_eq!(
            (run.code, changed_objects(&run.stdout)),
            (Some(1), vec!["Deployment/web/site"]),
            "{run:?}"
        );
    }

    for (verb, path) in logged_requests(&server) {
        let is_review = verb == "create" && path.contains("accessreviews");
        assert!(matches!(&*verb, "get" | "list") || is_review, "{verb} {path}");
    }
}
