//! What the API server and Kyverno make of CEL expressions.

use serde_json::Value;

use crate::oracle;

/// Sends many questions to an oracle, `cel-oracle` or `cel-oracle-kyverno`, in one run, and returns its answers in the
/// same order. `tests/tools/cel-oracle/protocol` says what questions and answers are.
pub fn ask(oracle: &str, questions: &[Value]) -> Vec<Value> {
    oracle::ask(oracle, &[], questions, |line| serde_json::from_str(line).expect("an answer is JSON"))
}
