//! Values of fields: what defaults depend on, odd spellings, the limits of types.

use kyv::value::{Number, Value};
use kyv_fuzz::seeds::Random;

use super::schema::Type;

const IMAGES: [&str; 16] = [
    "nginx",
    "nginx:latest",
    "nginx:1.27",
    "registry.test:5000/nginx",
    "registry.test:5000/nginx:latest",
    "registry.test:5000/team/nginx:v1",
    "nginx@sha256:9b2f0a9d3f1c2e4b5a6978685746352413021f0e0d0c0b0a0908070605040302",
    "nginx:1.27@sha256:9b2f0a9d3f1c2e4b5a6978685746352413021f0e0d0c0b0a0908070605040302",
    "nginx:latest@sha256:9b2f0a9d3f1c2e4b5a6978685746352413021f0e0d0c0b0a0908070605040302",
    "Nginx:latest",
    "nginx:",
    "",
    " nginx ",
    "nginx:LATEST",
    "docker.io/library/nginx",
    "a/b/c:d:e",
];

const QUANTITIES: [&str; 44] = [
    "1",
    "0",
    "-1",
    "+1",
    "0.5",
    "500m",
    "1000m",
    "1500m",
    "1Gi",
    "1024Mi",
    "1.5Gi",
    "1e3",
    "1E3",
    "1E",
    "1e-3",
    "100k",
    "1000k",
    "1M",
    "1000000",
    "12e6",
    "0.1m",
    "1n",
    "1u",
    "0.0001",
    "1.0",
    "1.10",
    "01",
    ".5",
    "5.",
    "0.5Mi",
    "1023",
    "1024",
    "9223372036854775807",
    "9223372036854775808",
    "1e30",
    "3.2Ei",
    "8Ei",
    "1.0Ki",
    "0Gi",
    "100Pi",
    "1_0",
    "",
    " 1",
    "1 Gi",
];

const TIMES: [&str; 9] = [
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05+02:00",
    "2026-01-02T03:04:05.5Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "2026-01-02T03:04:05.123456789-00:30",
    "2026-01-02",
    "2026-01-02 03:04:05Z",
    "",
];

const MICRO_TIMES: [&str; 8] = [
    "2026-01-02T03:04:05.123456Z",
    "2026-01-02T03:04:05.000000+02:00",
    "2026-01-02T03:04:05.100000Z",
    "0001-01-01T00:00:00.000000Z",
    "2026-01-02T03:04:05Z",
    "2026-01-02T03:04:05.1Z",
    "2026-01-02T03:04:05.123456789Z",
    "",
];

const DURATIONS: [&str; 12] =
    ["30s", "1h", "90m", "1h0m0s", "1m30s", "100ms", "1.5h", "0", "0s", "-5s", "1d", ""];

const BYTES: [&str; 9] = ["YQ==", "YWI=", "", "YQ", "YQ=\n=", " YQ==", "Y-_=", "YWJj", "!"];

const TEXTS: [&str; 14] = [
    "a",
    "b",
    "web",
    "web",
    "",
    "True",
    "1",
    "ClusterIP",
    "<a>&b",
    "é",
    "a\u{2028}b",
    "tab\there",
    "latest",
    "UPPER",
];

