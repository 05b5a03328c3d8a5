//! The output of `mutate` for live objects, applied by the real kubectl.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::{Policies, kyv, logged_requests, server_with_objects};
use test_support::api_server::ApiServer;

/// A template of Pods.
const TEMPLATE: &str = "template:\n    metadata: {labels: {app: x}}\n    spec:\n      containers:\n      - {name: main, image: 'shop/main:1', ports: [{containerPort: 80}]}\n      - {name: side, image: 'shop/side:1', resources: {limits: {cpu: '1', memory: 1Gi}}}\n";

/// The kinds of the objects: apiVersion, kind, the name that kubectl takes, and what follows the metadata.
const KINDS: [(&str, &str, &str, &str); 17] = [
    ("v1", "ConfigMap", "configmaps", "data: {level: low, 'other.txt': \"a\\nb\\n\"}\n"),
    ("v1", "Secret", "secrets", "type: Opaque\ndata: {token: b2xk}\n"),
    ("v1", "Service", "services", "spec: {selector: {app: x}, ports: [{port: 80}]}\n"),
    ("v1", "ServiceAccount", "serviceaccounts", ""),
    ("v1", "LimitRange", "limitranges", "spec: {limits: [{type: Container, max: {cpu: '8'}}]}\n"),
    (
        "v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
    ),
    ("apps/v1", "Deployment", "deployments", "spec:\n  replicas: 2\n  selector: {matchLabels: {app: x}}\n  "),
    ("apps/v1", "StatefulSet", "statefulsets", "spec:\n  selector: {matchLabels: {app: x}}\n  "),
    ("apps/v1", "DaemonSet", "daemonsets", "spec:\n  selector: {matchLabels: {app: x}}\n  "),
    (
        "batch/v1",
        "CronJob",
        "cronjobs",
        "spec:\n  schedule: '0 3 * * *'\n  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'shop/main:1'}]}}}}\n",
    ),
    (
        "batch/v1",
        "Job",
        "jobs",
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: 'shop/main:1'}]}}}\n",
    ),
    (
        "networking.k8s.io/v1",
        "Ingress",
        "ingresses",
        "spec: {rules: [{host: a.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: x, port: {number: 80}}}}]}}]}\n",
    ),
    (
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "networkpolicies",
        "spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}]}\n",
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        "spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}}\n",
    ),
    (
        "rbac.authorization.k8s.io/v1",
        "Role",
        "roles",
        "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]\n",
    ),
    (
        "policy/v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        "spec: {minAvailable: 1, selector: {matchLabels: {app: x}}}\n",
    ),
    ("example.com/v1", "Widget", "widgets", "spec: {parts: [{id: a, size: 1}, {id: b, size: 1}]}\n"),
];

/// So many objects are stored of each kind: 51 in all.
const EACH: usize = 3;

/// What changes: metadata everywhere, and something else of most kinds, values that are there and new ones.
const POLICIES: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: everything}
spec:
  background: false
  rules:
  - name: owner
    match: {any: [{resources: {kinds: ['*'], namespaces: [shop]}}]}
    mutate:
      patchStrategicMerge:
        metadata: {labels: {owner: team-a}, annotations: {example.com/checked: 'yes'}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: workloads}
spec:
  rules:
  - name: pods
    match: {any: [{resources: {kinds: [Deployment, StatefulSet, DaemonSet]}}]}
    mutate:
      patchStrategicMerge:
        spec:
          template:
            spec:
              +(priorityClassName): system-node-critical
              containers:
              - (name): '*'
                imagePullPolicy: Always
                securityContext: {allowPrivilegeEscalation: false}
  - name: image
    match: {any: [{resources: {kinds: [Deployment, StatefulSet, DaemonSet]}}]}
    mutate:
      foreach:
      - list: request.object.spec.template.spec.containers
        patchStrategicMerge:
          spec:
            template:
              spec:
                containers:
                - name: '{{ element.name }}'
                  image: 'mirror.example.com/{{ element.image }}'
  - name: schedule
    match: {any: [{resources: {kinds: [CronJob]}}]}
    mutate: {patchStrategicMerge: {spec: {schedule: '0 4 * * *', +(startingDeadlineSeconds): 60}}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: others}
