//! Which objects can reach admission, and the smallest ones of a kind.

use crate::admission::{Admission, Forms, KindSchemas, ListMerge, Schema, minimal, missing_required};
use crate::resources::is_built_into_kubernetes;
use crate::value::{GroupVersionKind, Step, Text, Value};

/// The kinds with a Pod in them, and the path of its `spec`.
const POD_KINDS: [(&str, &[&str]); 8] = [
    ("Pod", &["spec"]),
    ("Deployment", &["spec", "template", "spec"]),
    ("StatefulSet", &["spec", "template", "spec"]),
    ("DaemonSet", &["spec", "template", "spec"]),
    ("ReplicaSet", &["spec", "template", "spec"]),
    ("ReplicationController", &["spec", "template", "spec"]),
    ("Job", &["spec", "template", "spec"]),
    ("CronJob", &["spec", "jobTemplate", "spec", "template", "spec"]),
];

/// The values of fields that a cluster takes no others for.
const CHOICES: [(&str, &[&str]); 6] = [
    ("dnsPolicy", &["ClusterFirst", "None", "Default", "ClusterFirstWithHostNet"]),
    ("imagePullPolicy", &["Always", "IfNotPresent", "Never"]),
    ("restartPolicy", &["Always", "OnFailure", "Never"]),
    ("protocol", &["TCP", "UDP", "SCTP"]),
    ("effect", &["NoSchedule", "NoExecute", "PreferNoSchedule"]),
    ("preemptionPolicy", &["Never", "PreemptLowerPriority"]),
];

/// Where the `spec` of the Pod in objects of a kind is.
pub(super) fn pod_spec(kind: &GroupVersionKind) -> Option<&'static [&'static str]> {
    let is_known = ["", "apps", "batch"].contains(&&*kind.group);
    POD_KINDS.iter().find(|(name, _)| is_known && **name == *kind.kind).map(|(_, path)| *path)
}

/// The values that a field may have, if a cluster takes no others.
pub(super) fn choices(field: &str) -> Option<&'static [&'static str]> {
    CHOICES.iter().find(|(name, _)| *name == field).map(|(_, values)| *values)
}

/// The smallest valid object of a kind.
pub(super) fn base(kind: &GroupVersionKind) -> Value {
    let mut object = minimal(kind, "a").unwrap_or_else(|| {
        Value::from_iter([
            ("apiVersion", Value::string(kind.api_version())),
            ("kind", Value::String(kind.kind.clone())),
            ("metadata", Value::from_iter([("name", Value::from("a"))])),
        ])
    });
    if let Some(spec) = pod_spec(kind) {
        let container = Value::from_iter([("name", Value::from("a")), ("image", Value::from("i"))]);
        let containers: Vec<&str> = spec.iter().copied().chain(["containers"]).collect();
        set(&mut object, &containers, Value::array(vec![container]));
    }
    if &*kind.kind == "CronJob" {
        set(&mut object, &["spec", "schedule"], Value::from("0 0 * * *"));
    }
    object
}

/// Sets a field, and makes the maps above it.
pub(super) fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if object.as_object().is_none() {
        *object = Value::empty_object();
    }
    if let Some(members) = object.as_object_mut() {
        set(members.entry((*first).into()).or_default(), rest, value);
    }
}

/// The schemas that decide which objects can reach admission.
#[derive(Debug)]
pub(super) struct ObjectSchemas {
    kinds: KindSchemas,
    admission: Admission,
}

impl ObjectSchemas {
    pub(super) fn new(kinds: KindSchemas) -> Self {
        Self { admission: Admission::new(kinds.clone()), kinds }
    }

    /// The schema of a kind, if it is known.
    pub(super) fn of(&self, kind: &GroupVersionKind) -> Option<Schema<'_>> {
        self.kinds.of(kind)
    }

    /// An object as an API server passes it to policies; `None` if nothing is known of its kind, or it cannot be decoded.
    pub(super) fn view(&self, object: &Value) -> Option<Value> {
        self.admission.view(object, &GroupVersionKind::of(object)?).ok()
    }

    /// The forms of the value at a path; `None` if objects of the kind have no such path.
    pub(super) fn forms(&self, kind: &GroupVersionKind, path: &[Step]) -> Option<Forms<'_>> {
        let root = self.of(kind).unwrap_or(Schema::FREE).forms();
        path.iter().try_fold(root, |forms, step| match step {
            Step::Elements => Some(forms.list?.elements.forms()),
            Step::Key(key) => {
                let map = forms.map?;
                map.field(key).or(map.values).map(Schema::forms)
            }
        })
    }

    /// Whether a cluster would pass an object to admission and keep it afterwards, if no policy changed it.
    pub(super) fn admits(&self, object: &Value) -> bool {
        let Some(kind) = GroupVersionKind::of(object) else { return false };
        let is_decoded = self.of(&kind).is_none() || self.admission.decoded(object, &kind).is_ok();
        is_decoded
            && (is_built_into_kubernetes(&kind.group) || self.keeps_metadata(object))
            && missing_required(object, &kind).is_none()
            && has_valid_metadata(object)
            && self.of(&kind).is_none_or(|schema| has_valid_lists(object, schema))
            && pod_spec(&kind).is_none_or(|spec| is_valid_pod(object, spec))
    }

    /// Whether the API server leaves the metadata of a custom resource as it is: they are decoded as those of any kind.
    fn keeps_metadata(&self, object: &Value) -> bool {
        let kind = GroupVersionKind::new("v1", "ConfigMap");
        let metadata = object.get("metadata").cloned().unwrap_or_default();
        let like = Value::from_iter([
            ("apiVersion", Value::from("v1")),
            ("kind", Value::from("ConfigMap")),
            ("metadata", metadata.clone()),
        ]);
        let Ok(decoded) = self.admission.decoded(&like, &kind) else { return false };
        let members = metadata.as_object().into_iter().flat_map(|members| members.iter());
        members.into_iter().all(|(key, value)| decoded.path(&["metadata", key]) == Some(value))
    }
}

