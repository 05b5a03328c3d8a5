//! Pages of `docs/` followed word by word: the files that they show are written, and their commands are run.
//!
//! A block whose info string has a second word is the file of that name. A block `console` holds commands: behind `$ `, with
//! what they print on stdout and stderr below them, or else a script that succeeds.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::folder::{Folder, kyv_program};

/// Follows a page in a folder, where kubectl-kyv, these programs and these scripts are on the PATH. Returns its blocks by
/// their info strings.
pub(crate) fn follow(
    page: &str,
    folder: &Folder,
    programs: &[&str],
    scripts: &[(&str, &str)],
) -> BTreeMap<String, String> {
    let bin = folder.path().join(".bin");
    fs::create_dir_all(&bin).expect("a folder");
    symlink(kyv_program(), bin.join("kubectl-kyv")).expect("a link");
    for name in programs {
        symlink(test_support::tool(name), bin.join(name)).expect("a link");
    }
    for (name, script) in scripts {
        folder.write(&format!(".bin/{name}"), &format!("#!/bin/sh\nset -eu\n{script}\n"));
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).expect("a program");
    }
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page)).expect(page);
    let mut blocks = BTreeMap::new();
    for (info, body) in test_support::markdown::blocks(&text) {
        match info.split_once(' ') {
            Some((_, file)) => folder.write(file, &body),
            None if info == "console" => console(folder, &body),
            None => {}
        }
        blocks.insert(info, body);
    }
    blocks
}

fn console(folder: &Folder, block: &str) {
    if !block.starts_with("$ ") {
        let (is_success, printed) = run(folder, block);
        assert!(is_success, "{block}{printed}");
        return;
    }
    for (index, part) in block.split("\n$ ").enumerate() {
        let part = if index == 0 { part.trim_start_matches("$ ") } else { part };
        // A command goes on behind a backslash.
        let mut end = part.find('\n').unwrap_or(part.len());
        while part[..end].ends_with('\\') {
            end = part[end + 1..].find('\n').map_or(part.len(), |more| end + 1 + more);
        }
        let (_, printed) = run(folder, &part[..end]);
        assert_eq!(printed.trim_end(), part[end..].trim_start_matches('\n').trim_end(), "{}", &part[..end]);
    }
}

/// Runs a script; whether it succeeded, and what it printed.
fn run(folder: &Folder, script: &str) -> (bool, String) {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.path().join(".bin")].into_iter().chain(env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder.path())
        .env("PATH", env::join_paths(folders).expect("paths without colons"))
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    (output.status.success(), String::from_utf8(output.stdout).expect("UTF-8"))
}