spec:
  rules:
  - name: level
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}
    mutate:
      patchesJson6902: |-
        - {op: replace, path: /data/level, value: high}
        - {op: add, path: /data/more, value: 'yes: no'}
  - name: token
    match: {any: [{resources: {kinds: [Secret], namespaces: [shop]}}]}
    mutate: {patchStrategicMerge: {data: {token: bmV3}}}
  - name: affinity
    match: {any: [{resources: {kinds: [Service], namespaces: [shop]}}]}
    mutate: {patchStrategicMerge: {spec: {sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}}}}
  - name: parts
    match: {any: [{resources: {kinds: [Widget]}}]}
    mutate: {patchStrategicMerge: {spec: {parts: [{id: b, size: 2}]}}}
";

/// A server with the objects, each with the server's defaults and its managed fields, some with a status. Odd ones are
/// stored by server-side apply, the others by `kubectl create`.
fn stored() -> ApiServer {
    let server = server_with_objects();
    server.kubectl_ok(&["apply", "-f", "-"], super::manifests::CRD);
    server.kubectl_ok(&["wait", "--for=condition=Established", "crd/widgets.example.com"], "");
    server.kubectl_ok(&["create", "namespace", "shop"], "");
    let (mut applied, mut created) = (String::new(), String::new());
    for (version, kind, _, rest) in KINDS {
        for number in 0..EACH {
            let name = format!("{}-{number}", kind.to_lowercase());
            let text = if rest.ends_with("  ") { format!("{rest}{TEMPLATE}") } else { rest.to_owned() };
            let text = if kind == "StatefulSet" {
                text.replacen("spec:\n", "spec:\n  serviceName: x\n", 1)
            } else {
                text
            };
            let into = if number % 2 == 1 { &mut applied } else { &mut created };
            writeln!(
                into,
                "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop, labels: {{app: x}}}}\n{text}"
            )
            .expect("a String takes text");
        }
    }
    server.kubectl_ok(&["apply", "--server-side", "-f", "-"], &applied);
    server.kubectl_ok(&["create", "-f", "-"], &created);
    for name in ["deployment-0", "deployment-1"] {
        let status = r#"{"status":{"replicas":2,"readyReplicas":1,"observedGeneration":1}}"#;
        let patch = ["patch", "deployment", name, "-n", "shop", "--subresource=status", "--type=merge", "-p"];
        server.kubectl_ok(&[&patch[..], &[status]].concat(), "");
    }
    server
}

/// How many objects kubectl says it did something with, all of them in a dry run.
fn done(stdout: &str, what: &str) -> usize {
    let end = format!(" {what} (server dry run)");
    stdout.lines().filter(|line| line.ends_with(&end)).count()
}

