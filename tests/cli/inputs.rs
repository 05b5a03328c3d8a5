//! Which files are read, and how kustomizations are built.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::commands::{LABEL, MAP};
use crate::folder::{Folder, end};

fn names(folder: &Folder, arguments: &[&str]) -> Vec<String> {
    let run = folder.run(&[&["mutate", "-p", "label.yaml", "-o", "name", "-f", "repo"], arguments].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout.lines().map(|line| line.rsplit('/').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn files_and_folders_are_excluded_by_globs() {
    let map = |name: &str| MAP.replace("map", name);
    let folder = Folder::new(&[
        ("label.yaml", LABEL),
        ("repo/a.yaml", &map("a")),
        ("repo/values.yaml", "replicas: 1\n"),
        ("repo/charts/web/values.yaml", "a: [\n"),
        ("repo/charts/web/templates/b.yaml", &map("b")),
        ("repo/charts/c.yaml", &map("c")),
        ("repo/charts.yaml", &map("d")),
    ]);
    let all = ["-R", "--exclude", "values.yaml"];
    assert_eq!(names(&folder, &all), ["a", "c", "b", "d"]);
    let with = |globs: &[&str]| {
        let more: Vec<&str> = globs.iter().flat_map(|glob| ["--exclude", *glob]).collect();
        names(&folder, &[&all[..], &more].concat())
    };
    assert_eq!(with(&["charts"]), ["a", "d"]);
    assert_eq!(with(&["charts/"]), ["a", "d"]);
    assert_eq!(with(&["charts/*/templates"]), ["a", "c", "d"]);
    assert_eq!(with(&["**/b.yaml", "a*"]), ["c", "d"]);
    assert_eq!(with(&["web/*"]), ["a", "c", "b", "d"]);
    // What is named is read.
    let named =
        folder.run(&["mutate", "-p", "label.yaml", "-o", "name", "-f", "repo/a.yaml", "--exclude", "a.yaml"]);
    assert!(named.stdout.ends_with("/a\n"), "{}", named.stdout);
    let bad = folder.run(&["mutate", "-p", "label.yaml", "-f", "repo", "--exclude", "[a"]);
    assert_eq!(bad.code, Some(2), "{}", bad.stderr);
    assert!(bad.stderr.contains("[a"), "{}", bad.stderr);
}

#[test]
fn the_build_of_a_kustomization_has_options() {
    let folder = Folder::new(&[("label.yaml", LABEL), ("base/kustomization.yaml", "")]);
    folder.write("kubectl", &format!("#!/bin/sh\necho \"$@\" >arguments\ncat <<E\n{MAP}E\n"));
    let program = folder.path().join("kubectl");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("the permissions can be set");
    let run = |options: &[&str]| {
        let mut command = folder.command(&[&["mutate", "-p", "label.yaml", "-k", "base"], options].concat());
        command.env("KUBECTL_PATH", &program).env("PATH", "/usr/bin:/bin");
        let run = end(command, "");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        folder.read("arguments")
    };
    assert_eq!(run(&[]), "kustomize ./base\n");
    assert_eq!(
        run(&["--kustomize-options", "--enable-helm --load-restrictor LoadRestrictionsNone"]),
        "kustomize ./base --enable-helm --load-restrictor LoadRestrictionsNone\n"
    );
    let alone =
        folder.run(&["mutate", "-p", "label.yaml", "-f", "label.yaml", "--kustomize-options=--enable-helm"]);
    assert_eq!(alone.code, Some(2), "{}", alone.stderr);
}
