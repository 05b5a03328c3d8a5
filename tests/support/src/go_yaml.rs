//! What `sigs.k8s.io/yaml` makes of a text.

use serde_json::Value;

use crate::oracle;

/// Sends many questions to the Go oracle in one run and returns its answers in the same order.
///
/// Modes and what a question is: `tests/tools/oracle/main.go`. A question is one JSON text without line breaks,
/// an answer the text of `ok` with every digit that Go printed, or the message of `error`.
pub fn ask(mode: &str, questions: &[String]) -> Vec<Result<Box<str>, String>> {
    oracle::ask("oracle", &[mode], questions, answer)
}

fn answer(line: &str) -> Result<Box<str>, String> {
    if let Some(text) = line.strip_prefix("{\"ok\":").and_then(|rest| rest.strip_suffix('}')) {
        return Ok(text.into());
    }
    let value: Value = serde_json::from_str(line).expect("the oracle answers in JSON");
    Err(value["error"].as_str().expect("an answer is `ok` or `error`").to_owned())
}
