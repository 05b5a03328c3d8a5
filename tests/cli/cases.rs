//! Folders of cases: the output of a command on the files of each.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

/// The folder of a case below `tests/cli`.
pub(crate) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(name)
}

/// Runs all cases of a folder, at least so many. `expected.txt` is what a case prints, `options` has more arguments, one a
/// line, and `exit` the exit code; without it `code` says it from what is expected.
#[track_caller]
pub(crate) fn check_all(
    cases: &str,
    least: usize,
    run: impl Fn(&Path, &[&str]) -> Output,
    code: impl Fn(&str) -> i32,
) {
    let folders = fs::read_dir(folder(cases)).expect("the cases are there");
    let mut folders: Vec<PathBuf> = folders.map(|entry| entry.expect("a case").path()).collect();
    folders.sort();
    assert!(folders.len() >= least, "{folders:?}");
    let mut failed = Vec::new();
    for folder in folders {
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
        let (options, expected) = (read("options"), read("expected.txt"));
        let output = run(&folder, &options.lines().collect::<Vec<_>>());
        let shown = String::from_utf8(output.stdout).expect("UTF-8");
        let code = read("exit").trim().parse().unwrap_or_else(|_| code(&expected));
        if shown != expected || output.status.code() != Some(code) {
            let (name, said) = (folder.display(), String::from_utf8_lossy(&output.stderr).into_owned());
            failed.push(format!("{name}: {}\n{shown}\n-- wanted:\n{expected}\n{said}", output.status));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
