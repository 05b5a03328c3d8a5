//! Policies as a whole: what is refused, what is selected, and that nothing panics.

mod refusals;
mod robustness;
mod selection;

use crate::policy::PolicyError;
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml;

use super::{ClassicPolicy, parse};

/// A cluster policy with these fields of `spec`.
fn policy(spec: &str) -> Value {
    value(&format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{{spec}}}}}"
    ))
}

const MATCH: &str = "match: {any: [{resources: {kinds: [ConfigMap]}}]}";
const PATCH: &str = "mutate: {patchStrategicMerge: {data: {a: b}}}";

/// A cluster policy with one rule `r` for `ConfigMap`s, with these further fields.
fn with_rule(fields: &str) -> Value {
    policy(&format!("rules: [{{name: r, {MATCH}, {fields}}}]"))
}

/// Parses JSON or YAML.
fn value(text: &str) -> Value {
    yaml::parse_value(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The lines of a table, with columns between `=>`.
fn rows<const COLUMNS: usize>(table: &str) -> impl Iterator<Item = [&str; COLUMNS]> {
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let mut columns = line.split("=>").map(str::trim);
        let row = std::array::from_fn(|_| columns.next().unwrap_or_else(|| panic!("too short: {line}")));
        assert_eq!(columns.next(), None, "too long: {line}");
        row
    })
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
