//! What is seen on a terminal: order, pager, colours, widths.
#![cfg(unix)]

use std::env;
use std::process::{Command, Stdio};

use crate::folder::{Folder, end};

const LABEL: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: a-policy-whose-name-has-many-characters}
spec:
  rules:
  - name: a-rule-whose-name-has-many-characters
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {a: b}}}}
  - name: other
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {data: {+(x): z}}}
";

/// A folder with a policy and maps, each of which has a diff of several lines.
fn folder(maps: usize) -> Folder {
    let map = |number| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map-{number}\n  namespace: production\n"
        )
    };
    let maps: String = (0..maps).map(map).collect();
    Folder::new(&[("policy.yaml", LABEL), ("in.yaml", &maps)])
}

/// What a terminal of 80 columns and 24 rows shows of a command, and the exit code. `None` if there is no program
/// `script`, which has the terminal.
fn screen(folder: &Folder, variables: &[(&str, &str)], command: &str) -> Option<(i32, String)> {
    if !cfg!(target_os = "linux") || Command::new("script").arg("--version").output().is_err() {
        test_support::log("skipped: what a terminal shows (needs `script` of util-linux)");
        return None;
    }
    let program = env!("CARGO_BIN_EXE_kubectl-kyv");
    let line = format!("stty rows 24 columns 80; '{program}' {command}");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).current_dir(folder.path()).env_clear();
    script.env("PATH", env::var_os("PATH").unwrap_or_default()).env("TERM", "xterm").env("SHELL", "/bin/sh");
    script.envs(variables.iter().copied());
    script.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ended = end(script, "");
    Some((ended.code.unwrap_or(-1), ended.stdout.replace("\r\n", "\n")))
}

const DIFF: &str = "diff -p policy.yaml -f in.yaml";

#[test]
fn the_summary_comes_below_the_diff() {
    let folder = folder(1);
    let bad =
        LABEL.replace("ConfigMap", "Pods").replace("kind: ClusterPolicy\n", "kind: ClusterPolicy\nx: 1\n");
    folder.write("bad.yaml", &bad);
    let Some((code, text)) = screen(&folder, &[], &format!("{DIFF} -p bad.yaml")) else { return };
    assert_eq!(code, 2, "{text}");
    let last: Vec<&str> = text.lines().rev().take(2).collect();
    assert_eq!(last, ["1 object, 1 would be changed by 2 rules", "1 policy refused; 1 policy evaluated"]);
    let (code, text) = screen(&folder, &[], DIFF).expect("there is a terminal");
    assert_eq!(code, 1, "{text}");
    let diff = text.find("+++ b/in.yaml").expect("a diff");
    assert!(text[diff..].ends_with("\n1 object, 1 would be changed by 2 rules\n"), "{text}");
}

#[test]
fn a_long_result_goes_through_the_pager_in_colour() {
    let folder = folder(9);
    let pager = ("KYV_PAGER", "sed s/^/paged:/");
    let Some((code, text)) = screen(&folder, &[pager], DIFF) else { return };
    assert_eq!(code, 1, "{text}");
    let coloured = "paged:\u{1b}[32m+  labels:\u{1b}[0m\n";
    assert!(text.contains(coloured), "{text}");
    // The summary is no part of the result.
    assert!(text.ends_with("\n9 objects, 9 would be changed by 2 rules\n"), "{text}");
    for (variables, command) in [
        (&[pager][..], format!("{DIFF} --no-pager")),
        (&[("KYV_PAGER", ""), ("PAGER", "sed s/^/paged:/")], DIFF.to_owned()),
        (&[("PAGER", "cat")], DIFF.to_owned()),
        (&[pager, ("TERM", "dumb")], DIFF.to_owned()),
        (&[("KYV_PAGER", "no-such-program")], DIFF.to_owned()),
        (&[("KYV_PAGER", "no-such-program -x")], DIFF.to_owned()),
    ] {
        let (code, text) = screen(&folder, variables, &command).expect("there is a terminal");
        assert_eq!(code, 1, "{text}");
        assert!(!text.contains("paged:") && text.contains("+  labels:"), "{variables:?} {text}");
    }
    let (_, text) = screen(&folder, &[("PAGER", "sed s/^/paged:/")], DIFF).expect("there is a terminal");
    assert!(text.contains("paged:"), "{text}");
    let (_, text) = screen(&folder, &[pager, ("NO_COLOR", "1")], DIFF).expect("there is a terminal");
    assert!(text.contains("paged:+  labels:\n"), "{text}");
}

#[test]
fn a_pager_that_ends_early_is_no_error() {
    let folder = folder(3000);
    let Some((code, text)) = screen(&folder, &[("PAGER", "head -n 1")], DIFF) else { return };
    assert_eq!(code, 1, "{text}");
    assert!(text.ends_with("\n3000 objects, 3000 would be changed by 2 rules\n"), "{text}");
    assert!(!text.contains("cannot be written"), "{text}");
}

#[test]
fn a_short_result_needs_no_pager() {
    let Some((_, text)) = screen(&folder(1), &[("PAGER", "sed s/^/paged:/")], DIFF) else { return };
    assert!(!text.contains("paged:"), "{text}");
}

#[test]
fn tables_fit_the_terminal() {
    let folder = folder(3);
    let fits = |text: &str, columns: usize| {
        let table: Vec<&str> = text.lines().filter(|line| line.contains("  ")).collect();
        assert!(table.len() >= 3, "{text}");
        assert!(table.iter().all(|line| line.chars().count() <= columns), "{text}");
    };
    for arguments in ["-o summary", "--summary"] {
        let words: Vec<&str> = DIFF.split(' ').chain(arguments.split(' ')).collect();
        for columns in ["80", "160"] {
            let mut command = folder.command(&words);
            command.env("COLUMNS", columns);
            let ended = end(command, "");
            let text = if arguments == "--summary" { ended.stderr } else { ended.stdout };
            fits(&text, columns.parse().expect("a number"));
            assert_eq!(text.contains('…'), columns == "80", "{text}");
        }
        let Some((_, text)) = screen(&folder, &[("PAGER", "")], &format!("{DIFF} {arguments}")) else {
            return;
        };
        fits(&text, 80);
    }
}

#[test]
fn the_summary_is_one_line_unless_tables_are_wanted() {
    let folder = folder(2);
    let words: Vec<&str> = DIFF.split(' ').collect();
    let line = "2 objects, 2 would be changed by 2 rules\n";
    assert_eq!(folder.run(&words).stderr, line);
    let tables = folder.run(&[&*words, &["--summary"]].concat()).stderr;
    let whole = folder.run(&[&*words, &["-o", "summary"]].concat());
    assert_eq!((tables, ""), (whole.stdout, &*whole.stderr));
}
