//! Properties of `mutate` on the corpus and on generated documents.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proptest::prelude::*;

/// Runs `kubectl-kyv` in a folder; stdin is the given text.
fn kyv(folder: &Path, arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let text = stdin.to_owned();
    let writer = std::thread::spawn(move || pipe.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().ok();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// Every case of the corpus, by its name.
fn cases() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for topic in
        fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
    {
        let folders = fs::read_dir(&topic).unwrap().map(|entry| entry.unwrap().path());
        for case in folders.filter(|folder| folder.join("policy.yaml").exists()) {
            let name = case.strip_prefix(corpus()).unwrap().display().to_string();
            found.push((name, case));
        }
    }
    found.sort();
    found
}

/// The options of a case that say how to run it.
fn options(case: &Path) -> Vec<String> {
    let text = fs::read_to_string(case.join("options")).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Mutating twice changes nothing the second time, for every case of the corpus but those listed with their
/// reason; and `--check-idempotent` names exactly these.
#[test]
fn mutating_twice_changes_nothing_unless_listed() {
    let list = fs::read_to_string(corpus().join("not-idempotent.txt")).unwrap();
    let listed: BTreeSet<&str> = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_once(": ").expect("a name, a colon and the reason").0)
        .collect();
    let (mut moved, mut named) = (BTreeSet::new(), BTreeSet::new());
    let mut checked = 0;
    let cases = cases();
    for (name, case) in &cases {
        let options = options(case);
        let mut arguments = vec!["mutate", "-p", "policy.yaml", "--view", "written"];
        arguments.extend(options.iter().map(String::as_str));
        let mut first = arguments.clone();
        first.extend(["-f", "input.yaml", "--check-idempotent"]);
        let (code, once, stderr) = kyv(case, &first, "");
        if code == Some(2) || once.trim().is_empty() {
            continue;
        }
        checked += 1;
        if stderr.contains("a second run would change") {
            named.insert(name.as_str());
        }
        let mut second = arguments.clone();
        second.extend(["-f", "-"]);
        let (_, twice, _) = kyv(case, &second, &once);
        if once != twice {
            moved.insert(name.as_str());
        }
    }
    assert!(checked > 0);
    assert_eq!(moved, listed, "left: changed by a second run; right: listed");
    assert_eq!(named, listed, "left: named by --check-idempotent; right: listed");
}

/// YAML that nobody's policy matches, in the many ways people write it.
fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("plain".to_owned()),
        Just("'quoted  '".to_owned()),
        Just("\"x: \\u00e9\"".to_owned()),
        Just("0755".to_owned()),
        Just("1.10".to_owned()),
        Just("yes".to_owned()),
        Just("~".to_owned()),
        Just("12345678901234567890".to_owned()),
        Just("[1,  two, {three: 3}]   # flow".to_owned()),
        Just("|\n      two\n       lines\n\n".to_owned()),
        Just(">-\n      folded\n      text".to_owned()),
    ];
    (proptest::collection::vec(("[a-z]{1,6}", scalar), 1..6), any::<bool>(), any::<bool>()).prop_map(
        |(members, commented, spaced)| {
            let mut text = String::from("apiVersion: v1\nkind: Widget\nmetadata: {name:   w}\nspec:\n");
            let mut seen = BTreeSet::new();
            for (key, value) in members.into_iter().filter(|(key, _)| seen.insert(key.clone())) {
                if commented {
                    text.push_str("    # about the next line\n");
                }
                text.extend(["    key-", &key, ": ", &value, "\n"]);
                if spaced {
                    text.push('\n');
                }
            }
            text
        },
    )
}

const POLICY: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {seen: "yes"}}}}
"#;

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn unmatched_documents_are_printed_byte_for_byte(
        documents in proptest::collection::vec(document(), 1..5),
        separator in prop_oneof![Just("---\n"), Just("--- # next\n"), Just("---\r\n"), Just("...\n---\n")],
        crlf in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        let mut text = documents.join(separator);
        if crlf {
            text = text.replace("\r\n", "\n").replace('\n', "\r\n");
        }
        let (code, stdout, stderr) = kyv(folder.path(), &["mutate", "-p", "policy.yaml", "-f", "-"], &text);
        prop_assert_eq!(code, Some(0), "{}", stderr);
        prop_assert_eq!(stdout, text);
    }

    #[test]
    fn order_is_kept_with_any_thread_count(kinds in proptest::collection::vec(any::<bool>(), 1..120)) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        let documents: Vec<String> = kinds
            .iter()
            .enumerate()
            .map(|(index, matched)| {
                let kind = if *matched { "ConfigMap" } else { "Widget" };
                format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: n{index}\n")
            })
            .collect();
        let text = documents.join("---\n");
        let run = |workers: &str| {
            kyv(folder.path(), &["mutate", "-p", "policy.yaml", "-f", "-", "--workers", workers], &text)
        };
        let one = run("1");
        prop_assert_eq!(&one, &run("4"));
        let names: Vec<&str> = one.1.lines().filter_map(|line| line.trim().strip_prefix("name: ")).collect();
        let wanted: Vec<String> = (0..kinds.len()).map(|index| format!("n{index}")).collect();
        prop_assert_eq!(names, wanted);
        prop_assert_eq!(one.1.matches("seen:").count(), kinds.iter().filter(|matched| **matched).count());
    }
}
