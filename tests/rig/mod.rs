//! The rig: the real programs that `tests/tools/` builds, started and asked from tests.
//!
//! A test that needs them begins with `if rig::left_out("what is tested") { return; }`.
#![allow(clippy::allow_attributes, reason = "an `expect` fails in the test binary that uses all of the rig")]
#![allow(dead_code, reason = "each test binary uses its part of the rig")]

pub(crate) mod apiserver;
pub(crate) mod argocd;
pub(crate) mod artefacts;
pub(crate) mod files;
pub(crate) mod force;
pub(crate) mod gauge;
mod keeper;
pub(crate) mod kyverno;
pub(crate) mod kyverno_cli;
pub(crate) mod objects;
pub(crate) mod oracle;
pub(crate) mod population;
pub(crate) mod rest;
pub(crate) mod tidy;
pub(crate) mod watch;
pub(crate) mod weather;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Whether the tests with real programs are to be left out, said on stderr past the test harness, which keeps the
/// output of a passing test to itself.
pub(crate) fn left_out(what: &str) -> bool {
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
pub(crate) fn tool(name: &str) -> PathBuf {
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
pub(crate) fn module(folder: &str, path: &str) -> PathBuf {
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools")
}
