//! Objects as the API server settles them, so that two ways to write the same compare as equal.
//!
//! A server reads an object into types and fills in what is absent. What types cannot tell apart, and what is written
//! out although the server would fill it in, is left out here; what it fills in by looking at other members is filled in.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::value::{GroupVersionKind, Map, Quantity, Value};

/// The types by name, as the table beside this file lists them.
static TYPES: LazyLock<BTreeMap<&'static str, Type>> = LazyLock::new(|| read(include_str!("types.txt")));

/// A type without anything to say of its members.
static PLAIN: Type = Type { name: "", members: BTreeMap::new() };

/// The groups that the kinds of the table belong to.
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
    /// Whether what is empty is a value of its own.
    counts: bool,
    /// What the server writes where there is none, as text.
    default: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    /// Kept as it is.
    Opaque,
    /// Of a feature that is off.
    Off,
    Quantity,
    Object(&'static str),
    List(&'static str),
    Texts,
    Quantities,
    Objects(&'static str),
}

/// What becomes of members whose feature is off unless an operator switches it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// The server drops them.
    Dropped,
    /// Something that is stored has them, so the feature is on.
    Kept,
}

impl Off {
    /// What becomes of them where this object is stored.
    pub(super) fn of(kind: &GroupVersionKind, stored: &Value) -> Self {
        Self::told(object(kind, stored, Self::Dropped) == object(kind, stored, Self::Kept))
    }

    /// What becomes of them where this template is stored.
    pub(super) fn of_template(stored: &Value) -> Self {
        Self::told(template(stored, Self::Dropped) == template(stored, Self::Kept))
    }

    const fn told(has_none: bool) -> Self {
        if has_none { Self::Dropped } else { Self::Kept }
    }
}

/// An object of a kind of Kubernetes, settled; of another kind, as it is.
pub(super) fn object(kind: &GroupVersionKind, object: &Value, off: Off) -> Value {
    match (TYPES.get(&*kind.kind), object) {
        (Some(known), Value::Object(members)) if GROUPS.contains(&&*kind.group) => {
            let mut members = (**members).clone();
            if known.members.contains_key("spec") {
                // No specification is an empty one.
                members.entry("spec".into()).or_insert_with(Value::empty_object);
            }
            let mut object = Value::object(of_type(known, &members, off));
            match known.name {
                "Pod" => fill_pod(&mut object),
                "PersistentVolumeClaim" => fill_claim(&mut object, off),
                _ => {}
            }
            object
        }
        _ => object.clone(),
    }
}

/// A template of Pods, settled.
pub(super) fn template(template: &Value, off: Off) -> Value {
    match (TYPES.get("PodTemplateSpec"), template) {
        (Some(known), Value::Object(members)) => Value::object(of_type(known, members, off)),
        _ => template.clone(),
    }
}

fn of_type(known: &Type, members: &Map, off: Off) -> Map {
    const PLAINLY: Member = Member { shape: Shape::Plain, counts: false, default: None };
    let mut settled = Map::default();
    for (key, value) in members {
        let member = known.members.get(&**key).copied().unwrap_or(PLAINLY);
        if let Some(value) = of_member(member, value, off) {
            settled.insert(key.clone(), value);
        }
    }
    fill(known.name, &mut settled);
    settled
}

/// What a member becomes; `None` where it is as good as absent.
fn of_member(member: Member, value: &Value, off: Off) -> Option<Value> {
    let of_name = |name: &str| TYPES.get(name).unwrap_or(&PLAIN);
    let value = match (member.shape, value) {
        (_, Value::Null) => return None,
        (Shape::Off, _) if off == Off::Dropped => return None,
        (Shape::Opaque | Shape::Off, _) => value.clone(),
        (Shape::Quantity, _) => quantity(value),
        (Shape::Object(name), Value::Object(members)) => {
            let settled = of_type(of_name(name), members, off);
            if settled.is_empty() && has_off(of_name(name), members, off) {
                return None;
            }
            Value::object(settled)
        }
        (Shape::List(name), Value::Array(items)) => {
            let item = |item: &Value| match item {
                Value::Object(members) => Value::object(of_type(of_name(name), members, off)),
                _ => item.clone(),
            };
            Value::array(items.iter().map(item).collect())
        }
        (Shape::Quantities, Value::Object(members)) => {
            members.iter().map(|(key, value)| (key.clone(), quantity(value))).collect()
        }
        (Shape::Objects(name), Value::Object(members)) => {
            let inner = |value: &Value| match value {
                Value::Object(members) => Value::object(of_type(of_name(name), members, off)),
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
    // Lists are never told apart by whether they are there, and a quantity of nothing is written as one.
    let is_nothing = match (&value, member.shape) {
        (Value::Array(items), _) => items.is_empty(),
        (Value::String(text), Shape::Quantity) => !member.counts && **text == *"0",
        _ => !member.counts && is_zero(&value),
    };
    (!is_default && !is_nothing).then_some(value)
}

/// Whether an object has members that are dropped: what held nothing else goes with them.
fn has_off(known: &Type, members: &Map, off: Off) -> bool {
    let is_off = |key: &&str| matches!(known.members.get(key), Some(Member { shape: Shape::Off, .. }));
    off == Off::Dropped && members.keys().any(|key| is_off(&&**key))
}

/// A value whose members are all plain.
fn plain(value: &Value) -> Value {
    let item = |item: &Value| if item.is_null() { Value::from("") } else { plain(item) };
    match value {
        Value::Object(members) => Value::object(of_type(&PLAIN, members, Off::Kept)),
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

/// Whether a type without pointers takes it for nothing.
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

/// What the server fills in by looking at other members.
fn fill(name: &str, members: &mut Map) {
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
            // Two names of one field.
            if let Some(account) = members.shift_remove("serviceAccount") {
                members.entry("serviceAccountName".into()).or_insert(account);
            }
        }
        "NodeSpec" => {
            // The old field wins over the new one.
            if let Some(range) = members.shift_remove("podCIDR") {
                let ranges = members.get("podCIDRs").and_then(|ranges| ranges.at(0));
                if ranges != Some(&range) {
                    members.insert("podCIDRs".into(), Value::array(vec![range]));
                }
            }
        }
        "PersistentVolumeClaim" => {
            // Claims inside of other objects carry them.
            for bookkeeping in ["apiVersion", "kind"] {
                members.shift_remove(bookkeeping);
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

/// Images without a tag, and the latest ones, are pulled always.
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

/// What is filled in for claims, and not for their templates.
fn fill_claim(claim: &mut Value, off: Off) {
    let spec = claim.as_object_mut().and_then(|members| members.get_mut("spec"));
    if let Some(members) = spec.and_then(Value::as_object_mut) {
        data_source(members, off);
    }
}

/// The source of a claim has an old name, for claims and snapshots, and a new one; each fills in the other.
fn data_source(members: &mut Map, off: Off) {
    let text = |source: &Value, field: &str| {
        source.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let is_known = |source: &Value| {
        matches!(
            (&*text(source, "apiGroup"), &*text(source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    if members.get("dataSource").is_some_and(|source| !is_known(source)) {
        members.shift_remove("dataSource");
    }
    if off == Off::Dropped
        && members.get("dataSourceRef").is_some_and(|source| !text(source, "namespace").is_empty())
    {
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

/// What a Secret is given as text becomes its data.
fn string_data(members: &mut Map) {
    let Some(Value::Object(texts)) = members.shift_remove("stringData") else { return };
    let mut data = members.get("data").and_then(Value::as_object).cloned().unwrap_or_default();
    for (key, text) in texts.iter() {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key.clone(), Value::from(encoded.as_str()));
    }
    members.insert("data".into(), Value::object(data));
}

/// What is filled in for Pods, and not for their templates.
fn fill_pod(pod: &mut Value) {
    let Some(members) = pod.as_object_mut() else { return };
    let spec = members.entry("spec".into()).or_insert_with(Value::empty_object);
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    let Some(members) = spec.as_object_mut() else { return };
    members.entry("enableServiceLinks".into()).or_insert(Value::Bool(true));
    for field in ["containers", "initContainers"] {
        let containers = members.get_mut(field).and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            requests(container);
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

/// What is limited is requested.
fn requests(container: &mut Value) {
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

/// Reads the table of types. A line that begins with blanks goes on with the one before.
fn read(text: &'static str) -> BTreeMap<&'static str, Type> {
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
    let (counts, shape) = shape.strip_prefix('*').map_or((false, shape), |shape| (true, shape));
    let inside = |open, close| shape.strip_prefix(open)?.strip_suffix(close);
    let shape = match shape {
        "" => Shape::Plain,
        "!" => Shape::Opaque,
        "-" => Shape::Off,
        "q" => Shape::Quantity,
        "{}" => Shape::Texts,
        "{q}" => Shape::Quantities,
        _ => match (inside('[', ']'), inside('{', '}')) {
            (Some(name), _) => Shape::List(name),
            (_, Some(name)) => Shape::Objects(name),
            _ => Shape::Object(shape),
        },
    };
    (name, Member { shape, counts, default })
}
