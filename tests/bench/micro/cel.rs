//! CEL: loading policies, evaluating expressions, applying what they yield.

use kyv::cel::{Activation, Env, Meter, Numbers, Program, Val};
use kyv::policy;
use kyv::semantics::Semantics;
use kyv::value::Value;

use crate::inputs::{DEPLOYMENT, compiled, engine, objects, value, world};
use crate::rules::{deployed, sound};
use crate::twins::{CLASSIC, TWINS};
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("load-policy", || load(&[CONTAINERS])),
    ("load-pod-policy", || load(&[POD_CONTAINERS])),
    ("load-30-policies", || load(&TWINS)),
    ("compile", || {
        let env = env();
        Work::new(move || Program::compile(&env, CONDITION).expect("an expression"))
    }),
    ("evaluate-path", || evaluated("object.spec.template.spec.containers[0].image")),
    ("evaluate-condition", || evaluated(CONDITION)),
    ("evaluate-containers", || evaluated(MAPPED)),
    ("apply-labels", || deployed(true, LABELS)),
    ("apply-containers", || deployed(true, CONTAINERS)),
    ("apply-nothing-new", || deployed(false, NOTHING_NEW)),
    ("json-patch", || deployed(true, JSON_PATCH)),
    ("conditions-do-not-hold", || deployed(false, NOT_FOR_IT)),
    ("variables", || deployed(true, VARIABLES)),
    ("generated-for-deployment", || deployed(true, POD_CONTAINERS)),
    ("30-policies-on-88-objects", || many(&TWINS)),
    ("30-classic-twins-on-88-objects", || many(&CLASSIC)),
];

const CONDITION: &str = r#"object.metadata.namespace.startsWith("shop-") && has(object.spec.replicas)
    && object.spec.template.spec.containers.exists(c, c.image.endsWith(":latest"))
    && !("example.com/owned" in object.metadata.?labels.orValue({}))"#;

const MAPPED: &str = r#"object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
    name: c.name,
    resources: Object.spec.template.spec.containers.resources{requests: {
        "cpu": c.?resources.?requests.?cpu.orValue("50m"),
        "memory": c.?resources.?requests.?memory.orValue("64Mi")}}})"#;

/// A policy for Deployments with this mutation, and what else `spec` has.
macro_rules! for_deployments {
    ($patch:literal, $spec:literal) => {
        concat!(
            r#"{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: benchmark}, spec: {
            matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]},
            "#,
            $spec,
            "mutations: [",
            $patch,
            "]}}"
        )
    };
}

const LABELS: &str = for_deployments!(
    r#"{patchType: ApplyConfiguration, applyConfiguration: {expression:
        'Object{metadata: Object.metadata{labels: {"example.com/team": object.metadata.namespace}}}'}}"#,
    ""
);

const CONTAINERS: &str = for_deployments!(
    r#"{patchType: ApplyConfiguration, applyConfiguration: {expression:
        'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
            containers: object.spec.template.spec.containers.filter(c, c.image.endsWith(":latest")).map(c,
                Object.spec.template.spec.containers{name: c.name, imagePullPolicy: "Always"})}}}}'}}"#,
    ""
);

const NOTHING_NEW: &str = for_deployments!(
    r#"{patchType: ApplyConfiguration, applyConfiguration: {expression:
        'Object{spec: Object.spec{replicas: 3, template: Object.spec.template{spec: Object.spec.template.spec{
            containers: object.spec.template.spec.containers.map(c,
                Object.spec.template.spec.containers{name: c.name, image: c.image})}}}}'}}"#,
    ""
);

const JSON_PATCH: &str = for_deployments!(
    r#"{patchType: JSONPatch, jsonPatch: {expression:
        '[JSONPatch{op: "add", path: "/metadata/annotations/" + jsonpatch.escapeKey("example.com/zone"), value: "north"},
          JSONPatch{op: "replace", path: "/spec/replicas", value: 5}]'}}"#,
    ""
);

const NOT_FOR_IT: &str = for_deployments!(
    r#"{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/replicas", value: 5}]'}}"#,
    r#"matchConditions: [{name: writes, expression: 'request.operation in ["CREATE", "UPDATE"]'},
        {name: elsewhere, expression: 'object.metadata.namespace.startsWith("kube-")'}],"#
);

const VARIABLES: &str = for_deployments!(
    r#"{patchType: ApplyConfiguration, applyConfiguration: {expression:
        'Object{metadata: Object.metadata{annotations: {"images": variables.images.join(", "), "count": string(size(variables.images))}}}'}}"#,
    r#"variables: [{name: containers, expression: object.spec.template.spec.containers},
        {name: images, expression: 'variables.containers.map(c, string(c.image))'}],"#
);

/// For Pods, and so for Deployments, too.
const POD_CONTAINERS: &str = r#"{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: benchmark}, spec: {
    matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]},
    matchConditions: [{name: latest, expression: 'object.spec.containers.exists(c, c.image.endsWith(":latest"))'}],
    mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression:
        'Object{spec: Object.spec{containers: object.spec.containers.filter(c, c.image.endsWith(":latest")).map(c,
            Object.spec.containers{name: c.name, imagePullPolicy: "Always"})}}'}}]}}"#;

fn env() -> Env {
    Env::policy(kyv::cel::Dialect::Kyverno).with_messages()
}

fn load(texts: &[&str]) -> Work {
    let documents: Vec<Value> = texts.iter().map(|text| value(text)).collect();
    Work::new(move || -> Vec<_> {
        let parse = |document| policy::parse(document, Semantics::Documented).expect("a policy");
        documents.iter().map(parse).collect()
    })
}

/// The value of an expression for the Deployment.
fn evaluated(source: &str) -> Work {
    let env = env();
    let program = Program::compile(&env, source).expect("an expression");
    let object = Val::from_json(&value(DEPLOYMENT), Numbers::Exact);
    Work::new(move || {
        let mut activation = Activation::new(&env, &[]);
        activation.set("object", object.clone());
        program.evaluate(&activation, &mut Meter::default()).expect("a value")
    })
}

/// Policies on objects that have what those of `compare` have, a tier. Services are left out: their ports have no names.
fn many(policies: &[&str]) -> Work {
    let (engine, world) = (engine(policies.iter().map(|text| compiled(text)).collect()), world());
    let mut objects = objects(96);
    objects.retain(|object| object.get("kind").and_then(Value::as_str) != Some("Service"));
    for (object, tier) in objects.iter_mut().zip(["web", "api", "data", "batch"].into_iter().cycle()) {
        let metadata = object.as_object_mut().and_then(|members| members.get_mut("metadata"));
        let labels = metadata.and_then(Value::as_object_mut).and_then(|members| members.get_mut("labels"));
        labels.expect("each object has labels").insert("tier", tier.into());
    }
    Work::new(move || -> Vec<_> {
        objects.iter().map(|object| sound(engine.mutate(object, None, &world))).collect()
    })
}
