//! The pages on pipelines, followed word by word with the real programs.

use std::path::Path;
use std::process::Command;

use crate::folder::{Folder, kyv_program};
use crate::page_runner::follow;

#[test]
fn render_and_admission() {
    if test_support::skip_without_real_programs("docs/render-and-admission.md") {
        return;
    }
    follow("render-and-admission.md", &Folder::with(&[]), &["kubectl", "kustomize"], &[]);
}

#[test]
fn helm() {
    if test_support::skip_without_real_programs("docs/helm.md") {
        return;
    }
    follow("helm.md", &Folder::with(&[]), &["helm"], &[]);
}

#[test]
fn flux() {
    if test_support::skip_without_real_programs("docs/flux.md") {
        return;
    }
    let folder = Folder::with(&[]);
    let setup = "git init -q --bare .origin && git init -q && git remote add origin .origin";
    let made = Command::new("sh").args(["-euc", setup]).current_dir(folder.path()).status();
    assert!(made.expect("sh runs").success());
    follow("flux.md", &folder, &["kubectl", "kustomize"], &[]);
}

/// kustomize starts containers with `docker`; the program in an empty folder stands in for the image.
#[test]
fn functions() {
    if test_support::skip_without_real_programs("docs/functions.md") {
        return;
    }
    let docker =
        "case \"$*\" in *registry.example/kubectl-kyv:v0.1.0) cd / && exec kubectl-kyv fn; esac; exit 1";
    let folder = Folder::with(&[]);
    follow("functions.md", &folder, &["kustomize", "kpt"], &[("docker", docker)]);
}

#[test]
fn the_readme_shows_the_diff_of_the_example() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("it is there");
    let (_, rest) = readme.split_once("```diff\n").expect("a diff");
    let (shown, _) = rest.split_once("```").expect("the block ends");
    let mut diff = Command::new(kyv_program());
    diff.args(["diff", "--annotate", "-p", "policies", "-f", "manifests"]);
    let output = diff.current_dir(root.join("plugin/kubectl/example")).output().expect("the program runs");
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown);
    assert_eq!(output.status.code(), Some(1));
}
