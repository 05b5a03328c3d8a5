//! Manifests, evaluated in the cluster.

use std::fs;

use serde_json::Value;

use super::{Policies, changed_objects, kyv, logged_requests, server_with_objects};

#[test]
fn manifests_are_evaluated_against_the_cluster() {
    if test_support::skip_without_real_programs("manifests in a real cluster") {
        return;
    }
    let server = server_with_objects();
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
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    let run = kyv(admin, &["diff", "-f", manifests, "-p", &front]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "a cluster is named and not asked: {run:?}");

    // What is stored makes an update, and is the old object.
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &policies.argument("create")]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/back/new"]), "{run:?}");
    let old = policies.write(
        "old",
        "context: [{name: other, configMap: {name: z, namespace: back}}]\n    \
         preconditions: {all: [{key: '{{ request.oldObject.data.k || `\"none\"` }}', operator: Equals, value: a}]}\n    \
         mutate: {patchStrategicMerge: {data: {was: '{{ request.oldObject.data.k }}', other: '{{ other.data.k }}'}}}",
    );
    let run = kyv(admin, &["diff", "-f", manifests, "--live", "-p", &old]);
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    assert!(run.stdout.contains("was: a") && run.stdout.contains("other: z"), "{run:?}");
    let reads = logged_requests(&server)
        .into_iter()
        .filter(|(_, path)| path.ends_with("/namespaces/back/configmaps/z"));
    assert_eq!(reads.count(), 1);

    // Stored objects that may not be read are reported.
    let run = kyv(
        server.kubeconfig_without_rights(),
        &["diff", "-f", manifests, "--live", "-p", &policies.argument("team")],
    );
    assert_eq!(run.code, Some(4), "{run:?}");
    assert!(
        run.stderr.contains("error[KYV503]: Error from server (Forbidden): configmaps \"a\" is forbidden"),
        "{run:?}"
    );

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
    let mark = "# incomplete: not looked up: /api/v1/nodes\n";
    assert_eq!((run.code, &*run.stdout), (Some(4), mark), "{run:?}");
    assert!(
        run.stderr.contains("error[KYV513]: the result is incomplete: not looked up: /api/v1/nodes\n"),
        "{run:?}"
    );
    let words = "GET /api/v1/nodes: nodes is forbidden: \
                 User \"nobody-special\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    let is_grouped =
        run.stderr.contains("  on 2 objects, first: ConfigMap/") && run.stderr.matches(words).count() == 1;
    assert!(is_grouped, "{run:?}");
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

    for (verb, path) in logged_requests(&server) {
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

/// Objects of a kind and in namespaces that the cluster does not have.
const STRANGERS: &str = "
apiVersion: example.com/v1
kind: Gadget
metadata: {name: w, namespace: nowhere}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: x, namespace: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x, namespace: nowhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {generateName: x-, namespace: elsewhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: y, namespace: nowhere}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: web}
";

#[test]
fn missing_namespaces_and_kinds_are_reported_once() {
    if test_support::skip_without_real_programs("manifests that a real cluster has no place for") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let admin = server.kubeconfig();
    let manifests = policies.argument("manifests");
    let write = |text: &str| fs::write(&manifests, text).expect("the folder takes files");
    write(STRANGERS);
    let notes = |run: &super::Run| -> Vec<String> {
        let notes = run.stderr.lines().filter(|line| line.starts_with("note[") || line.starts_with("error["));
        notes.map(str::to_owned).collect()
    };
    let kind = "the cluster has no kind Gadget (example.com/v1): such objects are evaluated as new ones, and for custom kinds only --crds says how their lists merge";
    let places = "the cluster has no namespace elsewhere, nowhere: its objects are evaluated as new ones, and the namespace has no labels unless --values sets them";
    let (team, front) = (policies.argument("team"), policies.argument("front"));
    let diff = ["diff", "-f", &manifests, "--live", "-p"];
    let run = kyv(admin, &[&diff[..], &[&team]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(notes(&run), [format!("note[KYV517]: {kind}"), format!("note[KYV517]: {places}")], "{run:?}");
    let asked_for =
        |path: &str| logged_requests(&server).into_iter().filter(|(_, asked)| asked == path).count();
    assert_eq!(asked_for("/api/v1/namespaces/nowhere"), 1);
    assert_eq!(asked_for("/api/v1/namespaces/web"), 0, "something was found in it");

    // Missing labels are not looked up a second time.
    let run = kyv(admin, &[&diff[..], &[&front]].concat());
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/web/a"]), "{run:?}");
    assert_eq!(notes(&run), [format!("note[KYV517]: {kind}"), format!("note[KYV517]: {places}")], "{run:?}");

    // Strictly speaking it was not compared with anything.
    let run = kyv(admin, &[&diff[..], &[&team, "--strict"]].concat());
    let strict = [format!("error[KYV517]: {kind} (--strict)"), format!("error[KYV517]: {places} (--strict)")];
    assert_eq!((run.code, notes(&run)), (Some(3), strict.to_vec()), "{run:?}");

    // What the API server says of both.
    let apply = server.kubectl_with(&["apply", "--dry-run=server", "-f", &manifests], "");
    let words = String::from_utf8_lossy(&apply.stderr).into_owned();
    assert!(words.contains("no matches for kind \"Gadget\" in version \"example.com/v1\""), "{words}");
    assert!(words.contains("namespaces \"nowhere\" not found"), "{words}");

    // A namespace may come with what is in it.
    write(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: nowhere}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: nowhere, labels: {tier: front}}}\n",
    );
    let run = kyv(admin, &[&diff[..], &[&front]].concat());
    assert_eq!((run.code, changed_objects(&run.stdout)), (Some(1), vec!["ConfigMap/nowhere/x"]), "{run:?}");
    assert_eq!(notes(&run), [""; 0], "{run:?}");

    // A recording says the same.
    write(STRANGERS);
    let tape = policies.path("tape").display().to_string();
    let recorded = kyv(admin, &[&diff[..], &[&front, "--record", &tape]].concat());
    let replayed = kyv(admin, &[&diff[..], &[&front, "--replay", &tape]].concat());
    assert_eq!(
        (replayed.code, &replayed.stdout, &replayed.stderr),
        (recorded.code, &recorded.stdout, &recorded.stderr)
    );
}
