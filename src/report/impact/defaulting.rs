//! Objects normalized as the API server does it, so that equivalent objects are equal.
//!
//! A server decodes an object into Go types and sets defaults. Here, values that these types do not distinguish from
//! absent ones and explicit defaults are removed; defaults that depend on other fields are set.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::value::{GroupVersionKind, Map, Quantity, Value};

use super::text;

/// The types by name, from `types.txt`.
static TYPES: LazyLock<BTreeMap<&'static str, Type>> =
    LazyLock::new(|| parse_types(include_str!("types.txt")));

/// A type of which no field is known.
static PLAIN: Type = Type { name: "", members: BTreeMap::new() };

/// The API groups of the kinds in the table.
const GROUPS: [&str; 13] = [
    "",
    "apps",
    "batch",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

#[derive(Debug)]
struct Type {
    name: &'static str,
    members: BTreeMap<&'static str, Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    shape: Shape,
    /// Whether an empty value differs from an absent one: the Go field is a pointer.
    optional: bool,
    /// The default, as text.
    default: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    /// Any value, unchanged.
    Opaque,
    /// A field behind a feature gate.
    Gated,
    Quantity,
    Object(&'static str),
    List(&'static str),
    Texts,
    Quantities,
    Objects(&'static str),
}

/// What the server does with fields behind feature gates that are off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GatedFields {
    /// It drops them.
    Dropped,
    /// It keeps them: a stored object has them, so the feature is on.
    Kept,
}

impl GatedFields {
    /// What the server does that stores this object.
    pub(super) fn of(kind: &GroupVersionKind, stored: &Value) -> Self {
        Self::from_equality(object(kind, stored, Self::Dropped) == object(kind, stored, Self::Kept))
    }

    /// What the server does that stores this template.
    pub(super) fn of_template(stored: &Value) -> Self {
        Self::from_equality(template(stored, Self::Dropped) == template(stored, Self::Kept))
    }

    /// Given whether dropping and keeping have the same result.
    const fn from_equality(is_same: bool) -> Self {
        if is_same { Self::Dropped } else { Self::Kept }
    }
}

/// A normalized object; objects of unknown kinds are unchanged.
pub(super) fn object(kind: &GroupVersionKind, object: &Value, gated: GatedFields) -> Value {
    match (TYPES.get(&*kind.kind), object) {
        (Some(known), Value::Object(members)) if GROUPS.contains(&&*kind.group) => {
            let mut members = (**members).clone();
            if known.members.contains_key("spec") {
                // A missing spec is an empty one.
                members.entry("spec".into()).or_insert_with(Value::empty_object);
            }
            let mut object = Value::object(of_type(known, &members, gated));
            match known.name {
                "Pod" => set_pod_defaults(&mut object),
                "PersistentVolumeClaim" => set_claim_defaults(&mut object, gated),
                _ => {}
            }
            object
        }
        _ => object.clone(),
    }
}

/// A normalized Pod template.
pub(super) fn template(template: &Value, gated: GatedFields) -> Value {
    match (TYPES.get("PodTemplateSpec"), template) {
        (Some(known), Value::Object(members)) => Value::object(of_type(known, members, gated)),
        _ => template.clone(),
    }
}

fn of_type(known: &Type, members: &Map, gated: GatedFields) -> Map {
    const UNKNOWN_MEMBER: Member = Member { shape: Shape::Plain, optional: false, default: None };
    let mut normalized = Map::default();
    for (key, value) in members {
        let member = known.members.get(&**key).copied().unwrap_or(UNKNOWN_MEMBER);
        if let Some(value) = of_member(member, value, gated) {
            normalized.insert(key.clone(), value);
        }
    }
    set_defaults(known.name, &mut normalized);
    normalized
}

/// A normalized member; `None` if it is equivalent to an absent one.
fn of_member(member: Member, value: &Value, gated: GatedFields) -> Option<Value> {
    let of_name = |name: &str| TYPES.get(name).unwrap_or(&PLAIN);
    let value = match (member.shape, value) {
        (_, Value::Null) => return None,
        (Shape::Gated, _) if gated == GatedFields::Dropped => return None,
        (Shape::Opaque | Shape::Gated, _) => value.clone(),
        (Shape::Quantity, _) => quantity(value),
        (Shape::Object(name), Value::Object(members)) => {
            let normalized = of_type(of_name(name), members, gated);
            if normalized.is_empty() && has_dropped(of_name(name), members, gated) {
                return None;
            }
            Value::object(normalized)
        }
        (Shape::List(name), Value::Array(items)) => {
            let item = |item: &Value| match item {
                Value::Object(members) => Value::object(of_type(of_name(name), members, gated)),
                _ => item.clone(),
            };
            Value::array(items.iter().map(item).collect())
        }
        (Shape::Quantities, Value::Object(members)) => {
            members.iter().map(|(key, value)| (key.clone(), quantity(value))).collect()
        }
        (Shape::Objects(name), Value::Object(members)) => {
            let inner = |value: &Value| match value {
                Value::Object(members) => Value::object(of_type(of_name(name), members, gated)),
                _ => value.clone(),
            };
            members.iter().map(|(key, value)| (key.clone(), inner(value))).collect()
        }
        (Shape::Texts, Value::Object(members)) => {
            let text = |value: &Value| if value.is_null() { Value::from("") } else { value.clone() };
            members.iter().map(|(key, value)| (key.clone(), text(value))).collect()
        }
        (Shape::Plain, _) => plain(value),
        _ => value.clone(),
    };
    let is_default = member.default.is_some_and(|default| match &value {
        Value::String(text) => **text == *default,
        value => value.to_json() == default,
    });
    // An empty list always equals an absent one; a zero quantity has a text.
    let is_absent = match (&value, member.shape) {
        (Value::Array(items), _) => items.is_empty(),
        (Value::String(text), Shape::Quantity) => !member.optional && **text == *"0",
        _ => !member.optional && is_zero(&value),
    };
    (!is_default && !is_absent).then_some(value)
}

/// Whether an object has members that are dropped: an object with no others is dropped too.
fn has_dropped(known: &Type, members: &Map, gated: GatedFields) -> bool {
    let is_gated = |key: &&str| matches!(known.members.get(key), Some(Member { shape: Shape::Gated, .. }));
    gated == GatedFields::Dropped && members.keys().any(|key| is_gated(&&**key))
}

/// A value whose members are all plain.
fn plain(value: &Value) -> Value {
    let item = |item: &Value| if item.is_null() { Value::from("") } else { plain(item) };
    match value {
        Value::Object(members) => Value::object(of_type(&PLAIN, members, GatedFields::Kept)),
        Value::Array(items) => Value::array(items.iter().map(item).collect()),
        _ => value.clone(),
    }
}

fn quantity(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.to_string(),
        Value::Number(_) => value.to_json(),
        _ => return value.clone(),
    };
    Quantity::parse(&text)
        .map_or_else(|_| value.clone(), |quantity| Value::from(quantity.to_string().as_str()))
}

/// Whether it is the zero value of a Go type without pointers.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Sets defaults that depend on other fields.
fn set_defaults(name: &str, members: &mut Map) {
    match name {
        "Container" | "EphemeralContainer" => pull_policy(members, "image", "imagePullPolicy"),
        "Volume" => {
            if !members.keys().any(|key| &**key != "name") {
                members.insert("emptyDir".into(), Value::empty_object());
            }
            if let Some(Value::Object(image)) = members.get("image") {
                let mut image = (**image).clone();
                pull_policy(&mut image, "reference", "pullPolicy");
                members.insert("image".into(), Value::object(image));
            }
        }
        "PodSpec" => {
            // An alias of the field.
            if let Some(account) = members.shift_remove("serviceAccount") {
                members.entry("serviceAccountName".into()).or_insert(account);
            }
        }
        "NodeSpec" => {
            // The deprecated field wins over the new one.
            if let Some(range) = members.shift_remove("podCIDR") {
                let ranges = members.get("podCIDRs").and_then(|ranges| ranges.at(0));
                if ranges != Some(&range) {
                    members.insert("podCIDRs".into(), Value::array(vec![range]));
                }
            }
        }
        "PersistentVolumeClaim" => {
            // Claims in templates may have these.
            for field in ["apiVersion", "kind"] {
                members.shift_remove(field);
            }
        }
        "JobSpec" if !members.contains_key("parallelism") => {
            members.entry("completions".into()).or_insert(Value::from(1));
            members.insert("parallelism".into(), Value::from(1));
        }
        "CSIDriverSpec" => {
            members
                .entry("volumeLifecycleModes".into())
                .or_insert_with(|| Value::array(vec!["Persistent".into()]));
        }
        "Secret" => string_data(members),
        _ => {}
    }
}

/// Sets the default pull policy: `Always` for images without a tag or with `latest`.
fn pull_policy(members: &mut Map, image: &str, policy: &str) {
    if members.contains_key(policy) {
        return;
    }
    let image = members.get(image).and_then(Value::as_str).unwrap_or_default();
    let (name, has_digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let tag = name.rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
    let is_latest = tag == Some("latest") || tag.is_none() && !has_digest;
    members.insert(policy.into(), Value::from(if is_latest { "Always" } else { "IfNotPresent" }));
}

/// Sets defaults of claims, which their templates do not get.
fn set_claim_defaults(claim: &mut Value, gated: GatedFields) {
    let spec = claim.as_object_mut().and_then(|members| members.get_mut("spec"));
    if let Some(members) = spec.and_then(Value::as_object_mut) {
        data_source(members, gated);
    }
}

/// The data source of a claim has two fields, `dataSource` for claims and snapshots, and `dataSourceRef`; each is the
/// default of the other.
fn data_source(members: &mut Map, gated: GatedFields) {
    let is_known = |source: &Value| {
        let [group, kind] = [["apiGroup"], ["kind"]].map(|field| text(source, &field).unwrap_or_default());
        matches!((group, kind), ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot"))
    };
    if members.get("dataSource").is_some_and(|source| !is_known(source)) {
        members.shift_remove("dataSource");
    }
    let has_namespace = |source: &Value| text(source, &["namespace"]).is_some_and(|name| !name.is_empty());
    if gated == GatedFields::Dropped && members.get("dataSourceRef").is_some_and(has_namespace) {
        members.shift_remove("dataSourceRef");
    }
    match (members.get("dataSource").cloned(), members.get("dataSourceRef").cloned()) {
        (Some(old), None) => drop(members.insert("dataSourceRef".into(), old)),
        (None, Some(new)) if is_known(&new) && new.get("namespace").is_none() => {
            members.insert("dataSource".into(), new);
        }
        _ => {}
    }
}

/// Moves `stringData` of a Secret to `data`.
fn string_data(members: &mut Map) {
    let Some(Value::Object(texts)) = members.shift_remove("stringData") else { return };
    let mut data = members.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, text) in texts.iter() {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key.clone(), Value::from(encoded.as_str()));
    }
    members.insert("data".into(), Value::object(data));
}

/// Sets defaults of Pods, which their templates do not get.
fn set_pod_defaults(pod: &mut Value) {
    let Some(members) = pod.as_object_mut() else { return };
    let spec = members.entry("spec".into()).or_insert_with(Value::empty_object);
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let Some(members) = spec.as_object_mut() else { return };
    members.entry("enableServiceLinks".into()).or_insert(Value::Bool(true));
    for field in ["containers", "initContainers"] {
        let containers = members.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            set_requests(container);
            let ports = container.as_object_mut().and_then(|members| members.get_mut("ports"));
            for port in ports.and_then(Value::as_array_mut).into_iter().flatten().filter(|_| is_on_host) {
                let own = port.get("containerPort").cloned();
                if let (Some(members), Some(own)) = (port.as_object_mut(), own) {
                    members.entry("hostPort".into()).or_insert(own);
                }
            }
        }
    }
}

/// Sets requests to limits where missing.
fn set_requests(container: &mut Value) {
    let limits = container.path(&["resources", "limits"]).and_then(Value::as_object).cloned();
    let (Some(limits), Some(resources)) =
        (limits, container.as_object_mut().and_then(|members| members.get_mut("resources")))
    else {
        return;
    };
    let mut requests = resources.get("requests").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, limit) in limits {
        requests.entry(key).or_insert(limit);
    }
    resources.insert("requests", Value::object(requests));
}

