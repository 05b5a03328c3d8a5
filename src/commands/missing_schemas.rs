//! Kinds whose schema could not be read: lists of their objects may merge in another way on a cluster.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::diagnostics::Code;
use crate::engine::Engine;
use crate::policy::Policy;
use crate::render::counted;
use crate::report::{ObjectReport, Outcome};
use crate::semantics::Semantics;
use crate::source::cluster::MissingSchema;
use crate::value::{Text, Value};

use super::evaluate::Evaluated;
use super::exit::Exit;
use super::reporter::Reporter;

/// The missing schemas, each with the number of objects whose result may be wrong without it.
#[derive(Debug, Default)]
pub(super) struct MissingSchemas {
    missing: Vec<(MissingSchema, AtomicUsize)>,
    /// The rules that merge, by policy and rule. Kyverno itself uses no schema of a custom resource.
    merging: BTreeSet<(Text, Text)>,
}

impl MissingSchemas {
    /// The schemas that are missing for the policies of an engine.
    pub(super) fn new(missing: Vec<MissingSchema>, engine: &Engine) -> Self {
        let is_documented = engine.settings().semantics == Semantics::Documented;
        let counts = is_documented && !missing.is_empty();
        let policies = engine.policies().policies().iter().filter_map(Policy::as_classic).filter(|_| counts);
        let merging = policies.flat_map(|policy| {
            let rules = policy.rules.iter().filter(|rule| rule.edit().merges());
            rules.map(|rule| (policy.meta.full_name(), rule.name.clone()))
        });
        let merging = merging.collect();
        Self { missing: missing.into_iter().map(|schema| (schema, AtomicUsize::new(0))).collect(), merging }
    }

    /// Counts the objects of a document whose result may be wrong.
    pub(super) fn add(&self, evaluated: &Evaluated) {
        for object in evaluated.objects.iter().filter(|_| !self.missing.is_empty()) {
            let report = &object.report;
            if let Some(count) = self.count_of(report).filter(|_| self.may_be_wrong(report)) {
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The schemas that no object needed.
    pub(super) fn unused(&self) -> impl Iterator<Item = &MissingSchema> {
        self.missing.iter().filter(|(_, count)| count.load(Ordering::Relaxed) == 0).map(|(schema, _)| schema)
    }

    /// Reports schemas that some objects needed.
    pub(super) fn report(&self, reporter: &mut Reporter) {
        for (MissingSchema { name, why, .. }, count) in &self.missing {
            let objects = count.load(Ordering::Relaxed);
            if objects > 0 {
                let objects = counted(objects, "object");
                reporter.add_gap(&format!("schema of {name}"));
                reporter.error(Exit::Cluster, Code::NoSchema, format_args!(
                    "the schema of {name} cannot be read, and rules replace lists of {objects} that it may merge \
                     by keys (pass it with --crds): {why}"
                ));
            }
        }
    }

    fn count_of(&self, report: &ObjectReport) -> Option<&AtomicUsize> {
        let kind = &report.object.as_ref()?.kind;
        let is_one = |schema: &MissingSchema| {
            schema.kinds.iter().any(|known| known.group == kind.group && known.kind == kind.kind)
        };
        self.missing.iter().find(|(schema, _)| is_one(schema)).map(|(_, count)| count)
    }

    /// Whether a rule that merges changed an existing list, which may merge by keys.
    fn may_be_wrong(&self, report: &ObjectReport) -> bool {
        report.rules().filter(|(policy, _)| !policy.has_error()).any(|(policy, rule)| match &rule.outcome {
            Outcome::Patched { before, after } => {
                self.merging.contains(&(policy.policy.clone(), rule.rule.clone()))
                    && has_other_list(before, after)
            }
            _ => false,
        })
    }
}

/// Whether a list changed that was not empty.
fn has_other_list(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => !before.is_empty() && before != after,
        (Value::Object(before), Value::Object(after)) => before
            .iter()
            .any(|(key, before)| after.get(key).is_some_and(|after| has_other_list(before, after))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_in_doubt_where_elements_were_there_and_changed() {
        for (before, after, expected) in [
            (r#"{"a":{"l":[1]}}"#, r#"{"a":{"l":[2]}}"#, true),
            (r#"{"a":{"l":[{"n":1}]}}"#, r#"{"a":{"l":[{"n":1},{"n":2}]}}"#, true),
            (r#"{"a":{"l":[1]}}"#, r#"{"a":{"l":[1]},"b":[2]}"#, false),
            (r#"{"a":{"l":[]}}"#, r#"{"a":{"l":[1]}}"#, false),
            (r#"{"a":{"l":[1]}}"#, r#"{"a":{}}"#, false),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
        ] {
            let (before, after) = (Value::from_json(before).unwrap(), Value::from_json(after).unwrap());
            assert_eq!(has_other_list(&before, &after), expected, "{before:?} {after:?}");
        }
    }
}
