//! What is refused, where, and what loads with which warnings.

mod autogen;
mod fields;
mod matching;
mod refusals;
mod wrong_types;

use crate::policy::{CelPolicy, Policy, PolicyError, parse};
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml;

/// A policy of a kind, with these fields in `spec`.
pub(super) fn document(kind: &str, spec: &str) -> Value {
    let api_version = match kind {
        "MutatingAdmissionPolicy" | "MutatingAdmissionPolicyBinding" => "admissionregistration.k8s.io/v1",
        _ => "policies.kyverno.io/v1",
    };
    let text =
        format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: p}}, spec: {{{spec}}}}}");
    yaml::parse_value(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(super) fn shown(errors: &[PolicyError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// The policy of a document.
#[track_caller]
pub(super) fn load(document: &Value) -> CelPolicy {
    match parse(document, Semantics::Documented) {
        Ok(Policy::Cel(policy)) => *policy,
        Ok(other) => panic!("{other:?}"),
        Err(errors) => panic!("{:?}", shown(&errors)),
    }
}

/// Constraints, a mutation, and what a `MutatingAdmissionPolicy` needs beside them.
pub(super) const RULE: &str = "apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]";
pub(super) const MUTATION: &str =
    "{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{}'}}";
