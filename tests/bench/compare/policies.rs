//! The policies of the benchmark.
//!
//! Thirty that match live beside this file, in `policies/`: of them 24 use strategic merge and 6 a JSON patch, 12 have
//! preconditions, 7 `foreach`, 7 ask for `request.operation`, 5 have `+()` and 2 `<()`, as many as of the samples in
//! Kyverno's catalogue that mutate without looking anything up. Their files and their names have the same order, for
//! some programs go by the one and some by the other. In `cel-policies/` each has a twin of the same name, a
//! `MutatingPolicy`.

use std::fs;
use std::path::{Path, PathBuf};

/// How many match.
pub(crate) const MATCHING: usize = 30;

/// The folder of the thirty.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/compare/policies")
}

/// The folder of their twins: `MutatingPolicies` that make the same of the same objects.
pub(crate) fn cel_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/compare/cel-policies")
}

/// Copies so many of the thirty into a new folder, taken evenly.
pub(crate) fn write_matching(folder: &Path, number: usize) {
    fs::create_dir_all(folder).expect("a new folder");
    let mut files: Vec<PathBuf> = fs::read_dir(self::folder())
        .expect("the policies")
        .map(|entry| entry.expect("a policy").path())
        .collect();
    files.sort();
    assert_eq!(files.len(), MATCHING);
    for file in files.iter().step_by(MATCHING / number).take(number) {
        let name = file.file_name().expect("a file has a name");
        fs::copy(file, folder.join(name)).expect("room for a policy");
    }
}

/// Adds so many policies to a folder that match no object: by kind, by namespace, by label, by name.
pub(crate) fn write_idle(folder: &Path, number: usize) {
    const KINDS: [&str; 6] = ["Deployment", "Service", "ConfigMap", "Pod", "Ingress", "StatefulSet"];
    fs::create_dir_all(folder).expect("a new folder");
    for index in 0..number {
        let kind = KINDS[index / 4 % KINDS.len()];
        let matching = match index % 4 {
            0 => "kinds: [ReplicationController]".to_owned(),
            1 => format!("kinds: [{kind}]\n              namespaces: [elsewhere-{index:04}, other-*]"),
            2 => format!(
                "kinds: [{kind}]\n              selector:\n                matchLabels:\n                  tier: absent-{index:04}"
            ),
            _ => format!("kinds: [{kind}]\n              names: [nobody-{index:04}, nothing-*]"),
        };
        let text = format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: q{index:04}-idle
spec:
  rules:
    - name: idle
      match:
        any:
          - resources:
              {matching}
      preconditions:
        all:
          - key: \"{{{{ request.operation }}}}\"
            operator: Equals
            value: CREATE
      mutate:
        patchStrategicMerge:
          metadata:
            labels:
              example.com/idle: \"{{{{ request.object.metadata.name }}}}\"
"
        );
        fs::write(folder.join(format!("q{index:04}.yaml")), text).expect("room for a policy");
    }
}

/// Writes one policy that goes through the containers of Pods.
pub(crate) fn write_loop(path: &Path) {
    let text = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: loop
spec:
  rules:
    - name: loop
      match:
        any:
          - resources:
              kinds: [Pod]
      mutate:
        foreach:
          - list: request.object.spec.containers
            preconditions:
              all:
                - key: \"{{ element.image }}\"
                  operator: Equals
                  value: docker.io/*
            patchStrategicMerge:
              spec:
                containers:
                  - name: \"{{ element.name }}\"
                    image: \"{{ replace_all(element.image, 'docker.io', 'mirror.example.com') }}\"
";
    fs::write(path, text).expect("room for a policy");
}
