//! Builds of other projects, read from the Go modules that carry them: nothing of them is copied into this tree.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use test_support::files::files_below;
use test_support::{module, tool};

use super::builds::{Build, kustomize, plain, run};

/// A build of a module: name, folder of `tests/tools`, module, and paths in it.
struct Entry {
    name: &'static str,
    tools: &'static str,
    module: &'static str,
    manifests: Manifests,
}

enum Manifests {
    /// Files, and all files below folders.
    Paths(&'static [&'static str]),
    Kustomization(&'static str),
    /// A chart with values.
    Chart(&'static str, &'static [&'static str]),
    /// The same without its dependencies.
    ChartAlone(&'static str, &'static [&'static str]),
}

use Manifests::{Chart, ChartAlone, Kustomization, Paths};

const KUBERNETES: (&str, &str) = ("kubernetes", "k8s.io/kubernetes");
const ARGO_CD: (&str, &str) = ("argocd", "github.com/argoproj/argo-cd/v3");
const KYVERNO: (&str, &str) = ("kyverno", "github.com/kyverno/kyverno");
const GATEKEEPER: (&str, &str) = ("kyverno", "github.com/open-policy-agent/gatekeeper/v3");
const HELM: (&str, &str) = ("helm", "helm.sh/helm/v3");
const KPT: (&str, &str) = ("kpt", "github.com/kptdev/kpt");

const fn entry(name: &'static str, from: (&'static str, &'static str), manifests: Manifests) -> Entry {
    Entry { name, tools: from.0, module: from.1, manifests }
}

const ENTRIES: &[Entry] = &[
    entry("argo-cd", ARGO_CD, Paths(&["manifests/install.yaml"])),
    entry("argo-cd-core", ARGO_CD, Paths(&["manifests/core-install.yaml"])),
    entry("argo-cd-ha", ARGO_CD, Paths(&["manifests/ha/namespace-install-with-hydrator.yaml"])),
    entry("argo-cd-base", ARGO_CD, Kustomization("manifests/base")),
    entry("argo-cd-redis", ARGO_CD, Kustomization("manifests/base/redis")),
    entry("argo-cd-examples", ARGO_CD, Paths(&["applicationset/examples", "examples"])),
    entry("argo-cd-tests", ARGO_CD, Paths(&["test/e2e/testdata"])),
    entry("kyverno", KYVERNO, ChartAlone("charts/kyverno", &[])),
    entry(
        "kyverno-ha",
        KYVERNO,
        ChartAlone(
            "charts/kyverno",
            &[
                "admissionController.replicas=3",
                "backgroundController.replicas=2",
                "cleanupController.replicas=2",
                "reportsController.replicas=2",
            ],
        ),
    ),
    entry("gatekeeper", GATEKEEPER, Paths(&["deploy/gatekeeper.yaml"])),
    entry("gatekeeper-chart", GATEKEEPER, Chart("charts/gatekeeper", &["replicas=2"])),
    entry("gatekeeper-demo", GATEKEEPER, Paths(&["demo", "example"])),
    entry("helm-alpine", HELM, Chart("cmd/helm/testdata/testcharts/alpine", &[])),
    entry("helm-subchart", HELM, Chart("cmd/helm/testdata/testcharts/subchart", &[])),
    entry("helm-object-order", HELM, Chart("cmd/helm/testdata/testcharts/object-order", &[])),
    entry("helm-secret", HELM, Chart("cmd/helm/testdata/testcharts/chart-with-secret", &[])),
    entry("kpt-guestbook", KPT, Paths(&["package-examples/guestbook"])),
    entry("kpt-wordpress", KPT, Paths(&["package-examples/wordpress"])),
    entry("kpt-wordpress-stateful", KPT, Paths(&["package-examples/wordpress-with-dependencies"])),
    entry("kpt-ghost", KPT, Paths(&["package-examples/ghost/ghost-app", "package-examples/ghost/mariadb"])),
    entry("kpt-ingress-nginx", KPT, Paths(&["package-examples/ingress-nginx"])),
    entry("kpt-cert-manager", KPT, Paths(&["package-examples/cert-manager-basic"])),
    entry("kpt-tenant", KPT, Paths(&["package-examples/tenant"])),
    entry("kpt-nginx", KPT, Kustomization("package-examples/kustomize/overlays/prod")),
    entry("guestbook", KUBERNETES, Paths(&["test/e2e/testing-manifests/guestbook"])),
    entry("cassandra", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/cassandra"])),
    entry("cockroachdb", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/cockroachdb"])),
    entry("etcd", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/etcd"])),
    entry("mysql-galera", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/mysql-galera"])),
    entry("mysql-upgrade", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/mysql-upgrade"])),
    entry("zookeeper", KUBERNETES, Paths(&["test/e2e/testing-manifests/statefulset/zookeeper"])),
    entry("csi-mock", KUBERNETES, Paths(&["test/e2e/testing-manifests/storage-csi/mock"])),
    entry("csi-hostpath", KUBERNETES, Paths(&["test/e2e/testing-manifests/storage-csi/hostpath"])),
    entry("csi-gce", KUBERNETES, Paths(&["test/e2e/testing-manifests/storage-csi/gce-pd"])),
    entry(
        "csi-sidecars",
        KUBERNETES,
        Paths(&[
            "test/e2e/testing-manifests/storage-csi/external-attacher",
            "test/e2e/testing-manifests/storage-csi/external-provisioner",
            "test/e2e/testing-manifests/storage-csi/external-resizer",
            "test/e2e/testing-manifests/storage-csi/external-snapshotter",
        ]),
    ),
    entry("service-load-balancer", KUBERNETES, Paths(&["test/e2e/testing-manifests/serviceloadbalancer"])),
    entry(
        "device-plugins",
        KUBERNETES,
        Paths(&[
            "test/e2e/testing-manifests/sample-device-plugin",
            "test/e2e/testing-manifests/gpu/gce",
            "test/e2e_node/testing-manifests",
        ]),
    ),
    entry(
        "dra",
        KUBERNETES,
        Paths(&["test/e2e/dra/test-driver/deploy/example", "test/e2e/testing-manifests/dra"]),
    ),
    entry("calico", KUBERNETES, Paths(&["cluster/addons/calico-policy-controller"])),
    entry("fluentd", KUBERNETES, Paths(&["cluster/addons/fluentd-gcp"])),
    entry("metrics-server", KUBERNETES, Paths(&["cluster/addons/metrics-server"])),
    entry(
        "cluster-services",
        KUBERNETES,
        Paths(&[
            "cluster/addons/cluster-loadbalancing",
            "cluster/addons/dns-horizontal-autoscaler",
            "cluster/addons/ip-masq-agent",
            "cluster/addons/metadata-agent",
            "cluster/addons/metadata-proxy",
            "cluster/addons/storage-class",
        ]),
    ),
    entry("network-policies", KUBERNETES, Paths(&["cluster/addons/kube-network-policies"])),
    entry("node-problem-detector", KUBERNETES, Paths(&["cluster/addons/node-problem-detector"])),
    entry("rbac", KUBERNETES, Paths(&["cluster/addons/rbac", "cluster/addons/cloud-controller-manager"])),
    entry("volume-snapshots", KUBERNETES, Paths(&["cluster/addons/volumesnapshots"])),
    entry("static-pods", KUBERNETES, Paths(&["cluster/gce/manifests", "cluster/gce/addons"])),
    entry("kubectl-tests", KUBERNETES, Paths(&["hack/testdata"])),
    entry("kubectl-fixtures", KUBERNETES, Paths(&["test/fixtures/pkg/kubectl/cmd"])),
    entry("user-guide", KUBERNETES, Paths(&["test/fixtures/doc-yaml"])),
    entry("performance", KUBERNETES, Paths(&["test/integration/scheduler_perf/templates"])),
    entry("apparmor-loader", KUBERNETES, Paths(&["test/images/apparmor-loader"])),
];

/// Every so many of the builds of other projects.
pub(super) fn builds(root: &Path, step: usize) -> Vec<Build> {
    let mut modules: Vec<((&str, &str), PathBuf)> = Vec::new();
    let mut empty = Vec::new();
    let mut builds: Vec<Build> = Vec::new();
    for entry in ENTRIES.iter().step_by(step) {
        let from = (entry.tools, entry.module);
        let folder = match modules.iter().find(|(module, _)| *module == from) {
            Some((_, folder)) => folder.clone(),
            None => {
                let folder = module(entry.tools, entry.module);
                modules.push((from, folder.clone()));
                folder
            }
        };
        let manifests = match entry.manifests {
            Paths(paths) => plain(&files(&folder, paths)),
            Kustomization(path) => vec![("build.yaml".to_owned(), kustomize(&folder.join(path)))],
            Chart(path, values) => vec![("chart.yaml".to_owned(), chart(&folder.join(path), values))],
            ChartAlone(path, values) => {
                vec![("chart.yaml".to_owned(), chart_alone(&folder.join(path), values))]
            }
        };
        let build = Build::new(root, entry.name, &manifests);
        let Some(build) = build else {
            empty.push(entry.name);
            continue;
        };
        builds.push(build);
    }
    assert!(empty.is_empty(), "no objects in {empty:?}");
    builds.push(new_chart(root));
    builds
}

fn files(module: &Path, paths: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        let path = module.join(path);
        if path.is_dir() {
            found.extend(files_below(&path, &["yaml", "yml", "json"]));
        } else {
            found.push(path);
        }
    }
    found
}

fn chart(folder: &Path, values: &[&str]) -> String {
    let mut command = Command::new(tool("helm"));
    command.args(["template", "release", "--namespace", "charts", "--kube-version", "1.36"]).arg(folder);
    for value in values {
        command.args(["--set", value]);
    }
    run(&mut command)
}

/// The chart without its dependencies: modules do not carry those of other projects.
fn chart_alone(folder: &Path, values: &[&str]) -> String {
    let copy = tempfile::tempdir().expect("a temporary folder");
    copy_folder(folder, copy.path());
    let file = copy.path().join("Chart.yaml");
    let text = fs::read_to_string(&file).expect("a chart");
    let (alone, _) = text.split_once("\ndependencies:").expect("a chart with dependencies at its end");
    fs::write(&file, alone).expect("the folder takes files");
    fs::remove_dir_all(copy.path().join("charts")).expect("the charts that it contains");
    chart(copy.path(), values)
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_folder(&path, &copy);
        } else {
            // Files of modules are read-only, and so would be copies.
            fs::write(&copy, fs::read(&path).expect("a file")).expect("the folder takes files");
        }
    }
}

/// The chart that `helm create` makes, with everything in use.
fn new_chart(root: &Path) -> Build {
    let folder = root.join("charts");
    fs::create_dir_all(&folder).expect("a folder for the chart");
    run(Command::new(tool("helm")).args(["create", "web"]).current_dir(&folder));
    let text = chart(
        &folder.join("web"),
        &["ingress.enabled=true", "autoscaling.enabled=true", "service.type=NodePort"],
    );
    Build::new(root, "helm-create", &[("chart.yaml".to_owned(), text)]).expect("objects")
}
