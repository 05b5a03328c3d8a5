//! Whole rules on whole objects: loading, loops, conditions, and all of it together.

use kyv::engine::{Engine, Settings};
use kyv::policy::{self, Policy, PolicySet};
use kyv::report::ObjectReport;
use kyv::semantics::Semantics;
use kyv::value::Value;
use kyv::yaml::{Document, print};

use crate::inputs::{
    DEPLOYMENT, compiled, documents, engine, manifests, objects, pod, policy, source, thirty_policies, value,
    world,
};
use crate::{Work, Workload};
use test_support::sample_objects;

pub(crate) const WORKLOADS: &[Workload] = &[
    ("load-30-policies", load),
    ("foreach-merge-5", || looped(MERGES, 5)),
    ("foreach-merge-50", || looped(MERGES, 50)),
    ("foreach-merge-500", || looped(MERGES, 500)),
    ("foreach-json-patch-5", || looped(PATCHES, 5)),
    ("foreach-json-patch-50", || looped(PATCHES, 50)),
    ("foreach-json-patch-500", || looped(PATCHES, 500)),
    ("generated-for-deployment", || deployed(true, PULL_LATEST)),
    ("preconditions-hold", || deployed(true, &preconditions("shop-*"))),
    ("preconditions-do-not-hold", || deployed(false, &preconditions("kube-*"))),
    ("context-variables", || deployed(true, CONTEXT)),
    ("30-policies-on-96-objects", || many(Settings::default())),
    ("30-policies-on-96-objects-traced", || many(Settings { trace: true, ..Settings::default() })),
    ("read-mutate-print-96-manifests", || through(|_, value, out| print(value, out))),
    ("read-mutate-edit-96-manifests", || {
        through(|document, value, out| out.push_str(&document.edited(value).text))
    }),
];

const MERGES: &str = r#"{foreach: [{list: request.object.spec.containers,
    preconditions: {all: [{key: "{{ element.image }}", operator: NotEquals, value: "mirror.example/*"}]},
    patchStrategicMerge: {spec: {containers: [{name: "{{ element.name }}",
        image: "{{ regex_replace_all_literal('^registry.example/', element.image, 'mirror.example/') }}"}]}}}]}"#;

const PATCHES: &str = r#"{foreach: [{list: "request.object.spec.containers[]",
    patchesJson6902: '- {op: add, path: "/spec/containers/{{ elementIndex }}/env/-", value: {name: NAME, value: "{{ element.name }}"}}'}]}"#;

const PULL_LATEST: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pull-latest}
spec:
  rules:
  - name: pull
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}}
"#;

const CONTEXT: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: context}
spec:
  rules:
  - name: zone
    match: {any: [{resources: {kinds: [Deployment]}}]}
    context:
    - {name: settings, configMap: {name: settings, namespace: team-000}}
    - {name: used, variable: {jmesPath: "request.object.spec.template.spec.containers[].image"}}
    - {name: zone, variable: {value: "{{ settings.data.zone }}-1"}}
    mutate: {patchStrategicMerge: {metadata: {annotations: {zone: "{{ zone }}", images: "{{ join(', ', used) }}"}}}}
"#;

fn preconditions(namespaces: &str) -> String {
    format!(
        r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: preconditions}}
spec:
  rules:
  - name: rule
    match: {{any: [{{resources: {{kinds: [Deployment]}}}}]}}
    preconditions:
      any:
      - {{key: "{{{{ request.object.spec.template.spec.containers[].image }}}}", operator: AnyIn, value: ["*:latest"]}}
      all:
      - {{key: "{{{{ request.operation || 'BACKGROUND' }}}}", operator: AnyIn, value: [CREATE, UPDATE]}}
      - {{key: "{{{{ request.namespace }}}}", operator: Equals, value: "{namespaces}"}}
    mutate: {{patchStrategicMerge: {{metadata: {{labels: {{+(owner): "{{{{ request.namespace }}}}"}}}}}}}}
"#
    )
}

fn load() -> Work {
    let documents: Vec<_> = sample_objects::policies().iter().map(|(_, text)| value(text)).collect();
    Work::new(move || -> Vec<_> {
        documents
            .iter()
            .map(|document| policy::parse(document, Semantics::Documented).expect("a policy"))
            .collect()
    })
}

/// A loop over the containers of a Pod.
fn looped(mutate: &str, containers: usize) -> Work {
    one(true, policy("loop", "{kinds: [Pod]}", mutate), pod(containers))
}

/// A policy on the Deployment, and whether it changes that.
pub(crate) fn deployed(changes: bool, policy: &str) -> Work {
    one(changes, compiled(policy), value(DEPLOYMENT))
}

fn one(changes: bool, policy: Policy, object: Value) -> Work {
    let (engine, world) = (engine(vec![policy]), world());
    assert_eq!(engine.mutate(&object, None, &world).is_changed(), changes);
    Work::new(move || sound(engine.mutate(&object, None, &world)))
}

fn many(settings: Settings) -> Work {
    let (engine, world, objects) =
        (Engine::new(PolicySet::new(thirty_policies()), settings), world(), objects(96));
    Work::new(move || -> Vec<_> {
        objects.iter().map(|object| sound(engine.mutate(object, None, &world))).collect()
    })
}

/// Documents from text to text.
fn through(write: fn(&Document, &Value, &mut String)) -> Work {
    let (engine, world, source) = (engine(thirty_policies()), world(), source(manifests(96)));
    Work::new(move || {
        let mut out = String::new();
        for document in documents(&source) {
            let Some(value) = document.value() else { continue };
            write(&document, &engine.mutate(value, None, &world).after, &mut out);
        }
        out
    })
}

/// A report without errors: else it would not be measured what the name says.
pub(crate) fn sound(report: ObjectReport) -> ObjectReport {
    assert!(!report.has_error(), "{:?}", report.rules().map(|(_, rule)| &rule.outcome).collect::<Vec<_>>());
    report
}
