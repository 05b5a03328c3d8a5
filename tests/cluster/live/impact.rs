//! The impact of changes on live objects.

use serde_json::{Value, json};

use super::{Policies, kyv, mutate_existing_rule, server_with_objects};

/// Objects whose fields may not all change.
const FIXED: &str = "
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: web}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: web}
spec: {activeDeadlineSeconds: 10, automountServiceAccountToken: false, containers: [{name: c, image: 'i:1'}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s, namespace: web}
spec:
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: c, image: 'i:1'}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: web}
spec:
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: 'i:1'}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: j, namespace: web}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'i:1'}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: w, namespace: web}
spec: {suspend: true, completionMode: Indexed, completions: 2, parallelism: 2, template: {spec: {restartPolicy: Never, containers: [{name: c, image: 'i:1'}]}}}
---
apiVersion: v1
kind: Service
metadata: {name: v, namespace: web}
spec: {ports: [{port: 80}], selector: {app: s}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c, namespace: web}
spec: {storageClassName: x, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: v}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /a}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sealed, namespace: web}
immutable: true
data: {k: v}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: b, namespace: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: []
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: x}
provisioner: example.com/x
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: i}
spec: {controller: example.com/i}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: r}
handler: runc
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 10
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: e, namespace: web}
addressType: IPv4
endpoints: []
";