const KEYS: [&str; 9] =
    ["app", "app", "tier", "example.com/name", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", ""];

/// Values that defaults of these fields or of their neighbours depend on.
pub(crate) fn of_field(random: &mut Random, owner: &str, name: &str) -> Option<Value> {
    let owner = owner.rsplit('.').next().unwrap_or_default();
    let known: &[&str] = match (owner, name) {
        ("Container" | "InitContainer" | "EphemeralContainer", "image") => &IMAGES,
        ("ServiceSpec", "clusterIP") => &["None", "", "10.0.0.7", "fd00::1"],
        ("ServiceSpec", "sessionAffinity") => &["ClientIP", "ClientIP", "None", ""],
        ("ServiceSpec", "ipFamilyPolicy") => &["SingleStack", "PreferDualStack", "RequireDualStack", ""],
        ("PodSpec", "priorityClassName") => &["system-cluster-critical", "system-node-critical", ""],
        // The admission plugin for priorities refuses other values.
        ("PodSpec", "priority") => return Some(Value::from(0)),
        ("PodSpec", "preemptionPolicy") => &["PreemptLowerPriority"],
        ("PodSpec", "runtimeClassName" | "nodeName") => return Some(Value::from("")),
        ("PodSpec", "serviceAccountName" | "serviceAccount") => &["default", "builder", ""],
        ("PodSpec", "schedulerName") => &["default-scheduler", "other", ""],
        ("CronJobSpec", "schedule") => &["* * * * *", "@daily", ""],
        ("PodFailurePolicyRule", "action") => &["Ignore", "FailJob", "Count", ""],
        ("ObjectMeta", "finalizers") => {
            let all =
                [vec!["kubernetes.io/pvc-protection"], vec!["kubernetes.io/pv-protection", "a"], vec![]];
            let some = &all[random.below(all.len())];
            return Some(Value::array(some.iter().map(|text| Value::from(*text)).collect()));
        }
        ("StorageClass", "volumeBindingMode") => &["Immediate", "WaitForFirstConsumer", ""],
        ("MetricSpec", "type") => &["Resource", "Pods", "Object", "External", "ContainerResource", ""],
        _ => return None,
    };
    // Some values are taken as for any other field.
    (random.below(10) > 0).then(|| Value::from(known[random.below(known.len())]))
}

/// A value of a scalar type, usually a valid one.
pub(crate) fn scalar(random: &mut Random, kind: &Type, name: &str) -> Value {
    let text = |random: &mut Random, all: &[&str]| Value::from(all[random.below(all.len())]);
    match kind {
        Type::Boolean => Value::from(random.below(2) == 0),
        Type::Integer(bits) => integer(random, *bits),
        Type::Float => number(["0", "1", "0.5", "1.0", "1e3", "-2.25"][random.below(6)]),
        Type::Text(known) if !known.is_empty() && random.below(20) > 0 => {
            Value::from(known[random.below(known.len())].as_str())
        }
        Type::Text(_) => match name {
            "name" | "key" => text(random, &["a", "b", "web", "web", ""]),
            "path" | "mountPath" => text(random, &["/", "/data", "", "relative"]),
            "image" => text(random, &IMAGES),
            _ => text(random, &TEXTS),
        },
        Type::Bytes => valid_or_all(random, &BYTES, 4),
        Type::Time => valid_or_all(random, &TIMES, 6),
        Type::MicroTime => valid_or_all(random, &MICRO_TIMES, 4),
        Type::Duration => valid_or_all(random, &DURATIONS, 10),
        Type::Quantity => match random.below(12) {
            0 => number(["0", "1", "1.5", "1e3", "-1", "0.0001", "1000000"][random.below(7)]),
            _ => valid_or_all(random, &QUANTITIES, 40),
        },
        Type::IntOrString => match random.below(8) {
            0 => text(random, &["", "1", "0", "http", "a b"]),
            1..4 => text(random, &["25%", "100%", "0%", "http", "80"]),
            _ => integer(random, 32),
        },
        Type::Any => anything(random),
        // The generator writes these itself.
        Type::List(_) | Type::Map(_) | Type::Object(_) => Value::Null,
    }
}

/// One of the first values, which are valid; rarely one of all.
fn valid_or_all(random: &mut Random, all: &[&str], valid: usize) -> Value {
    let end = if random.below(40) == 0 { all.len() } else { valid };
    Value::from(all[random.below(end)])
}

fn integer(random: &mut Random, bits: u8) -> Value {
    let plain = ["0", "0", "1", "1", "2", "30", "80", "443", "420", "-1", "65535", "2147483647"];
    // No `1.0` and `1e2`: an API server refuses them as integers, but kubectl and others send `1` and `100`, and that is
    // what the view is made of.
    let odd = ["2147483648", "9223372036854775807", "9223372036854775808", "1.5", "-0"];
    if random.below(100) > 0 {
        return number(plain[random.below(plain.len())]);
    }
    let end = if bits == 64 { 2 } else { odd.len() };
    number(odd[random.below(end)])
}

fn number(text: &str) -> Value {
    Value::from(Number::parse(text).expect("a number"))
}

/// A key of a map.
pub(crate) fn key(random: &mut Random, field: &str) -> String {
    let key = match field {
        "matchLabels" | "labels" | "selector" | "nodeSelector" => KEYS[random.below(4)],
        "limits" | "requests" | "hard" | "capacity" | "allocatable" | "default" => {
            KEYS[random.below(KEYS.len())]
        }
        _ => ["a", "b", "key", "example.com/key"][random.below(4)],
    };
    key.to_owned()
}

/// The name of a field that no type has, or that differs in case.
pub(crate) fn unknown_name(random: &mut Random) -> &'static str {
    ["unknown", "Name", "SPEC", "x-custom", "Metadata", "replica", ""][random.below(7)]
}

/// Any JSON.
pub(crate) fn anything(random: &mut Random) -> Value {
    match random.below(10) {
        0 => Value::Null,
        1 => Value::from(true),
        2 => Value::from(3),
        3 => number("1.5"),
        4 => Value::from("text"),
        5 => Value::from(""),
        6 => Value::array(Vec::new()),
        7 => Value::array(vec![Value::from("a"), Value::from(1)]),
        8 => Value::empty_object(),
        _ => [("a", Value::from("b")), ("c", Value::Null)].into_iter().collect(),
    }
}
