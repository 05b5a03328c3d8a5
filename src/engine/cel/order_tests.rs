//! What expressions read and write decides which orders of policies are evaluated: none that matters may be missing.

use proptest::prelude::*;

use crate::engine::{EmptyWorld, Engine, Settings};
use crate::policy::{Policy, PolicySet, parse};
use crate::report::ObjectReport;
use crate::semantics::Semantics;
use crate::value::Value;
use crate::yaml;

const CONDITIONS: [&str; 11] = [
    "true",
    "object.spec.containers.exists(c, c.image == 'x')",
    "has(object.spec.hostname)",
    "has(object.spec.securityContext.runAsNonRoot)",
    "size(object.spec.containers) == 2",
    "size(object.metadata.?labels.orValue({})) == 2",
    "'b' in object.metadata.?labels.orValue({})",
    "object.metadata.?labels.orValue({}).all(key, key != 'b')",
    "object.metadata.?annotations[?'a'].orValue('') == 'x'",
    "variables.first.image == 'x'",
    "request.object.spec.containers[0].?tty.orValue(false) || object.spec.?hostname.optMap(name, name == 'h').orValue(false)",
];

const CONFIGURATIONS: [&str; 11] = [
    "Object{metadata: Object.metadata{labels: {'b': 'x'}}}",
    "Object{metadata: Object.metadata{annotations: {'a': 'x'}}}",
    "Object{spec: Object.spec{hostname: object.spec.?hostname.orValue('g')}}",
    "Object{spec: Object.spec{hostname: 'h', securityContext: Object.spec.securityContext{fsGroup: 1}}}",
    "Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsNonRoot: true}}}",
    "Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', image: 'y'}]}}",
    "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, image: c.image + 'x'})}}",
    "Object{spec: Object.spec{containers: object.spec.containers.filter(c, c.image == 'x').map(c, Object.spec.containers{name: c.name, tty: true})}}",
    "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: 'E'}]})}}",
    "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name == 'a' ? 'b' : 'a', image: 'x'})}}",
    "has(object.spec.hostname) ? Object{spec: Object.spec{subdomain: object.spec.hostname}} : Object{}",
];

const PATCHES: [&str; 6] = [
    "[JSONPatch{op: 'add', path: '/spec/containers/0/tty', value: true}]",
    "[JSONPatch{op: 'remove', path: '/spec/containers/1'}]",
    "[JSONPatch{op: 'test', path: '/spec/hostname', value: 'h'}, JSONPatch{op: 'add', path: '/metadata/labels/a', value: 'x'}]",
    "[JSONPatch{op: 'add', path: variables.path, value: 'x'}]",
    "[JSONPatch{op: 'add', path: '/metadata/annotations/' + jsonpatch.escapeKey('a'), value: 'y'}]",
    "object.spec.containers.transformList(i, c, has(c.tty), JSONPatch{op: 'add', path: '/spec/containers/' + string(i) + '/stdin', value: true})",
];

fn policy(number: usize, condition: &str, mutation: usize) -> Policy {
    let (kind, block, expression) = match CONFIGURATIONS.get(mutation) {
        Some(expression) => ("ApplyConfiguration", "applyConfiguration", *expression),
        None => ("JSONPatch", "jsonPatch", PATCHES[mutation - CONFIGURATIONS.len()]),
    };
    // Some have a selector.
    let selector = if number == 1 { "objectSelector: {matchLabels: {b: x}}, " } else { "" };
    let text = format!(
        "apiVersion: policies.kyverno.io/v1
kind: MutatingPolicy
metadata: {{name: p{number}}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints: {{{selector}resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}
  matchConditions: [{{name: c, expression: \"{condition}\"}}]
  variables:
  - {{name: first, expression: 'object.spec.containers[0]'}}
  - {{name: path, expression: \"has(object.spec.hostname) ? '/metadata/labels/b' : '/spec/subdomain'\"}}
  mutations: [{{patchType: {kind}, {block}: {{expression: \"{expression}\"}}}}]
"
    );
    parse(&yaml::parse_value(&text).unwrap(), Semantics::Documented).unwrap()
}

fn mutate(object: &Value, policies: &[Policy], checks_order: bool) -> ObjectReport {
    let settings = Settings { checks_order, ..Settings::default() };
    Engine::new(PolicySet::new(policies.to_vec()), settings).mutate(object, None, &EmptyWorld)
}

/// The object after policies, and those that fail.
fn ending(object: &Value, policies: &[Policy]) -> (Value, Vec<String>) {
    let report = mutate(object, policies, false);
    let failed = report.policies.iter().filter(|policy| policy.has_error());
    let mut failed: Vec<String> = failed.map(|policy| policy.policy.to_string()).collect();
    failed.sort_unstable();
    (report.after, failed)
}

fn objects() -> impl Strategy<Value = String> {
    let metadata = ["", "labels: {a: x}", "labels: {a: x, b: y}, annotations: {k: v}", "annotations: {a: x}"];
    let spec = ["", "hostname: h, ", "securityContext: {}, ", "securityContext: {fsGroup: 2}, "];
    let containers = ["{name: a, image: x}", "{name: a, image: y, tty: true}, {name: b, image: x}", ""];
    let select = |texts: &[&'static str]| proptest::sample::select(texts.to_vec());
    (select(&metadata), select(&spec), select(&containers)).prop_map(|(metadata, spec, containers)| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, {metadata}}}, spec: {{{spec}containers: [{containers}]}}}}"
        )
    })
}

fn permutations(members: &[usize]) -> Vec<Vec<usize>> {
    members.iter().fold(vec![Vec::new()], |shorter, member| {
        let insert = |order: Vec<usize>| {
            (0..=order.len()).map(move |place| [&order[..place], &[*member], &order[place..]].concat())
        };
        shorter.into_iter().flat_map(insert).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_some_order_changes_is_noted_and_nothing_else(
        object in objects(),
        chosen in proptest::collection::vec((0..CONDITIONS.len(), 0..CONFIGURATIONS.len() + PATCHES.len()), 2..=3),
    ) {
        let object = yaml::parse_value(&object).unwrap();
        let policy = |(number, (condition, mutation)): (usize, &(usize, usize))| {
            policy(number, CONDITIONS[*condition], *mutation)
        };
        let policies: Vec<Policy> = chosen.iter().enumerate().map(policy).collect();
        let report = mutate(&object, &policies, true);
        let expected = ending(&object, &policies);
        prop_assert_eq!(&report.after, &expected.0);
        let numbers: Vec<usize> = (0..policies.len()).collect();
        let different = permutations(&numbers).into_iter().find(|order| {
            let policies: Vec<Policy> = order.iter().map(|number| policies[*number].clone()).collect();
            ending(&object, &policies) != expected
        });
        prop_assert_eq!(report.order.is_empty(), different.is_none(), "{:?} {:?}", different, report.order);
    }
}
