//! Manifests as repositories hold them: mixed kinds, written by hand, with comments, and the same in every run.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;

use crate::compare::draw::Draw;

/// What a stretch of manifests holds of each kind, in 32 objects.
const KINDS: [(&str, u64); 12] = [
    ("Deployment", 8),
    ("Service", 5),
    ("ConfigMap", 5),
    ("CronJob", 2),
    ("Ingress", 2),
    ("Pod", 2),
    ("ServiceAccount", 2),
    ("StatefulSet", 2),
    ("DaemonSet", 1),
    ("Namespace", 1),
    ("NetworkPolicy", 1),
    ("PersistentVolumeClaim", 1),
];

const TIERS: [&str; 4] = ["web", "api", "data", "batch"];

const WORDS: [&str; 12] = [
    "billing", "catalog", "checkout", "gateway", "identity", "ledger", "mailer", "orders", "pricing",
    "reports", "search", "stock",
];

const IMAGES: [&str; 6] = [
    "docker.io/library/nginx:1.27.3",
    "docker.io/library/redis:latest",
    "registry.example.com/shop/server:2.14.0",
    "registry.example.com/shop/worker:latest",
    "ghcr.io/example/exporter:v0.9.1",
    "\"quay.io/example/proxy:3.1\"",
];

/// In so many namespaces the objects live.
pub(crate) const NAMESPACES: usize = 40;

/// The name of a namespace.
pub(crate) fn namespace(number: usize) -> String {
    format!("team-{number:02}")
}

/// Writes objects as one stream.
pub(crate) fn write_stream(path: &Path, objects: usize) {
    write_range(path, 0..objects);
}

/// Writes objects into a folder, so many into each file.
pub(crate) fn write_folder(folder: &Path, objects: usize, per_file: usize) {
    fs::create_dir(folder).expect("a new folder");
    for first in (0..objects).step_by(per_file) {
        let path = folder.join(format!("objects-{first:07}.yaml"));
        write_range(&path, first..(first + per_file).min(objects));
    }
}

fn write_range(path: &Path, numbers: std::ops::Range<usize>) {
    let mut file = BufWriter::new(File::create(path).expect("a new file"));
    for number in numbers {
        file.write_all(b"---\n")
            .and_then(|()| file.write_all(object(number).as_bytes()))
            .expect("room for it");
    }
    file.flush().expect("room for it");
}

/// Writes Pods that have so many containers each.
pub(crate) fn write_pods(path: &Path, pods: usize, containers: usize) {
    let mut text = String::new();
    for number in 0..pods {
        put(&mut text, format_args!("---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: long-{number:04}\n"));
        put(
            &mut text,
            format_args!("  namespace: {}\nspec:\n  containers:\n", namespace(number % NAMESPACES)),
        );
        for container in 0..containers {
            put(
                &mut text,
                format_args!("    - name: c{container:04}\n      image: docker.io/library/nginx:1.27\n"),
            );
        }
    }
    fs::write(path, text).expect("a new file");
}

/// The text of the object of a number. It does not depend on how many there are.
pub(crate) fn object(number: usize) -> String {
    let mut draw = Draw::new(number as u64);
    let kind = draw.weighted(&KINDS);
    let name = format!("{}-{number:06}", draw.of(&WORDS));
    let tier = draw.of(&TIERS);
    let mut out = Manifest { text: String::with_capacity(2048), draw, name, tier };
    out.head(kind);
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => out.workload(kind),
        "CronJob" => out.cron_job(),
        "Pod" => {
            out.line(0, "spec:");
            out.pod(2);
        }
        "Service" => out.service(),
        "ConfigMap" => out.config_map(),
        "Ingress" => out.ingress(),
        "NetworkPolicy" => out.network_policy(),
        "PersistentVolumeClaim" => out.claim(),
        "ServiceAccount" => out.line(0, "# No rights are bound to it here."),
        _ => {}
    }
    out.text
}

fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("a text takes everything");
}

/// A manifest that is being written.
struct Manifest {
    text: String,
    draw: Draw,
    name: String,
    tier: &'static str,
}

