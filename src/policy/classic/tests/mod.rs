//! The room as a whole: what is refused, what is taken, what never panics.

mod refusals;
mod robustness;
mod selection;

use crate::policy::PolicyError;
use crate::semantics::Semantics;
use crate::value::Value;

use super::{ClassicPolicy, parse};

/// A cluster policy whose `spec` holds these fields.
fn policy(spec: &str) -> Value {
    json(&format!(
        r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"p"}},"spec":{{{spec}}}}}"#
    ))
}

const MATCH: &str = r#""match":{"any":[{"resources":{"kinds":["ConfigMap"]}}]}"#;
const PATCH: &str = r#""mutate":{"patchStrategicMerge":{"data":{"a":"b"}}}"#;

/// A cluster policy of one rule `r` with these further fields.
fn with_rule(fields: &str) -> Value {
    policy(&format!(r#""rules":[{{"name":"r",{MATCH},{fields}}}]"#))
}

fn json(text: &str) -> Value {
    Value::from_json(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn load(document: &Value) -> ClassicPolicy {
    load_as(document, Semantics::Documented)
}

fn load_as(document: &Value, semantics: Semantics) -> ClassicPolicy {
    parse(document, semantics).unwrap_or_else(|errors| panic!("{}: {}", document.to_json(), shown(&errors)))
}

fn errors(document: &Value, semantics: Semantics) -> Vec<PolicyError> {
    parse(document, semantics).err().unwrap_or_default()
}

fn shown(errors: &[PolicyError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(" | ")
}
