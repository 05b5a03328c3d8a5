//! kyv beside kustomize, and inside it.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compare::agreement;
use crate::compare::contestant::Contestant;
use crate::compare::manifests;
use crate::compare::policies::{MATCHING, write_matching};
use crate::compare::programs::system;

use super::{Axis, Bench};

/// kustomize, and nothing but it.
pub(crate) const KUSTOMIZE: &str = "kustomize build";
/// kustomize with a function that changes nothing.
pub(crate) const WITH_CAT: &str = "kustomize build, cat as a function";
/// kustomize with kyv as a function.
pub(crate) const WITH_KYV: &str = "kustomize build, kyv as a function";

const SLOW: usize = 3;

/// Version, kind, and what a patch holds in the braces of flow style.
const PATCHES: [(&str, &str, &str); 30] = [
    ("apps/v1", "Deployment", "metadata: {labels: {example.com/owner: shop}}"),
    ("apps/v1", "StatefulSet", "metadata: {labels: {example.com/owner: shop}}"),
    ("apps/v1", "DaemonSet", "metadata: {labels: {example.com/owner: shop}}"),
    ("batch/v1", "CronJob", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "Pod", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "Service", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "ConfigMap", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "ServiceAccount", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "Namespace", "metadata: {labels: {example.com/owner: shop}}"),
    ("v1", "PersistentVolumeClaim", "metadata: {labels: {example.com/owner: shop}}"),
    ("networking.k8s.io/v1", "Ingress", "metadata: {labels: {example.com/owner: shop}}"),
    ("networking.k8s.io/v1", "NetworkPolicy", "metadata: {labels: {example.com/owner: shop}}"),
    ("apps/v1", "Deployment", "metadata: {annotations: {example.com/reviewed: 'yes'}}"),
    ("v1", "Service", "metadata: {annotations: {example.com/reviewed: 'yes'}}"),
    ("v1", "ConfigMap", "metadata: {annotations: {example.com/reviewed: 'yes'}}"),
    ("networking.k8s.io/v1", "Ingress", "metadata: {annotations: {example.com/reviewed: 'yes'}}"),
    ("apps/v1", "Deployment", "spec: {revisionHistoryLimit: 3}"),
    ("apps/v1", "Deployment", "spec: {template: {spec: {priorityClassName: shop}}}"),
    (
        "apps/v1",
        "Deployment",
        "spec: {template: {spec: {containers: [{name: main, imagePullPolicy: Always}]}}}",
    ),
    ("apps/v1", "Deployment", "spec: {template: {spec: {securityContext: {fsGroup: 3000}}}}"),
    ("apps/v1", "StatefulSet", "spec: {podManagementPolicy: Parallel}"),
    ("apps/v1", "StatefulSet", "spec: {template: {spec: {containers: [{name: main, tty: false}]}}}"),
    ("apps/v1", "DaemonSet", "spec: {updateStrategy: {rollingUpdate: {maxUnavailable: 10%}}}"),
    ("apps/v1", "DaemonSet", "spec: {template: {spec: {containers: [{name: main, tty: false}]}}}"),
    ("batch/v1", "CronJob", "spec: {successfulJobsHistoryLimit: 1}"),
    ("batch/v1", "CronJob", "spec: {jobTemplate: {spec: {backoffLimit: 1}}}"),
    ("v1", "Pod", "spec: {containers: [{name: main, imagePullPolicy: Always}]}"),
    ("v1", "Service", "spec: {internalTrafficPolicy: Cluster}"),
    ("networking.k8s.io/v1", "Ingress", "spec: {ingressClassName: nginx}"),
    ("v1", "PersistentVolumeClaim", "spec: {resources: {requests: {storage: 10Gi}}}"),
];

/// The same patches as a kustomization around the objects, and as policies.
pub(crate) fn patches(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.yardstick;
    let objects = bench.objects(number);
    let policies = bench.made("patch-policies.yaml", write_policies);
    let build = bench.made(&format!("patched-{number}"), |folder| {
        kustomization(folder, number, &patch_list());
    });
    let kustomize = kustomize(bench, KUSTOMIZE, &build);
    let kyv = bench.kyv(&policies, &objects);
    agreement::between(&mut kyv.command(), &mut kustomize.command(), "kustomize")?;
    bench.agreements.push(format!("{number} objects × {} patches, with kustomize", PATCHES.len()));
    bench.take(Axis::Kustomize, vec![(number, kyv), (number, kustomize.at_most(SLOW))])
}

