//! The policies of the cluster.

use std::fs;

use serde_json::{Value, json};

use super::kyverno_resources::install_kinds;
use super::{Policies, changed_objects, kyv, logged_requests, server_with_objects};
use test_support::api_server::ApiServer;

/// The kinds of Kyverno, and two policies: one of the cluster, and one of the namespace `back`.
fn install(server: &ApiServer, policies: &Policies) {
    install_kinds(server);
    let team = fs::read_to_string(policies.path("team")).expect("it can be read");
    let own = team
        .replace("kind: ClusterPolicy", "kind: Policy")
        .replace("{name: team}", "{name: own, namespace: back}");
    let own = own.replace("team: a", "own: x");
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{team}---\n{own}"));
}

/// Takes one `ConfigMap` of the namespace `web` out of the cluster's policy, by an exception in a namespace.
fn except(server: &ApiServer, namespace: &str, name: &str) {
    let exception = format!(
        "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {{name: e-{name}, namespace: {namespace}}}\nspec:\n  \
         exceptions: [{{policyName: team, ruleNames: [r]}}]\n  \
         match: {{any: [{{resources: {{kinds: [ConfigMap], namespaces: [web], names: [{name}]}}}}]}}\n"
    );
    server.kubectl_ok(&["apply", "-f", "-"], &exception);
}

#[test]
fn cluster_policies_are_used() {
    if test_support::skip_without_real_programs("the policies of a real cluster") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    let words = "error[KYV506]: the server doesn't have a resource type \"clusterpolicies\"\n";
    assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(4), words, ""), "{run:?}");

    install(&server, &policies);
    let team = fs::read_to_string(policies.path("team")).expect("it can be read");

    let run = kyv(admin, &["diff", "-A", "--cluster-policies", "-n", "web"]);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 6), "{run:?}");
    assert_eq!(
        (run.stdout.matches("team: a").count(), run.stdout.matches("own: x").count()),
        (run.stdout.matches("\n--- ").count() + 1, 1),
        "{run:?}"
    );

    // A policy of a file replaces that of the cluster.
    let path = policies.path("team-b");
    fs::write(&path, team.replace("team: a", "team: b")).expect("the folder takes files");
    let path = path.display().to_string();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies", "-p", &path]);
    assert_eq!(
        (run.stdout.matches("team: b").count(), run.stdout.matches("team: a").count()),
        (5, 0),
        "{run:?}"
    );
    assert!(
        run.stderr.contains("note[KYV227]: ")
            && run.stderr.contains("replaces the policy team of the cluster"),
        "{run:?}"
    );

    // An exception of the cluster takes one object out.
    except(&server, "web", "c");
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(1), 4), "{run:?}");
    assert!(!run.stdout.contains("ConfigMap/web/c"), "{run:?}");

    // Manifests under the policies of the cluster.
    let manifest = policies.path("manifest");
    fs::write(&manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: back}}\n")
        .expect("it takes files");
    let run = kyv(admin, &["mutate", "-f", &manifest.display().to_string(), "--cluster-policies"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("team: a") && run.stdout.contains("own: x"), "{run:?}");

    // Where no policy can be read there is nothing to be evaluated.
    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot list resource \"clusterpolicies\" in API group \"kyverno.io\""),
        "{refused:?}"
    );
}

