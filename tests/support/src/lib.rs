//! What several test programs share: the real programs that `tests/tools/` builds, stub servers, files, comparisons.
//!
//! A test that needs real programs begins with `if test_support::left_out("what is tested") { return; }`.

pub mod api_server;
pub mod argocd;
pub mod files;
pub mod go_yaml;
pub mod kyverno;
pub mod kyverno_cli;
pub mod normalize;
pub mod objects;
pub mod policy_installer;
pub mod process_usage;
pub mod rest;
pub mod sample_objects;
mod service_script;
pub mod stub_server;
pub mod watch;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether the tests with real programs are to be left out, said on stderr past the test harness, which keeps the
/// output of a passing test to itself.
pub fn left_out(what: &str) -> bool {
    let wanted = std::env::var_os("KYV_REAL_PROGRAMS").is_some_and(|value| value == "1");
    if !wanted {
        let line = format!(
            "left out: {what} (needs real programs: set KYV_REAL_PROGRAMS=1, takes Go and minutes)\n"
        );
        io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
    }
    !wanted
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
