//! Answers to calls, as a test suite lists them.

use std::collections::BTreeMap;

use crate::engine::LookupError;
use crate::value::{Text, Value};

/// Answers by method (empty for any) and address.
#[derive(Debug, Default)]
pub(super) struct Responses(BTreeMap<(Text, Text), Response>);

/// An answer.
#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: i64,
    pub(super) body: Value,
}

impl Responses {
    /// Adds an answer; false if one for the same is there already.
    pub(super) fn add(&mut self, method: Text, url: Text, response: Response) -> bool {
        self.0.insert((method, url), response).is_none()
    }

    /// The answer to a call; `None` where there is none. One that says no is a failure, as in Kyverno, and
    /// no default stands in for it.
    pub(super) fn get(&self, method: &str, url: &str) -> Option<Result<Value, LookupError>> {
        let of = |method: &str| self.0.get(&(method.into(), url.into()));
        let Response { status, body } = of(method).or_else(|| of(""))?;
        Some(if (200..300).contains(status) {
            Ok(body.clone())
        } else {
            Err(LookupError::Unanswerable(format!("HTTP {status} from apiCallResponses")))
        })
    }
}
