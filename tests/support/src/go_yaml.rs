//! What `sigs.k8s.io/yaml` makes of a text.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tool;

/// Sends many questions to the Go oracle in one run and returns its answers in the same order.
///
/// Modes and what a question is: `tests/tools/oracle/main.go`. A question is one JSON text without line breaks,
/// an answer the text of `ok` with every digit that Go printed, or the message of `error`.
pub fn ask(mode: &str, questions: &[String]) -> Vec<Result<Box<str>, String>> {
    let mut child = Command::new(tool("oracle"))
        .arg(mode)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let mut stdin = BufWriter::new(child.stdin.take().expect("stdin is piped"));
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let answers: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(move || {
            for question in questions {
                assert!(!question.contains('\n'), "a question is one line");
                writeln!(stdin, "{question}").expect("the oracle reads");
            }
            stdin.flush().expect("the oracle reads");
        });
        stdout.lines().map(|line| answer(&line.expect("the oracle writes text"))).collect()
    });
    assert!(child.wait().expect("the oracle ends").success(), "the oracle failed");
    assert_eq!(answers.len(), questions.len(), "one answer for each question");
    answers
}

fn answer(line: &str) -> Result<Box<str>, String> {
    if let Some(text) = line.strip_prefix("{\"ok\":").and_then(|rest| rest.strip_suffix('}')) {
        return Ok(text.into());
    }
    let value: Value = serde_json::from_str(line).expect("the oracle answers in JSON");
    Err(value["error"].as_str().expect("an answer is `ok` or `error`").to_owned())
}
