//! Manifests, evaluated in the cluster.

use std::fs;

use serde_json::Value;

use super::{Policies, asked, changed, filled, kyv, rig};

#[test]
fn manifests_are_evaluated_in_the_cluster() {
    if rig::left_out("manifests in a real cluster") {
        return;
    }
    let server = filled();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let path = policies.path("manifests");
    let manifests = path.to_str().expect("a plain path");
    let write = |text: &str| fs::write(&path, text).expect("the folder takes files");
    let stored = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: web}, data: {k: new}}\n";
    let fresh = "{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: back}}\n";
    write(&format!("{stored}---\n{fresh}"));

    // The labels of the live namespaces decide, and nothing is known of them without the cluster.
    let front = policies.argument("front");
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &front]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    let run = kyv(admin, &["diff", "-f", manifests, "-p", &front]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "a cluster is named and not asked: {run:?}");

    // What is stored makes an update, and is the old object.
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &policies.argument("create")]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/back/new"]), "{run:?}");
    let old = policies.write(
        "old",
        "context: [{name: other, configMap: {name: z, namespace: back}}]\n    \
         preconditions: {all: [{key: '{{ request.oldObject.data.k || `\"none\"` }}', operator: Equals, value: a}]}\n    \
         mutate: {patchStrategicMerge: {data: {was: '{{ request.oldObject.data.k }}', other: '{{ other.data.k }}'}}}",
    );
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &old]);
    assert_eq!((run.code, changed(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    assert!(run.stdout.contains("was: a") && run.stdout.contains("other: z"), "{run:?}");
    let reads =
        asked(&server).into_iter().filter(|(_, path)| path.ends_with("/namespaces/back/configmaps/z"));
    assert_eq!(reads.count(), 1);

    // Who may not read what is stored is told so.
    let run = kyv(
        server.kubeconfig_without_rights(),
        &["diff", "-f", manifests, "--live", "-p", &policies.argument("team")],
    );
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(run.stderr.contains("Error from server (Forbidden): configmaps \"a\" is forbidden"), "{run:?}");

    // A call that is refused is an error of its rule.
    let call = policies.write(
        "call",
        "context: [{name: nodes, apiCall: {urlPath: /api/v1/nodes, jmesPath: 'length(items)'}}]\n    \
         mutate: {patchStrategicMerge: {data: {nodes: '{{ nodes }}'}}}",
    );
    server.kubectl_ok(&["create", "clusterrole", "reader", "--verb=get,list", "--resource=configmaps"], "");
    server.kubectl_ok(
        &["create", "clusterrolebinding", "reader", "--clusterrole=reader", "--user=nobody-special"],
        "",
    );
    let run = kyv(server.kubeconfig_without_rights(), &["diff", "-f", manifests, "--live", "-p", &call]);
    assert_eq!((run.code, &*run.stdout), (Some(4), ""), "{run:?}");
    assert!(
        run.stderr.contains("error: the answer is incomplete: not looked up: /api/v1/nodes\n"),
        "{run:?}"
    );
    let words = "failed to fetch data for APICall: failed to GET resource with raw url: /api/v1/nodes: nodes is forbidden: \
                 User \"nobody-special\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    assert_eq!(run.stderr.matches(words).count(), 2, "{run:?}");
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &call]);
    assert_eq!((run.code, run.stdout.matches("nodes: ").count()), (Some(1), 2), "{run:?}");

    // Schemas of custom resources say how their lists merge.
    server.kubectl_ok(&["apply", "-f", "-"], CRD);
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/widgets.example.com"], "");
    write(
        "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: web}, spec: {parts: [{id: a, size: 1}, {id: b, size: 1}]}}\n",
    );
    let widget =
        policies.write("widget", "mutate: {patchStrategicMerge: {spec: {parts: [{id: b, size: 2}]}}}");
    let text = fs::read_to_string(&widget).expect("it can be read").replace("[ConfigMap]", "[Widget]");
    fs::write(&widget, text).expect("the folder takes files");
    let run = kyv(admin, &["mutate", "-f", manifests, "--live", "-p", &widget, "-o", "json"]);
    let result: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let parts = result["spec"]["parts"].as_array().expect("a list");
    let mut sizes: Vec<_> = parts.iter().map(|part| (part["id"].as_str(), part["size"].as_u64())).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [(Some("a"), Some(1)), (Some("b"), Some(2))], "{run:?}");

    for (verb, path) in asked(&server) {
        assert!(matches!(&*verb, "get" | "list"), "{verb} {path}");
    }
}

/// A kind whose lists merge by a key of their own.
pub(crate) const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items: {type: object, required: [id], properties: {id: {type: string}, size: {type: integer}}}
";
