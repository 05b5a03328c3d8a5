//! What the API server and Kyverno make of CEL expressions.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::tool;

/// Sends many questions to an oracle, `cel-oracle` or `cel-oracle-kyverno`, in one run, and returns its answers in the
/// same order. `tests/tools/cel-oracle/protocol` says what questions and answers are.
pub fn ask(oracle: &str, questions: &[Value]) -> Vec<Value> {
    let mut child = Command::new(tool(oracle))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let mut stdin = BufWriter::new(child.stdin.take().expect("stdin is piped"));
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let answers: Vec<Value> = std::thread::scope(|scope| {
        scope.spawn(move || {
            for question in questions {
                writeln!(stdin, "{question}").expect("the oracle reads");
            }
            stdin.flush().expect("the oracle reads");
        });
        let answer = |line: Result<String, _>| {
            serde_json::from_str(&line.expect("the oracle writes text")).expect("an answer is JSON")
        };
        stdout.lines().map(answer).collect()
    });
    assert!(child.wait().expect("the oracle ends").success(), "the oracle failed");
    assert_eq!(answers.len(), questions.len(), "one answer for each question");
    answers
}
