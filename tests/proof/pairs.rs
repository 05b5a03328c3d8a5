//! Pairs of policies with the result of their proof.
//!
//! A case of `tests/proof/pairs/` is a folder: `old.yaml`, `new.yaml`, and `expected.txt` with the output. Counts are `N`
//! there, and where a request comes from is left out. `options` has further arguments, one a line.
#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up must fail")]

use std::fs;
use std::path::Path;
use std::process::Command;

/// The program in a folder: its exit code, standard output and standard error.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-kyv"));
    let output = command.args(arguments).current_dir(folder).env_clear().output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The output without counts and without the origins of requests.
fn normalized(output: &str) -> String {
    let line = |line: &str| {
        let line = match line.find("   (g") {
            Some(end) if line.starts_with("  object") => &line[..end],
            _ => line,
        };
        let is_summary = line.contains(" on ") && line.contains(" matched, ");
        let is_counted =
            |line: &str| is_summary || line.ends_with(" objects)") || line.contains(" would differ ");
        if is_counted(line) { counts(line) } else { line.to_owned() }
    };
    output.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The text with `N` for numbers.
fn counts(line: &str) -> String {
    let mut out = String::new();
    let mut is_number = false;
    for c in line.chars() {
        let was_number = is_number;
        is_number = c.is_ascii_digit() || was_number && c == ',' && !out.ends_with(' ');
        match (was_number, is_number) {
            (false, true) => out.push('N'),
            (true, true) => {}
            _ => out.push(c),
        }
    }
    out
}

#[test]
fn pairs_are_proven_as_expected() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof/pairs");
    let mut folders: Vec<_> = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    let mut faults = Vec::new();
    for folder in folders {
        let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
        let options = fs::read_to_string(folder.join("options")).unwrap_or_default();
        let mut arguments = vec!["convert", "--check", "old.yaml", "new.yaml"];
        arguments.extend(options.lines());
        let (code, stdout, stderr) = run(&folder, &arguments);
        let found = normalized(&stdout);
        let is_equal = ["old: equal on ", "old: equal, "].iter().any(|start| expected.starts_with(start));
        if found.trim_end() != expected.trim_end() || code != Some(i32::from(!is_equal)) {
            faults.push(format!("{}: exit {code:?}\n{found}\n{stderr}", folder.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