fn has_valid_metadata(object: &Value) -> bool {
    let metadata = |field: &str| object.path(&["metadata", field]);
    let is_name = |field: &str| metadata(field).is_none_or(|name| name.as_str().is_some_and(is_name));
    let is_filled =
        |field: &str| metadata(field).and_then(Value::as_str).is_some_and(|name| !name.is_empty());
    let has_name = is_filled("name") || is_filled("generateName");
    has_name && is_name("name") && is_name("namespace") && labels_are_valid(object)
}

/// Whether the labels of an object and of the templates in it are valid.
fn labels_are_valid(value: &Value) -> bool {
    let own = value.path(&["metadata", "labels"]).and_then(Value::as_object);
    let is_label = |value: &Value| value.is_null() || value.as_str().is_some_and(is_label_value);
    own.into_iter().flatten().all(|(key, value)| is_key(key) && is_label(value))
        && value
            .path(&["metadata", "annotations"])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .all(|(key, value)| is_key(key) && (value.is_null() || value.as_str().is_some()))
        && ["spec", "template", "jobTemplate"]
            .iter()
            .filter_map(|field| value.get(field))
            .all(labels_are_valid)
}

/// A name of RFC 1123.
pub(super) fn is_name(text: &str) -> bool {
    let is_part = |part: &str| {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(is_inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && (text.split('.').all(is_part) || is_rbac_name(text))
}

/// Names of RBAC objects may have colons.
fn is_rbac_name(text: &str) -> bool {
    text.contains(':') && text.chars().all(|c| c.is_ascii_alphanumeric() || ":-.".contains(c))
}

fn is_label_value(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_end = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= 63
        && text.chars().all(is_inner)
        && is_end(text.chars().next())
        && is_end(text.chars().last())
}

fn is_key(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    !name.is_empty() && is_label_value(name) && prefix.is_none_or(is_name)
}

/// Whether no two elements of a list have the same key.
fn has_valid_lists(value: &Value, schema: Schema<'_>) -> bool {
    let forms = schema.forms();
    match value {
        Value::Array(items) => {
            let Some(list) = forms.list else { return true };
            let mut seen: Vec<Vec<Option<&Value>>> = Vec::new();
            for item in items.iter() {
                if let ListMerge::Keys(keys) = list.merge {
                    let key: Vec<Option<&Value>> = keys.iter().map(|key| item.get(&key.name)).collect();
                    if key.iter().all(Option::is_some) && seen.contains(&key) {
                        return false;
                    }
                    seen.push(key);
                }
                if !has_valid_lists(item, list.elements) {
                    return false;
                }
            }
            true
        }
        Value::Object(members) => {
            let Some(map) = forms.map else { return true };
            members.iter().all(|(key, member)| {
                map.field(key).or(map.values).is_none_or(|schema| has_valid_lists(member, schema))
            })
        }
        _ => true,
    }
}

/// Whether containers have images and valid names that differ, and fields with few values one of these.
fn is_valid_pod(object: &Value, spec: &[&str]) -> bool {
    let Some(spec) = object.path(spec) else { return false };
    let lists = ["containers", "initContainers", "ephemeralContainers"];
    let containers = || {
        let list = |list: &&str| spec.get(list).and_then(Value::as_array).unwrap_or_default();
        lists.iter().flat_map(list)
    };
    let text = |container: &'_ Value, field: &str| -> Option<Text> {
        container.get(field).and_then(Value::as_text).cloned()
    };
    let mut names: Vec<Text> = containers().filter_map(|container| text(container, "name")).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    let has_names = names.len() == all && all == containers().count();
    let is_complete = |container: &Value| {
        text(container, "image").is_some_and(|image| !image.trim().is_empty())
            && text(container, "name").is_some_and(|name| is_name(&name) && !name.contains('.'))
    };
    has_names && containers().all(is_complete) && has_choices(spec)
}

/// Whether fields with few values have one of these.
fn has_choices(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().all(|(key, member)| match (choices(key), member) {
            (Some(values), Value::String(text)) => text.is_empty() || values.contains(&&**text),
            _ => has_choices(member),
        }),
        Value::Array(items) => items.iter().all(has_choices),
        _ => true,
    }
}
