//! Objects to fill a cluster with, and thirty policies that match their kinds.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// The number of namespaces.
pub const NAMESPACES: usize = 200;

/// The kinds that [`object`] makes, in turn.
pub const KINDS: [(&str, &str); 12] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("networking.k8s.io/v1", "Ingress"),
    ("rbac.authorization.k8s.io/v1", "Role"),
];

/// The name of a namespace.
pub fn namespace_name(number: usize) -> String {
    format!("team-{number:03}")
}

/// A namespace.
pub fn namespace(number: usize) -> Value {
    let tier = if number.is_multiple_of(2) { "front" } else { "back" };
    json!({"apiVersion": "v1", "kind": "Namespace",
           "metadata": {"name": namespace_name(number), "labels": {"tier": tier}}})
}

/// The object of a number; the kinds take turns.
pub fn object(number: usize) -> Value {
    let (version, kind) = KINDS[number % KINDS.len()];
    let name = format!("app-{number:05}");
    let labels = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop"});
    let containers = json!([
        {"name": "web", "image": if number.is_multiple_of(3) { "web:latest" } else { "web:1.27" },
         "env": [{"name": "LOG_LEVEL", "value": "info"}, {"name": "NUMBER", "value": number.to_string()}],
         "ports": [{"containerPort": 8080, "name": "http"}]},
        {"name": "metrics", "image": "registry.example/metrics:1.4",
         "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}},
    ]);
    let restarts = if kind.ends_with("Job") { "Never" } else { "Always" };
    let pod = json!({"containers": containers, "restartPolicy": restarts});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let selector = json!({"matchLabels": {"app.kubernetes.io/name": name}});
    let rest = match kind {
        "ConfigMap" => {
            json!({"data": {"a.properties": "one=1\ntwo=2\nthree=3\n", "number": number.to_string()}})
        }
        "Secret" => json!({"stringData": {"token": format!("token-{number}"), "user": "shop"}}),
        "Pod" => json!({"spec": pod}),
        // Without an address of its own: the range of the server's addresses is small.
        "Service" => {
            json!({"spec": {"clusterIP": "None", "selector": labels, "ports": [{"port": 80, "targetPort": "http"}]}})
        }
        "Deployment" => json!({"spec": {"replicas": 2, "selector": selector, "template": template}}),
        "StatefulSet" => {
            json!({"spec": {"replicas": 1, "serviceName": name, "selector": selector, "template": template}})
        }
        "DaemonSet" => json!({"spec": {"selector": selector, "template": template}}),
        "Job" => json!({"spec": {"template": template}}),
        "CronJob" => {
            json!({"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": template}}}})
        }
        "Ingress" => {
            let backend = json!({"service": {"name": name, "port": {"number": 80}}});
            let path = json!({"path": "/", "pathType": "Prefix", "backend": backend});
            json!({"spec": {"rules": [{"host": format!("{name}.example"), "http": {"paths": [path]}}]}})
        }
        "Role" => json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
        _ => json!({}),
    };
    // Objects of each kind come to live in each namespace.
    let home = (number / KINDS.len() * 19 + number % KINDS.len()) % NAMESPACES;
    let metadata = json!({"name": name, "namespace": namespace_name(home), "labels": labels});
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
    if let (Value::Object(object), Value::Object(rest)) = (&mut object, rest) {
        object.extend(rest);
    }
    object
}

/// Writes the policies into a folder.
pub fn write_policies(folder: &Path) {
    for (name, text) in policies() {
        fs::write(folder.join(format!("{name}.yaml")), text).expect("the folder takes files");
    }
}