#[test]
fn printed_live_objects_can_be_applied() {
    if test_support::skip_without_real_programs("live objects, changed and given back") {
        return;
    }
    let server = stored();
    let folder = Policies::new();
    fs::write(folder.path("all"), POLICIES).expect("the folder takes files");
    let policies = folder.argument("all");
    let kinds: Vec<&str> = KINDS.iter().map(|(.., plural, _)| *plural).collect();
    let kinds = kinds.join(",");
    let mutate = ["mutate", &*kinds, "-n", "shop", "-l", "app=x", "-p", &policies, "-o"];
    let print = |format: &str| {
        let run = kyv(server.kubeconfig(), &[&mutate[..], &[format]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    };
    let all = KINDS.len() * EACH;
    assert!(all >= 50);
    assert_eq!(print("name").lines().count(), all, "each of them changes");

    let apply = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    let forced = [&apply[..], &["--force-conflicts"]].concat();
    let replace = ["replace", "--dry-run=server", "-f", "-"];
    for format in ["yaml", "json"] {
        let text = print(format);
        assert!(!text.contains("managedFields") && !text.contains("readyReplicas"), "{text}");
        assert!(text.contains("resourceVersion"), "who changed it meanwhile is not overwritten");
        // Fields without another manager need no force.
        assert_eq!(done(&server.kubectl_ok(&forced, &text), "serverside-applied"), all, "{format}");
        assert_eq!(done(&server.kubectl_ok(&replace, &text), "replaced"), all, "{format}");
    }

    // Force is needed only if another manager owns a value that changes.
    let text = print("yaml");
    let plain = server.kubectl_with(&apply, &text);
    let taken = done(&String::from_utf8_lossy(&plain.stdout), "serverside-applied");
    let said = String::from_utf8_lossy(&plain.stderr).into_owned();
    let conflicts = said.matches("Apply failed with").count();
    assert_eq!(taken + conflicts, all, "{said}");
    for line in said.lines().filter(|line| line.contains("conflict with")) {
        assert!(line.contains("\"kubectl-create\""), "{line}");
    }
    // Two of three were created by another manager. Of these, kinds whose values only grow are included.
    let replaced =
        ["ConfigMap", "Secret", "Service", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Widget"];
    assert_eq!(conflicts, 2 * replaced.len(), "{said}");

    // The patches alone do the same.
    let whole: Value = serde_json::from_str(&print("json")).expect("it prints JSON");
    let whole = whole["items"].as_array().expect("a list");
    let patches = print("patch");
    assert_eq!(patches.lines().count(), all);
    for (line, whole) in patches.lines().zip(whole).step_by(7) {
        let line: Value = serde_json::from_str(line).expect("a line is JSON");
        let text = |name: &str| line[name].as_str().expect("a text").to_owned();
        let (kind, name, patch) = (text("kind"), text("name"), line["patch"].to_string());
        let arguments =
            ["patch", &kind, &name, "-n", "shop", "--type=json", "--dry-run=server", "-o", "json", "-p"];
        let stored = server.kubectl_ok(&[&arguments[..], &[&patch]].concat(), "");
        let stored: Value = serde_json::from_str(&stored).expect("kubectl prints JSON");
        for part in ["labels", "annotations"] {
            assert_eq!(stored["metadata"][part], whole["metadata"][part], "{kind} {name}");
        }
        for part in ["spec", "data"] {
            assert_eq!(stored[part], whole[part], "{kind} {name}");
        }
    }

    // The dry run before printing succeeds, and nothing is written.
    let run = kyv(server.kubeconfig(), &[&mutate[..], &["yaml", "--server-dry-run"]].concat());
    assert_eq!((run.code, run.stdout == text), (Some(0), true), "{}", run.stderr);
    let words = format!("; server dry run: {all} accepted");
    assert!(run.stderr.contains(&words), "{}", run.stderr);
    let mut tried = 0;
    for (verb, path) in logged_requests(&server) {
        match &*verb {
            "get" | "list" => {}
            "update" => {
                tried += 1;
                assert!(path.contains("?dryRun=All&fieldManager=kubectl-kyv&"), "{verb} {path}");
            }
            _ => panic!("{verb} {path}"),
        }
    }
    assert_eq!(tried, all);
}

#[test]
fn unappliable_objects_are_reported() {
    if test_support::skip_without_real_programs("refusals of what is printed") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let negative = policies.argument("replicas");
    let text = fs::read_to_string(&negative).expect("it can be read").replace("replicas: 3", "replicas: -3");
    fs::write(policies.path("negative"), text).expect("the folder takes files");
    let negative = policies.argument("negative");
    let words = "Deployment.apps \"site\" is invalid: spec.replicas: Invalid value: -3: must be greater than or equal to 0";
    for format in ["yaml", "json", "diff", "patch", "name"] {
        let base = ["mutate", "deploy", "-n", "web", "-p", &negative, "-o", format];
        let plain = kyv(server.kubeconfig(), &base);
        let run = kyv(server.kubeconfig(), &[&base[..], &["--server-dry-run"]].concat());
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains(words) && run.stderr.contains("1 refused"), "{run:?}");
        assert_eq!(
            format == "diff",
            run.stdout != plain.stdout,
            "{format}: the diff alone tells it, too: {run:?}"
        );
    }
    let run = kyv(server.kubeconfig(), &["mutate", "-f", &negative, "-p", &negative, "--server-dry-run"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("--live"), "{run:?}");
    let in_place = ["mutate", "-i", "--live", "-f", &negative, "-p", &negative, "--server-dry-run"];
    let run = kyv(server.kubeconfig(), &in_place);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
}
