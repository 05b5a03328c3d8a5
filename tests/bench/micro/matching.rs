//! Which rules concern an object.

use kyv::policy::{Candidate, KindSelector, Operation, Policy};
use kyv::value::{GroupVersionKind, Value};

use crate::inputs::{DEPLOYMENT, engine, objects, policy, value, world};
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("kinds", kinds),
    ("names-and-namespaces", || {
        selected("{kinds: [Deployment], names: [front, 'shop-*'], namespaces: ['team-*', '*-prod']}")
    }),
    ("labels", || selected(LABELS)),
    ("any-kind-with-wildcards", || {
        selected("{kinds: ['*'], annotations: {'example.com/*': '*@example.com'}}")
    }),
    ("1000-policies-for-other-kinds", || unmatched(|n| format!("{{kinds: [example.com/v1/Thing{n}]}}"))),
    ("1000-policies-for-kinds-by-wildcard", || unmatched(|n| format!("{{kinds: ['Thing{n}*']}}"))),
    ("1000-policies-for-other-names", || {
        unmatched(|n| format!("{{kinds: [Deployment], names: ['back-{n}-*']}}"))
    }),
    ("1000-policies-for-other-namespaces", || {
        unmatched(|n| format!("{{kinds: [Deployment], namespaces: [team-{n}]}}"))
    }),
    ("1000-policies-for-other-labels", || {
        unmatched(|n| format!("{{kinds: [Deployment], selector: {{matchLabels: {{app: back-{n}}}}}}}"))
    }),
];

const LABELS: &str = r#"{kinds: [Deployment, StatefulSet], selector: {
    matchLabels: {app.kubernetes.io/part-of: 'sh?p'},
    matchExpressions: [{key: app.kubernetes.io/name, operator: In, values: [front, back]}, {key: legacy, operator: DoesNotExist}]}}"#;

const KINDS: [&str; 8] = [
    "Pod",
    "apps/v1/Deployment",
    "apps/*/StatefulSet",
    "*/*",
    "Pod/ephemeralcontainers",
    "networking.k8s.io/v1/Ingress",
    "*Set",
    "batch/v1/*",
];

const OVERLAY: &str = "{patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}}";

/// Kind selectors against kinds.
fn kinds() -> Work {
    let selectors = KINDS.map(KindSelector::parse);
    let kinds: Vec<_> = objects(12).iter().filter_map(GroupVersionKind::of).collect();
    Work::new(move || {
        let hits =
            |selector: &KindSelector| kinds.iter().filter(|kind| selector.matches(kind, "", true)).count();
        selectors.iter().map(hits).sum::<usize>()
    })
}

/// One rule against the objects of a folder and one that it is for.
fn selected(matching: &str) -> Work {
    let policy = policy("matching", matching, OVERLAY);
    let mut objects = objects(96);
    objects.push(value(DEPLOYMENT));
    let kinds: Vec<_> = objects.iter().map(|object| GroupVersionKind::of(object).expect("a kind")).collect();
    Work::new(move || {
        let rules = &policy.as_classic().expect("a classic policy").rules;
        let candidates =
            objects.iter().zip(&kinds).map(|(object, kind)| Candidate::new(object, kind, Operation::Create));
        let hits = candidates.filter(|candidate| rules.iter().any(|rule| rule.selects(candidate))).count();
        assert!(hits > 0);
        hits
    })
}

/// One object that none of many policies is for.
fn unmatched(matching: fn(usize) -> String) -> Work {
    let policies: Vec<Policy> =
        (0..1_000).map(|number| policy(&format!("policy-{number}"), &matching(number), OVERLAY)).collect();
    let (engine, world, object): (_, _, Value) = (engine(policies), world(), value(DEPLOYMENT));
    Work::new(move || {
        let report = engine.mutate(&object, None, &world);
        assert!(report.policies.is_empty());
        report
    })
}