/// Thirty policies by name: one for each kind, and others as teams have them.
pub fn policies() -> Vec<(String, String)> {
    let overlay = |text: &str| format!("patchStrategicMerge: {text}");
    let mut rules: Vec<(String, String, String)> = KINDS
        .iter()
        .map(|(_, kind)| {
            let labels = r#"{metadata: {labels: {+(owner): "{{ request.namespace }}"}}}"#;
            (kind.to_lowercase(), format!("kinds: [{kind}]"), overlay(labels))
        })
        .collect();
    for (name, matching, mutate) in MORE {
        rules.push((name.to_owned(), matching.to_owned(), mutate.to_owned()));
    }
    let texts = rules.into_iter().map(|(name, matching, mutate)| {
        let (context, mutate) = match mutate.split_once("\n---\n") {
            Some((context, mutate)) => (format!("    {context}\n"), mutate.to_owned()),
            None => (String::new(), mutate),
        };
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: rule\n    \
             match: {{any: [{{resources: {{{matching}}}}}]}}\n{context}    mutate:\n      {mutate}\n"
        );
        (name, text)
    });
    texts.collect()
}

/// Name, what is matched, and what is mutated; before that what else the rule has.
const MORE: [(&str, &str, &str); 18] = [
    (
        "pull-latest",
        "kinds: [Pod]",
        r#"patchStrategicMerge: {spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}"#,
    ),
    (
        "requests",
        "kinds: [Pod]",
        r#"patchStrategicMerge: {spec: {containers: [{(name): "*", resources: {requests: {+(cpu): 100m, +(memory): 64Mi}}}]}}"#,
    ),
    ("no-root", "kinds: [Pod]", "patchStrategicMerge: {spec: {securityContext: {+(runAsNonRoot): true}}}"),
    ("no-token", "kinds: [ServiceAccount]", "patchStrategicMerge: {automountServiceAccountToken: false}"),
    (
        "ndots",
        "kinds: [Pod]",
        r#"patchStrategicMerge: {spec: {dnsConfig: {options: [{name: ndots, value: "1"}]}}}"#,
    ),
    ("pull-secret", "kinds: [Pod]", "patchStrategicMerge: {spec: {imagePullSecrets: [{name: registry}]}}"),
    (
        "registry",
        "kinds: [Pod]",
        r#"foreach:
      - list: request.object.spec.containers
        patchStrategicMerge: {spec: {containers: [{name: "{{ element.name }}", image: "mirror.example/{{ element.image }}"}]}}"#,
    ),
    (
        "marked",
        "kinds: [Service]",
        r#"patchesJson6902: "- {op: add, path: /metadata/annotations, value: {example.com/marked: yes}}""#,
    ),
    ("class", "kinds: [Ingress]", "patchStrategicMerge: {spec: {+(ingressClassName): nginx}}"),
    ("replicas", "kinds: [Deployment]", "patchStrategicMerge: {spec: {replicas: 3}}"),
    ("history", "kinds: [Deployment, StatefulSet]", "patchStrategicMerge: {spec: {revisionHistoryLimit: 3}}"),
    ("finished", "kinds: [Job]", "patchStrategicMerge: {spec: {+(ttlSecondsAfterFinished): 600}}"),
    ("suspended", "kinds: [CronJob]", "patchStrategicMerge: {spec: {suspend: true}}"),
    (
        "front",
        "kinds: [ConfigMap, Service], namespaceSelector: {matchLabels: {tier: front}}",
        "patchStrategicMerge: {metadata: {labels: {tier: front}}}",
    ),
    (
        "settings",
        "kinds: [ConfigMap, Deployment]",
        r#"context: [{name: settings, configMap: {name: settings, namespace: team-000}}]
---
patchStrategicMerge: {metadata: {annotations: {zone: "{{ settings.data.zone }}"}}}"#,
    ),
    (
        "of-namespace",
        "kinds: [StatefulSet, Role]",
        r#"context: [{name: tier, apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}", jmesPath: "metadata.labels.tier || 'none'"}}]
---
patchStrategicMerge: {metadata: {labels: {tier: "{{ tier }}"}}}"#,
    ),
    (
        "never",
        "kinds: [Pod, Secret]",
        r#"preconditions: {all: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: nobody}]}
---
patchStrategicMerge: {metadata: {labels: {never: seen}}}"#,
    ),
    (
        "secret-kept",
        "kinds: [Secret]",
        "patchStrategicMerge: {metadata: {annotations: {example.com/kept: \"true\"}}}",
    ),
];
