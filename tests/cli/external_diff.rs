//! `KUBECTL_EXTERNAL_DIFF`, as `kubectl diff` of Kubernetes 1.36 runs it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::folder::{Folder, RunOutput, end};

const POLICY: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: add
    match: {any: [{resources: {kinds: [ConfigMap, Deployment, ClusterRole, Secret]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
  - name: secret
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate: {patchStrategicMerge: {stringData: {password: topsecret2}}}
";

const OBJECTS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: map}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: 'a:b'}
---
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: topsecret1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: same, labels: {a: b}}
";

/// Prints its arguments behind the directories, and the files of the directories.
const PROGRAM: &str = "#!/bin/sh
live=$1 merged=$2
shift 2
case $live$merged in */LIVE-*/MERGED-*) ;; *) exit 9 ;; esac
echo \"arguments: $*\"
PATH=/usr/bin:/bin
cd \"$live\" && ls && cat v1.ConfigMap.default.map
cd \"$merged\" && ls && cat v1.ConfigMap.default.map v1.Secret.default.db
exit $CODE
";

/// Runs a command where the variable names the program, which ends with this code.
fn run(command: &str, variable: &str, code: &str) -> RunOutput {
    let folder = Folder::new(&[("policy.yaml", POLICY), ("in.yaml", OBJECTS), ("differ", PROGRAM)]);
    let program = folder.path().join("differ");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let variable = variable.replace("differ", &program.display().to_string());
    let words: Vec<&str> = command.split(' ').chain(["-p", "policy.yaml", "-f", "in.yaml"]).collect();
    let mut command = folder.command(&words);
    command.env("KUBECTL_EXTERNAL_DIFF", variable).env("CODE", code);
    end(command, "")
}

const FILES: &str = "apps.v1.Deployment.shop.web
rbac.authorization.k8s.io.v1.ClusterRole..a:b
v1.ConfigMap.default.map
v1.Secret.default.db
";

#[test]
fn a_program_compares_two_directories() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n  labels:\n    a: b\n\
                  stringData:\n  password: '*** (after)'\n";
    let printed = format!("arguments: -x --color=on\n{FILES}{map}{FILES}{map}  labels:\n    a: b\n{secret}");
    let ended = run("diff", "differ -x --color=on -I{}", "1");
    ended.is(1, &printed, &["ignored, as kubectl ignores it: -I{}\n"]);
    assert!(ended.stderr.ends_with("5 objects, 4 would be changed by 2 rules\n"), "{}", ended.stderr);
}

#[test]
fn the_exit_code_of_the_program_counts() {
    assert_eq!(run("diff", "differ", "0").code, Some(0));
    let failed = run("diff", "differ", "5");
    assert_eq!(failed.code, Some(2), "{}", failed.stderr);
    assert!(failed.stderr.contains("differ` failed: exit status: 5\n"), "{}", failed.stderr);
    let missing = run("diff", "no-such-program -u", "0");
    missing.is(2, "", &["failed to run `no-such-program`"]);
}

#[test]
fn only_the_diff_of_diff_is_shown_by_the_program() {
    for command in ["diff -o json", "diff -o markdown", "mutate", "mutate -o diff"] {
        let ended = run(command, "no-such-program", "9");
        assert!(ended.code == Some(i32::from(command.starts_with("diff"))), "{command}: {}", ended.stderr);
    }
    // An empty variable is none.
    assert!(run("diff", "", "9").stdout.contains("\n+++ b/in.yaml(masked)\n"));
}
