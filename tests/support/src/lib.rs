//! What several test programs share: the real programs that `tests/tools/` builds, stub servers, files, comparisons.
//!
//! A test that needs real programs begins with `if skip_without_real_programs("what is tested") { return; }`, one that
//! needs Kyverno's own policies and suites with `let Some(folder) = conformance_folder("what is tested") else { … }`.

pub mod admission_recorder;
pub mod api_server;
pub mod argocd;
pub mod cel;
pub mod cel_policies;
pub mod drift;
pub mod files;
pub mod flux;
pub mod go_yaml;
pub mod kyverno;
pub mod kyverno_cli;
pub mod kyverno_samples;
pub mod markdown;
pub mod normalize;
pub mod objects;
mod oracle;
pub mod policy_installer;
pub mod process_usage;
pub mod random;
pub mod rest;
pub mod sample_objects;
mod service_script;
pub mod stub_server;
pub mod watch;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether the slower tests run: `KYV_REAL_PROGRAMS` is 1.
pub fn has_real_programs() -> bool {
    std::env::var_os("KYV_REAL_PROGRAMS").is_some_and(|value| value == "1")
}

/// Whether `KYV_REAL_PROGRAMS` is not 1, which is said on stderr: the caller skips its test.
pub fn skip_without_real_programs(what: &str) -> bool {
    let is_wanted = has_real_programs();
    if !is_wanted {
        skipped(what, "real programs: set KYV_REAL_PROGRAMS=1; takes Go and minutes");
    }
    !is_wanted
}

/// The folder of Kyverno's own policies and suites, which `KYV_CONFORMANCE` names. Without the variable this says on
/// stderr what is skipped; a variable that names no folder fails the test.
pub fn conformance_folder(what: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os("KYV_CONFORMANCE").map(PathBuf::from) else {
        skipped(what, "Kyverno's policies and suites: set KYV_CONFORMANCE to their folder");
        return None;
    };
    assert!(folder.is_dir(), "KYV_CONFORMANCE: {}: no folder", folder.display());
    Some(folder)
}

fn skipped(what: &str, needed: &str) {
    log(&format!("skipped: {what} (needs {needed})"));
}

/// Writes a line to stderr past the test harness, which shows the output of a test only if it fails.
pub fn log(line: &str) {
    // A closed stderr is no failure of a test.
    drop(io::stderr().write_all(format!("{line}\n").as_bytes()));
}

/// The path of a program of `tests/tools/`, built if need be.
pub fn tool(name: &str) -> PathBuf {
    let output = Command::new(tools().join("build"))
        .arg(name)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("tests/tools/build starts");
    assert!(output.status.success(), "tests/tools/build {name}: {}", output.status);
    PathBuf::from(String::from_utf8(output.stdout).expect("a plain path").trim_end())
}

/// The folder of a Go module that a folder of `tests/tools/` asks for, fetched if need be.
pub fn module(folder: &str, path: &str) -> PathBuf {
    let output = Command::new("go")
        .args(["mod", "download", "-json", path])
        .current_dir(tools().join(folder))
        .env_remove("GOFLAGS")
        .env("GOWORK", "off")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .expect("go starts");
    assert!(output.status.success(), "go mod download {path}: {}", output.status);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("go tells JSON");
    PathBuf::from(told["Dir"].as_str().expect("the folder of the module"))
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("tools")
}
