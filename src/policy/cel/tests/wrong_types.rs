//! Wrong types in every field of valid policies, bindings and exceptions, generated.

use crate::policy::{Binding, CelException, PolicyError, parse};
use crate::semantics::Semantics;
use crate::value::{Pointer, Segment, Value};
use crate::yaml::parse_value;

const CONSTRAINTS: &str = "{matchPolicy: Equivalent, \
    namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: a, operator: In, values: [b]}]}, \
    objectSelector: {matchExpressions: [{key: c, operator: Exists}]}, \
    excludeResourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments], resourceNames: [x]}], \
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods], resourceNames: [a], scope: Namespaced}]";

fn documents() -> Vec<Value> {
    let mutations = "mutations: [\
        {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}'}}, \
        {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"remove\", path: \"/a\"}]'}}]";
    let conditions = "matchConditions: [{name: c, expression: 'has(object.spec)'}], \
        variables: [{name: v, expression: 'object.metadata.name'}]";
    let of_kyverno = |kind: &str| {
        format!(
            "{{apiVersion: policies.kyverno.io/v1, kind: {kind}, metadata: {{name: p, namespace: ns, labels: {{a: b}}, annotations: {{c: d}}}}, spec: {{\
             failurePolicy: Ignore, reinvocationPolicy: Never, {conditions}, {mutations}, matchConstraints: {CONSTRAINTS}}}, \
             targetMatchConstraints: {CONSTRAINTS}, expression: 'resource.Get(\"v1\", \"pods\"{}, \"b\")'}}, \
             targetMatchConditions: [{{name: t, expression: 'true'}}], \
             auditAnnotations: [{{key: k, valueExpression: '\"x\"'}}], \
             autogen: {{podControllers: {{controllers: [deployments]}}, mutatingAdmissionPolicy: {{enabled: false}}}}, \
             evaluation: {{admission: {{enabled: true}}, background: {{enabled: true}}, mutateExisting: {{enabled: true}}, mode: Kubernetes, \
             skipBackgroundRequests: true, useServerSideApply: true}}, webhookConfiguration: {{timeoutSeconds: 5}}}}}}",
            if kind == "MutatingPolicy" { ", \"a\"" } else { "" }
        )
    };
    let texts = [
        of_kyverno("MutatingPolicy"),
        of_kyverno("NamespacedMutatingPolicy"),
        format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {{name: p}}, spec: {{\
             failurePolicy: Fail, reinvocationPolicy: IfNeeded, paramKind: {{apiVersion: v1, kind: ConfigMap}}, {conditions}, {mutations}, \
             matchConstraints: {CONSTRAINTS}}}}}}}"
        ),
        format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {{name: b}}, spec: {{\
             policyName: p, matchResources: {CONSTRAINTS}}}, \
             paramRef: {{name: x, namespace: other, parameterNotFoundAction: Deny}}}}}}"
        ),
        "{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: e, namespace: ns}, spec: {\
         policyRefs: [{name: p, kind: MutatingPolicy}], matchConditions: [{name: c, expression: 'true'}], images: ['a*'], \
         allowedValues: [b], reportResult: skip, expiresAt: '2030-01-01T00:00:00Z'}}"
            .to_owned(),
    ];
    texts.iter().map(|text| parse_value(text).unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

fn errors(document: &Value) -> Vec<PolicyError> {
    match document.get("kind").and_then(Value::as_str) {
        Some("MutatingAdmissionPolicyBinding") => Binding::parse(document).err(),
        Some("PolicyException") => CelException::parse(document).err(),
        _ => parse(document, Semantics::Documented).err(),
    }
    .unwrap_or_default()
}

/// The fields below `spec` with their places, whatever their depth.
fn places(value: &Value, at: &Pointer, found: &mut Vec<Pointer>) {
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &at.index(index), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| places(member, &at.key(key.clone()), found));
        }
        _ => {}
    }
    found.push(at.clone());
}

fn replaced(document: &Value, place: &Pointer, other: &Value) -> Value {
    let mut changed = document.clone();
    let node = place.segments().iter().fold(&mut changed, |node, segment| match segment {
        Segment::Key(key) => node.as_object_mut().unwrap().get_mut(key).unwrap(),
        Segment::Index(index) => &mut node.as_array_mut().unwrap()[*index],
    });
    *node = other.clone();
    changed
}

#[test]
fn every_field_has_its_type() {
    let others = ["true", "7", "1.5", "text", "''", "[]", "[1, null, {}]", "{}", "{a: [1]}", "[[]]"];
    let others: Vec<Value> = others.iter().map(|text| parse_value(text).unwrap()).collect();
    let mut count = 0;
    for document in documents() {
        assert_eq!(errors(&document), [], "{document:?}");
        let mut all = Vec::new();
        places(document.get("spec").unwrap(), &Pointer::ROOT.key("spec"), &mut all);
        assert!(all.len() > 12, "{}", all.len());
        for place in &all {
            let written = document.pointed(place).unwrap();
            for other in others.iter().filter(|other| other.type_name() != written.type_name()) {
                let found = errors(&replaced(&document, place, other));
                assert!(!found.is_empty(), "{place} may be {other:?}");
                let is_there = |error: &PolicyError| error.pointer.segments().starts_with(place.segments());
                assert!(found.iter().any(is_there), "{place} with {other:?}: {found:?}");
                count += 1;
            }
            // Null stands for a field that is not written.
            for error in errors(&replaced(&document, place, &Value::Null)) {
                assert!(!error.message.is_empty(), "{place}");
            }
        }
    }
    assert!(count > 2000, "{count}");
}
