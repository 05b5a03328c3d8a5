//! The smallest family of policies at work, and tests that it runs beside classic policies.

use crate::policy::{FixedLabelPolicy, Operation, PolicyFamily as _};
use crate::report::{Outcome, PolicyReport, RuleReport};
use crate::semantics::DivergenceSet;
use crate::value::{Text, Value};

use super::evaluation::{Evaluation, PolicyRun};

pub(super) fn run(
    evaluation: &Evaluation<'_>,
    policy: &FixedLabelPolicy,
    object: &Value,
) -> Option<PolicyRun> {
    let name = &policy.meta().name;
    let operation = evaluation.operation(name);
    if operation == Operation::Delete || !policy.selects(&evaluation.candidate(object, Some(operation))) {
        return None;
    }
    let mut after = object.clone();
    set_label(&mut after, name, &policy.value)?;
    let outcome = if after == *object {
        Outcome::NoChange
    } else {
        Outcome::Patched { before: object.clone(), after: after.clone() }
    };
    let rules = vec![RuleReport::new(name.clone(), outcome)];
    let report = PolicyReport { policy: policy.meta().full_name(), rules, divergences: DivergenceSet::NONE };
    Some(PolicyRun { report: Some(report), after: Some(after) })
}

fn set_label(object: &mut Value, key: &Text, value: &Text) -> Option<()> {
    let metadata = object.as_object_mut()?.entry("metadata".into()).or_default();
    if metadata.get("labels").is_none() {
        metadata.insert("labels", Value::empty_object());
    }
    metadata.as_object_mut()?.get_mut("labels")?.insert(key.clone(), Value::String(value.clone()));
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::engine::{EmptyWorld, Engine, Settings};
    use crate::policy::{PolicySet, parse};
    use crate::report::{ObjectReport, Outcome};
    use crate::semantics::Semantics;
    use crate::value::{GroupVersionKind, Value};
    use crate::yaml;

    /// A classic policy that copies a label into another, where it is there.
    fn copying(from: &str, to: &str) -> String {
        format!(
            "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: copy-{from}}}
spec:
  background: false
  rules:
  - name: copy
    match: {{any: [{{resources: {{kinds: [ConfigMap], selector: {{matchLabels: {{{from}: '*'}}}}}}}}]}}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{{to}: '{{{{request.object.metadata.labels.{from}}}}}'}}}}}}}}
"
        )
    }

    fn fixed(name: &str, resource: &str) -> String {
        format!(
            "{{apiVersion: test.kyv/v1, kind: FixedLabelPolicy, metadata: {{name: {name}}}, \
             spec: {{resource: {resource}, value: x}}}}"
        )
    }

    fn engine(policies: &[String], settings: Settings) -> Engine {
        let read = |text: &String| parse(&yaml::parse_value(text).unwrap(), Semantics::Documented).unwrap();
        Engine::new(PolicySet::new(policies.iter().map(read).collect()), settings)
    }

    fn mutate(engine: &Engine, object: &str) -> ObjectReport {
        engine.mutate(&yaml::parse_value(object).unwrap(), None, &EmptyWorld)
    }

    const CONFIG_MAP: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}}";

    #[test]
    fn a_second_family_runs_in_order_between_classic_policies() {
        // Only `b` sees the label of the policy before it, and only because that policy ran first.
        let policies = [copying("middle", "a"), fixed("middle", "configmaps"), copying("middle", "b")];
        for trace in [false, true] {
            let report = mutate(&engine(&policies, Settings { trace, ..Settings::default() }), CONFIG_MAP);
            let labels = report.after.path(&["metadata", "labels"]).unwrap();
            assert_eq!(labels.to_json(), r#"{"middle":"x","b":"x"}"#, "{trace}");
            let changed: Vec<_> = report
                .rules()
                .filter(|(_, rule)| matches!(rule.outcome, Outcome::Patched { .. }))
                .map(|(policy, rule)| format!("{}/{}", policy.policy, rule.rule))
                .collect();
            assert_eq!(changed, ["middle/middle", "copy-middle/copy"], "{trace}");
        }
    }

    #[test]
    fn a_second_family_is_run_for_its_resource_alone() {
        let engine = engine(&[fixed("team", "configmaps")], Settings::default());
        let is_changed = |object: &str| {
            let report = mutate(&engine, object);
            report.before != report.after
        };
        assert!(is_changed(CONFIG_MAP));
        assert!(!is_changed("{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop}}"));
        assert!(engine.concerns(&GroupVersionKind::new("v1", "ConfigMap")));
        assert!(!engine.concerns(&GroupVersionKind::new("v1", "Secret")) && !engine.has_targets());
        let again =
            mutate(&engine, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {team: x}}}");
        assert!(matches!(again.policies[0].rules[0].outcome, Outcome::NoChange));
        assert_eq!(again.before.get("metadata"), again.after.get("metadata"));
        assert_ne!(again.after, Value::Null);
    }
}
