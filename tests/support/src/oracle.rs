//! Programs that answer each line of standard input with a line.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Command, Stdio};

use crate::tool;

/// Sends questions of one line to an oracle in one run, and returns its answers in the same order.
pub(crate) fn ask<Q: Display + Sync, A>(
    oracle: &str,
    arguments: &[&str],
    questions: &[Q],
    answer: impl Fn(&str) -> A,
) -> Vec<A> {
    let mut child = Command::new(tool(oracle))
        .args(arguments.iter().map(OsStr::new))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the oracle starts");
    let mut stdin = BufWriter::new(child.stdin.take().expect("stdin is piped"));
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let answers: Vec<A> = std::thread::scope(|scope| {
        scope.spawn(move || {
            for question in questions {
                let question = question.to_string();
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
