//! `cel`: expressions and functions on the command line. What expressions mean is shown by `tests/language/cel.rs`.

use std::io::Write as _;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-kyv");

const POD: &str = "metadata: {name: web, labels: {app: x}}\nspec: {containers: [{name: a, image: nginx}]}\n";

fn run(arguments: &[&str], stdin: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(PROGRAM);
    command.arg("cel").args(arguments).env_clear();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    // Bad usage ends the program before it reads anything.
    let _written = child.stdin.take().expect("a pipe").write_all(stdin.as_bytes());
    let output = child.wait_with_output().expect("the program ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn prints(arguments: &[&str], stdin: &str, expected: &str) {
    let (code, printed, said) = run(arguments, stdin);
    assert_eq!((code, &*printed), (Some(0), expected), "{said}");
}

#[test]
fn results_are_printed_in_the_requested_format() {
    prints(&["query", "object.spec.containers.map(c, c.image)", "--compact"], POD, "[\"nginx\"]\n");
    prints(&["query", "object.metadata", "-o", "yaml"], POD, "name: web\nlabels:\n  app: x\n");
    prints(&["query", "object.metadata.name"], POD, "\"web\"\n");
    prints(&["query", "object.metadata.name", "-u"], POD, "web\n");
    prints(&["query", "-n", "'a,b'.split(',')", "--compact"], "", "[\"a\",\"b\"]\n");
    prints(
        &["query", "Object{spec: Object.spec{replicas: 3}}", "--compact"],
        POD,
        "{\"spec\":{\"replicas\":3}}\n",
    );
    prints(&["query", "object.?spec.?nope", "--compact"], POD, "null\n");
    prints(&["query", "object.a"], "a: 1\n---\na: 2\n", "1\n2\n");
}

#[test]
fn faults_are_shown_where_they_are() {
    let (code, printed, said) = run(&["query", "object.metadata.name + nope", "-n"], "");
    assert_eq!((code, &*printed), (Some(2), ""), "{said}");
    assert!(said.contains("error[KYV390]: ") && said.contains("undeclared reference to 'nope'"), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let source = lines.iter().position(|line| line.contains("object.metadata.name + nope")).expect(&said);
    assert_eq!(lines[source + 1].find('^'), lines[source].find("nope"), "{said}");

    let (code, _, said) = run(&["query", "object.metadata.name + object.nope"], POD);
    assert_eq!(code, Some(3), "{said}");
    let expected = "error[KYV391]: no such key: nope
1 | object.metadata.name + object.nope
  |                        ^";
    assert!(said.starts_with(expected), "{said}");
    let (code, _, said) = run(&["query", "request.name == 'a'"], POD);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("the variable 'request' has a value only in policies"), "{said}");
    let (code, printed, said) = run(&["query", "object.a"], "a: 1\n---\nb: 1\n");
    assert_eq!((code, &*printed), (Some(3), "1\n"));
    assert!(said.contains("document 2: no such key: a"), "{said}");
}

#[test]
fn expressions_are_checked_for_either_side() {
    prints(&["check", "object.metadata.?labels.?team.hasValue()"], "", "bool\ncost: 3 to 5\n");
    prints(&["check", "[1, 2].map(x, string(x))"], "", "list(string)\ncost: 29\n");
    prints(&["check", "sha256('a')"], "", "string\ncost: 1\n");
    let (code, _, said) = run(&["check", "sha256('a')", "--dialect", "kubernetes"], "");
    assert!(code == Some(2) && said.contains("undeclared reference to 'sha256'"), "{said}");
}

#[test]
fn functions_are_listed() {
    prints(
        &["functions", "indexOf", "isIP"],
        "",
        "string.indexOf(string) -> int\nstring.indexOf(string, int) -> int\nlist(A).indexOf(A) -> int\nisIP(string) -> bool\n",
    );
    prints(&["functions", "orValue"], "", "dyn.orValue(dyn) -> dyn\n");
    let of_kubernetes = ["functions", "orValue", "--dialect", "kubernetes"];
    prints(&of_kubernetes, "", "optional_type(V).orValue(V) -> V\n");
    prints(&["functions", "gzip.compress"], "", "gzip.compress(dyn) -> bytes\n");
    let (code, _, said) = run(&["functions", "startWith"], "");
    assert!(code == Some(2) && said.contains("did you mean startsWith?"), "{said}");
}

#[test]
fn expressions_may_begin_with_a_hyphen() {
    prints(&["query", "-n", "-1"], "", "-1\n");
    prints(&["query", "-1", "-n"], "", "-1\n");
    prints(&["query", "-size(object.metadata.labels)"], POD, "-1\n");
    prints(&["check", "-(1) + 2"], "", "int\ncost: 2\n");
    let (code, _, said) = run(&["query", "--dialect", "nope", "1"], "");
    assert!(code == Some(2) && said.contains("--dialect"), "{said}");
}