pub(crate) fn function(bench: &mut Bench) -> Result<(), String> {
    let number = bench.sizes.items;
    let plain = bench.made("function-none", |folder| kustomization(folder, number, ""));
    let cat = bench.made("function-cat", |folder| {
        kustomization(folder, number, "transformers: [function.yaml]\n");
        copy(&system("cat"), &folder.join("program"));
        function_of(folder, "kind: Nothing\n");
    });
    let program = bench.programs.kyv.clone();
    let kyv = bench.made("function-kyv", |folder| {
        kustomization(folder, number, "transformers: [function.yaml]\n");
        copy(&program, &folder.join("program"));
        write_matching(&folder.join("policies"), MATCHING);
        function_of(folder, "kind: Kyv\nspec: {policies: [policies/], view: written}\n");
    });
    let with_kyv = kustomize(bench, WITH_KYV, &kyv);
    let alone = bench.kyv(&bench.policies(MATCHING, 0), &bench.objects(number));
    agreement::between(&mut alone.command(), &mut with_kyv.command(), WITH_KYV)?;
    bench.agreements.push(format!("{number} objects × {MATCHING} policies, alone and as a function"));
    let contestants = vec![
        (number, with_kyv.at_most(SLOW)),
        (number, kustomize(bench, WITH_CAT, &cat).at_most(SLOW)),
        (number, kustomize(bench, KUSTOMIZE, &plain).at_most(SLOW)),
        (number, alone),
    ];
    bench.take(Axis::Function, contestants)
}

fn kustomize(bench: &Bench, name: &'static str, folder: &Path) -> Contestant {
    let kustomize = Contestant::new(name, bench.programs.kustomize());
    kustomize.args(&["build", "--enable-alpha-plugins", "--enable-exec"]).arg(folder)
}

/// A folder with objects and a kustomization of them.
fn kustomization(folder: &Path, objects: usize, more: &str) {
    fs::create_dir(folder).expect("a new folder");
    manifests::write_stream(&folder.join("objects.yaml"), objects);
    let text = format!("resources: [objects.yaml]\n{more}");
    fs::write(folder.join("kustomization.yaml"), text).expect("room for a kustomization");
}

fn function_of(folder: &Path, rest: &str) {
    let text = format!(
        "apiVersion: kyv.dev/v1alpha1\nmetadata:\n  name: function\n  annotations:\n    \
         config.kubernetes.io/function: 'exec: {{path: ./program}}'\n{rest}"
    );
    fs::write(folder.join("function.yaml"), text).expect("room for a function");
}

/// kustomize runs nothing from outside a kustomization.
fn copy(program: &Path, to: &PathBuf) {
    fs::copy(program, to).expect("room for a program");
}

fn patch_list() -> String {
    PATCHES.iter().fold("patches:\n".to_owned(), |mut text, (version, kind, patch)| {
        // The name is none that an object has: the target decides.
        let named = match patch.strip_prefix("metadata: {") {
            Some(rest) => format!("metadata: {{name: any, {rest}"),
            None => format!("metadata: {{name: any}}, {patch}"),
        };
        writeln!(
            text,
            "- target: {{kind: {kind}}}\n  patch: |-\n    {{apiVersion: {version}, kind: {kind}, {named}}}"
        )
        .expect("a text takes everything");
        text
    })
}

fn write_policies(path: &Path) {
    let mut text = String::new();
    for (number, (_, kind, patch)) in PATCHES.iter().enumerate() {
        write!(
            text,
            "---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: patch-{number:02}
  annotations:
    pod-policies.kyverno.io/autogen-controllers: none
spec:
  rules:
    - name: patch
      match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}
      mutate:
        patchStrategicMerge: {{{patch}}}
"
        )
        .expect("a text takes everything");
    }
    fs::write(path, text).expect("room for policies");
}