impl Manifest {
    fn line(&mut self, indent: usize, line: &str) {
        put(&mut self.text, format_args!("{:indent$}{line}\n", ""));
    }

    fn lines(&mut self, indent: usize, lines: &[&str]) {
        for line in lines {
            self.line(indent, line);
        }
    }

    fn head(&mut self, kind: &str) {
        let version = match kind {
            "Deployment" | "StatefulSet" | "DaemonSet" => "apps/v1",
            "CronJob" => "batch/v1",
            "Ingress" | "NetworkPolicy" => "networking.k8s.io/v1",
            _ => "v1",
        };
        if self.draw.random(30) {
            self.line(0, "# Managed by the platform team; ask in #platform before you change it.");
        }
        self.line(0, &format!("apiVersion: {version}"));
        self.line(0, &format!("kind: {kind}"));
        self.line(0, "metadata:");
        self.line(2, &format!("name: {}", self.name));
        if kind != "Namespace" {
            let number = self.draw.below(NAMESPACES as u64) as usize;
            self.line(2, &format!("namespace: {}", namespace(number)));
        }
        self.line(2, "labels:");
        self.labels(4);
        self.line(4, &format!("tier: {}", self.tier));
        if self.draw.random(40) {
            self.line(4, "app.kubernetes.io/managed-by: Helm");
        }
        if self.draw.random(50) {
            self.line(2, "annotations:");
            self.line(4, "example.com/contact: \"#shop-oncall\"");
            if self.draw.random(50) {
                self.line(
                    4,
                    "example.com/runbook: https://runbooks.example.com/shop # kept up to date by hand",
                );
            }
        }
    }

    fn labels(&mut self, indent: usize) {
        self.line(indent, &format!("app.kubernetes.io/name: {}", self.name));
        self.line(indent, "app.kubernetes.io/part-of: shop");
    }

    fn workload(&mut self, kind: &str) {
        self.line(0, "spec:");
        if kind != "DaemonSet" {
            let replicas = 1 + self.draw.below(4);
            self.line(2, &format!("replicas: {replicas}"));
        }
        if kind == "StatefulSet" {
            self.line(2, &format!("serviceName: {}", self.name));
        }
        self.lines(2, &["selector:", "  matchLabels:"]);
        self.line(6, &format!("app.kubernetes.io/name: {}", self.name));
        self.template(2);
    }

    fn template(&mut self, indent: usize) {
        self.lines(indent, &["template:", "  metadata:", "    labels:"]);
        self.labels(indent + 6);
        self.line(indent + 2, "spec:");
        self.pod(indent + 4);
    }

    fn cron_job(&mut self) {
        let minute = self.draw.below(60);
        self.line(0, "spec:");
        self.line(2, &format!("schedule: \"{minute} 3 * * *\""));
        self.lines(2, &["concurrencyPolicy: Forbid", "jobTemplate:", "  spec:", "    backoffLimit: 2"]);
        self.template(6);
    }

    /// What a Pod's `spec` holds.
    fn pod(&mut self, indent: usize) {
        if self.draw.random(30) {
            self.line(indent, &format!("serviceAccountName: {}", self.name));
        }
        if self.draw.random(25) {
            self.lines(indent, &["securityContext:", "  runAsNonRoot: true", "  fsGroup: 2000"]);
        }
        self.line(indent, "containers:");
        self.container(indent + 2, "main");
        if self.draw.random(30) {
            self.container(indent + 2, "metrics");
        }
        self.lines(indent, &["volumes:", "  - name: config", "    configMap:"]);
        self.line(indent + 6, &format!("name: {}-config", self.name));
        if self.draw.random(40) {
            self.lines(indent, &["  - name: scratch", "    emptyDir: {}"]);
        }
        self.line(indent, "restartPolicy: OnFailure");
        // Only Jobs may end; all others start again.
        if !self.text.contains("kind: CronJob") {
            let end = self.text.len() - "OnFailure\n".len();
            self.text.truncate(end);
            self.text.push_str("Always\n");
        }
    }

