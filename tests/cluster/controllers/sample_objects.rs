//! Objects of mixed kinds: generated ones, and those of the conformance folder that an API server accepts.

use serde_json::{Value, json};

/// How many Pods of each shape there are.
const ROUNDS: usize = 4;

/// The namespaces that objects live in, made first.
pub(crate) fn namespaces() -> Vec<Value> {
    [("shop", "team"), ("prod", "live"), ("staging", "dev"), ("prod-eu", "live")]
        .iter()
        .map(|(name, stage)| {
            json!({"apiVersion": "v1", "kind": "Namespace",
                "metadata": {"name": name, "labels": {"stage": stage}}})
        })
        .collect()
}

/// The objects made here, the same in every run: a Pod of each shape in several namespaces, each shape in the
/// template of each controller, and some of the kinds beside them.
pub(crate) fn made() -> Vec<Value> {
    let mut objects = Vec::new();
    let shapes = shapes();
    for round in 0..ROUNDS {
        for (index, shape) in shapes.iter().enumerate() {
            let mut pod = shape.clone();
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod["metadata"]["name"] = json!(format!("pod-{index}-{round}"));
            pod["metadata"]["namespace"] = json!(namespace(round + index));
            if round == 1 {
                pod["metadata"]["labels"]["tier"] = json!(if index % 2 == 0 { "front" } else { "back" });
                pod["metadata"]["annotations"]["owner"] = json!("team-a");
            }
            objects.push(pod);
        }
    }
    for (kind, api_version) in [
        ("Deployment", "apps/v1"),
        ("StatefulSet", "apps/v1"),
        ("DaemonSet", "apps/v1"),
        ("ReplicaSet", "apps/v1"),
        ("Job", "batch/v1"),
        ("CronJob", "batch/v1"),
        ("ReplicationController", "v1"),
    ] {
        for (index, shape) in shapes.iter().enumerate() {
            objects.push(controller(kind, api_version, index, shape));
        }
    }
    objects.extend(others());
    objects
}

fn namespace(number: usize) -> &'static str {
    ["default", "shop", "prod", "staging", "prod-eu"][number % 5]
}

/// Pod specs with labels: the differences that mutate policies look at.
fn shapes() -> Vec<Value> {
    let shape = |labels: Value, spec: Value| json!({"metadata": {"labels": labels}, "spec": spec});
    vec![
        shape(json!({"app": "web"}), json!({"containers": [{"name": "web", "image": "nginx:latest"}]})),
        shape(
            json!({"app": "db", "color": "red"}),
            json!({"hostNetwork": true, "nodeSelector": {"disk": "ssd"},
                "containers": [{"name": "db", "image": "ghcr.io/org/db:1.4", "imagePullPolicy": "Always",
                    "resources": {"requests": {"memory": "64Mi"}}}]}),
        ),
        shape(
            json!({"app": "mesh"}),
            json!({"serviceAccountName": "runner", "automountServiceAccountToken": false,
            "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
            "initContainers": [{"name": "init", "image": "busybox", "command": ["true"]}],
            "containers": [
                {"name": "app", "image": "docker.io/library/app@sha256:\
                    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
                    "securityContext": {"privileged": false, "capabilities": {"drop": ["ALL"]}}},
                {"name": "sidecar", "image": "envoy:v1.30", "env": [{"name": "MODE", "value": "strict"}]}
            ]}),
        ),
        shape(
            json!({"app": "batch", "purpose": "demo"}),
            json!({"volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "cfg", "configMap": {"name": "c"}}],
                "containers": [{"name": "my-app", "image": "gcr.io/team/app:v2",
                    "ports": [{"containerPort": 8080, "name": "http"}],
                    "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],
                    "livenessProbe": {"httpGet": {"path": "/", "port": 8080}}}]}),
        ),
        shape(
            json!({"app": "ops", "security": "high"}),
            json!({"tolerations": [{"key": "spot", "operator": "Exists"}], "dnsPolicy": "Default",
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {"matchLabels": {"app": "ops"}}}],
            "containers": [
                {"name": "one", "image": "registry.example:5000/tools/one",
                    "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}},
                {"name": "two", "image": "redis:7", "securityContext": {"privileged": true}}
            ]}),
        ),
        shape(
            json!({"app": "host"}),
            json!({"volumes": [{"name": "host", "hostPath": {"path": "/var/run/docker.sock"}}],
                "imagePullSecrets": [{"name": "pull"}],
                "containers": [{"name": "agent", "image": "quay.io/agent:2",
                    "envFrom": [{"secretRef": {"name": "keys"}}],
                    "volumeMounts": [{"name": "host", "mountPath": "/sock"}]}]}),
        ),
    ]
}

