//! The KRM function: every folder below `tests/krm` is a case. `tests/krm/README.md` says what it holds.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use similar::TextDiff;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/krm");
    let entries = fs::read_dir(&root).expect("the folder of the cases can be read");
    let mut cases: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    cases.retain(|path| path.is_dir());
    cases.sort();
    assert!(!cases.is_empty(), "no case folder below {}", root.display());
    let mut trials = Vec::new();
    for case in cases {
        let name = case.strip_prefix(&root).unwrap_or(&case).display().to_string();
        // By its name, and as an orchestrator starts it.
        for (way, arguments) in [("fn", &["fn"][..]), ("bare", &[])] {
            let case = case.clone();
            trials.push(Trial::test(format!("{name} ({way})"), move || check(&case, arguments)));
        }
    }
    trials.push(Trial::test("without a ResourceList the bare name is bad usage", bare));
    trials.push(Trial::test("nothing but one ResourceList is answered", one_document));
    trials.push(Trial::test("an answer that nobody reads is a failure", unread));
    trials.push(Trial::test("the schema is that of the type", schema));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(folder: &Path, arguments: &[&str], input: &str) -> Result<Output, Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().ok_or("stdin is piped")?;
    stdin.write_all(input.as_bytes())?;
    drop(stdin);
    Ok(child.wait_with_output()?)
}

fn check(case: &Path, arguments: &[&str]) -> Result<(), Failed> {
    let input = fs::read_to_string(case.join("input.yaml"))?;
    let expected = fs::read_to_string(case.join("expected.yaml")).unwrap_or_default();
    let errors = fs::read_to_string(case.join("error.txt")).unwrap_or_default();
    let output = run(case, arguments, &input)?;
    let stdout = String::from_utf8(output.stdout)?;
    let stderr = String::from_utf8(output.stderr)?;
    let mut faults = Vec::new();
    if output.status.success() != errors.is_empty() {
        faults.push(format!("ended with {}", output.status));
    }
    let said = fs::read_to_string(case.join("said.txt")).unwrap_or_default();
    for wanted in errors.lines().chain(said.lines()) {
        if !stderr.contains(wanted) {
            faults.push(format!("stderr does not say `{wanted}`"));
        }
    }
    if stdout != expected {
        let diff = TextDiff::from_lines(&expected, &stdout);
        faults.push(diff.unified_diff().header("expected", "stdout").to_string());
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(format!("{}\n--- stderr\n{stderr}--- end of stderr", faults.join("\n")).into())
}

fn bare() -> Result<(), Failed> {
    for input in ["", "kind: ConfigMap\napiVersion: v1\n", "a: [\n"] {
        let output = run(Path::new("."), &[], input)?;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{input:?}: {stderr}");
        assert!(stderr.contains("Usage:"), "{input:?}: {stderr}");
    }
    Ok(())
}

fn one_document() -> Result<(), Failed> {
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    let two = format!("{list}---\n{list}");
    for (input, reason) in [
        ("", "stdin: expected one document of kind ResourceList, found 0 documents"),
        (&*two, "stdin: expected one document of kind ResourceList, found 2 documents"),
        (
            "kind: ConfigMap\napiVersion: v1\n",
            "stdin: expected a document of kind ResourceList, found kind ConfigMap",
        ),
        ("kind: ResourceList\nitems: {}\n", "stdin: `items` must be a list, found object"),
        ("kind: ResourceList\nitems:\n- a: [\n", "stdin:3:6: "),
    ] {
        let output = run(Path::new("."), &["fn"], input)?;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!((output.status.success(), output.stdout.len()), (false, 0), "{input:?}: {stderr}");
        assert!(stderr.contains(reason), "{input:?}: {stderr}");
    }
    Ok(())
}

/// Whoever reads half an answer takes it for a whole one.
fn unread() -> Result<(), Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .arg("fn")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let input =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/krm/inline/input.yaml"))?;
    child.stdin.take().ok_or("stdin is piped")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let stderr = String::from_utf8(output.stderr)?;
    assert!(!output.status.success());
    assert!(stderr.contains("the result cannot be written"), "{stderr}");
    Ok(())
}

/// `UPDATE=1` writes it.
fn schema() -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("krm-function/crd.yaml");
    let mut expected = String::new();
    kyv::yaml::print(&kyv::krm::definition(), &mut expected);
    if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
        fs::write(&path, &expected)?;
    }
    assert_eq!(fs::read_to_string(&path)?, expected, "run with UPDATE=1");
    Ok(())
}
