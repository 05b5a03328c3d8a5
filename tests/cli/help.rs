//! Help texts, manual pages, completion scripts, version.

use std::fs;
use std::path::Path;

use kyv::value::Value;

use crate::folder::Folder;

#[test]
fn version_is_printed() {
    let folder = Folder::new(&[]);
    let text = folder.run(&["version"]).stdout;
    assert!(text.starts_with(env!("CARGO_PKG_VERSION")), "{text}");
    let json = Value::from_json(&folder.run(&["version", "-o", "json"]).stdout).unwrap();
    assert_eq!(json.get("version").and_then(Value::as_str), Some(env!("CARGO_PKG_VERSION")));
    let features = if cfg!(feature = "cluster") { r#"["cli","cluster"]"# } else { r#"["cli"]"# };
    assert_eq!(json.get("features").map(Value::to_json).as_deref(), Some(features));
}

#[test]
fn every_command_has_a_man_page() {
    let folder = Folder::new(&[]);
    let listed = folder.run(&["man", "--list"]);
    let pages: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for page in [&["diff"][..], &["jp", "query"], &["man"]] {
        assert!(pages.iter().any(|words| words == page), "{page:?} in {pages:?}");
    }
    for words in pages.into_iter().chain([Vec::new()]) {
        let ended = folder.run(&[&["man"], &*words].concat());
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
        let name = [&["kubectl-kyv"], &*words].concat().join("\\-");
        assert!(ended.stdout.contains("\n.TH kubectl-kyv"), "{name}: {}", ended.stdout);
        let help = folder.run(&[&*words, &["--help"]].concat()).stdout;
        for long in help.split_whitespace().filter(|word| word.starts_with("--") && !words.is_empty()) {
            let flag = long.trim_end_matches(|end: char| !end.is_ascii_alphanumeric()).replace('-', "\\-");
            let flag = flag.split(['=', '[']).next().unwrap_or_default();
            assert!(ended.stdout.contains(flag), "{name}: {flag}");
        }
    }
    let unknown = folder.run(&["man", "jp", "nonsense"]);
    assert_eq!((unknown.code, &*unknown.stdout), (Some(2), ""));
    assert!(
        unknown.stderr.contains("no command is called `nonsense`; expected query, parse, function"),
        "{}",
        unknown.stderr
    );
}

#[test]
fn help_is_a_flag_and_a_command() {
    let folder = Folder::new(&[]);
    for words in [&["diff"][..], &["jp", "query"], &["options"], &[]] {
        let by_flag = folder.run(&[words, &["--help"]].concat());
        folder.run(&[&["help"], words].concat()).is(0, &by_flag.stdout, &[]);
    }
    folder.run(&["help", "nonsense"]).is(
        2,
        "",
        &["no command is called `nonsense`; expected mutate, diff, lint, check, drift, explain"],
    );
    for flag in ["-V", "--version"] {
        folder.run(&[flag]).is(0, concat!("kubectl-kyv ", env!("CARGO_PKG_VERSION"), "\n"), &[]);
    }
    for command in ["check", "diff", "drift", "mutate", "explain", "lint", "test"] {
        let short = folder.run(&[command, "-h"]);
        assert!(short.code == Some(0) && short.stdout.lines().count() <= 24, "{command}");
        let long = folder.run(&[command, "--help"]).stdout;
        assert!(long.contains("\nExit codes:\n  0    "), "{long}");
        assert!(!long.contains("--client-certificate"), "{long}");
    }
    assert!(folder.run(&["options"]).stdout.contains("      --client-certificate <FILE>\n"));
}

#[test]
fn limits_and_operators_are_listed() {
    let folder = Folder::new(&[]);
    for arguments in [&["diff", "--limit", "help"][..], &["jp", "query", "--limit=help"]] {
        let listed = folder.run(arguments);
        assert!(
            listed.code == Some(0) && listed.stdout.contains("\nsteps               1000000     "),
            "{}",
            listed.stdout
        );
    }
    let policy = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: a, operator: '==', value: a}]}
    mutate: {patchStrategicMerge: {data: {a: b}}}
";
    folder.write("policy.yaml", policy);
    folder.write("in.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    let refused = folder.run(&["mutate", "-p", "policy.yaml", "-f", "in.yaml"]);
    refused.is(2, "", &["unknown operator, expected one of Equals, NotEquals, In, AnyIn, AllIn, NotIn"]);
}

#[test]
fn command_lines_of_the_kyverno_cli_are_translated() {
    let folder = Folder::new(&[]);
    let line = ["apply", "policy.yaml", "--resource", "my pod.yaml", "--exception=e.yaml", "-s", "a.b=c"];
    folder.run(&line).is(
        2,
        "",
        &["\n  kubectl kyv diff -p policy.yaml -f 'my pod.yaml' --exceptions e.yaml --set a.b=c\n"],
    );
    folder.run(&["diff", "-p", "policy.yaml", "-r", "pod.yaml"]).is(
        2,
        "",
        &["error[KYV013]: `-r` of the Kyverno CLI is `-f` here:\n  kubectl kyv diff -p policy.yaml -f pod.yaml\n"],
    );
}

#[test]
fn shell_completions_are_generated() {
    let folder = Folder::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let ended = folder.run(&["completion", shell]);
        assert!(ended.code == Some(0) && ended.stdout.contains("kubectl-kyv"), "{shell}");
    }
}

/// `UPDATE=1` writes what is printed to the snapshots; read it before it is committed.
#[test]
fn help_texts_match_snapshots() {
    let folder = Folder::new(&[]);
    let snapshots = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/help");
    for command in [
        "",
        "mutate",
        "diff",
        "lint",
        "check",
        "drift",
        "explain",
        "cel",
        "cel-query",
        "cel-check",
        "cel-functions",
        "convert",
        "jp",
        "jp-query",
        "jp-parse",
        "jp-function",
        "test",
        "fn",
        "argocd",
        "argocd-generate",
        "argocd-parameters",
        "version",
        "completion",
        "man",
        "options",
        "help",
    ] {
        let words = command.split('-').filter(|word| !word.is_empty());
        let ended = folder.run(&words.chain(["--help"]).collect::<Vec<_>>());
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
        let name = if command.is_empty() { "help.txt".to_owned() } else { format!("help-{command}.txt") };
        let path = snapshots.join(&name);
        let help: String = ended.stdout.lines().map(|line| format!("{}\n", line.trim_end())).collect();
        if std::env::var_os("UPDATE").is_some_and(|update| update == "1") {
            fs::write(&path, &help).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let differing = help.lines().zip(expected.lines()).find(|(printed, expected)| printed != expected);
        assert!(help == expected, "tests/cli/help/{name} differs; the first lines: {differing:#?}");
    }
}
