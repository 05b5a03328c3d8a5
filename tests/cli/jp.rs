//! `jp`: expressions and functions on the command line. What expressions mean is shown by `tests/language/jmespath.rs`.

use std::io::Write as _;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");

fn run(arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.arg("jp").args(arguments).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Bad usage ends the program before it reads anything.
    let _written = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn query(arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    run(&[&["query"], arguments].concat(), stdin)
}

#[track_caller]
fn prints(arguments: &[&str], stdin: &str, expected: &str) {
    let (code, printed, said) = query(arguments, stdin);
    assert_eq!((code, &*printed), (Some(0), expected), "{said}");
}

#[test]
fn the_tree_of_an_expression_is_printed() {
    let (code, printed, said) = run(&["parse", "a.b | c[0]"], "");
    let tree = "pipe |\n  chain .\n    field a\n    field b\n  chain .\n    field c\n    index [0]\n";
    assert_eq!((code, &*printed), (Some(0), tree), "{said}");
    let (code, printed, said) = run(&["parse", "a", "b.", "@"], "");
    assert_eq!((code, &*printed), (Some(2), "# a\nfield a\n# @\ncurrent @\n"), "{said}");
    assert!(said.starts_with("error[KYV302]: "), "{said}");
}

#[test]
fn results_are_printed_in_the_requested_format() {
    const INPUT: &str = "a: {b: [1, x]}\n";
    prints(&["a"], INPUT, "{\n  \"b\": [\n    1,\n    \"x\"\n  ]\n}\n");
    prints(&["a", "--compact"], INPUT, "{\"b\":[1,\"x\"]}\n");
    prints(&["a", "-o", "yaml"], INPUT, "b:\n- 1\n- x\n");
    prints(&["a.b[1]"], INPUT, "\"x\"\n");
    prints(&["a.b[1]", "-u"], INPUT, "x\n");
    prints(&["a.b[0]", "-u"], INPUT, "1\n");
    prints(&["a.b"], "{\"a\": {\"b\": null}}", "null\n");
}

#[test]
fn every_document_is_queried() {
    prints(&["a"], "a: 1\n---\n# nothing\n---\na: 2\n", "1\n2\n");
    prints(&["a", "-o", "yaml"], "a: 1\n---\na: [2]\n", "---\n1\n---\n- 2\n");
    let (code, printed, said) = query(&["a"], "a: 1\n---\nb: 2\n");
    assert_eq!((code, &*printed), (Some(3), "1\n"));
    assert!(said.contains("document 2: there is no key `a`"), "{said}");
}

#[test]
fn a_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.yaml");
    std::fs::write(&path, "a: b\n").unwrap();
    prints(&["a", "-f", path.to_str().unwrap()], "", "\"b\"\n");
    let (code, _, said) = query(&["a", "-f", "no-such-file"], "");
    assert!(code == Some(2) && said.contains("no-such-file"), "{said}");
}

#[test]
fn syntax_errors_show_their_position() {
    let (code, printed, said) = query(&["a.b[?c == ]"], "a: 1\n");
    assert_eq!((code, &*printed), (Some(2), ""));
    let mut lines = said.lines().skip(1);
    assert_eq!(lines.next(), Some("1 | a.b[?c == ]"));
    assert_eq!(lines.next(), Some("  |           ^"));
}

#[test]
fn invalid_input_is_reported() {
    let (code, printed, said) = query(&["a"], "a: [\n");
    assert!(code == Some(2) && printed.is_empty() && said.contains("stdin:1:4: unclosed bracket"), "{said}");
    let (code, _, said) = query(&["a"], "");
    assert!(code == Some(2) && said.contains("no document"), "{said}");
    let (code, _, said) = query(&["a", "--limit", "stepz=1"], "a: 1");
    assert!(code == Some(2) && said.contains("no limit is called `stepz`"), "{said}");
}

#[test]
fn evaluation_errors_have_their_own_exit_code() {
    let (code, _, said) = query(&["-n", "no_such(@)"], "");
    assert!(code == Some(3) && said.contains("unknown function: no_such"), "{said}");
    let (code, _, said) = query(&["a[*].b[*].c", "--limit", "steps=3"], "a: [{b: [{c: 1}, {c: 2}]}]\n");
    assert!(code == Some(3) && said.contains("`steps`"), "{said}");
}

#[test]
fn time_and_random_are_repeatable_with_flags() {
    prints(&["-n", "time_now_utc()", "--now", "2026-01-31T12:00:00Z"], "", "\"2026-01-31T12:00:00Z\"\n");
    let random = |seed| query(&["-n", "random('[a-z]{20}')", "--seed", seed], "").1;
    assert_eq!(random("1"), random("1"));
    assert_ne!(random("1"), random("2"));
}

#[test]
fn divergences_are_announced() {
    let (code, printed, said) = query(&["join(',' @)", "--semantics", "kyverno", "-u"], "[a, b]\n");
    assert_eq!((code, &*printed), (Some(0), "a,b\n"));
    assert!(said.contains("note[KYV-D"), "{said}");
    let (code, printed, said) = query(&["join(',' @)", "-u"], "[a, b]\n");
    assert_eq!((code, &*printed), (Some(0), "a,b\n"));
    assert!(said.contains("note[KYV-D32]"), "{said}");
}

#[test]
fn functions_are_listed_with_their_signatures() {
    let (code, all, _) = run(&["function"], "");
    assert_eq!(code, Some(0));
    for signature in ["truncate(string, number) string\n    ", "time_add(string, string) string\n    "] {
        assert!(all.contains(signature), "{all}");
    }
    let (_, some, _) = run(&["function", "time_*", "length"], "");
    assert!(
        some.lines().step_by(2).all(|line| line.starts_with("time_") || line.starts_with("length(")),
        "{some}"
    );
    let (code, printed, said) = run(&["function", "trunkate"], "");
    assert_eq!((code, &*printed), (Some(2), ""));
    assert!(said.contains("no function is called trunkate, did you mean truncate?"), "{said}");
}