/// A kind, a name, a change, and whether the API server refuses it.
const CHANGES: [(&str, &str, &str, bool); 41] = [
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"c","image":"i:2"}]}}"#, false),
    ("Pod", "p", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("Pod", "p", r#"{"spec":{"activeDeadlineSeconds":5}}"#, false),
    ("Pod", "p", r#"{"spec":{"activeDeadlineSeconds":20}}"#, true),
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"b"}]}]}}"#, true),
    ("Pod", "p", r#"{"spec":{"containers":[{"name":"d","image":"i:1"}]}}"#, true),
    ("Pod", "p", r#"{"spec":{"terminationGracePeriodSeconds":5}}"#, true),
    ("Pod", "p", r#"{"spec":{"hostNetwork":true}}"#, true),
    ("Deployment", "site", r#"{"spec":{"replicas":2}}"#, false),
    ("Deployment", "site", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    (
        "Deployment",
        "site",
        r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        true,
    ),
    ("DaemonSet", "d", r#"{"spec":{"minReadySeconds":2}}"#, false),
    (
        "DaemonSet",
        "d",
        r#"{"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}}}}}"#,
        true,
    ),
    ("StatefulSet", "s", r#"{"spec":{"minReadySeconds":2}}"#, false),
    ("StatefulSet", "s", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    ("StatefulSet", "s", r#"{"spec":{"serviceName":"other"}}"#, true),
    ("StatefulSet", "s", r#"{"spec":{"podManagementPolicy":"Parallel"}}"#, true),
    ("Job", "j", r#"{"spec":{"backoffLimit":3}}"#, false),
    ("Job", "j", r#"{"spec":{"completions":2}}"#, true),
    ("Job", "j", r#"{"spec":{"template":{"spec":{"hostNetwork":true}}}}"#, true),
    ("Job", "j", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, true),
    ("Job", "w", r#"{"spec":{"completions":3,"parallelism":3}}"#, false),
    ("Job", "w", r#"{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}"#, false),
    ("Job", "w", r#"{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}"#, false),
    ("Service", "v", r#"{"spec":{"sessionAffinity":"ClientIP"}}"#, false),
    ("Service", "v", r#"{"spec":{"clusterIP":"10.0.0.77"}}"#, true),
    ("PersistentVolumeClaim", "c", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("PersistentVolumeClaim", "c", r#"{"spec":{"storageClassName":"y"}}"#, true),
    ("PersistentVolumeClaim", "c", r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#, true),
    ("PersistentVolume", "v", r#"{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}"#, false),
    ("PersistentVolume", "v", r#"{"spec":{"hostPath":{"path":"/b"}}}"#, true),
    ("ConfigMap", "sealed", r#"{"metadata":{"labels":{"a":"b"}}}"#, false),
    ("ConfigMap", "sealed", r#"{"data":{"k":"w"}}"#, true),
    ("Secret", "login", r#"{"type":"example.com/other"}"#, true),
    ("RoleBinding", "b", r#"{"roleRef":{"name":"edit"}}"#, true),
    ("StorageClass", "x", r#"{"allowVolumeExpansion":true}"#, false),
    ("StorageClass", "x", r#"{"provisioner":"example.com/y"}"#, true),
    ("IngressClass", "i", r#"{"spec":{"controller":"example.com/j"}}"#, true),
    ("RuntimeClass", "r", r#"{"handler":"gvisor"}"#, true),
    ("PriorityClass", "high", r#"{"value":11}"#, true),
    ("EndpointSlice", "e", r#"{"addressType":"IPv6"}"#, true),
];

#[test]
fn immutable_changes_are_reported_before_apply() {
    if test_support::skip_without_real_programs("fields that may not change") {
        return;
    }
    let server = server_with_objects();
    server.kubectl_ok(&["apply", "-f", "-"], FIXED);
    let policies = Policies::new();
    let mut wrong = Vec::new();
    for (kind, name, patch, is_refused) in CHANGES {
        let policy = mutate_existing_rule(
            &policies,
            "change",
            &format!("kinds: [{kind}], names: [{name}]"),
            &format!("patchStrategicMerge: {patch}"),
        );
        let run = kyv(server.kubeconfig(), &["diff", kind, name, "-n", "web", "-p", &policy, "-o", "json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap_or_default();
        let said = (&report["summary"]["changed"], &report["summary"]["impact"]["immutable"]["objects"]);
        let arguments = ["patch", kind, name, "-n", "web", "--dry-run=server", "-p", patch];
        let kubectl = server.kubectl_with(&arguments, "");
        let words = String::from_utf8_lossy(&kubectl.stderr).into_owned();
        let expected = (&Value::from(1), &Value::from(usize::from(is_refused)));
        if kubectl.status.success() == is_refused || said != expected {
            wrong.push(format!("{kind} {patch}: said {said:?}, kubectl: {words}; {}", run.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A policy that lets Pods use their host's network; what else it changes comes after.
fn on_the_host(policies: &Policies, fields: &str, labels: &str) -> String {
    let patch = format!("spec: {{{fields}template: {{{labels}spec: {{hostNetwork: true}}}}}}");
    mutate_existing_rule(
        policies,
        "host",
        "kinds: [Deployment]",
        &format!("patchStrategicMerge: {{{patch}}}"),
    )
}

#[test]
fn summary_reports_impact() {
    if test_support::skip_without_real_programs("what changes mean") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let host = on_the_host(&policies, "", "");
    let team = policies.argument("team");
    let base = ["diff", "deploy,cm", "-n", "web", "-p", &host, "-p", &team, "-o"];
    let run = kyv(server.kubeconfig(), &[&base[..], &["summary"]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    let end = "6 objects, 6 would change\n\n\
               rollout: 1 object would restart what it runs\n  Deployment/web/site\n\n\
               privilege: 1 object would be allowed more than before\n  \
               Deployment/web/site (spec.template.spec.hostNetwork)\n";
    assert!(run.stdout.ends_with(end), "{run:?}");
    assert!(run.stdout.contains("ERRORS   ROLLOUT   PRIVILEGE\n"), "{run:?}");
    let run = kyv(server.kubeconfig(), &[&base[..], &["markdown"]].concat());
    for words in [
        "**rollout: 1 object would restart what it runs**\n\n* Deployment/web/site\n",
        "| Errors | Rollout | Privilege |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
        "| host | r | Deployment | web | 1 | 0 | 0 | 0 | 0 | 1 | 1 |\n",
    ] {
        assert!(run.stdout.contains(words), "{words} {run:?}");
    }
    let run = kyv(server.kubeconfig(), &[&base[..], &["json"]].concat());
    let report: Value = serde_json::from_str(&run.stdout).expect("it is JSON");
    let summary = &report["summary"];
    assert_eq!(summary["impact"]["rollout"]["first"][0]["name"], "site", "{run:?}");
    assert_eq!(summary["impact"]["privilege"]["first"][0]["paths"][0], "/spec/template/spec/hostNetwork");
    assert_eq!(summary["unchanged"], 0);
    let site =
        report["objects"].as_array().expect("objects").iter().find(|row| row["object"]["name"] == "site");
    assert_eq!(site.expect("it is told")["impact"]["rollout"], true, "{run:?}");
}

#[test]
fn explain_reports_impact() {
    if test_support::skip_without_real_programs("what changes of live objects mean") {
        return;
    }
    let server = server_with_objects();
    let policies = Policies::new();
    let host = on_the_host(&policies, "selector: {matchLabels: {a: b}}, ", "metadata: {labels: {a: b}}, ");
    let replicas = policies.argument("replicas");
    let explain = ["explain", "deploy", "site", "-n", "web", "-p", &replicas];
    let run = kyv(server.kubeconfig(), &explain);
    assert_eq!(run.code, Some(0), "{run:?}");
    for word in ["ROLLOUT", "IMMUTABLE", "PRIVILEGE"] {
        assert!(!run.stdout.contains(word), "{run:?}");
    }
    let both = [&explain[..], &["-p", &host]].concat();
    let run = kyv(server.kubeconfig(), &both);
    for line in [
        "\n  ROLLOUT        what it runs would be restarted\n",
        "\n  IMMUTABLE      the API server would refuse the update, these may not change:\n                 spec.selector.matchLabels.a\n",
        "\n  PRIVILEGE      it would be allowed more than before:\n                 spec.template.spec.hostNetwork\n",
    ] {
        assert!(run.stdout.contains(line), "{line}{}", run.stdout);
    }
    let run = kyv(server.kubeconfig(), &[&both[..], &["-o", "json"]].concat());
    let told: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
    let expected = json!({
        "rollout": true,
        "immutable": ["/spec/selector/matchLabels/a"],
        "privilege": ["/spec/template/spec/hostNetwork"],
    });
    assert_eq!(told["objects"][0]["impact"], expected, "{run:?}");
    // What one rule of several does is no change of its own.
    let run = kyv(server.kubeconfig(), &[&both[..], &["--rule", "host"]].concat());
    assert!(!run.stdout.contains("ROLLOUT"), "{run:?}");
}

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";

#[test]
fn immutable_fields_of_custom_resource_definitions() {
    if test_support::skip_without_real_programs("definitions of custom resources on a real API server") {
        return;
    }
    let server = test_support::api_server::ApiServer::start();
    let policies = Policies::new();
    server.kubectl_ok(&["apply", "-f", "-"], DEFINITION);
    server
        .kubectl_ok(&["wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s"], "");
    for (spec, place) in [
        ("group: example.org", Some("/spec/group")),
        ("scope: Cluster", Some("/spec/scope")),
        ("names: {kind: Other}", Some("/spec/names/kind")),
        ("names: {plural: others}", Some("/spec/names/plural")),
        ("names: {singular: other}", None),
        ("names: {listKind: OtherList}", None),
        ("names: {shortNames: [wd]}", None),
    ] {
        let mutate = format!("patchStrategicMerge: {{spec: {{{spec}}}}}");
        let policy =
            mutate_existing_rule(&policies, "definition", "kinds: [CustomResourceDefinition]", &mutate);
        let run = kyv(
            server.kubeconfig(),
            &["diff", "crd", "widgets.example.com", "-p", &policy, "--server-dry-run", "-o", "json"],
        );
        let report: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
        let object = &report["objects"][0];
        let places: Vec<&str> = place.into_iter().collect();
        let told = object["impact"]["immutable"].as_array().cloned().unwrap_or_default();
        assert_eq!(json!(told), json!(places), "{spec} {object}");
        let verdict = if place.is_some() { "refused" } else { "accepted" };
        assert_eq!(object["server"]["verdict"], verdict, "{spec} {object}");
    }
}

const RESTRICTED: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: tight, labels: {pod-security.kubernetes.io/enforce: restricted}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: tight}
";

const TIGHT: &str = "
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: tight}
spec:
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers: [{name: c, image: 'i:1', securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]
";

#[test]
fn pod_security_findings_match_the_api_server() {
    if test_support::skip_without_real_programs("Pod security on a real API server") {
        return;
    }
    let server = test_support::api_server::ApiServer::start();
    let policies = Policies::new();
    server.kubectl_ok(&["apply", "-f", "-"], RESTRICTED);
    let manifest = policies.path("pod");
    std::fs::write(&manifest, TIGHT).expect("the folder takes files");
    let whole = "allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}";
    for (change, is_refused) in [
        ("metadata: {labels: {a: b}}".to_owned(), false),
        ("spec: {containers: [{name: d, image: 'i:1'}]}".to_owned(), true),
        (format!("spec: {{containers: [{{name: d, image: 'i:1', securityContext: {{{whole}}}}}]}}"), false),
        (
            format!("spec: {{initContainers: [{{name: d, image: 'i:1', securityContext: {{{whole}, runAsNonRoot: false}}}}]}}"),
            true,
        ),
        ("spec: {initContainers: [{name: d, image: 'i:1', securityContext: {capabilities: {drop: [ALL]}}}]}".to_owned(), true),
        ("spec: {containers: [{name: c, securityContext: {runAsNonRoot: false}}]}".to_owned(), true),
        ("spec: {containers: [{name: c, securityContext: {seccompProfile: {type: Unconfined}}}]}".to_owned(), true),
        ("spec: {securityContext: {seccompProfile: {type: Localhost, localhostProfile: x}}}".to_owned(), false),
        ("spec: {securityContext: {runAsNonRoot: null}}".to_owned(), true),
        ("spec: {securityContext: {runAsUser: 0}}".to_owned(), true),
    ] {
        let mutate = format!("patchStrategicMerge: {{{change}}}");
        let policy = mutate_existing_rule(&policies, "pods", "kinds: [Pod]", &mutate);
        let file = manifest.to_str().expect("a plain path");
        let run = kyv(
            server.kubeconfig(),
            &["diff", "-f", file, "--live", "-p", &policy, "--server-dry-run", "-o", "json"],
        );
        let report: Value = serde_json::from_str(&run.stdout).expect("it prints JSON");
        let object = &report["objects"][0];
        let verdict = if is_refused { "refused" } else { "accepted" };
        assert_eq!(object["server"]["verdict"], verdict, "{change} {object}");
        let told = object["impact"]["privilege"].as_array().is_some_and(|told| !told.is_empty());
        assert_eq!(told, is_refused, "{change} {object}");
    }
}