fn controller(kind: &str, api_version: &str, index: usize, shape: &Value) -> Value {
    let name = format!("{}-{index}", kind.to_lowercase());
    let labels = shape["metadata"]["labels"].clone();
    let mut template = shape.clone();
    let spec = match kind {
        "Job" => {
            template["spec"]["restartPolicy"] = json!("Never");
            json!({"suspend": true, "template": template})
        }
        "CronJob" => {
            template["spec"]["restartPolicy"] = json!("OnFailure");
            json!({"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": template}}})
        }
        "ReplicationController" => json!({"replicas": 1, "selector": labels, "template": template}),
        "StatefulSet" => json!({"replicas": 2, "serviceName": "none",
            "selector": {"matchLabels": labels}, "template": template}),
        "DaemonSet" => json!({"selector": {"matchLabels": labels}, "template": template}),
        _ => json!({"replicas": 2, "selector": {"matchLabels": labels}, "template": template}),
    };
    json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": namespace(index), "labels": labels}, "spec": spec})
}

fn others() -> Vec<Value> {
    let mut objects = Vec::new();
    let mut add = |api_version: &str,
                   kind: &str,
                   name: String,
                   at: Option<usize>,
                   labels: Value,
                   rest: Value| {
        let mut object =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "labels": labels}});
        if let Some(number) = at {
            object["metadata"]["namespace"] = json!(namespace(number));
        }
        for (key, value) in rest.as_object().expect("fields") {
            object[key] = value.clone();
        }
        objects.push(object);
    };
    for number in 0..20 {
        let app = ["web", "db", "mesh", "ops"][number % 4];
        let labels = json!({"app": app, "n": number.to_string()});
        add(
            "v1",
            "ConfigMap",
            format!("config-{number}"),
            Some(number),
            labels.clone(),
            json!({"data": {"key": format!("v{number}"), "zones": "[\"eu\", \"us\"]"}}),
        );
        if number < 12 {
            add(
                "v1",
                "Secret",
                format!("secret-{number}"),
                Some(number),
                labels.clone(),
                json!({"type": "Opaque", "stringData": {"password": "x", "user": "u"}}),
            );
            add(
                "v1",
                "Service",
                format!("service-{number}"),
                Some(number),
                labels.clone(),
                json!({"spec": {"type": if number % 3 == 0 { "NodePort" } else { "ClusterIP" },
                    "selector": {"app": "web"}, "ports": [
                        {"name": "http", "port": 80, "targetPort": 8080}, {"name": "secure", "port": 443}]}}),
            );
        }
        if number < 5 {
            add("v1", "ServiceAccount", format!("account-{number}"), Some(number), labels.clone(), json!({}));
            add(
                "networking.k8s.io/v1",
                "Ingress",
                format!("ingress-{number}"),
                Some(number),
                labels.clone(),
                json!({"spec": {"rules": [{"host": format!("h{number}.example.com"), "http": {"paths": [
                    {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}
                ]}}]}}),
            );
            add(
                "networking.k8s.io/v1",
                "NetworkPolicy",
                format!("net-{number}"),
                Some(number),
                labels.clone(),
                json!({"spec": {"podSelector": {}, "policyTypes": ["Ingress"]}}),
            );
            add(
                "rbac.authorization.k8s.io/v1",
                "Role",
                format!("role-{number}"),
                Some(number),
                labels.clone(),
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}]}),
            );
            add(
                "rbac.authorization.k8s.io/v1",
                "ClusterRole",
                format!("clusterrole-{number}"),
                None,
                labels.clone(),
                json!({"rules": [{"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}]}),
            );
            add(
                "policy/v1",
                "PodDisruptionBudget",
                format!("budget-{number}"),
                Some(number),
                labels.clone(),
                json!({"spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
            );
            add(
                "scheduling.k8s.io/v1",
                "PriorityClass",
                format!("priority-{number}"),
                None,
                labels,
                json!({"value": 1000 + number}),
            );
        }
    }
    objects
}
