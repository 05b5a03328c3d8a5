//! Pages followed word by word in an empty folder: the files that they show are written, and their commands are run.
//! `docs/contributing.md` describes how a page says what is a file and what is a command.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::folder::{Folder, files_of, kyv_program};

const NOT_RUN: &str = "<!-- not run: ";

/// Follows a page in a folder, where kubectl-kyv, these programs and these scripts are on the PATH.
///
/// `UPDATE=1` writes what the commands print to the page.
pub(crate) fn follow(page: &str, folder: &Folder, programs: &[&str], scripts: &[(&str, &str)]) {
    install(folder, programs, scripts);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
    let text = fs::read_to_string(&path).expect(page);
    let mut updated = String::new();
    let mut lines = text.lines();
    let mut before = "";
    while let Some(line) = lines.next() {
        if let Some(example) = line.strip_prefix("<!-- example: ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join(example), folder);
        }
        updated.extend([line, "\n"]);
        if let Some(info) = line.strip_prefix("```") {
            let block: String =
                lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n")).collect();
            updated += &match (info, before.strip_prefix(NOT_RUN)) {
                ("console", None) => console(folder, &block),
                ("console", Some(reason)) => {
                    assert!(reason.len() > " -->".len(), "{page}: a block is not run for no reason");
                    check_flags(folder, page, &block);
                    block
                }
                _ => {
                    if let Some(file) = file_name(info, &block) {
                        folder.write(file, &block);
                    }
                    block
                }
            };
            updated += "```\n";
        }
        before = line;
    }
    if env::var_os("UPDATE").is_some_and(|update| update == "1") && updated != text {
        fs::write(&path, &updated).expect(page);
        return;
    }
    let differing = text.lines().zip(updated.lines()).find(|(shown, printed)| shown != printed);
    assert!(text == updated, "{page}: the commands print something else: {differing:#?}\n{updated}");
}

/// The file of a block: the second word of its info string, or a path in a comment on its first line.
pub(crate) fn file_name<'a>(info: &'a str, block: &'a str) -> Option<&'a str> {
    if let Some((_, file)) = info.split_once(' ') {
        return Some(file);
    }
    let comment = block.lines().next()?.strip_prefix("# ")?;
    let is_path =
        comment.contains('.') && comment.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    (is_path && info != "console").then_some(comment)
}

/// Puts the programs into `.bin`.
fn install(folder: &Folder, programs: &[&str], scripts: &[(&str, &str)]) {
    let bin = folder.path().join(".bin");
    fs::create_dir_all(&bin).expect("a folder");
    for name in programs {
        symlink(test_support::tool(name), bin.join(name)).expect("a link");
    }
    let program = kyv_program().display();
    // A difference is no failure of a block that shows how to use `diff`.
    let kyv = format!(
        "code=0\n'{program}' \"$@\" || code=$?\n\
         if [ $code = 1 ] && [ \"$1\" = diff ] && [ -n \"${{IN_SCRIPT:-}}\" ]; then code=0; fi\nexit $code"
    );
    let kubectl = "[ \"$1\" = kyv ] || exit 127\nshift\nexec kubectl-kyv \"$@\"";
    let is_given = |name: &str| programs.contains(&name) || scripts.iter().any(|(given, _)| *given == name);
    script(folder, ".bin/kubectl-kyv", &kyv);
    if !is_given("kubectl") {
        script(folder, ".bin/kubectl", kubectl);
    }
    scripts.iter().for_each(|(name, text)| script(folder, &format!(".bin/{name}"), text));
}

pub(crate) fn script(folder: &Folder, path: &str, text: &str) {
    folder.write(path, &format!("#!/bin/sh\nset -eu\n{text}\n"));
    fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(0o755)).expect("a program");
}

fn copy(from: &Path, folder: &Folder) {
    let files = files_of(from);
    assert!(!files.is_empty(), "{} is empty", from.display());
    files.iter().for_each(|(path, text)| folder.write(path, text));
}

/// Runs a block. Returns it with what the commands print.
fn console(folder: &Folder, block: &str) -> String {
    if !block.starts_with("$ ") {
        let (is_success, printed) = run(folder, &format!("export IN_SCRIPT=1\n{block}"));
        assert!(is_success, "{block}{printed}");
        return block.to_owned();
    }
    let mut with_output = String::new();
    let mut lines = block.lines().peekable();
    while let Some(line) = lines.next() {
        let mut command = line.to_owned();
        // A command continues behind a backslash.
        while command.ends_with('\\') {
            command = format!("{command}\n{}", lines.next().expect("the command continues"));
        }
        while lines.next_if(|line| !line.starts_with("$ ")).is_some() {}
        let (_, printed) = run(folder, &command[2..]);
        let printed = without_proof_counts(printed.trim_end());
        with_output.extend([command.as_str(), "\n", &printed, if printed.is_empty() { "" } else { "\n" }]);
    }
    with_output
}

/// The output with `…` for the counts of proofs: they change whenever the generator learns to try something else.
fn without_proof_counts(printed: &str) -> String {
    let of_line = |line: &str| {
        if !(line.contains(": equal on ") && line.contains(" matched, ")) {
            return line.to_owned();
        }
        let words = line.split(' ').map(|word| {
            let count = word.trim_start_matches('(');
            let is_count =
                !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
            if is_count { word.replace(count, "…") } else { word.to_owned() }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    printed.lines().map(of_line).collect::<Vec<_>>().join("\n")
}

/// Checks the flags of the `kubectl kyv` commands of a block that is not run: `--help` behind them is reached.
fn check_flags(folder: &Folder, page: &str, block: &str) {
    let program = kyv_program().display();
    let check = format!(
        "[ \"$1\" = kyv ] || exit 0\nshift\n'{program}' \"$@\" --help >/dev/null 2>>\"$FAULTS\" || echo \"$*\" >>\"$FAULTS\""
    );
    script(folder, ".flags/kubectl", &check);
    let faults = folder.path().join(".flags/faults");
    let mut shell = Command::new("/bin/bash");
    shell.args(["-c", &format!("command_not_found_handle() {{ :; }}\n{block}")]);
    shell.current_dir(folder.path()).env("PATH", folder.path().join(".flags")).env("FAULTS", &faults);
    shell.stdin(Stdio::null()).output().expect("bash runs");
    let found = fs::read_to_string(&faults).unwrap_or_default();
    assert!(found.is_empty(), "{page}: {found}");
}

/// Runs a script; whether it succeeded, and what it printed.
fn run(folder: &Folder, script: &str) -> (bool, String) {
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder.path())
        .env("PATH", path_with(folder))
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}

fn path_with(folder: &Folder) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.path().join(".bin")].into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).expect("paths without colons")
}
