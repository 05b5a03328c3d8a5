//! Objects and policies for property tests.

use proptest::prelude::*;

use crate::policy::{Policy, parse};
use crate::semantics::Semantics;
use crate::yaml;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// What the rule of a policy requires.
const CONDITIONS: [&str; 6] = [
    "",
    "preconditions: {all: [{key: \"{{ request.object.data.IN || '' }}\", operator: Equals, value: x}]}, ",
    "preconditions: {all: [{key: \"{{ request.object.data.IN || '' }}\", operator: NotEquals, value: ''}]}, ",
    "exclude: {any: [{resources: {selector: {matchLabels: {IN: x}}}}]}, ",
    "exclude: {any: [{resources: {annotations: {IN: x}}}]}, ",
    "preconditions: {all: [{key: \"{{ length(request.object.metadata.labels || `{}`) }}\", operator: Equals, value: 1}]}, ",
];

/// What it writes.
pub(super) const PATCHES: [&str; 17] = [
    "patchStrategicMerge: {data: {OUT: x}}",
    "patchStrategicMerge: {data: {OUT: 'y'}}",
    "patchStrategicMerge: {data: {+(OUT): z}}",
    "patchStrategicMerge: {data: {OUT: null}}",
    "patchStrategicMerge: {metadata: {labels: {OUT: x}}}",
    "patchStrategicMerge: {data: {OUT: \"{{ request.object.data.IN || 'none' }}\"}}",
    // Fails without the field.
    "patchesJson6902: '[{op: replace, path: /data/OUT, value: r}]'",
    "patchesJson6902: '[{op: add, path: /list/-, value: OUT}]'",
    "patchesJson6902: '[{op: add, path: /metadata/labels/OUT, value: x}]'",
    "patchesJson6902: '[{op: add, path: /data/0, value: x}]'",
    "patchesJson6902: '[{op: copy, from: /metadata/name, path: /data/OUT}]'",
    "patchesJson6902: '[{op: test, path: /data/IN, value: null}, {op: add, path: /metadata/labels/OUT, value: x}]'",
    "patchesJson6902: '[{op: remove, path: /metadata/labels}]'",
    "patchStrategicMerge: {metadata: {labels: {OUT: 1}}}",
    "patchStrategicMerge: {metadata: {annotations: {OUT: x}}}",
    "patchStrategicMerge: {data: {(IN): x, OUT: 'y'}}",
    "patchStrategicMerge: {metadata: {labels: {<(IN): '!x'}}, data: {OUT: 'y'}}",
];

/// The policy of this number with a condition and a patch.
pub(super) fn policy(number: usize, condition: &str, patch: &str) -> Policy {
    let text = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p{number}}}, spec: {{background: false, \
         rules: [{{name: r, match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, {condition} mutate: {{{patch}}}}}]}}}}"
    );
    parse(&yaml::parse_value(&text).unwrap(), Semantics::Documented).unwrap()
}

/// Objects with and without the maps that policies write.
pub(super) fn objects() -> impl Strategy<Value = String> {
    let labels = ["", "labels: {}", "labels:", "labels: {a: x}", "labels: {a: x, b: 1}"];
    let data = ["", ", data: {a: x, b: 'y'}", ", data: {}, list: []", ", list: []"];
    let select = |texts: &[&'static str]| proptest::sample::select(texts.to_vec());
    (select(&labels), select(&data)).prop_map(|(labels, data)| {
        format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m, {labels}}}{data}}}")
    })
}

/// The conditions and patches of two to six policies.
pub(super) fn policies() -> impl Strategy<Value = Vec<[String; 2]>> {
    // Not policies, so that a failure is readable.
    let one = (0..CONDITIONS.len(), 0..PATCHES.len(), 0..NAMES.len(), 0..NAMES.len());
    proptest::collection::vec(one, 2..=6).prop_map(|all| {
        let texts = |(condition, patch, input, output): (usize, usize, usize, usize)| {
            [CONDITIONS[condition], PATCHES[patch]]
                .map(|text| text.replace("IN", NAMES[input]).replace("OUT", NAMES[output]))
        };
        all.into_iter().map(texts).collect()
    })
}
