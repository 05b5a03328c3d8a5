//! Reports of policies, applied with the definitions of their kinds by the real kubectl.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};
use test_support::api_server::ApiServer;
use test_support::skip_without_real_programs;

#[test]
fn the_api_server_stores_each_report_as_it_is() {
    if skip_without_real_programs("reports of policies") {
        return;
    }
    let server = ApiServer::start();
    for folder in [
        test_support::module("kyverno", "github.com/kyverno/kyverno").join("config/crds/policyreport"),
        test_support::module("kyverno", "github.com/openreports/reports-api").join("config/crd"),
    ] {
        for entry in fs::read_dir(&folder).expect("the folder of the definitions") {
            let path = entry.expect("an entry").path();
            let text = fs::read_to_string(&path).expect("a definition");
            if text.contains("kind: CustomResourceDefinition") {
                server.kubectl_ok(&["create", "-f", "-"], &text);
            }
        }
    }
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd", "--all"], "");
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write(
        "policy.yaml",
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: labels}\nspec:\n  rules:\n  \
         - name: owner\n    match: {any: [{resources: {kinds: [ConfigMap, Namespace]}}]}\n    \
         mutate: {patchStrategicMerge: {metadata: {labels: {+(owner): shop}}}}\n  \
         - name: size\n    match: {any: [{resources: {kinds: [ConfigMap]}}]}\n    \
         mutate: {patchStrategicMerge: {data: {size: '{{ to_upper(request.object.data.size) }}'}}}\n",
    );
    write(
        "objects.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: default}\ndata: {size: a}\n---\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata: {name: two}\n---\n\
         apiVersion: v1\nkind: Namespace\nmetadata: {name: default}\n",
    );
    for (format, kinds) in [
        ("policyreport", ["policyreports.wgpolicyk8s.io", "clusterpolicyreports.wgpolicyk8s.io"]),
        ("openreports", ["reports.openreports.io", "clusterreports.openreports.io"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .args(["diff", "-p", "policy.yaml", "-f", "objects.yaml", "-o", format])
            .current_dir(folder.path())
            .env_clear()
            .output()
            .expect("the program starts");
        let reports = String::from_utf8(output.stdout).expect("text");
        let applied = server.kubectl_ok(&["apply", "--validate=strict", "-f", "-"], &reports);
        assert_eq!(applied.lines().count(), 3, "{applied}");
        let list = |kind: &str| -> Vec<Value> {
            let text = server.kubectl_ok(&["get", kind, "-A", "-o", "json"], "");
            let list: Value = serde_json::from_str(&text).expect("kubectl prints JSON");
            list["items"].as_array().expect("a list").clone()
        };
        let [namespaced, of_cluster] = kinds.map(list);
        let mut names: Vec<_> = namespaced.iter().map(|report| report["scope"]["name"].clone()).collect();
        names.sort_by_key(ToString::to_string);
        assert_eq!(names, ["one", "two"], "{namespaced:?}");
        assert_eq!(
            of_cluster[0]["scope"],
            json!({"apiVersion": "v1", "kind": "Namespace", "name": "default"})
        );
        assert_eq!(of_cluster[0]["summary"], json!({"pass": 0, "fail": 1, "warn": 0, "error": 0, "skip": 0}));
        // A later run replaces the reports.
        let again = server.kubectl_ok(&["apply", "--validate=strict", "-f", "-"], &reports);
        assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    }
}
