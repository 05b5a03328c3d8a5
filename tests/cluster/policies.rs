//! The policies of the cluster.

use std::fs;
use std::process::Command;

use super::{Policies, changed, filled, kyv, rig};

#[test]
fn the_policies_of_the_cluster_are_taken() {
    if rig::left_out("the policies of a real cluster") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    let words = "error: the server doesn't have a resource type \"clusterpolicies\"\n";
    assert_eq!((run.code, &*run.stderr, &*run.stdout), (Some(4), words, ""), "{run:?}");

    let crds = Command::new(rig::tool("kyverno-crds")).output().expect("it starts").stdout;
    let crds = String::from_utf8(crds).expect("text");
    server.kubectl_ok(&["apply", "--server-side", "-f", "-"], &crds);
    for crd in ["clusterpolicies.kyverno.io", "policies.kyverno.io"] {
        server.kubectl_ok(&["wait", "--for=condition=Established", &format!("crd/{crd}")], "");
    }
    let team = fs::read_to_string(policies.path("team")).expect("it can be read");
    let own = team
        .replace("kind: ClusterPolicy", "kind: Policy")
        .replace("{name: team}", "{name: own, namespace: back}");
    let own = own.replace("team: a", "own: x");
    server.kubectl_ok(&["apply", "-f", "-"], &format!("{team}---\n{own}"));

    let run = kyv(admin, &["diff", "-A", "--cluster-policies", "-n", "web"]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 6), "{run:?}");
    assert_eq!(
        (run.stdout.matches("team: a").count(), run.stdout.matches("own: x").count()),
        (run.stdout.matches("\n--- ").count() + 1, 1),
        "{run:?}"
    );

    // One that is tried out stands in for that of the cluster.
    let path = policies.path("team-b");
    fs::write(&path, team.replace("team: a", "team: b")).expect("the folder takes files");
    let path = path.display().to_string();
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies", "-p", &path]);
    assert_eq!(
        (run.stdout.matches("team: b").count(), run.stdout.matches("team: a").count()),
        (5, 0),
        "{run:?}"
    );
    assert!(run.stderr.contains("stands in for the policy team of the cluster"), "{run:?}");

    // An exception of the cluster takes one object out.
    let exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e, namespace: web}\nspec:\n  \
        exceptions: [{policyName: team, ruleNames: [r]}]\n  \
        match: {any: [{resources: {kinds: [ConfigMap], namespaces: [web], names: [c]}}]}\n";
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/policyexceptions.kyverno.io"], "");
    server.kubectl_ok(&["apply", "-f", "-"], exception);
    let run = kyv(admin, &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((run.code, changed(&run.stdout).len()), (Some(1), 4), "{run:?}");
    assert!(!run.stdout.contains("ConfigMap/web/c"), "{run:?}");

    // Manifests under the policies of the cluster.
    let manifest = policies.path("manifest");
    fs::write(&manifest, "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: back}}\n")
        .expect("it takes files");
    let run = kyv(admin, &["mutate", "-f", &manifest.display().to_string(), "--cluster-policies"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert!(run.stdout.contains("team: a") && run.stdout.contains("own: x"), "{run:?}");

    let refused = kyv(server.kubeconfig_without_rights(), &["diff", "cm", "-n", "web", "--cluster-policies"]);
    assert_eq!((refused.code, &*refused.stdout), (Some(4), ""), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot list resource \"clusterpolicies\" in API group \"kyverno.io\""),
        "{refused:?}"
    );
}
