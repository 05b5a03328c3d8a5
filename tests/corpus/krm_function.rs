//! The KRM function: every folder below `tests/corpus/krm-function` is a case. `tests/corpus/krm-function/README.md` says what it holds.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use libtest_mimic::{Failed, Trial};
use similar::TextDiff;

/// A test for each case and each way to start the program, and those of the function as a whole.
pub(crate) fn tests() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/krm-function");
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
    trials.push(Trial::test("no arguments and no ResourceList is a usage error", bare));
    trials.push(Trial::test("input other than one ResourceList is refused", one_document));
    trials.push(Trial::test("closed stdout is a failure", unread));
    trials.push(Trial::test("full disk is a failure", full));
    trials.push(Trial::test("only the failing item of a hundred is reported", one_of_a_hundred));
    trials.push(Trial::test("fifty megabytes of items are accepted", large));
    trials.push(Trial::test("a terminated run prints nothing", terminated));
    trials.push(Trial::test("--help wins over a ResourceList", help));
    trials
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
    match stdin.write_all(input.as_bytes()) {
        // Some arguments end the program before it reads.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written?,
    }
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
    let more = fs::read_to_string(case.join("stderr.txt")).unwrap_or_default();
    for wanted in errors.lines().chain(more.lines()) {
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
        (" \n\t\n# nothing\n---\n", "stdin: expected one document of kind ResourceList, found 0 documents"),
        ("kind: ResourceList\nitems: {}\n", "stdin: `items` must be a list, found object"),
        ("kind: ResourceList\nitems:\n- a: [\n", "stdin:3:6: "),
        (
            "apiVersion: config.kubernetes.io/v2\nkind: ResourceList\nitems: []\n",
            "stdin: unknown apiVersion `config.kubernetes.io/v2` of the ResourceList; known are config.kubernetes.io/v1, ",
        ),
        ("kind: ResourceList\nitems:\n- {}\n- text\n", "stdin: items[1]: expected an object, found string"),
    ] {
        let output = run(Path::new("."), &["fn"], input)?;
        let stderr = String::from_utf8(output.stderr)?;
        assert_eq!((output.status.success(), output.stdout.len()), (false, 0), "{input:?}: {stderr}");
        assert!(stderr.contains(reason), "{input:?}: {stderr}");
    }
    Ok(())
}

/// A truncated answer would look complete to its reader.
fn unread() -> Result<(), Failed> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .arg("fn")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    drop(child.stdout.take());
    let input = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/krm-function/inline/input.yaml"),
    )?;
    child.stdin.take().ok_or("stdin is piped")?.write_all(input.as_bytes())?;
    let output = child.wait_with_output()?;
    let stderr = String::from_utf8(output.stderr)?;
    assert!(!output.status.success());
    assert!(stderr.contains("the result cannot be written"), "{stderr}");
    Ok(())
}

#[cfg(target_os = "linux")]
fn full() -> Result<(), Failed> {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/krm-function/inline");
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
        .arg("fn")
        .env_clear()
        .stdin(fs::File::open(case.join("input.yaml"))?)
        .stdout(fs::File::options().write(true).open("/dev/full")?)
        .stderr(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr,
        "error[KYV008]: the result cannot be written: No space left on device (os error 28)\n"
    );
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn full() -> Result<(), Failed> {
    Ok(())
}

fn config_map(name: &str, labels: &str) -> String {
    format!("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: {name}\n{labels}")
}

/// A ResourceList with these items, and a function that labels their maps by their data.
fn list(items: &str, fields: &str) -> String {
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}functionConfig:\n  \
         apiVersion: kyv.dev/v1alpha1\n  kind: Kyv\n  metadata:\n    name: kyv\n  spec:\n{fields}    policies:\n    \
         - apiVersion: kyverno.io/v1\n      kind: ClusterPolicy\n      metadata:\n        name: label\n      spec:\n        \
         rules:\n        - name: rule\n          match:\n            any:\n            - resources:\n                kinds:\n                \
         - ConfigMap\n          mutate:\n            patchStrategicMerge:\n              metadata:\n                labels:\n                  \
         team: '{{{{ request.object.data.team }}}}'\n"
    )
}

