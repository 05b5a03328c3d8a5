//! A script of `tests/tools/` that runs servers until its stdin closes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::tools;

/// A running script. It prints facts for its caller, one `name=value` a line, then `ready`. It stops all that it
/// started as soon as its stdin closes, which also happens when the test process ends in any way.
pub struct ServiceScript {
    script: Child,
    stdin: Option<ChildStdin>,
    facts: BTreeMap<String, String>,
}

impl ServiceScript {
    /// Starts a script and waits until it is ready.
    pub fn start(script: &str, arguments: &[&OsStr]) -> Self {
        Self::start_with(script, arguments, &[])
    }

    /// The same, with further environment variables.
    pub fn start_with(script: &str, arguments: &[&OsStr], variables: &[(&str, &OsStr)]) -> Self {
        let mut child = Command::new(tools().join(script))
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("tests/tools/{script} does not start: {error}"));
        let stdin = child.stdin.take();
        let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
        let mut service = Self { script: child, stdin, facts: BTreeMap::new() };
        loop {
            match lines.next().map(|line| line.expect("the script writes text")) {
                Some(line) if line == "ready" => return service,
                Some(line) => {
                    let (name, value) = line.split_once('=').expect("the script writes name=value");
                    service.facts.insert(name.to_owned(), value.to_owned());
                }
                None => panic!("tests/tools/{script} ended; the reason stands on stderr"),
            }
        }
    }

    /// A value that the script printed.
    pub fn fact(&self, name: &str) -> &str {
        &self.facts[name]
    }
}

impl Drop for ServiceScript {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // A failing test drops too: no second panic.
        drop(self.script.wait());
    }
}
