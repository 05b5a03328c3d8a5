//! The comparison of Flux's controllers with a cluster.

use serde_json::Value;

use crate::api_server::ApiServer;
use crate::oracle;

/// What Flux does, or would do, with an object.
#[derive(Debug)]
pub struct Answer {
    /// What kustomize-controller does: `created`, `configured` or `unchanged`.
    pub kustomization: String,
    /// The drift that helm-controller detects, as a JSON patch; null if there is none.
    pub helm_release: Value,
}

/// Asks Flux with the program `flux-diff`, whose source says what a question is.
///
/// # Panics
///
/// If Flux cannot compare an object.
pub fn ask(server: &ApiServer, questions: &[Value]) -> Vec<Answer> {
    let kubeconfig = server.kubeconfig().display().to_string();
    oracle::ask("flux-diff", &[&kubeconfig], questions, |line| {
        let mut answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        assert!(answer["error"].is_null(), "{answer}");
        let kustomization = answer["kustomization"].as_str().expect("an action").to_owned();
        Answer { kustomization, helm_release: answer["helmRelease"].take() }
    })
}
