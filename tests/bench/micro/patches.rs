//! Both patch engines.

use kyv::patch::{JsonPatch, MergeContext, Merged, Overlay, Schemas};
use kyv::semantics::DivergenceTracker;
use kyv::value::Value;

use crate::inputs::{DEPLOYMENT, pod, value};
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("overlay-prepare", || {
        let overlay = value(MERGED);
        Work::new(move || Overlay::prepare(&overlay, &DivergenceTracker::default()).expect("an overlay"))
    }),
    ("overlay-labels", || overlaid(Effect::Other, LABELS, value(DEPLOYMENT))),
    ("overlay-conditions", || overlaid(Effect::Other, CONDITIONS, value(DEPLOYMENT))),
    ("overlay-lists-by-key", || overlaid(Effect::Other, MERGED, value(DEPLOYMENT))),
    ("overlay-not-for-it", || overlaid(Effect::Left, NOT_FOR_IT, value(DEPLOYMENT))),
    ("overlay-nothing-new", || overlaid(Effect::Same, NOTHING_NEW, value(DEPLOYMENT))),
    ("overlay-200-containers", || overlaid(Effect::Other, CONTAINERS, pod(200))),
    ("json-patch-parse", || Work::new(|| JsonPatch::parse(OPERATIONS).expect("a patch"))),
    ("json-patch", json_patch),
];

const LABELS: &str =
    r#"{metadata: {labels: {+(team): front, tier: web}, annotations: {+(example.com/owner): nobody}}}"#;

const CONDITIONS: &str = r#"{spec: {template: {spec: {
    volumes: [{(name): "c*", +(emptyDir): {medium: Memory}}],
    containers: [{(image): "*:latest", imagePullPolicy: Always, +(resources): {requests: {+(cpu): 100m}}}],
    +(automountServiceAccountToken): false}}}}"#;

const MERGED: &str = r#"{spec: {template: {spec: {
    imagePullSecrets: [{name: registry}],
    initContainers: [{name: wait, image: registry.example/tools/wait:2}],
    containers: [{name: web, env: [{name: LOG_LEVEL, value: debug}, {name: ZONE, value: north}],
                  volumeMounts: [{name: certificates, mountPath: /etc/ssl/shop}]}],
    volumes: [{name: certificates, secret: {secretName: certificates}}, {name: cache, $patch: delete}]}}}}"#;

/// A global condition that does not hold.
const NOT_FOR_IT: &str = r#"{spec: {template: {spec: {
    containers: [{<(image): "mirror.example/*"}], imagePullSecrets: [{name: mirror}]}}}}"#;

const NOTHING_NEW: &str = r#"{spec: {replicas: 3, template: {spec: {
    securityContext: {+(runAsNonRoot): true}, containers: [{name: web, resources: {requests: {cpu: 250m}}}]}}}}"#;

const CONTAINERS: &str = r#"{spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}"#;

const OPERATIONS: &str = r#"
- {op: add, path: /metadata/annotations/example.com~1marked, value: "yes"}
- {op: replace, path: /spec/replicas, value: 5}
- {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: ZONE, value: north}}
- {op: remove, path: /spec/template/spec/volumes/1}
- {op: test, path: /spec/strategy/type, value: RollingUpdate}
- {op: copy, from: /metadata/labels, path: /spec/template/metadata/labels}
- {op: add, path: /spec/template/spec/tolerations/-, value: {key: edge, operator: Exists}}
"#;

/// What an overlay makes of an object.
#[derive(Debug, PartialEq, Eq)]
enum Effect {
    /// Another one.
    Other,
    /// The same.
    Same,
    /// Nothing, because it is not for the object.
    Left,
}

fn overlaid(effect: Effect, text: &str, base: Value) -> Work {
    let overlay = Overlay::prepare(&value(text), &DivergenceTracker::default()).expect("an overlay");
    let schemas = Schemas::kubernetes();
    let apply = move |base: &Value| {
        overlay
            .apply(base, &MergeContext::new(&schemas), &DivergenceTracker::default(), None)
            .expect("it fits the object")
    };
    let found = match apply(&base) {
        Merged::Patched(value) if value == base => Effect::Same,
        Merged::Patched(_) => Effect::Other,
        Merged::ConditionFailed(_) => Effect::Left,
    };
    assert_eq!(found, effect, "{text}");
    Work::new(move || apply(&base))
}

fn json_patch() -> Work {
    let (patch, base) = (JsonPatch::parse(OPERATIONS).expect("a patch"), value(DEPLOYMENT));
    Work::new(move || patch.apply(&base, &DivergenceTracker::default()).expect("it fits the object"))
}
