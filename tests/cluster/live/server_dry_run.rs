//! Dry runs on the server.

use std::fs;
use std::thread;

use serde_json::Value;

use super::{Policies, changed_objects, kyv, logged_requests, mutate_existing_rule, server_with_objects};
use test_support::api_server::ApiServer;

/// Denies `ConfigMaps` of one namespace that belong to team a.
const DENIAL: &str = "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-team}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations:
  - expression: \"object.metadata.namespace != 'back' || !has(object.metadata.labels) || object.metadata.labels.?team.orValue('') != 'a'\"
    message: team a may not be here
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-team}
spec: {policyName: no-team, validationActions: [Deny]}
";

/// All objects of some kinds, with their versions.
fn held(server: &ApiServer) -> String {
    server.kubectl_ok(&["get", "cm,secrets,deploy,ns", "-A", "-o", "json", "--show-managed-fields"], "")
}

#[test]
fn server_dry_run_shows_stored_objects_and_stores_nothing() {
    if test_support::skip_without_real_programs("dry runs on a real API server") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let team = policies.argument("team");
    server.kubectl_ok(&["apply", "-f", "-"], DENIAL);
    let denied = || {
        let label = ["label", "cm", "z", "-n", "back", "team=a", "--dry-run=server"];
        !server.kubectl_with(&label, "").status.success()
    };
    for _ in 0..300 {
        if denied() {
            break;
        }
        thread::sleep(std::time::Duration::from_millis(100));
    }
    let before = held(&server);

    // What it takes as it is.
    let plain = kyv(admin, &["diff", "cm", "-n", "web", "-p", &team]);
    let run = kyv(admin, &["diff", "cm", "-n", "web", "-p", &team, "--server-dry-run"]);
    assert_eq!((run.code, &run.stdout), (Some(1), &plain.stdout), "{run:?}");
    assert!(
        run.stderr.ends_with("5 objects, 5 would be changed by 1 rule; server dry run: 5 accepted\n"),
        "{run:?}"
    );

    // What an admission policy denies, beside what it takes.
    let words = "configmaps \"z\" is forbidden: ValidatingAdmissionPolicy 'no-team' with binding 'no-team' denied request: \
                 team a may not be here";
    let all =
        ["cm", "-A", "--field-selector", "metadata.namespace!=kube-system", "-p", &team, "--server-dry-run"];
    let run = kyv(admin, &[&["diff"][..], &all].concat());
    assert_eq!((run.code, changed_objects(&run.stdout).len()), (Some(3), 6), "{run:?}");
    assert!(
        run.stdout.contains(&format!("\n# ConfigMap/back/z: the API server refuses it: {words}\n")),
        "{run:?}"
    );
    assert!(
        run.stderr
            .contains(&format!("error[KYV515]: ConfigMap/back/z: the API server refuses it: {words}\n")),
        "{run:?}"
    );
    let run = kyv(admin, &[&["diff", "-o", "summary"][..], &all].concat());
    assert!(
        run.stdout.ends_with("6 objects, 6 would change; server dry run: 5 accepted, 1 refused\n"),
        "{run:?}"
    );
    let tape = policies.path("tape");
    let tape = tape.to_str().expect("a plain path");
    let json = kyv(admin, &[&["diff", "-o", "json", "--record", tape][..], &all].concat());
    let value: Value = serde_json::from_str(&json.stdout).expect("it prints JSON");
    assert_eq!(value["objects"][0]["server"]["verdict"], "refused");
    assert_eq!(value["objects"][0]["server"]["message"], words);
    assert_eq!(value["objects"][1]["server"], serde_json::json!({"verdict": "accepted", "patch": []}));
    assert_eq!(value["summary"]["serverDryRun"]["refused"], 1);

    // The same again, without the server.
    let requests = logged_requests(&server).len();
    let replayed = kyv(admin, &[&["diff", "-o", "json", "--replay", tape][..], &all].concat());
    assert_eq!((replayed.code, &replayed.stdout), (json.code, &json.stdout), "{replayed:?}");
    assert_eq!(logged_requests(&server).len(), requests);

    // What its own validation refuses.
    let negative = policies.argument("replicas");
    let text = fs::read_to_string(&negative).expect("it can be read").replace("replicas: 3", "replicas: -3");
    fs::write(policies.path("negative"), text).expect("the folder takes files");
    let negative = policies.argument("negative");
    let run = kyv(admin, &["diff", "deploy", "-n", "web", "-p", &negative, "--server-dry-run"]);
    let words = "Deployment.apps \"site\" is invalid: spec.replicas: Invalid value: -3: must be greater than or equal to 0";
    assert!(run.code == Some(3) && run.stdout.contains(words), "{run:?}");

    // An object that is to be another one.
    for (what, patch) in [
        ("name", "metadata: {name: other}"),
        ("namespace", "metadata: {namespace: back}"),
        ("uid", "metadata: {uid: other}"),
        ("kind", "kind: Barrow"),
    ] {
        let mutate = format!("patchStrategicMerge: {{{patch}}}");
        let other = mutate_existing_rule(&policies, "other", "kinds: [ConfigMap], names: [a]", &mutate);
        let run = kyv(admin, &["diff", "cm", "a", "-n", "web", "-p", &other, "--server-dry-run"]);
        assert!(run.code == Some(3) && run.stderr.contains(" 1 refused"), "{what}: {run:?}");
    }

    // Manifests: one is there, one is not, and gets its defaults.
    let path = policies.path("manifests");
    let manifests = path.to_str().expect("a plain path");
    let stored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: new}}\n";
    let fresh = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: new, namespace: web}, spec: {selector: {matchLabels: \
                 {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [{name: x, image: x:1}]}}}}\n";
    fs::write(&path, format!("{stored}---\n{fresh}")).expect("the folder takes files");
    let replicas = policies.argument("replicas");
    let run =
        kyv(admin, &["diff", "-f", manifests, "--live", "-p", &team, "-p", &replicas, "--server-dry-run"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(run.stderr.contains("server dry run: 2 accepted ("), "{run:?}");
    let (ours, theirs) =
        run.stdout.split_once("+++ Deployment/web/new\tas the API server would store it\n").expect("changes");
    let made = fresh.replace("}]}}}}", "}]}}, replicas: 3}}");
    assert!(ours.contains(&format!("\n-{fresh}+{made}")), "{ours}");
    assert!(theirs.contains("+  revisionHistoryLimit: 10\n"), "{run:?}");

    // The values of Secrets are shown of neither state, and a recording has none: whether the rule changes one is unknown.
    let secret = policies.argument("secret");
    let run =
        kyv(admin, &["diff", "secrets", "-n", "web", "-p", &secret, "--server-dry-run", "--record", tape]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let replayed =
        kyv(admin, &["diff", "secrets", "-n", "web", "-p", &secret, "--server-dry-run", "--replay", tape]);
    let words = [
        "error[KYV324]: ",
        "secret/r: not replayable: the rule needs values of the Secret web/login",
        "  on Secret/web/login ",
    ];
    assert!(
        replayed.code == Some(3) && words.iter().all(|words| replayed.stderr.contains(words)),
        "{replayed:?}"
    );
    let files = fs::read_dir(tape).expect("a folder");
    let files: String =
        files.map(|entry| fs::read_to_string(entry.expect("a file").path()).expect("text")).collect();
    for hidden in ["b2xkLXRva2Vu", "a2VlcC1tZQ==", "bmV3", "old-token"] {
        assert!(!run.stdout.contains(hidden) && !files.contains(hidden), "{hidden}");
    }

    // Without the right to write the result is unknown.
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let one = ["diff", "cm", "a", "-n", "web", "-p", &team, "--server-dry-run"];
    let run = kyv(server.kubeconfig_without_rights(), &one);
    let words = "the API server does not report whether it accepts it: configmaps \"a\" is forbidden: User \"nobody-special\" cannot \
                 update resource \"configmaps\" in API group \"\" in the namespace \"web\"";
    assert!(run.code == Some(4) && run.stderr.contains(words) && run.stdout.contains(words), "{run:?}");

    // Nothing was written, and nothing that could write was ever sent.
    assert_eq!(held(&server), before);
    let mut tried = 0;
    for (verb, path) in logged_requests(&server) {
        match &*verb {
            "get" | "list" => {}
            "create" | "update" | "patch" => {
                tried += 1;
                assert!(path.contains("?dryRun=All&fieldManager=kubectl-kyv&"), "{verb} {path}");
            }
            _ => panic!("{verb} {path}"),
        }
    }
    assert!(tried > 20, "{tried}");
}
