//! The comparison of Argo CD.

use serde_json::Value;

use crate::oracle;

/// What Argo CD says of an object in Git and in a cluster.
#[derive(Debug)]
pub struct Answer {
    /// Whether they differ.
    pub modified: bool,
    /// The live object as it is compared; null if they do not differ.
    pub live: Value,
    /// The same with the object in Git merged into it.
    pub predicted: Value,
}

/// Compares objects with the program `argocd-diff`, whose source says what a question is.
///
/// # Panics
///
/// If Argo CD cannot compare an object.
pub fn compare(questions: &[Value]) -> Vec<Answer> {
    oracle::ask("argocd-diff", &[], questions, |line| {
        let mut answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        assert!(answer["error"].is_null(), "{answer}");
        let modified = answer["modified"].as_bool().expect("a boolean");
        Answer { modified, live: answer["live"].take(), predicted: answer["predicted"].take() }
    })
}