    fn container(&mut self, indent: usize, name: &str) {
        let image = self.draw.of(&IMAGES);
        self.line(indent, &format!("- name: {name}"));
        let indent = indent + 2;
        self.line(indent, &format!("image: {image}"));
        if self.draw.random(20) {
            self.line(indent, "args: [\"--config\", \"/etc/shop/config.yaml\", --verbose]");
        }
        let port = 8000 + self.draw.below(90);
        self.line(indent, "ports:");
        self.line(indent, &format!("  - containerPort: {port}"));
        self.line(indent, &format!("    name: {}", if name == "main" { "http" } else { "http-metrics" }));
        if self.draw.random(70) {
            self.line(indent, "env:");
            for variable in
                &["LOG_LEVEL", "REGION", "CACHE_SIZE", "FEATURE_FLAGS"][..=self.draw.below(4) as usize]
            {
                let value = self.draw.below(1000);
                self.line(indent, &format!("  - name: {variable}"));
                self.line(indent, &format!("    value: \"{value}\""));
            }
        }
        if self.draw.random(60) {
            let [cpu, memory] = [10, 16].map(|step| step * (1 + self.draw.below(20)));
            self.lines(
                indent,
                &["resources:", "  # measured in the load test of last spring", "  requests:"],
            );
            self.line(indent, &format!("    cpu: {cpu}m"));
            self.line(indent, &format!("    memory: {memory}Mi"));
            if self.draw.random(50) {
                self.lines(indent, &["  limits:", "    memory: 512Mi"]);
            }
        }
        if self.draw.random(50) {
            self.lines(indent, &["readinessProbe:", "  httpGet:", "    path: /ready", "    port: http"]);
            self.line(indent, "  periodSeconds: 5");
        }
        self.lines(indent, &["volumeMounts:", "  - name: config", "    mountPath: /etc/shop"]);
    }

    fn service(&mut self) {
        self.lines(0, &["spec:", "  type: ClusterIP", "  selector:"]);
        self.labels(4);
        self.lines(2, &["ports:", "  - name: http", "    port: 80", "    targetPort: http"]);
        if self.draw.random(30) {
            self.lines(2, &["  - name: http-metrics", "    port: 9090", "    targetPort: http-metrics"]);
        }
        if self.draw.random(20) {
            self.lines(2, &["  # for the migration only", "  - name: admin", "    port: 8081"]);
        }
    }

    fn config_map(&mut self) {
        let (size, lines) = (self.draw.below(500), 3 + self.draw.below(12));
        self.line(0, "data:");
        self.line(2, &format!("cache-size: \"{size}\""));
        if self.draw.random(70) {
            self.line(2, "config.yaml: |");
            for line in 0..lines {
                self.line(4, &format!("setting-{line}: value-{}", line * size));
            }
        }
    }

    fn ingress(&mut self) {
        let host = if self.draw.random(70) { "example.com" } else { "internal" };
        self.lines(0, &["spec:", "  rules:"]);
        self.line(4, &format!("- host: {}.{host}", self.name));
        self.lines(6, &["http:", "  paths:", "    - path: /", "      pathType: Prefix", "      backend:"]);
        self.line(14, "service:");
        self.line(16, &format!("name: {}", self.name));
        self.lines(16, &["port:", "  name: http"]);
    }

    fn network_policy(&mut self) {
        self.lines(0, &["spec:", "  podSelector:", "    matchLabels:"]);
        self.line(6, &format!("app.kubernetes.io/name: {}", self.name));
        self.lines(2, &["policyTypes: [Ingress]", "ingress:", "  - from:", "      - podSelector: {}"]);
        self.lines(6, &["ports:", "  - protocol: TCP", "    port: 8080"]);
    }

    fn claim(&mut self) {
        let size = 1 + self.draw.below(200);
        self.lines(0, &["spec:", "  accessModes: [ReadWriteOnce]"]);
        if self.draw.random(40) {
            self.line(2, "storageClassName: fast");
        }
        self.lines(2, &["resources:", "  requests:"]);
        self.line(6, &format!("storage: {size}Gi"));
    }
}
