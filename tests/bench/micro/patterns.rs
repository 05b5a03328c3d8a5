//! Wildcards, the leaves of patterns, and conditions.

use std::convert::Infallible;

use kyv::pattern::{Conditions, IntegerTyping, LeafPattern, matches};
use kyv::semantics::DivergenceTracker;
use kyv::value::Value;

use crate::inputs::value;
use crate::{Work, Workload};

pub(crate) const WORKLOADS: &[Workload] = &[
    ("wildcards", wildcards),
    ("leaves-prepare", || Work::new(prepared_leaves())),
    ("leaves", leaves),
    ("conditions-parse", || {
        let block = value(CONDITIONS);
        Work::new(move || Conditions::parse(&block).expect("conditions"))
    }),
    ("conditions", conditions),
];

const WILDCARDS: [&str; 6] =
    ["*", "shop-*", "*-prod", "registry.example/*:latest", "?????-prod", "*a*b*c*d*e*"];

const TEXTS: [&str; 4] = [
    "shop-prod",
    "registry.example/shop/front:latest",
    "registry.example/tools/exporter:1.27.3",
    "aabbccdd-prod",
];

const LEAVES: &str = r#"["*:latest", "!*:latest", ">=100Mi", "<2", "10-20", "1Gi!-2Gi", "?*", "registry.example/* | mirror.example/*",
    "!kube-system & !kube-public", true, 5, null, "*"]"#;

const VALUES: &str =
    r#"["registry.example/shop/front:latest", "256Mi", 15, "1500Mi", "shop-prod", true, 5, null, ""]"#;

/// As written once their variables have values.
const CONDITIONS: &str = r#"{
    any: [
        {key: shop-prod, operator: Equals, value: "*-test"},
        {key: [registry.example/shop/front, registry.example/tools/exporter], operator: AnyIn, value: ["mirror.example/*", "registry.example/*"]},
    ],
    all: [
        {key: CREATE, operator: AnyIn, value: [CREATE, UPDATE]},
        {key: 3, operator: GreaterThan, value: 1},
        {key: 256Mi, operator: LessThanOrEquals, value: 1Gi},
        {key: deployer, operator: NotEquals, value: "system:*"},
        {key: [front, shop], operator: AllNotIn, value: [kube-system, kube-public]},
        {key: 90s, operator: DurationLessThan, value: 1h},
    ],
}"#;

fn wildcards() -> Work {
    Work::new(|| {
        let pairs = WILDCARDS.iter().flat_map(|pattern| TEXTS.iter().map(move |text| (pattern, text)));
        pairs.filter(|(pattern, text)| matches(pattern, text)).count()
    })
}

fn prepared_leaves() -> impl Fn() -> Vec<LeafPattern> {
    let patterns = value(LEAVES);
    move || patterns.as_array().into_iter().flatten().map(LeafPattern::prepare).collect()
}

fn leaves() -> Work {
    let (patterns, values) = (prepared_leaves()(), value(VALUES));
    Work::new(move || {
        let values = || values.as_array().into_iter().flatten();
        patterns.iter().map(|pattern| values().filter(|value| pattern.matches(value)).count()).sum::<usize>()
    })
}

fn conditions() -> Work {
    let conditions = Conditions::parse(&value(CONDITIONS)).expect("conditions");
    Work::new(move || {
        let mut as_written = |side: &Value, _: &_| Ok::<_, Infallible>((side.clone(), IntegerTyping::Floats));
        let verdict = conditions.evaluate(&mut as_written, &DivergenceTracker::default()).expect("an answer");
        // All of them were looked at.
        assert!(verdict.met);
        verdict
    })
}