#[test]
fn forbidden_policy_kinds_are_named_and_others_evaluated() {
    if test_support::skip_without_real_programs("rights to read the policies of a real cluster") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    install(&server, &policies);
    except(&server, "web", "c");
    except(&server, "back", "d");
    let (nobody, user) = (server.kubeconfig_without_rights(), "--user=nobody-special");
    let grant = |name: &str, resource: &str, namespace: Option<&str>| {
        let resource = format!("--resource={resource}");
        server.kubectl_ok(&["create", "clusterrole", name, "--verb=get,list", &resource], "");
        let role = format!("--clusterrole={name}");
        match namespace {
            Some(namespace) => {
                server.kubectl_ok(&["create", "rolebinding", name, &role, user, "-n", namespace], "")
            }
            None => server.kubectl_ok(&["create", "clusterrolebinding", name, &role, user], ""),
        };
    };
    grant("maps", "configmaps", None);
    grant("of-cluster", "clusterpolicies.kyverno.io,mutatingpolicies.policies.kyverno.io", None);
    let native = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"]
        .map(|resource| format!("{resource}.admissionregistration.k8s.io"));
    grant("of-the-api-server", &native.join(","), None);
    grant("of-namespaces", "namespacedmutatingpolicies.policies.kyverno.io", None);
    let forbidden = |resource: &str, place: &str| {
        format!(
            "error[KYV503]: Error from server (Forbidden): {resource}.kyverno.io is forbidden: User \"nobody-special\" cannot list resource \
             \"{resource}\" in API group \"kyverno.io\" {place}\n"
        )
    };
    let diff = ["diff", "cm", "-n", "web", "--cluster-policies"];
    let run = kyv(nobody, &diff);
    let all = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/c", "ConfigMap/web/d", "ConfigMap/web/e"];
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(4), all.to_vec()), "{run:?}");
    let gaps = "policies not read: policies.kyverno.io, policyexceptions.kyverno.io, policyexceptions.policies.kyverno.io";
    assert!(run.stdout.ends_with(&format!("\n# incomplete: {gaps}\n")), "{run:?}");
    for (resource, place) in
        [("policies", "in the namespace \"web\""), ("policyexceptions", "at the cluster scope")]
    {
        assert!(run.stderr.contains(&forbidden(resource, place)), "{resource} {run:?}");
    }
    assert!(run.stderr.contains(&format!("error[KYV513]: the result is incomplete: {gaps}\n")), "{run:?}");
    let report = kyv(nobody, &[&diff[..], &["-o", "json"]].concat());
    let report: Value = serde_json::from_str(&report.stdout).expect("it prints JSON");
    assert_eq!(report["incomplete"], gaps);
    let names =
        json!(["policies.kyverno.io", "policyexceptions.kyverno.io", "policyexceptions.policies.kyverno.io"]);
    assert_eq!(report["summary"]["notReadable"]["policies"], names);

    // Policies of the namespace alone are listed there.
    grant(
        "own",
        "policies.kyverno.io,policyexceptions.kyverno.io,policyexceptions.policies.kyverno.io",
        Some("web"),
    );
    let run = kyv(nobody, &diff);
    let but_c = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/d", "ConfigMap/web/e"];
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(4), but_c.to_vec()), "{run:?}");
    let mark = "\n# incomplete: policies not read: policyexceptions.kyverno.io outside of web, \
                policyexceptions.policies.kyverno.io outside of web\n";
    assert!(run.stdout.ends_with(mark), "{run:?}");
    let lists = |from: usize| -> Vec<String> {
        let lists =
            logged_requests(&server).into_iter().skip(from).filter(|(_, path)| path.contains("policies?"));
        let mut paths: Vec<String> =
            lists.map(|(_, path)| path.split('?').next().unwrap_or_default().to_owned()).collect();
        paths.sort();
        paths
    };
    let before = logged_requests(&server).len();
    let run = kyv(server.kubeconfig(), &diff);
    let but_both = ["ConfigMap/web/a", "ConfigMap/web/b", "ConfigMap/web/e"];
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), but_both.to_vec()), "{run:?}");
    let expected = [
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "/apis/kyverno.io/v1/clusterpolicies",
        "/apis/kyverno.io/v1/namespaces/web/policies",
        "/apis/policies.kyverno.io/v1/mutatingpolicies",
        "/apis/policies.kyverno.io/v1/namespaces/web/namespacedmutatingpolicies",
    ];
    assert_eq!(lists(before), expected);
    let before = logged_requests(&server).len();
    let run = kyv(server.kubeconfig(), &["diff", "cm", "-A", "--cluster-policies"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(lists(before).contains(&"/apis/kyverno.io/v1/policies".to_owned()));

    // With policies of files, which need no rights.
    let stranger = ["diff", "cm", "-n", "web", "--cluster-policies", "-p", &policies.argument("team")];
    let run = kyv(server.kubeconfig(), &[&stranger[..], &["--as", "bob", "--as-group", "devs"]].concat());
    let gaps = "not read: configmaps; policies not read: clusterpolicies.kyverno.io, policies.kyverno.io, \
                mutatingpolicies.policies.kyverno.io, namespacedmutatingpolicies.policies.kyverno.io, \
                mutatingadmissionpolicies.admissionregistration.k8s.io, \
                mutatingadmissionpolicybindings.admissionregistration.k8s.io, policyexceptions.kyverno.io, \
                policyexceptions.policies.kyverno.io";
    assert_eq!((run.code, run.stdout), (Some(4), format!("# incomplete: {gaps}\n")));
}
