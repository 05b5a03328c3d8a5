//! The README and the pages of `docs/`, followed word by word.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::folder::{Folder, files_of, kyv_program};
use crate::page_runner::follow;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Pages that need nothing but kubectl-kyv.
const PAGES: [&str; 28] = [
    "README.md",
    "docs/README.md",
    "docs/benchmark/README.md",
    "docs/catalogue-audit.md",
    "docs/cel.md",
    "docs/checking.md",
    "docs/ci.md",
    "docs/clusters.md",
    "docs/contributing.md",
    "docs/converting.md",
    "docs/diagnostics/README.md",
    "docs/divergences/README.md",
    "docs/drift.md",
    "docs/exit-codes.md",
    "docs/explain.md",
    "docs/install.md",
    "docs/jmespath.md",
    "docs/json-output.md",
    "docs/legacy-syntax.md",
    "docs/limits-and-security.md",
    "docs/linting.md",
    "docs/mutate-and-diff.md",
    "docs/other-programs.md",
    "docs/pages.md",
    "docs/policies-and-inputs.md",
    "docs/proving.md",
    "docs/quickstart.md",
    "docs/test-suites.md",
];

/// Pages with the real programs that they need.
const PAGES_WITH_PROGRAMS: [(&str, &[&str]); 6] = [
    ("docs/helm.md", &["helm"]),
    ("docs/kpt.md", &["kpt"]),
    ("docs/krm-function.md", &["kustomize", "kpt"]),
    ("docs/kustomize.md", &["kubectl", "kustomize"]),
    ("docs/kyverno-cli.md", &["kyverno"]),
    ("docs/render-and-admission.md", &["kubectl", "kustomize"]),
];

#[test]
fn commands_print_what_the_pages_show() {
    for page in PAGES {
        follow(page, &Folder::with(&[]), &[], &[]);
    }
}

#[test]
fn commands_with_real_programs_print_what_the_pages_show() {
    if test_support::skip_without_real_programs(
        "pages of docs/ with helm, kpt, kustomize and the Kyverno CLI",
    ) {
        return;
    }
    // kustomize starts containers with `docker`; here the program runs in an empty folder instead.
    let docker =
        "case \"$*\" in *registry.example/kubectl-kyv:v0.1.0) cd / && exec kubectl-kyv fn; esac; exit 1";
    for (page, programs) in PAGES_WITH_PROGRAMS {
        follow(page, &Folder::with(&[]), programs, &[("docker", docker)]);
    }
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
    follow("docs/flux.md", &folder, &["kubectl", "kustomize"], &[]);
}

#[test]
fn every_page_with_commands_is_followed() {
    // The first is followed by `argocd_install`, the second above.
    let followed = PAGES.into_iter().chain(["docs/argocd.md", "docs/flux.md"]);
    let followed: BTreeSet<&str> = followed.chain(PAGES_WITH_PROGRAMS.map(|(page, _)| page)).collect();
    let docs = markdown_below(&Path::new(ROOT).join("docs"));
    let with_commands = docs.iter().filter(|(_, text)| text.contains("\n```console\n"));
    let with_commands: BTreeSet<&str> = with_commands.map(|(page, _)| &**page).chain(["README.md"]).collect();
    assert_eq!(followed, with_commands);
}

#[test]
fn the_readme_shows_the_files_of_its_example() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).expect("it is there");
    let files = files_of(&Path::new(ROOT).join("examples/read-only-latest"));
    assert_eq!(files.keys().map(String::as_str).collect::<Vec<_>>(), ["policy.yaml", "web.yaml"]);
    for text in files.values() {
        assert!(readme.contains(&format!("```yaml\n{text}```\n")), "{text}");
    }
}

/// The tables of flags name each flag of the Kyverno CLI, and only flags that exist.
#[test]
fn the_page_on_the_kyverno_cli_names_all_flags() {
    if test_support::skip_without_real_programs("the flags of the Kyverno CLI") {
        return;
    }
    let page = fs::read_to_string(Path::new(ROOT).join("docs/kyverno-cli.md")).expect("it is there");
    let tables: [(&str, &[&[&str]]); 3] = [
        ("apply", &[&["mutate"], &["diff"], &["explain"]]),
        ("test", &[&["test"]]),
        ("jp query", &[&["jp", "query"]]),
    ];
    for (command, ours) in tables {
        let (_, rest) = page.split_once(&format!("\n### {command}\n")).expect(command);
        let table = rest.split("\n##").next().unwrap_or_default();
        let cells = |column: usize| -> String {
            table
                .lines()
                .filter_map(|line| line.split('|').nth(column))
                .map(|cell| format!("{cell}\n"))
                .collect()
        };
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(flags(&cells(1)), own_flags(&test_support::tool("kyverno"), &words), "{command}");
        let known = ours.iter().flat_map(|words| own_flags(kyv_program(), words)).collect::<BTreeSet<_>>();
        let unknown: Vec<String> =
            flags(&cells(2)).into_iter().filter(|flag| !known.contains(flag)).collect();
        assert!(unknown.is_empty(), "{command}: {unknown:?}");
    }
}

/// The long flags that a command lists in its help, without those that all commands have.
fn own_flags(program: &Path, words: &[&str]) -> BTreeSet<String> {
    let output = Command::new(program).args(words).arg("--help").output().expect("the program runs");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let help = help.split("\nGlobal Flags:").next().unwrap_or_default();
    let lines: String =
        help.lines().filter(|line| line.trim_start().starts_with('-')).collect::<Vec<_>>().join("\n");
    flags(&lines).into_iter().filter(|flag| flag != "--help").collect()
}

/// The words of a text that are long flags.
fn flags(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words
        .filter(|word| word.starts_with("--") && !word.trim_matches('-').is_empty())
        .map(str::to_owned)
        .collect()
}

fn markdown_below(folder: &Path) -> Vec<(String, String)> {
    let pages: Vec<PathBuf> = test_support::files::files_below(folder, &["md"]);
    let name = |path: &Path| path.strip_prefix(ROOT).expect("it is below").display().to_string();
    pages.iter().map(|path| (name(path), fs::read_to_string(path).expect("a text"))).collect()
}