fn one_of_a_hundred() -> Result<(), Failed> {
    let item = |number: usize, labelled: bool| {
        let data = if number == 41 { "" } else { "  data:\n    team: 'a'\n" };
        config_map(&format!("map-{number}"), if labelled { "    labels:\n      team: 'a'\n" } else { "" })
            + data
    };
    let items: String = (0..100).map(|number| item(number, false)).collect();
    let input = list(&items, "");
    let output = run(Path::new("."), &["fn"], &input)?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert_eq!(output.status.code(), Some(3));
    let reason = "label/rule: no value for `request.object.data.team` in \
                  mutate.patchStrategicMerge.metadata.labels.team: there is no key `data`";
    let text = format!(
        "[KYV301]: stdin:625:29: {reason}\n625 |                   team: '{{{{ request.object.data.team }}}}'\n    \
         |                             ^^^^^^^^^^^^^^^^^^^^^^^^\n  on ConfigMap/map-41 (items[41])\n"
    );
    assert_eq!(stderr, format!("error{text}"));
    let results = format!(
        "results:\n- message: '{reason}'\n  severity: error\n  resourceRef:\n    apiVersion: v1\n    kind: ConfigMap\n    \
         name: map-41\n  tags:\n    policy: label\n    rule: rule\n    code: KYV301\n"
    );
    let untouched = |from: &str| from.split_once("functionConfig:").map(|(items, _)| items.to_owned());
    assert_eq!(untouched(&stdout), untouched(&input));
    assert!(stdout.ends_with(&results), "{stdout}");

    let output = run(Path::new("."), &["fn"], &list(&items, "    onError: warn\n"))?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success());
    assert_eq!(stderr, format!("warning{}", text.replace("625", "626")));
    assert_eq!(
        (stdout.matches("severity: info").count(), stdout.matches("severity: warning").count()),
        (99, 1)
    );
    Ok(())
}

fn large() -> Result<(), Failed> {
    let line = "x".repeat(1020);
    let data: String = (0..512).map(|number| format!("    key-{number:04}: '{line}'\n")).collect();
    let item = |number: usize, labels: &str| {
        config_map(&format!("map-{number}"), labels) + "  data:\n    team: a\n" + &data
    };
    let items: String = (0..100).map(|number| item(number, "")).collect();
    assert!(items.len() > 50 << 20);
    let output = run(Path::new("."), &["fn"], &list(&items, ""))?;
    let (stdout, stderr) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    assert!(output.status.success() && stderr.is_empty(), "{stderr}");
    let expected: String = (0..100).map(|number| item(number, "    labels:\n      team: a\n")).collect();
    let (answered, rest) =
        stdout.split_once("functionConfig:").ok_or("the configuration follows the items")?;
    assert!(answered.split_once("items:\n").is_some_and(|(_, items)| items == expected));
    assert_eq!(rest.matches("severity: info").count(), 100);
    Ok(())
}

/// Before it has read everything there is nothing on standard output; while it prints, how it ends tells that
/// there is not all of it.
#[cfg(unix)]
fn terminated() -> Result<(), Failed> {
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;

    const SIGTERM: i32 = 15;
    let start = || {
        Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"))
            .arg("fn")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let end = |child: &std::process::Child| Command::new("kill").arg(child.id().to_string()).status();
    let items: String =
        (0..2000).map(|number| config_map(&format!("map-{number}"), "  data: {team: a}\n")).collect();
    let input = list(&items, "");

    let mut child = start()?;
    let mut stdin = child.stdin.take().ok_or("stdin is piped")?;
    stdin.write_all(&input.as_bytes()[..input.len() / 2])?;
    assert!(end(&child)?.success());
    let output = child.wait_with_output()?;
    assert_eq!((output.status.signal(), output.stdout.len()), (Some(SIGTERM), 0));
    drop(stdin);

    let mut child = start()?;
    child.stdin.take().ok_or("stdin is piped")?.write_all(input.as_bytes())?;
    let mut stdout = child.stdout.take().ok_or("stdout is piped")?;
    // The program blocks on a full pipe.
    stdout.read_exact(&mut [0; 100])?;
    assert!(end(&child)?.success());
    assert_eq!(child.wait()?.signal(), Some(SIGTERM));
    Ok(())
}

#[cfg(not(unix))]
fn terminated() -> Result<(), Failed> {
    Ok(())
}

/// kpt asks so for the documentation of a function.
fn help() -> Result<(), Failed> {
    let output = run(
        Path::new("."),
        &["--help"],
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n",
    )?;
    let stdout = String::from_utf8(output.stdout)?;
    assert!(
        output.status.success() && stdout.contains("Usage:") && !stdout.contains("ResourceList\n"),
        "{stdout}"
    );
    Ok(())
}