/// Parses the table of types. An indented line continues the one before.
fn parse_types(text: &'static str) -> BTreeMap<&'static str, Type> {
    let mut types = BTreeMap::new();
    let mut name = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            name = words.next().unwrap_or_default();
        }
        let known = types.entry(name).or_insert_with(|| Type { name, members: BTreeMap::new() });
        known.members.extend(words.map(member));
    }
    types
}

fn member(word: &'static str) -> (&'static str, Member) {
    let (word, default) = word.split_once('=').map_or((word, None), |(word, default)| (word, Some(default)));
    let (name, shape) = word.split_once(':').unwrap_or((word, ""));
    let (optional, shape) = shape.strip_prefix('*').map_or((false, shape), |shape| (true, shape));
    let inside = |open, close| shape.strip_prefix(open)?.strip_suffix(close);
    let shape = match shape {
        "" => Shape::Plain,
        "!" => Shape::Opaque,
        "-" => Shape::Gated,
        "q" => Shape::Quantity,
        "{}" => Shape::Texts,
        "{q}" => Shape::Quantities,
        _ => match (inside('[', ']'), inside('{', '}')) {
            (Some(name), _) => Shape::List(name),
            (_, Some(name)) => Shape::Objects(name),
            _ => Shape::Object(shape),
        },
    };
    (name, Member { shape, optional, default })
}
